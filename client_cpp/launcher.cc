#include "client_cpp/launcher.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/check_text.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"
#include "runtime/slot.h"

namespace kiln {
namespace {

const char* NameOf(ArgumentSlot::Kind kind) {
  switch (kind) {
    case ArgumentSlot::Kind::kValue:
      return "value";
    case ArgumentSlot::Kind::kBase:
      return "base";
    case ArgumentSlot::Kind::kExtent:
      return "extent";
    case ArgumentSlot::Kind::kTree:
      return "tree";
  }
  return "unknown";
}

MemoryRange RangeOf(const DenseField& field) {
  Buffer* const buffer = &field.buffer();
  return {field.data(), field.bytes(), buffer->is_mirrored() ? buffer : nullptr};
}

}  // namespace

Launcher::Launcher(std::shared_ptr<const LoadedKernel> kernel)
    : kernel_(std::move(kernel)),
      arguments_(kernel_->info().arguments.size()),
      is_set_(arguments_.size()),
      results_(kernel_->info().results.size()),
      missing_(arguments_.size()) {
  // The slots of a parameter are adjacent, and the slots of trees come last.
  for (const ArgumentSlot& slot : kernel_->info().arguments) {
    if (slot.kind == ArgumentSlot::Kind::kTree) break;
    const ParamId param(slot.param);
    // Counts up to the first slot of a tree, so it is the slot's own number here.
    while (!first_slot_.Has(param)) first_slot_.Add(-1);
    if (first_slot_[param] < 0) first_slot_[param] = first_tree_slot_;
    ++first_tree_slot_;
  }
}

Launcher::Launcher(std::shared_ptr<const Instance> instance) : Launcher(instance->kernel()) {
  instance_ = std::move(instance);
  const InstanceDerivatives& own = instance_->derivatives();
  if (own.gradient != nullptr) gradient_ = std::make_unique<Launcher>(own.gradient);
  if (own.with_duals != nullptr) with_duals_ = std::make_unique<Launcher>(own.with_duals);
}

const DerivativeParams& Launcher::derivative() const {
  static FirstUse<const DerivativeParams> none;
  return instance_ == nullptr ? none.Get() : instance_->derivatives().params;
}

Launcher& Launcher::ForDerivatives(absl::FunctionRef<void(Launcher&)> set) {
  if (gradient_ != nullptr) set(*gradient_);
  if (with_duals_ != nullptr) set(*with_duals_);
  return *this;
}

Launcher& Launcher::OnPrint(PrintHook hook) {
  ForDerivatives([&](Launcher& of) { of.OnPrint(hook); });
  receivers_.print = std::move(hook);
  return *this;
}

Launcher& Launcher::OnFailure(FailureHook hook) {
  ForDerivatives([&](Launcher& of) { of.OnFailure(hook); });
  receivers_.failure = std::move(hook);
  return *this;
}

int Launcher::Find(ParamId param, ArgumentSlot::Kind kind, uint32_t element) {
  const std::vector<ArgumentSlot>& slots = kernel_->info().arguments;
  int at = first_slot_.Has(param) ? first_slot_[param] : -1;
  // The slots of a parameter follow each other, so the search is short.
  for (; at >= 0 && at < first_tree_slot_ && slots[at].param == param.number(); ++at) {
    if (slots[at].kind == kind && slots[at].element == element) return at;
  }
  return Missing(param.number(), kind, element);
}

int Launcher::Missing(uint32_t number, ArgumentSlot::Kind kind, uint32_t element) {
  // The first mistake is reported by Run; setters are chained and return no status.
  if (error_.ok()) {
    error_ = absl::FailedPreconditionError(absl::StrCat("parameter ", number,
                                                        " of the kernel takes no such argument (",
                                                        NameOf(kind), " ", element, ")"));
  }
  return -1;
}

Launcher& Launcher::Put(int slot, uint64_t value) {
  if (slot < 0) return *this;
  arguments_[slot] = value;
  // Setting an argument twice is allowed: programs launch again with other values.
  if (!is_set_[slot]) --missing_;
  is_set_[slot] = true;
  return *this;
}

void Launcher::Unset(ParamId param) {
  const std::vector<ArgumentSlot>& slots = kernel_->info().arguments;
  for (int at = 0; at < first_tree_slot_; ++at) {
    if (slots[at].param != param.number() || !is_set_[at]) continue;
    is_set_[at] = false;
    ++missing_;
  }
}

template <typename T>
Launcher& Launcher::SetSlot(ParamId param, uint32_t element, T value) {
  int slot = Find(param, ArgumentSlot::Kind::kValue, element);
  if (slot < 0) return *this;
  // The kernel's type, not the caller's: `Set(n, 3)` of an f32 parameter is 3.0.
  auto type = static_cast<proto::Scalar>(kernel_->info().arguments[slot].scalar);
  Put(slot, SlotOf(type, value));
  return ForDerivatives([&](Launcher& of) { of.SetSlot(param, element, value); });
}
template Launcher& Launcher::SetSlot(ParamId, uint32_t, double);
template Launcher& Launcher::SetSlot(ParamId, uint32_t, int64_t);
template Launcher& Launcher::SetSlot(ParamId, uint32_t, uint64_t);

void Launcher::PutField(ParamId param, const DenseField& field) {
  for (uint32_t i = 0; i < field.bases().size(); ++i) {
    Put(Find(param, ArgumentSlot::Kind::kBase, i), field.bases()[i]);
  }
  Put(Find(param, ArgumentSlot::Kind::kExtent, 0), field.outer_extent());
  NoteMemory(param, RangeOf(field));
}

void Launcher::PutExtents(ParamId param, const void* data, absl::Span<const uint64_t> shape) {
  Put(Find(param, ArgumentSlot::Kind::kBase, 0), reinterpret_cast<uint64_t>(data));
  for (uint32_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > std::numeric_limits<int32_t>::max()) {
      error_.Update(absl::InvalidArgumentError(
          absl::StrCat("axis ", i, " of the array for parameter ", param.number(), " has ",
                       shape[i], " indices, but indices are 32-bit integers")));
    }
    Put(Find(param, ArgumentSlot::Kind::kExtent, i), shape[i]);
  }
}

