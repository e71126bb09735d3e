#include "client_py/storage_object.h"

#include <pybind11/stl.h>

#include <optional>
#include <tuple>
#include <utility>

#include "client_py/dlpack.h"
#include "client_py/status_error.h"
#include "lang/deterministic.h"

namespace kiln {

namespace py = pybind11;

uint64_t memory_epoch = 0;

namespace {

int unlocked_launches = 0;

// Destroyed while a launch was running; freed when none is. Never destroyed:
// threads may outlive static destructors.
std::vector<std::shared_ptr<RootBuffer>>& Graveyard() {
  static auto* graveyard = new std::vector<std::shared_ptr<RootBuffer>>;
  return *graveyard;
}

// (kind, [(axis, extent)…], parent, scalar, chunk_size, virtual_to_physical, index_offset)
using NodeTuple = std::tuple<int, std::vector<std::pair<uint32_t, uint64_t>>, int, int, uint32_t,
                             std::vector<int>, std::vector<int64_t>>;

proto::Tree MakeTree(const std::vector<NodeTuple>& nodes) {
  proto::Tree tree;
  for (const auto& [kind, axes, parent, scalar, chunk_size, virtual_axes, offset] : nodes) {
    const uint32_t index = tree.nodes_size();
    proto::SNode* node = tree.add_nodes();
    node->set_kind(static_cast<proto::SNodeKind>(kind));
    for (const auto& [axis, extent] : axes) {
      proto::Axis* level = node->add_axes();
      level->set_axis(axis);
      level->set_extent(extent);
    }
    if (scalar != 0) node->mutable_type()->set_scalar(static_cast<Scalar>(scalar));
    node->set_chunk_size(chunk_size);
    for (int physical : virtual_axes) node->add_virtual_to_physical(physical);
    for (int64_t first : offset) node->add_index_offset(first);
    if (index > 0) {
      if (parent < 0 || parent >= static_cast<int>(index)) {
        throw py::value_error("a node's parent must come before it");
      }
      tree.mutable_nodes(parent)->add_children(index);
    }
  }
  return tree;
}

class Tree {
 public:
  explicit Tree(const std::vector<NodeTuple>& nodes)
      : layout_(ValueOrRaise(TreeLayout::Make(MakeTree(nodes)))),
        memory_(std::make_shared<Memory>()) {}
  ~Tree() = default;

  void Allocate() {
    if (memory_->alive) return;
    memory_->buffer = ValueOrRaise(RootBuffer::Allocate(layout_.root_bytes()));
    memory_->alive = true;
  }

  // Memory goes back at once: every access checks `alive` first.
  void Destroy() { DestroyMemory(memory_.get()); }

  std::shared_ptr<FieldStorage> Describe(const std::vector<int>& places, int scalar,
                                         const std::vector<uint32_t>& element_shape) const {
    if (!memory_->alive) throw std::runtime_error("the tree has no memory yet");
    proto::Type element;
    element.set_scalar(static_cast<Scalar>(scalar));
    for (uint32_t extent : element_shape) element.add_shape(extent);
    const TreeLayout::DenseField field = ValueOrRaise(layout_.DescribeDense(places, element));
    auto storage = std::make_shared<FieldStorage>();
    storage->memory = memory_;
    uint8_t* root = memory_->buffer->data();
    storage->access = DenseAccess::OfField(field, root, static_cast<Scalar>(scalar));
    storage->descriptor = DeterministicBytes(field.storage);
    for (uint64_t offset : field.base_offsets) {
      storage->bases.push_back(reinterpret_cast<uint64_t>(root) + offset);
    }
    storage->extents = {static_cast<int64_t>(field.outer_extent)};
    storage->shape.assign(field.shape.begin(), field.shape.end());
    storage->element_shape = element_shape;
    return storage;
  }

  py::dict NodeInfo(int node) const {
    if (node < 0 || node >= layout_.tree().nodes_size()) throw py::index_error("no such node");
    const NodeLayout& at = layout_[node];
    py::dict info;
    info["cell_bytes"] = at.cell_bytes;
    info["container_bytes"] = at.container_bytes;
    info["offset"] = at.offset;
    info["num_cells"] = at.num_cells;
    return info;
  }

  bool IsAllDense(int node) const { return layout_.IsAllDense(node); }
  uint64_t bytes() const { return layout_.root_bytes(); }
  bool alive() const { return memory_->alive; }

