#include "runtime/module/tables.h"

#include <cstddef>

namespace kiln {

using module::Span;
using module::Text;

namespace {

Error Damaged(const std::string& what) {
  return {ErrorCode::kDataLoss, "the module is damaged: " + what};
}

Error OtherVersion(const char* what, uint64_t has, uint64_t oldest, uint64_t newest) {
  std::string text = std::string("the module has ") + what + ' ' + std::to_string(has) +
                     ", this library reads " + std::to_string(newest);
  if (oldest != newest) text += " and older down to " + std::to_string(oldest);
  return {ErrorCode::kFailedPrecondition, std::move(text)};
}

// The least bytes of a record: those of the format's first version that has it.
uint32_t SmallestRecord(module::TableKind kind) {
  switch (kind) {
    case module::TableKind::kStrings:
    case module::TableKind::kBytes:
      return 1;
    case module::TableKind::kNumbers:
      return sizeof(uint64_t);
    case module::TableKind::kKernels:
      return offsetof(module::Kernel, images);
    case module::TableKind::kParams:
      return sizeof(module::Param);
    case module::TableKind::kSlots:
      return sizeof(module::Slot);
    case module::TableKind::kBindings:
      return sizeof(module::Binding);
    case module::TableKind::kVariants:
      return sizeof(module::Variant);
    case module::TableKind::kTasks:
      return sizeof(module::Task);
    case module::TableKind::kResults:
      return sizeof(module::Result);
    case module::TableKind::kFormats:
      return sizeof(module::Format);
    case module::TableKind::kPieces:
      return sizeof(module::Piece);
    case module::TableKind::kPlaces:
      return sizeof(module::Place);
    case module::TableKind::kTrees:
      return offsetof(module::Tree, contents);
    case module::TableKind::kNodes:
      return sizeof(module::Node);
    case module::TableKind::kLevels:
      return sizeof(module::Level);
    case module::TableKind::kFields:
      return sizeof(module::Field);
    case module::TableKind::kComponents:
      return sizeof(module::Component);
    case module::TableKind::kGraphs:
      return sizeof(module::Graph);
    case module::TableKind::kGraphArgs:
      return sizeof(module::GraphArg);
    case module::TableKind::kDispatches:
      return sizeof(module::Dispatch);
    case module::TableKind::kFacts:
      return sizeof(module::Fact);
    case module::TableKind::kImages:
      return sizeof(module::Image);
    case module::TableKind::kImageTasks:
      return sizeof(module::ImageTask);
  }
  return 0;
}

}  // namespace

Result<ModuleTables> ModuleTables::Read(const uint8_t* data, uint64_t available) {
  ModuleTables tables;
  tables.data_ = data;
  module::Header& header = tables.header_;
  if (available < sizeof header) return Damaged("it ends within its header");
  std::memcpy(&header, data, sizeof header);
  if (header.magic != module::kMagic) return Damaged("it does not begin as a module does");
  // Before anything else: another version may have another header.
  if (header.major != module::kMajor) {
    return OtherVersion("format", header.major, module::kMajor, module::kMajor);
  }
  if (header.module_abi > module::kModuleAbi || header.module_abi < module::kOldestModuleAbi) {
    return OtherVersion("module ABI", header.module_abi, module::kOldestModuleAbi,
                        module::kModuleAbi);
  }
  if (header.tree_abi != 0 &&
      (header.tree_abi > module::kTreeAbi || header.tree_abi < module::kOldestTreeAbi)) {
    return OtherVersion("tree ABI", header.tree_abi, module::kOldestTreeAbi, module::kTreeAbi);
  }
  if (header.bytes > available) return Damaged("it ends within its tables");
  const uint64_t directory = sizeof header + uint64_t{header.tables} * sizeof(module::Table);
  if (directory > header.bytes) return Damaged("it ends within its directory");
  for (uint32_t i = 0; i < header.tables; ++i) {
    module::Table table;
    std::memcpy(&table, data + sizeof header + i * sizeof table, sizeof table);
    const auto kind = static_cast<size_t>(table.kind);
    if (kind == 0 || kind >= kKinds) continue;  // of a newer writer
    if (table.stride < SmallestRecord(table.kind) || table.offset % 8 != 0 ||
        table.offset > header.bytes ||
        uint64_t{table.count} * table.stride > header.bytes - table.offset) {
      return Damaged("table " + std::to_string(kind) + " leaves it");
    }
    tables.tables_[kind] = table;
  }
  if (const Result<> checked = tables.Check(); !checked.ok()) return checked.error();
  return tables;
}

Result<> ModuleTables::CheckCudaAbi() const {
  const uint32_t abi = header_.cuda_abi;
  if (abi >= module::kOldestCudaAbi && abi <= module::kCudaAbi) return {};
  return OtherVersion("CUDA ABI", abi, module::kOldestCudaAbi, module::kCudaAbi);
}

std::string_view ModuleTables::BytesOf(Span bytes) const {
  const module::Table& all = At(module::TableKind::kBytes);
  return {reinterpret_cast<const char*>(data_ + all.offset + bytes.first), bytes.count};
}

std::string_view ModuleTables::TextOf(Text text) const {
  const module::Table& strings = At(module::TableKind::kStrings);
  return {reinterpret_cast<const char*>(data_ + strings.offset + text.offset), text.size};
}

uint64_t ModuleTables::Number(uint32_t number) const {
  uint64_t value;
  const module::Table& numbers = At(module::TableKind::kNumbers);
  std::memcpy(&value, data_ + numbers.offset + uint64_t{number} * numbers.stride, sizeof value);
  return value;
}

std::vector<uint64_t> ModuleTables::Numbers(Span span) const {
  std::vector<uint64_t> values(span.count);
  for (uint32_t i = 0; i < span.count; ++i) values[i] = Number(span.first + i);
  return values;
}

}  // namespace kiln
