#include "tests/support/fake_cuda/warp.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kiln::fake_cuda {
namespace {

// After so many choices among lanes that took different branches, others than the lowest run. A
// lane that waits for another one of its warp therefore does not keep it from running.
constexpr uint32_t kFairness = 64;

uint32_t LanesBelow(int lane) { return (1u << lane) - 1; }

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void Grid::Report(Fault::Kind kind, std::string text) {
  const std::lock_guard<std::mutex> guard(lock);
  if (fault.kind == Fault::kNone) fault = {kind, std::move(text)};
  stop = true;
}

Warp::Warp(Grid* grid, Block* block, uint32_t number, uint32_t seed)
    : grid_(grid),
      block_(block),
      shared_(reinterpret_cast<uint8_t*>(block->shared.get())),
      shared_bytes_(grid->shared_bytes),
      stack_bytes_(grid->stack_bytes),
      // Garbage, as on a device: clearing it takes longer than most blocks run.
      stacks_(static_cast<uint64_t*>(std::malloc(kLanes * grid->stack_bytes)), std::free),
      number_(number),
      random_(seed) {
  const uint32_t threads = grid->threads[0] * grid->threads[1] * grid->threads[2];
  const uint32_t lanes = std::min<uint32_t>(kLanes, threads - number * kLanes);
  live_ = lanes == kLanes ? ~0u : LanesBelow(static_cast<int>(lanes));
  if (is_checked() && grid->checks->unwritten != nullptr) {
    written_.reset(static_cast<uint8_t*>(std::calloc(kLanes, stack_bytes_)));
  }
  Specials(number);
  Push(grid->entry, live_, 0, nullptr, nullptr);
}

void Warp::Specials(uint32_t number) {
  const uint32_t* size = grid_->threads;
  const uint32_t threads = size[0] * size[1] * size[2];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t thread = number * kLanes + lane;
    const uint32_t values[kSpecials] = {
        thread % size[0],
        thread / size[0] % size[1],
        thread / size[0] / size[1],
        size[0],
        size[1],
        size[2],
        block_->index[0],
        block_->index[1],
        block_->index[2],
        grid_->blocks[0],
        grid_->blocks[1],
        grid_->blocks[2],
        lane,
        number,
        (threads + kLanes - 1) / kLanes,
        block_->index[0] % 4,
        4,
        static_cast<uint32_t>(grid_->id),
        1u << lane,
        (1u << lane) - 1,
        (2u << lane) - 1,
        ~((2u << lane) - 1),
        ~((1u << lane) - 1),
        static_cast<uint32_t>(grid_->dynamic_shared_bytes),
        static_cast<uint32_t>(grid_->shared_bytes),
    };
    for (int n = 0; n < kSpecials; ++n) specials_[n][lane] = values[n];
  }
}

bool Warp::Push(const Function* function, uint32_t lanes, uint64_t local_base, const Call* call,
                const Instruction* in) {
  if (local_base + function->local_bytes > stack_bytes_ || frames_.size() > 10000) {
    const int lane = __builtin_ctz(lanes);
    grid_->Report(Fault::kIllegalAddress,
                  "the stack overflows" +
                      (in == nullptr ? " in kernel " + function->name : " at " + Where(*in, lane)));
    return false;
  }
  Frame frame{function, nullptr, {}, lanes, lanes, local_base, call};
  // Registers begin as garbage that shows: code must not depend on them.
  const size_t words = (function->frame_bytes + 7) / 8 + 1;
  frame.registers.reset(new uint64_t[words]);
  std::memset(frame.registers.get(), 0xa5, words * 8);
  frames_.push_back(std::move(frame));
  NoteFrame(lanes, local_base, function->local_bytes, /*written=*/false);
  Enter();
  return true;
}

void Warp::Enter() {
  const Frame& frame = frames_.back();
  bases_[kFrameBase] = reinterpret_cast<uint8_t*>(frame.registers.get());
  bases_[kConstantBase] =
      const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(frame.function->constants.data()));
  bases_[kSpecialBase] = reinterpret_cast<uint8_t*>(specials_);
  bases_[kBases] = bases_[kFrameBase];
  pick_ = true;
  active_ = 0;
}

