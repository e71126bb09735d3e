// Storage descriptors become attributes of the kernel (storages.h).
#include <map>
#include <set>
#include <tuple>

#include "common/language/kernel_parts.h"
#include "common/language/node_views.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/compiler/lowering/scalar_value.h"
#include "server/compiler/lowering/storages.h"

namespace kiln {

namespace {

// The type of each component.
mlir::ArrayAttr ElementTypes(const proto::Type& element, mlir::MLIRContext* context) {
  // An SNode itself, which has no elements.
  if (element.scalar() == proto::SCALAR_NONE) return mlir::ArrayAttr::get(context, {});
  uint64_t count = 1;
  for (uint32_t extent : element.shape()) count *= extent;
  const mlir::Attribute type = mlir::TypeAttr::get(ValueType(context, element.scalar()));
  return mlir::ArrayAttr::get(context, llvm::SmallVector<mlir::Attribute>(count, type));
}

mlir::DenseI64ArrayAttr Numbers(const llvm::SmallVector<int64_t>& numbers,
                                mlir::MLIRContext* context) {
  return mlir::DenseI64ArrayAttr::get(context, numbers);
}

// The same for quantised numbers: the integer that is their word.
mlir::ArrayAttr WordTypes(const proto::Word& word, mlir::MLIRContext* context) {
  const mlir::Attribute type = mlir::TypeAttr::get(mlir::IntegerType::get(context, word.bits()));
  return mlir::ArrayAttr::get(context,
                              llvm::SmallVector<mlir::Attribute>(word.components_size(), type));
}

mlir::Attribute Dense(const proto::DenseStorage& dense, int slot, int alias, bool read_only,
                      mlir::ArrayAttr types, mlir::MLIRContext* context) {
  llvm::SmallVector<int64_t> digits, components, base_strides;
  for (const proto::Digit& digit : dense.digits()) {
    // Flat numbers: attributes of the IR have no nested messages.
    digits.append(
        {digit.axis(), static_cast<int64_t>(digit.extent()), static_cast<int64_t>(digit.stride())});
  }
  for (const proto::Component& component : dense.components()) {
    // The check has seen that offsets are whole bytes.
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
    // Written only if some component differs: the usual field then has a short text.
    own_axes |= !component.axes().empty();
    const auto& of = component.axes().empty() ? tree.axes() : component.axes();
    component_axes.append(of.begin(), of.end());
  }
  return ir::TreeFieldAttr::get(context, tree.tree(), tree.node(), Numbers(axes, context),
                                Numbers(offset, context), types, Numbers(components, context),
                                alias, read_only,
                                own_axes ? Numbers(component_axes, context) : nullptr);
}

// For each storage the first one that it may overlap. Storages of one alias set overlap, and so do
// fields in trees that share components; the relation is transitive (union-find).
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
      // To the lower number, so that the result does not depend on the order of joins.
      first[std::max(a, b)] = std::min(a, b);
    };
    if (storage.alias_set() != 0) join(sets.emplace(storage.alias_set(), number).first->second);
    for (const proto::TreeComponent& component : storage.tree().components()) {
      const auto key = std::make_tuple(component.tree(), component.node(), component.bit_offset());
      // The first storage that names a component owns it; the others join it.
      join(owners.emplace(key, number).first->second);
    }
  }
  for (uint32_t& storage : first) storage = find(storage);
  return first;
}

// The alias set of each parameter; 0: it overlaps with nothing. Parameters share a set if their
// storages may overlap, or are the same. A storage that states a set has one, even alone.
std::vector<int> AliasSets(const proto::CompileUnit& unit) {
  const std::vector<uint32_t> first = FirstOverlapping(unit);
  std::set<uint32_t> once, twice;
  for (int s = 0; s < unit.storages_size(); ++s) {
    if (unit.storages(s).alias_set() != 0) twice.insert(first[s]);
  }
  for (const proto::Param& param : unit.kernel().body().params()) {
    if (param.kind() != proto::Param::PARAM_STORAGE) continue;
    // Alone in its set, a storage gets none: code without alias sets is easier to optimise.
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

// Whether two quantised storages of one alias set are in the same words (proto/layout.proto): their
// descriptors are equal but for what tells numbers within a word.
bool InSameWords(const proto::Storage& a, const proto::Storage& b) {
  const auto places = [](const proto::Storage& storage) {
    proto::Storage rest = storage;
    rest.clear_element();
    rest.clear_alias_set();
    rest.mutable_word()->clear_components();
    rest.mutable_word()->clear_sharers();
    for (const proto::Component& component : storage.dense().components()) {
      // A word elsewhere in its cell is another word: not comparable here.
      if (component.bit_offset() != 0) rest.clear_word();
    }
    if (rest.has_dense()) rest.mutable_dense()->clear_components();
    while (rest.tree().components_size() > 1) {
      rest.mutable_tree()->mutable_components()->RemoveLast();
    }
    return rest;
  };
  if (!a.has_word() || !b.has_word()) return false;
  const proto::Storage rest = places(a);
  return rest.has_word() && google::protobuf::util::MessageDifferencer::Equals(rest, places(b));
}

// By parameter: the first one of its alias set if all of the set are in that one's words, so that
// one position serves them all; else itself.
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
    // One that differs spoils the set: then each keeps its own position, and the set says that they
    // overlap.
    if (!InSameWords(storage(leader), storage(p))) mixed.insert(aliases[p]);
  }
  for (int p = 0; p < body.params_size(); ++p) {
    if (aliases[p] != 0 && mixed.count(aliases[p]) == 0) first[p] = first_of_set[aliases[p]];
  }
  return first;
}

