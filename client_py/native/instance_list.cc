#include "client_py/native/instance_list.h"

#include <algorithm>
#include <utility>

#include "client_py/native/matching.h"

namespace kiln {
namespace {

// Comparing so many instances with the arguments costs less than a hash of the arguments.
constexpr size_t kFew = 4;

bool TellsApart(const Matcher& matcher) {
  return matcher.kind == Matcher::kIs || matcher.kind == Matcher::kWeak ||
         matcher.kind == Matcher::kEqual;
}

// A weak reference whose object is gone can never match again.
bool IsDead(BoundInstance* bound) {
  return !MemoriesAlive(bound) ||
         std::any_of(bound->matchers.begin(), bound->matchers.end(), [](const Matcher& matcher) {
           return matcher.kind == Matcher::kWeak && PyWeakref_GET_OBJECT(matcher.object) == Py_None;
         });
}

}  // namespace

uint64_t InstanceList::current_epoch_ = 0;

void InstanceList::CatchUp() {
  if (epoch_ == current_epoch_) return;
  epoch_ = current_epoch_;
  Clear();
}

void InstanceList::Clear() {
  // Take the instances out of the list before dropping them: dropping one may run Python code that
  // calls the kernel.
  std::vector<BoundInstance*> dropped;
  dropped.swap(instances_);
  used_.clear();
  telling_.clear();
  ++changes_;
  for (BoundInstance* bound : dropped) InstanceRef::Drop(bound);
}

void InstanceList::Prune() {
  std::vector<BoundInstance*> live, dropped;
  for (BoundInstance* bound : instances_) (IsDead(bound) ? dropped : live).push_back(bound);
  if (dropped.empty()) return;
  instances_.swap(live);
  used_.clear();
  ++changes_;
  for (BoundInstance* bound : dropped) InstanceRef::Drop(bound);
}

void InstanceList::Add(std::unique_ptr<BoundInstance> bound) {
  CatchUp();
  // The objects of the matchers are what a call's arguments will be, where these tell apart.
  std::vector<PyObject*> args;
  for (const Matcher& matcher : bound->matchers) {
    const auto i = static_cast<Py_ssize_t>(args.size());
    args.push_back(matcher.kind == Matcher::kWeak ? PyWeakref_GET_OBJECT(matcher.object)
                                                  : matcher.object);
    if (!TellsApart(matcher) || std::find(telling_.begin(), telling_.end(), i) != telling_.end()) {
      continue;
    }
    telling_.push_back(i);
    used_.clear();
  }
  // The few before come into the table when they are used.
  if (instances_.size() >= kFew) {
    used_[HashOf(args.data(), static_cast<Py_ssize_t>(args.size()))] = bound.get();
  }
  instances_.insert(instances_.begin(), bound.release());
  ++changes_;
}

uint64_t InstanceList::HashOf(PyObject* const* args, Py_ssize_t count) const {
  uint64_t hash = 0;
  for (const Py_ssize_t i : telling_) {
    if (i >= count || args[i] == nullptr) continue;
    uint64_t part = reinterpret_cast<uintptr_t>(args[i]) >> 4;
    // Most integers are new objects in each call.
    int overflow = 0;
    if (PyLong_CheckExact(args[i])) {
      part = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(args[i], &overflow));
    }
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;  // as Fibonacci hashing
    hash ^= hash >> 32;
  }
  return hash;
}

BoundInstance* InstanceList::Find(PyObject* const* args, Py_ssize_t count) {
  CatchUp();
  if (instances_.size() <= kFew) return FindByScan(args, count);
  const uint64_t hash = HashOf(args, count);
  if (const auto known = used_.find(hash); known != used_.end()) {
    BoundInstance* bound = known->second;
    // `==` of a template argument may run Python code that drops instances.
    const InstanceRef hold(bound);
    const uint64_t before = changes_;
    const bool serves = MatchesAll(*bound, args, count);
    if (changes_ != before) return nullptr;
    if (serves && MemoriesAlive(bound)) return bound;
  }
  BoundInstance* bound = FindByScan(args, count);
  if (bound == nullptr) return nullptr;
  // Objects that are equal, but new in each call, would fill the table without end.
  if (used_.size() > 4 * instances_.size()) used_.clear();
  used_[hash] = bound;
  return bound;
}

BoundInstance* InstanceList::FindByScan(PyObject* const* args, Py_ssize_t count) {
  for (size_t i = 0; i < instances_.size(); ++i) {
    BoundInstance* bound = instances_[i];
    const InstanceRef hold(bound);
    const uint64_t before = changes_;
    const bool serves = MatchesAll(*bound, args, count);
    // The list changed under the comparison. Python's slow path finds or makes the instance again.
    if (changes_ != before) return nullptr;
    if (!serves) continue;
    if (!MemoriesAlive(bound)) {
      Prune();
      return nullptr;
    }
    if (i > 0) {
      // The pointers move, not the instances.
      std::rotate(instances_.begin(), instances_.begin() + static_cast<ptrdiff_t>(i),
                  instances_.begin() + static_cast<ptrdiff_t>(i) + 1);
      ++changes_;
    }
    return bound;
  }
  return nullptr;
}

}  // namespace kiln