void Warp::CopySpans(const std::vector<Span>& from, uint64_t from_base, const std::vector<Span>& to,
                     uint64_t to_base, uint32_t lanes) {
  uint8_t* stacks = reinterpret_cast<uint8_t*>(stacks_.get());
  for (size_t n = 0; n < std::min(from.size(), to.size()); ++n) {
    const uint64_t bytes = std::min(from[n].bytes, to[n].bytes);
    EachLane(lanes, [&](int lane) {
      uint8_t* stack = stacks + lane * stack_bytes_;
      std::memmove(stack + to_base + to[n].offset, stack + from_base + from[n].offset, bytes);
    });
    NoteFrame(lanes, to_base + to[n].offset, bytes, /*written=*/true);
  }
}

void Warp::Pop() {
  const Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (frames_.empty()) return;
  if (frame.call != nullptr) {
    CopySpans(frame.function->results, frame.local_base, frame.call->results,
              frames_.back().local_base, frame.entered & live_);
  }
  Enter();
}

void Warp::Save() {
  EachLane(active_, [&](int lane) { frames_.back().pcs[lane] = pc_; });
  active_ = 0;
}

// Chooses the lanes that run next. False: none can, and `state` says why.
bool Warp::Pick(State* state) {
  Save();
  while (!frames_.empty() && frames_.back().live == 0) Pop();
  if (frames_.empty() || live_ == 0) {
    *state = kDone;
    return false;
  }
  const Frame& frame = frames_.back();
  const uint32_t free = frame.live & ~blocked_ & ~converging_;
  if (free == 0) {
    *state = kBlocked;
    if (converging_ == 0) return false;
    const Instruction& in = frame.function->code[frame.pcs[__builtin_ctz(converging_)]];
    grid_->Report(Fault::kDeadlock, "an instruction waits for lanes that never come: " +
                                        Where(in, __builtin_ctz(converging_)));
    *state = kFaulted;
    return false;
  }
  uint32_t lowest = ~0u;
  const uint32_t rested = (free & ~resting_) != 0 ? free & ~resting_ : free;
  resting_ = 0;
  EachLane(rested, [&](int lane) { lowest = std::min(lowest, frame.pcs[lane]); });
  if (++picks_ % kFairness == 0) {  // another one
    uint32_t skip = random_() % __builtin_popcount(free), rest = free;
    for (; skip > 0; --skip) rest &= rest - 1;
    lowest = frame.pcs[__builtin_ctz(rest)];
  }
  pc_ = lowest;
  limit_ = ~0u;
  EachLane(frame.live & ~blocked_, [&](int lane) {
    if (frame.pcs[lane] == pc_) active_ |= 1u << lane;
    if (frame.pcs[lane] > pc_) limit_ = std::min(limit_, frame.pcs[lane]);
  });
  converging_ &= ~active_;
  pick_ = false;
  return true;
}

Warp::State Warp::Run(int64_t budget) {
  State state = kDone;
  const int64_t end = instructions_ + budget;
  while (true) {
    if (pick_ || pc_ >= limit_) {
      if (!Pick(&state)) {
        pick_ = true;
        return state;
      }
    }
    if (grid_->stop.load(std::memory_order_relaxed)) return kFaulted;
    const Instruction& in = frames_.back().function->code[pc_];
    exec = active_;
    if (in.guard != kNoOperand) {
      const uint32_t mask = *At<uint32_t>(in.guard);
      exec &= in.guard_negated ? ~mask : mask;
    }
    ++instructions_;
    if (in.control == Control::kNone) {
      if (exec != 0) in.run(*this, in);
      ++pc_;
    } else {
      RunControl(in);
      // A lane that waits gives way to other blocks, too.
      if (instructions_ >= end || in.control == Control::kYield) return kYielded;
    }
  }
}

void Warp::RunControl(const Instruction& in) {
  if (exec == 0) {
    ++pc_;
    return;
  }
  switch (in.control) {
    case Control::kBranch:
      return Branch(exec, in.target);
    case Control::kTable:
      return BranchByTable(in);
    case Control::kCall:
      return RunCall(in);
    case Control::kReturn:
      return Leave(exec, /*exit=*/frames_.size() == 1);
    case Control::kExit:
      return Leave(exec, /*exit=*/true);
    case Control::kTrap:
      grid_->Report(Fault::kTrap, "trap at " + Where(in, __builtin_ctz(exec)));
      return;
    case Control::kBarrier:
      return Arrive(in);
    case Control::kConverge:
      return Converge(in);
    case Control::kYield:
      // So that lanes that wait for one of the warp do not keep it from running.
      ++pc_;
      resting_ = active_;
      pick_ = true;
      return;
    case Control::kNone:
      return;
  }
}

