#include "client_py/native/tree_object.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "client_cpp/host/tree_access.h"
#include "client_cpp/runtime_status.h"
#include "client_py/native/active_device.h"
#include "client_py/native/gil.h"
#include "client_py/native/status_error.h"
#include "common/base/deterministic.h"
#include "common/base/digest.h"
#include "common/layout/quant_limits.h"
#include "common/layout/tree_builder.h"

namespace kiln {

namespace py = pybind11;

namespace {

void SetQuant(const TreeObject::QuantTuple& given, proto::QuantType* quant) {
  const auto& [kind, bits, is_signed, scale, exponent_bits] = given;
  quant->set_kind(static_cast<proto::QuantType::Kind>(kind));
  quant->set_bits(bits);
  quant->set_is_signed(is_signed);
  quant->set_scale(scale);
  quant->set_exponent_bits(exponent_bits);
}

proto::Tree MakeTree(const std::vector<TreeObject::NodeTuple>& nodes) {
  TreeBuilder tree;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& [kind, axes, parent, scalar, chunk_size, virtual_axes, offset, word_bits, quant,
                 exponent] = nodes[i];
    int number = TreeBuilder::kRoot;  // the first node, which the builder has made
    if (i > 0) {
      // So the children of each node come out in the order of their numbers.
      if (parent < 0 || parent >= tree.size()) {
        throw py::value_error("a node's parent must come before it");
      }
      number = tree.Add(static_cast<proto::SNodeKind>(kind), parent, axes, chunk_size);
    }
    proto::SNode* node = tree.node(number);
    // Only places have a type: 0 is a node with children.
    if (scalar != 0) node->mutable_type()->set_scalar(static_cast<Scalar>(scalar));
    node->set_physical_bits(word_bits);
    if (std::get<0>(quant) != 0) SetQuant(quant, node->mutable_type()->mutable_quant());
    node->set_exponent(exponent);
    for (int physical : virtual_axes) node->add_virtual_to_physical(physical);
    for (int64_t first : offset) node->add_index_offset(first);
  }
  return tree.tree();
}

using Places = std::vector<std::pair<std::shared_ptr<TreeObject>, int>>;

proto::Type ElementType(int scalar, const std::vector<uint32_t>& shape) {
  proto::Type element;
  element.set_scalar(static_cast<Scalar>(scalar));
  for (uint32_t extent : shape) element.add_shape(extent);
  return element;
}

// The storage of a field whose components are adjacent in dense levels of one tree; null if the
// field has another form.
std::shared_ptr<FieldStorage> DescribeDense(const TreeObject& tree, const Places& places,
                                            const proto::Type& element) {
  std::vector<int> nodes;
  for (const auto& [_, node] : places) nodes.push_back(node);
  auto described = tree.layout().DescribeDense(nodes, element);
  // A field that is not a regular array may still have the tree form.
  if (!described.ok()) return nullptr;
  const TreeLayout::DenseField& field = *described;
  auto storage = std::make_shared<FieldStorage>();
  storage->memory = tree.memory();
  storage->access = DenseAccess::OfField(field, tree.root(), element.scalar());
  storage->descriptor = DeterministicBytes(field.storage);
  for (uint64_t offset : field.base_offsets) {
    storage->bases.push_back(tree.device_root() + offset);
  }
  storage->extents = {static_cast<int64_t>(field.outer_extent)};
  storage->shape.assign(field.shape.begin(), field.shape.end());
  storage->element_shape.assign(element.shape().begin(), element.shape().end());
  return storage;
}

// The trees of `places`, in the order of their numbers in a storage.
std::vector<std::shared_ptr<TreeObject>> TreesOf(const Places& places) {
  std::vector<std::shared_ptr<TreeObject>> trees;
  for (const auto& [tree, _] : places) {
    // In the order of first use: the numbers become part of the descriptor, and so of the key.
    if (std::find(trees.begin(), trees.end(), tree) == trees.end()) trees.push_back(tree);
  }
  return trees;
}

// The storage of a field in tree form: its components may be in sparse levels, in several trees, or
// not adjacent. Kernels find them through the trees; the host through a TreeAccess.
std::shared_ptr<FieldStorage> DescribeInTrees(const Places& places, const proto::Type& element) {
  auto storage = std::make_shared<FieldStorage>();
  storage->trees = TreesOf(places);
  std::vector<TreePlace> parts;
  std::vector<TreeAccess::Component> components;
  // Each component is described by itself, as a scalar: together they are not one dense array.
  proto::Type scalar;
  scalar.set_scalar(element.scalar());
  for (const auto& [tree, node] : places) {
    const auto number = std::find(storage->trees.begin(), storage->trees.end(), tree);
    parts.push_back(
        {&tree->layout(), static_cast<uint32_t>(number - storage->trees.begin()), node});
    TreeAccess::Component component;
    component.place = node;
    component.tree = tree->tree();
    component.axes = tree->layout().VirtualAxes(node);
    // A tree without sparse levels has no Tree object; its component is an ordinary dense array.
    if (component.tree == nullptr) {
      component.dense =
          DenseAccess::OfField(ValueOrRaise(tree->layout().DescribeDense({node}, scalar)),
                               tree->root(), element.scalar());
    }
    components.push_back(std::move(component));
  }
  const proto::Storage described = ValueOrRaise(DescribeTreeField(parts, element));
  const proto::TreeStorage& form = described.tree();
  const TreeLayout& first = places[0].first->layout();
  for (const int32_t axis : form.axes()) {
    // An axis that no level of the tree divides has the extent 1.
    storage->shape.push_back(axis < 0 ? 1
                                      : static_cast<int64_t>(first.AxisExtent(
                                            places[0].second, static_cast<uint32_t>(axis))));
  }
  std::vector<std::shared_ptr<Memory>> memories;
  memories.reserve(storage->trees.size());
  for (const auto& tree : storage->trees) memories.push_back(tree->memory());
  // Alive as long as all of them are.
  storage->memory = JoinMemory(std::move(memories));
  storage->descriptor = DeterministicBytes(described);
  storage->element_shape.assign(element.shape().begin(), element.shape().end());
  storage->access =
      DenseAccess::OfShape(element.scalar(), static_cast<int>(places.size()), storage->shape,
                           {form.index_offset().begin(), form.index_offset().end()});
  // Quantised components that share a word are written together.
  if (described.has_word()) storage->access.SetWord(described.word());
  storage->scattered = std::make_shared<TreeAccess>(element.scalar(), storage->shape,
                                                    std::move(components), storage->access);
  return storage;
}

std::shared_ptr<FieldStorage> DescribeField(const Places& places, int scalar,
                                            const std::vector<uint32_t>& element_shape) {
  for (const auto& [tree, _] : places) {
    if (!tree->alive()) throw std::runtime_error("the tree has no memory");
  }
  const proto::Type element = ElementType(scalar, element_shape);
  const TreeObject& first = *places.at(0).first;
  // The dense form first: its kernels need no tree, and fields of equal shape share them.
  const bool dense = std::all_of(places.begin(), places.end(), [&](const auto& place) {
    return place.first.get() == &first && first.layout().IsAllDense(place.second);
  });
  auto storage = dense ? DescribeDense(first, places, element) : nullptr;
  return storage != nullptr ? storage : DescribeInTrees(places, element);
}

std::shared_ptr<FieldStorage> DescribeNode(const std::shared_ptr<TreeObject>& tree, int node) {
  if (node < 0 || node >= tree->layout().tree().nodes_size()) {
    throw py::index_error("no such node");
  }
  auto storage = std::make_shared<FieldStorage>();
  storage->trees = {tree};
  storage->memory = tree->memory();
  const proto::Storage described = tree->layout().DescribeNode(node, 0);
  storage->descriptor = DeterministicBytes(described);
  for (const int32_t axis : described.tree().axes()) {
    storage->shape.push_back(
        static_cast<int64_t>(tree->layout().AxisExtent(node, static_cast<uint32_t>(axis))));
  }
  return storage;
}

// The storages of a unit after PruneTrees, and the trees to which their numbers refer.
struct Pruned {
  Storages storages;
  TreeParts parts;
  std::vector<ReachedTree> reached;
  std::vector<std::shared_ptr<TreeObject>> trees;  // by their numbers before pruning
};

Pruned Prune(const std::vector<const FieldStorage*>& storages) {
  Pruned pruned;
  // Only a look-up: no result depends on the order of addresses.
  std::map<const TreeObject*, uint32_t> numbers;
  for (const FieldStorage* storage : storages) {
    // Dense fields and arrays do not depend on a tree.
    if (storage->trees.empty()) continue;
    proto::Storage* made = pruned.storages.Add();
    if (!made->ParseFromString(storage->descriptor)) throw std::runtime_error("no descriptor");
    std::vector<uint32_t> renumbered;
    for (const auto& tree : storage->trees) {
      // Numbers are per storage in the descriptors. Here they become numbers of the unit.
      const auto [at, is_new] = numbers.emplace(tree.get(), pruned.trees.size());
      if (is_new) {
        pruned.trees.push_back(tree);
        *pruned.parts.Add() = tree->layout().DescribeTree();
      }
      renumbered.push_back(at->second);
    }
    RenumberTrees(renumbered, made->mutable_tree());
  }
  // Without the parts that no storage reaches, a kernel stays valid when another field of the tree
  // changes.
  pruned.reached = ValueOrRaise(PruneTrees(&pruned.storages, &pruned.parts));
  return pruned;
}

// A digest of the parts of the trees that units with these storages contain. If two digests are
// equal, the same code accepts the storages' launch arguments.
py::bytes DigestOfTrees(const std::vector<const FieldStorage*>& storages) {
  const Pruned pruned = Prune(storages);
  std::string bytes;
  for (const proto::Storage& storage : pruned.storages) bytes += DeterministicBytes(storage);
  for (const proto::TreePart& part : pruned.parts) bytes += DeterministicBytes(part);
  if (bytes.empty()) return py::bytes();
  return py::bytes(std::string(Sha256Of(bytes).view()));
}

py::dict NodeInfo(const TreeObject& tree, int node) {
  if (node < 0 || node >= tree.layout().tree().nodes_size()) throw py::index_error("no such node");
  const NodeLayout& at = tree.layout()[node];
  py::dict info;
  info["cell_bytes"] = at.cell_bytes;
  info["container_bytes"] = at.container_bytes;
  info["offset"] = at.offset;
  info["num_cells"] = at.num_cells;
  return info;
}

TreeData& LivingTree(const TreeObject& object) {
  TreeData* tree = object.tree();
  if (tree == nullptr) throw std::runtime_error("the tree has no sparse SNodes, or no memory");
  return *tree;
}

// Makes every cell of the node, and of the nodes below it, inactive. Their memory can be reused.
void DeactivateAll(const TreeObject& object, int node) {
  TreeData& tree = LivingTree(object);
  // May take long, and runs no Python code. A device only starts here, and what the host has
  // written is handed over to it.
  std::optional<GilReleased> release;
  if (!object.memory()->is_mirrored()) release.emplace();
  tree.DeactivateAll(node);
  // At once: the program expects the memory back.
  tree.Collect();
}

py::dict Stats(const TreeObject& object) {
  const TreeStats stats = LivingTree(object).Stats();
  py::dict result;
  result["root_bytes"] = stats.root_bytes;
  result["cell_bytes"] = stats.cell_bytes;
  result["list_bytes"] = stats.list_bytes;
  result["lists_made"] = stats.lists_made;
  result["lists_kept"] = stats.lists_kept;
  result["collections"] = stats.collections;
  return result;
}

py::dict StatsOfNode(const TreeObject& object, int node) {
  const NodeStats stats = LivingTree(object).Stats(node);
  py::dict result;
  result["cells_made"] = stats.cells_made;
  result["cells_collected"] = stats.cells_collected;
  result["cells_peak"] = stats.cells_peak;
  return result;
}

}  // namespace

