#include "client_cpp/disk_tier.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lang/entry.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

// Where no daemon ever reads the log, it must not grow for ever.
constexpr off_t kMaxHitLogBytes = 16 << 20;

// A file's bytes while this lives: mapped, or a copy where somebody else could change the
// file after it was checked.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Of(const std::string& path, const EntryTrust& trust) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return absl::NotFoundError(absl::StrCat(path, ": ", strerror(errno)));
    struct stat info;
    Mapping mapping;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        static_cast<uint64_t>(info.st_size) <= kMaxEntrySize) {
      mapping.foreign_ = trust.IsForeign(info);
      if (mapping.foreign_) {
        mapping.copy_.resize(info.st_size);
        if (pread(fd, &mapping.copy_[0], info.st_size, 0) != info.st_size) mapping.copy_.clear();
      } else {
        void* data = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        if (data != MAP_FAILED) mapping.Hold(data, info.st_size);
      }
    }
    close(fd);
    return mapping;
  }
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(copy_, other.copy_);
    std::swap(foreign_, other.foreign_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  absl::string_view bytes() const {
    return foreign_ ? absl::string_view(copy_)
                    : absl::string_view(static_cast<const char*>(data_), size_);
  }
  bool foreign() const { return foreign_; }

 private:
  void Hold(void* data, size_t size) {
    data_ = data;
    size_ = size;
  }
  void* data_ = nullptr;
  size_t size_ = 0;
  std::string copy_;
  bool foreign_ = false;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const LoadedKernel>> DiskTier::Load(const Digest& key) const {
  const std::string path = home_.EntryPath(key);
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::Of(path, *trust_));
  absl::StatusOr<EntryView> entry = DecodeEntry(mapping.bytes(), &key);
  if (!entry.ok()) {
    if (!mapping.foreign() && !read_only_) unlink(path.c_str());
    return absl::NotFoundError(entry.status().message());
  }
  if (mapping.foreign() || trust_->required()) {
    const absl::Status trusted = trust_->Check(*entry);
    if (!trusted.ok()) return absl::NotFoundError(trusted.message());
  }
  auto kernel = mapping.foreign() ? LoadedKernel::FromBytes(entry->payload, entry->info)
                                  : LoadedKernel::FromFile(path, entry->info);
  if (absl::IsUnavailable(kernel.status())) {
    kernel = LoadedKernel::FromBytes(entry->payload, entry->info);
  }
  // Whole, but of no use here: compiling anew is always right.
  if (!kernel.ok()) return absl::NotFoundError(kernel.status().message());
  NoteHit(key);
  return kernel;
}

absl::StatusOr<proto::ArtifactInfo> DiskTier::Check(const Digest& key) const {
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::Of(home_.EntryPath(key), *trust_));
  absl::StatusOr<EntryView> entry = DecodeEntry(mapping.bytes(), &key);
  if (!entry.ok()) return absl::NotFoundError(entry.status().message());
  if (mapping.foreign() || trust_->required()) {
    const absl::Status trusted = trust_->Check(*entry);
    if (!trusted.ok()) return absl::NotFoundError(trusted.message());
  }
  return std::move(entry->info);
}

void DiskTier::Touch(const Digest& key) const {
  if (read_only_) return;
  // Where it fails, it is not ours, and somebody else decides what is deleted there.
  static_cast<void>(utimensat(AT_FDCWD, home_.EntryPath(key).c_str(), nullptr, 0));
}

void DiskTier::NoteHit(const Digest& key) const {
  if (read_only_) return;
  int fd = open(home_.HitLogPath().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  struct stat info;
  if (fstat(fd, &info) == 0 && info.st_size < kMaxHitLogBytes) {
    // One write: hits of several processes never mix. A lost one is a lost count.
    ssize_t written = write(fd, key.bytes.data(), key.bytes.size());
    static_cast<void>(written);
  }
  close(fd);
}

void DiskTier::Store(const Digest& key, absl::string_view entry) const {
  if (read_only_) return;
  absl::Status status = WriteEntryFile(home_, key, entry);
  static std::atomic<bool> warned{false};
  if (status.ok() || warned.exchange(true)) return;
  std::fprintf(stderr, "kiln: compiled kernels are not kept: %s\n",
               std::string(status.message()).c_str());
}

absl::Status WriteEntryFile(const Home& home, const Digest& place, absl::string_view entry) {
  RETURN_IF_ERROR(home.Create());
  static std::atomic<int> serial{0};
  const std::string aside =
      absl::StrCat(home.TempDir(), "/", place.Hex(), ".", getpid(), ".", serial.fetch_add(1));
  int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", aside));
  errno = ENOSPC;  // what a short write without error means
  bool good = write(fd, entry.data(), entry.size()) == static_cast<ssize_t>(entry.size());
  int error = errno;
  if (close(fd) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good) {
    const std::string path = home.EntryPath(place);
    const std::string dir = path.substr(0, path.rfind('/'));
    mkdir(dir.c_str(), 0700);
    good = rename(aside.c_str(), path.c_str()) == 0;
    error = errno;
  }
  if (good) return absl::OkStatus();
  unlink(aside.c_str());
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write to ", home.CacheDir()));
}

}  // namespace kiln
