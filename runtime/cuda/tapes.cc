#include "runtime/cuda/tapes.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "runtime/cuda_abi.h"
#include "runtime/thread_tape.h"

namespace kiln::cuda {

Result<> Tapes::Allocate(uint64_t bytes, Stream stream) {
  if (tapes_ != 0) driver_.MemFree(tapes_);  // waits for the kernels that use them
  tapes_ = bytes_ = 0;
  const Code code = driver_.MemAlloc(&tapes_, sizeof(KilnCudaTapes) + bytes);
  if (code != kSuccess) {
    return driver_.ErrorOf(code, "no " + std::to_string(bytes >> 20) +
                                     " MiB for the tapes of a gradient (ti.init(ad_tape_GB=...)"
                                     " sets another number)");
  }
  bytes_ = bytes;
  // By fills, since a copy would be in another stream.
  const Address at = tapes_ + offsetof(KilnCudaTapes, bytes);
  driver_.Set32(at, static_cast<unsigned>(bytes), 1, stream);
  driver_.Set32(at + 4, static_cast<unsigned>(bytes >> 32), 1, stream);
  return {};
}

Result<Address> Tapes::Clear(Stream stream) {
  constexpr uint64_t kPartOfMemory = 32, kLeast = uint64_t{64} << 20;
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t wanted = ThreadTape::GivenLimit();
  if (wanted == 0 && bytes_ == 0) {
    size_t free = 0, total = 0;
    driver_.MemGetInfo(&free, &total);
    wanted = std::max<uint64_t>(total / kPartOfMemory, kLeast);
  }
  if (wanted != 0 && wanted != bytes_) {
    if (Result<> done = Allocate(wanted, stream); !done.ok()) return done.error();
  }
  constexpr uint64_t kCleared = offsetof(KilnCudaTapes, next);
  const Code code =
      driver_.Set8(tapes_ + kCleared, 0, offsetof(KilnCudaTapes, memory) - kCleared, stream);
  if (code != kSuccess) return driver_.ErrorOf(code, "clearing tapes failed");
  return tapes_;
}

}  // namespace kiln::cuda