TreeObject::TreeObject(const std::vector<NodeTuple>& nodes)
    : layout_(ValueOrRaise(TreeLayout::Make(MakeTree(nodes)))),
      has_sparse_(layout_.shape().HasSparse()),
      memory_(std::make_shared<Memory>()) {}

void TreeObject::Allocate(std::vector<std::string> names, std::shared_ptr<MemoryBudget> budget) {
  // Called for each field of the tree.
  if (memory_->alive) return;
  if (has_sparse_) {
    TreeOptions options;
    options.names = std::move(names);
    options.budget = std::move(budget);
    Device::MadeTree made =
        ValueOrRaise(ToStatusOr(ActiveDevice().MakeTree(layout_.shape(), std::move(options))));
    root_ = made.tree->root();
    tree_ = made.tree;
    memory_->buffer = std::move(made.buffer);
    memory_->owner = std::move(made.tree);
  } else {
    memory_->buffer = ValueOrRaise(ToStatusOr(ActiveDevice().Allocate(layout_.root_bytes())));
    root_ = memory_->buffer->host();
  }
  memory_->alive = true;
}

uint64_t TreeObject::bytes() const {
  const TreeData* tree = this->tree();
  if (tree == nullptr) return layout_.root_bytes();
  const TreeStats stats = tree->Stats();
  return stats.root_bytes + stats.cell_bytes;
}

