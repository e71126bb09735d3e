#include "server/compiler/codegen/cpu/link.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include "server/compiler/codegen/cpu/glibc_stubs.h"

LLD_HAS_DRIVER(elf)

namespace kiln::cpu {
namespace {

using ElfFile = llvm::object::ELF64LEFile;

// An anonymous file that LLD knows by path.
class MemoryFile {
 public:
  // Opened by LLD through /proc, which needs no rights to any directory.
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

  absl::Status Write(llvm::ArrayRef<char> bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0) return absl::ErrnoToStatus(errno, "writing a memory file");
      done += n;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read() const {
    struct stat info;
    if (fstat(fd_, &info) != 0) return absl::ErrnoToStatus(errno, "a memory file");
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n <= 0) return absl::ErrnoToStatus(errno, "reading a memory file");
      done += n;
    }
    return bytes;
  }

 private:
  int fd_;
};

// While it lives, the process's standard output is `file`. LLD writes to a path only through a
// second file that it renames, or to a pipe that a thread would have to read; a confined worker
// has neither directories nor threads.
class StandardOutput {
 public:
  explicit StandardOutput(const MemoryFile& file)
      // Above the standard descriptors: if one of those is closed, dup would give its number.
      : own_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    llvm::outs().flush();
    std::fflush(stdout);
    // After the flushes: what was printed before belongs to the real output.
    replaced_ = dup2(file.fd(), STDOUT_FILENO) >= 0;
  }
  ~StandardOutput() { Restore().IgnoreError(); }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Says whether all that LLD wrote is in the file.
  absl::Status Restore() {
    if (!replaced_) return absl::ResourceExhaustedError("no descriptor for the linker's output");
    llvm::outs().flush();
    const std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();  // which would end the process at its exit
    replaced_ = false;
    // It was closed before, and is so again.
    if (own_ < 0) {
      close(STDOUT_FILENO);
    } else {
      dup2(own_, STDOUT_FILENO);
      close(own_);
    }
    if (!error) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("the linker's output: ", error.message()));
  }

 private:
  const int own_;
  bool replaced_ = false;
};

// The library of a function that generated code calls: vector functions have names of the vector
// function ABI, LLVM makes calls of memcpy and the like, and all others are math functions.
Library LibraryOf(llvm::StringRef symbol) {
  if (symbol.starts_with("_ZGV")) return kLibmvec;
  return symbol.starts_with("mem") ? kLibc : kLibm;
}

// This machine's own library: the first place that has it. The path does not enter the output.
std::string PathOf(const char* library) {
  for (const char* directory : {"/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/usr/lib/"}) {
    std::string path = absl::StrCat(directory, library);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  // Not found: LLD's own message names it.
  return library;
}

absl::Status FromLlvm(llvm::Error error) {
  return absl::InternalError(llvm::toString(std::move(error)));
}

// Where LLD finds the symbols of a library. It reads the whole symbol table, so a library of which
// the object needs nothing is not even named.
enum class Source { kNone, kStub, kMachine };
using Sources = std::array<Source, std::size(kGlibcStubs)>;

Source SourceOf(Library library, llvm::StringRef symbol) {
  // LLVM may call a function that is not listed. Code that needs this machine's glibc is better
  // than none.
  const bool listed = llvm::is_contained(kGlibcStubs[library].symbols, symbol);
  return listed ? Source::kStub : Source::kMachine;
}

// Of the symbols to which the object refers and which it does not define.
absl::StatusOr<Sources> SourcesFor(llvm::ArrayRef<char> object) {
  auto file = ElfFile::create(llvm::StringRef(object.data(), object.size()));
  if (!file) return FromLlvm(file.takeError());
  auto sections = file->sections();
  if (!sections) return FromLlvm(sections.takeError());
  Sources sources{};  // most kernels need none of the three
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto symbols = file->symbols(&section);
    auto strings = file->getStringTableForSymtab(section);
    if (!symbols) return FromLlvm(symbols.takeError());
    if (!strings) return FromLlvm(strings.takeError());
    for (const auto& symbol : *symbols) {
      if (symbol.st_shndx != llvm::ELF::SHN_UNDEF) continue;
      auto name = symbol.getName(*strings);
      if (!name) return FromLlvm(name.takeError());
      if (name->empty()) continue;
      const Library library = LibraryOf(*name);
      sources[library] = std::max(sources[library], SourceOf(library, *name));
    }
  }
  return sources;
}

// "GLIBC_2.9" before "GLIBC_2.35".
bool VersionLess(const std::string& a, const std::string& b) {
  const std::vector<std::string> x = absl::StrSplit(a, '.'), y = absl::StrSplit(b, '.');
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    int m, n;
    if (absl::SimpleAtoi(x[i], &m) && absl::SimpleAtoi(y[i], &n)) {
      // As numbers: as texts, 2.9 would be above 2.35.
      if (m != n) return m < n;
    } else if (x[i] != y[i]) {
      return x[i] < y[i];
    }
  }
  return x.size() < y.size();
}

}  // namespace

absl::StatusOr<std::string> LinkSharedObject(llvm::ArrayRef<char> object) {
  ASSIGN_OR_RETURN(const Sources sources, SourcesFor(object));
  MemoryFile input("object"), output("code");
  RETURN_IF_ERROR(input.Write(object));
  const std::string in = input.path();
  std::deque<MemoryFile> stubs;
  std::vector<std::string> libraries;
  for (const Library library : {kLibm, kLibmvec, kLibc}) {
    const GlibcStub& stub = kGlibcStubs[library];
    if (sources[library] == Source::kMachine) libraries.push_back(PathOf(stub.library));
    if (sources[library] != Source::kStub) continue;
    MemoryFile& file = stubs.emplace_back(stub.library);
    RETURN_IF_ERROR(file.Write(stub.bytes));
    libraries.push_back(file.path());
  }
  // -znow resolves symbols at load, so that a missing one is an error there and not within a
  // launch. One thread, because a confined worker may start none. Entries are found by key, so
  // there is no build id.
  std::vector<const char*> arguments = {"ld.lld",
                                        "-shared",
                                        "-znow",
                                        "--no-undefined",
                                        "--hash-style=gnu",
                                        "--build-id=none",
                                        "--threads=1",
                                        "--strip-all",
                                        "--as-needed",
                                        "-o",
                                        "-",
                                        in.c_str()};
  for (const std::string& path : libraries) arguments.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  StandardOutput standard_output(output);
  const bool linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();  // LLD keeps its state until told
  const absl::Status written = standard_output.Restore();
  if (!linked) return absl::InternalError(absl::StrCat("LLD: ", messages));
  RETURN_IF_ERROR(written);
  return output.Read();
}

absl::StatusOr<std::map<std::string, std::string>> NeededVersions(const std::string& payload) {
  std::map<std::string, std::string> needs;
  auto file = ElfFile::create(payload);
  if (!file) return FromLlvm(file.takeError());
  auto sections = file->sections();
  if (!sections) return FromLlvm(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_GNU_verneed) continue;
    auto libraries = file->getVersionDependencies(section);
    if (!libraries) return FromLlvm(libraries.takeError());
    for (const auto& library : *libraries) {
      // The names run on to the end of the string table.
      std::string& highest = needs[library.File.c_str()];
      for (const auto& version : library.AuxV) {
        const std::string name = version.Name.c_str();
        // A loader with the highest version has the lower ones too.
        if (highest.empty() || VersionLess(highest, name)) highest = name;
      }
    }
  }
  return needs;
}

}  // namespace kiln::cpu
