// A preloaded library that shifts its process's time of day by the nanoseconds in the file
// KILN_TEST_CLOCK (eight bytes), whenever they change, as if the machine's clock had been set. The
// monotonic clock is unaffected.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int64_t kSecond = 1000000000;

int64_t Shift() {
  static const volatile int64_t* const shift = [] {
    static const int64_t none = 0;
    const char* path = getenv("KILN_TEST_CLOCK");
    const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return &none;
    void* at = mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? &none : static_cast<const int64_t*>(at);
  }();
  return *shift;
}

void Move(timespec* time, int64_t by) {
  const int64_t all = time->tv_sec * kSecond + time->tv_nsec + by;
  time->tv_sec = all / kSecond;
  time->tv_nsec = all % kSecond;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static auto* const real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, out);
  if (result == 0 && clock == CLOCK_REALTIME) Move(out, Shift());
  return result;
}

int gettimeofday(timeval* out, void* /*zone*/) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

// Abseil's locks wait until a time of day, which the kernel compares with its own.
long syscall(long number, ...) noexcept {
  static auto* const real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  timespec until;
  auto* const given = reinterpret_cast<const timespec*>(words[3]);
  if (number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 && given != nullptr) {
    until = *given;
    Move(&until, -Shift());
    words[3] = reinterpret_cast<long>(&until);
  }
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