std::vector<ReachedPart> ReachedParts(const std::vector<const FieldStorage*>& storages) {
  std::vector<ReachedPart> parts;
  Pruned pruned = Prune(storages);
  parts.reserve(pruned.reached.size());
  for (ReachedTree& reached : pruned.reached) {
    parts.push_back({pruned.trees[reached.tree], reached.root_offset, std::move(reached.nodes)});
  }
  return parts;
}

std::vector<BoundTree> BindTrees(const std::vector<const FieldStorage*>& storages) {
  std::vector<BoundTree> bound;
  for (const ReachedPart& part : ReachedParts(storages)) {
    BoundTree made;
    made.tree = part.tree;
    made.root = made.tree->device_root() + part.root_offset;
    const TreeData* tree = made.tree->tree();
    for (const uint32_t node : part.nodes) {
      // By the pruned numbers, which are those in the kernel.
      made.nodes.push_back(tree == nullptr ? nullptr : tree->node(static_cast<int>(node)));
    }
    if (tree != nullptr && made.tree->memory()->is_mirrored()) {
      const uint64_t bytes = made.nodes.size() * sizeof(KilnNode*);
      made.copy = ValueOrRaise(ToStatusOr(ActiveDevice().Allocate(bytes)));
      ActiveDevice().CopyIn(made.copy->data(), static_cast<const void*>(made.nodes.data()), bytes);
    }
    bound.push_back(std::move(made));
  }
  return bound;
}

