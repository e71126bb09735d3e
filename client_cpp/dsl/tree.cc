// Trees: kiln_tree_... over FieldTree, and what traces do with them.
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"
#include "common/language/op_table.h"
#include "common/layout/snode_kinds.h"

namespace kiln::dsl {
namespace {

constexpr char kFirstAxis = 'i';
constexpr kiln_snode kRoot = {TreeBuilder::kRoot};

// "pointer (SNode 2)"
std::string NameOf(const kiln_tree& tree, uint32_t snode) {
  const SNodeFacts* kind = FindSNodeKind(tree.nodes.tree().nodes(static_cast<int>(snode)).kind());
  return absl::StrCat(kind->name, " (SNode ", snode, ")");
}

absl::StatusOr<TreeBuilder::Axes> AxesOf(const char* letters, const uint64_t* extents) {
  if (extents == nullptr) return absl::InvalidArgumentError("kiln_tree_add: extents is NULL");
  TreeBuilder::Axes axes;
  for (const char letter : absl::NullSafeStringView(letters)) {
    if (letter < kFirstAxis || letter >= kFirstAxis + kMaxIndices) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes '", letters, "': expected letters from '", std::string(1, kFirstAxis),
                       "' to '", std::string(1, kFirstAxis + kMaxIndices - 1), "'"));
    }
    axes.emplace_back(letter - kFirstAxis, extents[axes.size()]);
  }
  return axes;
}

absl::Status CheckParent(const kiln_tree& tree, kiln_snode parent) {
  if (tree.made != nullptr) {
    return absl::InvalidArgumentError("the tree is in use, and can no longer grow");
  }
  if (parent.number >= static_cast<uint32_t>(tree.nodes.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the tree has no SNode ", parent.number));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Add(kiln_tree* tree, kiln_snode parent, const char* kind, const char* letters,
                        const uint64_t* extents, uint32_t chunk) {
  RETURN_IF_ERROR(CheckParent(*tree, parent));
  const SNodeFacts* facts = FindSNodeKind(std::string_view(kind == nullptr ? "" : kind));
  if (facts == nullptr || !facts->has_axes || facts->is_word()) {
    return absl::InvalidArgumentError(absl::StrCat("no SNode '", absl::NullSafeStringView(kind),
                                                   "': expected dense, pointer, bitmasked or "
                                                   "dynamic"));
  }
  ASSIGN_OR_RETURN(const TreeBuilder::Axes axes, AxesOf(letters, extents));
  // As in Python, one chunk holds the whole list unless the program says otherwise.
  if (facts->is_list && chunk == 0 && !axes.empty()) chunk = static_cast<uint32_t>(axes[0].second);
  return tree->nodes.Add(static_cast<proto::SNodeKind>(facts->kind),
                         static_cast<int>(parent.number), axes, facts->is_list ? chunk : 0);
}

absl::StatusOr<int> PlaceField(kiln_tree* tree, kiln_snode parent, kiln_value_type type) {
  RETURN_IF_ERROR(CheckParent(*tree, parent));
  if (type.scalar == KILN_NO_DTYPE || type.scalar > KILN_F64) {
    return absl::InvalidArgumentError(
        absl::StrCat("a field's numbers have no dtype ", type.scalar));
  }
  kiln_tree::Placed placed;
  placed.element.set_scalar(static_cast<proto::Scalar>(type.scalar));
  uint64_t count = 1;
  for (const uint32_t extent : {type.rows, type.columns}) {
    if (extent == 0) continue;
    placed.element.add_shape(extent);
    count *= extent;
  }
  if (count > kMaxTreeNodes) {
    return absl::InvalidArgumentError(absl::StrCat("an element of ", count, " numbers"));
  }
  for (uint64_t i = 0; i < count; ++i) {
    placed.places.push_back(
        tree->nodes.Place(static_cast<int>(parent.number), placed.element.scalar()));
  }
  const int first = placed.places[0];
  tree->fields[first] = std::move(placed);
  return first;
}

// The gradient follows its field in the cells, as in Python where one places both.
absl::StatusOr<int> PlaceWithGradient(kiln_tree* tree, kiln_snode parent, kiln_value_type type,
                                      kiln_snode* gradient) {
  if (type.scalar != KILN_F32 && type.scalar != KILN_F64 && type.scalar != KILN_F16) {
    return absl::InvalidArgumentError("only fields of floats have gradients");
  }
  ASSIGN_OR_RETURN(const int field, PlaceField(tree, parent, type));
  ASSIGN_OR_RETURN(const int companion, PlaceField(tree, parent, type));
  tree->fields[field].gradient = companion;
  *gradient = {static_cast<uint32_t>(companion)};
  return field;
}

// What `add` made; the root, with the failure kept, if it made nothing.
template <typename Make>
kiln_snode Keep(kiln_tree* tree, const Make& add) {
  if (!tree->failure.ok()) return kRoot;
  const absl::StatusOr<int> made = add();
  if (made.ok()) return {static_cast<uint32_t>(*made)};
  tree->failure = made.status();
  return kRoot;
}

// A field of the tree, which is made.
absl::StatusOr<const kiln_tree::Placed*> FieldOf(kiln_tree* tree, kiln_snode snode) {
  RETURN_IF_ERROR(tree->Finish());
  const kiln_tree::Placed* placed = tree->FindField(snode);
  if (placed != nullptr) return placed;
  return absl::InvalidArgumentError(absl::StrCat("SNode ", snode.number, " is not a field"));
}

absl::Status CheckIndices(const TreeField& field, const int64_t* indices) {
  for (size_t axis = 0; axis < field.shape.size(); ++axis) {
    if (indices[axis] >= 0 && indices[axis] < field.shape[axis]) continue;
    return absl::OutOfRangeError(absl::StrCat("index ", indices[axis], " of axis ", axis,
                                              " of a field with ", field.shape[axis]));
  }
  return absl::OkStatus();
}

absl::Status Read(kiln_tree* tree, kiln_snode snode, const int64_t* indices, void* element) {
  ASSIGN_OR_RETURN(const kiln_tree::Placed* placed, FieldOf(tree, snode));
  RETURN_IF_ERROR(CheckIndices(placed->field, indices));
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*tree->device));
  const int bytes = ScalarBytes(placed->element.scalar());
  for (int c = 0; c < static_cast<int>(placed->places.size()); ++c) {
    ASSIGN_OR_RETURN(const uint8_t* at,
                     placed->field.access->Locate(indices, c, CellAccess::kRead));
    std::memcpy(static_cast<uint8_t*>(element) + c * bytes, at, bytes);
  }
  return absl::OkStatus();
}

