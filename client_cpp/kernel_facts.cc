#include "client_cpp/kernel_facts.h"

#include "common/unit/node_number.h"

namespace kiln {
namespace {

// Marks the parameters whose memory an address may be in. Values belong to no parameter.
void MarkParamsOf(const proto::Function& function, uint32_t address, std::vector<bool>* written) {
  const proto::Node& node = function.nodes(static_cast<int>(address));
  switch (node.kind()) {
    case proto::GLOBAL:
      if (node.index() < written->size()) (*written)[node.index()] = true;
      break;
    case proto::ELEMENT:
    case proto::MEMBER:
      if (node.operands_size() > 0) MarkParamsOf(function, node.operands(0), written);
      break;
    case proto::JOIN:
      for (const uint32_t part : node.operands()) MarkParamsOf(function, part, written);
      break;
    default:
      break;
  }
}

void MarkWritten(const proto::Function& function, std::vector<bool>* written) {
  for (int id = 1; id < function.nodes_size(); ++id) {
    const proto::Node& node = function.nodes(id);
    switch (node.kind()) {
      case proto::STORE:
      case proto::ATOMIC:
        if (node.operands_size() > 0) MarkParamsOf(function, node.operands(0), written);
        break;
      case proto::CALL:  // the callee may write through an address that it gets
        for (const uint32_t argument : node.operands()) MarkParamsOf(function, argument, written);
        break;
      default:
        break;
    }
  }
}

std::string KindsOf(const proto::Function& function) {
  std::string kinds;
  for (const proto::Node& node : function.nodes()) kinds.push_back(static_cast<char>(node.kind()));
  return kinds;
}

void AddAccessed(const proto::Function& function, uint32_t number,
                 std::unordered_map<uint32_t, uint32_t>* params) {
  for (int id = 1; id < function.nodes_size(); ++id) {
    const proto::Node& node = function.nodes(id);
    switch (node.kind()) {
      case proto::GLOBAL:
      case proto::SNODE_ACTIVATE:
      case proto::SNODE_DEACTIVATE:
      case proto::SNODE_IS_ACTIVE:
      case proto::SNODE_LENGTH:
      case proto::SNODE_APPEND:
      case proto::SNODE_ADDRESS:
      case proto::STRUCT_FOR:
        params->emplace(NodeNumber(number, id), node.index());
        break;
      case proto::ELEMENT:
      case proto::JOIN:
      case proto::MEMBER: {
        if (node.operands_size() == 0) break;
        const auto whole = params->find(NodeNumber(number, node.operands(0)));
        if (whole != params->end()) params->emplace(NodeNumber(number, id), whole->second);
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace

std::vector<bool> WrittenParams(const proto::Kernel& kernel) {
  std::vector<bool> written(kernel.body().params_size(), false);
  MarkWritten(kernel.body(), &written);
  for (const proto::Function& function : kernel.functions()) MarkWritten(function, &written);
  return written;
}

std::vector<std::string> NodeKinds(const proto::Kernel& kernel) {
  std::vector<std::string> kinds = {KindsOf(kernel.body())};
  for (const proto::Function& function : kernel.functions()) kinds.push_back(KindsOf(function));
  return kinds;
}

std::unordered_map<uint32_t, uint32_t> AccessedParams(const proto::Kernel& kernel) {
  std::unordered_map<uint32_t, uint32_t> params;
  AddAccessed(kernel.body(), 0, &params);
  uint32_t number = 0;
  for (const proto::Function& function : kernel.functions()) {
    AddAccessed(function, ++number, &params);
  }
  return params;
}

std::vector<SourcePosition> PositionsOf(const proto::SourceMap& map, uint32_t number) {
  std::vector<SourcePosition> positions;
  const uint32_t function = FunctionOfNode(number), node = NodeInFunction(number);
  if (function > static_cast<uint32_t>(map.functions_size())) return positions;
  const auto& spans =
      function == 0 ? map.node_span() : map.functions(static_cast<int>(function - 1)).node_span();
  if (node >= static_cast<uint32_t>(spans.size())) return positions;
  const auto text = [](const auto& list, uint32_t index) {
    return index < static_cast<uint32_t>(list.size()) ? list.Get(static_cast<int>(index))
                                                      : std::string();
  };
  uint32_t next = spans.Get(static_cast<int>(node));  // 1 + index of a span; 0: none
  // A chain that is longer than the list of spans has a cycle.
  for (int i = 0; i < map.spans_size(); ++i) {
    if (next == 0 || next > static_cast<uint32_t>(map.spans_size())) break;
    const proto::Span& span = map.spans(static_cast<int>(next - 1));
    positions.push_back({text(map.files(), span.file()), span.line(), span.column(),
                         span.end_line(), span.end_column(), text(map.names(), span.function())});
    next = span.inlined_at();
  }
  return positions;
}

}  // namespace kiln