// The kinds of SNodes and quantised numbers by name, and limits: common/layout/snode_kinds.h,
// quant_limits.h.
void BindKinds(py::module_& m) {
  py::class_<SNodeFacts>(m, "SNodeKind")
      .def_property_readonly("number",
                             [](const SNodeFacts& kind) { return static_cast<int>(kind.kind); })
      .def_readonly("name", &SNodeFacts::name)
      .def_readonly("is_sparse", &SNodeFacts::is_sparse)
      .def_readonly("is_list", &SNodeFacts::is_list)
      .def_property_readonly("is_word", &SNodeFacts::is_word)
      .def_property_readonly("is_place", &SNodeFacts::is_place);
  py::dict kinds;
  for (const SNodeFacts& kind : kSNodeKinds) {
    kinds[kind.name] = py::cast(&kind, py::return_value_policy::reference);
  }
  m.attr("SNODES") = kinds;
  m.attr("MAX_AXES") = kMaxIndices;
  m.attr("MAX_TREE_DEPTH") = kMaxTreeDepth;
  m.attr("MAX_CELLS") = kMaxContainerCells;
  py::dict quants;
  quants["int"] = int{proto::QuantType::QUANT_INT};
  quants["fixed"] = int{proto::QuantType::QUANT_FIXED};
  quants["float"] = int{proto::QuantType::QUANT_FLOAT};
  m.attr("QUANTS") = quants;
  py::list words;
  for (const uint32_t bits : kWordBits) words.append(bits);
  m.attr("WORD_BITS") = py::tuple(words);
  m.attr("MAX_QUANT_BITS") = kMaxQuantBits;
  m.attr("MAX_FIXED_BITS") = kMaxFixedBits;
  m.attr("MAX_EXPONENT_BITS") = kMaxExponentBits;
  m.attr("MAX_FRACTION_BITS") = kMaxFractionBits;
}

void BindTree(py::module_& m) {
  BindKinds(m);
  py::class_<MemoryBudget, std::shared_ptr<MemoryBudget>>(m, "MemoryBudget")
      .def(py::init<uint64_t>(), py::arg("limit"))
      .def_property_readonly("used", &MemoryBudget::used)
      .def_property_readonly("limit", &MemoryBudget::limit);
  py::class_<TreeObject, std::shared_ptr<TreeObject>>(m, "Tree")
      .def(py::init<const std::vector<TreeObject::NodeTuple>&>())
      .def("allocate", &TreeObject::Allocate, py::arg("names") = std::vector<std::string>(),
           py::arg("budget") = nullptr)
      .def("destroy", &TreeObject::Destroy)
      .def("describe_node", &DescribeNode)
      .def("node_info", &NodeInfo)
      .def("deactivate_all", &DeactivateAll)
      .def("stats", &Stats)
      .def("node_stats", &StatsOfNode)
      .def("count_active",
           [](const TreeObject& object, int node) { return LivingTree(object).CountActive(node); })
      .def("is_all_dense",
           [](const TreeObject& tree, int node) { return tree.layout().IsAllDense(node); })
      .def_property_readonly("has_sparse", &TreeObject::has_sparse)
      .def_property_readonly("bytes", &TreeObject::bytes)
      .def_property_readonly("alive", &TreeObject::alive);
  m.def("describe_field", &DescribeField, py::arg("places"), py::arg("scalar"),
        py::arg("element_shape"));
  m.def("digest_of_trees", &DigestOfTrees, py::arg("storages"));
}

}  // namespace kiln
