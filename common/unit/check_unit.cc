#include "common/unit/check_unit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "common/layout/layout.h"
#include "common/unit/argument_layout.h"
#include "common/unit/check_function.h"
#include "common/unit/math_library.h"
#include "common/unit/node_number.h"

namespace kiln {
namespace {

// Far beyond any kernel that a person writes. A unit may come from another machine, and memory is
// used by these counts.
constexpr int kMaxStorages = 1 << 12;
constexpr int kMaxTrees = 1 << 10;
constexpr int kMaxParams = 1 << 12;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckTarget(const proto::CompileUnit& unit) {
  const proto::Target& target = unit.target();
  // Without a device the compiler takes that of its own machine.
  const bool named = target.device_case() != proto::Target::DEVICE_NOT_SET;
  if (named && TargetOf(target).empty())
    return Bad("target: CPU level ", target.cpu(), " is unknown");
  // Each version is a key of its own for equal code.
  if (const uint32_t used = GlibcFor(unit, target.glibc()); used != target.glibc())
    return Bad("target: glibc 2.", target.glibc(), ", of which the kernel uses that of 2.", used);
  return absl::OkStatus();
}

// Checks the options, and reads the default types from them.
absl::Status CheckOptions(const proto::CodeOptions& options, bool for_cuda,
                          DefaultTypes* defaults) {
  // Refused, not clamped: each level is a key of its own for equal code.
  if (options.opt_level() > 3) return Bad("options: optimisation level ", options.opt_level());
  if (!proto::Lanes_IsValid(options.lanes())) {
    return Bad("options: ", options.lanes(), " lanes");
  }
  if (options.deterministic() && !for_cuda) {
    return Bad("options: deterministic sums, which are CUDA's, for a CPU");
  }
  if (!proto::OnOverflow_IsValid(options.on_overflow())) {
    return Bad("options: ", options.on_overflow(), " on overflow");
  }
  if (options.default_int() != proto::SCALAR_NONE) {
    if (!IsInt(options.default_int())) return Bad("options: default integer type");
    defaults->int_type = options.default_int();
  }
  if (options.default_float() != proto::SCALAR_NONE) {
    if (!IsFloat(options.default_float())) return Bad("options: default float type");
    defaults->float_type = options.default_float();
  }
  return absl::OkStatus();
}

// A gradient or dual has an element of its own for each of the storage's.
absl::Status CheckCompanion(const proto::CompileUnit& unit, uint32_t storage, uint32_t companion) {
  if (companion >= static_cast<uint32_t>(unit.storages_size())) {
    return Bad("storage ", storage, ": gradient: storage ", companion, " does not exist");
  }
  const proto::Storage& of = unit.storages(static_cast<int>(storage));
  const proto::Storage& as = unit.storages(static_cast<int>(companion));
  const bool same_element = of.element().scalar() == as.element().scalar() &&
                            std::equal(of.element().shape().begin(), of.element().shape().end(),
                                       as.element().shape().begin(), as.element().shape().end());
  if (companion == storage || !same_element || !IsFloat(of.element().scalar()) ||
      of.form_case() != as.form_case() || of.has_word() || as.has_word()) {
    return Bad("storage ", storage, ": gradient: storage ", companion, " is of another kind");
  }
  return absl::OkStatus();
}

absl::Status CheckStorages(UnitFacts* facts) {
  const proto::CompileUnit& unit = facts->unit;
  const auto count = static_cast<uint32_t>(unit.storages_size());
  for (uint32_t i = 0; i < count; ++i) {
    const proto::Storage& storage = unit.storages(static_cast<int>(i));
    if (absl::Status status = CheckStorage(storage, unit.trees()); !status.ok()) {
      return Bad("storage ", i, ": ", status.message());
    }
    // Numbers from 1.
    for (const uint32_t companion : {storage.grad(), storage.dual()}) {
      if (companion > 0) RETURN_IF_ERROR(CheckCompanion(unit, i, companion - 1));
    }
    const proto::Type& element = storage.element();
    // Types are compared by number, so elements get theirs in the same table as the nodes.
    TypeId type = facts->types->GetTensor(
        element.scalar(), std::vector<uint32_t>(element.shape().begin(), element.shape().end()));
    int num_indices = static_cast<int>(storage.has_dense() ? storage.dense().num_axes()
                                                           : storage.ndarray().ndim());
    if (storage.has_tree()) {
      num_indices = storage.tree().axes_size();
      // An SNode itself, as in struct-fors and activations: it has no elements.
      if (storage.tree().components_size() == 0) type = TypeId();
    }
    facts->num_indices.push_back(num_indices);
    facts->element_type.push_back(type);
  }
  return absl::OkStatus();
}

// A reference must refer to a single scalar, because addresses of larger values have several forms.
absl::Status CheckReference(const UnitFacts& facts, int index, const proto::Param& param,
                            size_t num_types) {
  const TypeId type = TypeOfParam(param);
  if (type.number() < num_types && (*facts.types)[type].IsScalar()) return absl::OkStatus();
  return Bad("parameter ", index, ": a reference to type ", type.number(),
             ", which is not a scalar");
}

absl::Status CheckSignature(const UnitFacts& facts, const proto::Function& function,
                            size_t num_types, bool is_body) {
  if (function.params_size() > kMaxParams) return Bad(function.params_size(), " parameters");
  for (int i = 0; i < function.params_size(); ++i) {
    const proto::Param& param = function.params(i);
    switch (param.kind()) {
      case proto::Param::PARAM_REFERENCE:
        // The caller of a kernel has no addresses of kernel variables.
        if (is_body) return Bad("parameter ", i, ": a kernel takes no references");
        RETURN_IF_ERROR(CheckReference(facts, i, param, num_types));
        break;
      case proto::Param::PARAM_VALUE:
        if (param.type() == 0 || param.type() >= num_types) {
          return Bad("parameter ", i, ": type ", param.type(), " does not exist");
        }
        break;
      case proto::Param::PARAM_STORAGE:
        // Functions use the kernel's own storages by their number, which saves passing them at each
        // call.
        if (!is_body) return Bad("parameter ", i, ": storages are the kernel's parameters");
        if (param.storage() >= facts.num_indices.size()) {
          return Bad("parameter ", i, ": storage ", param.storage(), " does not exist");
        }
        break;
      default:
        return Bad("parameter ", i, ": kind ", param.kind(), " is unknown");
    }
  }
  for (const uint32_t type : function.returns()) {
    if (type == 0 || type >= num_types) return Bad("return type ", type, " does not exist");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckedUnit> CheckUnit(const proto::CompileUnit& unit,
                                      std::vector<proto::Diagnostic>* diagnostics) {
  const proto::Kernel& kernel = unit.kernel();
  RETURN_IF_ERROR(CheckTarget(unit));
  if (unit.trees_size() > kMaxTrees) return Bad(unit.trees_size(), " trees");
  if (unit.storages_size() > kMaxStorages) return Bad(unit.storages_size(), " storages");
  if (static_cast<uint32_t>(kernel.functions_size()) > kMaxFunctions) {
    return Bad(kernel.functions_size(), " functions");
  }
  for (const int mode : kernel.autodiff()) {
    if (!proto::AutodiffMode_IsValid(mode) || mode == proto::AUTODIFF_NONE) {
      return Bad("autodiff mode ", mode);
    }
  }

  ASSIGN_OR_RETURN(TypeTable types, TypeTable::FromProto(kernel.types()));
  // Of the unit; types that the checks add to the table must not be named by it.
  const size_t num_types = types.size();
  UnitFacts facts{unit, &types, {}, {}, {}};
  RETURN_IF_ERROR(CheckOptions(unit.options(), unit.target().has_cuda(), &facts.defaults));
  for (int i = 0; i < unit.trees_size(); ++i) {
    const absl::Status status = CheckTree(unit.trees(i));
    if (!status.ok()) return Bad("tree ", i, ": ", status.message());
  }
  // Trees before storages, storages before functions: each check relies on those before it.
  RETURN_IF_ERROR(CheckStorages(&facts));

  RETURN_IF_ERROR(CheckSignature(facts, kernel.body(), num_types, /*is_body=*/true));
  for (const proto::Function& function : kernel.functions()) {
    RETURN_IF_ERROR(CheckSignature(facts, function, num_types, /*is_body=*/false));
  }
  ASSIGN_OR_RETURN(ArgumentLayout arguments, LayoutArguments(unit, types));
  ReachedNodes nodes;
  for (FunctionId id; HasFunction(kernel, id); id = id.next()) {
    ASSIGN_OR_RETURN(std::vector<NodeId> checked, CheckFunction(facts, id, diagnostics));
    nodes.Add(std::move(checked));
  }
  return CheckedUnit{std::move(types), std::move(arguments), std::move(nodes)};
}

}  // namespace kiln
