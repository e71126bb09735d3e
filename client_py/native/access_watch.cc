#include "client_py/native/access_watch.h"

#include <optional>

namespace kiln {
namespace {

thread_local AccessWatch* current = nullptr;

// [(file, line), …], a new reference; null with a Python error.
PyObject* ListOf(const std::vector<SourcePosition>& positions) {
  PyObject* list = PyList_New(0);
  for (const SourcePosition& position : positions) {
    if (list == nullptr) return nullptr;
    PyObject* item = Py_BuildValue("(sI)", position.file.c_str(), position.line);
    if (item == nullptr || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

bool Report(PyObject* to, const AccessConflict& conflict) {
  PyObject* read = ListOf(conflict.read);
  PyObject* written = ListOf(conflict.written);
  PyObject* done = nullptr;
  if (read != nullptr && written != nullptr) {
    done = PyObject_CallFunction(to, "sOsO", conflict.reader.c_str(), read, conflict.writer.c_str(),
                                 written);
  }
  Py_XDECREF(read);
  Py_XDECREF(written);
  Py_XDECREF(done);
  return done != nullptr;
}

}  // namespace

AccessWatch::Scope::Scope(AccessWatch* watch) : before_(current) { current = watch; }
AccessWatch::Scope::~Scope() { current = before_; }

bool AccessWatch::AddLaunch(const std::shared_ptr<Instance>& instance, const uint64_t* slots) {
  if (current == nullptr || current->report_ == Py_None) return true;
  const std::optional<AccessConflict> conflict = current->history_.Add(instance, slots);
  return !conflict || Report(current->report_, *conflict);
}

}  // namespace kiln
