#include "server/compiler/codegen/cpu/module_tables.h"

#include <map>
#include <string>
#include <vector>

#include "common/artifact/target.h"
#include "common/base/status_macros.h"
#include "common/module/format.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "server/compiler/codegen/cpu/machine.h"

namespace kiln::cpu {
namespace {

constexpr uint64_t kAlignment = 16;
// The tables hold no code, so any level does.
constexpr int kAnyLevel = 2;

// Bytes of the tables, or a word that the linker fills in.
struct Part {
  llvm::StringRef bytes;
  const std::string* symbol = nullptr;  // null: `bytes`
};

std::vector<Part> PartsOf(const proto::LinkRequest& request) {
  std::map<uint32_t, const std::string*> fixups;
  for (const auto& fixup : request.fixups()) fixups[fixup.offset()] = &fixup.symbol();
  std::vector<Part> parts;
  llvm::StringRef rest = request.tables();
  size_t at = 0;
  for (const auto& [offset, symbol] : fixups) {
    if (offset > at) parts.push_back({rest.take_front(offset - at)});
    parts.push_back({{}, symbol});
    rest = rest.drop_front(offset - at + kFixupBytes);
    at = offset + kFixupBytes;
  }
  if (!rest.empty()) parts.push_back({rest});
  return parts;
}

llvm::Constant* AddressOf(llvm::StringRef symbol, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::GlobalVariable* global = module.getNamedGlobal(symbol);
  if (global == nullptr) {
    global = new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context), /*isConstant=*/true,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
    // In the same module, so its distance is a constant.
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  return llvm::ConstantExpr::getPtrToInt(global, llvm::Type::getInt64Ty(context));
}

void DefineTables(const proto::LinkRequest& request, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  const std::vector<Part> parts = PartsOf(request);
  std::vector<llvm::Type*> types;
  for (const Part& part : parts) {
    types.push_back(part.symbol != nullptr
                        ? word
                        : llvm::ArrayType::get(llvm::Type::getInt8Ty(context), part.bytes.size()));
  }
  auto* type = llvm::StructType::get(context, types, /*isPacked=*/true);
  auto* tables =
      new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, nullptr, request.symbol());
  tables->setSection(module::kSection);
  tables->setAlignment(llvm::Align(kAlignment));
  // Several modules of a program must not see each other's names.
  if (request.form() == proto::LinkRequest::OBJECT) {
    tables->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  // Otherwise another library's symbol of this name could take its place, and the section would
  // have to be writable.
  tables->setDSOLocal(true);
  llvm::Constant* begin = llvm::ConstantExpr::getPtrToInt(tables, llvm::Type::getInt64Ty(context));
  std::vector<llvm::Constant*> values;
  for (const Part& part : parts) {
    if (part.symbol == nullptr) {
      values.push_back(llvm::ConstantDataArray::getString(context, part.bytes, /*AddNull=*/false));
      continue;
    }
    llvm::Constant* distance = llvm::ConstantExpr::getSub(AddressOf(*part.symbol, module), begin);
    values.push_back(llvm::ConstantExpr::getTrunc(distance, word));
  }
  tables->setInitializer(llvm::ConstantStruct::get(type, values));
}

}  // namespace

absl::StatusOr<llvm::SmallVector<char, 0>> TablesObject(const proto::LinkRequest& request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Machine> machine,
                   Machine::Make(Target::Cpu(kAnyLevel), codegen::Options()));
  llvm::LLVMContext context;
  llvm::Module module("tables", context);
  module.setDataLayout(machine->data_layout());
  module.setTargetTriple(machine->triple());
  DefineTables(request, module);
  return machine->EmitObject(module);
}

}  // namespace kiln::cpu
