#include "client_cpp/derivative.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "common/language/type.h"

namespace kiln {
namespace {

// The alias set of arrays that may overlap (CompileSettings::aliases makes others).
constexpr uint32_t kOfArrays = 1;

absl::Status Refuse(ParamId param, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("no derivative by parameter ", param.number(), ": ", why));
}

const proto::Storage* StorageOf(const proto::CompileUnit& unit, ParamId param) {
  const proto::Function& body = unit.kernel().body();
  if (param.number() >= static_cast<uint32_t>(body.params_size())) return nullptr;
  const proto::Param& found = ParamAt(body, param);
  if (found.kind() != proto::Param::PARAM_STORAGE) return nullptr;
  return &unit.storages(static_cast<int>(found.storage()));
}

// Null: it has the form of the parameter.
const proto::Storage* FindIn(const CompanionsInTrees& in_trees, ParamId param) {
  const auto found = absl::c_find_if(in_trees, [&](const auto& one) { return one.first == param; });
  return found == in_trees.end() ? nullptr : &found->second;
}

absl::Status CheckParam(const proto::CompileUnit& unit, ParamId param,
                        const CompanionsInTrees& in_trees) {
  const proto::Storage* storage = StorageOf(unit, param);
  if (storage == nullptr) return Refuse(param, "it is neither a field nor an array");
  if (storage->has_tree() && FindIn(in_trees, param) == nullptr) {
    return Refuse(param, "it is a field of a sparse tree");
  }
  if (storage->has_word() || !IsFloat(storage->element().scalar())) {
    return Refuse(param, "its elements are not floats");
  }
  // That of all arrays is no promise of overlap: a launch of the derivative checks that there is
  // none.
  if (storage->alias_set() != 0 && !(storage->has_ndarray() && storage->alias_set() == kOfArrays)) {
    return Refuse(param, "its memory may overlap another one's");
  }
  if (storage->grad() != 0 || storage->dual() != 0) return Refuse(param, "it has a companion");
  return absl::OkStatus();
}

// Adds the storage and the parameter of a companion of `param`.
void AddCompanion(proto::AutodiffMode mode, ParamId param, const proto::Storage* form,
                  proto::CompileUnit* unit) {
  proto::Function* body = unit->mutable_kernel()->mutable_body();
  const auto of = static_cast<int>(ParamAt(*body, param).storage());
  const auto number = static_cast<uint32_t>(unit->storages_size());
  proto::Storage* companion = unit->add_storages();
  *companion = form == nullptr ? unit->storages(of) : *form;
  companion->clear_read_only();
  // Numbers from 1.
  if (mode == proto::AUTODIFF_FORWARD) {
    unit->mutable_storages(of)->set_dual(number + 1);
  } else {
    unit->mutable_storages(of)->set_grad(number + 1);
  }
  proto::Param* added = body->add_params();
  added->set_kind(proto::Param::PARAM_STORAGE);
  added->set_storage(number);
}

}  // namespace

absl::optional<ParamId> DerivativeParams::CompanionOf(ParamId param) const {
  const auto found = absl::c_find(of, param);
  if (found == of.end()) return absl::nullopt;
  return ParamId(first_companion.number() + (found - of.begin()));
}

absl::StatusOr<DerivativeParams> Differentiate(proto::AutodiffMode mode,
                                               absl::Span<const ParamId> of,
                                               proto::CompileUnit* unit,
                                               const CompanionsInTrees& in_trees) {
  if (unit->kernel().autodiff_size() != 0) {
    return absl::InvalidArgumentError("the kernel computes a derivative already");
  }
  DerivativeParams params;
  params.mode = mode;
  params.first_companion = ParamId(unit->kernel().body().params_size());
  for (const ParamId param : of) {
    RETURN_IF_ERROR(CheckParam(*unit, param, in_trees));
    if (absl::c_linear_search(params.of, param)) return Refuse(param, "it is listed twice");
    params.of.push_back(param);
  }
  for (const ParamId param : of) AddCompanion(mode, param, FindIn(in_trees, param), unit);
  for (int i = 0; i < unit->kernel().body().params_size(); ++i) {
    const proto::Storage* storage = StorageOf(*unit, ParamId(i));
    params.element_bytes.Add(storage == nullptr ? 0 : ElementBytes(storage->element()));
  }
  unit->mutable_kernel()->add_autodiff(mode);
  return params;
}

}  // namespace kiln
