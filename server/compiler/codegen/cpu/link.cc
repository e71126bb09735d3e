#include "server/compiler/codegen/cpu/link.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ArchiveWriter.h"
#include "server/compiler/codegen/cpu/elf_symbols.h"
#include "server/compiler/codegen/cpu/glibc_stubs.h"
#include "server/compiler/codegen/cpu/memory_file.h"
#include "server/compiler/codegen/cpu/run_lld.h"

namespace kiln::cpu {
namespace {

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

// Of the symbols to which the objects refer and which they do not define.
absl::StatusOr<Sources> SourcesFor(Objects objects) {
  llvm::StringSet<> defined, undefined;
  for (const llvm::StringRef object : objects) {
    ASSIGN_OR_RETURN(const ElfSymbols symbols, SymbolsOf(object));
    for (const std::string& name : symbols.defined) defined.insert(name);
    for (const std::string& name : symbols.undefined) undefined.insert(name);
  }
  Sources sources{};  // most kernels need none of the three
  for (const llvm::StringRef name : undefined.keys()) {
    if (defined.contains(name)) continue;
    const Library library = LibraryOf(name);
    sources[library] = std::max(sources[library], SourceOf(library, name));
  }
  return sources;
}

// Writes the objects to a file that LLD takes whole: an archive if there are several, since a
// process has few descriptors.
absl::Status WriteObjects(Objects objects, MemoryFile* file) {
  if (objects.size() == 1) return file->Write(objects[0]);
  std::vector<llvm::NewArchiveMember> members;
  members.reserve(objects.size());
  for (const llvm::StringRef object : objects) {
    members.emplace_back(llvm::MemoryBufferRef(object, "object"));
  }
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive) return FromLlvm(archive.takeError());
  return file->Write((*archive)->getBuffer());
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

absl::StatusOr<std::string> LinkSharedObject(Objects objects, const std::string& exported) {
  ASSIGN_OR_RETURN(const Sources sources, SourcesFor(objects));
  MemoryFile input("objects"), script("exports");
  RETURN_IF_ERROR(WriteObjects(objects, &input));
  // -znow resolves symbols at load, so that a missing one is an error there and not within a
  // launch. Entries are found by key, so there is no build id.
  std::vector<std::string> arguments = {
      "-shared",     "-znow",       "--no-undefined",  "--hash-style=gnu", "--build-id=none",
      "--strip-all", "--as-needed", "--whole-archive", input.path(),       "--no-whole-archive"};
  if (!exported.empty()) {
    RETURN_IF_ERROR(script.Write(absl::StrCat("{ global: ", exported, "; local: *; };")));
    arguments.push_back(absl::StrCat("--version-script=", script.path()));
  }
  std::deque<MemoryFile> stubs;
  for (const Library library : {kLibm, kLibmvec, kLibc}) {
    const GlibcStub& stub = kGlibcStubs[library];
    if (sources[library] == Source::kMachine) arguments.push_back(PathOf(stub.library));
    if (sources[library] != Source::kStub) continue;
    MemoryFile& file = stubs.emplace_back(stub.library);
    RETURN_IF_ERROR(file.Write({stub.bytes.data(), stub.bytes.size()}));
    arguments.push_back(file.path());
  }
  return RunLld(arguments);
}

absl::StatusOr<std::string> LinkObject(Objects objects) {
  MemoryFile input("objects");
  RETURN_IF_ERROR(WriteObjects(objects, &input));
  return RunLld({"-r", "--build-id=none", "--whole-archive", input.path()});
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
