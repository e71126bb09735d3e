#include "client_py/native/kernel_object.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client_py/native/access_watch.h"
#include "client_py/native/active_device.h"
#include "client_py/native/bound_instance.h"
#include "client_py/native/bound_kernel.h"
#include "client_py/native/calls_object.h"
#include "client_py/native/device_arrays.h"
#include "client_py/native/external_arrays.h"
#include "client_py/native/field_object.h"
#include "client_py/native/instance_list.h"
#include "client_py/native/interrupt.h"
#include "client_py/native/launch_time.h"
#include "client_py/native/launching.h"
#include "client_py/native/slots.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Called as profiler(kernel name, time) after every launch, unless null: seconds, or a LaunchTime
// of a launch that was not waited for. Owned.
PyObject* profiler = nullptr;

// Whether Python must check newly declared fields before the next launch.
bool fields_to_check = false;

// The number of threads that a launch may use; 0: all threads of the pool. Guarded by the GIL.
int launch_threads = 0;

// What calls of kernels go to, unless null. Calls (calls_object.h) get each call that succeeds.
// Anything else is called as watcher(kernel, arguments, keywords) in place of the kernel.
// Owned.
PyObject* watcher = nullptr;
// Whether it gets those of derivatives, too: if it has a true attribute `watches_derivatives`.
bool watches_derivatives = false;

struct KernelObject {
  // The only member that CPython reads (tp_vectorcall_offset).
  PyObject_HEAD vectorcallfunc vectorcall;
  InstanceList* instances;
  bool is_derivative;  // calls of derivatives are mostly not watched
};

// --- Launching ---------------------------------------------------------------------

// `name`: of what was launched, a reference that this takes; null with a Python error.
bool RecordLaunch(PyObject* name, std::unique_ptr<LaunchTime> launch, bool on_device) {
  launch->End();
  if (name == nullptr) return false;
  PyObject* time = on_device ? py::cast(std::move(launch)).release().ptr()
                             : PyFloat_FromDouble(launch->Seconds());
  PyObject* done = PyObject_CallFunction(profiler, "NN", name, time);
  Py_XDECREF(done);
  return done != nullptr;
}

// Launches, and tells the profiler.
bool LaunchTimed(PyObject* kernel, BoundInstance* bound, const uint64_t* slots, uint64_t* results) {
  // Only a profiler pays for looks at the clock.
  std::unique_ptr<LaunchTime> time;
  if (profiler != nullptr) time = std::make_unique<LaunchTime>(&ActiveDevice());
  if (!Launch(kernel, bound, slots, results, launch_threads)) return false;
  // Another thread may have taken the profiler off, or put one on.
  return time == nullptr || profiler == nullptr ||
         RecordLaunch(PyObject_GetAttrString(kernel, "__name__"), std::move(time),
                      bound->instance->kernel()->is_on_device());
}

PyObject* Run(KernelObject* kernel, BoundInstance* bound, PyObject* const* args) {
  // Most kernels have few slots, so a launch usually allocates nothing.
  constexpr size_t kInline = 64;
  uint64_t inline_slots[kInline], inline_results[kInline];
  std::vector<uint64_t> heap_slots, heap_results;
  uint64_t* slots = inline_slots;
  const size_t num_slots = bound->slots.size();
  if (num_slots > kInline) {
    heap_slots.resize(num_slots);
    slots = heap_slots.data();
  }
  uint64_t* results = inline_results;
  const size_t num_results = bound->instance->kernel()->info().results.size();
  if (num_results > kInline) {
    heap_results.resize(num_results);
    results = heap_results.data();
  }
  auto* const self = reinterpret_cast<PyObject*>(kernel);
  // Converting an argument may run Python code, which may drop the instance.
  const InstanceRef hold(bound);
  std::memcpy(slots, bound->slots.data(), num_slots * sizeof(uint64_t));
  // A kernel that ends without a return statement leaves them untouched.
  std::memset(results, 0, num_results * sizeof(uint64_t));
  HeldGradients gradients;
  if (!PackSlots(self, *bound, args, &gradients, slots)) return nullptr;
  if (kernel->is_derivative &&
      !(CheckApart(self, *bound, args) && AccessWatch::AddLaunch(self, *bound, slots))) {
    return nullptr;
  }
  // Python and C buffer separately.
  if (bound->prints) FlushPythonStdout();
  std::optional<DeviceArrays> arrays;
  if (bound->instance->kernel()->is_on_device()) {
    const absl::Status prepared =
        arrays.emplace(bound->instance->kernel()->device()).Prepare(*bound, args, slots);
    if (!prepared.ok()) {
      PyErr_SetString(PyExc_RuntimeError, std::string(prepared.message()).c_str());
      return nullptr;
    }
  }
  if (!LaunchTimed(self, bound, slots, results)) return nullptr;
  if (arrays.has_value() && arrays->AreWritten()) {
    absl::Status copied;
    {
      Unlocked unlocked;
      unlocked.Begin();
      copied = arrays->CopyBack();
    }
    if (!copied.ok()) {
      RaiseRuntimeError(self, std::string(copied.message()));
      return nullptr;
    }
  }
  return MakeResults(*bound, results);
}

