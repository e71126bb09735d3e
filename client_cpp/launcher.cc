#include "client_cpp/launcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/print_format.h"
#include "common/base/status_macros.h"
#include "common/language/op_table.h"

namespace kiln {
namespace {

template <typename To, typename From>
uint64_t Bits(From value) {
  // Kernels read as many low bytes as the type has.
  To converted = static_cast<To>(value);
  uint64_t slot = 0;
  std::memcpy(&slot, &converted, sizeof converted);
  return slot;
}

template <typename From>
// A slot has the bits of the parameter's type, not a number that each kernel would have to convert.
uint64_t Convert(proto::Scalar type, From value) {
  switch (type) {
    case proto::U1:
      return value != 0 ? 1 : 0;
    case proto::I8:
      return Bits<int8_t>(value);
    case proto::I16:
      return Bits<int16_t>(value);
    case proto::I32:
      return Bits<int32_t>(value);
    case proto::I64:
      return Bits<int64_t>(value);
    case proto::U8:
      return Bits<uint8_t>(value);
    case proto::U16:
      return Bits<uint16_t>(value);
    case proto::U32:
      return Bits<uint32_t>(value);
    case proto::U64:
      return Bits<uint64_t>(value);
    case proto::F16:
      // Through f32, as the compiler converts in kernels.
      return Bits<_Float16>(static_cast<float>(value));
    case proto::F32:
      return Bits<float>(value);
    case proto::F64:
      return Bits<double>(value);
    default:
      return 0;
  }
}

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

constexpr char kCheckFailed[] = "a check of the kernel failed";

// Where a failure happened, as the end of its text.
std::string PositionText(const std::vector<SourcePosition>& positions) {
  if (positions.empty()) return "";
  return absl::StrCat(" at ", positions[0].file, ":", positions[0].line);
}

}  // namespace

// Makes texts of what one launch reports, and passes them on.
class Launcher::Texts {
 public:
  explicit Texts(const Launcher& launcher)
      : launcher_(launcher), texts_(launcher.instance_->texts()) {
    // The runtime calls these from any of its threads, one at a time.
    hooks_.print = [this](uint32_t node, const uint64_t* values, uint32_t count) {
      Print(node, values, count);
    };
    hooks_.fail = [this](uint32_t node, const uint64_t* values, uint32_t count) {
      // Threads may fail together. The first report is the one that counts, as in Python.
      if (failed_) return;
      const proto::Format* format = FormatOf(node);
      Fail({format != nullptr ? RenderFormat(*format, texts_.types, values, count) : kCheckFailed,
            PositionsOf(texts_.source_map, NodeNumber(node)),
            NodeNumber(node),
            {values, values + count}});
    };
    hooks_.error = [this](std::string_view text) { Fail({std::string(text), {}, {}, {}}); };
  }

  const LaunchHooks& hooks() const { return hooks_; }

  // Of a launch that failed.
  absl::Status status() const {
    return absl::AbortedError(absl::StrCat(failure_.text, PositionText(failure_.positions)));
  }

 private:
  const proto::Format* FormatOf(uint32_t node) const {
    const auto found = texts_.source_map.formats().find(node);
    return found == texts_.source_map.formats().end() ? nullptr : &found->second;
  }

  void Print(uint32_t node, const uint64_t* values, uint32_t count) {
    if (const proto::Format* format = FormatOf(node); format != nullptr) {
      Show(RenderFormat(*format, texts_.types, values, count));
    } else if (count == 1) {  // debug mode's warning about an op
      const OpInfo* op = FindOp(static_cast<int>(values[0]));
      Show(absl::StrCat("overflow of ", op == nullptr ? "an op" : op->spelling,
                        PositionText(PositionsOf(texts_.source_map, NodeNumber(node))), "\n"));
    }
  }

  void Show(const std::string& text) {
    if (launcher_.print_hook_) {
      launcher_.print_hook_(text);
    } else {
      standard_output_.Add(text);
    }
  }

  void Fail(LaunchFailure failure) {
    if (std::exchange(failed_, true)) return;
    failure_ = std::move(failure);
    if (launcher_.failure_hook_) launcher_.failure_hook_(failure_);
  }

  const Launcher& launcher_;
  const InstanceTexts& texts_;
  LaunchHooks hooks_;
  PrintSink standard_output_;
  bool failed_ = false;
  LaunchFailure failure_;
};

uint64_t SlotOf(proto::Scalar type, double value) { return Convert(type, value); }
uint64_t SlotOf(proto::Scalar type, int64_t value) { return Convert(type, value); }
uint64_t SlotOf(proto::Scalar type, uint64_t value) { return Convert(type, value); }

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
}

Launcher& Launcher::OnPrint(PrintHook hook) {
  print_hook_ = std::move(hook);
  return *this;
}

Launcher& Launcher::OnFailure(FailureHook hook) {
  failure_hook_ = std::move(hook);
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

template <typename T>
Launcher& Launcher::SetSlot(ParamId param, uint32_t element, T value) {
  int slot = Find(param, ArgumentSlot::Kind::kValue, element);
  if (slot < 0) return *this;
  // The kernel's type, not the caller's: `Set(n, 3)` of an f32 parameter is 3.0.
  auto type = static_cast<proto::Scalar>(kernel_->info().arguments[slot].scalar);
  return Put(slot, SlotOf(type, value));
}
template Launcher& Launcher::SetSlot(ParamId, uint32_t, double);
template Launcher& Launcher::SetSlot(ParamId, uint32_t, int64_t);
template Launcher& Launcher::SetSlot(ParamId, uint32_t, uint64_t);

Launcher& Launcher::Bind(ParamId param, const DenseField& field) {
  for (uint32_t i = 0; i < field.bases().size(); ++i) {
    Put(Find(param, ArgumentSlot::Kind::kBase, i), field.bases()[i]);
  }
  return Put(Find(param, ArgumentSlot::Kind::kExtent, 0), field.outer_extent());
}

Launcher& Launcher::Bind(ParamId param, const void* data, absl::Span<const uint64_t> shape) {
  Put(Find(param, ArgumentSlot::Kind::kBase, 0), reinterpret_cast<uint64_t>(data));
  for (uint32_t i = 0; i < shape.size(); ++i) {
    Put(Find(param, ArgumentSlot::Kind::kExtent, i), shape[i]);
  }
  return *this;
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
  return *this;
}

absl::Status Launcher::CheckArguments() const {
  if (!error_.ok() || missing_ == 0) return error_;
  size_t i = 0;
  // There is one: `missing_` counts those that are not set.
  while (is_set_[i]) ++i;
  const ArgumentSlot& slot = kernel_->info().arguments[i];
  const bool is_tree = slot.kind == ArgumentSlot::Kind::kTree;
  return absl::FailedPreconditionError(
      absl::StrCat(is_tree ? "tree " : "parameter ", slot.param, " is not set"));
}

absl::Status Launcher::Run(int max_threads) {
  RETURN_IF_ERROR(CheckArguments());
  // Without an instance there are no texts: failures have no position, and prints are lost.
  if (instance_ == nullptr) {
    if (kernel_->Launch(arguments_.data(), results_.data(), nullptr, max_threads)) {
      return absl::OkStatus();
    }
    return absl::AbortedError(kCheckFailed);
  }
  Texts texts(*this);
  if (kernel_->Launch(arguments_.data(), results_.data(), &texts.hooks(), max_threads)) {
    return absl::OkStatus();
  }
  return texts.status();
}

}  // namespace kiln
