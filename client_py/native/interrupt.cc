#include "client_py/native/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace kiln {
namespace {

// Written before the handler is in place, and after a fork.
pthread_t main_thread;
bool installed = false;
void (*handler_before)(int) = nullptr;
// Of static duration: launches may last until the process ends.
const LaunchHooks* only_interruptible = nullptr;

// Of the main thread's launch, whichever it is: the handler may run in any thread at any time, so
// it stores where there is always something. Threads of the launch read it often.
alignas(64) volatile uint32_t flag = 0;
alignas(64) bool taken = false;

void OnInterrupt(int signal) {
  flag = 1;
  handler_before(signal);
}

bool IsMainThread() { return installed && pthread_equal(pthread_self(), main_thread) != 0; }

// The thread that forks is the child's main thread. A launch of another thread is not the child's.
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
  flag = 0;
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
  // The kernel has not done its work, so there has to be an exception, whatever handlers did.
  if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
}

}  // namespace kiln