// Makes a tuple and a dict of the arguments of a vectorcall.
bool CollectArguments(PyObject* const* args, Py_ssize_t count, PyObject* names,
                      PyObject** positional, PyObject** keywords) {
  *positional = PyTuple_New(count);
  *keywords = PyDict_New();
  bool collected = *positional != nullptr && *keywords != nullptr;
  for (Py_ssize_t i = 0; collected && i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(*positional, i, args[i]);
  }
  const Py_ssize_t num_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; collected && i < num_names; ++i) {
    collected = PyDict_SetItem(*keywords, PyTuple_GET_ITEM(names, i), args[count + i]) == 0;
  }
  if (!collected) {
    Py_CLEAR(*positional);
    Py_CLEAR(*keywords);
  }
  return collected;
}

// Calls `_miss(args, kwargs)` in Python with the arguments of a vectorcall.
PyObject* CallMiss(KernelObject* kernel, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject *positional, *keywords;
  if (!CollectArguments(args, count, names, &positional, &keywords)) return nullptr;
  PyObject* result =
      PyObject_CallMethod(reinterpret_cast<PyObject*>(kernel), "_miss", "OO", positional, keywords);
  Py_DECREF(keywords);
  Py_DECREF(positional);
  return result;
}

// A call with arrays of other libraries. Null without a Python error: Python code has to make an
// instance, or to say what is wrong.
PyObject* RunOnExternalArrays(KernelObject* kernel, PyObject* const* args, Py_ssize_t count) {
  if (kernel->is_derivative || kernel->instances->size() == 0) return nullptr;
  ExternalArrays arrays(&ActiveDevice());
  if (!arrays.ViewAll(args, count)) return nullptr;
  BoundInstance* bound = kernel->instances->Find(arrays.args(), count);
  if (bound == nullptr) return nullptr;
  PyObject* result = Run(kernel, bound, arrays.args());
  if (result != nullptr && !arrays.Release()) Py_CLEAR(result);
  return result;
}

PyObject* RunOrMake(KernelObject* kernel, PyObject* const* args, Py_ssize_t count,
                    PyObject* names) {
  // The path of nearly all calls: no Python code, no allocation. Everything else goes through
  // `_miss`.
  if (!fields_to_check && (names == nullptr || PyTuple_GET_SIZE(names) == 0)) {
    BoundInstance* bound = kernel->instances->Find(args, count);
    if (bound != nullptr) return Run(kernel, bound, args);
    if (PyErr_Occurred() != nullptr) return nullptr;
    PyObject* result = RunOnExternalArrays(kernel, args, count);
    if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  }
  return CallMiss(kernel, args, count, names);
}

// Drops the traceback of the current error if `_hides_frames` returns true. Python adds the frames
// of the callers again.
void CutTraceback(KernelObject* kernel) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  // Makes an instance of the exception, which _hides_frames looks at.
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject* hides =
      PyObject_CallMethod(reinterpret_cast<PyObject*>(kernel), "_hides_frames", "O", error);
  if (hides == nullptr) PyErr_Clear();
  if (hides == Py_True) {
    Py_CLEAR(traceback);
    PyException_SetTraceback(error, Py_None);
  }
  Py_XDECREF(hides);
  PyErr_Restore(type, error, traceback);
}

// --- Watched calls ---------------------------------------------------------------------

