// What watches the gradients that a tape runs: an AccessHistory, and the Python function that hears
// of conflicts.
#ifndef KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_
#define KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_

#include <Python.h>

#include <memory>

#include "client_cpp/access_history.h"

namespace kiln {

class AccessWatch {
 public:
  // Calls report(reader, read, writer, written) for each conflict: names of the kernels, and lists
  // of (file, line). None: nothing is watched. Borrowed.
  explicit AccessWatch(PyObject* report) : report_(report) {}

  // While one exists, launches of gradients by this thread are added to the watch. Scopes nest.
  class Scope {
   public:
    explicit Scope(AccessWatch* watch);  // null: to none
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    AccessWatch* before_;
  };

  // Adds a launch of a gradient to the watch of the innermost scope. False with a Python error if
  // `report` raised one.
  static bool AddLaunch(const std::shared_ptr<Instance>& instance, const uint64_t* slots);

 private:
  PyObject* report_;
  AccessHistory history_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_
