#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <mutex>

#include "common/base/first_use.h"

namespace kiln::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";
// The library's path.
struct Choice {
  std::mutex mutex;
  std::string path = kLibrary;
  bool is_opened = false;
};
Choice& TheChoice() {
  static FirstUse<Choice> choice;
  return choice.Get();
}

Result<const Driver*> Open() {
  const std::string path = [] {
    Choice& choice = TheChoice();
    const std::lock_guard<std::mutex> lock(choice.mutex);
    choice.is_opened = true;
    return choice.path;
  }();
  // Never closed: the driver has threads and exit handlers of its own.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::kFailedPrecondition, "no CUDA driver (" + path + ")"};
  }
  auto* const driver = new Driver;
#define KILN_FIND(symbol, name, parameters)                                     \
  driver->name = reinterpret_cast<Code(*) parameters>(dlsym(library, #symbol)); \
  if (driver->name == nullptr) {                                                \
    return Error{ErrorCode::kFailedPrecondition, "the CUDA driver (" + path +   \
                                                     ") is too old: "           \
                                                     "it has no " #symbol};     \
  }
  KILN_CUDA_FUNCTIONS(KILN_FIND)
#undef KILN_FIND
  const Code code = driver->Init(0);
  if (code != kSuccess) return driver->ErrorOf(code, "the CUDA driver does not start");
  return driver;
}

}  // namespace

Error Driver::ErrorOf(Code code, const std::string& what) const {
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(code, &name) != kSuccess) name = "an unknown error";
  if (GetErrorString(code, &text) != kSuccess) text = "";
  const ErrorCode kind =
      code == kOutOfMemory ? ErrorCode::kResourceExhausted : ErrorCode::kFailedPrecondition;
  return {kind, what + ": " + name + (*text == '\0' ? "" : std::string(", ") + text)};
}

int Driver::Version() const {
  int version = 0;
  DriverGetVersion(&version);  // fails only for a null pointer
  return version;
}

std::string VersionText(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool UseDriver(const std::string& path) {
  Choice& choice = TheChoice();
  const std::lock_guard<std::mutex> lock(choice.mutex);
  if (!choice.is_opened) choice.path = path;
  return choice.path == path;
}

const Result<const Driver*>& TheDriver() {
  static FirstUse<const Result<const Driver*>> driver;
  return driver.Get(&Open);
}

}  // namespace kiln::cuda
