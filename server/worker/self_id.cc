#include "server/worker/self_id.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/base/digest.h"

namespace kiln {
namespace {

constexpr uint64_t kMostNotes = uint64_t{1} << 20;

struct Object {
  std::string path;  // empty for the executable itself
  std::string build_id;
};

// The linker computes it from the whole file, so it changes with any change of the code.
std::string BuildIdIn(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes);
    const size_t name_size = (note->n_namesz + 3) & ~size_t{3};
    const size_t whole = sizeof *note + name_size + ((note->n_descsz + 3) & ~size_t{3});
    if (whole > size) break;
    const char* name = notes + sizeof *note;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      return std::string(name + name_size, note->n_descsz);
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

int CollectObject(dl_phdr_info* info, size_t, void* out) {
  Object object;
  object.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string file = object.path.substr(object.path.rfind('/') + 1);
  // Other libraries, such as libc, do not decide what code is generated.
  if (!object.path.empty() && !absl::StartsWith(file, "libLLVM") &&
      !absl::StartsWith(file, "libMLIR")) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum && object.build_id.empty(); ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    object.build_id =
        BuildIdIn(reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
  }
  static_cast<std::vector<Object>*>(out)->push_back(std::move(object));
  return 0;
}

std::string RealPath(const char* path) {
  char resolved[PATH_MAX];
  return realpath(path, resolved) != nullptr ? resolved : path;
}

// The GNU build id of a library that is not loaded; empty: it has none, or is no library.
std::string BuildIdOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](uint64_t at, auto* out) {
    return bool(file.seekg(static_cast<std::streamoff>(at))
                    .read(reinterpret_cast<char*>(out), sizeof *out));
  };
  ElfW(Ehdr) header;
  std::string id;
  if (read(0, &header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
    for (int i = 0; i < header.e_phnum && id.empty(); ++i) {
      ElfW(Phdr) segment;
      if (!read(header.e_phoff + i * sizeof segment, &segment)) break;
      // Notes are small. Another file than the library may state any size.
      if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
      std::string notes(segment.p_filesz, '\0');
      file.seekg(static_cast<std::streamoff>(segment.p_offset));
      if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) break;
      id = BuildIdIn(notes.data(), notes.size());
    }
  }
  return id;
}

std::string ContentDigest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Sha256Of(std::string(std::istreambuf_iterator<char>(file), {})).Hex();
}

// What the toolkit adds: nvJitLink by its build id, which spares reading 100 MB, and libdevice by
// its bytes. So is a library without a build id, which may be no library: a damaged toolkit must
// not keep the worker from compiling.
void AddToolkit(CompilerIdRecord* record) {
  record->toolkit = CudaToolkit();
  Sha256 hash;
  hash.Update(record->ids.cpu.view());
  for (const std::string name : {kNvJitLinkFiles[0], kNvJitLinkFiles[1], kLibdeviceFile}) {
    const std::string path = absl::StrCat(record->toolkit, name);
    // A file that appears later makes other code.
    if (access(path.c_str(), R_OK) != 0) {
      record->absent.push_back(path);
      continue;
    }
    std::string content;
    if (name != kLibdeviceFile) content = BuildIdOf(path);
    if (content.empty()) content = ContentDigest(path);
    hash.Update(name).Update(absl::StrCat(" ", content.size(), " ")).Update(content);
    // The toolkit's folder may be a link, which an upgrade exchanges.
    record->files.push_back(path);
  }
  record->ids.cuda = hash.Finish();
}

}  // namespace

absl::StatusOr<CompilerIdRecord> IdentifySelf() {
  std::vector<Object> objects;
  dl_iterate_phdr(CollectObject, &objects);
  // The loader lists the executable first; libraries by name, not by load order.
  std::sort(objects.begin() + 1, objects.end(),
            [](const Object& a, const Object& b) { return a.path < b.path; });
  CompilerIdRecord record;
  Sha256 hash;
  for (const Object& object : objects) {
    const std::string path = RealPath(object.path.empty() ? "/proc/self/exe" : object.path.c_str());
    if (object.build_id.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " has no GNU build id, so its code has no identity"));
    }
    // With the length, so that two lists of ids never have the same bytes.
    const char length = static_cast<char>(object.build_id.size());
    hash.Update({&length, 1}).Update(object.build_id);
    record.files.push_back(path);
  }
  record.ids.cpu = hash.Finish();
  AddToolkit(&record);
  return record;
}

}  // namespace kiln
