// A preloaded library that prevents its process from starting threads as long as the file
// KILN_TEST_NO_THREADS exists, as if a limit of the user or container were reached.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  static auto* const real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const char* path = getenv("KILN_TEST_NO_THREADS");
  if (path != nullptr && access(path, F_OK) == 0) return EAGAIN;
  return real(thread, attributes, start, argument);
}
