// The iterations of a loop, dealt to the threads that run it.
//
// Each thread owns one share, whose chunks it takes from the front. A thread without work takes the
// back half of what another one has left. A share whose owner is late or slow is thus divided in
// few steps, however many threads there are. It begins to search at a random thread: threads that
// finish together do not all turn to the same one.
//
// Which thread owns which iterations depends only on their number and on that of the threads. From
// loop to loop, memory therefore stays with the core that touched it before.
//
// Source: work stealing with half steals after Hendler and Shavit, "Non-blocking steal-half work
// queues", PODC 2002; here a queue is an interval, which one word holds.
//
// Thread safety: any number of threads may call Take, each with an index of its own. Deal requires
// that none does.
#ifndef KILN_RUNTIME_CPU_SHARES_H_
#define KILN_RUNTIME_CPU_SHARES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace kiln {

inline constexpr int kMaxPoolThreads = 256;

// Iterations [begin, end) of a loop, counted from its first.
struct Chunk {
  int64_t begin, end;
};

// `Word` is std::atomic<uint64_t>, or a class with its load, store and compare_exchange_weak that
// counts what they cost (bench/pool.cc).
template <typename Word>
class BasicShares {
 public:
  // Deals `count` iterations to `threads` threads, in chunks of `chunk`, a multiple of `unit`
  // iterations, which are not divided. Requires count >= 0 and 1 <= threads <= kMaxPoolThreads.
  void Deal(int64_t count, int64_t chunk, int64_t unit, int threads);

  // The next chunk for thread `index`; false if no thread has one left.
  bool Take(int index, Chunk* chunk);

 private:
  // What a thread may take: chunks [next, end) of the share that was dealt to thread `home`.
  struct Rest {
    uint32_t home, next, end;
  };
  // home:12 | next:26 | end:26
  static constexpr int kChunkBits = 26;
  static uint64_t Packed(Rest rest) {
    return uint64_t{rest.home} << (2 * kChunkBits) | uint64_t{rest.next} << kChunkBits | rest.end;
  }
  static Rest Unpacked(uint64_t word) {
    constexpr uint64_t kMask = (uint64_t{1} << kChunkBits) - 1;
    return {static_cast<uint32_t>(word >> (2 * kChunkBits)),
            static_cast<uint32_t>(word >> kChunkBits & kMask), static_cast<uint32_t>(word & kMask)};
  }

  struct alignas(64) Share {
    Word rest{0};
    uint32_t random = 0;  // of the owner
  };

  bool Steal(int index, Chunk* chunk);
  Chunk At(uint32_t home, uint32_t number) const;

  int64_t count_ = 0, chunk_ = 1, share_ = 0;
  int threads_ = 0;
  Share shares_[kMaxPoolThreads];
};

using Shares = BasicShares<std::atomic<uint64_t>>;

template <typename Word>
void BasicShares<Word>::Deal(int64_t count, int64_t chunk, int64_t unit, int threads) {
  // Shares end on multiples of a cache line's worth of elements.
  const int64_t align = unit > 1 ? unit : count >= int64_t{threads} * 1024 ? 64 : 1;
  count_ = count;
  threads_ = threads;
  share_ = count / threads + align - 1;
  share_ -= share_ % align;
  // The last share takes what rounding left. All chunks of a share have a number.
  const int64_t longest = std::max(share_, count - share_ * (threads - 1));
  const int64_t least = longest / ((int64_t{1} << kChunkBits) - 1) + 1;
  chunk_ = std::max(chunk, (least + unit - 1) / unit * unit);
  for (int t = 0; t < threads; ++t) {
    const int64_t begin = std::min(count, t * share_);
    const int64_t end = t == threads - 1 ? count : std::min(count, begin + share_);
    const auto chunks = static_cast<uint32_t>((end - begin + chunk_ - 1) / chunk_);
    shares_[t].rest.store(Packed({static_cast<uint32_t>(t), 0, chunks}), std::memory_order_relaxed);
  }
}

template <typename Word>
Chunk BasicShares<Word>::At(uint32_t home, uint32_t number) const {
  const int64_t begin = std::min(count_, home * share_);
  const int64_t end = static_cast<int>(home) == threads_ - 1 ? count_ : begin + share_;
  const int64_t at = begin + number * chunk_;
  return {at, std::min({at + chunk_, end, count_})};
}

template <typename Word>
bool BasicShares<Word>::Take(int index, Chunk* chunk) {
  Word& own = shares_[index].rest;
  uint64_t word = own.load(std::memory_order_relaxed);
  for (;;) {
    const Rest rest = Unpacked(word);
    if (rest.next >= rest.end) return Steal(index, chunk);
    // A word says all that is to be known of a share, so a word that has come back does no harm.
    if (own.compare_exchange_weak(word, Packed({rest.home, rest.next + 1, rest.end}),
                                  std::memory_order_relaxed)) {
      *chunk = At(rest.home, rest.next);
      return true;
    }
  }
}

template <typename Word>
bool BasicShares<Word>::Steal(int index, Chunk* chunk) {
  // Numerical Recipes' generator; the first value of an index differs from its neighbours'.
  uint32_t& random = shares_[index].random;
  random = random * 1664525 + 1013904223 + static_cast<uint32_t>(index);
  const auto first = static_cast<int>(uint64_t{random} * static_cast<uint64_t>(threads_) >> 32);
  for (int k = 0; k < threads_; ++k) {
    const int victim = first + k < threads_ ? first + k : first + k - threads_;
    if (victim == index) continue;
    Word& other = shares_[victim].rest;
    uint64_t word = other.load(std::memory_order_relaxed);
    for (;;) {
      const Rest rest = Unpacked(word);
      if (rest.next >= rest.end) break;
      const uint32_t from = rest.end - (rest.end - rest.next + 1) / 2;
      if (!other.compare_exchange_weak(word, Packed({rest.home, rest.next, from}),
                                       std::memory_order_relaxed)) {
        continue;
      }
      // No other thread writes to a share that is empty.
      shares_[index].rest.store(Packed({rest.home, from + 1, rest.end}), std::memory_order_relaxed);
      *chunk = At(rest.home, from);
      return true;
    }
  }
  return false;
}

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_SHARES_H_
