#include "runtime/loaded_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/artifact/cpu_level.h"
#include "runtime/abi_digest.h"

namespace kiln {
namespace {

constexpr uint64_t kMaxIterations = uint64_t{1}
                                    << 40;  // per element: multiplied by up to 2^22 elements

using Loaded = absl::StatusOr<std::shared_ptr<const LoadedKernel>>;

absl::Status CheckTarget(const proto::Target& target) {
  if (target.runtime_abi() != RuntimeAbi()) {
    return absl::FailedPreconditionError(absl::StrCat("made for runtime ABI ",
                                                      absl::Hex(target.runtime_abi()), ", this is ",
                                                      absl::Hex(RuntimeAbi())));
  }
  if (target.device_case() != proto::Target::kCpu) {
    return absl::FailedPreconditionError("not made for a CPU");
  }
  static const proto::CpuLevel host = HostCpuLevel();
  if (!CpuLevelIncludes(host, target.cpu())) {
    return absl::FailedPreconditionError(absl::StrCat("made for ", CpuLevelName(target.cpu()),
                                                      ", this machine is ", CpuLevelName(host)));
  }
  return absl::OkStatus();
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
  return absl::StrCat(path, "/", fd);
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return absl::ResourceExhaustedError(absl::StrCat("writing a kernel: ", strerror(errno)));
    }
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

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
// deleted once it is mapped. `handle` null: no directory was usable.
absl::StatusOr<void*> OpenByTempFile(absl::string_view payload) {
  const char* runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  const char* tmp_dir = std::getenv("TMPDIR");
  std::string why = "no directory that files may be executed from";
  for (const char* dir : {runtime_dir, tmp_dir, "/tmp", "/dev/shm", "/var/tmp"}) {
    if (dir == nullptr || IsNoExec(dir)) continue;
    Closer file;
    std::string path = absl::StrCat(dir, "/kiln-XXXXXX");
    file.fd = mkostemp(path.data(), O_CLOEXEC);
    if (file.fd < 0) continue;
    file.path = path;
    absl::Status written = WriteAll(file.fd, payload);
    // Unlinks only now, so that the loader never sees the name used twice.
    void* handle = written.ok() ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (handle != nullptr) return handle;
    why = written.ok() ? dlerror() : std::string(written.message());
  }
  return absl::UnavailableError(absl::StrCat("cannot load a kernel: ", why));
}

absl::Status LoadError(const std::string& path, const char* error) {
  std::string text = error != nullptr ? error : "unknown error";
  bool mapping = absl::StrContains(text, "failed to map") ||
                 absl::StrContains(text, "cannot open") || absl::StrContains(text, "ermission") ||
                 absl::StrContains(text, "permitted");
  if (mapping || IsNoExec(path)) return absl::UnavailableError(text);
  return absl::DataLossError(text);
}

bool IsKnown(proto::TaskKind kind) {
  switch (kind) {
    case proto::TASK_SERIAL:
    case proto::TASK_RANGE:
    case proto::TASK_STRUCT:
    case proto::TASK_LISTGEN:
    case proto::TASK_GC:
      return true;
    default:
      return false;
  }
}

// Loops over dense structures need no tree: they are ranges of cells.
bool NeedsTree(const proto::Task& task) {
  return task.kind() == proto::TASK_LISTGEN || task.kind() == proto::TASK_GC ||
         (task.kind() == proto::TASK_STRUCT && task.iterations() > 0);
}

// The argument slot with the nodes of a tree; -1 if there is none.
int TreeSlot(const proto::ArtifactInfo& info, uint32_t tree) {
  for (int i = 0; i < info.arguments_size(); ++i) {
    const proto::ArgumentSlot& slot = info.arguments(i);
    if (slot.kind() == proto::ArgumentSlot::SLOT_TREE && slot.param() == tree &&
        slot.element() == 1) {
      return i;
    }
  }
  return -1;
}

}  // namespace

uint64_t RuntimeAbi() { return kRuntimeAbi; }

LoadedKernel::~LoadedKernel() { dlclose(handle_); }

absl::Status LoadedKernel::BindFinish(void* handle, const proto::Task& task, BoundTask* bound) {
  if (task.finish_symbol().empty()) return absl::OkStatus();
  bound->finish = reinterpret_cast<KilnTask>(dlsym(handle, task.finish_symbol().c_str()));
  if (bound->finish == nullptr) {
    return absl::DataLossError(absl::StrCat("the artifact has no '", task.finish_symbol(), "'"));
  }
  bound->partial_bytes = task.partial_bytes();
  bound->grain = static_cast<int64_t>(std::clamp<uint64_t>(task.grain(), 1, kMaxIterations));
  bound->piece = std::exchange(bound->run, &RunPiece);
  if (bound->alone != nullptr) bound->piece_alone = std::exchange(bound->alone, &RunPieceAlone);
  return absl::OkStatus();
}

Loaded LoadedKernel::Bind(void* handle, const proto::ArtifactInfo& info) {
  std::shared_ptr<LoadedKernel> kernel(new LoadedKernel(handle));
  kernel->info_ = info;
  kernel->temporary_bytes_ = info.temporary_bytes();
  kernel->draws_ = info.draws();
  kernel->tasks_ = std::vector<BoundTask>(info.tasks_size());
  for (int i = 0; i < info.tasks_size(); ++i) {
    const proto::Task& task = info.tasks(i);
    BoundTask& bound = kernel->tasks_[i];
    if (!IsKnown(task.kind())) {
      return absl::UnimplementedError(absl::StrCat("task kind ", task.kind()));
    }
    bound.kind = task.kind();
    if (NeedsTree(task)) {
      bound.tree_slot = TreeSlot(info, task.tree());
      if (bound.tree_slot < 0) {
        return absl::DataLossError(absl::StrCat("the artifact takes no tree ", task.tree()));
      }
      bound.node = task.node();
      bound.slices = task.slices();
      bound.iterations = static_cast<int64_t>(std::min(task.iterations(), kMaxIterations));
    }
    bound.serial = task.kind() == proto::TASK_SERIAL;
    bound.begin = task.begin();
    bound.end = bound.serial && task.end() == task.begin() ? task.begin() + 1 : task.end();
    bound.max_threads = static_cast<int>(std::min<uint32_t>(task.max_threads(), 1u << 16));
    bound.cost.value = std::min<uint32_t>(task.cost(), 1u << 25) * 64;
    if (task.kind() == proto::TASK_LISTGEN || task.kind() == proto::TASK_GC) continue;
    bound.run = reinterpret_cast<KilnTask>(dlsym(handle, task.symbol().c_str()));
    if (bound.run == nullptr) {
      return absl::DataLossError(absl::StrCat("the artifact has no '", task.symbol(), "'"));
    }
    if (!task.alone_symbol().empty()) {
      bound.alone = reinterpret_cast<KilnTask>(dlsym(handle, task.alone_symbol().c_str()));
      if (bound.alone == nullptr) {
        return absl::DataLossError(absl::StrCat("the artifact has no '", task.alone_symbol(), "'"));
      }
    }
    if (absl::Status status = BindFinish(handle, task, &bound); !status.ok()) return status;
    if (bound.serial || bound.tree_slot >= 0 || task.constant_bounds()) continue;
    bound.bounds = reinterpret_cast<KilnBounds>(dlsym(handle, task.bounds_symbol().c_str()));
    if (bound.bounds == nullptr) {
      return absl::DataLossError(absl::StrCat("the artifact has no '", task.bounds_symbol(), "'"));
    }
  }
  return std::shared_ptr<const LoadedKernel>(std::move(kernel));
}

Loaded LoadedKernel::FromFile(const std::string& path, const proto::ArtifactInfo& info) {
  if (absl::Status status = CheckTarget(info.target()); !status.ok()) return status;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return LoadError(path, dlerror());
  return Bind(handle, info);
}

Loaded LoadedKernel::FromBytes(absl::string_view payload, const proto::ArtifactInfo& info) {
  if (absl::Status status = CheckTarget(info.target()); !status.ok()) return status;
  Closer file;
  file.fd = memfd_create("kiln", MFD_CLOEXEC);
  if (file.fd >= 0) {
    absl::Status written = WriteAll(file.fd, payload);
    if (!written.ok()) return written;
    std::string path = UniquePath(file.fd);
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return Bind(handle, info);
    absl::Status error = LoadError(path, dlerror());
    if (!absl::IsUnavailable(error)) return error;
  }
  absl::StatusOr<void*> handle = OpenByTempFile(payload);
  if (!handle.ok()) return handle.status();
  return Bind(*handle, info);
}

}  // namespace kiln
