// Finds gradients that read memory which later kernels have overwritten.
//
// A tape runs the gradients of launches in reverse order. Each gradient computes values of its
// kernel again, from memory as the last launch left it. The history knows what later kernels have
// written, as boxes of indices. The compiler found these boxes (proto Access), and the history
// fills in the launches' arguments. It compares what a gradient reads with them.
//
// Boxes may contain more cells than the kernels access, so a conflict is a possible one. Writes of
// the program itself, and which cells of sparse trees are active, are not part of the history.
//
// One object is for one thread at a time.
#ifndef KILN_CLIENT_CPP_ACCESS_HISTORY_H_
#define KILN_CLIENT_CPP_ACCESS_HISTORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "client_cpp/instance.h"
#include "common/unit/node_number.h"

namespace kiln {

// A gradient reads cells again that a kernel launched later has written.
struct AccessConflict {
  const Instance* reader;  // gradients that the history holds
  const Instance* writer;
  NodeNumber read, written;  // the nodes that access the cells; none: not known
};

class AccessHistory {
 public:
  // Adds a launch of the gradient `instance` with `slots`, argument slots of its layout; its kernel
  // ran before those of all launches added so far. Returns a conflict that has not been returned
  // before, if there is one.
  std::optional<AccessConflict> Add(const std::shared_ptr<const Instance>& instance,
                                    const uint64_t* slots);

 private:
  using Intervals = absl::InlinedVector<std::pair<int64_t, int64_t>, 4>;  // first and last indices
  struct Memory {  // equal for equal components of the same memory
    uint64_t address;
    bool in_tree;
    bool operator==(const Memory& other) const {
      return address == other.address && in_tree == other.in_tree;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Memory& memory) {
      return H::combine(std::move(h), memory.address, memory.in_tree);
    }
  };
  struct Access {
    const Instance* instance;
    NodeNumber source;
    const proto::Access* box;
  };
  struct Written {
    Intervals cells;
    Access by;
  };
  // The accesses of an instance, and what they refer to.
  struct Known {
    std::shared_ptr<const Instance> instance;
    std::vector<Access> reads, writes;
  };

  const Known& KnownOf(const std::shared_ptr<const Instance>& instance);
  static Memory MemoryOf(const Access& access, const uint64_t* slots);
  static Intervals CellsOf(const Access& access, const uint64_t* slots);
  void Write(const Access& access, const uint64_t* slots);

  absl::flat_hash_map<const Instance*, Known> known_;
  absl::flat_hash_map<Memory, std::vector<Written>> written_;
  absl::flat_hash_set<std::pair<const proto::Access*, const proto::Access*>> reported_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_ACCESS_HISTORY_H_