absl::Status Write(kiln_tree* tree, kiln_snode snode, const int64_t* indices, const void* element) {
  ASSIGN_OR_RETURN(const kiln_tree::Placed* placed, FieldOf(tree, snode));
  RETURN_IF_ERROR(CheckIndices(placed->field, indices));
  const size_t bytes = static_cast<size_t>(ScalarBytes(placed->element.scalar()));
  std::vector<uint64_t> values(placed->places.size());
  for (size_t c = 0; c < values.size(); ++c) {
    std::memcpy(&values[c], static_cast<const uint8_t*>(element) + c * bytes, bytes);
  }
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*tree->device));
  return placed->field.access->WriteElement(indices, values.data());
}

// Calls act(access) for all elements of a field.
template <typename Act>
absl::Status OnAll(kiln_tree* tree, kiln_snode field, const Act& act) {
  ASSIGN_OR_RETURN(const kiln_tree::Placed* placed, FieldOf(tree, field));
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*tree->device));
  RETURN_IF_ERROR(act(*placed->field.access));
  // Copies from a device do not fail themselves.
  return ToStatus(tree->device->Synchronize());
}

// Calls act with the runtime's tree, for `snode`.
template <typename Act>
absl::Status OnSparse(kiln_tree* tree, kiln_snode snode, const Act& act) {
  RETURN_IF_ERROR(tree->Finish());
  if (snode.number >= static_cast<uint32_t>(tree->nodes.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the tree has no SNode ", snode.number));
  }
  if (tree->FindField(snode) != nullptr || tree->made->sparse() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(*tree, snode.number), " has no cells to activate"));
  }
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*tree->device));
  act(*tree->made->sparse());
  return ToStatus(tree->device->Synchronize());
}

// The builder's number of the tree.
uint32_t NumberOf(kiln_trace* trace, const kiln_tree& tree) {
  for (uint32_t i = 0; i < trace->trees.size(); ++i) {
    if (trace->trees[i] == tree.made) return i;
  }
  trace->trees.push_back(tree.made);
  return trace->builder.AddTree(tree.made->layout().DescribeTree());
}

