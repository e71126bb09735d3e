#include "client_cpp/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client_cpp/devices.h"
#include "client_cpp/disk_tier.h"
#include "common/artifact/bundle.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "common/base/bytes.h"
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "runtime/cpu/glibc.h"
#include "runtime/loaded_kernel.h"

namespace kiln {
namespace {

absl::Status Errno(absl::string_view what) { return absl::ErrnoToStatus(errno, what); }

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// An open file and its length.
struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : fd(std::exchange(other.fd, -1)), size(other.size) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  int fd;
  // The length at the time of opening: what is appended later is not read.
  uint64_t size = 0;
};

absl::StatusOr<OpenFile> Open(const std::string& path) {
  // NONBLOCK: opening a FIFO would wait for its writer.
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0) return Errno(path);
  // A device or folder with the name of an entry must not be read without end.
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": no file"));
  file.size = info.st_size;
  return file;
}

absl::StatusOr<std::string> Read(const OpenFile& file, uint64_t at, uint64_t size) {
  // The callers bound `size` first: it may come from any file.
  std::string bytes(size, '\0');
  for (uint64_t done = 0; done < size;) {
    const ssize_t n = pread(file.fd, &bytes[done], size - done, at + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("read");
    // Cut while it was read, as by a full disk or another process.
    if (n == 0) return absl::DataLossError("the file ends early");
    done += n;
  }
  return bytes;
}

absl::StatusOr<std::string> ReadAll(const std::string& path, uint64_t limit) {
  ASSIGN_OR_RETURN(const OpenFile file, Open(path));
  if (file.size > limit) {
    return absl::DataLossError(absl::StrCat(path, ": ", file.size, " bytes are too many"));
  }
  return Read(file, 0, file.size);
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return WriteError(errno, path);
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

// Why this machine cannot run the entry; "" if it can.
std::string WhyNotHere(const proto::ArtifactInfo& info) {
  const proto::Target& target = info.target();
  // Before the target: code for another ABI would crash even on the right processor.
  const Target wanted = TargetOf(target);
  const uint64_t abi = AbiFor(wanted.device());
  if (target.runtime_abi() != abi) {
    return absl::StrCat("is for another version of Kiln's runtime (ABI ",
                        absl::Hex(target.runtime_abi(), absl::kZeroPad16), ", here ",
                        absl::Hex(abi, absl::kZeroPad16), ")");
  }
  // A newer build may have targets that this one has no name for.
  if (wanted.empty()) return "is for a target that this build of Kiln does not know";
  const absl::StatusOr<Device*> device = DeviceFor(wanted.device());
  if (!device.ok()) {
    return absl::StrCat("is for ", wanted.text(), ", and here is ", device.status().message());
  }
  if (!(*device)->target().Runs(wanted)) {
    return absl::StrCat("is for ", wanted.text(), ", this machine is ", (*device)->target().text());
  }
  const std::string lacks =
      MissingFromGlibc({info.needs().begin(), info.needs().end()}, HostGlibc());
  return lacks.empty() ? "" : absl::StrCat("needs ", lacks, ", this machine has 2.", HostGlibc());
}

}  // namespace

absl::StatusOr<EntryHead> ReadEntryHead(const std::string& path) {
  ASSIGN_OR_RETURN(const OpenFile file, Open(path));
  if (file.size < kTrailerSize || file.size > kMaxEntrySize) {
    return absl::DataLossError(absl::StrCat("cache entry: ", file.size, " bytes"));
  }
  // Reads the trailer and the description only: lists of thousands of entries should not read their
  // code.
  const uint64_t body = file.size - kTrailerSize;
  ASSIGN_OR_RETURN(const std::string trailer, Read(file, body, kTrailerSize));
  ASSIGN_OR_RETURN(const EntryTrailer fields, ReadTrailer(trailer));
  // Without overflow: the sizes are an attacker's if the file is.
  if (fields.payload_size > body || fields.info_size != body - fields.payload_size) {
    return absl::DataLossError("cache entry: sizes do not fill it");
  }
  ASSIGN_OR_RETURN(const std::string info, Read(file, fields.payload_size, fields.info_size));
  EntryHead head;
  head.key = fields.key;
  head.signer = fields.signer;
  head.payload_bytes = fields.payload_size;
  if (!head.info.ParseFromString(info)) {
    return absl::DataLossError("cache entry: artifact info does not parse");
  }
  return head;
}

absl::Status VerifyEntryFile(const std::string& path, const TrustedKeys* trusted) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadAll(path, kMaxEntrySize));
  ASSIGN_OR_RETURN(const EntryView entry, DecodeEntry(bytes));
  const std::string place = PlaceOf(entry.info.tenant(), entry.key).Hex();
  // Renamed files would answer a look-up with the code of another kernel.
  if (absl::StripSuffix(BaseName(path), ".so") != place) {
    return absl::DataLossError(absl::StrCat("cache entry: belongs at ", place));
  }
  return trusted == nullptr ? absl::OkStatus() : CheckSigner(entry, *trusted);
}