// Calls `visit` with each node of a kind that some block lists.
void ForEachNode(const proto::CompileUnit& unit, const ReachedNodes& nodes, proto::NodeKind kind,
                 llvm::function_ref<void(const proto::Node&)> visit) {
  for (FunctionId function; nodes.Has(function); function = function.next()) {
    for (NodeId id : nodes[function]) {
      const proto::Node& node = NodeAt(FunctionAt(unit.kernel(), function), id);
      if (node.kind() == kind) visit(node);
    }
  }
}

// By position: whether NO_ACTIVATE names the storage, or an SNode above one of its components.
std::vector<bool> NotActivating(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                                const Storages& storages) {
  std::vector<bool> out(storages.attributes.size());
  ForEachNode(unit, nodes, proto::NO_ACTIVATE, [&](const proto::Node& node) {
    const int named = storages.Of(NoActivateNode(NodeId(), node).param());
    out[named] = true;
    auto snode = llvm::dyn_cast<ir::TreeFieldAttr>(storages.attributes[named]);
    if (!snode || snode.getNumComponents() > 0) return;
    for (size_t s = 0; s < out.size(); ++s) {
      auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storages.attributes[s]);
      for (int c = 0; field && c < field.getNumComponents(); ++c) {
        if (field.getComponentTree(c) != snode.getTree()) continue;
        const auto path = storages.TreeOf(snode).getPath(field.getComponentNode(c));
        // Above the component: activating it would activate the SNode.
        if (llvm::is_contained(path, snode.getNode())) out[s] = true;
      }
    }
  });
  return out;
}

// Debug mode checks that a loop's cells are still active. It asks the last sparse SNode above the
// loop's, which becomes a storage of its own. Only loops below an SNode that the kernel deactivates
// need it.
void AddLastSparse(const proto::CompileUnit& unit, const ReachedNodes& nodes, Storages& storages,
                   llvm::SmallVectorImpl<mlir::Attribute>* attributes) {
  std::set<std::pair<int64_t, int64_t>> deactivated;
  ForEachNode(unit, nodes, proto::SNODE_DEACTIVATE, [&](const proto::Node& node) {
    const int position = storages.Of(SNodeDeactivateNode(NodeId(), node).param());
    auto snode = llvm::cast<ir::TreeFieldAttr>((*attributes)[position]);
    deactivated.insert({snode.getTree(), snode.getNode()});
  });
  // Before the loop, which appends.
  const size_t count = attributes->size();
  storages.last_sparse.assign(count, -1);
  for (size_t s = 0; s < count; ++s) {
    auto field = llvm::dyn_cast<ir::TreeFieldAttr>((*attributes)[s]);
    if (!field) continue;
    ir::TreeAttr tree = storages.TreeOf(field);
    if (llvm::none_of(tree.getPath(field.getNode()),
                      [&](int64_t n) { return deactivated.count({field.getTree(), n}) > 0; })) {
      continue;
    }
    mlir::MLIRContext* context = field.getContext();
    storages.last_sparse[s] = static_cast<int>(attributes->size());
    attributes->push_back(ir::TreeFieldAttr::get(
        context, field.getTree(), tree.getLastSparse(field.getNode()), field.getAxes(),
        Numbers({}, context), mlir::ArrayAttr::get(context, {}), Numbers({}, context),
        /*alias=*/0, /*read_only=*/true, /*component_axes=*/nullptr));
  }
}

