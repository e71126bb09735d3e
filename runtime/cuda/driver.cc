#include "runtime/cuda/driver.h"

#include <dlfcn.h>

namespace kiln::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";
std::string& PathOfDriver() {
  static auto* const path = new std::string(kLibrary);
  return *path;
}

Result<const Driver*> Open() {
  const std::string& path = PathOfDriver();
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

void UseDriver(const std::string& path) { PathOfDriver() = path; }

const Result<const Driver*>& TheDriver() {
  static const auto* const driver = new Result<const Driver*>(Open());
  return *driver;
}

}  // namespace kiln::cuda
