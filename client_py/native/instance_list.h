// The instances of a kernel, and which of them serves a call.
#ifndef KILN_CLIENT_PY_NATIVE_INSTANCE_LIST_H_
#define KILN_CLIENT_PY_NATIVE_INSTANCE_LIST_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client_py/native/bound_instance.h"

namespace kiln {

// All functions need the GIL. Those that drop instances may run any Python code, which may call the
// kernel of the list.
class InstanceList {
 public:
  InstanceList() = default;
  ~InstanceList() { Clear(); }
  InstanceList(const InstanceList&) = delete;
  InstanceList& operator=(const InstanceList&) = delete;

  // The instance for these arguments; null without one, or with one whose memory no longer exists.
  // A kernel has few instances, of which a program mostly uses the same one: the most recently used
  // one comes first. Of many, as for each object of a class, a table knows them by the arguments.
  BoundInstance* Find(PyObject* const* args, Py_ssize_t count);
  // The list's first one, because the call for which it was made follows.
  void Add(std::unique_ptr<BoundInstance> bound);
  // Drops all.
  void Clear();
  // Drops those whose objects or memory no longer exist.
  void Prune();

  // Makes all lists empty from their next use on (ti.init, ti.reset).
  static void ClearAll() { ++current_epoch_; }

  size_t size() const { return epoch_ == current_epoch_ ? instances_.size() : 0; }
  // For the garbage collector: all that the list holds.
  const std::vector<BoundInstance*>& all() const { return instances_; }

 private:
  // Clears the list if ClearAll ran since its last use.
  void CatchUp();
  BoundInstance* FindByScan(PyObject* const* args, Py_ssize_t count);
  // Of the arguments that tell instances apart: integers by value, other objects by identity. Null
  // pointers count as absent.
  uint64_t HashOf(PyObject* const* args, Py_ssize_t count) const;

  static uint64_t current_epoch_;

  std::vector<BoundInstance*> instances_;  // owns a reference to each; most recently used first
  uint64_t epoch_ = current_epoch_;
  uint64_t changes_ = 0;             // of `instances_` and their order
  std::vector<Py_ssize_t> telling_;  // positions of arguments that tell instances apart
  // By the hash of a call's arguments: the instance that served such a call, or was made for one.
  // Arguments of another call may have the same hash, so Find compares them.
  absl::flat_hash_map<uint64_t, BoundInstance*> used_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INSTANCE_LIST_H_
