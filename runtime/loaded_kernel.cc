#include "runtime/loaded_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/abi_digest.h"
#include "runtime/cpu/glibc.h"
#include "runtime/cpu/host_target.h"
#include "runtime/library.h"

namespace kiln {
namespace {

constexpr uint64_t kMaxIterations = uint64_t{1}
                                    << 40;  // per element: multiplied by up to 2^22 elements

using Loaded = Result<std::shared_ptr<const LoadedKernel>>;

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

// These checks precede dlopen. Code for another ABI or processor would fail at some later
// instruction, and the loader's error about a library does not tell a damaged entry from an old
// machine.
Result<> CheckTarget(const KernelInfo& info) {
  if (!HostTarget().Runs(info.target)) {
    return Error{ErrorCode::kFailedPrecondition,
                 "made for " + (info.target.empty() ? "no known target" : info.target.text()) +
                     ", this machine is " + HostTarget().text()};
  }
  if (const std::string lacks = MissingFromGlibc(info.needs, HostGlibc()); !lacks.empty()) {
    return Error{ErrorCode::kFailedPrecondition,
                 "needs " + lacks + ", this machine has 2." + std::to_string(HostGlibc())};
  }
  return {};
}

Result<> CheckAbiAndTarget(const KernelInfo& info) {
  if (info.runtime_abi != RuntimeAbi()) {
    return Error{ErrorCode::kFailedPrecondition, "made for runtime ABI " + Hex(info.runtime_abi) +
                                                     ", this is " + Hex(RuntimeAbi())};
  }
  return CheckTarget(info);
}

// The kind comes from a file: it may be any number, also one that a later build has given a
// meaning.
bool IsKnown(TaskKind kind) {
  switch (kind) {
    case TaskKind::kSerial:
    case TaskKind::kRange:
    case TaskKind::kStruct:
    case TaskKind::kListgen:
    case TaskKind::kGc:
      return true;
    default:
      return false;
  }
}

// Loops over dense structures need no tree: they are ranges of cells.
bool NeedsTree(const TaskInfo& task) {
  return task.kind == TaskKind::kListgen || task.kind == TaskKind::kGc ||
         (task.kind == TaskKind::kStruct && task.iterations > 0);
}

// The argument slot with the nodes of a tree; -1 if there is none.
int TreeSlot(const KernelInfo& info, uint32_t tree) {
  for (size_t i = 0; i < info.arguments.size(); ++i) {
    const ArgumentSlot& slot = info.arguments[i];
    if (slot.kind == ArgumentSlot::Kind::kTree && slot.param == tree && slot.element == 1) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

template <typename Function>
Result<> FindFunction(const std::function<void*(const std::string&)>& find,
                      const std::string& symbol, Function* function) {
  *function = reinterpret_cast<Function>(find(symbol));
  if (*function != nullptr) return {};
  return Error{ErrorCode::kDataLoss, "the artifact has no '" + symbol + "'"};
}

}  // namespace

uint64_t RuntimeAbi() { return kRuntimeAbi; }

Result<> LoadedKernel::BindFinish(const Find& find, const TaskInfo& task, BoundTask* bound) {
  if (task.finish_symbol.empty()) return {};
  if (Result<> found = FindFunction(find, task.finish_symbol, &bound->finish); !found.ok())
    return found;
  bound->partial_bytes = task.partial_bytes;
  bound->grain = static_cast<int64_t>(std::clamp<uint64_t>(task.grain, 1, kMaxIterations));
  // The pool and the measurements go on to see one task with `run` and `alone`. Only these two
  // functions know that they process pieces.
  bound->piece = std::exchange(bound->run, &RunPiece);
  if (bound->alone != nullptr) bound->piece_alone = std::exchange(bound->alone, &RunPieceAlone);
  return {};
}

// Resolves a task's symbols once, so that a launch makes no look-ups. The description may come from
// a damaged or foreign entry: unknown kinds, missing symbols and absurd numbers must not crash
// here.
Result<> LoadedKernel::BindScatters(const KernelInfo& info, const TaskInfo& task,
                                    BoundTask* bound) {
  for (const ScatterInfo& scatter : task.scatters) {
    if (std::max(scatter.slot, scatter.extent_slot) >= info.arguments.size()) {
      return Error{ErrorCode::kDataLoss, "a task adds to a field that is not an argument"};
    }
  }
  bound->scatters = task.scatters;
  bound->slots = info.arguments.size();
  // A guess, until the first merge.
  constexpr uint32_t kNanosecondsOf1024 = 150;
  bound->merge_cost.Expect(kNanosecondsOf1024);
  return {};
}

Result<> LoadedKernel::BindTask(const Find& find, const KernelInfo& info, const TaskInfo& task,
                                BoundTask* bound) {
  if (!IsKnown(task.kind)) {
    return Error{ErrorCode::kUnimplemented,
                 "task kind " + std::to_string(static_cast<int>(task.kind))};
  }
  bound->kind = task.kind;
  if (NeedsTree(task)) {
    bound->tree_slot = TreeSlot(info, task.tree);
    if (bound->tree_slot < 0) {
      return Error{ErrorCode::kDataLoss, "the artifact takes no tree " + std::to_string(task.tree)};
    }
    bound->node = task.node;
    bound->slices = task.slices;
    bound->iterations = static_cast<int64_t>(std::min(task.iterations, kMaxIterations));
  }
  bound->serial = task.kind == TaskKind::kSerial;
  bound->begin = task.begin;
  // A serial task is a range of one iteration, so that launches need no special case.
  bound->end = bound->serial && task.end == task.begin ? task.begin + 1 : task.end;
  bound->max_threads = static_cast<int>(std::min<uint32_t>(task.max_threads, 1u << 16));
  bound->cost.Expect(std::min<uint32_t>(task.cost, 1u << 25));
  // The runtime itself implements these tasks; they have no code.
  if (task.kind == TaskKind::kListgen || task.kind == TaskKind::kGc) return {};
  if (Result<> found = FindFunction(find, task.symbol, &bound->run); !found.ok()) return found;
  if (!task.alone_symbol.empty()) {
    if (Result<> found = FindFunction(find, task.alone_symbol, &bound->alone); !found.ok())
      return found;
  }
  if (Result<> scatters = BindScatters(info, task, bound); !scatters.ok()) return scatters;
  if (Result<> finish = BindFinish(find, task, bound); !finish.ok()) return finish;
  if (bound->serial || bound->tree_slot >= 0 || task.constant_bounds) return {};
  return FindFunction(find, task.bounds_symbol, &bound->bounds);
}

Loaded LoadedKernel::Bind(std::shared_ptr<const void> owner, KernelInfo info, const Find& find) {
  std::shared_ptr<LoadedKernel> kernel(new LoadedKernel(std::move(owner)));
  kernel->tasks_ = std::vector<BoundTask>(info.tasks.size());
  for (size_t i = 0; i < info.tasks.size(); ++i) {
    const Result<> bound = BindTask(find, info, info.tasks[i], &kernel->tasks_[i]);
    if (!bound.ok()) return bound.error();
  }
  kernel->info_ = std::move(info);
  return std::shared_ptr<const LoadedKernel>(std::move(kernel));
}

Loaded LoadedKernel::BindLibrary(std::shared_ptr<void> library, KernelInfo info) {
  void* const handle = library.get();
  return Bind(std::move(library), std::move(info),
              [handle](const std::string& symbol) { return dlsym(handle, symbol.c_str()); });
}

Loaded LoadedKernel::FromFile(const std::string& path, KernelInfo info) {
  if (const Result<> fits = CheckAbiAndTarget(info); !fits.ok()) return fits.error();
  Result<std::shared_ptr<void>> library = OpenLibrary(path);
  if (!library.ok()) return library.error();
  return BindLibrary(*std::move(library), std::move(info));
}

Loaded LoadedKernel::FromBytes(std::string_view payload, KernelInfo info,
                               const std::vector<std::string>& directories) {
  if (const Result<> fits = CheckAbiAndTarget(info); !fits.ok()) return fits.error();
  Result<std::shared_ptr<void>> library = OpenLibraryBytes(payload, directories);
  if (!library.ok()) return library.error();
  return BindLibrary(*std::move(library), std::move(info));
}

Loaded LoadedKernel::FromFunctions(std::shared_ptr<const void> owner, KernelInfo info,
                                   const Find& find) {
  if (const Result<> fits = CheckTarget(info); !fits.ok()) return fits.error();
  return Bind(std::move(owner), std::move(info), find);
}

std::shared_ptr<const LoadedKernel> LoadedKernel::OnDevice(Device* device,
                                                           std::unique_ptr<const DeviceCode> code,
                                                           KernelInfo info) {
  std::shared_ptr<LoadedKernel> kernel(new LoadedKernel(nullptr));
  kernel->device_ = device;
  kernel->device_code_ = std::move(code);
  kernel->info_ = std::move(info);
  return kernel;
}

}  // namespace kiln
