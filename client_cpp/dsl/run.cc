// Runs of programs, on the CPU and on devices.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/capture.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/program.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/runtime_status.h"
#include "client_cpp/tape.h"
#include "common/base/status_macros.h"
#include "runtime/cpu_device.h"
#include "runtime/host_arrays.h"

namespace kiln::dsl {
namespace {

bool Collide(const uint8_t* a, uint64_t a_bytes, const uint8_t* b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// The compiler takes a write to an array for no write to a field: where memory is shared, results
// would be wrong without a word.
absl::Status CheckApart(const kiln_program& program) {
  const std::vector<bool>& writes = program.current->instance->writes();
  for (const auto& [param, array] : program.arrays) {
    for (const auto& [field, of] : program.fields) {
      if (!writes[param.number()] && !writes[of.number()]) continue;
      const uint8_t* const begin = field->buffer().data();
      if (!Collide(array.begin, array.bytes, begin, field->bytes())) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the array for parameter ", param.number(),
                       " shares memory with a field that the kernel uses; pass a copy"));
    }
  }
  return absl::OkStatus();
}

// In gradients, no parameter and no gradient may share memory with another one.
class Apart {
 public:
  absl::Status Check(const kiln_program& program) {
    for (const auto& [param, array] : program.arrays) {
      Add(array.begin, array.bytes, "the array", param);
      const DenseField* const of = array.field == nullptr ? nullptr : array.field->grad().get();
      const uint8_t* const gradient = of == nullptr ? array.gradient : of->buffer().data();
      if (gradient != nullptr) Add(gradient, array.bytes, "the gradient", param);
    }
    for (const auto& [field, param] : program.fields) {
      Add(field->buffer().data(), field->bytes(), "the field", param);
      if (field->grad() == nullptr) continue;
      Add(field->grad()->buffer().data(), field->bytes(), "the gradient", param);
    }
    std::vector<Range> sorted = all_;
    std::sort(sorted.begin(), sorted.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (Collide(sorted[i - 1], sorted[i])) return Refuse();
    }
    return absl::OkStatus();
  }

 private:
  struct Range {
    const uint8_t* begin;
    uint64_t bytes;
    const char* what;
    ParamId of;
  };

  static bool Collide(const Range& a, const Range& b) {
    return dsl::Collide(a.begin, a.bytes, b.begin, b.bytes);
  }
  void Add(const uint8_t* begin, uint64_t bytes, const char* what, ParamId of) {
    if (bytes > 0) all_.push_back({begin, bytes, what, of});
  }
  // Names the first two in the order of parameters, which does not depend on addresses.
  absl::Status Refuse() const {
    for (size_t i = 1; i < all_.size(); ++i) {
      const Range& other = all_[i];
      const auto one = std::find_if(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(i),
                                    [&](const Range& before) { return Collide(before, other); });
      if (one == all_.begin() + static_cast<ptrdiff_t>(i)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          one->what, " for parameter ", one->of.number(), " and ", other.what, " for parameter ",
          other.of.number(), " share memory: the kernel's gradient would be wrong"));
    }
    return absl::OkStatus();
  }

  std::vector<Range> all_;
};

absl::Status HandOver(const kiln_program& program) {
  for (const auto& [field, _] : program.fields) RETURN_IF_ERROR(HandOverField(*field));
  for (const auto& [_, array] : program.arrays) {
    if (array.field != nullptr) RETURN_IF_ERROR(HandOverField(*array.field));
  }
  for (const std::shared_ptr<FieldTree>& tree : program.trees) {
    RETURN_IF_ERROR(HandOverTree(*tree));
  }
  return absl::OkStatus();
}

absl::Status Start(RunOf what, kiln_program* program) {
  Launcher& launcher = *program->current->launcher;
  return what == RunOf::kKernel ? launcher.Run(program->max_threads)
                                : launcher.RunGradient(program->max_threads);
}

bool UsesGradients(const kiln_program& program) {
  return program.uses_gradients ||
         std::any_of(program.arrays.begin(), program.arrays.end(),
                     [](const auto& array) { return array.second.has_gradient(); });
}

// Copies of the host's arrays on the device, for the time of a launch.
class Copies {
 public:
  explicit Copies(Device* device) : arrays_(device) {}

