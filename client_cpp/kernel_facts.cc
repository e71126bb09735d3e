#include "client_cpp/kernel_facts.h"

#include "common/language/kernel_parts.h"

namespace kiln {
namespace {

// Marks the parameters whose memory an address may be in. Values belong to no parameter.
void MarkParamsOf(const proto::Function& function, NodeId address, std::vector<bool>* written) {
  const proto::Node& node = NodeAt(function, address);
  const NodeIds operands(node.operands());
  switch (node.kind()) {
    case proto::GLOBAL:
      if (node.index() < written->size()) (*written)[node.index()] = true;
      break;
    case proto::ELEMENT:
    case proto::MEMBER:
      if (!operands.empty()) MarkParamsOf(function, operands[0], written);
      break;
    case proto::JOIN:
      for (const NodeId part : operands) MarkParamsOf(function, part, written);
      break;
    default:
      break;
  }
}

void MarkWritten(const proto::Function& function, std::vector<bool>* written) {
  for (const proto::Node& node : function.nodes()) {
    const NodeIds operands(node.operands());
    switch (node.kind()) {
      case proto::STORE:
      case proto::ATOMIC:
        if (!operands.empty()) MarkParamsOf(function, operands[0], written);
        break;
      case proto::CALL:  // the callee may write through an address that it gets
        for (const NodeId argument : operands) MarkParamsOf(function, argument, written);
        break;
      default:
        break;
    }
  }
}

// One byte for each kind: there are fewer than 256, and a string is the smallest form in a message.
std::string KindsOf(const proto::Function& function) {
  std::string kinds;
  for (const proto::Node& node : function.nodes()) kinds.push_back(static_cast<char>(node.kind()));
  return kinds;
}

void AddAccessed(const proto::Kernel& kernel, FunctionId id,
                 absl::flat_hash_map<NodeNumber, ParamId>* params) {
  const proto::Function& function = FunctionAt(kernel, id);
  for (int i = 1; i < function.nodes_size(); ++i) {
    const proto::Node& node = function.nodes(i);
    const NodeNumber number = NumberOfNode(id, NodeId(i));
    const NodeIds operands(node.operands());
    switch (node.kind()) {
      case proto::GLOBAL:
      case proto::SNODE_ACTIVATE:
      case proto::SNODE_DEACTIVATE:
      case proto::SNODE_IS_ACTIVE:
      case proto::SNODE_LENGTH:
      case proto::SNODE_APPEND:
      case proto::SNODE_ADDRESS:
      case proto::STRUCT_FOR:
        params->emplace(number, ParamId(node.index()));
        break;
      case proto::ELEMENT:
      case proto::JOIN:
      case proto::MEMBER: {
        if (operands.empty()) break;
        const auto whole = params->find(NumberOfNode(id, operands[0]));
        if (whole == params->end()) break;
        const ParamId param = whole->second;
        params->emplace(number, param);
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

absl::flat_hash_map<NodeNumber, ParamId> AccessedParams(const proto::Kernel& kernel) {
  absl::flat_hash_map<NodeNumber, ParamId> params;
  for (FunctionId id; HasFunction(kernel, id); id = id.next()) AddAccessed(kernel, id, &params);
  return params;
}

std::vector<SourcePosition> PositionsOf(const proto::SourceMap& map, NodeNumber node) {
  std::vector<SourcePosition> positions;
  const FunctionId function = FunctionOfNode(node);
  const NodeId id = NodeInFunction(node);
  if (function.number() > static_cast<uint32_t>(map.functions_size())) return positions;
  const auto& spans =
      function == kKernelBody ? map.node_span() : map.functions(PositionOf(function)).node_span();
  if (id.number() >= static_cast<uint32_t>(spans.size())) return positions;
  // Numbers of a source map may come from a file, so each index is checked.
  const auto text = [](const auto& list, uint32_t index) {
    return index < static_cast<uint32_t>(list.size()) ? list.Get(static_cast<int>(index))
                                                      : std::string();
  };
  uint32_t next = spans.Get(id.number());  // 1 + index of a span; 0: none
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
