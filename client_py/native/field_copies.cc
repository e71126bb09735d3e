#include "client_py/native/field_copies.h"

#include <vector>

#include "client_py/native/field_checks.h"
#include "client_py/native/field_object.h"
#include "client_py/native/gil.h"
#include "client_py/native/scalar_value.h"

namespace kiln {
namespace {

// Whether other threads may run Python while all elements are copied. Not where the copy writes to
// a mirror, which a launch of theirs would hand over half written, or fetches pages as it goes.
bool MayRunBeside(const FieldStorage& storage, HostAccess access) {
  const Memory& memory = *storage.memory;
  return !memory.is_mirrored() ||
         (access == HostAccess::kRead && storage.scattered == nullptr && !memory.is_shared());
}

// Before Prepare: waits for the device, and lets other threads run meanwhile.
absl::Status Await(const FieldStorage& storage, HostAccess access) {
  const bool fetches = access != HostAccess::kOverwrite || !storage.is_ndarray;
  if (!fetches || !storage.memory->is_mirrored() || !HasOtherThreads()) return absl::OkStatus();
  const OtherThreads run(true);
  return storage.memory->Await();
}

// Brings all elements up to date for the host. `access`: of all of them.
absl::Status Prepare(const FieldStorage& storage, HostAccess access) {
  if (!storage.memory->is_mirrored()) return absl::OkStatus();
  // Memory of a tree has other fields, too.
  if (access == HostAccess::kOverwrite && !storage.is_ndarray) access = HostAccess::kWrite;
  return storage.memory->TouchAll(access);
}

// After a write of all elements.
absl::Status Finish(const FieldStorage& storage) {
  return storage.memory->is_shared() ? storage.memory->DeliverAll() : absl::OkStatus();
}

// Calls copy(data) on the bytes of a C-contiguous array of exactly the field's size, without the
// GIL where other threads may run beside it. `access_kind`: what it does with the field.
template <typename Copy>
PyObject* WithArray(PyObject* self, PyObject* array, int flags, HostAccess access_kind,
                    const Copy& copy) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!IsReady(field)) return nullptr;
  if (access_kind != HostAccess::kRead && !CheckWritable(field)) return nullptr;
  // The buffer protocol also locks the array: it cannot be resized during the copy.
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, flags | PyBUF_C_CONTIGUOUS) != 0) return nullptr;
  const DenseAccess& access = field->storage->access;
  const int64_t bytes =
      access.num_elements() * access.num_components() * ScalarBytes(access.scalar());
  // The caller has converted dtype and order, so the sizes can only differ by a mistake in Python
  // code.
  if (view.len != bytes) {
    PyBuffer_Release(&view);
    PyErr_Format(PyExc_ValueError, "an array of %lld bytes expected, got %zd",
                 static_cast<long long>(bytes), view.len);
    return nullptr;
  }
  PyObject* keep = field->storage_object;  // another thread may rebind the field
  Py_INCREF(keep);
  const FieldStorage& storage = *field->storage;
  absl::Status prepared;
  BeginUnlockedLaunch();  // memory that is destroyed during the copy stays allocated until its end
  {
    prepared = Await(storage, access_kind);
    if (prepared.ok()) prepared = Prepare(storage, access_kind);
    const OtherThreads run(MayRunBeside(storage, access_kind));
    if (prepared.ok()) copy(storage, view.buf);
    if (prepared.ok() && access_kind != HostAccess::kRead) prepared = Finish(storage);
  }
  EndUnlockedLaunch();
  Py_DECREF(keep);
  PyBuffer_Release(&view);
  if (!prepared.ok()) return RaiseDevice(prepared);
  Py_RETURN_NONE;
}

}  // namespace

PyObject* FieldCopyTo(PyObject* self, PyObject* array) {
  return WithArray(self, array, PyBUF_WRITABLE, HostAccess::kRead,
                   [](const FieldStorage& storage, void* data) { storage.CopyTo(data); });
}

PyObject* FieldCopyRead(PyObject* self, PyObject* array) {
  return WithArray(self, array, PyBUF_WRITABLE, HostAccess::kRead,
                   [](const FieldStorage& storage, void* data) { storage.ReadAll(data); });
}

