// The objects behind the C interface's pointers.
//
// A freed object's memory is kept for a while without its content (graveyard.h): its `magic` is
// then another.
#ifndef KILN_LIBKILN_HANDLES_H_
#define KILN_LIBKILN_HANDLES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/kiln.h"
#include "libkiln/captured.h"
#include "runtime/cpu/executor.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/module/module.h"
#include "runtime/module/world.h"

namespace kiln::capi {

inline constexpr uint32_t kContextMagic = 0x4b4c4e43, kModuleMagic = 0x4b4c4e4d,
                          kWorldMagic = 0x4b4c4e57;

// Reads a struct that begins with its size: members that the caller's header lacks are zero.
template <typename Struct>
Struct Sized(const Struct* given) {
  Struct known{};
  if (given == nullptr) return known;
  const size_t size = given->size < sizeof known ? given->size : sizeof known;
  __builtin_memcpy(&known, given, size);
  return known;
}

// Writes as much of `made` as the caller's struct has; its `size` stays.
template <typename Struct>
void SetSized(Struct made, Struct* out) {
  made.size = out->size;
  __builtin_memcpy(out, &made, out->size < sizeof made ? out->size : sizeof made);
}

}  // namespace kiln::capi

struct kiln_context {
  uint32_t magic = kiln::capi::kContextMagic;
  kiln_context_options options{};
  kiln_executor host{};  // what options.executor points to
  std::unique_ptr<kiln::Executor> executor;
  kiln::ThreadPool* pool = nullptr;          // `executor`, if its threads are the context's
  kiln::DeviceWish device;                   // of its modules
  std::atomic<int64_t> objects{0};           // modules and worlds
  std::atomic<kiln::Device*> used{nullptr};  // on which a module of it has run; null: only the CPU

  void Log(const std::string& text) const {
    if (options.log != nullptr) options.log(options.log_self, text.c_str());
  }
};

struct kiln_kernel {
  kiln_module* module;
  int number;
  std::string text;  // kiln_signature.text

  const kiln::ModuleKernel& of() const;
};

struct kiln_graph {
  kiln_module* module;
  int number;

  const kiln::ModuleGraph& of() const;
};

struct kiln_module {
  uint32_t magic = kiln::capi::kModuleMagic;
  kiln_context* context = nullptr;
  std::shared_ptr<const kiln::Module> module;
  std::string name, target;
  std::vector<kiln_kernel> kernels;  // in the module's order
  std::vector<kiln_graph> graphs;
  kiln::capi::CapturedGraphs captured;  // of runs without a world
  std::atomic<int64_t> worlds{0};
};

struct kiln_world {
  uint32_t magic = kiln::capi::kWorldMagic;
  kiln_module* module = nullptr;
  std::unique_ptr<kiln::World> world;
  kiln::capi::CapturedGraphs captured;
};

inline const kiln::ModuleKernel& kiln_kernel::of() const {
  return module->module->kernels()[static_cast<size_t>(number)];
}
inline const kiln::ModuleGraph& kiln_graph::of() const {
  return module->module->graphs()[static_cast<size_t>(number)];
}

namespace kiln::capi {

inline bool IsLive(const kiln_context* context) {
  return context != nullptr && context->magic == kContextMagic;
}
inline bool IsLive(const kiln_module* module) {
  return module != nullptr && module->magic == kModuleMagic;
}
// Kernels and graphs are their module's, which keeps their memory when it is freed.
inline bool IsLive(const kiln_kernel* kernel) {
  return kernel != nullptr && IsLive(kernel->module);
}
inline bool IsLive(const kiln_graph* graph) { return graph != nullptr && IsLive(graph->module); }
inline bool IsLive(const kiln_world* world) {
  return world != nullptr && world->magic == kWorldMagic;
}

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_HANDLES_H_