  absl::Status Make(RunOf what, const kiln_program& program) {
    made_.reserve(program.arrays.size());  // addresses of elements are kept
    for (const auto& [param, array] : program.arrays) {
      if (array.is_on_device || array.bytes == 0) continue;
      made_.push_back({param, 0, 0});
      // To a gradient, arrays are constants.
      const bool writes =
          what == RunOf::kKernel && program.current->instance->writes()[param.number()];
      arrays_.Add(array.begin, array.bytes, &made_.back().array, writes);
      if (what == RunOf::kKernel || array.gradient == nullptr) continue;
      arrays_.Add(array.gradient, array.bytes, &made_.back().gradient, true);
    }
    return ToStatus(arrays_.CopyIn());
  }
  void Bind(const kiln_program& program) const {
    for (const Copy& copy : made_) {
      ArrayCompanions companions;
      companions.grad = reinterpret_cast<void*>(copy.gradient);
      program.current->launcher->Bind(copy.of, reinterpret_cast<void*>(copy.array),
                                      program.arrays.at(copy.of).shape, companions);
    }
  }
  absl::Status CopyBack() { return ToStatus(arrays_.CopyBack()); }
  bool empty() const { return made_.empty(); }

 private:
  struct Copy {
    ParamId of;
    uint64_t array, gradient;
  };

  HostArrays arrays_;
  std::vector<Copy> made_;
};

// What a launch that fails has written stays, as on the CPU.
absl::Status RunOnDevice(RunOf what, kiln_program* program) {
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*program->device));
  Copies copies(program->device);
  RETURN_IF_ERROR(copies.Make(what, *program));
  if (!copies.empty() && Tape::Active() != nullptr && UsesGradients(*program)) {
    return absl::FailedPreconditionError(
        "a tape cannot record a launch on a CUDA device with an array of the host, which is gone "
        "from there when gradients run: pass a field");
  }
  copies.Bind(*program);
  RETURN_IF_ERROR(HandOver(*program));
  const absl::Status ran = Start(what, program);
  const absl::Status copied = copies.CopyBack();
  return ran.ok() ? copied : ran;
}

// The version whose gradient the launch needs, or may need later; else that without gradients of
// arrays.
absl::Status ChooseVersion(RunOf what, kiln_program* program) {
  const bool is_recorded = Tape::Active() != nullptr && UsesGradients(*program);
  if (what == RunOf::kKernel && !is_recorded) return UseVersion({}, program);
  std::vector<ParamId> arrays;
  for (const auto& [param, array] : program->arrays) {
    if (array.has_gradient()) arrays.push_back(param);
  }
  RETURN_IF_ERROR(UseVersion(arrays, program));
  RETURN_IF_ERROR(program->current->gradient);
  return Apart().Check(*program);
}

void KeepTreesOn(kiln_tape* tape, const kiln_program& program) {
  for (const std::shared_ptr<FieldTree>& tree : program.trees) {
    tape->kept.insert(tree);
    if (tree->mirrored() != nullptr) tape->tape.AddMirrored(tree->mirrored());
  }
  for (const auto& root : program.roots) {
    tape->kept.insert(root);
    if (root->nodes_on_device != nullptr) {
      tape->tape.AddNodes(root->nodes_on_device->data(), root->host_nodes.data());
    }
  }
  for (const kiln_trace::TreeInput& input : program.tree_inputs) {
    if (input.gradient_snode < 0) continue;
    size_t components = 1;
    for (const uint32_t extent : input.field.storage.element().shape()) components *= extent;
    tape->tape.AddTreeGradient(input.gradient.access, components);
  }
}

// The program may drop its fields, or give other ones to the kernel, before gradients run.
void KeepOn(kiln_tape* tape, const kiln_program& program) {
  for (const auto& [field, _] : program.fields) tape->fields.insert(field);
  for (const auto& [_, array] : program.arrays) {
    if (array.field != nullptr) tape->fields.insert(array.field);
  }
  KeepTreesOn(tape, program);
  if (program.device != &CpuDevice()) tape->device = program.device;
}

}  // namespace

absl::Status HandOverField(const DenseField& field) {
  RETURN_IF_ERROR(ToStatus(field.buffer().HandOver()));
  return field.grad() == nullptr ? absl::OkStatus() : ToStatus(field.grad()->buffer().HandOver());
}

absl::Status HandOverTree(const FieldTree& tree) { return ToStatus(tree.mirrored()->HandOver()); }

absl::Status Run(RunOf what, kiln_program* program) {
  RETURN_IF_ERROR(CheckApart(*program));
  RETURN_IF_ERROR(ChooseVersion(what, program));
  if (kiln_capture* const capture = RunningCapture(); capture != nullptr) {
    return capture->Add(what, *program);
  }
  if (kiln_tape* const tape = RunningTape(); tape != nullptr) KeepOn(tape, *program);
  return program->device == &CpuDevice() ? Start(what, program) : RunOnDevice(what, program);
}

}  // namespace kiln::dsl
