// Storage descriptors become attributes of the kernel.
#include <set>

#include "absl/strings/str_cat.h"
#include "server/compiler/frontend/lowering.h"

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

mlir::Attribute Dense(const proto::DenseStorage& dense, int slot, int alias, bool read_only,
                      const std::vector<Scalar>& scalars, mlir::MLIRContext* context) {
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
                            Numbers(offset, context), TypeArray(scalars, context),
                            Numbers(components, context), dense.num_bases(),
                            Numbers(base_strides, context), alias, read_only);
}

bool IsQuantised(const proto::Storage& storage) {
  if (storage.element().has_quant() && storage.element().quant().kind() != 0) return true;
  for (const proto::Component& component : storage.dense().components()) {
    if (component.bit_offset() % 8 != 0 || component.shared_exponent() != 0) return true;
  }
  return false;
}

// Alias sets of the parameters: the storage's own; parameters that name one storage
// share one that no storage states.
std::vector<int> AliasSets(const proto::CompileUnit& unit) {
  std::vector<int> sets;
  std::set<uint32_t> once, twice;
  uint32_t highest = 0;
  for (const proto::Storage& storage : unit.storages()) {
    highest = std::max(highest, storage.alias_set());
  }
  for (const proto::Param& param : unit.kernel().body().params()) {
    if (param.kind() != proto::Param::PARAM_STORAGE) continue;
    if (!once.insert(param.storage()).second) twice.insert(param.storage());
  }
  for (const proto::Param& param : unit.kernel().body().params()) {
    if (param.kind() != proto::Param::PARAM_STORAGE) {
      sets.push_back(0);
      continue;
    }
    int set = unit.storages(param.storage()).alias_set();
    if (set == 0 && twice.count(param.storage()) > 0) set = highest + 1 + param.storage();
    sets.push_back(set);
  }
  return sets;
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
          (storage.has_dense() && scalars != uint64_t(storage.dense().components_size()))) {
        return absl::InvalidArgumentError(
            absl::StrCat("node ", id, " (global): its type is not that of its storage"));
      }
    }
  }
  return absl::OkStatus();
}

LoweredStorages LowerStorages(const proto::CompileUnit& unit, const ReachedNodes& nodes,
                              const TypeTable& types, const ArgumentLayout& layout,
                              mlir::MLIRContext* context) {
  LoweredStorages out;
  llvm::SmallVector<mlir::Attribute> attributes;
  const proto::Function& body = unit.kernel().body();
  const std::vector<int> aliases = AliasSets(unit);
  for (int p = 0; p < body.params_size(); ++p) {
    out.of_param.push_back(-1);
    if (body.params(p).kind() != proto::Param::PARAM_STORAGE) continue;
    const proto::Storage& storage = unit.storages(body.params(p).storage());
    const int slot = layout.first_slot[p];
    const std::vector<Scalar> scalars = ComponentScalars(unit, nodes, types, p, storage.element());
    if (storage.has_tree()) {
      out.unsupported = "a field in a sparse tree";
    } else if (IsQuantised(storage)) {
      out.unsupported = "a quantised field";
    } else {
      out.of_param.back() = attributes.size();
      const proto::NdarrayStorage& ndarray = storage.ndarray();
      attributes.push_back(
          storage.has_ndarray()
              ? ir::NdarrayAttr::get(context, slot, ndarray.ndim(), TypeArray(scalars, context),
                                     ndarray.soa(), ndarray.boundary() == proto::BOUNDARY_CLAMP,
                                     aliases[p], storage.read_only())
              : Dense(storage.dense(), slot, aliases[p], storage.read_only(), scalars, context));
    }
  }
  out.attributes = mlir::ArrayAttr::get(context, attributes);
  return out;
}

}  // namespace kiln
