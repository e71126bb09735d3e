#include "client_cpp/access_history.h"

#include <algorithm>
#include <limits>

#include "runtime/loaded_kernel.h"

namespace kiln {
namespace {

// Indices have 32 bits.
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kFar = int64_t{1} << 40;

// The integer in a slot, whose bytes beyond the scalar are zero.
int64_t IntegerIn(uint64_t slot, uint32_t scalar) {
  switch (scalar) {
    case proto::I8:
      return static_cast<int8_t>(slot);
    case proto::I16:
      return static_cast<int16_t>(slot);
    case proto::I32:
    case proto::U32:  // an index has 32 bits, and a sign
      return static_cast<int32_t>(slot);
    default:
      return static_cast<int64_t>(slot);
  }
}

// `missing` stands for an end that is not known.
int64_t ValueOf(const proto::Bound& bound, const KernelInfo& info, const uint64_t* slots,
                int64_t missing) {
  if (bound.argument() == 0) return bound.number();
  const uint32_t slot = bound.argument() - 1;
  const int64_t argument = IntegerIn(slots[slot], info.arguments[slot].scalar);
  if (argument > kFar || argument < -kFar) return missing;
  int64_t product, sum;
  if (__builtin_mul_overflow(bound.factor(), argument, &product) ||
      __builtin_add_overflow(product, bound.number(), &sum)) {
    return missing;
  }
  return sum;
}

bool NamesSlots(const proto::Access& access, size_t num_slots) {
  if (access.slot() >= num_slots) return false;
  for (const proto::Interval& axis : access.axes()) {
    if (axis.first().argument() > num_slots || axis.last().argument() > num_slots) return false;
  }
  return true;
}

using Intervals = absl::InlinedVector<std::pair<int64_t, int64_t>, 4>;

bool IsEmpty(const Intervals& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const auto& i) { return i.second < i.first; });
}

// Arrays that one kernel sees as numbers and another one as vectors have other axes: as good as
// the same cells.
bool Overlap(const Intervals& a, const Intervals& b) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].second < b[i].first || b[i].second < a[i].first) return false;
  }
  return true;
}

// Makes `into` the union of both if that is a box again.
bool Unite(const Intervals& cells, Intervals* into) {
  if (cells.size() != into->size()) return false;
  int differs = -1;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == (*into)[i]) continue;
    if (differs >= 0) return false;
    differs = static_cast<int>(i);
  }
  if (differs < 0) return true;
  const auto& [first, last] = cells[differs];
  auto& [into_first, into_last] = (*into)[differs];
  // Written so that no end overflows.
  if ((last < into_first && last + 1 != into_first) ||
      (into_last < first && into_last + 1 != first)) {
    return false;
  }
  into_first = std::min(into_first, first);
  into_last = std::max(into_last, last);
  return true;
}

}  // namespace

const AccessHistory::Known& AccessHistory::KnownOf(
    const std::shared_ptr<const Instance>& instance) {
  const auto [at, is_new] = known_.try_emplace(instance.get());
  Known& known = at->second;
  if (!is_new) return known;
  known.instance = instance;
  const std::shared_ptr<const proto::ArtifactInfo>& info = instance->outcome().info;
  if (info == nullptr) return known;
  for (const proto::Access& access : info->accesses()) {
    // Of an entry that no compiler of ours made.
    if (!NamesSlots(access, instance->kernel()->info().arguments.size())) continue;
    (access.writes() ? known.writes : known.reads)
        .push_back({instance.get(), NodeNumber(access.source()), &access});
  }
  return known;
}

AccessHistory::Memory AccessHistory::MemoryOf(const Access& access, const uint64_t* slots) {
  uint64_t address = slots[access.box->slot()];
  const uint32_t node = access.box->tree_node();
  if (node != 0) address = reinterpret_cast<const uint64_t*>(address)[node];
  return {address + access.box->offset(), node != 0};
}

AccessHistory::Intervals AccessHistory::CellsOf(const Access& access, const uint64_t* slots) {
  const KernelInfo& info = access.instance->kernel()->info();
  Intervals cells;
  for (const proto::Interval& axis : access.box->axes()) {
    cells.push_back({axis.has_first() ? ValueOf(axis.first(), info, slots, kLeast) : kLeast,
                     axis.has_last() ? ValueOf(axis.last(), info, slots, kMost) : kMost});
  }
  return cells;
}

void AccessHistory::Write(const Access& access, const uint64_t* slots) {
  Intervals cells = CellsOf(access, slots);
  if (IsEmpty(cells)) return;
  std::vector<Written>& written = written_[MemoryOf(access, slots)];
  // A time loop writes one step after the other, which makes one box; or the same cells again.
  constexpr size_t kLookedAt = 4;
  const size_t count = std::min(kLookedAt, written.size());
  for (auto at = written.rbegin(); at != written.rbegin() + static_cast<ptrdiff_t>(count); ++at) {
    if (Unite(cells, &at->cells)) return;
  }
  written.push_back({std::move(cells), access});
}

std::optional<AccessConflict> AccessHistory::Add(const std::shared_ptr<const Instance>& instance,
                                                 const uint64_t* slots) {
  const Known& known = KnownOf(instance);
  std::optional<AccessConflict> conflict;
  for (const Access& read : known.reads) {
    const auto found = written_.find(MemoryOf(read, slots));
    if (found == written_.end()) continue;
    const Intervals cells = CellsOf(read, slots);
    if (IsEmpty(cells)) continue;
    for (const Written& written : found->second) {
      if (conflict || !Overlap(cells, written.cells)) continue;
      if (!reported_.insert({read.box, written.by.box}).second) continue;
      conflict = {instance.get(), written.by.instance, read.source, written.by.source};
    }
  }
  // After its reads: a kernel that overwrites what it reads itself is the compiler's to refuse.
  for (const Access& write : known.writes) Write(write, slots);
  return conflict;
}

}  // namespace kiln
