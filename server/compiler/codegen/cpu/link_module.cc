#include "server/compiler/codegen/cpu/link_module.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/module/format.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ELF/ELFConfig.h"
#include "llvm/ObjCopy/ELF/ELFObjcopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include "server/compiler/codegen/cpu/elf_symbols.h"
#include "server/compiler/codegen/cpu/link.h"
#include "server/compiler/codegen/cpu/module_tables.h"

namespace kiln::cpu {
namespace {

constexpr size_t kMaxSymbolBytes = 256;

// Symbols that some object defines, and which one.
using Definitions = llvm::StringMap<int>;

// A name of C: it also becomes part of a script for the linker.
bool IsIdentifier(const std::string& name) {
  const auto is_part = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && name.size() <= kMaxSymbolBytes && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(), is_part);
}

// Reads all sections, because LLD ends the process over some damaged files.
absl::Status CheckObject(const std::string& bytes) {
  auto file = ElfFile::create(bytes);
  if (!file) return FromLlvm(file.takeError());
  const auto& header = file->getHeader();
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB || header.e_type != llvm::ELF::ET_REL ||
      header.e_machine != llvm::ELF::EM_X86_64) {
    return absl::InvalidArgumentError("it is not a relocatable ELF object for x86-64");
  }
  auto sections = file->sections();
  if (!sections) return FromLlvm(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_NOBITS) continue;
    if (auto content = file->getSectionContents(section); !content) {
      return FromLlvm(content.takeError());
    }
  }
  return absl::OkStatus();
}

absl::Status Define(int object, const std::string& bytes, Definitions* definitions) {
  RETURN_IF_ERROR(CheckObject(bytes));
  ASSIGN_OR_RETURN(const ElfSymbols symbols, SymbolsOf(bytes));
  for (const std::string& name : symbols.defined) {
    const auto [at, fresh] = definitions->try_emplace(name, object);
    if (!fresh) {
      return absl::InvalidArgumentError(
          absl::StrCat("it defines ", name, ", as object ", at->second, " does"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Definitions> CheckObjects(const proto::LinkRequest& request) {
  size_t bytes = request.tables().size();
  for (const std::string& object : request.objects()) bytes += object.size();
  if (bytes > module::kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a module of ", bytes, " bytes of objects and tables; at most ", module::kMaxBytes));
  }
  Definitions definitions;
  for (int i = 0; i < request.objects_size(); ++i) {
    const absl::Status status = Define(i, request.objects(i), &definitions);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("object ", i, ": ", status.message()));
    }
  }
  return definitions;
}

absl::Status CheckFixups(const proto::LinkRequest& request, const Definitions& definitions) {
  std::vector<uint64_t> offsets;
  for (const proto::LinkRequest::Fixup& fixup : request.fixups()) {
    if (definitions.find(fixup.symbol()) == definitions.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the fixup at offset ", fixup.offset(),
                                                     " names '", fixup.symbol(),
                                                     "', which no object defines"));
    }
    if (fixup.offset() + uint64_t{kFixupBytes} > request.tables().size()) {
      return absl::InvalidArgumentError(absl::StrCat("a fixup at offset ", fixup.offset(),
                                                     " of tables of ", request.tables().size(),
                                                     " bytes"));
    }
    offsets.push_back(fixup.offset());
  }
  std::sort(offsets.begin(), offsets.end());
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1] + kFixupBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the fixups at offsets ", offsets[i - 1], " and ", offsets[i], " overlap"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const proto::LinkRequest& request) {
  if (!proto::LinkRequest::Form_IsValid(request.form())) {
    return absl::InvalidArgumentError(absl::StrCat("a module of unknown form ", request.form()));
  }
  if (!IsIdentifier(request.symbol())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", request.symbol(), "' is not a name for a module's tables"));
  }
  if (request.tables().empty()) return absl::InvalidArgumentError("a module without tables");
  ASSIGN_OR_RETURN(const Definitions definitions, CheckObjects(request));
  if (const auto at = definitions.find(request.symbol()); at != definitions.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("object ", at->second, " defines ", request.symbol(), ", the tables' symbol"));
  }
  return CheckFixups(request, definitions);
}

// `object` with one global symbol; the others become local, so that a program can contain two
// modules with the same kernel.
absl::StatusOr<std::string> WithOneSymbol(const std::string& object, const std::string& symbol) {
  namespace objcopy = llvm::objcopy;
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "module"));
  if (!file) return FromLlvm(file.takeError());
  objcopy::CommonConfig config;
  const auto fail = [](llvm::Error error) { return error; };
  if (llvm::Error error = config.SymbolsToKeepGlobal.addMatcher(
          objcopy::NameOrPattern::create(symbol, objcopy::MatchStyle::Literal, fail))) {
    return FromLlvm(std::move(error));
  }
  config.StripUnneeded = true;
  std::string result;
  llvm::raw_string_ostream out(result);
  if (llvm::Error error = objcopy::elf::executeObjcopyOnBinary(
          config, objcopy::ELFConfig(), llvm::cast<llvm::object::ELFObjectFileBase>(**file), out)) {
    return FromLlvm(std::move(error));
  }
  return result;
}

}  // namespace

absl::StatusOr<proto::LinkReply> LinkModule(const proto::LinkRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const auto tables, TablesObject(request));
  std::vector<llvm::StringRef> objects = {{tables.data(), tables.size()}};
  objects.insert(objects.end(), request.objects().begin(), request.objects().end());
  proto::LinkReply reply;
  // Also for an object: the link shows that nothing is undefined, and what is needed of glibc.
  ASSIGN_OR_RETURN(std::string file, LinkSharedObject(objects, request.symbol()));
  ASSIGN_OR_RETURN(const auto needs, NeededVersions(file));
  reply.mutable_needs()->insert(needs.begin(), needs.end());
  if (request.form() == proto::LinkRequest::OBJECT) {
    ASSIGN_OR_RETURN(const std::string whole, LinkObject(objects));
    ASSIGN_OR_RETURN(file, WithOneSymbol(whole, request.symbol()));
  }
  reply.set_file(std::move(file));
  return reply;
}

}  // namespace kiln::cpu
