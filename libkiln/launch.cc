// Launches of kernels and graphs.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "libkiln/arguments.h"
#include "libkiln/failure.h"
#include "libkiln/handles.h"
#include "runtime/host_arrays.h"
#include "runtime/module/reports.h"
#include "runtime/number_format.h"
#include "runtime/scalar.h"

using kiln::capi::Fail;
using kiln::capi::FailNull;
using kiln::capi::Guarded;

namespace kiln::capi {
namespace {

// Slots of a launch or a graph: on the stack, since an allocation costs as much as a small launch.
class Slots {
 public:
  explicit Slots(size_t count) {
    if (count <= kOnStack) {
      std::fill_n(stack_, count, 0);
    } else {
      heap_.resize(count);
      data_ = heap_.data();
    }
  }
  uint64_t* data() { return data_; }

 private:
  static constexpr size_t kOnStack = 128;
  uint64_t stack_[kOnStack];
  std::vector<uint64_t> heap_;
  uint64_t* data_ = stack_;
};

// Whether the launch has what it needs: a world of the kernel's module, and a device that works in
// this process.
kiln_status CheckReady(const kiln_kernel& kernel, const kiln_world* world) {
  if (const Device* device = kernel.module->module->device(); device != nullptr) {
    if (const Result<> usable = device->CheckProcess(); !usable.ok()) {
      return Fail(KILN_ABORTED, "kernel '" + kernel.of().name + "': " + usable.error().text);
    }
  }
  if (world == nullptr) {
    if (!kernel.of().has_data) return KILN_OK;
    return Fail(KILN_INVALID_ARGUMENT,
                "kernel '" + kernel.of().name + "' uses fields: it needs a world, got NULL");
  }
  if (!IsLive(world)) {
    return Fail(KILN_INVALID_ARGUMENT, "kernel '" + kernel.of().name + "': the world was freed");
  }
  if (world->module == kernel.module) return KILN_OK;
  return Fail(KILN_INVALID_ARGUMENT, "kernel '" + kernel.of().name + "' is of module '" +
                                         kernel.module->name + "', its world of another: '" +
                                         world->module->name + "'");
}

uint64_t BytesOf(const ModuleParam& array, const uint64_t* slots) {
  uint64_t bytes = ScalarBytesOf(array.value.scalar) * uint64_t{array.value.count};
  for (uint32_t axis = 0; axis < array.rank; ++axis) bytes *= slots[array.first_slot + 1 + axis];
  return bytes;
}

// Adds a launch's arrays that are not in memory of the kernel's device, which it has.
void AddHostArrays(const kiln_kernel& kernel, uint64_t* slots, HostArrays* arrays) {
  Device* const device = kernel.module->module->device();
  for (const ModuleParam& param : kernel.of().params) {
    if (!param.is_array) continue;
    uint64_t* const slot = slots + param.first_slot;
    auto* const at = reinterpret_cast<uint8_t*>(*slot);
    const uint64_t bytes = BytesOf(param, slots);
    if (bytes == 0 || device->Borrow(at, bytes, /*has_mirror=*/false).ok()) continue;
    arrays->Add(at, bytes, slot, param.writes);
  }
}

// The compiler takes a write to an array for no write to a field, and in derivatives for none to
// another array. Where memory is shared, results would be wrong without a word.
kiln_status CheckApart(const kiln_kernel& kernel, const kiln_world* world, const uint64_t* slots) {
  const ModuleKernel& of = kernel.of();
  if (!of.has_arrays || (!of.has_data && !of.is_apart)) return KILN_OK;
  const auto range = [&](const ModuleParam& param) {
    const uint64_t begin = slots[param.first_slot];
    return World::Range{begin, begin + BytesOf(param, slots), param.writes};
  };
  const auto collide = [](const World::Range& a, const World::Range& b) {
    return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
  };
  for (size_t i = 0; i < of.params.size(); ++i) {
    if (!of.params[i].is_array) continue;
    const World::Range array = range(of.params[i]);
    if (world != nullptr) {
      for (const World::Range& field : world->world->RangesOf(kernel.number)) {
        if (!collide(array, field)) continue;
        return Fail(KILN_INVALID_ARGUMENT,
                    "kernel '" + of.name + "', argument '" + of.params[i].name +
                        "' shares memory with a field that the kernel uses; pass a copy");
      }
    }
    for (size_t j = 0; of.is_apart && j < i; ++j) {
      if (!of.params[j].is_array || !collide(array, range(of.params[j]))) continue;
      return Fail(KILN_INVALID_ARGUMENT, "derivative '" + of.name + "': arguments '" +
                                             of.params[j].name + "' and '" + of.params[i].name +
                                             "' share memory; pass a copy");
    }
  }
  return KILN_OK;
}

// Requires: a checked world, and filled slots of the parameters, for the kernel's device.
kiln_status RunThere(const kiln_kernel& kernel, kiln_world* world, uint64_t* slots,
                     uint64_t* results, const kiln_launch_options& options) {
  const ModuleKernel& of = kernel.of();
  const kiln_context& context = *kernel.module->context;
  std::unique_lock<std::mutex> start;  // until a launch on a device has started
  if (world != nullptr) {
    world->world->Bind(kernel.number, slots);
    if (kernel.module->module->device() != nullptr) {
      Result<std::unique_lock<std::mutex>> kept = world->world->KeepHostAway();
      if (!kept.ok()) return Fail(kept.error());
      start = *std::move(kept);
      const Result<> done = world->world->HandOver(kernel.number);
      if (!done.ok()) return Fail(done.error());
    }
  }
  LaunchOptions launch;
  launch.executor = context.executor.get();
  launch.max_threads = static_cast<int>(options.max_threads != 0 ? options.max_threads
                                                                 : context.options.max_threads);
  // Without a world, random numbers count the launches of the process.
  if (world != nullptr && of.code->info().draws) launch.random = world->world->NextRandom();
  // Most kernels report nothing: their launches need no receivers. On a device, a launch may tell
  // of the failure of one before.
  const bool on_device = kernel.module->module->device() != nullptr;
  if (!of.reports && options.stop == nullptr && !on_device) {
    if (of.code->Launch(slots, results, launch)) return KILN_OK;
    return Fail(KILN_ABORTED, "kernel '" + of.name + "' failed");
  }
  const bool own_print = options.print != nullptr;
  ModuleReports reports(*kernel.module->module, kernel.number,
                        own_print ? options.print : context.options.print,
                        own_print ? options.print_self : context.options.print_self);
  const auto before_wait = [&] {
    if (start.owns_lock()) start.unlock();
    if (options.waits != nullptr) options.waits(options.waits_self);
  };
  reports.BeforeWait([&before_wait] { before_wait(); });
  launch.hooks = &reports.hooks();
  reports.StopWith(options.stop);
  if (of.code->Launch(slots, results, launch)) return KILN_OK;
  return Fail(KILN_ABORTED, "kernel '" + of.name + "': " + reports.failure());
}

// Runs `launch` between the copies of host arrays to the device and back. What a launch that fails
// has written stays, as on the CPU.
template <typename Launch>
kiln_status WithCopies(HostArrays* arrays, const kiln_launch_options& options,
                       const Launch& launch) {
  if (const Result<> copied = arrays->CopyIn(); !copied.ok()) return Fail(copied.error());
  const kiln_status done = launch();
  if (options.waits != nullptr && arrays->AreWritten()) options.waits(options.waits_self);
  const Result<> copied = arrays->CopyBack();
  if (done != KILN_OK) return done;
  return copied.ok() ? KILN_OK : Fail(copied.error());
}

// Apart from Run: launches on the CPU are short.
[[gnu::noinline]] kiln_status RunWithCopies(const kiln_kernel& kernel, kiln_world* world,
                                            uint64_t* slots, uint64_t* results,
                                            const kiln_launch_options& options) {
  HostArrays arrays(kernel.module->module->device());
  AddHostArrays(kernel, slots, &arrays);
  return WithCopies(&arrays, options,
                    [&] { return RunThere(kernel, world, slots, results, options); });
}

// The same as RunThere, with slots of the parameters that may have addresses of the host.
inline kiln_status Run(const kiln_kernel& kernel, kiln_world* world, uint64_t* slots,
                       uint64_t* results, const kiln_launch_options& options) {
  const bool may_copy = kernel.module->module->device() != nullptr && kernel.of().has_arrays;
  return may_copy ? RunWithCopies(kernel, world, slots, results, options)
                  : RunThere(kernel, world, slots, results, options);
}

}  // namespace
}  // namespace kiln::capi

