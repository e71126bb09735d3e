#include "server/cache/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/home/regular_file.h"

namespace kiln {
namespace {

// A hundred times what it is; a larger file is not ours.
constexpr off_t kMaxStatsBytes = 1 << 16;

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  ASSIGN_OR_RETURN(const Descriptor fd,
                   OpenRegularFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
  if (written < 0) return absl::ErrnoToStatus(errno, path);
  if (static_cast<size_t>(written) != bytes.size()) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": short write"));
  }
  return absl::OkStatus();
}

}  // namespace

void Counters::Hit(absl::string_view tier, double seconds_saved, uint64_t count) {
  absl::MutexLock lock(&mutex_);
  totals_.set_hits(totals_.hits() + count);
  totals_.set_seconds_saved(totals_.seconds_saved() + seconds_saved * static_cast<double>(count));
  (*totals_.mutable_hits_by_tier())[std::string(tier)] += count;
  ++version_;
}

void Counters::Miss() {
  absl::MutexLock lock(&mutex_);
  totals_.set_misses(totals_.misses() + 1);
  ++version_;
}

void Counters::Compiled(bool with_errors) {
  absl::MutexLock lock(&mutex_);
  totals_.set_compiles(totals_.compiles() + 1);
  if (with_errors) totals_.set_errors(totals_.errors() + 1);
  ++version_;
}

proto::StatsReply Counters::Totals() const {
  absl::MutexLock lock(&mutex_);
  return totals_;
}

uint64_t Counters::version() const {
  absl::MutexLock lock(&mutex_);
  return version_;
}

uint64_t Counters::Load(const std::string& path) {
  const absl::StatusOr<Descriptor> fd = OpenRegularFile(path, O_RDONLY | O_NOFOLLOW);
  struct stat st;
  if (!fd.ok() || fstat(fd->get(), &st) != 0 || st.st_size > kMaxStatsBytes) return 0;
  std::string bytes(st.st_size, '\0');
  // Without statistics the daemon starts from zero; they are not worth refusing to start.
  if (pread(fd->get(), &bytes[0], bytes.size(), 0) != st.st_size) return 0;
  proto::SavedStats saved;
  if (!saved.ParseFromString(bytes)) return 0;
  absl::MutexLock lock(&mutex_);
  totals_ = saved.totals();
  return saved.hit_log_offset();
}

absl::Status Counters::Save(const std::string& path, const proto::StatsReply& totals,
                            uint64_t hit_log_offset) {
  proto::SavedStats saved;
  *saved.mutable_totals() = totals;
  saved.set_hit_log_offset(hit_log_offset);
  // Renamed into place: a reader sees the old totals or the new ones. The offset in the hit log is
  // part of the file, so that no hit counts twice after a crash.
  const std::string temp = absl::StrCat(path, ".", getpid());
  absl::Status status = WriteFile(temp, saved.SerializeAsString());
  if (status.ok() && rename(temp.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, path);
  }
  if (!status.ok()) unlink(temp.c_str());
  return status;
}

}  // namespace kiln
