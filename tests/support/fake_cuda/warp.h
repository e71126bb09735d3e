// 32 threads that run a function of a program, and what handlers of instructions need of them.
//
// Lanes have program counters of their own. The lanes with the lowest one run, so that lanes that
// took different branches meet again where the branches join. A call runs to its end before lanes
// that did not call continue.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_WARP_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_WARP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/access_checks.h"
#include "tests/support/fake_cuda/ptx_program.h"
#include "tests/support/fake_cuda/ptx_syntax.h"

namespace kiln::fake_cuda {

// Memory that kernels may use: [begin, end) of the device's addresses, `shift` below the host's.
struct Interval {
  uint64_t begin, end, shift;
};

// Addresses that nothing may use, and why.
struct Gap {
  uint64_t begin, end;
  std::string what;
};

struct Fault {
  enum Kind { kNone, kIllegalAddress, kMisaligned, kTrap, kDeadlock, kTimeout, kBadBlock };
  Kind kind = kNone;
  std::string text;
};

// One launch, shared by its threads.
struct Grid {
  const Program* program;
  const Function* entry;
  uint32_t blocks[3], threads[3];
  uint64_t shared_bytes;  // with those of the launch
  uint64_t dynamic_shared_bytes;
  uint64_t id;
  std::vector<uint8_t> parameters;
  std::vector<Interval> memory;  // sorted
  std::vector<Gap> gaps;
  uint64_t stack_bytes;  // of a lane
  AccessChecks* checks = nullptr;
  bool is_cooperative = false;  // its blocks wait for each other, so all of them run at once

  std::atomic<bool> stop{false};
  std::mutex lock;
  Fault fault;  // the first one; guarded by `lock`
  void Report(Fault::Kind kind, std::string text);
};

inline constexpr int kBarriers = 16;

struct Barrier {
  uint32_t arrived = 0, expected = 0;  // expected 0: all threads that have not exited
  uint32_t trues = 0, voters = 0;      // of a reduction
};

struct Block {
  Grid* grid;
  uint32_t index[3];
  std::unique_ptr<uint64_t[]> shared;
  Barrier barriers[kBarriers];
  // Of AccessChecks: the block's number, the barriers that it has passed, and for each byte of
  // shared memory the threads that accessed it and whether one wrote it.
  uint32_t number = 0, epoch = 0;
  std::vector<SeenByte> seen;
  std::vector<bool> written;
};

class Warp {
 public:
  enum State { kDone, kBlocked, kYielded, kFaulted };

  Warp(Grid* grid, Block* block, uint32_t number, uint32_t seed);

  // Runs until all lanes exited or wait for a barrier, or `budget` instructions ran.
  State Run(int64_t budget);
  // Lanes that have not exited.
  uint32_t live() const { return live_; }
  // Ends the wait for a barrier and stores the result of its reduction.
  void Release(int barrier, const Barrier& state);
  int64_t instructions() const { return instructions_; }
  // "line 7 of the PTX of module 2, kernel f, block (0, 0, 0), thread (3, 0, 0)"
  std::string Where(const Instruction& in, int lane) const;

  // For handlers.
  uint32_t exec = 0;  // lanes that run the instruction
  template <typename T>
  T* At(int32_t operand) const {
    return reinterpret_cast<T*>(bases_[operand & 3] + (operand & ~3));
  }
  // Where lane `lane` finds `bytes` bytes, or nullptr after a fault was reported.
  template <Space kSpace>
  uint8_t* Memory(const Instruction& in, int lane, uint64_t address, uint64_t bytes,
                  uint64_t align) {
    if ((address & (align - 1)) != 0) return Misaligned(in, lane, address, align);
    if (kSpace == Space::kGlobal) return GlobalMemory(in, lane, address, bytes);
    if (kSpace == Space::kShared) return Shared(in, lane, address, bytes);
    if (kSpace == Space::kLocal) return Local(in, lane, address, bytes);
    if (kSpace == Space::kParam) return Parameter(in, lane, address, bytes);
    if (address < kSharedWindow) return GlobalMemory(in, lane, address, bytes);
    if (address < kLocalWindow) return Shared(in, lane, address - kSharedWindow, bytes);
    if (address < kParamWindow) return Local(in, lane, address - kLocalWindow, bytes);
    return Parameter(in, lane, address - kParamWindow, bytes);
  }
  // Whether the launch has checks, for which Note must be called before each access.
  bool is_checked() const { return grid_->checks != nullptr; }
  // `changes`: of a write, whether other bytes than before are stored.
  void Note(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
            AccessKind kind, bool changes);
  void NoteFence();
  void NoteWarpBarrier() { ++warp_epoch_; }
  uint64_t local_base() const { return frames_.back().local_base; }
  uint32_t member_mask(int lane, int32_t operand) const { return At<uint32_t>(operand)[lane]; }

