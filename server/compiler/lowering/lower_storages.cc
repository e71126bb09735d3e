// Storage descriptors become attributes of the kernel.
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace {

// The scalar of each component: from an access where there is one (only the kernel's
// type table knows structs), else from the element itself.
std::vector<Scalar> ComponentScalars(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                                     const TypeTable& types, int param,
                                     const proto::Type& element) {
  std::vector<Scalar> scalars;
  for (size_t function = 0; function < nodes.size(); ++function) {
    for (uint32_t id : nodes[function]) {
      const proto::Node& node = FunctionAt(unit, function).nodes(id);
      if (node.kind() != proto::GLOBAL || node.index() != static_cast<uint64_t>(param)) continue;
      types.AppendScalars(node.type(), &scalars);
      return scalars;
    }
  }
  uint64_t count = element.scalar() == proto::SCALAR_NONE ? 0 : 1;
  for (uint32_t extent : element.shape()) count *= extent;
  scalars.assign(count, element.scalar());
  return scalars;
}

mlir::ArrayAttr TypeArray(const std::vector<Scalar>& scalars, mlir::MLIRContext* context) {
  llvm::SmallVector<mlir::Attribute> types;
  for (Scalar scalar : scalars) types.push_back(mlir::TypeAttr::get(ValueType(context, scalar)));
  return mlir::ArrayAttr::get(context, types);
}

mlir::DenseI64ArrayAttr Numbers(const llvm::SmallVector<int64_t>& numbers,
                                mlir::MLIRContext* context) {
  return mlir::DenseI64ArrayAttr::get(context, numbers);
}

// Of words: integers as wide as they are.
mlir::ArrayAttr WordTypes(const proto::Word& word, mlir::MLIRContext* context) {
  const mlir::Attribute type = mlir::TypeAttr::get(mlir::IntegerType::get(context, word.bits()));
  return mlir::ArrayAttr::get(context,
                              llvm::SmallVector<mlir::Attribute>(word.components_size(), type));
}

mlir::Attribute Dense(const proto::DenseStorage& dense, int slot, int alias, bool read_only,
                      mlir::ArrayAttr types, mlir::MLIRContext* context) {
  llvm::SmallVector<int64_t> digits, components, base_strides;
  for (const proto::Digit& digit : dense.digits()) {
    digits.append(
        {digit.axis(), static_cast<int64_t>(digit.extent()), static_cast<int64_t>(digit.stride())});
  }
  for (const proto::Component& component : dense.components()) {
    components.append({component.base(), static_cast<int64_t>(component.bit_offset() / 8)});
  }
  for (const proto::Strides& strides : dense.base_strides()) {
    base_strides.append(strides.stride().begin(), strides.stride().end());
  }
  llvm::SmallVector<int64_t> offset(dense.index_offset().begin(), dense.index_offset().end());
  return ir::DenseAttr::get(context, slot, dense.num_axes(), Numbers(digits, context),
                            Numbers(offset, context), types, Numbers(components, context),
                            dense.num_bases(), Numbers(base_strides, context), alias, read_only);
}

mlir::Attribute Tree(const proto::TreePart& tree, int slot, mlir::MLIRContext* context) {
  llvm::SmallVector<ir::SNodeAttr> nodes;
  for (const proto::TreeNode& node : tree.nodes()) {
    llvm::SmallVector<int64_t> axes;
    for (const proto::Axis& axis : node.axes()) {
      axes.append({axis.axis(), static_cast<int64_t>(axis.extent())});
    }
    nodes.push_back(ir::SNodeAttr::get(context, static_cast<SNodeKind>(node.kind()), node.parent(),
                                       Numbers(axes, context), node.cell_bytes(), node.offset(),
                                       node.mask_offset(), node.chunk_size()));
  }
  return ir::TreeAttr::get(context, slot, nodes);
}

mlir::Attribute TreeField(const proto::TreeStorage& tree, int alias, bool read_only,
                          mlir::ArrayAttr types, mlir::MLIRContext* context) {
  const llvm::SmallVector<int64_t> axes(tree.axes().begin(), tree.axes().end()),
      offset(tree.index_offset().begin(), tree.index_offset().end());
  llvm::SmallVector<int64_t> components, component_axes;
  bool own_axes = false;
  for (const proto::TreeComponent& component : tree.components()) {
    components.append(
        {component.tree(), component.node(), static_cast<int64_t>(component.bit_offset() / 8)});
    own_axes |= !component.axes().empty();
    const auto& of = component.axes().empty() ? tree.axes() : component.axes();
    component_axes.append(of.begin(), of.end());
  }
  return ir::TreeFieldAttr::get(context, tree.tree(), tree.node(), Numbers(axes, context),
                                Numbers(offset, context), types, Numbers(components, context),
                                alias, read_only,
                                own_axes ? Numbers(component_axes, context) : nullptr);
}

// For each storage the first one that it may overlap: storages of one alias set, and fields in
// trees that share components.
std::vector<uint32_t> FirstOverlapping(const proto::CompileUnit& unit) {
  std::vector<uint32_t> first;
  const auto find = [&](uint32_t storage) {
    while (first[storage] != storage) storage = first[storage];
    return storage;
  };
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, uint32_t> owners;
  std::map<uint32_t, uint32_t> sets;
  for (const proto::Storage& storage : unit.storages()) {
    const uint32_t number = first.size();
    first.push_back(number);
    const auto join = [&](uint32_t other) {
      const uint32_t a = find(number), b = find(other);
      first[std::max(a, b)] = std::min(a, b);
    };
    if (storage.alias_set() != 0) join(sets.emplace(storage.alias_set(), number).first->second);
    for (const proto::TreeComponent& component : storage.tree().components()) {
      const auto key = std::make_tuple(component.tree(), component.node(), component.bit_offset());
      join(owners.emplace(key, number).first->second);
    }
  }
  for (uint32_t& storage : first) storage = find(storage);
  return first;
}

// Alias sets of the parameters. Parameters of storages that may overlap, or of one storage, share
// a set; others that state a set keep it.
std::vector<int> AliasSets(const proto::CompileUnit& unit) {
  const std::vector<uint32_t> first = FirstOverlapping(unit);
  std::set<uint32_t> once, twice;
  for (int s = 0; s < unit.storages_size(); ++s) {
    if (unit.storages(s).alias_set() != 0) twice.insert(first[s]);
  }
  for (const proto::Param& param : unit.kernel().body().params()) {
    if (param.kind() != proto::Param::PARAM_STORAGE) continue;
    if (!once.insert(first[param.storage()]).second) twice.insert(first[param.storage()]);
  }
  std::vector<int> sets;
  for (const proto::Param& param : unit.kernel().body().params()) {
    const bool shared =
        param.kind() == proto::Param::PARAM_STORAGE && twice.count(first[param.storage()]) > 0;
    sets.push_back(shared ? 1 + static_cast<int>(first[param.storage()]) : 0);
  }
  return sets;
}

// Whether two quantised storages of one alias set are in the same words (proto/layout.proto).
bool InSameWords(const proto::Storage& a, const proto::Storage& b) {
  const auto places = [](const proto::Storage& storage) {
    proto::Storage rest = storage;
    rest.clear_element();
    rest.clear_alias_set();
    rest.mutable_word()->clear_components();
    rest.mutable_word()->clear_sharers();
    for (const proto::Component& component : storage.dense().components()) {
      if (component.bit_offset() != 0) rest.clear_word();
    }
    if (rest.has_dense()) rest.mutable_dense()->clear_components();
    while (rest.tree().components_size() > 1)
      rest.mutable_tree()->mutable_components()->RemoveLast();
    return rest;
  };
  if (!a.has_word() || !b.has_word()) return false;
  const proto::Storage rest = places(a);
  return rest.has_word() && google::protobuf::util::MessageDifferencer::Equals(rest, places(b));
}

// By parameter: the first one of its alias set, where all of the set are in its words, so
// that one storage stands for them all; else itself.
std::vector<int> FirstOfWords(const proto::CompileUnit& unit, const std::vector<int>& aliases) {
  const proto::Function& body = unit.kernel().body();
  const auto storage = [&](int p) -> const proto::Storage& {
    return unit.storages(body.params(p).storage());
  };
  std::vector<int> first(aliases.size());
  std::map<int, int> first_of_set;
  std::set<int> mixed;
  for (int p = 0; p < body.params_size(); ++p) {
    first[p] = p;
    if (aliases[p] == 0) continue;
    const int leader = first_of_set.try_emplace(aliases[p], p).first->second;
    if (!InSameWords(storage(leader), storage(p))) mixed.insert(aliases[p]);
  }
  for (int p = 0; p < body.params_size(); ++p) {
    if (aliases[p] != 0 && mixed.count(aliases[p]) == 0) first[p] = first_of_set[aliases[p]];
  }
  return first;
}

}  // namespace

