// A value that its first use makes, for programs that fork.
//
// A static variable of a function with an initialiser does the same, but its guard is a lock. A
// child that is forked while another thread runs the initialiser waits forever for that thread,
// which the child does not have. Code that programs load into themselves (common/, runtime/,
// client_cpp/, libkiln/ and client_py/native/) therefore has no such variables, and uses this:
//
//   int Processors() {
//     static FirstUse<int> processors;
//     return processors.Get([] { return Count(); });
//   }
#ifndef KILN_COMMON_BASE_FIRST_USE_H_
#define KILN_COMMON_BASE_FIRST_USE_H_

#include <atomic>

namespace kiln {

// Requires: static storage. Never destroys the value, because threads may use it while the process
// ends. Thread-safe.
template <typename T>
class FirstUse {
 public:
  constexpr FirstUse() = default;
  FirstUse(const FirstUse&) = delete;
  FirstUse& operator=(const FirstUse&) = delete;

  // The value. `make` returns it; threads that come at the same time may each call their own, and
  // all get the value that was ready first.
  template <typename Make>
  T& Get(Make make) {
    T* value = value_.load(std::memory_order_acquire);
    if (value != nullptr) return *value;
    auto* const made = new T(make());
    // On failure, `value` becomes the other thread's.
    if (value_.compare_exchange_strong(value, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *value;
  }

  // The same, of a value made by T's default constructor.
  T& Get() {
    return Get([] { return T(); });
  }

 private:
  std::atomic<T*> value_{nullptr};
};

}  // namespace kiln

#endif  // KILN_COMMON_BASE_FIRST_USE_H_
