#include "server/worker/self_id.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace kiln {
namespace {

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
  record.id = hash.Finish();
  return record;
}

}  // namespace kiln
