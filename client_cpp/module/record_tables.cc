#include "client_cpp/module/record_tables.h"

#include <cstddef>

namespace kiln {

module::Text RecordTables::Put(absl::string_view text) {
  const auto [at, is_new] = texts_.emplace(std::string(text), module::Text{});
  if (!is_new) return at->second;
  Table& strings = tables_[module::TableKind::kStrings];
  strings.stride = 1;
  at->second = {strings.count, static_cast<uint32_t>(text.size())};
  strings.bytes.append(text.data(), text.size());
  strings.count += static_cast<uint32_t>(text.size());
  return at->second;
}

module::Span RecordTables::PutNumbers(const std::vector<uint64_t>& numbers) {
  if (numbers.empty()) return {0, 0};
  Table& table = tables_[module::TableKind::kNumbers];
  table.stride = sizeof(uint64_t);
  const module::Span span{table.count, static_cast<uint32_t>(numbers.size())};
  table.bytes.append(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(uint64_t));
  table.count += span.count;
  return span;
}

module::Span RecordTables::PutBytes(absl::string_view bytes) {
  const auto [at, is_new] = bytes_.emplace(std::string(bytes), module::Span{});
  if (!is_new) return at->second;
  Table& table = tables_[module::TableKind::kBytes];
  table.stride = 1;
  at->second = {table.count, static_cast<uint32_t>(bytes.size())};
  table.bytes.append(bytes.data(), bytes.size());
  table.count += at->second.count;
  return at->second;
}

std::string RecordTables::Bytes(module::Header header) {
  constexpr uint32_t kAlignment = 8;
  uint32_t next = sizeof header + static_cast<uint32_t>(tables_.size() * sizeof(module::Table));
  std::string directory;
  for (auto& [kind, table] : tables_) {
    next = (next + kAlignment - 1) / kAlignment * kAlignment;
    table.offset = next;
    const module::Table entry{kind, table.offset, table.count, table.stride};
    directory.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    next += static_cast<uint32_t>(table.bytes.size());
  }
  header.tables = static_cast<uint32_t>(tables_.size());
  header.bytes = next;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += directory;
  for (const auto& [_, table] : tables_) {
    bytes.resize(table.offset);
    bytes += table.bytes;
  }
  return bytes;
}

}  // namespace kiln