kiln_status kiln_launch_slots(const kiln_kernel* kernel, kiln_world* world, uint64_t* slots,
                              uint64_t* results, const kiln_launch_options* options) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(kernel)) return FailNull("kiln_launch_slots", "kernel");
    if (const kiln_status fits = kiln::capi::CheckReady(*kernel, world); fits != KILN_OK) {
      return fits;
    }
    return kiln::capi::Run(*kernel, world, slots, results, kiln::capi::Sized(options));
  });
}

kiln_status kiln_launch(const kiln_kernel* kernel, kiln_world* world, const kiln_arg* args,
                        size_t count, uint64_t* results, const kiln_launch_options* options) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(kernel)) return FailNull("kiln_launch", "kernel");
    const kiln::ModuleKernel& of = kernel->of();
    if (const kiln_status fits = kiln::capi::CheckReady(*kernel, world); fits != KILN_OK) {
      return fits;
    }
    if (count != of.params.size()) {
      return Fail(KILN_INVALID_ARGUMENT, kernel->text + " takes " +
                                             std::to_string(of.params.size()) + " arguments, got " +
                                             std::to_string(count));
    }
    if (args == nullptr && count > 0) return FailNull("kiln_launch", "args");
    const kiln::KernelInfo& info = of.code->info();
    kiln::capi::Slots slots(info.arguments.size());
    for (size_t i = 0; i < count; ++i) {
      const kiln::ModuleParam& param = of.params[i];
      const kiln_status packed =
          kiln::capi::PackArg(kiln::capi::WantedBy(of, param, kernel->module->module->device()),
                              args[i], slots.data() + param.first_slot);
      if (packed != KILN_OK) return packed;
    }
    if (const kiln_status apart = kiln::capi::CheckApart(*kernel, world, slots.data());
        apart != KILN_OK) {
      return apart;
    }
    if (results != nullptr || info.results.empty()) {
      return kiln::capi::Run(*kernel, world, slots.data(), results, kiln::capi::Sized(options));
    }
    kiln::capi::Slots dropped(info.results.size());
    return kiln::capi::Run(*kernel, world, slots.data(), dropped.data(),
                           kiln::capi::Sized(options));
  });
}