absl::StatusOr<ParamId> InputOf(kiln_trace* trace, kiln_tree* tree, kiln_snode snode) {
  RETURN_IF_ERROR(trace->CheckDevice(*tree->device));
  RETURN_IF_ERROR(tree->Finish());
  if (snode.number >= static_cast<uint32_t>(tree->nodes.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the tree has no SNode ", snode.number));
  }
  const uint32_t number = NumberOf(trace, *tree);
  for (const kiln_trace::TreeInput& input : trace->tree_inputs) {
    if (input.tree == number && input.snode == snode.number) return input.param;
  }
  const kiln_tree::Placed* placed = tree->FindField(snode);
  kiln_trace::TreeInput input;
  input.tree = number;
  input.snode = snode.number;
  input.is_field = placed != nullptr;
  if (input.is_field) {
    ASSIGN_OR_RETURN(input.field, tree->made->Field(placed->places, placed->element, number));
    input.gradient_snode = placed->gradient;
  } else {
    input.field.storage = tree->made->layout().DescribeNode(static_cast<int>(snode.number), number);
  }
  if (input.gradient_snode >= 0) {
    const kiln_tree::Placed& of = tree->fields.at(input.gradient_snode);
    ASSIGN_OR_RETURN(input.gradient, tree->made->Field(of.places, of.element, number));
  }
  input.param = trace->builder.AddStorageParam(input.field.storage);
  trace->tree_inputs.push_back(input);
  return input.param;
}

struct CellsOp {
  absl::string_view name;
  SNodeOp op;
  proto::NodeKind kind;
  proto::Scalar result;
};
constexpr CellsOp kCellsOps[] = {
    {"activate", SNodeOp::kActivate, proto::SNODE_ACTIVATE, proto::SCALAR_NONE},
    {"deactivate", SNodeOp::kDeactivate, proto::SNODE_DEACTIVATE, proto::SCALAR_NONE},
    {"is_active", SNodeOp::kIsActive, proto::SNODE_IS_ACTIVE, proto::U1},
    {"length", SNodeOp::kLength, proto::SNODE_LENGTH, proto::I32},
    {"append", SNodeOp::kAppend, proto::SNODE_APPEND, proto::I32},
};

// Here, since checks of the whole kernel know no line of the program.
absl::Status CheckCells(const kiln_trace& trace, const CellsOp& op, ParamId param, size_t count) {
  const auto input =
      absl::c_find_if(trace.tree_inputs, [&](const auto& of) { return of.param == param; });
  if (input == trace.tree_inputs.end() || input->is_field) {
    return absl::InvalidArgumentError(absl::StrCat(op.name, " of something that is not an SNode"));
  }
  const SNodeFacts& kind = *trace.trees[input->tree]->layout()[static_cast<int>(input->snode)].kind;
  if (!Accepts(kind, op.op)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.name, " of a ", kind.name, " SNode, which has no such op"));
  }
  const size_t expected =
      static_cast<size_t>(trace.builder.NumIndices(param)) - (NamesContainer(kind, op.op) ? 1 : 0);
  if (count == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op.name, " takes ", expected, " indices, got ", count));
}

absl::StatusOr<NodeNumber> Cells(kiln_trace* trace, const char* name, ParamId snode,
                                 const kiln_node* indices, size_t count) {
  const auto* op = absl::c_find_if(
      kCellsOps, [&](const CellsOp& of) { return of.name == absl::NullSafeStringView(name); });
  if (op == std::end(kCellsOps)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no op '", absl::NullSafeStringView(name), "' on cells"));
  }
  RETURN_IF_ERROR(CheckCells(*trace, *op, snode, count));
  proto::Node node;
  node.set_kind(op->kind);
  if (op->result != proto::SCALAR_NONE) {
    node.set_type(trace->builder.ScalarType(op->result).number());
  }
  for (size_t i = 0; i < count; ++i) node.add_operands(indices[i].number);
  node.set_index(snode.number());
  return trace->builder.Append(std::move(node));
}

}  // namespace
}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

absl::Status kiln_tree::Finish() {
  if (failure.ok() && made == nullptr) failure = Make();
  return failure;
}

