// A generation counter in memory that kilnd shares with its fronts. kilnd bumps it whenever it
// removes or replaces an entry that it may have answered. A front may repeat a cached reply as long
// as the counter has not changed, without asking kilnd.
//
// Thread-safe.
#ifndef KILN_SERVER_FRONT_GENERATION_H_
#define KILN_SERVER_FRONT_GENERATION_H_

#include <atomic>
#include <cstdint>

namespace kiln {

class Generation {
 public:
  // No answer is valid any more, now or later: kilnd has exited, or no memory can be shared.
  static constexpr uint64_t kOver = 0;

  // kilnd's own counter.
  Generation();
  // A front's view of it; the caller keeps `fd`. -1: kOver from the start.
  explicit Generation(int fd);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // To be passed to fronts; -1 if there is none.
  int fd() const { return fd_; }
  uint64_t now() const { return number_ == nullptr ? kOver : number_->load(); }
  // To be called after a removal, before any client can learn of it.
  void Advance();
  // Sets the counter to kOver for good.
  void End();

 private:
  int fd_ = -1;
  std::atomic<uint64_t>* number_ = nullptr;
};

}  // namespace kiln

#endif  // KILN_SERVER_FRONT_GENERATION_H_
