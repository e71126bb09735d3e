// Copies of the fields that a parallel loop only adds to. Each thread adds to a copy of its own,
// without atomics; the copies are then added to the fields.
//
// Code finds fields by the launch's arguments. A copy is a list of arguments in which the fields'
// addresses are those of other memory, so the loop's code for one thread serves.
#ifndef KILN_RUNTIME_PRIVATE_COPIES_H_
#define KILN_RUNTIME_PRIVATE_COPIES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/abi.h"
#include "runtime/kernel_info.h"
#include "runtime/storage.h"

namespace kiln {

class Executor;

// The bytes of a copy at a launch with these arguments.
uint64_t BytesOf(const std::vector<ScatterInfo>& scatters, const uint64_t* arguments);

// Not thread-safe, except Take and GiveBack, unless stated.
class PrivateCopies {
 public:
  struct Copy {
    KilnContext context;
    std::vector<uint64_t> arguments;
    std::vector<std::unique_ptr<RootBuffer>> memory;  // of each scatter; zero between launches
    std::atomic<bool> taken{false};
    bool used = false;  // since Start
  };

  // `count` copies for launches with as many arguments as `slots`; null: no memory.
  static std::unique_ptr<PrivateCopies> Make(const std::vector<ScatterInfo>& scatters,
                                             const uint64_t* arguments, size_t slots, int count);
  // Whether Make with these would make the same, or fewer copies.
  bool Suit(const uint64_t* arguments, int count) const;

  // Begins a launch.
  void Start(const KilnContext& context);
  // A copy for the calling thread. Requires: fewer threads than there are copies hold one.
  // Thread-safe.
  Copy& Take();
  static void GiveBack(Copy& copy) { copy.taken.store(false, std::memory_order_release); }
  // Adds all copies to the fields of the launch, and clears them, on up to `threads` threads.
  // Writes only what some copy has added to. No thread may hold a copy, or update these fields.
  void Merge(Executor* executor, int threads);

 private:
  explicit PrivateCopies(const std::vector<ScatterInfo>& scatters) : scatters_(scatters) {}
  uint64_t BytesIn(size_t scatter) const { return copies_[0]->memory[scatter]->size(); }

  const std::vector<ScatterInfo> scatters_;
  std::vector<std::unique_ptr<Copy>> copies_;
  const uint64_t* arguments_ = nullptr;  // of the launch
};

}  // namespace kiln

#endif  // KILN_RUNTIME_PRIVATE_COPIES_H_
