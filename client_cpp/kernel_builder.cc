#include "client_cpp/kernel_builder.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"

namespace kiln {
namespace {

int CountIndices(const proto::Storage& storage) {
  if (storage.has_dense()) return static_cast<int>(storage.dense().num_axes());
  if (storage.has_ndarray()) return static_cast<int>(storage.ndarray().ndim());
  return storage.tree().axes_size();
}

}  // namespace

KernelBuilder::KernelBuilder(DefaultTypes defaults) : defaults_(defaults) {
  current_.message = unit_.mutable_kernel()->mutable_body();
  // Most kernels have fewer: the list then never moves.
  current_.message->mutable_nodes()->Reserve(256);
  current_.spans = source_map_.mutable_node_span();
  BeginBody();
}

void KernelBuilder::BeginBody() {
  // Node 0 is "no node", so that 0 can stand for a missing operand.
  current_.message->add_nodes();
  current_.spans->Add(0);
  const BlockId body = NewBlock();
  current_.node_block.Add(body);
  Open(NodeNumber(), proto::NODE_NONE, body, body);
}

// --- Checks ----------------------------------------------------------------------

// Also nodes of functions that are closed: a front end may ask for the type of anything it has
// made.
const proto::Node* KernelBuilder::FindAnyNode(NodeNumber number) const {
  const FunctionId of = FunctionOfNode(number);
  if (!HasFunction(unit_.kernel(), of)) return nullptr;
  const proto::Function& function = FunctionAt(unit_.kernel(), of);
  const NodeId id = NodeInFunction(number);
  return id.number() < static_cast<uint32_t>(function.nodes_size()) ? &NodeAt(function, id)
                                                                    : nullptr;
}

// No type, and no error, for what does not exist: the caller's next call reports it.
TypeId KernelBuilder::TypeOf(NodeNumber node) const {
  const proto::Node* found = FindAnyNode(node);
  return found != nullptr ? TypeId(found->type()) : TypeId();
}

bool KernelBuilder::IsAddress(NodeNumber node) const {
  const proto::Node* found = FindAnyNode(node);
  const NodeInfo* info = found != nullptr ? FindNode(found->kind()) : nullptr;
  return info != nullptr && info->is_address;
}

absl::Status KernelBuilder::CheckVisible(NodeNumber number) const {
  const NodeId id = NodeInFunction(number);
  // A node is usable while its block is open: what a closed branch computed may not have run.
  if (id && FunctionOfNode(number) == current_.id && current_.node_block.Has(id) &&
      current_.block_open[current_.node_block[id]]) {
    return absl::OkStatus();
  }
  // Misuse is a mistake of a front end, Refuse one of the user's program.
  return Misuse("node ", number.number(), " does not exist here");
}

absl::Status KernelBuilder::CheckValue(NodeNumber number) const {
  RETURN_IF_ERROR(CheckVisible(number));
  const NodeInfo* info = FindNode(node(number).kind());
  if (info->has_value && TypeOf(number)) return absl::OkStatus();
  return Misuse("node ", number.number(), " (", info->spelling, ") is not a value");
}

absl::Status KernelBuilder::CheckAddress(NodeNumber number) const {
  RETURN_IF_ERROR(CheckVisible(number));
  const NodeInfo* info = FindNode(node(number).kind());
  if (info->is_address && TypeOf(number)) return absl::OkStatus();
  return Misuse("node ", number.number(), " (", info->spelling, ") is not an address");
}

absl::Status KernelBuilder::CheckType(TypeId type) const {
  if (type && types_.Has(type)) return absl::OkStatus();
  return Misuse("type ", type.number(), " does not exist");
}

absl::Status KernelBuilder::CheckParam(ParamId param, proto::Param::Kind kind) const {
  const proto::Function& owner =
      // Storages belong to the kernel, and its functions use them by number.
      kind == proto::Param::PARAM_STORAGE ? unit_.kernel().body() : *current_.message;
  if (param.number() < static_cast<uint32_t>(owner.params_size()) &&
      ParamAt(owner, param).kind() == kind) {
    return absl::OkStatus();
  }
  return Misuse("parameter ", param.number(), " is not a ",
                kind == proto::Param::PARAM_VALUE     ? "value"
                : kind == proto::Param::PARAM_STORAGE ? "storage"
                                                      : "reference");
}

absl::Status KernelBuilder::CheckIntegers(absl::Span<const NodeNumber> indices) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(indices[i]));
    const Type& type = types_[TypeOf(indices[i])];
    if (type.IsScalar() && !IsFloat(type.scalar)) continue;
    return Refuse(kIndicesMustBeIntegers, types_.Name(TypeOf(indices[i])), i);
  }
  return absl::OkStatus();
}

// --- Nodes -----------------------------------------------------------------------

NodeNumber KernelBuilder::AppendIn(BlockId block, bool listed, proto::NodeKind kind, TypeId type,
                                   absl::Span<const NodeNumber> operands) {
  const NodeId id = current_.node_block.Add(block);
  proto::Node* made = current_.message->add_nodes();
  made->set_kind(kind);
  made->set_type(type.number());
  // In the unit, numbers count within a function: so equal functions have equal bytes, wherever
  // they are.
  for (const NodeNumber operand : operands) made->add_operands(NodeInFunction(operand).number());
  current_.spans->Add(current_.span);
  // After a jump, nodes are made but not listed: they never run, and the front end need not know
  // that.
  if (listed) current_.message->mutable_blocks(block.number())->add_nodes(id.number());
  return NumberOfNode(current_.id, id);
}