namespace kiln::capi {
namespace {

// A graph's launches, with all slots of their parameters.
class GraphRun {
 public:
  GraphRun(const kiln_graph& graph, size_t slots) : graph_(graph), slots_(slots) {}

  static size_t SlotsOf(const kiln_graph& graph) {
    size_t count = 0;
    for (const ModuleGraph::Launch& launch : graph.of().launches) {
      count += KernelOf(graph, launch).of().code->info().arguments.size();
    }
    return count;
  }

  // Every argument is packed before anything runs.
  kiln_status Pack(const kiln_named_arg* args, size_t count, const kiln_world* world) {
    const ModuleGraph& of = graph_.of();
    std::vector<const kiln_arg*> given(of.args.size());
    for (size_t i = 0; i < count; ++i) {
      const auto at = std::find_if(of.args.begin(), of.args.end(), [&](const auto& arg) {
        return args[i].name != nullptr && arg.name == args[i].name;
      });
      if (at == of.args.end()) {
        return Fail(KILN_INVALID_ARGUMENT, "graph '" + of.name + "' takes no argument '" +
                                               (args[i].name == nullptr ? "NULL" : args[i].name) +
                                               "'");
      }
      const kiln_arg*& one = given[static_cast<size_t>(at - of.args.begin())];
      if (one != nullptr) {
        return Fail(KILN_INVALID_ARGUMENT,
                    "graph '" + of.name + "' got the argument '" + at->name + "' twice");
      }
      one = &args[i].arg;
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == nullptr) {
        return Fail(KILN_INVALID_ARGUMENT,
                    "graph '" + of.name + "' needs the argument '" + of.args[i].name + "'");
      }
    }
    uint64_t* slots = slots_.data();
    for (const ModuleGraph::Launch& launch : of.launches) {
      const ModuleKernel& kernel = KernelOf(graph_, launch).of();
      size_t constant = 0;
      for (size_t p = 0; p < kernel.params.size(); ++p) {
        const ModuleParam& param = kernel.params[p];
        if (launch.args[p] == module::kNone) {
          std::copy_n(&launch.constants[constant], param.value.count, slots + param.first_slot);
          constant += param.value.count;
          continue;
        }
        const ModuleGraph::Arg& arg = of.args[launch.args[p]];
        const Wanted wanted{"graph",     of.name,    arg.name, param.is_array,
                            param.value, param.rank, device()};
        const kiln_status packed =
            PackArg(wanted, *given[launch.args[p]], slots + param.first_slot);
        if (packed != KILN_OK) return packed;
      }
      const kiln_status apart = CheckApart(KernelOf(graph_, launch), world, slots);
      if (apart != KILN_OK) return apart;
      slots += kernel.code->info().arguments.size();
    }
    return KILN_OK;
  }

