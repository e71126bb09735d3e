// A number that kilnd's fronts see in memory that they share with it. It changes whenever
// something that kilnd may have answered is no longer so: an entry was removed or replaced. So
// a front may answer with what it was told before, and nobody has to tell it to forget.
//
// Thread-safe.
#ifndef KILN_SERVER_DAEMON_EDITION_H_
#define KILN_SERVER_DAEMON_EDITION_H_

#include <atomic>
#include <cstdint>

namespace kiln {

class Edition {
 public:
  // Nothing that was answered holds any more, nor what will be: kilnd has ended, or there is
  // no memory to share.
  static constexpr uint64_t kOver = 0;

  // kilnd's.
  Edition();
  // A front's view of it; `fd` stays the caller's. -1: over from the start.
  explicit Edition(int fd);
  ~Edition();
  Edition(const Edition&) = delete;
  Edition& operator=(const Edition&) = delete;

  // To be given to fronts; -1 where there is none.
  int fd() const { return fd_; }
  uint64_t now() const { return number_ == nullptr ? kOver : number_->load(); }
  // After the removal, and before anyone is told of it.
  void Advance();
  // For good.
  void End();

 private:
  int fd_ = -1;
  std::atomic<uint64_t>* number_ = nullptr;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_EDITION_H_
