// What follows a linked module in its file.
#include <elf.h>

#include <cstring>

#include "client_cpp/module/module_writer.h"
#include "common/module/format.h"
#include "runtime/module/module_file.h"

namespace kiln {
namespace {

// The offset in the file of section .kiln.meta; 0 if there is none.
uint64_t TablesOffset(const std::string& elf) {
  const auto read = [&](uint64_t at, auto* out) {
    if (at > elf.size() || elf.size() - at < sizeof *out) return false;
    std::memcpy(out, elf.data() + at, sizeof *out);
    return true;
  };
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!read(0, &header)) return 0;
  const auto section = [&](uint32_t number, Elf64_Shdr* out) {
    return read(header.e_shoff + uint64_t{number} * sizeof *out, out);
  };
  if (!section(header.e_shstrndx, &names)) return 0;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr one;
    if (!section(i, &one)) return 0;
    const uint64_t at = names.sh_offset + one.sh_name;
    if (at < elf.size() && std::strcmp(elf.c_str() + at, module::kSection) == 0) {
      return one.sh_offset;
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::string> FinishModule(std::string object) {
  module::Trailer trailer{};
  trailer.object_bytes = object.size();
  trailer.tables_offset = TablesOffset(object);
  if (trailer.tables_offset == 0) {
    return absl::DataLossError("the linker's output has no tables");
  }
  trailer.version = module::kMajor;
  trailer.magic = module::kTrailerMagic;
  ChecksumModule(reinterpret_cast<const uint8_t*>(object.data()), &trailer);
  object.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  return object;
}

}  // namespace kiln