absl::StatusOr<ExportResult> ExportBundle(std::vector<std::string> files, const std::string& path,
                                          const SigningKey* key) {
  // A file's name is its entry's place, and hexadecimal digits sort as the bytes do.
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return BaseName(a) < BaseName(b); });
  files.erase(std::unique(files.begin(), files.end()), files.end());
  // Renamed at the end: an interrupted export leaves the previous bundle as it was.
  const std::string aside = absl::StrCat(path, ".", getpid(), ".part");
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return Errno(aside);
  auto cleanup = absl::MakeCleanup([&] { unlink(aside.c_str()); });
  ExportResult result;
  BundleWriter writer([&](absl::string_view piece) {
    result.bytes += piece.size();
    return WriteAll(fd, piece, path);
  });
  absl::Status status = absl::OkStatus();
  for (const std::string& file : files) {
    // Damaged entries are left out and named; one must not spoil the bundle.
    absl::Status whole = VerifyEntryFile(file, nullptr);
    absl::StatusOr<std::string> bytes = whole.ok() ? ReadAll(file, kMaxEntrySize) : whole;
    if (bytes.ok()) {
      status = writer.Add(*bytes);
    } else {
      result.left_out.push_back(absl::StrCat(BaseName(file), ": ", bytes.status().message()));
    }
    if (!status.ok()) break;
  }
  if (status.ok()) status = writer.Finish(key);
  // A bundle travels to other machines: it should be on the disk when the command says so.
  if (status.ok() && fsync(fd) != 0) status = Errno(path);
  // Some network file systems report a full disk only now.
  if (close(fd) != 0) status.Update(Errno(path));
  if (status.ok() && rename(aside.c_str(), path.c_str()) != 0) status = Errno(path);
  if (!status.ok()) return status;
  std::move(cleanup).Cancel();
  result.entries = writer.entries();
  return result;
}

absl::StatusOr<ImportResult> ImportBundle(const Home& home, const std::string& path,
                                          const ImportOptions& options) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadAll(path, kMaxBundleSize));
  const absl::StatusOr<BundleView> decoded = DecodeBundle(bytes);
  if (!decoded.ok()) {
    return absl::Status(decoded.status().code(),
                        absl::StrCat(path, " is ", decoded.status().message()));
  }
  const BundleView& bundle = *decoded;
  // A trusted signature of the whole bundle covers entries of any signer.
  const absl::Status vouched =
      options.accept_unsigned ? absl::OkStatus() : CheckBundleSigner(bundle, *options.trusted);
  ImportResult result;
  result.entries = bundle.records.size();
  RETURN_IF_ERROR(home.Create());
  for (const BundleView::Record& record : bundle.records) {
    const proto::ArtifactInfo& info = record.entry.info;
    const auto refuse = [&](const char* reason, std::string text) {
      result.refused.push_back({record.entry.key, info.kernel(), reason, std::move(text)});
    };
    // The most useful reason first: a signature does not help on the wrong processor.
    if (const std::string why = WhyNotHere(info); !why.empty() && !options.any_target) {
      refuse("target", why);
      continue;
    }
    if (!vouched.ok()) {
      const absl::Status trusted = CheckSigner(record.entry, *options.trusted);
      if (!trusted.ok()) {
        // If neither signature is trusted, the message names the entry's own.
        const bool has_own = record.entry.signer != 0 || bundle.signer == 0;
        const bool has_none = record.entry.signer == 0 && bundle.signer == 0;
        refuse(has_none ? "unsigned" : "untrusted",
               std::string((has_own ? trusted : vouched).message()));
        continue;
      }
    }
    absl::StatusOr<std::string> there = ReadAll(home.EntryPath(record.place), kMaxEntrySize);
    // Not written again, so that processes which map the file keep sharing its pages.
    if (there.ok() && *there == record.bytes) {
      ++result.present;
      continue;
    }
    // An error ends the import: the disk is full or not writable for the others as well.
    RETURN_IF_ERROR(WriteEntryFile(home, record.place, record.bytes));
    ++result.imported;
    result.bytes += record.bytes.size();
  }
  return result;
}

}  // namespace kiln