// Accesses of one parameter have one type, of as many scalars as the storage has
// components: the one that ComponentScalars finds first stands for all.
absl::Status CheckAccesses(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                           const TypeTable& types) {
  const proto::Function& body = unit.kernel().body();
  std::vector<uint32_t> type_of_param(body.params_size());
  for (size_t function = 0; function < nodes.size(); ++function) {
    for (uint32_t id : nodes[function]) {
      const proto::Node& node = FunctionAt(unit, function).nodes(id);
      if (node.kind() != proto::GLOBAL) continue;
      const proto::Storage& storage = unit.storages(body.params(node.index()).storage());
      uint32_t& type = type_of_param[node.index()];
      if (type == 0) type = node.type();
      const uint64_t scalars = types.NumScalars(node.type());
      if (type != node.type() ||
          (storage.has_dense() && scalars != uint64_t(storage.dense().components_size())) ||
          (storage.has_tree() && scalars != uint64_t(storage.tree().components_size()))) {
        return absl::InvalidArgumentError(
            absl::StrCat("node ", id, " (global): its type is not that of its storage"));
      }
    }
  }
  return absl::OkStatus();
}

// By position: whether NO_ACTIVATE names the storage, or an SNode above a component of it.
static std::vector<bool> NotActivating(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                                       const LoweredStorages& storages) {
  std::vector<bool> out(storages.attributes.size());
  const auto mark = [&](int named) {
    out[named] = true;
    auto snode = llvm::dyn_cast<ir::TreeFieldAttr>(storages.attributes[named]);
    if (!snode || snode.getNumComponents() > 0) return;
    for (size_t s = 0; s < out.size(); ++s) {
      auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storages.attributes[s]);
      for (int c = 0; field && c < field.getNumComponents(); ++c) {
        if (field.getComponentTree(c) != snode.getTree()) continue;
        auto tree = llvm::cast<ir::TreeAttr>(storages.trees[snode.getTree()]);
        if (llvm::is_contained(tree.getPath(field.getComponentNode(c)), snode.getNode())) {
          out[s] = true;
        }
      }
    }
  };
  for (size_t function = 0; function < nodes.size(); ++function) {
    for (uint32_t id : nodes[function]) {
      const proto::Node& node = FunctionAt(unit, function).nodes(id);
      if (node.kind() == proto::NO_ACTIVATE) mark(storages.of_param[node.index()]);
    }
  }
  return out;
}

