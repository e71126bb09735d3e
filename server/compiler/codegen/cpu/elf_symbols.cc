#include "server/compiler/codegen/cpu/elf_symbols.h"

#include <utility>

namespace kiln::cpu {

absl::Status FromLlvm(llvm::Error error) {
  return absl::InternalError(llvm::toString(std::move(error)));
}

absl::StatusOr<ElfSymbols> SymbolsOf(llvm::StringRef object) {
  auto file = ElfFile::create(object);
  if (!file) return FromLlvm(file.takeError());
  auto sections = file->sections();
  if (!sections) return FromLlvm(sections.takeError());
  ElfSymbols found;
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto symbols = file->symbols(&section);
    auto strings = file->getStringTableForSymtab(section);
    if (!symbols) return FromLlvm(symbols.takeError());
    if (!strings) return FromLlvm(strings.takeError());
    for (const auto& symbol : *symbols) {
      auto name = symbol.getName(*strings);
      if (!name) return FromLlvm(name.takeError());
      if (name->empty()) continue;
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF) {
        found.undefined.push_back(name->str());
      } else if (symbol.getBinding() != llvm::ELF::STB_LOCAL) {
        found.defined.push_back(name->str());
      }
    }
  }
  return found;
}

}  // namespace kiln::cpu
