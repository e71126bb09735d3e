// Streams of the fake device. Work waits in queues until a call synchronises. It then runs in an
// order that the seed chooses among those that streams, events and the legacy default streams
// allow. Each context has a legacy default stream. So a program that reads a result too early reads
// it before the work ran, every time.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_STREAMS_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_STREAMS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace kiln::fake_cuda {

// Whether a piece of work has run.
using Done = std::shared_ptr<bool>;

struct Stream {
  enum Kind { kLegacy, kPerThread, kBlocking, kNonBlocking };
  struct Work {
    uint64_t number;  // in the order of calls
    std::function<void()> run;
    Done after;  // null, or what must have run before
    Done done;
  };
  Kind kind;
  std::deque<Work> queue;
  const void* owner;  // the driver's context
};

// Not thread-safe.
class Streams {
 public:
  explicit Streams(uint32_t seed);

  Stream* Create(Stream::Kind kind, const void* owner);
  // The first of its kind and owner.
  Stream* Default(Stream::Kind kind, const void* owner);
  void Destroy(Stream* stream);  // after its work
  bool Exists(const Stream* stream) const;

  // Returns what tells when the work has run. Long queues run in part, as a device would.
  Done Add(Stream* stream, std::function<void()> work, Done after = nullptr);
  void RunUntil(const Done& done);
  void RunUntilEmpty(Stream* stream);
  void RunAll();
  void RunAllOf(const void* owner);
  bool RunOne();  // false: nothing waits
  bool HasWorkOf(const void* owner) const;
  void Clear();  // after an error that ends the context

 private:
  bool CanRun(const Stream& stream) const;

  std::vector<std::unique_ptr<Stream>> streams_;
  uint64_t next_ = 0;
  std::minstd_rand random_;
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_STREAMS_H_