// What debug mode asks whether it is active: the SNode that a loop's cells hang on.
static void AddLastSparse(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                          LoweredStorages& storages,
                          llvm::SmallVectorImpl<mlir::Attribute>* attributes) {
  std::set<std::pair<int64_t, int64_t>> deactivated;
  for (size_t function = 0; function < nodes.size(); ++function) {
    for (uint32_t id : nodes[function]) {
      const proto::Node& node = FunctionAt(unit, function).nodes(id);
      if (node.kind() != proto::SNODE_DEACTIVATE) continue;
      auto snode = llvm::cast<ir::TreeFieldAttr>((*attributes)[storages.of_param[node.index()]]);
      deactivated.insert({snode.getTree(), snode.getNode()});
    }
  }
  storages.last_sparse.assign(attributes->size(), -1);
  for (int& last : storages.last_sparse) {
    auto field =
        llvm::dyn_cast<ir::TreeFieldAttr>((*attributes)[&last - storages.last_sparse.data()]);
    if (!field) continue;
    auto tree = llvm::cast<ir::TreeAttr>(storages.trees[field.getTree()]);
    if (llvm::none_of(tree.getPath(field.getNode()),
                      [&](int64_t n) { return deactivated.count({field.getTree(), n}) > 0; })) {
      continue;
    }
    mlir::MLIRContext* context = field.getContext();
    last = static_cast<int>(attributes->size());
    attributes->push_back(ir::TreeFieldAttr::get(
        context, field.getTree(), tree.getLastSparse(field.getNode()), field.getAxes(),
        Numbers({}, context), mlir::ArrayAttr::get(context, {}), Numbers({}, context),
        /*alias=*/0, /*read_only=*/true, /*component_axes=*/nullptr));
  }
}

