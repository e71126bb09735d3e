#include "server/compiler/codegen/cuda/nv_jit_link.h"

#include <dlfcn.h>

#include <cstddef>
#include <mutex>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_toolkit.h"

namespace kiln::cuda {
namespace {

// Of the library's header, without which Kiln builds.
constexpr int kSuccess = 0, kInputPtx = 2;
using Handle = void*;

struct Library {
  int (*create)(Handle*, uint32_t, const char**) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add)(Handle, int, const void*, size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*log_size)(Handle, size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*version)(unsigned*, unsigned*) = nullptr;  // null: it has none
};

Library& Loaded() {
  static auto* const library = new Library;
  return *library;
}

// All functions or none: a library that lacks one is not one that we know.
Library FunctionsOf(void* file) {
  Library found;
  bool all = true;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(dlsym(file, name));
    all = all && *function != nullptr;
  };
  find("nvJitLinkCreate", &found.create);
  find("nvJitLinkDestroy", &found.destroy);
  find("nvJitLinkAddData", &found.add);
  find("nvJitLinkComplete", &found.complete);
  find("nvJitLinkGetLinkedCubinSize", &found.cubin_size);
  find("nvJitLinkGetLinkedCubin", &found.cubin);
  find("nvJitLinkGetErrorLogSize", &found.log_size);
  find("nvJitLinkGetErrorLog", &found.log);
  found.version = reinterpret_cast<decltype(found.version)>(dlsym(file, "nvJitLinkVersion"));
  return all ? found : Library();
}

std::string LogOf(Handle handle) {
  size_t size = 0;
  if (Loaded().log_size(handle, &size) != kSuccess || size == 0) return "no reason given";
  std::string log(size, '\0');
  if (Loaded().log(handle, log.data()) != kSuccess) return "no reason given";
  return log.substr(0, log.find('\0'));
}

absl::StatusOr<std::string> Run(Handle handle, const std::string& ptx) {
  const Library& library = Loaded();
  size_t size = 0;
  // The text's size counts the zero at its end.
  if (library.add(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel") != kSuccess ||
      library.complete(handle) != kSuccess || library.cubin_size(handle, &size) != kSuccess) {
    return absl::InternalError(absl::StrCat("nvJitLink refuses our PTX: ", LogOf(handle)));
  }
  std::string cubin(size, '\0');
  if (library.cubin(handle, cubin.data()) != kSuccess) {
    return absl::InternalError("nvJitLink returns no machine code");
  }
  return cubin;
}

}  // namespace

// It stays loaded: workers live long.
void LoadNvJitLink() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const char* name : kNvJitLinkFiles) {
      void* file = dlopen((CudaToolkit() + name).c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (file == nullptr) continue;
      Loaded() = FunctionsOf(file);
      return;
    }
  });
}

bool HasNvJitLink() { return Loaded().create != nullptr; }

std::string NvJitLinkVersion() {
  unsigned major = 0, minor = 0;
  const Library& library = Loaded();
  if (library.version == nullptr || library.version(&major, &minor) != kSuccess) return "";
  return absl::StrCat(major, ".", minor);
}

absl::StatusOr<std::string> Assemble(const std::string& ptx, uint32_t arch) {
  const std::string option = absl::StrCat("-arch=sm_", arch);
  const char* options[] = {option.c_str(), "-O3"};
  Handle handle = nullptr;
  const int made = Loaded().create(&handle, 2, options);
  if (made != kSuccess) {
    // An older toolkit: the entry could do without machine code, but then each process would
    // compile the PTX anew, and nothing would say why.
    return absl::UnimplementedError(
        absl::StrCat("nvJitLink of this machine's CUDA toolkit has no "
                     "code for sm_",
                     arch, " (error ", made, ")"));
  }
  absl::StatusOr<std::string> cubin = Run(handle, ptx);
  Loaded().destroy(&handle);
  return cubin;
}

}  // namespace kiln::cuda