// Calls `function(kernel, args, keywords)` with the arguments of a vectorcall.
PyObject* CallWatcher(PyObject* function, KernelObject* kernel, PyObject* const* args,
                      Py_ssize_t count, PyObject* names) {
  PyObject *positional, *keywords;
  if (!CollectArguments(args, count, names, &positional, &keywords)) return nullptr;
  Py_INCREF(function);  // it may take itself off
  PyObject* result = PyObject_CallFunctionObjArgs(function, kernel, positional, keywords, nullptr);
  Py_DECREF(function);
  Py_DECREF(positional);
  Py_DECREF(keywords);
  return result;
}

// Whether a later change of an argument's object changes what the call would do: of vectors and
// structs, which calls copy. (Arrays and fields are memory, which calls do not copy.)
bool TakesCopies(KernelObject* kernel, PyObject* const* args, Py_ssize_t count) {
  BoundInstance* bound = kernel->instances->Find(args, count);
  if (bound == nullptr) return true;
  for (const SlotFill& fill : bound->fills) {
    if (fill.kind == SlotFill::kTensor) return true;
  }
  return false;
}

// Adds a call that succeeded to `calls`.
bool Record(PyObject* calls, KernelObject* kernel, PyObject* const* args, Py_ssize_t count,
            PyObject* names) {
  auto* function = reinterpret_cast<PyObject*>(kernel);
  if (names == nullptr && !TakesCopies(kernel, args, count)) {
    return AppendCall(calls, function, args, count);
  }
  PyObject *positional, *keywords;
  if (!CollectArguments(args, count, names, &positional, &keywords)) return false;
  PyObject* recorded = PyObject_CallMethod(function, "_recorded", "OO", positional, keywords);
  Py_DECREF(positional);
  Py_DECREF(keywords);
  if (recorded == nullptr) return false;
  const bool done =
      PyTuple_Check(recorded) != 0 &&
      AppendCall(calls, function, &PyTuple_GET_ITEM(recorded, 0), PyTuple_GET_SIZE(recorded));
  Py_DECREF(recorded);
  return done;
}

PyObject* WatchedCall(KernelObject* kernel, PyObject* const* args, Py_ssize_t count,
                      PyObject* names) {
  if (!IsCalls(watcher)) return CallWatcher(watcher, kernel, args, count, names);
  PyObject* calls = watcher;
  Py_INCREF(calls);
  PyObject* result = RunOrMake(kernel, args, count, names);
  if (result != nullptr && !Record(calls, kernel, args, count, names)) Py_CLEAR(result);
  Py_DECREF(calls);
  return result;
}

PyObject* KernelCall(PyObject* self, PyObject* const* args, size_t flagged_count, PyObject* names) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  PyObject* result = watcher == nullptr || (kernel->is_derivative && !watches_derivatives)
                         ? RunOrMake(kernel, args, count, names)
                         : WatchedCall(kernel, args, count, names);
  if (result == nullptr) CutTraceback(kernel);
  return result;
}

// --- Python methods -----------------------------------------------------------------

PyObject* KernelAddInstance(PyObject* self, PyObject* args) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  PyObject *instance, *matchers, *sources, *returns;
  if (!PyArg_ParseTuple(args, "OOOO", &instance, &matchers, &sources, &returns)) return nullptr;
  try {
    kernel->instances->Add(BindInstance(self, instance, matchers, sources, returns));
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  Py_RETURN_NONE;
}

// Runs the instance for the arguments; returns (False, None) if there is none.
// For calls with keywords or defaults, whose arguments Python code has put in order.
PyObject* KernelTry(PyObject* self, PyObject* args) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  if (!PyTuple_Check(args)) {
    PyErr_SetString(PyExc_TypeError, "a tuple of arguments expected");
    return nullptr;
  }
  PyObject* const* items = &PyTuple_GET_ITEM(args, 0);
  BoundInstance* bound = kernel->instances->Find(items, PyTuple_GET_SIZE(args));
  if (bound == nullptr) return Py_BuildValue("(OO)", Py_False, Py_None);
  PyObject* result = Run(kernel, bound, items);
  return result == nullptr ? nullptr : Py_BuildValue("(ON)", Py_True, result);
}

PyObject* KernelBound(PyObject* self, PyObject* args) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  if (!PyTuple_Check(args)) {
    PyErr_SetString(PyExc_TypeError, "a tuple of arguments expected");
    return nullptr;
  }
  const BoundInstance* bound =
      kernel->instances->Find(&PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args));
  if (bound == nullptr) Py_RETURN_NONE;
  return Py_BuildValue("(OO)", bound->object, bound->sources);
}

