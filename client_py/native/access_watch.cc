#include "client_py/native/access_watch.h"

#include <optional>

namespace kiln {
namespace {

thread_local AccessWatch* current = nullptr;

}  // namespace

AccessWatch::~AccessWatch() {
  for (const auto& [instance, object] : objects_) Py_XDECREF(object);
}

AccessWatch::Scope::Scope(AccessWatch* watch) : before_(current) { current = watch; }
AccessWatch::Scope::~Scope() { current = before_; }

bool AccessWatch::AddLaunch(PyObject* kernel, const BoundInstance& bound, const uint64_t* slots) {
  if (current == nullptr || current->report_ == Py_None) return true;
  PyObject*& object = current->objects_[bound.instance.get()];
  if (object == nullptr) object = Py_BuildValue("(OO)", kernel, bound.object);
  if (object == nullptr) return false;
  const std::optional<AccessConflict> conflict = current->history_.Add(bound.instance, slots);
  return !conflict || current->Report(*conflict);
}

bool AccessWatch::Report(const AccessConflict& conflict) {
  PyObject* done =
      PyObject_CallFunction(report_, "(OI)(OI)", objects_[conflict.reader], conflict.read.number(),
                            objects_[conflict.writer], conflict.written.number());
  Py_XDECREF(done);
  return done != nullptr;
}

}  // namespace kiln