void Warp::Branch(uint32_t taken, int32_t target) {
  const Frame& frame = frames_.back();
  if (taken == active_) {
    pc_ = target;
    // With others waiting elsewhere, the lowest may be another one now.
    if (active_ != (frame.live & ~blocked_)) pick_ = true;
    return;
  }
  const uint32_t stay = active_ & ~taken;
  active_ = taken;
  const uint32_t next = pc_ + 1;
  pc_ = target;
  Save();
  active_ = stay;
  pc_ = next;
  pick_ = true;
}

void Warp::BranchByTable(const Instruction& in) {
  const std::vector<int32_t>& table = frames_.back().function->tables[in.target];
  const uint32_t* index = At<uint32_t>(in.s[0]);
  Frame& frame = frames_.back();
  const uint32_t taken = exec;
  EachLane(taken, [&](int lane) {
    if (index[lane] >= table.size()) {
      grid_->Report(Fault::kTrap, "brx.idx beyond its table at " + Where(in, lane));
    } else {
      frame.pcs[lane] = table[index[lane]];
    }
  });
  active_ &= ~taken;
  ++pc_;
  pick_ = true;
}

void Warp::RunCall(const Instruction& in) {
  const Frame& caller = frames_.back();
  const Call& call = caller.function->calls[in.target];
  uint32_t lanes = exec;
  int number = call.function;
  if (number < 0) {  // lanes may call different functions: the first one's come first
    const uint64_t* pointers = At<uint64_t>(in.s[0]);
    const uint64_t first = pointers[__builtin_ctz(lanes)];
    EachLane(exec, [&](int lane) {
      if (pointers[lane] != first) lanes &= ~(1u << lane);
    });
    if (first - kFunctionWindow >= grid_->program->functions.size()) {
      grid_->Report(Fault::kIllegalAddress, "call of " + Hex(first) +
                                                ", which is no function, at " +
                                                Where(in, __builtin_ctz(lanes)));
      return;
    }
    number = static_cast<int>(first - kFunctionWindow);
  }
  const Function& callee = grid_->program->functions[number];
  const uint32_t skip = active_ & ~exec, later = exec & ~lanes;
  const uint32_t here = pc_;
  active_ = skip | lanes;
  ++pc_;
  Save();
  active_ = later;
  pc_ = here;
  Save();
  const uint64_t caller_base = caller.local_base;
  const uint64_t base = (caller_base + caller.function->local_bytes + 15) / 16 * 16;
  if (!Push(&callee, lanes, base, &call, &in)) return;
  CopySpans(call.arguments, caller_base, callee.parameters, base, lanes);
  EachLane(lanes, [&](int lane) { frames_.back().pcs[lane] = 0; });
}

void Warp::Arrive(const Instruction& in) {
  // All of a block's barriers complete in Block's scheduler, when no warp runs.
  const int lane = __builtin_ctz(exec);
  const uint32_t number = in.s[0] == kNoOperand ? 0 : At<uint32_t>(in.s[0])[lane];
  const uint32_t expected = in.s[1] == kNoOperand ? 0 : At<uint32_t>(in.s[1])[lane];
  if (number >= kBarriers) {
    grid_->Report(Fault::kTrap, "a barrier's number is above 15 at " + Where(in, lane));
    return;
  }
  Barrier& barrier = block_->barriers[number];
  barrier.arrived += __builtin_popcount(exec);
  barrier.expected = expected;
  if (in.s[2] != kNoOperand) {
    uint32_t vote = *At<uint32_t>(in.s[2]);
    if ((in.flags & 8) != 0) vote = ~vote;
    barrier.voters += __builtin_popcount(exec);
    barrier.trues += __builtin_popcount(vote & exec);
    reductions_[number] = &in;
  }
  const uint32_t arrived = exec;
  ++pc_;
  Save();
  if ((in.flags & 16) == 0) {  // not bar.arrive
    blocked_ |= arrived;
    waits_[number] |= arrived;
  }
  pick_ = true;
}