PyObject* KernelSetDerivative(PyObject* self, PyObject*) {
  reinterpret_cast<KernelObject*>(self)->is_derivative = true;
  Py_RETURN_NONE;
}

PyObject* KernelForget(PyObject* self, PyObject*) {
  reinterpret_cast<KernelObject*>(self)->instances->Clear();
  Py_RETURN_NONE;
}

PyObject* KernelPrune(PyObject* self, PyObject*) {
  reinterpret_cast<KernelObject*>(self)->instances->Prune();
  Py_RETURN_NONE;
}

PyObject* KernelNumInstances(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<KernelObject*>(self)->instances->size());
}

// Before CPython 3.12, subclasses made in Python do not inherit these flags. Without them every
// call allocates a tuple, and every method call a bound method.
PyObject* KernelInitSubclass(PyObject* type, PyObject*) {
  auto* subclass = reinterpret_cast<PyTypeObject*>(type);
  subclass->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(subclass);
  Py_RETURN_NONE;
}

PyObject* ForgetInstances(PyObject*, PyObject*) {
  InstanceList::ClearAll();
  Py_RETURN_NONE;
}

PyObject* SetProfiler(PyObject*, PyObject* function) {
  // The old function is released last: that may run code that calls a kernel.
  PyObject* before = profiler;
  profiler = function == Py_None ? nullptr : function;
  Py_XINCREF(profiler);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

PyObject* CheckFields(PyObject*, PyObject* wanted) {
  fields_to_check = wanted == Py_True;
  Py_RETURN_NONE;
}

// Returns what watched before.
PyObject* WatchCalls(PyObject*, PyObject* by) {
  bool all = false;
  if (by != Py_None && !IsCalls(by)) {
    PyObject* given = PyObject_GetAttrString(by, "watches_derivatives");
    if (given == nullptr) PyErr_Clear();
    all = given == Py_True;
    Py_XDECREF(given);
  }
  PyObject* before = watcher;
  watcher = by == Py_None ? nullptr : by;
  watches_derivatives = all;
  Py_XINCREF(watcher);
  if (before == nullptr) Py_RETURN_NONE;
  return before;
}

PyObject* Watcher(PyObject*, PyObject*) {
  PyObject* by = watcher == nullptr ? Py_None : watcher;
  Py_INCREF(by);
  return by;
}

PyObject* SetLaunchThreads(PyObject*, PyObject* threads) {
  const long count = PyLong_AsLong(threads);
  if (count == -1 && PyErr_Occurred() != nullptr) return nullptr;
  launch_threads = count < 0 ? 0 : static_cast<int>(count);
  Py_RETURN_NONE;
}

// --- Type ---------------------------------------------------------------------------

// A kernel in a class becomes a method, as a function does.
PyObject* KernelDescriptorGet(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return BindKernel(self, object);
}

PyObject* KernelNew(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  // Per object, as CPython reads it there; it also skips the tuple of arguments of tp_call.
  kernel->vectorcall = KernelCall;
  kernel->instances = new InstanceList;
  kernel->is_derivative = false;
  return self;
}

int KernelTraverse(PyObject* self, visitproc visit, void* arg) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  if (kernel->instances == nullptr) return 0;
  for (BoundInstance* bound : kernel->instances->all()) {
    if (bound->references != 1) continue;  // a running launch also owns it
    for (Matcher& matcher : bound->matchers) Py_VISIT(matcher.object);
    for (SlotFill& fill : bound->fills) Py_VISIT(fill.flatten);
    for (ReturnValue& result : bound->results) Py_VISIT(result.make);
    for (PyObject* kept : bound->keep) Py_VISIT(kept);
  }
  return 0;
}

int KernelClear(PyObject* self) {
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  if (kernel->instances != nullptr) kernel->instances->Clear();
  return 0;
}