absl::Status kiln_tree::Make() {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) names.push_back(NameOf(*this, static_cast<uint32_t>(i)));
  ASSIGN_OR_RETURN(auto tree,
                   kiln::FieldTree::Create(nodes.tree(), std::move(names), device, budget));
  for (auto& [_, placed] : fields) {
    ASSIGN_OR_RETURN(placed.field, tree->Field(placed.places, placed.element, 0));
  }
  made = std::move(tree);
  return absl::OkStatus();
}

const kiln_tree::Placed* kiln_tree::FindField(kiln_snode snode) const {
  const auto found = fields.find(static_cast<int>(snode.number));
  return found == fields.end() ? nullptr : &found->second;
}

kiln_tree* kiln_tree_new() { return new (std::nothrow) kiln_tree; }
void kiln_tree_free(kiln_tree* tree) { delete tree; }
kiln_snode kiln_tree_root(const kiln_tree* /*tree*/) { return kRoot; }

kiln_snode kiln_tree_add(kiln_tree* tree, kiln_snode parent, const char* kind, const char* axes,
                         const uint64_t* extents, uint32_t chunk) {
  return Keep(tree, [&] { return Add(tree, parent, kind, axes, extents, chunk); });
}

kiln_snode kiln_tree_field(kiln_tree* tree, kiln_snode parent, kiln_value_type element) {
  return Keep(tree, [&] { return PlaceField(tree, parent, element); });
}

kiln_snode kiln_tree_field_with_gradient(kiln_tree* tree, kiln_snode parent,
                                         kiln_value_type element, kiln_snode* gradient) {
  *gradient = kRoot;
  return Keep(tree, [&] { return PlaceWithGradient(tree, parent, element, gradient); });
}

kiln_status kiln_tree_finish(kiln_tree* tree) { return Told(tree->Finish()); }

kiln_status kiln_tree_shape(kiln_tree* tree, kiln_snode field, uint64_t* shape, size_t axes) {
  const auto found = FieldOf(tree, field);
  if (!found.ok()) return Told(found.status());
  const std::vector<int64_t>& shape_of = (*found)->field.shape;
  if (shape_of.size() != axes) {
    return Told(absl::InvalidArgumentError(absl::StrCat(
        "the SNodes above the field have ", shape_of.size(), " axes, expected ", axes)));
  }
  for (size_t axis = 0; axis < axes; ++axis) shape[axis] = static_cast<uint64_t>(shape_of[axis]);
  return KILN_OK;
}

kiln_status kiln_tree_read(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                           void* element) {
  return Told(Read(tree, field, indices, element));
}

kiln_status kiln_tree_write(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                            const void* element) {
  return Told(Write(tree, field, indices, element));
}

kiln_status kiln_tree_read_all(kiln_tree* tree, kiln_snode field, void* elements) {
  return Told(OnAll(tree, field, [&](const kiln::ScatteredAccess& access) {
    access.CopyTo(elements);
    return absl::OkStatus();
  }));
}

kiln_status kiln_tree_write_all(kiln_tree* tree, kiln_snode field, const void* elements) {
  return Told(OnAll(
      tree, field, [&](const kiln::ScatteredAccess& access) { return access.WriteAll(elements); }));
}

kiln_status kiln_tree_count(kiln_tree* tree, kiln_snode snode, uint64_t* cells) {
  return Told(OnSparse(tree, snode, [&](kiln::TreeData& sparse) {
    *cells = sparse.CountActive(static_cast<int>(snode.number));
  }));
}

kiln_status kiln_tree_deactivate(kiln_tree* tree, kiln_snode snode) {
  return Told(OnSparse(tree, snode, [&](kiln::TreeData& sparse) {
    sparse.DeactivateAll(static_cast<int>(snode.number));
    sparse.Collect();
  }));
}

kiln_input kiln_trace_snode(kiln_trace* trace, kiln_tree* tree, kiln_snode snode) {
  return {trace->Try([&] { return InputOf(trace, tree, snode); }).number()};
}

kiln_node kiln_trace_cells(kiln_trace* trace, const char* op, kiln_input snode,
                           const kiln_node* indices, size_t count) {
  const kiln::ParamId param(snode.number);
  return {trace->Try([&] { return Cells(trace, op, param, indices, count); }).number()};
}
