// The tables of a module, checked: every reference between them leads to something, and numbers
// that belong together fit. What only the code knows cannot be checked: where functions are, how
// far loops run, how much memory they use, how many nodes of a tree they ask for.
//
// Thread safety: immutable.
#ifndef KILN_RUNTIME_MODULE_TABLES_H_
#define KILN_RUNTIME_MODULE_TABLES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/module/format.h"
#include "runtime/result.h"

namespace kiln {

class ModuleTables {
 public:
  // Tables in memory of `available` bytes, which have to exist as long as the object.
  // FailedPrecondition for a format or ABI that this build does not read, with both numbers;
  // DataLoss for anything damaged. Another ABI of images is no error: the module may have code for
  // CPUs as well (CheckCudaAbi).
  static Result<ModuleTables> Read(const uint8_t* data, uint64_t available);

  const module::Header& header() const { return header_; }
  // FailedPrecondition, with both numbers, if this build does not read the module's images.
  Result<> CheckCudaAbi() const;
  const uint8_t* data() const { return data_; }

  // The number of records of a type.
  template <typename Record>
  uint32_t Count() const {
    return At(Record::kTable).count;
  }
  // A record; fields that its writer did not know are zero. Requires: `number` < Count.
  template <typename Record>
  Record Get(uint32_t number) const {
    Record record{};
    const module::Table& table = At(Record::kTable);
    std::memcpy(&record, data_ + table.offset + uint64_t{number} * table.stride,
                std::min<size_t>(sizeof record, table.stride));
    return record;
  }
  // Calls visit(record) for each record of `span`.
  template <typename Record, typename Visit>
  void ForEach(module::Span span, const Visit& visit) const {
    for (uint32_t i = 0; i < span.count; ++i) visit(Get<Record>(span.first + i));
  }

  std::string_view TextOf(module::Text text) const;
  std::string_view BytesOf(module::Span bytes) const;
  uint64_t Number(uint32_t number) const;
  std::vector<uint64_t> Numbers(module::Span span) const;

 private:
  class Checker;  // check_tables.cc
  Result<> Check() const;
  static constexpr size_t kKinds = static_cast<size_t>(module::TableKind::kBytes) + 1;

  const module::Table& At(module::TableKind kind) const {
    return tables_[static_cast<size_t>(kind)];
  }

  const uint8_t* data_ = nullptr;
  module::Header header_{};
  std::array<module::Table, kKinds> tables_{};  // by kind; empty ones that the module lacks
};

}  // namespace kiln

#endif  // KILN_RUNTIME_MODULE_TABLES_H_
