#include "common/unit/argument_layout.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"

namespace kiln {
namespace {

using Slot = proto::ArgumentSlot;

class Builder {
 public:
  Builder(const proto::CompileUnit& unit, const TypeTable& types) : unit_(unit), types_(types) {}

  absl::Status AddParam(uint32_t index, const proto::Param& param) {
    // Parameters first, then trees: a kernel without trees has the slots of its parameters only.
    layout_.first_slot.Add(static_cast<int>(layout_.slots.size()));
    switch (param.kind()) {
      case proto::Param::PARAM_VALUE:
        return AddValue(index, TypeOfParam(param));
      case proto::Param::PARAM_STORAGE:
        return AddStorage(index, param.storage());
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", index, ": kind ", param.kind(), " has no arguments"));
    }
  }

  absl::Status AddTree(uint32_t tree) {
    // Two slots: the root and the table of nodes, through which kernels call the runtime.
    layout_.tree_slot.push_back(static_cast<int>(layout_.slots.size()));
    RETURN_IF_ERROR(Add(tree, Slot::SLOT_TREE, 0));
    return Add(tree, Slot::SLOT_TREE, 1);
  }

  absl::Status AddResult(TypeId type) {
    RETURN_IF_ERROR(CheckValue(type));
    types_.AppendScalars(type, &layout_.results);
    return layout_.results.size() <= kMaxArgumentSlots ? absl::OkStatus() : TooMany("results");
  }

  ArgumentLayout Finish() { return std::move(layout_); }

 private:
  static absl::Status TooMany(absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxArgumentSlots, " scalars in ", what));
  }

  // Called before flattening, because a type may be far larger than the limit.
  absl::Status CheckValue(TypeId type) const {
    if (!type || !types_.Has(type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("type ", type.number(), " is not a value type"));
    }
    return types_.NumScalars(type) <= kMaxArgumentSlots ? absl::OkStatus() : TooMany("a value");
  }

  absl::Status Add(uint32_t param, Slot::Kind kind, uint32_t element,
                   Scalar scalar = proto::SCALAR_NONE) {
    // Clients copy all slots at each launch, most of them on the stack.
    if (layout_.slots.size() >= kMaxArgumentSlots) return TooMany("arguments");
    Slot slot;
    slot.set_kind(kind);
    slot.set_param(param);
    slot.set_element(element);
    slot.set_scalar(scalar);
    layout_.slots.push_back(std::move(slot));
    return absl::OkStatus();
  }

  absl::Status AddValue(uint32_t param, TypeId type) {
    RETURN_IF_ERROR(CheckValue(type));
    std::vector<Scalar> scalars;
    types_.AppendScalars(type, &scalars);
    for (uint32_t i = 0; i < scalars.size(); ++i) {
      RETURN_IF_ERROR(Add(param, Slot::SLOT_VALUE, i, scalars[i]));
    }
    return absl::OkStatus();
  }

  absl::Status AddStorage(uint32_t param, uint32_t index) {
    if (index >= static_cast<uint32_t>(unit_.storages_size())) {
      return absl::InvalidArgumentError(absl::StrCat("storage ", index, " does not exist"));
    }
    const proto::Storage& storage = unit_.storages(static_cast<int>(index));
    uint32_t bases = 1;
    uint32_t extents = 0;
    switch (storage.form_case()) {
      case proto::Storage::kDense:
        bases = storage.dense().num_bases();
        // The outermost one; all others are constants of the descriptor.
        extents = 1;
        break;
      case proto::Storage::kNdarray:
        extents = storage.ndarray().ndim();
        break;
      case proto::Storage::kTree:
        bases = 0;  // all storages of a tree share the tree's slots
        break;
      default:
        return absl::InvalidArgumentError(absl::StrCat("storage ", index, " has no form"));
    }
    // Bases before extents: this order is part of the format of entries.
    for (uint32_t i = 0; i < bases; ++i) RETURN_IF_ERROR(Add(param, Slot::SLOT_BASE, i));
    for (uint32_t i = 0; i < extents; ++i) RETURN_IF_ERROR(Add(param, Slot::SLOT_EXTENT, i));
    return absl::OkStatus();
  }

  const proto::CompileUnit& unit_;
  const TypeTable& types_;
  ArgumentLayout layout_;
};

}  // namespace

absl::StatusOr<ArgumentLayout> LayoutArguments(const proto::CompileUnit& unit,
                                               const TypeTable& types) {
  Builder builder(unit, types);
  const proto::Function& body = unit.kernel().body();
  for (int i = 0; i < body.params_size(); ++i) {
    RETURN_IF_ERROR(builder.AddParam(static_cast<uint32_t>(i), body.params(i)));
  }
  for (int i = 0; i < unit.trees_size(); ++i) {
    RETURN_IF_ERROR(builder.AddTree(static_cast<uint32_t>(i)));
  }
  for (const TypeId type : ReturnTypesOf(body)) RETURN_IF_ERROR(builder.AddResult(type));
  return builder.Finish();
}

}  // namespace kiln
