#include "client_py/native/launching.h"

#include <time.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client_cpp/print_format.h"
#include "client_py/native/interrupt.h"

namespace kiln {
namespace {

// A cheap clock for deciding whether to release the GIL. Its unit is unspecified, but short.
inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
#endif
}

// Instances whose launches take less than this keep the GIL: releasing and reacquiring it would
// cost more time than other threads could use. About 20 us.
constexpr uint64_t kUnlockTicks = 50'000;

// The warnings of a launch about overflows: a text for each node and op, made at its first use.
class OverflowTexts {
 public:
  OverflowTexts(PyObject* kernel, BoundInstance* bound) : kernel_(kernel), bound_(bound) {}

  // Called by one thread at a time, without the GIL.
  const std::string& Of(uint32_t node, uint64_t op) {
    std::string& text = texts_[{node, op}];
    if (!text.empty()) return text;
    const GilTaken gil;
    PyObject* made = PyObject_CallMethod(kernel_, "_overflow_text", "OIK", bound_->object, node,
                                         static_cast<unsigned long long>(op));
    const char* utf8 = made == nullptr ? nullptr : PyUnicode_AsUTF8(made);
    text = utf8 == nullptr ? "Overflow detected\n" : utf8;
    if (utf8 == nullptr) PyErr_Clear();
    Py_XDECREF(made);
    return text;
  }

 private:
  PyObject* kernel_;
  BoundInstance* bound_;
  std::map<std::pair<uint32_t, uint64_t>, std::string> texts_;
};

struct Failure {
  bool happened = false;
  uint32_t node = 0;
  std::vector<uint64_t> values;
  std::string error;  // the runtime's, if no node failed; also empty: SIGINT ended the launch
};

// Launches a kernel with prints or checks, which releases the GIL during the launch.
bool LaunchWithHooks(PyObject* kernel, BoundInstance* bound, const uint64_t* slots,
                     uint64_t* results, int threads, Failure* failure) {
  const Instance& instance = *bound->instance;
  const InstanceTexts& texts = instance.texts();  // needs the GIL
  PrintSink sink;
  OverflowTexts overflows(kernel, bound);
  LaunchHooks hooks;
  hooks.print = [&](uint32_t node, const uint64_t* values, uint32_t count) {
    const auto& formats = texts.source_map.formats();
    const auto format = formats.find(node);
    if (format != formats.end()) {
      sink.Add(RenderFormat(format->second, texts.types, values, count));
    } else if (count == 1) {
      sink.Add(overflows.Of(node, values[0]));
    }
  };
  hooks.fail = [&](uint32_t node, const uint64_t* values, uint32_t count) {
    // The first failure is the one that is reported. Launch calls one hook at a time.
    if (failure->happened) return;
    failure->happened = true;
    failure->node = node;
    failure->values.assign(values, values + count);
  };
  hooks.error = [&](std::string_view text) { failure->error = std::string(text); };
  hooks.failed = FlagForLaunch();
  hooks.names = &bound->names;
  const FlagTaken taken;
  Unlocked unlocked;
  hooks.awaits = [&] { unlocked.Begin(); };
  if (!instance.kernel()->is_on_device()) unlocked.Begin();
  const bool ok = instance.kernel()->Launch(slots, results, {&hooks, threads});
  unlocked.Begin();  // writing to stdout may block
  sink.Flush();
  return ok;
}

// Launches, and releases the GIL if the instance's previous launch on the CPU took long.
bool LaunchPlain(BoundInstance* bound, const uint64_t* slots, uint64_t* results, int threads,
                 const LaunchHooks* hooks) {
  const LoadedKernel& kernel = *bound->instance->kernel();
  const uint64_t begin = Ticks();
  bool ok;
  // The previous launch predicts this one. A wrong guess costs one launch with or without the lock.
  if (bound->ticks < kUnlockTicks) {
    ok = kernel.Launch(slots, results, {hooks, threads});
  } else {
    Unlocked unlocked;
    unlocked.Begin();
    ok = kernel.Launch(slots, results, {hooks, threads});
  }
  bound->ticks = Ticks() - begin;
  return ok;
}

// Launches a kernel on a device or with trees, that neither prints nor checks. False: the runtime
// failed.
bool LaunchQuietly(BoundInstance* bound, const uint64_t* slots, uint64_t* results, int threads,
                   Failure* failure) {
  LaunchHooks hooks;
  hooks.error = [failure](std::string_view text) { failure->error = std::string(text); };
  hooks.failed = FlagForLaunch();
  hooks.names = &bound->names;
  if (bound->instance->kernel()->is_on_device()) {
    Unlocked unlocked;
    hooks.awaits = [&] { unlocked.Begin(); };
    return bound->instance->kernel()->Launch(slots, results, {&hooks, threads});
  }
  return LaunchPlain(bound, slots, results, threads, &hooks);
}

// Raises the error of a failed launch: an interrupt, a failure of the runtime, or a failed check,
// whose message is rendered here and positioned by Python code.
void RaiseFailure(PyObject* kernel, BoundInstance* bound, const Failure& failure) {
  if (!failure.happened && failure.error.empty()) {
    RaiseInterrupt();
    return;
  }
  if (!failure.happened) return RaiseRuntimeError(kernel, failure.error);
  const InstanceTexts& texts = bound->instance->texts();
  const auto& formats = texts.source_map.formats();
  const auto format = formats.find(failure.node);
  std::string text;
  if (format != formats.end()) {
    text = RenderFormat(format->second, texts.types, failure.values.data(),
                        static_cast<uint32_t>(failure.values.size()));
  }
  PyObject* values = PyList_New(0);
  for (uint64_t value : failure.values) {
    PyObject* number = PyLong_FromLongLong(static_cast<int64_t>(value));
    PyList_Append(values, number);
    Py_DECREF(number);
  }
  PyObject* done = PyObject_CallMethod(kernel, "_failed", "OIsN", bound->object, failure.node,
                                       text.c_str(), values);
  Py_XDECREF(done);
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, "a check failed");
}

}  // namespace

void FlushPythonStdout() {
  PyObject* out = PySys_GetObject("stdout");  // borrowed
  if (out == nullptr || out == Py_None) return;
  PyObject* done = PyObject_CallMethod(out, "flush", nullptr);
  if (done == nullptr) PyErr_Clear();  // launch even if stdout is closed or is not a file
  Py_XDECREF(done);
}

bool Launch(PyObject* kernel, BoundInstance* bound, const uint64_t* slots, uint64_t* results,
            int threads) {
  const bool has_hooks = bound->prints || bound->can_fail;
  if (!has_hooks && bound->trees.empty() && !bound->instance->kernel()->is_on_device()) {
    if (LaunchPlain(bound, slots, results, threads, OnlyInterruptible())) return true;
    RaiseInterrupt();
    return false;
  }
  Failure failure;
  const bool ok = has_hooks ? LaunchWithHooks(kernel, bound, slots, results, threads, &failure)
                            : LaunchQuietly(bound, slots, results, threads, &failure);
  if (!ok) RaiseFailure(kernel, bound, failure);
  return ok;
}

void RaiseRuntimeError(PyObject* kernel, const std::string& text) {
  PyObject* done = PyObject_CallMethod(kernel, "_runtime_error", "s", text.c_str());
  Py_XDECREF(done);
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, "the launch failed");
}

}  // namespace kiln