 private:
  TreeLayout layout_;
  std::shared_ptr<Memory> memory_;
};

std::shared_ptr<FieldStorage> MakeNdarray(int scalar, const std::vector<uint32_t>& element_shape,
                                          const std::vector<int64_t>& shape) {
  uint64_t components = 1;
  for (uint32_t extent : element_shape) components *= extent;
  uint64_t bytes = components * ScalarBytes(static_cast<Scalar>(scalar));
  for (int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
        bytes > static_cast<uint64_t>(kMaxTreeBytes)) {
      throw py::value_error("the ndarray is too large");
    }
  }
  auto memory = std::make_shared<Memory>();
  memory->buffer = ValueOrRaise(RootBuffer::Allocate(bytes == 0 ? 1 : bytes));
  memory->alive = true;
  uint8_t* data = memory->buffer->data();
  return MakeArrayStorage(std::move(memory), data, static_cast<Scalar>(scalar), element_shape,
                          shape);
}

}  // namespace

std::shared_ptr<FieldStorage> MakeArrayStorage(std::shared_ptr<Memory> memory, uint8_t* data,
                                               Scalar scalar,
                                               const std::vector<uint32_t>& element_shape,
                                               const std::vector<int64_t>& shape) {
  int components = 1;
  for (uint32_t extent : element_shape) components *= static_cast<int>(extent);
  auto storage = std::make_shared<FieldStorage>();
  storage->memory = std::move(memory);
  storage->access = DenseAccess::OfArray(data, scalar, components, shape);
  storage->descriptor = NdarrayDescriptor(scalar, element_shape, static_cast<int>(shape.size()), 0);
  storage->bases = {reinterpret_cast<uint64_t>(data)};
  storage->extents = shape;
  storage->shape = shape;
  storage->element_shape = element_shape;
  storage->full_shape = shape;
  storage->full_shape.insert(storage->full_shape.end(), element_shape.begin(), element_shape.end());
  storage->is_ndarray = true;
  return storage;
}

void DestroyMemory(Memory* memory) {
  if (!memory->alive) return;
  memory->alive = false;
  ++memory_epoch;
  if (unlocked_launches > 0) {
    Graveyard().push_back(std::move(memory->buffer));
  } else {
    memory->buffer.reset();
    memory->owner.reset();
  }
}

void BeginUnlockedLaunch() { ++unlocked_launches; }

void EndUnlockedLaunch() {
  if (--unlocked_launches == 0) Graveyard().clear();
}

std::string NdarrayDescriptor(Scalar scalar, absl::Span<const uint32_t> element_shape, int ndim,
                              int boundary) {
  proto::Storage storage;
  storage.mutable_element()->set_scalar(scalar);
  for (uint32_t extent : element_shape) storage.mutable_element()->add_shape(extent);
  storage.mutable_ndarray()->set_ndim(ndim);
  storage.mutable_ndarray()->set_boundary(static_cast<proto::Boundary>(boundary));
  storage.set_alias_set(1);
  return DeterministicBytes(storage);
}

void BindStorage(py::module_& m) {
  py::class_<FieldStorage, std::shared_ptr<FieldStorage>>(m, "FieldStorage")
      .def_property_readonly("descriptor",
                             [](const FieldStorage& s) { return py::bytes(s.descriptor); })
      .def_property_readonly("shape",
                             [](const FieldStorage& s) { return py::tuple(py::cast(s.shape)); })
      .def_property_readonly(
          "element_shape",
          [](const FieldStorage& s) { return py::tuple(py::cast(s.element_shape)); })
      .def_property_readonly(
          "scalar", [](const FieldStorage& s) { return static_cast<int>(s.access.scalar()); })
      .def_property_readonly("bases", [](const FieldStorage& s) { return s.bases; })
      .def_property_readonly("alive", [](const FieldStorage& s) { return s.memory->alive; })
      .def("to_dlpack", &ToDlpack)
      .def("destroy", [](FieldStorage& s) { DestroyMemory(s.memory.get()); });
  m.def("from_dlpack", &FromDlpack, py::arg("capsule"), py::arg("element_axes") = 0);
  py::class_<Tree>(m, "Tree")
      .def(py::init<const std::vector<NodeTuple>&>())
      .def("allocate", &Tree::Allocate)
      .def("destroy", &Tree::Destroy)
      .def("describe", &Tree::Describe)
      .def("node_info", &Tree::NodeInfo)
      .def("is_all_dense", &Tree::IsAllDense)
      .def_property_readonly("bytes", &Tree::bytes)
      .def_property_readonly("alive", &Tree::alive);
  m.def("make_ndarray", &MakeNdarray, py::arg("scalar"), py::arg("element_shape"),
        py::arg("shape"));
  m.def(
      "ndarray_descriptor",
      [](int scalar, const std::vector<uint32_t>& element_shape, int ndim, int boundary) {
        return py::bytes(
            NdarrayDescriptor(static_cast<Scalar>(scalar), element_shape, ndim, boundary));
      },
      py::arg("scalar"), py::arg("element_shape"), py::arg("ndim"), py::arg("boundary") = 0);
}

}  // namespace kiln
