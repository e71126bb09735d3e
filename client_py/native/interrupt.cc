#include "client_py/native/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace kiln {
namespace {

// Written before the handler is installed, and after a fork.
pthread_t main_thread;
bool installed = false;
void (*handler_before)(int) = nullptr;
// Never destroyed, because launches may last until the process ends.
const LaunchHooks* only_interruptible = nullptr;

// The flag of the main thread's current launch. It is static because the handler may run in any
// thread at any time, even without a launch. Threads of the launch read it often.
alignas(64) volatile uint32_t flag = 0;
alignas(64) bool taken = false;

void OnInterrupt(int signal) {
  // Atomic: threads of the launch read it meanwhile.
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  handler_before(signal);
}

bool IsMainThread() { return installed && pthread_equal(pthread_self(), main_thread) != 0; }

// The thread that forks becomes the child's main thread. The child has no launches of other
// threads.
void BecomeMainThread() {
  if (!IsMainThread()) taken = false;
  main_thread = pthread_self();
}

}  // namespace

void EndKernelsOnInterrupt() {
  struct sigaction action;
  if (gettid() != getpid() || sigaction(SIGINT, nullptr, &action) != 0) return;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler == &OnInterrupt ||
      action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    return;
  }
  main_thread = pthread_self();
  if (!installed) {
    pthread_atfork(nullptr, nullptr, &BecomeMainThread);
    auto* hooks = new LaunchHooks;
    hooks->failed = &flag;
    only_interruptible = hooks;
  }
  installed = true;
  handler_before = action.sa_handler;
  action.sa_handler = &OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

volatile uint32_t* FlagForLaunch() {
  if (!IsMainThread() || taken) return nullptr;
  __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
  return &flag;
}

const LaunchHooks* OnlyInterruptible() {
  return FlagForLaunch() == nullptr ? nullptr : only_interruptible;
}

FlagTaken::FlagTaken() : before_(taken) {
  if (IsMainThread()) taken = true;
}

FlagTaken::~FlagTaken() {
  if (IsMainThread()) taken = before_;
}

void RaiseInterrupt() {
  // Raise an exception even if no handler did: the kernel did not finish.
  if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
}

}  // namespace kiln
