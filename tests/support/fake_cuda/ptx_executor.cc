#include "tests/support/fake_cuda/ptx_executor.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace kiln::fake_cuda {
namespace {

// Instructions that a warp runs in a turn, and turns after which a block makes room for another.
constexpr int64_t kTurn = 20000;
constexpr int kPatience = 200;
constexpr size_t kMostBlocks = 16;  // that one thread of the host runs at a time

// The order of blocks: a walk through all numbers whose step has no factor in common with the
// count.
class Order {
 public:
  Order(uint64_t count, uint32_t seed) : count_(count), step_(1), at_(0) {
    std::minstd_rand random(seed);
    if (count > 2) {
      step_ = random() % count;
      while (std::gcd(step_, count) != 1) step_ = (step_ + 1) % count;
    }
    at_ = count == 0 ? 0 : random() % count;
  }
  bool Take(uint64_t* block) {
    const std::lock_guard<std::mutex> guard(lock_);
    if (taken_ == count_) return false;
    ++taken_;
    *block = at_;
    at_ = (at_ + step_) % count_;
    return true;
  }

 private:
  std::mutex lock_;
  uint64_t count_, taken_ = 0, step_, at_;
};

class BlockRun {
 public:
  BlockRun(Grid* grid, uint64_t number, uint32_t seed) : random_(seed) {
    block_.grid = grid;
    block_.number = static_cast<uint32_t>(number);
    block_.index[0] = static_cast<uint32_t>(number % grid->blocks[0]);
    block_.index[1] = static_cast<uint32_t>(number / grid->blocks[0] % grid->blocks[1]);
    block_.index[2] = static_cast<uint32_t>(number / grid->blocks[0] / grid->blocks[1]);
    const size_t words = grid->shared_bytes / 8 + 1;
    block_.shared.reset(new uint64_t[words]);
    std::memset(block_.shared.get(), 0xa5, words * 8);
    const uint32_t threads = grid->threads[0] * grid->threads[1] * grid->threads[2];
    for (uint32_t n = 0; n * kLanes < threads; ++n) {
      warps_.push_back(std::make_unique<Warp>(grid, &block_, n, static_cast<uint32_t>(random_())));
    }
    todo_.resize(warps_.size());
    std::iota(todo_.begin(), todo_.end(), 0);
  }

  // Gives each warp a turn. True: the block has ended.
  bool RunTurn() {
    std::shuffle(todo_.begin(), todo_.end(), random_);
    bool all_blocked = true;
    std::vector<uint32_t> rest;
    for (const uint32_t n : todo_) {
      const Warp::State state = warps_[n]->Run(kTurn);
      if (state == Warp::kFaulted) return true;
      if (state != Warp::kDone) rest.push_back(n);
      if (state == Warp::kYielded) all_blocked = false;
    }
    todo_ = std::move(rest);
    if (todo_.empty()) return true;
    if (ReleaseBarriers() || !all_blocked) return false;
    ReportDeadlock();
    return true;
  }

  int64_t Instructions() const {
    int64_t sum = 0;
    for (const auto& warp : warps_) sum += warp->instructions();
    return sum;
  }

 private:
  bool ReleaseBarriers() {
    uint32_t live = 0;
    for (const uint32_t n : todo_) live += __builtin_popcount(warps_[n]->live());
    bool any = false;
    for (int n = 0; n < kBarriers; ++n) {
      Barrier& barrier = block_.barriers[n];
      const uint32_t expected = barrier.expected == 0 ? live : barrier.expected;
      if (barrier.arrived == 0 || barrier.arrived < expected) continue;
      for (const uint32_t w : todo_) warps_[w]->Release(n, barrier);
      barrier = Barrier();
      ++block_.epoch;
      any = true;
    }
    return any;
  }

  void ReportDeadlock() {
    std::string text = "a block's threads wait for a barrier that others never reach: kernel " +
                       block_.grid->entry->name + ", block (" + std::to_string(block_.index[0]) +
                       ", " + std::to_string(block_.index[1]) + ", " +
                       std::to_string(block_.index[2]) + ")";
    for (int n = 0; n < kBarriers; ++n) {
      if (block_.barriers[n].arrived == 0) continue;
      text += ", barrier " + std::to_string(n) + " with " +
              std::to_string(block_.barriers[n].arrived) + " threads";
    }
    block_.grid->Report(Fault::kDeadlock, text);
  }

  Block block_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<uint32_t> todo_;
  std::minstd_rand random_;
};

void RunBlocks(Grid* grid, Order* order, uint32_t seed, std::atomic<int64_t>* instructions) {
  std::list<BlockRun> running;
  bool more = true;
  uint64_t number = 0;
  int turns = kPatience;
  while (!grid->stop) {
    if (more && (running.empty() || grid->is_cooperative ||
                 (turns >= kPatience && running.size() < kMostBlocks))) {
      more = order->Take(&number);
      if (more)
        running.emplace_back(grid, number, seed + static_cast<uint32_t>(number) * 747796405u);
      turns = 0;
    }
    if (running.empty()) return;
    for (auto run = running.begin(); run != running.end();) {
      if (run->RunTurn()) {
        *instructions += run->Instructions();
        run = running.erase(run);
      } else {
        ++run;
      }
    }
    ++turns;
  }
}

uint64_t StackBytes(const Program& program) {
  uint64_t most = 0;
  for (const Function& function : program.functions) most = std::max(most, function.local_bytes);
  return (most * 2 + (uint64_t{64} << 10) + 15) / 16 * 16;
}

}  // namespace

void PrepareGrid(const Program& program, const Function& entry, const uint32_t blocks[3],
                 const uint32_t threads[3], uint64_t dynamic_shared_bytes, Grid* grid) {
  grid->program = &program;
  grid->entry = &entry;
  std::copy(blocks, blocks + 3, grid->blocks);
  std::copy(threads, threads + 3, grid->threads);
  grid->dynamic_shared_bytes = dynamic_shared_bytes;
  grid->shared_bytes = program.shared_bytes + dynamic_shared_bytes;
  grid->stack_bytes = StackBytes(program);
}

void RunGrid(Grid* grid, uint32_t seed, int host_threads, int64_t* instructions) {
  const uint64_t count = uint64_t{grid->blocks[0]} * grid->blocks[1] * grid->blocks[2];
  Order order(count, seed);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> helpers;
  for (int n = 1; n < host_threads && static_cast<uint64_t>(n) < count; ++n) {
    helpers.emplace_back([&] { RunBlocks(grid, &order, seed, &sum); });
  }
  RunBlocks(grid, &order, seed, &sum);
  for (std::thread& helper : helpers) helper.join();
  *instructions += sum;
}

}  // namespace kiln::fake_cuda