void Warp::Release(int number, const Barrier& state) {
  const uint32_t lanes = waits_[number];
  const Instruction* in = reductions_[number];
  if (in != nullptr && lanes != 0 && in->d != kNoOperand) {
    const uint32_t kind = in->flags & 3;  // popc, and, or
    if (kind == 0) {
      EachLane(lanes, [&](int lane) { At<uint32_t>(in->d)[lane] = state.trues; });
    } else {
      const bool result = kind == 1 ? state.trues == state.voters : state.trues != 0;
      uint32_t* mask = At<uint32_t>(in->d);
      *mask = (*mask & ~lanes) | (result ? lanes : 0);
    }
  }
  reductions_[number] = nullptr;
  waits_[number] = 0;
  blocked_ &= ~lanes;
}

void Warp::Converge(const Instruction& in) {
  uint32_t wanted = 0;
  EachLane(exec, [&](int lane) { wanted |= member_mask(lane, in.s[0]); });
  wanted &= live_;
  if ((wanted & ~active_) != 0) {
    converging_ |= exec;
    const uint32_t waiting = exec, others = active_ & ~exec, here = pc_;
    active_ = waiting;
    Save();
    active_ = others;
    pc_ = here + 1;
    Save();
    pick_ = true;
    return;
  }
  in.run(*this, in);
  ++pc_;
}

void Warp::Leave(uint32_t lanes, bool exit) {
  Frame& frame = frames_.back();
  frame.live &= ~lanes;
  active_ &= ~lanes;
  ++pc_;
  if (exit) {
    live_ &= ~lanes;
    for (Frame& below : frames_) below.live &= ~lanes;
  }
  pick_ = true;
}

std::string Warp::Where(const Instruction& in, int lane) const {
  const uint32_t* at = block_->index;
  std::string text = "line " + std::to_string(in.line) + " of the PTX of module " +
                     std::to_string(grid_->program->number) + ", kernel " + grid_->entry->name +
                     ", block (" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " +
                     std::to_string(at[2]) + "), thread (";
  for (const Special axis : {kTidX, kTidY, kTidZ}) {
    text += std::to_string(specials_[axis][lane]) + (axis == kTidZ ? ")" : ", ");
  }
  return text;
}

// --- Checks

namespace {

// The space that a generic address is in; *address becomes that of the space.
Space Resolve(uint64_t* address) {
  if (*address < kSharedWindow) return Space::kGlobal;
  const Space space = *address < kLocalWindow   ? Space::kShared
                      : *address < kParamWindow ? Space::kLocal
                                                : Space::kParam;
  *address %= kWindowBytes;
  return space;
}

const char* NameOf(Space space) {
  if (space == Space::kShared) return "shared";
  return space == Space::kLocal ? "local" : "global";
}

}  // namespace

void Warp::Note(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
                AccessKind kind, bool changes) {
  if (space == Space::kGeneric) space = Resolve(&address);
  if (space == Space::kParam || space == Space::kConst) return;
  const AccessChecks& checks = *grid_->checks;
  if (checks.unwritten != nullptr) NoteInit(in, lane, space, address, bytes, kind);
  // A write of what is there already is harmless, whoever else accesses it.
  if (checks.races == nullptr || space == Space::kLocal) return;
  if (kind == AccessKind::kRead || changes) NoteRace(in, lane, space, address, bytes, kind);
}

void Warp::NoteRace(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
                    AccessKind kind) {
  RaceChecks& races = *grid_->checks->races;
  const uint32_t threads = grid_->threads[0] * grid_->threads[1] * grid_->threads[2];
  SeenAccess access;
  access.thread = block_->number * threads + number_ * kLanes + static_cast<uint32_t>(lane);
  access.block = block_->number;
  access.warp = number_;
  access.block_epoch = block_->epoch;
  access.warp_epoch = warp_epoch_;
  access.time = races.time();
  access.line = in.line;
  access.is_atomic = in.is_ordered || kind == AccessKind::kUpdate;
  RaceChecks::Race race;
  bool found = false;
  if (space == Space::kGlobal) {
    found = races.NoteGlobal(address, bytes, kind, access, &race);
  } else {
    if (block_->seen.empty()) block_->seen.resize(grid_->shared_bytes);
    for (uint64_t n = 0; n < bytes; ++n) {
      found |= races.Note(&block_->seen[address + n], kind, access, &race);
    }
  }
  if (!found) return;
  const uint32_t other = race.other.thread;
  const auto verb = [](bool is_write) { return is_write ? "writes" : "reads"; };
  grid_->checks->Report(in.line, race.other.line,
                        "race: a thread " + std::string(verb(kind != AccessKind::kRead)) + " " +
                            std::to_string(bytes) + " bytes of " + NameOf(space) + " memory at " +
                            Hex(address) + " in " + Where(in, lane) + ", and thread " +
                            std::to_string(other % threads) + " of block " +
                            std::to_string(other / threads) + " " + verb(race.is_write) +
                            " them in line " + std::to_string(race.other.line));
}

