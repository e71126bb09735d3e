// Stores of quantised numbers, which may wait for others to the same word.
//
// Numbers that share an exponent are stored with one exponent, made from the largest of them.
// Storing them one by one would measure the first by what the others were before:
//
//   v[i] = [a, b, c]   ->  one update: the exponent of max(|a|, |b|, |c|), then three mantissas
//   v[i].x = a             likewise, if the next nodes store v[i].y and v[i].z
//
// So a store of a number with a shared exponent waits for the next ones to the same word. Whatever
// might see the word ends the wait: a node that is not known to leave it alone, the end of a block,
// a load of the storage. In debug mode no store waits, so that an assertion that fails between two
// of them finds the first done.
#ifndef KILN_SERVER_COMPILER_LOWERING_QUANT_WRITES_H_
#define KILN_SERVER_COMPILER_LOWERING_QUANT_WRITES_H_

#include <optional>

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Numbers of one word, and what is stored to each.
using WrittenNumbers = llvm::SmallVector<std::pair<const proto::QuantNumber*, mlir::Value>>;

class QuantWrites {
 public:
  // Refers to the context, which owns it.
  explicit QuantWrites(LoweringContext& c) : c_(c) {}

  // Stores numbers of a root in words; `compute` is the type of the values.
  void Store(const Root& root, Scalar compute, const WrittenNumbers& written);

  // Emits what waits.
  void Flush();
  // The same where it could be seen: before a node, before a load from the root's storage.
  void FlushBefore(const proto::Node& node);
  void FlushBeforeRead(const Root& root);

 private:
  struct Pending {
    Root root;
    Scalar compute;
    WrittenNumbers numbers;  // at most one value each
    mlir::Location loc;      // of the first store
  };

  bool Joins(const Root& root, Scalar compute, const WrittenNumbers& written) const;

  LoweringContext& c_;
  std::optional<Pending> pending_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_QUANT_WRITES_H_
