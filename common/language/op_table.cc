#include "common/language/op_table.h"

#include <iterator>

namespace kiln {
namespace {

#include "common/language/op_table_data.inc"

template <typename Info, size_t n>
const Info* Row(const Info (&table)[n], int number) {
  if (number <= 0 || number >= static_cast<int>(n)) return nullptr;
  return table[number].spelling != nullptr ? &table[number] : nullptr;
}

}  // namespace

const OpInfo* FindOp(int op) { return Row(kOps, op); }

const NodeInfo* FindNode(int kind) { return Row(kNodes, kind); }

}  // namespace kiln
