#include "common/artifact/cubin.h"

#include <elf.h>

#include <cstring>

namespace kiln {
namespace {

constexpr uint16_t kMachineCuda = 190;
// Of toolkits 12 and 13. They state the device in different bytes of the flags.
constexpr unsigned char kOsAbi12 = 51, kOsAbi13 = 65;
constexpr uint32_t kArchMask = 0xff;
constexpr int kArchShift12 = 0, kArchShift13 = 8;

// Reads a struct of the file; false if the file ends before.
template <typename T>
bool ReadAt(std::string_view file, uint64_t at, T* out) {
  if (at > file.size() || file.size() - at < sizeof *out) return false;
  std::memcpy(out, file.data() + at, sizeof *out);
  return true;
}

bool Holds(std::string_view file, uint64_t at, uint64_t bytes) {
  return at <= file.size() && bytes <= file.size() - at;
}

bool HoldsAllParts(std::string_view file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!ReadAt(file, header.e_shoff + i * sizeof section, &section)) return false;
    if (section.sh_type == SHT_NOBITS) continue;
    if (!Holds(file, section.sh_offset, section.sh_size)) return false;
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(file, header.e_phoff + i * sizeof segment, &segment)) return false;
    if (!Holds(file, segment.p_offset, segment.p_filesz)) return false;
  }
  return true;
}

}  // namespace

std::string CheckCubin(std::string_view cubin, uint32_t arch) {
  Elf64_Ehdr header;
  if (!ReadAt(cubin, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return "its machine code is not an ELF file";
  }
  const unsigned char abi = header.e_ident[EI_OSABI];
  if (header.e_machine != kMachineCuda || header.e_type != ET_EXEC ||
      (abi != kOsAbi12 && abi != kOsAbi13)) {
    return "its machine code is not for CUDA devices";
  }
  const int shift = abi == kOsAbi12 ? kArchShift12 : kArchShift13;
  const uint32_t found = header.e_flags >> shift & kArchMask;
  if (found != arch) {
    return "its machine code is for sm_" + std::to_string(found) + ", not sm_" +
           std::to_string(arch);
  }
  const bool has_own_sizes = header.e_ehsize == sizeof(Elf64_Ehdr) &&
                             (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr)) &&
                             (header.e_phnum == 0 || header.e_phentsize == sizeof(Elf64_Phdr));
  if (!has_own_sizes || header.e_shnum == 0 || !HoldsAllParts(cubin, header)) {
    return "its machine code is cut off or damaged";
  }
  return "";
}

}  // namespace kiln