void KernelDealloc(PyObject* self) {
  // Before anything is taken apart: a collection in between would visit half of it.
  PyObject_GC_UnTrack(self);
  auto* kernel = reinterpret_cast<KernelObject*>(self);
  KernelClear(self);
  delete kernel->instances;
  kernel->instances = nullptr;
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef kernel_methods[] = {
    {"_add_instance", KernelAddInstance, METH_VARARGS,
     "_add_instance(instance, matchers, sources, returns)"},
    {"_try", KernelTry, METH_O, "_try(args) -> (ran, result): runs a known instance."},
    {"_bound", KernelBound, METH_O,
     "_bound(args): (instance, sources) of the instance that answers; None if none does."},
    {"_set_derivative", KernelSetDerivative, METH_NOARGS,
     "Makes the kernel a derivative, whose calls are not watched."},
    {"_forget", KernelForget, METH_NOARGS, "Drops all instances."},
    {"_prune", KernelPrune, METH_NOARGS, "Drops instances whose objects are gone."},
    {"__init_subclass__", KernelInitSubclass, METH_NOARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef kernel_getset[] = {
    {"num_instances", KernelNumInstances, nullptr, "Instances made since the last init.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject KernelBaseType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* EndKernels(PyObject*, PyObject*) {
  EndKernelsOnInterrupt();
  Py_RETURN_NONE;
}

PyMethodDef module_functions[] = {
    {"end_kernels_on_interrupt", EndKernels, METH_NOARGS,
     "Has SIGINT end the kernel that the main thread runs; for Python's own handler of it."},
    {"forget_instances", ForgetInstances, METH_NOARGS,
     "All kernels drop their instances (init, reset)."},
    {"set_profiler", SetProfiler, METH_O,
     "A function told (kernel name, seconds or LaunchTime) of every launch; None: no one."},
    {"watch_calls", WatchCalls, METH_O,
     "Calls get (kernel, arguments) of calls; a function is called in their place; None: "
     "neither.\n"
     "Returns what watched before."},
    {"watcher", Watcher, METH_NOARGS, "What watches calls; None: nothing."},
    {"check_fields", CheckFields, METH_O,
     "Whether the next launch has to look at fields that were declared."},
    {"set_threads", SetLaunchThreads, METH_O, "Threads that a launch may use; 0: all."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool IsKernel(PyObject* object) { return PyObject_TypeCheck(object, &KernelBaseType) != 0; }

bool IsDerivative(PyObject* kernel) {
  return reinterpret_cast<KernelObject*>(kernel)->is_derivative;
}

BoundInstance* FindInstance(PyObject* kernel, PyObject* const* args, Py_ssize_t count) {
  return reinterpret_cast<KernelObject*>(kernel)->instances->Find(args, count);
}

bool LaunchSlots(PyObject* kernel, BoundInstance* bound, const uint64_t* slots) {
  return LaunchTimed(kernel, bound, slots, /*results=*/nullptr);
}

std::unique_ptr<LaunchTime> StartTime() {
  return profiler == nullptr ? nullptr : std::make_unique<LaunchTime>(&ActiveDevice());
}

bool RecordTime(const char* name, std::unique_ptr<LaunchTime> time) {
  if (time == nullptr || profiler == nullptr) return true;
  return RecordLaunch(PyUnicode_FromString(name), std::move(time), /*on_device=*/true);
}

bool AddKernelType(PyObject* module) {
  KernelBaseType.tp_name = "kiln._native.KernelBase";
  KernelBaseType.tp_basicsize = sizeof(KernelObject);
  KernelBaseType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                            Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  KernelBaseType.tp_doc = "What kernels inherit: calls, instances, launches.";
  KernelBaseType.tp_new = KernelNew;
  KernelBaseType.tp_dealloc = KernelDealloc;
  KernelBaseType.tp_traverse = KernelTraverse;
  KernelBaseType.tp_clear = KernelClear;
  KernelBaseType.tp_methods = kernel_methods;
  KernelBaseType.tp_getset = kernel_getset;
  KernelBaseType.tp_descr_get = KernelDescriptorGet;
  KernelBaseType.tp_call = PyVectorcall_Call;
  KernelBaseType.tp_vectorcall_offset = offsetof(KernelObject, vectorcall);
  if (PyType_Ready(&KernelBaseType) < 0 || !ReadyBoundKernels(&KernelBaseType)) return false;
  Py_INCREF(&KernelBaseType);
  if (PyModule_AddObject(module, "KernelBase", reinterpret_cast<PyObject*>(&KernelBaseType)) != 0) {
    return false;
  }
  return PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace kiln
