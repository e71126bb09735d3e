// What a loop gains by many threads, by a simulation of the pool: bench/pool.py runs it.
//
// Machines with many cores are rare where Kiln is built. This program therefore records what the
// iterations of some loops cost, measures what threads cost here (to wake one, to pass a cache line
// on), and then plays the pool's protocol (runtime/cpu/thread_pool.cc) with as many threads as
// asked for, an event at a time. The shares are those of the pool (runtime/cpu/shares.h) over words
// that count time; the rest of the protocol is written down again below. Loops with two threads
// also run on the real pool, which shows how far the simulation is off.
//
// Two pools are played: Kiln's, and a plain one, for comparison: the caller wakes all threads in
// turn, all enter and leave by one word, and those without work take a chunk at a time from the
// next thread in the ring.
//
// Not simulated: memory that cores share, caches, and cores that run at different speeds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cpu/shares.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/grain.h"

namespace kiln {
namespace {

// ---- what the machine costs, in nanoseconds

struct Costs {
  double wake_call, wake;  // of the caller; until the thread runs
  double transfer;         // a cache line that another core wrote last
  double local = 6;        // an atomic operation on a line of one's own
  // Loads of a search and stores before a launch do not depend on each other: processors have
  // several of them under way at once.
  double several = 4;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Half of the time in which two threads pass a line to each other and back: the best of several
// tries, since a thread may have to wait for a core.
double MeasureTransfer() {
  constexpr int kTries = 50, kTurns = 2'000;
  std::atomic<int> turn{0};
  std::thread other([&] {
    for (int i = 0; i < kTries * kTurns; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  double best = 1e9;
  for (int i = 0; i < kTries * kTurns;) {
    const int64_t start = NowNanoseconds();
    for (const int end = i + kTurns; i < end; ++i) {
      turn.store(2 * i + 1, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
    best = std::min(best, static_cast<double>(NowNanoseconds() - start) / kTurns / 2);
  }
  other.join();
  return best;
}

// By launches of two chunks whose threads are parked: the second chunk is the worker's, and the
// caller's lasts longer than the worker takes to arrive.
void MeasureWake(Costs* costs) {
  struct Seen {
    int64_t begun[2];
  } seen;
  const KilnTask look = [](const KilnContext* ctx, int64_t begin, int64_t, int32_t index) {
    auto* seen = reinterpret_cast<Seen*>(ctx->arguments[0]);
    const int64_t now = NowNanoseconds();
    if (begin == index) seen->begun[index] = now;
    if (index == 0) {
      while (NowNanoseconds() < now + 400'000) {
      }
    }
  };
  ThreadPool pool(2);
  volatile uint32_t failed = 0;
  uint64_t arguments[1] = {reinterpret_cast<uint64_t>(&seen)};
  KilnContext ctx = {};
  ctx.arguments = arguments;
  ctx.failed = &failed;
  std::vector<double> calls, wakes;
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    seen = {};
    int64_t iterations, nanoseconds;
    const int64_t start = NowNanoseconds();
    pool.TryRun(ctx, {look, 0, 2, 1, 2}, &iterations, &nanoseconds);
    if (seen.begun[0] == 0 || seen.begun[1] == 0) continue;  // one came too late
    calls.push_back(static_cast<double>(seen.begun[0] - start));
    wakes.push_back(static_cast<double>(seen.begun[1] - seen.begun[0]));
  }
  if (calls.empty()) return;
  costs->wake_call = Median(calls);
  costs->wake = std::max(1000.0, Median(wakes));
}

// ---- simulated threads

// The thread whose step is being played, and its time.
struct {
  int thread = 0;
  double now = 0;
  const Costs* costs = nullptr;
} playing;

// A word in memory. An operation waits for those before it, and for the line if another thread had
// it.
class Line {
 public:
  // An atomic operation.
  void Change() {
    const bool own = owner_ == playing.thread;
    playing.now =
        std::max(playing.now, free_) + (own ? playing.costs->local : playing.costs->transfer);
    free_ = playing.now;
    owner_ = playing.thread;
  }
  // A load or store that need not wait for those before it.
  void Access(bool write) {
    const bool own = owner_ == playing.thread;
    playing.now += own ? 1 : playing.costs->transfer / playing.costs->several;
    if (write) owner_ = playing.thread;
  }

 private:
  double free_ = 0;
  int owner_ = -1;
};

class CountedWord {
 public:
  CountedWord(uint64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  uint64_t load(std::memory_order) {
    line_.Access(false);
    return value_;
  }
  void store(uint64_t value, std::memory_order) {
    line_.Access(true);
    value_ = value;
  }
  // The steps of threads do not overlap, so that it never fails.
  bool compare_exchange_weak(uint64_t&, uint64_t desired, std::memory_order) {
    line_.Change();
    value_ = desired;
    return true;
  }

 private:
  Line line_;
  uint64_t value_;
};

// A loop: what each iteration costs, as sums before it, and whether threads are awake when it
// begins.
struct Loop {
  std::string name;
  std::vector<double> before;  // one more than there are iterations
  bool awake;
  int64_t count() const { return static_cast<int64_t>(before.size()) - 1; }
  double all() const { return before.back(); }
  double Of(Chunk chunk) const { return before[chunk.end] - before[chunk.begin]; }
};

// A pool whose threads are awake or parked.
class Threads final : public Executor {
 public:
  explicit Threads(bool awake) : awake_(awake) {}
  bool TryRun(const KilnContext&, const Range&, int64_t*, int64_t*) override { return false; }
  bool Awake(int) const override { return awake_; }
  int concurrency() const override { return kMaxPoolThreads; }
  bool has_own_threads() const override { return false; }

 private:
  const bool awake_;
};

// As many threads as a launch takes that no other has come just before.
int ThreadsOf(const Loop& loop, int most) {
  int threads = 0;
  // A thread of its own: bursts are those of a thread.
  std::thread([&] { threads = ThreadsFor(loop.all(), most, Threads(loop.awake)).threads; }).join();
  return threads;
}

// The pool's protocol, a step of a thread at a time.
class Play {
 public:
  Play(const Loop& loop, const Costs& costs, int threads, bool plain)
      : loop_(loop),
        plain_(plain),
        threads_(plain ? threads : ThreadsOf(loop, threads)),
        shares_(std::make_unique<BasicShares<CountedWord>>()),
        ring_(threads_) {
    playing.costs = &costs;
    Cost cost;
    cost.Measure(static_cast<int64_t>(loop.all()), loop.count());
    chunk_ = cost.ChunkSize(loop.count(), threads_, 1);
  }

  // The nanoseconds from the launch to its end.
  double Run() {
    playing.thread = 0;
    playing.now = 0;
    Open();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      playing.now = event.at;
      playing.thread = event.thread;
      Step(event.thread);
    }
    return end_;
  }

 private:
  struct Event {
    double at;
    int thread;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  enum class At { kAway, kArriving, kWorking, kGone };
  struct Thread {
    At at = At::kAway;
    int woken = 0;
  };

  void Open() {
    if (plain_) {
      const int64_t share = (loop_.count() + threads_ - 1) / threads_;
      for (int t = 0; t < threads_; ++t) {
        ring_[t].next = std::min(loop_.count(), t * share);
        ring_[t].end = std::min(loop_.count(), (t + 1) * share);
        ring_[t].line.Access(true);
      }
      gates_[0].Access(true);
    } else {
      shares_->Deal(loop_.count(), chunk_, 1, threads_);
      for (int t = 0; t < threads_; t += kGroup) gates_[t / kGroup].Access(true);
    }
    state_.resize(threads_);
    if (loop_.awake) {
      for (int t = 1; t < threads_; ++t) Arrive(t, playing.now + playing.costs->transfer);
    }
    Arrive(0, playing.now);
  }

  void Arrive(int thread, double at) {
    state_[thread].at = At::kArriving;
    events_.push({at, thread});
  }

  // Whether a thread that arrives wakes another one, which is a step of its own: calls of the
  // system take long, and the steps of others fall into that time.
  bool Wakes(int thread, Thread* state) {
    const int most = plain_ ? (thread == 0 ? threads_ : 0) : 2;
    if (loop_.awake || state->woken == most || next_ == threads_ || closed_) return false;
    if (!plain_) next_line_.Change();
    playing.now += playing.costs->wake_call;
    Arrive(next_++, playing.now + playing.costs->wake);
    ++state->woken;
    events_.push({playing.now, thread});
    return true;
  }

  bool Take(Chunk* chunk) {
    if (!plain_) return shares_->Take(playing.thread, chunk);
    for (int k = 0; k < threads_; ++k) {
      Ring& share = ring_[(playing.thread + k) % threads_];
      share.line.Access(false);
      if (share.next >= share.end) continue;
      share.line.Change();
      *chunk = {share.next, std::min(share.end, share.next + chunk_)};
      share.next = chunk->end;
      return true;
    }
    return false;
  }

  void Step(int thread) {
    Line& gate = gates_[plain_ ? 0 : thread / kGroup];
    Thread& state = state_[thread];
    if (state.at == At::kArriving) {
      if (Wakes(thread, &state)) return;
      if (thread != 0) {
        gate.Change();
        // The caller has found no chunk left, and closed the gates.
        if (closed_ && playing.now > closed_at_) return;
        ++inside_;
      }
      state.at = At::kWorking;
    }
    Chunk chunk;
    if (Take(&chunk)) {
      events_.push({playing.now + loop_.Of(chunk), thread});
      return;
    }
    if (thread == 0) {
      for (int t = 0; t < (plain_ ? 1 : threads_); t += kGroup) gates_[t / kGroup].Change();
      closed_ = true;
      closed_at_ = playing.now;
    } else {
      gate.Change();
      --inside_;
    }
    state.at = At::kGone;
    // The caller sees the last one leave.
    if (closed_ && inside_ == 0) end_ = playing.now + playing.costs->transfer;
  }

  struct Ring {
    int64_t next, end;
    Line line;
  };
  static constexpr int kGroup = ThreadPool::kThreadsOfGroup;

  const Loop& loop_;
  const bool plain_;
  const int threads_;
  int64_t chunk_ = 1;
  std::unique_ptr<BasicShares<CountedWord>> shares_;
  std::vector<Ring> ring_;
  std::vector<Thread> state_;
  Line gates_[kMaxPoolThreads / kGroup], next_line_;
  int next_ = 1, inside_ = 0;
  bool closed_ = false;
  double closed_at_ = 0, end_ = 0;
  std::priority_queue<Event> events_;
};

// ---- the loops, and the real pool

// Rows of a Mandelbrot set: the middle ones cost a hundred times as much as those at the rim.
double Mandelbrot(int row) {
  const int64_t start = NowNanoseconds();
  volatile int inside = 0;
  for (int column = 0; column < 256; ++column) {
    const float cx = -2.0f + 3.0f * column / 256, cy = -1.5f + 3.0f * row / 1024;
    float x = 0, y = 0;
    int n = 0;
    for (; n < 100 && x * x + y * y < 4; ++n) {
      const float next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
    }
    inside = inside + n;
  }
  return static_cast<double>(NowNanoseconds() - start);
}

template <typename Each>
Loop Recorded(const char* name, int64_t count, bool awake, const Each& each) {
  Loop loop{name, {0}, awake};
  for (int64_t i = 0; i < count; ++i) loop.before.push_back(loop.before.back() + each(i));
  return loop;
}

// Nanoseconds on the real pool: its iterations wait for as long as they cost.
double Real(const Loop& loop, int threads) {
  ThreadPool pool(threads);
  const KilnTask wait = [](const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
    const auto& loop = *reinterpret_cast<const Loop*>(ctx->arguments[0]);
    const int64_t until = NowNanoseconds() + static_cast<int64_t>(loop.Of({begin, end}));
    while (NowNanoseconds() < until) {
    }
  };
  volatile uint32_t failed = 0;
  uint64_t arguments[1] = {reinterpret_cast<uint64_t>(&loop)};
  KilnContext ctx = {};
  ctx.arguments = arguments;
  ctx.failed = &failed;
  Cost cost;
  cost.Measure(static_cast<int64_t>(loop.all()), loop.count());
  std::vector<double> times;
  // The pool's thread takes a moment to start.
  const int64_t warm = NowNanoseconds() + 20'000'000;
  while (times.size() < 50) {
    if (!loop.awake) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    int64_t iterations, nanoseconds;
    const int64_t start = NowNanoseconds();
    pool.TryRun(ctx, {wait, 0, loop.count(), cost.ChunkSize(loop.count(), threads, 1), threads},
                &iterations, &nanoseconds);
    const int64_t end = NowNanoseconds();
    if (start >= warm) times.push_back(static_cast<double>(end - start));
  }
  return Median(times);
}

int Main() {
  Costs costs{2'000, 50'000, 60};  // where nothing can be measured
  costs.transfer = MeasureTransfer();
  MeasureWake(&costs);
  std::vector<double> rows(1024);
  for (int row = 0; row < 1024; ++row) rows[row] = std::min(Mandelbrot(row), Mandelbrot(row));
  const auto even = [](double cost) { return [cost](int64_t) { return cost; }; };
  const std::vector<Loop> loops = {
      Recorded("20 us, threads awake", 4096, true, even(20e3 / 4096)),
      Recorded("200 us, threads awake", 65536, true, even(200e3 / 65536)),
      Recorded("200 us, threads parked", 65536, false, even(200e3 / 65536)),
      Recorded("2 ms, threads parked", 65536, false, even(2e6 / 65536)),
      Recorded("Mandelbrot rows, awake", 1024, true, [&](int64_t i) { return rows[i]; }),
      Recorded("a triangle, 4 ms, awake", 4096, true,
               [](int64_t i) { return 8e6 / 4096 / 4096 * static_cast<double>(i); }),
  };
  std::printf("{\"costs\": {\"wake_call\": %.0f, \"wake\": %.0f, \"transfer\": %.0f}, \"loops\": [",
              costs.wake_call, costs.wake, costs.transfer);
  for (size_t i = 0; i < loops.size(); ++i) {
    const Loop& loop = loops[i];
    std::printf("%s {\"name\": \"%s\", \"one\": %.0f, \"real\": %.0f", i == 0 ? "" : ",",
                loop.name.c_str(), loop.all(), Real(loop, 2));
    for (const bool plain : {true, false}) {
      std::printf(", \"%s\": {", plain ? "plain" : "kiln");
      for (int threads = 2; threads <= 128; threads *= 2) {
        std::printf("%s\"%d\": %.0f", threads == 2 ? "" : ", ", threads,
                    Play(loop, costs, threads, plain).Run());
      }
      std::printf("}");
    }
    std::printf("}");
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace kiln

int main() { return kiln::Main(); }
