#include "server/remote/reapi/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/deterministic.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

constexpr char kLibraries[] = "lib";
constexpr char kWorker[] = "kiln-worker";

absl::Status Failure(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

// What changes when a file is replaced or rewritten; its hash would cost a second at each job.
void Stamp(const struct stat& info, int64_t out[4]) {
  out[0] = static_cast<int64_t>(info.st_dev);
  out[1] = static_cast<int64_t>(info.st_ino);
  out[2] = info.st_size;
  out[3] = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// The loader's list of a program's libraries; the program does not run.
absl::StatusOr<std::string> ListLibraries(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failure("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The loader prints the list and exits before the program's own code.
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string name = program;
  // The only variable: LD_PRELOAD or LD_LIBRARY_PATH of ours would put other libraries into the
  // list.
  std::string list = "LD_TRACE_LOADED_OBJECTS=1";
  char* const argv[] = {&name[0], nullptr};
  char* const environment[] = {&list[0], nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char block[4096];
  // Until the end of the stream: the child closes its end when it exits.
  for (ssize_t n = 1; failed == 0 && n != 0;) {
    n = read(ends[0], block, sizeof block);
    if (n > 0) text.append(block, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (failed != 0) {
    errno = failed;
    return Failure(program);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // A static program ignores the variable, runs, and fails for lack of arguments.
  if (status != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, ": its libraries cannot be listed; it has to be linked dynamically"));
  }
  return text;
}

struct Linked {
  std::string loader;
  std::map<std::string, std::string> libraries;  // name to path
};

// Lines of "NAME => PATH (ADDRESS)"; the loader's own is "PATH (ADDRESS)".
absl::StatusOr<Linked> LinkedTo(const std::string& program) {
  ASSIGN_OR_RETURN(const std::string text, ListLibraries(program));
  Linked linked;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() >= 3 && words[1] == "=>") {
      // "not found" in place of a path.
      if (!absl::StartsWith(words[2], "/")) {
        return absl::FailedPreconditionError(
            absl::StrCat(program, ": its library ", words[0], " is not found"));
      }
      linked.libraries[words[0]] = words[2];
    } else if (words.size() == 2 && absl::StartsWith(words[0], "/")) {
      linked.loader = words[0];
    }
  }
  if (linked.loader.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(program, ": names no loader"));
  }
  return linked;
}

void AddFile(const std::string& name, const MappedBlob& blob, bool executable,
             reapi::Directory* directory) {
  reapi::FileNode* file = directory->add_files();
  file->set_name(name);
  *file->mutable_digest() = blob.view().digest;
  file->set_is_executable(executable);
}

absl::StatusOr<std::shared_ptr<const Toolchain>> MakeToolchain(const std::string& worker) {
  ASSIGN_OR_RETURN(Linked linked, LinkedTo(worker));
  auto made = std::make_shared<Toolchain>();
  const std::string loader = linked.loader.substr(linked.loader.rfind('/') + 1);
  // The loader travels with the libraries, because another glibc's loader could not load them.
  linked.libraries[loader] = linked.loader;
  reapi::Directory libraries;
  for (const auto& [name, path] : linked.libraries) {  // sorted, as the protocol requires
    ASSIGN_OR_RETURN(std::shared_ptr<const MappedBlob> blob, MappedBlob::Make(path));
    AddFile(name, *blob, /*executable=*/true, &libraries);
    made->files.push_back(std::move(blob));
  }
  made->directories.emplace_back(DeterministicBytes(libraries));
  reapi::DirectoryNode* below = made->root.add_directories();
  below->set_name(kLibraries);
  *below->mutable_digest() = made->directories.back().digest;
  ASSIGN_OR_RETURN(std::shared_ptr<const MappedBlob> blob, MappedBlob::Make(worker));
  AddFile(kWorker, *blob, /*executable=*/true, &made->root);
  made->files.push_back(std::move(blob));
  // Runs the loader explicitly: the loader's path in the worker need not exist there.
  made->command = {absl::StrCat(kLibraries, "/", loader), "--library-path", kLibraries,
                   absl::StrCat("./", kWorker)};
  return made;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedBlob>> MappedBlob::Make(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failure(path);
  struct stat info;
  void* at = MAP_FAILED;
  // Mapped and not read: 200 MB of libraries are shared with the page cache.
  if (fstat(fd, &info) == 0 && info.st_size > 0) {
    at = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (at == MAP_FAILED) return Failure(path);
  std::shared_ptr<MappedBlob> made(new MappedBlob());
  made->path_ = path;
  Stamp(info, made->stamp_);
  made->data_ = {static_cast<const char*>(at), static_cast<size_t>(info.st_size)};
  made->digest_ = BlobDigest(made->data_);
  return std::shared_ptr<const MappedBlob>(std::move(made));
}

MappedBlob::~MappedBlob() {
  if (!data_.empty()) munmap(const_cast<char*>(data_.data()), data_.size());
}

bool MappedBlob::current() const {
  struct stat info;
  int64_t now[4];
  // By path, not descriptor: an installed update is a new file of the same name.
  if (stat(path_.c_str(), &info) != 0) return false;
  Stamp(info, now);
  return std::equal(now, now + 4, stamp_);
}

absl::StatusOr<std::shared_ptr<const Toolchain>> ToolchainFinder::Find() {
  // Under the lock: hashing 200 MB once is enough, and concurrent callers need it, too.
  absl::MutexLock lock(&mutex_);
  bool current = found_ != nullptr;
  for (size_t i = 0; current && i < found_->files.size(); ++i) {
    current = found_->files[i]->current();
  }
  if (!current) {
    ASSIGN_OR_RETURN(found_, MakeToolchain(worker_));
  }
  return found_;
}

}  // namespace kiln