// Storages::runs of one storage: each component follows the one before, or begins a run.
std::vector<uint32_t> Runs(mlir::Attribute storage) {
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
  auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storage);
  // An ndarray is one run by its layout.
  if (!dense && !tree) return {};
  // What holds a component, and where in it.
  const auto home = [&](uint64_t i) -> std::tuple<int64_t, int64_t, int64_t> {
    if (dense) return {0, dense.getComponentBase(i), dense.getComponentOffset(i)};
    return {tree.getComponentTree(i), tree.getComponentNode(i), tree.getComponentOffset(i)};
  };
  const mlir::ArrayAttr types = dense ? dense.getTypes() : tree.getTypes();
  std::vector<uint32_t> runs;
  for (uint64_t i = 0; i < types.size(); ++i) {
    auto type = llvm::cast<mlir::TypeAttr>(types[i]).getValue();
    const int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
    bool follows = i > 0;
    if (follows) {
      auto before = home(i - 1);
      std::get<2>(before) += bytes;
      follows = home(i) == before;
    }
    runs.push_back(follows ? runs.back() : i);
  }
  return runs;
}

// `slot`: the argument slot of the parameter that names the storage.
mlir::Attribute AttributeOf(const proto::Storage& storage, int slot, int alias,
                            mlir::MLIRContext* context) {
  const mlir::ArrayAttr types = storage.has_word() ? WordTypes(storage.word(), context)
                                                   : ElementTypes(storage.element(), context);
  // Lowering subtracts the index offset of a quant array itself, where it makes the word's index.
  const bool is_quant_array = storage.word().digits_size() > 0;
  if (storage.has_tree()) {
    proto::TreeStorage tree = storage.tree();
    if (is_quant_array) tree.clear_index_offset();
    const bool is_snode = tree.components().empty();
    return TreeField(tree, alias, storage.read_only(),
                     is_snode ? mlir::ArrayAttr::get(context, {}) : types, context);
  }
  if (storage.has_dense()) {
    proto::DenseStorage dense = storage.dense();
    if (is_quant_array) dense.clear_index_offset();
    return Dense(dense, slot, alias, storage.read_only(), types, context);
  }
  const proto::NdarrayStorage& ndarray = storage.ndarray();
  return ir::NdarrayAttr::get(context, slot, ndarray.ndim(), types, ndarray.soa(),
                              ndarray.boundary() == proto::BOUNDARY_CLAMP, alias,
                              storage.read_only());
}

}  // namespace

Storages LowerStorages(const proto::CompileUnit& unit, const CheckedUnit& checked,
                       mlir::MLIRContext* context) {
  Storages out;
  llvm::SmallVector<mlir::Attribute> attributes;
  const proto::Function& body = unit.kernel().body();
  std::vector<int> aliases = AliasSets(unit);
  const std::vector<int> leaders = FirstOfWords(unit, aliases);
  // Storages that share words become one, which overlaps with nothing.
  for (int p = 0; p < body.params_size(); ++p) {
    if (leaders[p] != p) aliases[leaders[p]] = 0;
  }
  for (int p = 0; p < body.params_size(); ++p) {
    if (body.params(p).kind() != proto::Param::PARAM_STORAGE) {
      // A value: it has no storage, but the numbers of parameters count it.
      out.of_param.Add(-1);
      continue;
    }
    if (leaders[p] != p) {
      out.of_param.Add(out.Of(ParamId(leaders[p])));
      continue;
    }
    const proto::Storage& storage = unit.storages(static_cast<int>(body.params(p).storage()));
    const ParamId param = out.of_param.Add(static_cast<int>(attributes.size()));
    out.quant_arrays.push_back(storage.word().digits_size() > 0 ? &storage : nullptr);
    attributes.push_back(
        AttributeOf(storage, checked.arguments.first_slot[param], aliases[p], context));
  }
  llvm::SmallVector<mlir::Attribute> trees;
  for (int t = 0; t < unit.trees_size(); ++t) {
    trees.push_back(Tree(unit.trees(t), checked.arguments.tree_slot[t], context));
  }
  if (!trees.empty()) out.trees = mlir::ArrayAttr::get(context, trees);
  // Last, so that the numbers of all other storages are those without debug mode.
  if (unit.options().debug()) AddLastSparse(unit, checked.nodes, out, &attributes);
  out.attributes = mlir::ArrayAttr::get(context, attributes);
  out.no_activate = NotActivating(unit, checked.nodes, out);
  for (mlir::Attribute storage : attributes) out.runs.push_back(Runs(storage));
  return out;
}

}  // namespace kiln
