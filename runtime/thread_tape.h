// The tape of a thread: what iterations of loops leave for their gradients, as a stack of bytes.
//
// The memory is reserved at the first push and committed page by page. An empty tape gives back
// what is beyond a fixed amount.
//
// Thread safety: each thread has its own tape.
#ifndef KILN_RUNTIME_THREAD_TAPE_H_
#define KILN_RUNTIME_THREAD_TAPE_H_

#include <cstdint>

namespace kiln {

class ThreadTape {
 public:
  // The calling thread's.
  static ThreadTape& OfThread();
  // A number for a launch that uses tapes.
  static uint64_t NextLaunch();

  ThreadTape() = default;
  ThreadTape(const ThreadTape&) = delete;
  ThreadTape& operator=(const ThreadTape&) = delete;
  ~ThreadTape();

  // So many new bytes, a multiple of 8; null if they exceed the limit. What another launch left,
  // which did not end its tasks, is dropped.
  uint8_t* Push(uint64_t launch, uint64_t bytes);
  // The last bytes. Requires: as many were pushed, and not popped.
  uint8_t* Top(uint64_t bytes) { return memory_ + used_ - bytes; }
  void Pop(uint64_t bytes);

  // The most bytes of a tape: what SetLimit said, or else SetDefaultLimit. Otherwise it is a
  // quarter of the machine's memory, shared by a thread for each of its CPUs.
  static uint64_t Limit();
  // What SetLimit said; 0: nothing.
  static uint64_t GivenLimit();
  // Set the limit and the default for launches to come; 0: none. Thread-safe.
  static void SetLimit(uint64_t bytes);
  static void SetDefaultLimit(uint64_t bytes);

 private:
  void Reserve();
  void Release();

  uint8_t* memory_ = nullptr;
  uint64_t limit_ = 0;  // the bytes at `memory_`
  uint64_t used_ = 0;
  uint64_t most_ = 0;    // since the tape was last empty
  uint64_t launch_ = 0;  // whose bytes these are
};

}  // namespace kiln

#endif  // KILN_RUNTIME_THREAD_TAPE_H_
