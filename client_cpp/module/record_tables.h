// Tables of records under construction.
#ifndef KILN_CLIENT_CPP_MODULE_RECORD_TABLES_H_
#define KILN_CLIENT_CPP_MODULE_RECORD_TABLES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/module/format.h"

namespace kiln {

// Not thread-safe.
class RecordTables {
 public:
  // Returns the record's number.
  template <typename Record>
  uint32_t Add(const Record& record) {
    Table& table = tables_[Record::kTable];
    table.stride = sizeof(Record);
    // Records are plain and have no padding (reserved members fill it), so equal ones have equal
    // bytes.
    table.bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
    return table.count++;
  }
  template <typename Record>
  uint32_t Count() const {
    const auto found = tables_.find(Record::kTable);
    return found == tables_.end() ? 0 : found->second.count;
  }
  // Equal texts are stored once.
  module::Text Put(absl::string_view text);
  module::Span PutNumbers(const std::vector<uint64_t>& numbers);
  // Equal bytes are stored once, too.
  module::Span PutBytes(absl::string_view bytes);

  // The header with its directory, then all tables. Nothing may be added afterwards.
  std::string Bytes(module::Header header);
  // Of a record in these bytes.
  template <typename Record>
  uint32_t OffsetOf(uint32_t number) const {
    const Table& table = tables_.at(Record::kTable);
    return table.offset + number * table.stride;
  }

 private:
  struct Table {
    uint32_t stride = 0, count = 0, offset = 0;
    std::string bytes;
  };

  std::map<module::TableKind, Table> tables_;  // in the order of the file
  std::map<std::string, module::Text> texts_;
  std::map<std::string, module::Span> bytes_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MODULE_RECORD_TABLES_H_