  kiln_status Launch(kiln_world* world, const kiln_launch_options& options) {
    if (device() == nullptr) return LaunchAll(world, options);
    HostArrays arrays(device());
    uint64_t* slots = slots_.data();
    for (const ModuleGraph::Launch& launch : graph_.of().launches) {
      const kiln_kernel& kernel = KernelOf(graph_, launch);
      AddHostArrays(kernel, slots, &arrays);
      slots += kernel.of().code->info().arguments.size();
    }
    return WithCopies(&arrays, options, [&] {
      const std::shared_ptr<LaunchGraph> captured = Captured(world);
      return captured != nullptr ? LaunchAtOnce(*captured, world) : LaunchAll(world, options);
    });
  }

  static const kiln_kernel& KernelOf(const kiln_graph& graph, const ModuleGraph::Launch& launch) {
    return graph.module->kernels[launch.kernel];
  }

 private:
  Device* device() const { return graph_.module->module->device(); }

  // All launches as one of the device's, or null. Fills in the world's slots. Requires: slots for
  // the device.
  std::shared_ptr<LaunchGraph> Captured(kiln_world* world) {
    uint64_t* slots = slots_.data();
    for (const ModuleGraph::Launch& launch : graph_.of().launches) {
      const kiln_kernel& kernel = KernelOf(graph_, launch);
      if (world != nullptr) world->world->Bind(kernel.number, slots);
      slots += kernel.of().code->info().arguments.size();
    }
    CapturedGraphs& captured = world != nullptr ? world->captured : graph_.module->captured;
    return captured.Find(*graph_.module->module, graph_.number, slots_.data());
  }

  kiln_status LaunchAtOnce(LaunchGraph& captured, kiln_world* world) {
    Result<> done;
    if (world == nullptr) {
      done = captured.Launch(slots_.data());
    } else {
      const Result<std::unique_lock<std::mutex>> start = world->world->KeepHostAway();
      if (!start.ok()) return Fail(start.error());
      for (const ModuleGraph::Launch& launch : graph_.of().launches) {
        done = world->world->HandOver(KernelOf(graph_, launch).number);
        if (!done.ok()) return Fail(done.error());
      }
      done = captured.Launch(slots_.data(), [world] { return world->world->NextRandom(); });
    }
    if (done.ok()) return KILN_OK;
    return Fail(KILN_ABORTED, "graph '" + graph_.of().name + "': " + done.error().text);
  }

  // Requires: slots for the kernels' device.
  kiln_status LaunchAll(kiln_world* world, const kiln_launch_options& options) {
    uint64_t* slots = slots_.data();
    kiln_launch_options of_this = options;
    of_this.waits = nullptr;
    const std::vector<ModuleGraph::Launch>& launches = graph_.of().launches;
    for (const ModuleGraph::Launch& launch : launches) {
      const kiln_kernel& kernel = KernelOf(graph_, launch);
      const KernelInfo& info = kernel.of().code->info();
      Slots results(info.results.size());
      if (&launch == &launches.back()) of_this.waits = options.waits;
      const kiln_status done = RunThere(kernel, world, slots, results.data(), of_this);
      if (done != KILN_OK) return done;
      slots += info.arguments.size();
    }
    return KILN_OK;
  }

  const kiln_graph& graph_;
  Slots slots_;
};

}  // namespace
}  // namespace kiln::capi

kiln_status kiln_graph_run(const kiln_graph* graph, kiln_world* world, const kiln_named_arg* args,
                           size_t count, const kiln_launch_options* options) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(graph)) return FailNull("kiln_graph_run", "graph");
    if (args == nullptr && count > 0) return FailNull("kiln_graph_run", "args");
    for (const kiln::ModuleGraph::Launch& launch : graph->of().launches) {
      const kiln_kernel& kernel = kiln::capi::GraphRun::KernelOf(*graph, launch);
      if (const kiln_status fits = kiln::capi::CheckReady(kernel, world); fits != KILN_OK) {
        return fits;
      }
    }
    kiln::capi::GraphRun run(*graph, kiln::capi::GraphRun::SlotsOf(*graph));
    if (const kiln_status packed = run.Pack(args, count, world); packed != KILN_OK) return packed;
    return run.Launch(world, kiln::capi::Sized(options));
  });
}

double kiln_slot_float(kiln_dtype dtype, uint64_t slot) {
  return kiln::ReadDouble(static_cast<kiln::SlotScalar>(dtype), &slot);
}

int64_t kiln_slot_int(kiln_dtype dtype, uint64_t slot) {
  return kiln::ReadInt(static_cast<kiln::SlotScalar>(dtype), &slot);
}
