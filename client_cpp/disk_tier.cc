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
#include "common/base/status_macros.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

// Bounds the log if no daemon ever reads it.
constexpr off_t kMaxHitLogBytes = 16 << 20;

// The bytes of an entry's file as long as this lives: mapped, or a copy if others could change the
// file after the check.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Of(const Home& home, const Place& place, bool foreign) {
    ASSIGN_OR_RETURN(const Folder shard, home.OpenShard(place));
    ASSIGN_OR_RETURN(const FolderFile file, shard.OpenFile(Home::EntryName(place), O_RDONLY));
    const auto size = static_cast<uint64_t>(file.info.st_size);
    Mapping mapping;
    // A mapping changes with the file. What others can write to is copied first, then checked, then
    // used.
    mapping.foreign_ = foreign || !file.own.ok();
    if (size == 0 || size > kMaxEntrySize) return mapping;
    if (mapping.foreign_) {
      mapping.copy_ = ReadWhole(file.fd.get(), size).value_or("");
    } else {
      // POPULATE: the checksum reads every page, and faults one by one cost more.
      void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.fd.get(), 0);
      if (data != MAP_FAILED) mapping.Hold(data, size);
    }
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

// The whole entry of `key` in `bytes`.
absl::StatusOr<EntryView> Decode(absl::string_view bytes, const Key& key) {
  ASSIGN_OR_RETURN(EntryView entry, DecodeEntry(bytes, &key));
  // A trusted key signs the entries of all tenants. Whoever can copy one to this place must not
  // choose whose kernel runs.
  if (!entry.info.tenant().empty()) return absl::DataLossError("cache entry: of another tenant");
  return entry;
}

// The entry in `mapping`, with its signature if one is needed; NotFound otherwise.
absl::StatusOr<EntryView> Checked(const Mapping& mapping, const Key& key, const EntryTrust& trust) {
  absl::StatusOr<EntryView> entry = Decode(mapping.bytes(), key);
  if (!entry.ok()) return absl::NotFoundError(entry.status().message());
  if (mapping.foreign() || trust.required()) {
    const absl::Status trusted = trust.Check(*entry);
    if (!trusted.ok()) return absl::NotFoundError(trusted.message());
  }
  return entry;
}

}  // namespace

absl::StatusOr<LoadedArtifact> DiskTier::Load(const Key& key, Device* cuda) const {
  absl::StatusOr<Mapping> found = Mapping::Of(home_, PlaceOf(key), mode_.foreign);
  if (!found.ok()) return absl::NotFoundError(found.status().message());
  const Mapping& mapping = *found;
  absl::StatusOr<EntryView> entry = Decode(mapping.bytes(), key);
  if (!entry.ok()) {
    // Our own damaged file would be read and refused by each process.
    Remove(key);
    return absl::NotFoundError(entry.status().message());
  }
  if (mapping.foreign() || trust_->required()) {
    const absl::Status trusted = trust_->Check(*entry);
    if (!trusted.ok()) return absl::NotFoundError(trusted.message());
  }
  // If others can write to the file, load the checked copy: the file may have changed since.
  auto loaded = mapping.foreign() ? LoadBytes(*entry, cuda)
                                  : LoadFile(home_.EntryPath(PlaceOf(key)), *entry, cuda);
  // The loader cannot map the file, for example on a file system mounted noexec.
  if (absl::IsUnavailable(loaded.status())) loaded = LoadBytes(*entry, cuda);
  // The entry is whole but unusable here; compiling again is always correct.
  if (!loaded.ok()) return absl::NotFoundError(loaded.status().message());
  NoteHit(key);
  return loaded;
}

absl::StatusOr<LoadedArtifact> DiskTier::LoadSent(absl::string_view bytes, const EntryView& entry,
                                                  Device* cuda) const {
  // The comparison replaces the check of the file: its bytes were checked where they came from.
  const absl::StatusOr<Mapping> file = Mapping::Of(home_, PlaceOf(entry.key), mode_.foreign);
  // The file's pages are shared with other processes; memory of our own is not.
  if (file.ok() && !file->foreign() && file->bytes() == bytes) {
    absl::StatusOr<LoadedArtifact> loaded =
        LoadFile(home_.EntryPath(PlaceOf(entry.key)), entry, cuda);
    if (!absl::IsUnavailable(loaded.status())) return loaded;
  }
  return LoadBytes(entry, cuda);
}

