// KILN_CHECK: a broken invariant of our own code ends the process with file, line and condition.
// Never use it for users' or peers' input.
//
//   KILN_CHECK(depth > 0) << "unbalanced End in " << name;
#ifndef KILN_COMMON_BASE_CHECK_H_
#define KILN_COMMON_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace kiln {
namespace internal {

// Collects the message and aborts when destroyed.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    text_ << file << ":" << line << ": check failed: " << condition << " ";
  }
  [[noreturn]] ~CheckFailure() {
    std::fprintf(stderr, "%s\n", text_.str().c_str());
    std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

}  // namespace internal
}  // namespace kiln

// A loop, so that it is one statement that an `else` cannot attach to.
#define KILN_CHECK(condition)                   \
  while (__builtin_expect(!(condition), false)) \
  ::kiln::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#define KILN_CHECK_OK(expr)                                    \
  if (const auto kiln_checked_ = (expr); kiln_checked_.ok()) { \
  } else                                                       \
    ::kiln::internal::CheckFailure(__FILE__, __LINE__, #expr).stream() << kiln_checked_

#endif  // KILN_COMMON_BASE_CHECK_H_