LoweredStorages LowerStorages(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                              const TypeTable& types, const ArgumentLayout& layout,
                              mlir::MLIRContext* context) {
  LoweredStorages out;
  llvm::SmallVector<mlir::Attribute> attributes;
  const proto::Function& body = unit.kernel().body();
  std::vector<int> aliases = AliasSets(unit);
  const std::vector<int> leaders = FirstOfWords(unit, aliases);
  // Storages that share words become one, so nothing else overlaps.
  std::set<int> joined;
  for (int p = 0; p < body.params_size(); ++p) {
    if (leaders[p] != p) joined.insert(leaders[p]);
  }
  for (int p : joined) aliases[p] = 0;
  for (int p = 0; p < body.params_size(); ++p) {
    out.of_param.push_back(-1);
    if (body.params(p).kind() != proto::Param::PARAM_STORAGE) continue;
    const proto::Storage& storage = unit.storages(body.params(p).storage());
    const int slot = layout.first_slot[p];
    const std::vector<Scalar> scalars = ComponentScalars(unit, nodes, types, p, storage.element());
    if (leaders[p] != p) {
      out.of_param.back() = out.of_param[leaders[p]];
      continue;
    }
    out.of_param.back() = attributes.size();
    mlir::ArrayAttr element =
        storage.has_word() ? WordTypes(storage.word(), context) : TypeArray(scalars, context);
    // Indices of words are made where their cells are told apart.
    const bool is_quant_array = storage.word().digits_size() > 0;
    out.quant_arrays.push_back(is_quant_array ? &storage : nullptr);
    if (storage.has_tree()) {
      proto::TreeStorage tree = storage.tree();
      if (is_quant_array) tree.clear_index_offset();
      if (tree.components().empty()) element = mlir::ArrayAttr::get(context, {});
      attributes.push_back(TreeField(tree, aliases[p], storage.read_only(), element, context));
    } else if (storage.has_dense()) {
      proto::DenseStorage dense = storage.dense();
      if (is_quant_array) dense.clear_index_offset();
      attributes.push_back(Dense(dense, slot, aliases[p], storage.read_only(), element, context));
    } else {
      const proto::NdarrayStorage& ndarray = storage.ndarray();
      attributes.push_back(ir::NdarrayAttr::get(
          context, slot, ndarray.ndim(), element, ndarray.soa(),
          ndarray.boundary() == proto::BOUNDARY_CLAMP, aliases[p], storage.read_only()));
    }
  }
  llvm::SmallVector<mlir::Attribute> trees;
  for (int t = 0; t < unit.trees_size(); ++t) {
    trees.push_back(Tree(unit.trees(t), layout.tree_slot[t], context));
  }
  if (!trees.empty()) out.trees = mlir::ArrayAttr::get(context, trees);
  if (unit.options().debug()) AddLastSparse(unit, nodes, out, &attributes);
  out.attributes = mlir::ArrayAttr::get(context, attributes);
  out.no_activate = NotActivating(unit, nodes, out);
  return out;
}

}  // namespace kiln
