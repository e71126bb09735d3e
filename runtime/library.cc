#include "runtime/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kiln {
namespace {

// Null if the loader refuses the file; dlerror() then says why.
std::shared_ptr<void> Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return {library, [](void* open) { dlclose(open); }};
}

// A path to descriptor `fd` that was never used before: the loader identifies libraries by path,
// and numbers of closed descriptors are reused. Encodes a counter in slashes, since "//" and "/./"
// do not change a path's meaning.
std::string UniquePath(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint64_t n = counter.fetch_add(1, std::memory_order_relaxed) + 1; n != 0; n >>= 1) {
    path += (n & 1) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(fd);
}

Error WriteError(int error) {
  std::string text = std::string("writing a kernel: ") + strerror(error);
  rlimit limit;
  if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0) {
    text += " (this process may write files of at most " + std::to_string(limit.rlim_cur) +
            " bytes, see ulimit -f)";
  }
  return {ErrorCode::kResourceExhausted, std::move(text)};
}

Result<> WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return WriteError(errno);
    bytes.remove_prefix(n);
  }
  return {};
}

// The mapping of a library outlives descriptor and name, so both are released once it is open.
struct Closer {
  ~Closer() {
    if (fd >= 0) close(fd);
    if (!path.empty()) unlink(path.c_str());
  }
  int fd = -1;
  std::string path;
};

bool IsNoExec(const std::string& path) {
  struct statvfs fs;
  return statvfs(path.c_str(), &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0;
}

// For systems on which anonymous files may not be executed (vm.memfd_noexec): a file that is
// deleted once it is mapped.
Result<std::shared_ptr<void>> OpenByTempFile(std::string_view payload,
                                             std::vector<std::string> directories) {
  directories.insert(directories.end(), {"/tmp", "/dev/shm", "/var/tmp"});
  std::string why = "no directory that files may be executed from";
  for (const std::string& directory : directories) {
    if (IsNoExec(directory)) continue;
    Closer file;
    std::string path = directory + "/kiln-XXXXXX";
    file.fd = mkostemp(path.data(), O_CLOEXEC);
    if (file.fd < 0) continue;
    file.path = path;
    const Result<> written = WriteAll(file.fd, payload);
    // Unlinks only now, so that the loader never sees the name used twice.
    std::shared_ptr<void> library = written.ok() ? Open(path) : nullptr;
    if (library != nullptr) return library;
    why = written.ok() ? dlerror() : written.error().text;
  }
  return Error{ErrorCode::kUnavailable, "cannot load a kernel: " + why};
}

Error LoadError(const std::string& path, const char* error) {
  std::string text = error != nullptr ? error : "unknown error";
  bool mapping = IsNoExec(path);
  for (const char* word : {"failed to map", "cannot open", "ermission", "permitted"}) {
    // dlerror has no codes, only texts. If none matches, the file itself is bad; a copy would fail,
    // too.
    mapping |= text.find(word) != std::string::npos;
  }
  return {mapping ? ErrorCode::kUnavailable : ErrorCode::kDataLoss, std::move(text)};
}

}  // namespace

Result<std::shared_ptr<void>> OpenLibrary(const std::string& path) {
  std::shared_ptr<void> library = Open(path);
  if (library == nullptr) return LoadError(path, dlerror());
  return library;
}

Result<std::shared_ptr<void>> OpenLibraryDescriptor(int fd) { return OpenLibrary(UniquePath(fd)); }

Result<std::shared_ptr<void>> OpenLibraryBytes(std::string_view bytes,
                                               const std::vector<std::string>& directories) {
  Closer file;
  file.fd = memfd_create("kiln", MFD_CLOEXEC);
  if (file.fd >= 0) {
    if (const Result<> written = WriteAll(file.fd, bytes); !written.ok()) return written.error();
    Result<std::shared_ptr<void>> library = OpenLibraryDescriptor(file.fd);
    // Only a refused mapping is worth the second attempt; damaged bytes stay damaged.
    if (library.ok() || library.error().code != ErrorCode::kUnavailable) return library;
  }
  return OpenByTempFile(bytes, directories);
}

}  // namespace kiln
