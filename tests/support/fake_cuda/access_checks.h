// Checks of a kernel's accesses to memory, as NVIDIA's compute-sanitizer makes them:
//
// - race: two threads of a launch access the same byte, one of them writes another value, and
//   nothing orders them. What orders: a barrier of the block, one of the warp, or a fence in the
//   first thread's block and a later one in the other's. Two atomic accesses (or volatile or
//   relaxed ones) are no race. Global and shared memory.
// - init: a read of bytes that nothing has written since they were allocated. Global, shared and
//   local memory.
//
// Reports do not end the launch. Each pair of instructions is reported once.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_ACCESS_CHECKS_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_ACCESS_CHECKS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln::fake_cuda {

enum class AccessKind : uint8_t { kRead, kWrite, kUpdate };  // kUpdate: an atomic operation

// Bytes of the device's memory that nothing has written. Thread-safe.
class UnwrittenBytes {
 public:
  void Add(uint64_t begin, uint64_t bytes);
  void Remove(uint64_t begin, uint64_t bytes);
  bool HasAny(uint64_t begin, uint64_t bytes) const;

 private:
  mutable std::mutex lock_;
  std::map<uint64_t, uint64_t> ranges_;  // ends by begins; they do not touch each other
};

// One access of a thread.
struct SeenAccess {
  uint32_t thread = ~0u;  // its number in the grid; ~0: no access
  uint32_t block = 0, warp = 0;
  uint32_t block_epoch = 0, warp_epoch = 0;  // barriers of the block and of the warp before it
  uint32_t time = 0;                         // fences of the grid before it
  uint32_t line = 0;                         // of the PTX
  bool is_atomic = false;
};

// The last accesses of a byte.
struct SeenByte {
  SeenAccess write, reads[2];  // the reads are of two threads
};

// Finds the races of one launch. Thread-safe, but for bytes that the caller keeps.
class RaceChecks {
 public:
  struct Race {
    SeenAccess other;
    bool is_write = false;  // the other one
  };

  explicit RaceChecks(uint64_t blocks) : fences_(blocks) {}

  // A thread of the block runs a fence.
  void NoteFence(uint32_t block);
  uint32_t time() const { return time_.load(std::memory_order_relaxed); }
  // Notes an access of bytes of global memory. True: *race says which other one it races with.
  bool NoteGlobal(uint64_t address, uint64_t bytes, AccessKind kind, const SeenAccess& access,
                  Race* race);
  // The same for one byte.
  bool Note(SeenByte* byte, AccessKind kind, const SeenAccess& access, Race* race) const;

 private:
  static constexpr uint64_t kPage = 256;
  static constexpr size_t kShards = 16;
  struct Shard {
    std::mutex lock;
    std::unordered_map<uint64_t, std::unique_ptr<std::array<SeenByte, kPage>>> pages;
  };
  bool AreOrdered(const SeenAccess& first, const SeenAccess& second) const;

  std::atomic<uint32_t> time_{0};
  mutable std::mutex fences_lock_;
  std::vector<std::vector<uint32_t>> fences_;  // their times, by block
  Shard shards_[kShards];
};

// The checks of one launch. Thread-safe.
struct AccessChecks {
  std::unique_ptr<RaceChecks> races;    // null: not checked
  UnwrittenBytes* unwritten = nullptr;  // null: not checked
  std::function<void(const std::string&)> print;

  // Prints the text, unless one about these lines of the PTX was printed before.
  void Report(uint32_t line, uint32_t other_line, const std::string& text);

  std::mutex lock;
  std::set<std::pair<uint32_t, uint32_t>> reported;  // guarded by `lock`
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_ACCESS_CHECKS_H_
