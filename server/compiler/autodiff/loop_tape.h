// What the iterations of a loop leave for the reverse of the loop.
//
// The loop runs once, forward. The reverse of an iteration then runs the iteration again, so it
// needs what the iteration started with: carried values, and locals from outside that iterations
// change. It must also take the same branches: conditions that depend on floats are kept, because
// code that is compiled twice may round differently. Only what the reverse turns out to use is
// recorded.
//
// Records of a loop that cannot end early are an array, on the thread's tape or, if small, a local.
// Otherwise each iteration pushes its own, and the reverse takes the last one first.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_LOOP_TAPE_H_
#define KILN_SERVER_COMPILER_AUTODIFF_LOOP_TAPE_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "server/compiler/autodiff/replay.h"

namespace kiln {

class LoopTape {
 public:
  // Runs the loop where the builder is. `replay` must live as long.
  LoopTape(Replay* replay, mlir::Operation* loop);

  // How many iterations were entered, as i64.
  mlir::Value entered() const { return entered_; }

  // At the start of the body of `reverse`, a loop over the entered iterations, last one first:
  // takes all that the iteration may need from the tape. From here to Finish, the values of the
  // iteration are those.
  void Take(ir::ForOp reverse);
  // At the end of that body: records what it uses.
  void Finish();

 private:
  // What an iteration starts with or decides.
  struct Item {
    mlir::Value primal;  // a carried value, a condition, or a local
    mlir::Value taken;   // from the tape, in the reverse; null for a local
    int64_t offset = 0;
  };

  void CountIterations();
  mlir::Value TripCount();
  llvm::SmallVector<mlir::Value> FloatConditions() const;
  llvm::SmallVector<mlir::Value> ChangedLocals() const;
  void DropUnused();
  int64_t Layout();
  void RecordInLocals(int64_t count);
  void RecordOnTape(int64_t bytes);
  void Put(const Item& item, mlir::Operation* start,
           llvm::function_ref<mlir::Value()> make_address);
  void Get(const Item& item, llvm::function_ref<mlir::Value()> make_address);
  mlir::Value Slot(const Item& item, mlir::Value records, mlir::Value number, int64_t bytes);
  mlir::Value NumberInRun();

  Replay& replay_;
  mlir::OpBuilder& b_;
  mlir::Operation* const loop_;
  const bool is_counted_;           // iterations end where the bounds say
  mlir::Operation* run_ = nullptr;  // the copy that ran
  mlir::Value entered_;
  llvm::DenseMap<mlir::Value, mlir::Value> in_run_;  // of the loop's values, those of the copy
  ir::ForOp reverse_;
  mlir::Value number_;                // of the iteration, in the reverse
  mlir::Operation* start_ = nullptr;  // the op that makes number_
  llvm::SmallVector<Item> items_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_LOOP_TAPE_H_
