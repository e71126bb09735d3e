// What watches the gradients that a tape runs: an AccessHistory, and the Python function that hears
// of conflicts.
#ifndef KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_
#define KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_

#include <Python.h>

#include <unordered_map>

#include "client_cpp/access_history.h"
#include "client_py/native/bound_instance.h"

namespace kiln {

class AccessWatch {
 public:
  // Calls report(((kernel, instance), node), ((kernel, instance), node)) for each conflict: what
  // reads, and what wrote. None: nothing is watched. Borrowed.
  explicit AccessWatch(PyObject* report) : report_(report) {}
  ~AccessWatch();
  AccessWatch(const AccessWatch&) = delete;
  AccessWatch& operator=(const AccessWatch&) = delete;

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
  static bool AddLaunch(PyObject* kernel, const BoundInstance& bound, const uint64_t* slots);

 private:
  bool Report(const AccessConflict& conflict);

  PyObject* report_;
  AccessHistory history_;
  std::unordered_map<const Instance*, PyObject*> objects_;  // owned: (kernel, instance)
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ACCESS_WATCH_H_