absl::StatusOr<proto::ArtifactInfo> DiskTier::Check(const Key& key) const {
  absl::StatusOr<Mapping> found = Mapping::Of(home_, PlaceOf(key), mode_.foreign);
  if (!found.ok()) return absl::NotFoundError(found.status().message());
  ASSIGN_OR_RETURN(EntryView entry, Checked(*found, key, *trust_));
  return std::move(entry.info);
}

absl::StatusOr<std::string> DiskTier::Read(const Key& key) const {
  absl::StatusOr<Mapping> found = Mapping::Of(home_, PlaceOf(key), mode_.foreign);
  if (!found.ok()) return absl::NotFoundError(found.status().message());
  RETURN_IF_ERROR(Checked(*found, key, *trust_).status());
  NoteHit(key);
  return std::string(found->bytes());
}

// Files of another user's program are that user's to delete.
void DiskTier::Remove(const Key& key) const {
  if (mode_.read_only || mode_.foreign) return;
  const absl::StatusOr<Folder> shard = home_.OpenShard(PlaceOf(key));
  if (!shard.ok() || !shard->own().ok()) return;
  unlinkat(shard->fd(), Home::EntryName(PlaceOf(key)).c_str(), 0);
}

void DiskTier::Touch(const Key& key) const {
  // The daemon evicts by these times, and knows of uses by clients only through them.
  if (mode_.read_only || mode_.foreign) return;
  const absl::StatusOr<Folder> shard = home_.OpenShard(PlaceOf(key));
  if (!shard.ok() || !shard->own().ok()) return;
  utimensat(shard->fd(), Home::EntryName(PlaceOf(key)).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void DiskTier::Log(const Digest& hit) const {
  if (mode_.read_only) return;
  const absl::StatusOr<Folder> home = home_.Open();
  if (!home.ok() || !home->own().ok()) return;
  const absl::StatusOr<FolderFile> log = home->OpenFile("hits.log", O_WRONLY | O_APPEND | O_CREAT);
  if (!log.ok() || !log->own.ok() || log->info.st_size >= kMaxHitLogBytes) return;
  // One write: hits of several processes never mix. A lost write is a lost count.
  const ssize_t written = write(log->fd.get(), hit.bytes.data(), hit.bytes.size());
  static_cast<void>(written);
}

void DiskTier::Store(const Key& key, absl::string_view entry) const {
  if (mode_.read_only) return;
  absl::Status status = WriteEntryFile(home_, PlaceOf(key), entry);
  static std::atomic<bool> warned{false};
  // Once: a full disk would otherwise be reported for every kernel.
  if (status.ok() || warned.exchange(true)) return;
  std::fprintf(stderr, "kiln: compiled kernels are not cached: %s\n",
               std::string(status.message()).c_str());
}

absl::Status WriteEntryFile(const Home& home, const Place& place, absl::string_view entry) {
  RETURN_IF_ERROR(home.Create());
  ASSIGN_OR_RETURN(const Folder cache, home.OpenCache());
  RETURN_IF_ERROR(cache.own());
  ASSIGN_OR_RETURN(const Folder temp, cache.Make("tmp"));
  ASSIGN_OR_RETURN(const Folder shard, cache.Make(Home::ShardName(place)));
  RETURN_IF_ERROR(temp.own());
  RETURN_IF_ERROR(shard.own());
  static std::atomic<int> serial{0};
  // The form that the daemon knows as temporary (disk_store.cc).
  const std::string aside = absl::StrCat(place.Hex(), ".", getpid(), ".", serial.fetch_add(1));
  absl::StatusOr<FolderFile> file = temp.OpenFile(aside, O_WRONLY | O_CREAT | O_EXCL);
  RETURN_IF_ERROR(file.status());
  errno = ENOSPC;  // what a short write without error means
  bool good =
      write(file->fd.get(), entry.data(), entry.size()) == static_cast<ssize_t>(entry.size());
  int error = errno;
  if (close(file->fd.Release()) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good) {
    const std::string name = Home::EntryName(place);
    good = renameat(temp.fd(), aside.c_str(), shard.fd(), name.c_str()) == 0;
    error = errno;
  }
  if (good) return absl::OkStatus();
  unlinkat(temp.fd(), aside.c_str(), 0);
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write to ", home.CacheDir()));
}

}  // namespace kiln
