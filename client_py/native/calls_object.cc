#include "client_py/native/calls_object.h"

#include <new>
#include <unordered_map>
#include <vector>

#include "client_py/native/access_watch.h"
#include "client_py/native/kernel_object.h"

namespace kiln {
namespace {

struct CallsObject {
  PyObject_HEAD
      // A function and its arguments, call by call. Owned.
      std::vector<PyObject*>* objects;
  std::vector<size_t>* ends;  // in `objects`, of each call
};

PyTypeObject CallsType = {PyVarObject_HEAD_INIT(nullptr, 0)};

CallsObject* CallsOf(PyObject* object) { return reinterpret_cast<CallsObject*>(object); }

size_t Begin(const CallsObject& calls, size_t index) {
  return index == 0 ? 0 : (*calls.ends)[index - 1];
}

PyObject* CallsNew(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  CallsOf(self)->objects = new std::vector<PyObject*>;
  CallsOf(self)->ends = new std::vector<size_t>;
  return self;
}

int CallsTraverse(PyObject* self, visitproc visit, void* arg) {
  if (CallsOf(self)->objects == nullptr) return 0;
  for (PyObject* object : *CallsOf(self)->objects) Py_VISIT(object);
  return 0;
}

int CallsClear(PyObject* self) {
  // Take the objects out first: dropping one may run Python code that uses the calls.
  std::vector<PyObject*> dropped;
  dropped.swap(*CallsOf(self)->objects);
  CallsOf(self)->ends->clear();
  for (PyObject* object : dropped) Py_DECREF(object);
  return 0;
}

void CallsDealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  CallsClear(self);
  delete CallsOf(self)->objects;
  delete CallsOf(self)->ends;
  CallsOf(self)->objects = nullptr;
  Py_TYPE(self)->tp_free(self);
}

Py_ssize_t CallsLength(PyObject* self) {
  return static_cast<Py_ssize_t>(CallsOf(self)->ends->size());
}

PyObject* CallsItem(PyObject* self, Py_ssize_t index) {
  const CallsObject& calls = *CallsOf(self);
  if (index < 0 || index >= CallsLength(self)) {
    PyErr_SetString(PyExc_IndexError, "no such call");
    return nullptr;
  }
  const size_t begin = Begin(calls, static_cast<size_t>(index));
  const size_t end = (*calls.ends)[static_cast<size_t>(index)];
  PyObject* args = PyTuple_New(static_cast<Py_ssize_t>(end - begin - 1));
  if (args == nullptr) return nullptr;
  for (size_t i = begin + 1; i < end; ++i) {
    PyObject* argument = (*calls.objects)[i];
    Py_INCREF(argument);
    PyTuple_SET_ITEM(args, static_cast<Py_ssize_t>(i - begin - 1), argument);
  }
  return Py_BuildValue("(ON)", (*calls.objects)[begin], args);
}

PyObject* CallsAppend(PyObject* self, PyObject* call) {
  PyObject *function, *args;
  if (!PyTuple_Check(call)) {
    PyErr_SetString(PyExc_TypeError, "a pair of a function and its arguments expected");
    return nullptr;
  }
  if (!PyArg_ParseTuple(call, "OO", &function, &args)) return nullptr;
  PyObject* fast = PySequence_Tuple(args);
  if (fast == nullptr) return nullptr;
  const bool done = AppendCall(self, function, &PyTuple_GET_ITEM(fast, 0), PyTuple_GET_SIZE(fast));
  Py_DECREF(fast);
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

// What a replay calls in place of each function.
class Replacements {
 public:
  explicit Replacements(PyObject* of) : of_(of) {}
  ~Replacements() {
    for (const auto& [function, made] : made_) {
      Py_DECREF(function);
      Py_DECREF(made);
    }
  }
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;

  // of(function), borrowed; null with a Python error. Asks once for each function.
  PyObject* Of(PyObject* function) {
    const auto found = made_.find(function);
    if (found != made_.end()) return found->second;
    PyObject* made = PyObject_CallOneArg(of_, function);
    if (made == nullptr) return nullptr;
    Py_INCREF(function);
    return made_[function] = made;
  }

 private:
  PyObject* of_;
  std::unordered_map<PyObject*, PyObject*> made_;  // owned
};

PyObject* CallsReplay(PyObject* self, PyObject* args_of_replay) {
  PyObject *of, *report;
  if (!PyArg_ParseTuple(args_of_replay, "OO", &of, &report)) return nullptr;
  const CallsObject& calls = *CallsOf(self);
  Replacements replacements(of);
  AccessWatch watch(report);
  std::vector<PyObject*> args;
  // A callee may clear the calls.
  for (size_t left = calls.ends->size(); left > 0 && left <= calls.ends->size(); --left) {
    const size_t index = left - 1;
    const size_t begin = Begin(calls, index), end = (*calls.ends)[index];
    PyObject* replacement = replacements.Of((*calls.objects)[begin]);
    if (replacement == nullptr) return nullptr;
    if (replacement == Py_None) continue;
    args.assign(calls.objects->begin() + begin + 1, calls.objects->begin() + end);
    for (PyObject* argument : args) Py_INCREF(argument);
    // Gradients that programs write themselves restore memory as they need it.
    const AccessWatch::Scope scope(IsKernel(replacement) ? &watch : nullptr);
    PyObject* result = PyObject_Vectorcall(replacement, args.data(), args.size(), nullptr);
    for (PyObject* argument : args) Py_DECREF(argument);
    if (result == nullptr) return nullptr;
    Py_DECREF(result);
  }
  Py_RETURN_NONE;
}

PyMethodDef calls_methods[] = {
    {"append", CallsAppend, METH_O, "append((function, args))"},
    {"replay", CallsReplay, METH_VARARGS,
     "replay(of, report): calls of(function)(*args) for each call, the last one first, unless "
     "of(function) is None. Unless report is None, calls report(reads, wrote) where a gradient "
     "kernel may read what a later one overwrote."},
    {nullptr, nullptr, 0, nullptr}};

PySequenceMethods calls_sequence = {};

}  // namespace

bool AddCallsType(PyObject* module) {
  calls_sequence.sq_length = CallsLength;
  calls_sequence.sq_item = CallsItem;
  CallsType.tp_name = "kiln._native.Calls";
  CallsType.tp_basicsize = sizeof(CallsObject);
  CallsType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  CallsType.tp_doc = "Recorded calls: a sequence of pairs (function, arguments).";
  CallsType.tp_new = CallsNew;
  CallsType.tp_dealloc = CallsDealloc;
  CallsType.tp_traverse = CallsTraverse;
  CallsType.tp_clear = CallsClear;
  CallsType.tp_methods = calls_methods;
  CallsType.tp_as_sequence = &calls_sequence;
  if (PyType_Ready(&CallsType) < 0) return false;
  Py_INCREF(&CallsType);
  return PyModule_AddObject(module, "Calls", reinterpret_cast<PyObject*>(&CallsType)) == 0;
}

bool IsCalls(PyObject* object) { return Py_TYPE(object) == &CallsType; }

bool AppendCall(PyObject* calls, PyObject* function, PyObject* const* args, Py_ssize_t count) {
  CallsObject& to = *CallsOf(calls);
  try {
    to.objects->push_back(function);
    to.objects->insert(to.objects->end(), args, args + count);
    to.ends->push_back(to.objects->size());
  } catch (const std::bad_alloc&) {
    to.objects->resize(to.ends->empty() ? 0 : to.ends->back());
    PyErr_NoMemory();
    return false;
  }
  Py_INCREF(function);
  for (Py_ssize_t i = 0; i < count; ++i) Py_INCREF(args[i]);
  return true;
}

}  // namespace kiln