 private:
  struct Frame {
    const Function* function;
    std::unique_ptr<uint64_t[]> registers;
    uint32_t pcs[kLanes];
    uint32_t live, entered;
    uint64_t local_base;
    const Call* call;  // by which the frame below entered this one
  };
  struct Cached {
    uint64_t begin, bytes, shift;
  };

  static bool Fits(uint64_t offset, uint64_t bytes, uint64_t size) {
    return offset < size && bytes <= size - offset;
  }
  uint8_t* GlobalMemory(const Instruction& in, int lane, uint64_t address, uint64_t bytes) {
    Cached& cached = cache_[(reinterpret_cast<uintptr_t>(&in) / sizeof(Instruction)) % kCached];
    // Below the interval, the difference wraps around to a large number.
    if (Fits(address - cached.begin, bytes, cached.bytes)) {
      return reinterpret_cast<uint8_t*>(address + cached.shift);
    }
    return FindMemory(in, lane, address, bytes, &cached);
  }
  uint8_t* FindMemory(const Instruction& in, int lane, uint64_t address, uint64_t bytes,
                      Cached* cached);
  uint8_t* Shared(const Instruction& in, int lane, uint64_t address, uint64_t bytes) {
    if (Fits(address, bytes, shared_bytes_)) return shared_ + address;
    return Outside(in, lane, "shared", address, bytes, shared_bytes_);
  }
  uint8_t* Local(const Instruction& in, int lane, uint64_t address, uint64_t bytes) {
    if (Fits(address, bytes, stack_bytes_)) {
      return reinterpret_cast<uint8_t*>(stacks_.get()) + lane * stack_bytes_ + address;
    }
    return Outside(in, lane, "local", address, bytes, stack_bytes_);
  }
  uint8_t* Parameter(const Instruction& in, int lane, uint64_t address, uint64_t bytes) {
    if (Fits(address, bytes, grid_->parameters.size())) return grid_->parameters.data() + address;
    return Outside(in, lane, "parameter", address, bytes, grid_->parameters.size());
  }
  uint8_t* Outside(const Instruction& in, int lane, const char* space, uint64_t address,
                   uint64_t bytes, uint64_t size);
  uint8_t* Misaligned(const Instruction& in, int lane, uint64_t address, uint64_t align);

  void NoteRace(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
                AccessKind kind);
  void NoteInit(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
                AccessKind kind);
  void NoteFrame(uint32_t lanes, uint64_t base, uint64_t bytes, bool written);
  void Specials(uint32_t number);
  bool Push(const Function* function, uint32_t lanes, uint64_t local_base, const Call* call,
            const Instruction* in);
  void Pop();
  void CopySpans(const std::vector<Span>& from, uint64_t from_base, const std::vector<Span>& to,
                 uint64_t to_base, uint32_t lanes);
  void Enter();  // takes bases from the top frame
  bool Pick(State* state);
  void Save();
  void RunControl(const Instruction& in);
  void Branch(uint32_t taken, int32_t target);
  void BranchByTable(const Instruction& in);
  void RunCall(const Instruction& in);
  void Arrive(const Instruction& in);
  void Converge(const Instruction& in);
  void Leave(uint32_t lanes, bool exit);

  static constexpr int kCached = 16;
  Grid* grid_;
  Block* block_;
  uint8_t* bases_[kBases + 1];
  uint8_t* shared_;
  uint64_t shared_bytes_, stack_bytes_;
  std::unique_ptr<uint64_t, void (*)(void*)> stacks_;
  Cached cache_[kCached] = {};
  std::vector<Frame> frames_;
  uint32_t live_ = 0;
  uint32_t blocked_ = 0;            // lanes that wait for a barrier of the block
  uint32_t converging_ = 0;         // lanes that wait for others of the warp
  uint32_t waits_[kBarriers] = {};  // lanes, by barrier
  const Instruction* reductions_[kBarriers] = {};
  uint32_t number_;
  // Of the top frame: the lanes that run, where they are, and where they meet others.
  uint32_t active_ = 0;
  uint32_t pc_ = 0, limit_ = 0;
  bool pick_ = true;  // the lanes that run must be chosen again
  uint32_t picks_ = 0;
  uint32_t resting_ = 0;  // lanes that let others go on first
  int64_t instructions_ = 0;
  std::minstd_rand random_;
  uint32_t warp_epoch_ = 0;
  std::unique_ptr<uint8_t, void (*)(void*)> written_{nullptr, std::free};  // as stacks_, by byte
  alignas(64) uint32_t specials_[kSpecials][kLanes];
};

// Calls f(lane) for the lanes of `mask`.
template <typename F>
inline void EachLane(uint32_t mask, F f) {
  if (mask == 0xffffffffu) {
    for (int lane = 0; lane < kLanes; ++lane) f(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_WARP_H_