PyObject* FieldCopyFrom(PyObject* self, PyObject* array) {
  return WithArray(self, array, 0, HostAccess::kOverwrite,
                   [](const FieldStorage& storage, void* data) { storage.CopyFrom(data); });
}

PyObject* FieldWriteAll(PyObject* self, PyObject* array) {
  absl::Status status;
  PyObject* done =
      WithArray(self, array, 0, HostAccess::kOverwrite,
                [&](const FieldStorage& storage, void* data) { status = storage.WriteAll(data); });
  if (done == nullptr || status.ok()) return done;
  Py_DECREF(done);
  RaiseMemory(reinterpret_cast<FieldObject*>(self), status);
  return nullptr;
}

PyObject* FieldCopyField(PyObject* self, PyObject* source) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!IsField(source)) {
    PyErr_SetString(PyExc_TypeError, "a field expected");
    return nullptr;
  }
  auto* other = reinterpret_cast<FieldObject*>(source);
  if (!IsReady(field) || !IsReady(other) || !CheckWritable(field)) return nullptr;
  const FieldStorage &to = *field->storage, &from = *other->storage;
  // Copies need no conversion of values: the same type, and strides on both sides.
  if (to.scattered != nullptr || from.scattered != nullptr || field->scalar != other->scalar ||
      to.shape != from.shape || to.element_shape != from.element_shape) {
    Py_RETURN_FALSE;
  }
  PyObject *keep = field->storage_object, *keep_other = other->storage_object;
  Py_INCREF(keep);
  Py_INCREF(keep_other);
  bool done = false;
  absl::Status prepared;
  BeginUnlockedLaunch();
  {
    prepared = Await(from, HostAccess::kRead);
    if (prepared.ok()) prepared = Await(to, HostAccess::kOverwrite);
    if (prepared.ok()) prepared = Prepare(from, HostAccess::kRead);
    if (prepared.ok()) prepared = Prepare(to, HostAccess::kOverwrite);
    const OtherThreads run(MayRunBeside(to, HostAccess::kOverwrite) &&
                           MayRunBeside(from, HostAccess::kRead));
    if (prepared.ok()) done = to.access.CopyFrom(from.access);
    if (done) prepared = Finish(to);
  }
  EndUnlockedLaunch();
  Py_DECREF(keep);
  Py_DECREF(keep_other);
  if (!prepared.ok()) return RaiseDevice(prepared);
  return PyBool_FromLong(done);
}

PyObject* FieldFill(PyObject* self, PyObject* values) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!IsReady(field) || !CheckWritable(field)) return nullptr;
  const DenseAccess& access = field->storage->access;
  PyObject* items = PySequence_Fast(values, "one value per component expected");
  if (items == nullptr) return nullptr;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
  if (!CheckCount(count, access.num_components())) {
    Py_DECREF(items);
    return nullptr;
  }
  // Converted before anything is written.
  std::vector<uint64_t> scalars(count, 0);
  for (Py_ssize_t c = 0; c < count; ++c) {
    PyObject* item = PySequence_Fast_GET_ITEM(items, c);
    if (StoreScalar(item, field->scalar, Fit::kWrap, &scalars[c]) != Conversion::kOk) {
      RaiseConversion(field, item);
      Py_DECREF(items);
      return nullptr;
    }
  }
  Py_DECREF(items);
  PyObject* keep = field->storage_object;  // as in WithArray
  const FieldStorage& storage = *field->storage;
  Py_INCREF(keep);
  absl::Status prepared;
  BeginUnlockedLaunch();
  {
    prepared = Await(storage, HostAccess::kOverwrite);
    if (prepared.ok()) prepared = Prepare(storage, HostAccess::kOverwrite);
    const OtherThreads run(MayRunBeside(storage, HostAccess::kOverwrite));
    if (prepared.ok()) storage.Fill(scalars.data());
    if (prepared.ok()) prepared = Finish(storage);
  }
  EndUnlockedLaunch();
  Py_DECREF(keep);
  if (!prepared.ok()) return RaiseDevice(prepared);
  Py_RETURN_NONE;
}

}  // namespace kiln
