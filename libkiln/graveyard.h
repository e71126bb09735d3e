// Freed objects of the C interface, kept for a while without their content.
#ifndef KILN_LIBKILN_GRAVEYARD_H_
#define KILN_LIBKILN_GRAVEYARD_H_

#include <array>
#include <memory>

#include "common/base/first_use.h"
#include "runtime/fork_lock.h"

namespace kiln::capi {

// Keeps the last kKept objects of a type. A program that uses one of them then gets an error
// instead of memory that is another object by now. Thread-safe.
template <typename Object>
void Bury(std::unique_ptr<Object> object) {
  constexpr size_t kKept = 256;
  static FirstUse<ForkLock> burying;
  static FirstUse<std::array<std::unique_ptr<Object>, kKept>> kept;
  static size_t next = 0;
  const ForkLockGuard guard(burying.Get());
  kept.Get()[next].swap(object);
  next = (next + 1) % kKept;
}

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_GRAVEYARD_H_