void Warp::NoteInit(const Instruction& in, int lane, Space space, uint64_t address, uint64_t bytes,
                    AccessKind kind) {
  UnwrittenBytes& unwritten = *grid_->checks->unwritten;
  bool is_wrong = false;
  if (space == Space::kGlobal) {
    if (kind != AccessKind::kWrite) is_wrong = unwritten.HasAny(address, bytes);
    if (kind != AccessKind::kRead) unwritten.Remove(address, bytes);
  } else {
    if (space == Space::kShared && block_->written.empty()) {
      block_->written.resize(grid_->shared_bytes);
    }
    for (uint64_t at = address; at < address + bytes; ++at) {
      uint8_t* own = space == Space::kLocal ? written_.get() + lane * stack_bytes_ + at : nullptr;
      is_wrong |= kind != AccessKind::kWrite && !(own != nullptr ? *own != 0 : block_->written[at]);
      if (kind == AccessKind::kRead) continue;
      if (own != nullptr) {
        *own = 1;
      } else {
        block_->written[at] = true;
      }
    }
  }
  if (!is_wrong) return;
  grid_->checks->Report(in.line, 0,
                        "init: a thread reads " + std::to_string(bytes) + " bytes of " +
                            NameOf(space) + " memory at " + Hex(address) +
                            " that nothing has written, in " + Where(in, lane));
}

void Warp::NoteFrame(uint32_t lanes, uint64_t base, uint64_t bytes, bool written) {
  if (written_ == nullptr) return;
  EachLane(lanes, [&](int lane) {
    std::memset(written_.get() + lane * stack_bytes_ + base, written ? 1 : 0, bytes);
  });
}

void Warp::NoteFence() {
  if (grid_->checks->races != nullptr) grid_->checks->races->NoteFence(block_->number);
}

uint8_t* Warp::FindMemory(const Instruction& in, int lane, uint64_t address, uint64_t bytes,
                          Cached* cached) {
  const std::vector<Interval>& memory = grid_->memory;
  auto after = std::upper_bound(memory.begin(), memory.end(), address,
                                [](uint64_t at, const Interval& i) { return at < i.begin; });
  if (after != memory.begin() && Fits(address - std::prev(after)->begin, bytes,
                                      std::prev(after)->end - std::prev(after)->begin)) {
    const Interval& found = *std::prev(after);
    *cached = {found.begin, found.end - found.begin, found.shift};
    return reinterpret_cast<uint8_t*>(address + found.shift);
  }
  std::string nearest = "no memory is allocated";
  if (!memory.empty()) {
    const Interval& near = after == memory.begin() ? *after : *std::prev(after);
    const bool behind = address >= near.begin;
    nearest = std::to_string(behind ? address + bytes - near.end : near.begin - address) +
              (behind ? " bytes behind" : " bytes before") + " an allocation of " +
              std::to_string(near.end - near.begin) + " bytes at " + Hex(near.begin);
  }
  for (const Gap& gap : grid_->gaps) {
    if (address >= gap.begin && address < gap.end) nearest = gap.what;
  }
  grid_->Report(Fault::kIllegalAddress, "access of " + std::to_string(bytes) + " bytes at " +
                                            Hex(address) + " (" + nearest + ") in " +
                                            Where(in, lane));
  return nullptr;
}

uint8_t* Warp::Outside(const Instruction& in, int lane, const char* space, uint64_t address,
                       uint64_t bytes, uint64_t size) {
  grid_->Report(Fault::kIllegalAddress, "access of " + std::to_string(bytes) + " bytes at " +
                                            Hex(address) + " of " + std::to_string(size) +
                                            " bytes of " + space + " memory in " + Where(in, lane));
  return nullptr;
}

uint8_t* Warp::Misaligned(const Instruction& in, int lane, uint64_t address, uint64_t align) {
  grid_->Report(Fault::kMisaligned, "address " + Hex(address) + " is not a multiple of " +
                                        std::to_string(align) + " in " + Where(in, lane));
  return nullptr;
}

}  // namespace kiln::fake_cuda
