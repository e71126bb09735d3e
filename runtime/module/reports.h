// What a launch of a module's kernel tells the program: prints, failed asserts, errors.
#ifndef KILN_RUNTIME_MODULE_REPORTS_H_
#define KILN_RUNTIME_MODULE_REPORTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "runtime/loaded_kernel.h"
#include "runtime/module/module.h"

namespace kiln {

// Of one launch. The runtime calls the hooks from any of its threads, one call at a time.
class ModuleReports {
 public:
  using Print = void (*)(void* self, const char* text, size_t bytes);

  // `print` may be null: prints are then dropped.
  ModuleReports(const Module& module, int kernel, Print print, void* self);
  ModuleReports(const ModuleReports&) = delete;
  ModuleReports& operator=(const ModuleReports&) = delete;

  // The launch ends once *flag is not 0; null: only a failure ends it.
  void StopWith(volatile uint32_t* flag) { hooks_.failed = flag; }
  // `call` once a device has all of the launch's work and the host is about to wait for it.
  void BeforeWait(std::function<void()> call) { hooks_.awaits = std::move(call); }
  const LaunchHooks& hooks() const { return hooks_; }
  // Why the launch failed: the text of the assert, and its position. Empty texts of asserts, and
  // launches that the program stopped, have a text of ours.
  std::string failure() const;

 private:
  // The text of a node, or none.
  bool Render(uint32_t node, const uint64_t* values, uint32_t count, std::string* text) const;
  std::string PositionOf(uint32_t node) const;  // " at file:line"; "" if unknown
  void Fail(uint32_t node, const uint64_t* values, uint32_t count);

  const Module& module_;
  const ModuleKernel& kernel_;
  const Print print_;
  void* const self_;
  LaunchHooks hooks_;
  bool has_failed_ = false;
  std::string failure_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_MODULE_REPORTS_H_
