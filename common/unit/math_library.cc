#include "common/unit/math_library.h"

#include <algorithm>

#include "common/language/op_table.h"

namespace kiln {
namespace {

uint32_t NewestOf(const proto::Function& function, uint32_t available) {
  uint32_t newest = 0;
  for (const proto::Node& node : function.nodes()) {
    const OpInfo* op = FindOp(node.op());
    if (op == nullptr || op->vector_glibc > available) continue;
    newest = std::max(newest, op->vector_glibc);
  }
  return newest;
}

}  // namespace

uint32_t GlibcFor(const proto::CompileUnit& unit, uint32_t available) {
  // Vector functions are less exact than scalar ones, so the compiler uses none.
  if (!unit.options().fast_math()) return 0;
  uint32_t newest = NewestOf(unit.kernel().body(), available);
  for (const proto::Function& function : unit.kernel().functions()) {
    newest = std::max(newest, NewestOf(function, available));
  }
  return newest;
}

}  // namespace kiln