void Launcher::PutArray(ParamId param, const void* data, absl::Span<const uint64_t> shape) {
  PutExtents(param, data, shape);
  const IdVector<ParamId, uint64_t>& element_bytes = derivative().element_bytes;
  if (!element_bytes.Has(param)) return;
  uint64_t bytes = element_bytes[param];
  for (const uint64_t extent : shape) bytes *= extent;
  NoteMemory(param,
             {static_cast<uint8_t*>(const_cast<void*>(data)), bytes, nullptr, kernel_->device()});
}

void Launcher::PutAsArray(ParamId param, const DenseField& field) {
  PutExtents(param, reinterpret_cast<const void*>(field.bases()[0]), field.shape());
  NoteMemory(param, RangeOf(field));
}

absl::optional<ParamId> Launcher::TakeCompanion(ParamId param, bool exists) {
  missed_.erase(std::remove(missed_.begin(), missed_.end(), param), missed_.end());
  const absl::optional<ParamId> taken = derivative().CompanionOf(param);
  if (taken) Unset(*taken);  // it may be bound to that of other memory
  if (!exists) return absl::nullopt;
  if (!taken) missed_.push_back(param);
  return taken;
}

Launcher& Launcher::Bind(ParamId param, const DenseField& field) {
  PutField(param, field);
  const auto& companion = is_forward() ? field.dual() : field.grad();
  if (const auto taken = TakeCompanion(param, companion != nullptr)) PutField(*taken, *companion);
  return ForDerivatives([&](Launcher& of) { of.Bind(param, field); });
}

void Launcher::PutTreeField(ParamId param, const TreeField& field) {
  for (uint32_t i = 0; i < field.bases.size(); ++i) {
    Put(Find(param, ArgumentSlot::Kind::kBase, i), field.bases[i]);
  }
  if (!field.bases.empty()) {
    Put(Find(param, ArgumentSlot::Kind::kExtent, 0), field.outer_extent);
  }
}

Launcher& Launcher::Bind(ParamId param, const TreeField& field, const TreeField* gradient) {
  PutTreeField(param, field);
  if (const auto taken = TakeCompanion(param, gradient != nullptr && !is_forward())) {
    PutTreeField(*taken, *gradient);
  }
  return ForDerivatives([&](Launcher& of) { of.Bind(param, field, gradient); });
}

