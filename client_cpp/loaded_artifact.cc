#include "client_cpp/loaded_artifact.h"

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client_cpp/devices.h"
#include "client_cpp/runtime_status.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "runtime/thread_tape.h"

namespace kiln {
namespace {

static_assert(static_cast<int>(TaskKind::kSerial) == proto::TASK_SERIAL &&
              static_cast<int>(TaskKind::kRange) == proto::TASK_RANGE &&
              static_cast<int>(TaskKind::kStruct) == proto::TASK_STRUCT &&
              static_cast<int>(TaskKind::kListgen) == proto::TASK_LISTGEN &&
              static_cast<int>(TaskKind::kGc) == proto::TASK_GC &&
              static_cast<int>(TaskKind::kGc) == proto::TaskKind_MAX);
static_assert(static_cast<int>(ArgumentSlot::Kind::kValue) == proto::ArgumentSlot::SLOT_VALUE &&
              static_cast<int>(ArgumentSlot::Kind::kBase) == proto::ArgumentSlot::SLOT_BASE &&
              static_cast<int>(ArgumentSlot::Kind::kExtent) == proto::ArgumentSlot::SLOT_EXTENT &&
              static_cast<int>(ArgumentSlot::Kind::kTree) == proto::ArgumentSlot::SLOT_TREE &&
              static_cast<int>(ArgumentSlot::Kind::kTree) == proto::ArgumentSlot::Kind_MAX);

static_assert(static_cast<int>(ScatterInfo::Number::kI8) == proto::Scatter::NUMBER_I8 &&
              static_cast<int>(ScatterInfo::Number::kF64) == proto::Scatter::NUMBER_F64 &&
              static_cast<int>(ScatterInfo::Number::kF64) == proto::Scatter::Number_MAX);

TaskInfo TaskInfoOf(const proto::Task& task) {
  TaskInfo info;
  info.kind = static_cast<TaskKind>(task.kind());
  info.symbol = task.symbol();
  info.bounds_symbol = task.bounds_symbol();
  info.constant_bounds = task.constant_bounds();
  info.begin = task.begin();
  info.end = task.end();
  info.max_threads = task.max_threads();
  info.cost = task.cost();
  info.alone_symbol = task.alone_symbol();
  info.tree = task.tree();
  info.node = task.node();
  info.slices = task.slices();
  info.iterations = task.iterations();
  info.finish_symbol = task.finish_symbol();
  info.partial_bytes = task.partial_bytes();
  info.grain = task.grain();
  info.block_dim = task.block_dim();
  info.items_per_thread = task.items_per_thread();
  info.waves = task.waves();
  info.recurses = task.recurses();
  info.joined = task.joined();
  info.length_factor = task.length_factor();
  info.length_slots.assign(task.length_slots().begin(), task.length_slots().end());
  for (const proto::Scatter& scatter : task.scatters()) {
    info.scatters.push_back({scatter.slot(), scatter.bytes(), scatter.extent_slot(),
                             static_cast<ScatterInfo::Number>(scatter.number())});
  }
  return info;
}

// The user's own directories for short-lived files.
std::vector<std::string> TemporaryDirectories() {
  std::vector<std::string> directories;
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    if (const char* path = std::getenv(variable); path != nullptr) directories.emplace_back(path);
  }
  return directories;
}

// Before each kernel, so that a program may set the variable as long as it has made no gradient.
void SetTapeLimit() {
  const char* megabytes = std::getenv("KILN_TAPE_MB");
  ThreadTape::SetDefaultLimit(
      megabytes == nullptr ? 0 : uint64_t{std::strtoull(megabytes, nullptr, 10)} << 20);
}

// The loader's message about an object file does not say what it is.
absl::Status CheckIsLoadable(const EntryView& entry) {
  if (!entry.info.relocatable()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("kernel '", entry.info.kernel(),
                   "': its code is an object to be linked into a module, which cannot be run"));
}

absl::StatusOr<Device*> DeviceOf(const EntryView& entry, Device* cuda) {
  const Target::Device kind = TargetOf(entry.info.target()).device();
  if (kind == Target::Device::kCuda && cuda != nullptr) return cuda;
  return DeviceFor(kind);
}

absl::StatusOr<LoadedArtifact> WithInfo(Result<std::shared_ptr<const LoadedKernel>> kernel,
                                        const EntryView& entry) {
  if (!kernel.ok()) {
    const absl::Status why = ToStatus(kernel.error());
    return absl::Status(why.code(),
                        absl::StrCat("kernel '", entry.info.kernel(), "': ", why.message()));
  }
  return LoadedArtifact{*std::move(kernel),
                        std::make_shared<const proto::ArtifactInfo>(entry.info)};
}

}  // namespace

KernelInfo KernelInfoOf(const proto::ArtifactInfo& info) {
  KernelInfo kernel;
  kernel.name = info.kernel();
  kernel.target = TargetOf(info.target());
  kernel.runtime_abi = info.target().runtime_abi();
  kernel.needs.assign(info.needs().begin(), info.needs().end());
  kernel.tasks.reserve(info.tasks_size());
  for (const proto::Task& task : info.tasks()) kernel.tasks.push_back(TaskInfoOf(task));
  kernel.arguments.reserve(info.arguments_size());
  for (const proto::ArgumentSlot& slot : info.arguments()) {
    kernel.arguments.push_back({static_cast<ArgumentSlot::Kind>(slot.kind()), slot.param(),
                                slot.element(), slot.scalar()});
  }
  kernel.results.assign(info.results().begin(), info.results().end());
  kernel.temporary_bytes = info.temporary_bytes();
  kernel.draws = info.draws();
  kernel.tapes = info.tapes();
  kernel.has_effects = info.has_effects();
  kernel.can_fail = info.can_fail();
  return kernel;
}

absl::StatusOr<LoadedArtifact> LoadFile(const std::string& path, const EntryView& entry,
                                        Device* cuda) {
  RETURN_IF_ERROR(CheckIsLoadable(entry));
  SetTapeLimit();
  // Only the system's loader takes code from files.
  if (TargetOf(entry.info.target()).device() != Target::Device::kCpu) {
    return LoadBytes(entry, cuda);
  }
  return WithInfo(LoadedKernel::FromFile(path, KernelInfoOf(entry.info)), entry);
}

absl::StatusOr<LoadedArtifact> LoadBytes(const EntryView& entry, Device* cuda) {
  RETURN_IF_ERROR(CheckIsLoadable(entry));
  SetTapeLimit();
  const std::string_view payload(entry.payload.data(), entry.payload.size());
  ASSIGN_OR_RETURN(Device* const device, DeviceOf(entry, cuda));
  return WithInfo(device->LoadBytes(payload, KernelInfoOf(entry.info), TemporaryDirectories()),
                  entry);
}

}  // namespace kiln
