#include "server/compiler/codegen/link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lang/status_macros.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFObjectFile.h"

LLD_HAS_DRIVER(elf)

namespace kiln {
namespace {

using ElfFile = llvm::object::ELF64LEFile;

// An anonymous file that LLD knows by path.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

  absl::Status Write(llvm::ArrayRef<char> bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0) return absl::ErrnoToStatus(errno, "writing a memory file");
      done += n;
    }
    return absl::OkStatus();
  }

 private:
  int fd_;
};

// A pipe that LLD writes to by path while a thread reads: for a regular file LLD wants
// a directory to rename in, which a worker need not have.
class OutputPipe {
 public:
  OutputPipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) return;
    reader_ = std::thread([this] {
      char buffer[1 << 16];
      for (ssize_t n; (n = read(ends_[0], buffer, sizeof(buffer))) > 0;) bytes_.append(buffer, n);
    });
  }
  ~OutputPipe() { Take(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  std::string path() const { return absl::StrCat("/proc/self/fd/", ends_[1]); }

  // Once all has been written.
  std::string Take() {
    if (!reader_.joinable()) return {};
    close(ends_[1]);
    reader_.join();
    close(ends_[0]);
    return std::move(bytes_);
  }

 private:
  int ends_[2] = {-1, -1};
  std::string bytes_;
  std::thread reader_;
};

enum Library { kLibm, kLibmvec, kLibc };

Library LibraryOf(llvm::StringRef symbol) {
  if (symbol.starts_with("_ZGV")) return kLibmvec;
  return symbol.starts_with("mem") ? kLibc : kLibm;
}

// The first place that has the library; the path does not enter the output.
std::string PathOf(Library library) {
  static constexpr const char* kNames[] = {"libm.so.6", "libmvec.so.1", "libc.so.6"};
  for (const char* directory : {"/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/usr/lib/"}) {
    std::string path = absl::StrCat(directory, kNames[library]);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return kNames[library];
}

absl::Status FromLlvm(llvm::Error error) {
  return absl::InternalError(llvm::toString(std::move(error)));
}

// What the object refers to and does not define. LLD reads a library's whole symbol
// table, so those that are not needed are not even named.
absl::StatusOr<std::vector<std::string>> LibrariesFor(llvm::ArrayRef<char> object) {
  auto file = ElfFile::create(llvm::StringRef(object.data(), object.size()));
  if (!file) return FromLlvm(file.takeError());
  auto sections = file->sections();
  if (!sections) return FromLlvm(sections.takeError());
  bool needed[3] = {};
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
      if (!name->empty()) needed[LibraryOf(*name)] = true;
    }
  }
  std::vector<std::string> paths;
  for (const Library library : {kLibm, kLibmvec, kLibc}) {
    if (needed[library]) paths.push_back(PathOf(library));
  }
  return paths;
}

// "GLIBC_2.9" before "GLIBC_2.35".
bool VersionLess(const std::string& a, const std::string& b) {
  const std::vector<std::string> x = absl::StrSplit(a, '.'), y = absl::StrSplit(b, '.');
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    int m, n;
    if (absl::SimpleAtoi(x[i], &m) && absl::SimpleAtoi(y[i], &n)) {
      if (m != n) return m < n;
    } else if (x[i] != y[i]) {
      return x[i] < y[i];
    }
  }
  return x.size() < y.size();
}

}  // namespace

absl::StatusOr<std::string> LinkSharedObject(llvm::ArrayRef<char> object) {
  ASSIGN_OR_RETURN(const std::vector<std::string> libraries, LibrariesFor(object));
  MemoryFile input("object");
  OutputPipe output;
  RETURN_IF_ERROR(input.Write(object));
  const std::string in = input.path(), out = output.path();
  std::vector<const char*> arguments = {
      "ld.lld",          "-shared",     "-znow",       "--no-undefined", "--hash-style=gnu",
      "--build-id=none", "--threads=1", "--strip-all", "--as-needed",    "-o",
      out.c_str(),       in.c_str()};
  for (const std::string& path : libraries) arguments.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const bool linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();  // LLD keeps its state until told
  if (!linked) return absl::InternalError(absl::StrCat("LLD: ", messages));
  std::string payload = output.Take();
  if (payload.empty()) return absl::ResourceExhaustedError("no pipe for the linker's output");
  return payload;
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
        if (highest.empty() || VersionLess(highest, name)) highest = name;
      }
    }
  }
  return needs;
}

}  // namespace kiln