Launcher& Launcher::Bind(ParamId param, const void* data, absl::Span<const uint64_t> shape,
                         ArrayCompanions companions) {
  PutArray(param, data, shape);
  const void* companion = is_forward() ? companions.dual : companions.grad;
  if (const auto taken = TakeCompanion(param, companion != nullptr)) {
    PutArray(*taken, companion, shape);
  }
  return ForDerivatives([&](Launcher& of) { of.Bind(param, data, shape, companions); });
}

Launcher& Launcher::BindAsArray(ParamId param, const DenseField& field) {
  PutAsArray(param, field);
  const auto& companion = is_forward() ? field.dual() : field.grad();
  if (const auto taken = TakeCompanion(param, companion != nullptr)) {
    PutAsArray(*taken, *companion);
  }
  return ForDerivatives([&](Launcher& of) { of.BindAsArray(param, field); });
}

Launcher& Launcher::BindTree(uint32_t tree, uint8_t* root, KilnNode* const* nodes) {
  const std::vector<ArgumentSlot>& slots = kernel_->info().arguments;
  const uint64_t values[] = {reinterpret_cast<uint64_t>(root), reinterpret_cast<uint64_t>(nodes)};
  for (uint32_t i = 0; i < 2; ++i) {
    // Two slots for each tree: its root, and its nodes.
    const int64_t at = first_tree_slot_ + 2 * int64_t{tree} + i;
    if (at >= static_cast<int64_t>(slots.size())) {
      Missing(tree, ArgumentSlot::Kind::kTree, i);
      return *this;
    }
    Put(static_cast<int>(at), values[i]);
  }
  return ForDerivatives([&](Launcher& of) { of.BindTree(tree, root, nodes); });
}

void Launcher::NoteMemory(ParamId param, MemoryRange range) {
  if (derivative().mode == proto::AUTODIFF_NONE) return;
  BoundMemory bound;
  bound.param = param;
  bound.range = range;
  bound.is_companion = !(param < derivative().first_companion);
  const auto before =
      absl::c_find_if(memory_, [&](const BoundMemory& other) { return other.param == param; });
  if (before == memory_.end()) {
    memory_.push_back(bound);
  } else {
    *before = bound;
  }
  is_apart_ = false;
  recorded_in_ = 0;
}

