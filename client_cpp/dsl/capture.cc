// Captured launches: kiln_capture_... over LaunchGraph.
#include "client_cpp/dsl/capture.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"
#include "runtime/cpu_device.h"

namespace kiln::dsl {
namespace {

// The capture whose body the thread runs.
thread_local kiln_capture* recording = nullptr;

absl::Status CheckOutside(const char* what) {
  const char* const around = recording != nullptr       ? "the recording of another one"
                             : RunningTape() != nullptr ? "the body of a tape"
                                                        : nullptr;
  if (around == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("captured launches cannot be ", what, " within ", around));
}

absl::Status Record(kiln_capture* capture, kiln_status (*body)(void* self), void* self) {
  RETURN_IF_ERROR(CheckOutside("recorded"));
  *capture = {};
  recording = capture;
  const kiln_status done = body(self);
  recording = nullptr;
  const absl::Status finished =
      done == KILN_OK ? capture->Finish()
                      : absl::Status(static_cast<absl::StatusCode>(done), kiln_compile_error());
  if (!finished.ok()) *capture = {};
  return finished;
}

// Whether the host waits for launches of the kernel, as LaunchGraph::Add has it.
bool IsAwaited(const KernelInfo& info) { return info.has_effects || info.can_fail || info.tapes; }

}  // namespace

kiln_capture* RunningCapture() { return recording; }

}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

absl::Status kiln_capture::Check(const kiln_program& program) const {
  const auto refuse = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel '", program.name, "' cannot be captured: ", why));
  };
  if (!program.current->instance->kernel()->info().results.empty()) {
    return refuse("it returns a value");
  }
  if (device_ != nullptr && device_ != program.device) {
    return refuse(absl::StrCat("it is for ", NameOf(*program.device), ", the kernels before for ",
                               NameOf(*device_)));
  }
  if (program.device == &kiln::CpuDevice()) return absl::OkStatus();
  for (const auto& [param, array] : program.arrays) {
    if (array.is_on_device || array.bytes == 0) continue;
    return refuse(absl::StrCat("the array for parameter ", param.number(),
                               " is in memory of the host: pass a field"));
  }
  return absl::OkStatus();
}

absl::Status kiln_capture::Add(RunOf what, const kiln_program& program) {
  const absl::Status added = [&]() -> absl::Status {
    RETURN_IF_ERROR(Check(program));
    kiln::Launcher& launcher = *program.current->launcher;
    ASSIGN_OR_RETURN(auto fixed,
                     what == RunOf::kKernel ? launcher.Fixed() : launcher.FixedGradient());
    launches_.push_back({std::move(fixed), program.name, program.max_threads});
    return absl::OkStatus();
  }();
  if (failure_.ok()) failure_ = added;
  device_ = program.device;
  for (const auto& [field, _] : program.fields) fields_.insert(field);
  for (const auto& [_, array] : program.arrays) {
    if (array.field != nullptr) fields_.insert(array.field);
  }
  trees_.insert(program.trees.begin(), program.trees.end());
  kept_.insert(program.roots.begin(), program.roots.end());
  return added;
}

absl::Status kiln_capture::MakeGraph(Part* part) {
  if (IsAwaited(launches_[part->first].launcher->kernel()->info())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*device_));
  part->graph = device_->MakeGraph();
  if (part->graph == nullptr) return absl::OkStatus();
  for (size_t i = part->first; i < part->last; ++i) {
    const kiln::Launcher& launcher = *launches_[i].launcher;
    RETURN_IF_ERROR(kiln::ToStatus(
        part->graph->Add(launcher.kernel(), launcher.arguments(), launches_[i].name)));
  }
  return kiln::ToStatus(part->graph->Finish());
}

absl::Status kiln_capture::Finish() {
  RETURN_IF_ERROR(failure_);
  const auto is_awaited = [this](size_t i) {
    return IsAwaited(launches_[i].launcher->kernel()->info());
  };
  for (size_t first = 0, last = 0; first < launches_.size(); first = last) {
    while (last < launches_.size() && is_awaited(last) == is_awaited(first)) ++last;
    parts_.push_back({first, last, nullptr});
    RETURN_IF_ERROR(MakeGraph(&parts_.back()));
  }
  return absl::OkStatus();
}

absl::Status kiln_capture::HandOver() const {
  if (device_ == &kiln::CpuDevice()) return absl::OkStatus();
  for (const auto& field : fields_) RETURN_IF_ERROR(HandOverField(*field));
  for (const auto& tree : trees_) RETURN_IF_ERROR(HandOverTree(*tree));
  return absl::OkStatus();
}

absl::Status kiln_capture::Run() {
  RETURN_IF_ERROR(CheckOutside("run"));
  const auto in_turn = [&](const auto& start) -> absl::Status {
    ASSIGN_OR_RETURN(const auto turn, TakeTurn(*device_));
    RETURN_IF_ERROR(HandOver());
    return start();
  };
  for (const Part& part : parts_) {
    if (part.graph != nullptr) {
      RETURN_IF_ERROR(in_turn([&] { return kiln::ToStatus(part.graph->Launch()); }));
      continue;
    }
    for (size_t i = part.first; i < part.last; ++i) {
      const Launch& launch = launches_[i];
      RETURN_IF_ERROR(in_turn([&] { return launch.launcher->Run(launch.max_threads); }));
    }
  }
  return absl::OkStatus();
}

kiln_capture* kiln_capture_new() { return new (std::nothrow) kiln_capture; }
void kiln_capture_free(kiln_capture* capture) { delete capture; }

kiln_status kiln_capture_record(kiln_capture* capture, kiln_status (*body)(void* self),
                                void* self) {
  if (body == nullptr) return Null("kiln_capture_record", "body");
  return Told(Record(capture, body, self));
}

kiln_status kiln_capture_run(kiln_capture* capture) { return Told(capture->Run()); }