NodeNumber KernelBuilder::Append(proto::NodeKind kind, TypeId type,
                                 absl::Span<const NodeNumber> operands) {
  // New nodes belong to the innermost open block.
  const OpenBlock& current = current_.open.back();
  return AppendIn(current.block(), !current.terminated, kind, type, operands);
}

// --- Parameters ------------------------------------------------------------------

ParamId KernelBuilder::AddValueParam(TypeId type) {
  if (!CheckType(type).ok()) type = TypeId();  // its uses then report it
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_VALUE);
  param->set_type(type.number());
  return params_.Add({proto::Param::PARAM_VALUE, type, 0});
}

ParamId KernelBuilder::AddStorageParam(const proto::Storage& storage) {
  const proto::Type& element = storage.element();
  TypeId type;  // none for an SNode itself
  if (element.scalar() != proto::SCALAR_NONE) {
    type = types_.GetTensor(element.scalar(), {element.shape().begin(), element.shape().end()});
  }
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_STORAGE);
  // The number that the storage gets on the next line.
  param->set_storage(static_cast<uint32_t>(unit_.storages_size()));
  *unit_.add_storages() = storage;
  return params_.Add({proto::Param::PARAM_STORAGE, type, CountIndices(storage)});
}

void KernelBuilder::Differentiate(proto::AutodiffMode mode) {
  unit_.mutable_kernel()->add_autodiff(mode);
}

absl::StatusOr<std::pair<proto::Storage*, uint32_t>> KernelBuilder::Companions(ParamId of,
                                                                               ParamId companion) {
  RETURN_IF_ERROR(CheckParam(of, proto::Param::PARAM_STORAGE));
  RETURN_IF_ERROR(CheckParam(companion, proto::Param::PARAM_STORAGE));
  const proto::Function& body = unit_.kernel().body();
  const auto storage = [&](ParamId param) {
    return body.params(static_cast<int>(param.number())).storage();
  };
  return std::make_pair(unit_.mutable_storages(static_cast<int>(storage(of))),
                        storage(companion) + 1);
}

absl::Status KernelBuilder::SetGradient(ParamId of, ParamId gradient) {
  ASSIGN_OR_RETURN(const auto found, Companions(of, gradient));
  found.first->set_grad(found.second);
  return absl::OkStatus();
}

absl::Status KernelBuilder::SetDual(ParamId of, ParamId dual) {
  ASSIGN_OR_RETURN(const auto found, Companions(of, dual));
  found.first->set_dual(found.second);
  return absl::OkStatus();
}

uint32_t KernelBuilder::AddTree(const proto::TreePart& tree) {
  *unit_.add_trees() = tree;
  return static_cast<uint32_t>(unit_.trees_size() - 1);
}

int KernelBuilder::NumIndices(ParamId storage) const {
  return params_.Has(storage) ? params_[storage].num_indices : 0;
}

void KernelBuilder::SetReturnTypes(absl::Span<const TypeId> types) {
  proto::Function* body = unit_.mutable_kernel()->mutable_body();
  body->mutable_returns()->Clear();
  for (const TypeId type : types) body->add_returns(CheckType(type).ok() ? type.number() : 0);
}

// --- Source positions, result ------------------------------------------------------

uint32_t KernelBuilder::AddFile(const std::string& path) {
  source_map_.add_files(path);
  return static_cast<uint32_t>(source_map_.files_size() - 1);
}

uint32_t KernelBuilder::AddName(const std::string& function) {
  source_map_.add_names(function);
  return static_cast<uint32_t>(source_map_.names_size() - 1);
}

uint32_t KernelBuilder::AddSpan(const proto::Span& span) {
  *source_map_.add_spans() = span;
  // One more than the position, as 0 means "no span".
  return static_cast<uint32_t>(source_map_.spans_size());
}

absl::Status KernelBuilder::CheckClosed() const {
  const std::vector<OpenBlock>& open = current_.open;
  if (open.size() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      open.size() - 1, " blocks are open; the innermost is of ",
      FindNode(open.back().kind)->spelling, " node ", NodeInFunction(open.back().owner).number()));
}

absl::Status KernelBuilder::Finish(proto::CompileUnit* unit, proto::SourceMap* source_map,
                                   std::vector<ReachedTree>* reached, proto::CompileUnit* whole) {
  RETURN_IF_ERROR(CheckClosed());
  if (!suspended_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("function ", current_.id.number(), " is open"));
  }
  if (whole != nullptr && unit_.trees_size() > 0) {
    *whole->mutable_storages() = unit_.storages();
    *whole->mutable_trees() = unit_.trees();
  }
  ASSIGN_OR_RETURN(std::vector<ReachedTree> trees,
                   PruneTrees(unit_.mutable_storages(), unit_.mutable_trees()));
  if (reached != nullptr) *reached = std::move(trees);
  types_.ToProto(unit_.mutable_kernel()->mutable_types());
  // Swapped, not copied: a unit may have megabytes, and the builder ends here.
  unit->mutable_kernel()->Swap(unit_.mutable_kernel());
  unit->mutable_storages()->Swap(unit_.mutable_storages());
  unit->mutable_trees()->Swap(unit_.mutable_trees());
  source_map->Swap(&source_map_);
  return absl::OkStatus();
}

}  // namespace kiln