absl::Status Launcher::CheckArguments() {
  if (!error_.ok()) return error_;
  if (derivative().mode != proto::AUTODIFF_NONE) RETURN_IF_ERROR(CheckMissed());
  if (missing_ == 0) return CheckApart();
  size_t i = 0;
  // There is one: `missing_` counts those that are not set.
  while (is_set_[i]) ++i;
  const ArgumentSlot& slot = kernel_->info().arguments[i];
  if (slot.kind == ArgumentSlot::Kind::kTree) {
    return absl::FailedPreconditionError(absl::StrCat("tree ", slot.param, " is not set"));
  }
  const DerivativeParams& params = derivative();
  const uint32_t first = params.first_companion.number();
  if (params.mode == proto::AUTODIFF_NONE || slot.param < first) {
    return absl::FailedPreconditionError(absl::StrCat("parameter ", slot.param, " is not set"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("parameter ", params.of[slot.param - first].number(),
                   " is bound to memory without a ", is_forward() ? "dual" : "gradient"));
}

// Without this check, derivatives would lack a part, without a word.
absl::Status Launcher::CheckMissed() const {
  if (missed_.empty()) return absl::OkStatus();
  const char* what = is_forward() ? "dual" : "gradient";
  return absl::FailedPreconditionError(
      absl::StrCat("parameter ", missed_.front().number(), " is bound to memory with a ", what,
                   ", but CompileSettings::", what, "s does not list it"));
}

// The compiler takes a write to one parameter of a derivative for no write to another one.
absl::Status Launcher::CheckApart() {
  if (is_apart_ || memory_.empty()) return absl::OkStatus();
  std::vector<BoundMemory> sorted;
  absl::c_copy_if(memory_, std::back_inserter(sorted),
                  [](const BoundMemory& bound) { return bound.range.bytes > 0; });
  absl::c_sort(sorted, [](const BoundMemory& a, const BoundMemory& b) {
    return a.range.begin < b.range.begin;
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const BoundMemory &one = sorted[i - 1], &other = sorted[i];
    if (one.range.begin + one.range.bytes <= other.range.begin) continue;
    const auto name = [&](const BoundMemory& bound) {
      if (!bound.is_companion) return absl::StrCat("parameter ", bound.param.number());
      const uint32_t position = bound.param.number() - derivative().first_companion.number();
      return absl::StrCat("the companion of parameter ", derivative().of[position].number());
    };
    return absl::FailedPreconditionError(
        absl::StrCat(name(one), " and ", name(other), " of a derivative share memory"));
  }
  is_apart_ = true;
  return absl::OkStatus();
}

absl::Status Launcher::CheckRecordable() {
  if (is_forward()) {
    return absl::FailedPreconditionError("a tape cannot record a launch with duals");
  }
  if (gradient_ != nullptr) return gradient_->CheckArguments();
  RETURN_IF_ERROR(CheckMissed());
  if (first_tree_slot_ == static_cast<int>(arguments_.size())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a tape cannot record the launch: its kernel has trees and no gradient");
}

void Launcher::NoteGradientsOn(Tape* tape) {
  if (recorded_in_ == tape->recording()) return;
  for (const BoundMemory& bound : memory_) {
    if (bound.is_companion) tape->AddMemory(bound.range);
    if (bound.range.mirrored != nullptr) tape->AddMirrored(bound.range.mirrored);
  }
  recorded_in_ = tape->recording();
}

absl::Status Launcher::Launch(int max_threads) {
  if (instance_ != nullptr) {
    return kiln::Launch(*instance_, arguments_.data(), results_.data(), max_threads, receivers_);
  }
  // Without an instance there are no texts: failures have no position, and prints are lost.
  if (kernel_->Launch(arguments_.data(), results_.data(), {nullptr, max_threads})) {
    return absl::OkStatus();
  }
  return absl::AbortedError(kCheckFailed);
}

absl::Status Launcher::Run(int max_threads) {
  Tape* const tape = Tape::Active();
  if (tape == nullptr || derivative().mode == proto::AUTODIFF_REVERSE) {
    RETURN_IF_ERROR(CheckArguments());
    Tape* const paused = Tape::Paused();
    if (paused != nullptr && gradient_ != nullptr) gradient_->NoteGradientsOn(paused);
    return Launch(max_threads);
  }
  absl::Status status = CheckArguments();
  // Before the launch, which changes memory.
  if (status.ok()) status = CheckRecordable();
  if (status.ok()) status = Launch(max_threads);
  if (!status.ok()) {
    tape->Fail(status);
  } else if (gradient_ != nullptr) {
    gradient_->NoteGradientsOn(tape);
    tape->Add(gradient_->instance_, gradient_->arguments_, max_threads);
  }
  return status;
}

absl::Status Launcher::RunGradient(int max_threads) {
  return RunDerivative(gradient_.get(), "gradient", max_threads);
}

absl::Status Launcher::RunWithDuals(int max_threads) {
  return RunDerivative(with_duals_.get(), "dual", max_threads);
}

absl::Status Launcher::CheckDerivative(const Launcher* derivative, const char* what) {
  if (derivative != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the instance was made without ", what, "s (CompileSettings::", what, "s)"));
}

absl::Status Launcher::RunDerivative(Launcher* derivative, const char* what, int max_threads) {
  RETURN_IF_ERROR(CheckDerivative(derivative, what));
  return derivative->Run(max_threads);
}

absl::StatusOr<std::unique_ptr<Launcher>> Launcher::Fixed() {
  RETURN_IF_ERROR(CheckArguments());
  auto fixed = std::make_unique<Launcher>(kernel_);
  // No derivatives, and no companions to check: those of a gradient have been.
  fixed->instance_ = instance_;
  fixed->receivers_ = receivers_;
  fixed->arguments_ = arguments_;
  fixed->missing_ = 0;
  return fixed;
}

absl::StatusOr<std::unique_ptr<Launcher>> Launcher::FixedGradient() {
  RETURN_IF_ERROR(CheckDerivative(gradient_.get(), "gradient"));
  return gradient_->Fixed();
}

}  // namespace kiln
