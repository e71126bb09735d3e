#include "client_py/native/external_arrays.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "client_cpp/runtime_status.h"
#include "client_py/native/active_device.h"
#include "client_py/native/array_view.h"
#include "client_py/native/dlpack.h"
#include "client_py/native/field_object.h"
#include "client_py/native/status_error.h"
#include "common/base/first_use.h"
#include "common/language/type.h"

namespace kiln {

namespace py = pybind11;

namespace {

// CUDA's default stream, as both protocols name it.
constexpr uint64_t kDefaultStream = 1;

// A member of data/interop.py, by which this file and that one agree.
PyObject* Interop(const char* name) {
  static PyObject* module = nullptr;
  if (module == nullptr) module = PyImport_ImportModule("kiln.data.interop");
  return module == nullptr ? nullptr : PyObject_GetAttrString(module, name);
}

py::object Steal(PyObject* object) { return py::reinterpret_steal<py::object>(object); }

// The usual arguments that are no arrays, without a look at their attributes.
bool IsPlain(PyObject* value) {
  return value == Py_None || PyLong_Check(value) || PyFloat_Check(value) ||
         PyUnicode_Check(value) || PyTuple_Check(value) || PyList_Check(value) ||
         PyType_Check(value);
}

// The scalar that NumPy's name of a type means ("<f4"), or none.
Scalar ScalarOfName(const char* name) {
  if (*name != '<' && *name != '=' && *name != '|') return proto::SCALAR_NONE;
  const char kind = name[1];
  if (kind == '\0' || name[2] < '1' || name[2] > '8' || name[3] != '\0') return proto::SCALAR_NONE;
  const int bits = (name[2] - '0') * 8;
  if (kind == 'b') return bits == 8 ? proto::U1 : proto::SCALAR_NONE;
  for (int number = proto::U1 + 1; number < proto::Scalar_ARRAYSIZE; ++number) {
    const auto scalar = static_cast<Scalar>(number);
    const char own = IsFloat(scalar) ? 'f' : IsSignedInt(scalar) ? 'i' : 'u';
    if (own == kind && ScalarBits(scalar) == bits) return scalar;
  }
  return proto::SCALAR_NONE;
}

// Names that each call looks up.
struct Names {
  PyObject* shape = PyUnicode_InternFromString("shape");
  PyObject* type = PyUnicode_InternFromString("typestr");
  PyObject* data = PyUnicode_InternFromString("data");
  PyObject* stream = PyUnicode_InternFromString("stream");
  PyObject* strides = PyUnicode_InternFromString("strides");
  PyObject* mask = PyUnicode_InternFromString("mask");
  PyObject* dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject* device = PyUnicode_InternFromString("__dlpack_device__");
  PyObject* detach = PyUnicode_InternFromString("detach");
  PyObject* is_neg = PyUnicode_InternFromString("is_neg");
  PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  PyObject* interface = PyUnicode_InternFromString("__cuda_array_interface__");
};
const Names& TheNames() {
  static FirstUse<const Names> names;
  return names.Get();
}

// Of an entry of `__cuda_array_interface__`, borrowed; null: absent or None.
PyObject* Entry(PyObject* info, PyObject* name) {
  PyObject* entry = PyDict_GetItemWithError(info, name);
  return entry == Py_None ? nullptr : entry;
}

// Of strides in bytes. Axes of one element may have any, and so may all of an array without
// elements.
bool IsCOrdered(PyObject* strides, const std::vector<int64_t>& extents, int64_t bytes) {
  const auto axes = static_cast<Py_ssize_t>(extents.size());
  if (!PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != axes) return false;
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  for (Py_ssize_t a = axes; a-- > 0; bytes *= extents[a]) {
    const int64_t stride = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, a));
    if (extents[a] != 1 && stride != bytes) return false;
  }
  return true;
}

// The storage of what `__cuda_array_interface__` says of an array in C order; null for others.
std::shared_ptr<FieldStorage> OfInterface(PyObject* value, PyObject* info, uint64_t* stream) {
  const Names& names = TheNames();
  PyObject *shape = Entry(info, names.shape), *type = Entry(info, names.type),
           *data = Entry(info, names.data), *given = Entry(info, names.stream);
  if (shape == nullptr || !PyTuple_Check(shape) || type == nullptr || !PyUnicode_Check(type) ||
      data == nullptr || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 ||
      Entry(info, names.mask) != nullptr) {
    return nullptr;
  }
  const char* name = PyUnicode_AsUTF8(type);
  const Scalar scalar = name == nullptr ? proto::SCALAR_NONE : ScalarOfName(name);
  if (scalar == proto::SCALAR_NONE) return nullptr;
  std::vector<int64_t> extents;
  extents.reserve(PyTuple_GET_SIZE(shape));
  for (Py_ssize_t a = 0; a < PyTuple_GET_SIZE(shape); ++a) {
    extents.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, a)));
  }
  PyObject* strides = Entry(info, names.strides);
  if (strides != nullptr && !IsCOrdered(strides, extents, ScalarBytes(scalar))) return nullptr;
  PyObject* pointer = PyTuple_GET_ITEM(data, 0);
  const uint64_t address = pointer == Py_None ? 0 : PyLong_AsUnsignedLongLong(pointer);
  const bool is_writable = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) == 0;
  if (given != nullptr) *stream = PyLong_AsUnsignedLongLong(given);
  if (PyErr_Occurred() != nullptr) return nullptr;
  // Before the stream is used: both may be of another device.
  auto storage = FromCudaArray(address, static_cast<int>(scalar), extents, is_writable,
                               py::reinterpret_borrow<py::object>(value), /*element_axes=*/0,
                               /*is_external=*/true);
  if (given != nullptr) RaiseIfError(ToStatus(ActiveDevice().WaitFor(*stream)));
  if (*stream == kDefaultStream) *stream = 0;
  return storage;
}

// The stream that `__cuda_array_interface__` names, as that of CuPy's arrays; 0 if that is the
// default one, or none.
uint64_t StreamOfInterface(PyObject* value) {
  const Names& names = TheNames();
  if (_PyType_Lookup(Py_TYPE(value), names.interface) == nullptr) return 0;
  const py::object info = Steal(PyObject_GetAttr(value, names.interface));
  PyObject* given = info && PyDict_Check(info.ptr()) ? Entry(info.ptr(), names.stream) : nullptr;
  const uint64_t stream = given == nullptr ? 0 : PyLong_AsUnsignedLongLong(given);
  if (PyErr_Occurred() != nullptr) return PyErr_Clear(), 0;
  return stream == kDefaultStream ? 0 : stream;
}

bool RunsOnCuda() { return ActiveDevice().target().device() == Target::Device::kCuda; }

// Whether Python code has to say what a tensor of PyTorch is: one with a gradient, or an error.
// A tensor whose values are negated when PyTorch reads them has others in memory.
bool IsSpecial(PyObject* tensor) {
  const py::object negated = Steal(PyObject_CallMethodNoArgs(tensor, TheNames().is_neg));
  if (!negated) PyErr_Clear();
  if (negated && negated.ptr() == Py_True) return true;
  const py::object has_gradient = Steal(PyObject_GetAttr(tensor, TheNames().requires_grad));
  if (!has_gradient) throw py::error_already_set();
  return has_gradient.ptr() != Py_False;
}

// The value's own type's functions of DLPack, or null. Types derived from it may hide memory
// that is not theirs, and answer by __dlpack__.
PyObject* OwnExchange(PyObject* value) {
  PyTypeObject* const type = Py_TYPE(value);
  PyObject* const found = _PyType_Lookup(type, TheNames().exchange);
  const bool is_inherited = found != nullptr && type->tp_base != nullptr &&
                            _PyType_Lookup(type->tp_base, TheNames().exchange) != nullptr;
  return is_inherited ? nullptr : found;
}

// On the CPU, Python code copies what is not aligned.
bool IsUsable(const FieldStorage& storage) {
  return RunsOnCuda() ||
         storage.bases[0] % static_cast<uint64_t>(ScalarBytes(storage.access.scalar())) == 0;
}

// The storage of a tensor that gives a capsule; null for others.
std::shared_ptr<FieldStorage> OfDlpack(PyObject* value, bool is_of_torch, uint64_t* stream) {
  const Names& names = TheNames();
  const py::handle tensor(value);
  const py::object device = Steal(PyObject_CallMethodNoArgs(value, names.device));
  if (!device || !PyTuple_Check(device.ptr()) || PyTuple_GET_SIZE(device.ptr()) != 2)
    return nullptr;
  const auto kind = py::handle(PyTuple_GET_ITEM(device.ptr(), 0)).cast<int>();
  const bool on_cuda = IsCudaDevice(kind);
  if (on_cuda != RunsOnCuda()) return nullptr;
  if (!on_cuda) {
    const py::object capsule = Steal(PyObject_CallMethodNoArgs(value, names.dlpack));
    if (!capsule) return nullptr;
    return FromDlpack(py::reinterpret_borrow<py::capsule>(capsule), /*element_axes=*/0,
                      /*is_external=*/true);
  }
  if (is_of_torch) {
    const py::object current = Steal(Interop("current_stream"));
    if (!current) return nullptr;
    *stream = current(tensor).cast<uint64_t>();
  } else {
    *stream = StreamOfInterface(value);
  }
  const uint64_t own = ActiveDevice().stream();
  const auto capsule =
      tensor.attr("__dlpack__")(py::arg("stream") = own == 0 ? kDefaultStream : own)
          .cast<py::capsule>();
  return FromDlpack(capsule, /*element_axes=*/0, /*is_external=*/true);
}

// Whether a storage is of the same memory and form as a tensor.
bool Fits(const FieldStorage& storage, const ShownTensor& tensor) {
  return storage.is_writable && storage.bases[0] == reinterpret_cast<uintptr_t>(tensor.data) &&
         storage.access.scalar() == tensor.scalar && storage.shape == tensor.shape &&
         storage.device == (tensor.on_cuda ? &ActiveDevice() : nullptr);
}

}  // namespace

ExternalArrays::View& ExternalArrays::SpareFor(const void* data) {
  constexpr size_t kSpares = 64;
  static FirstUse<std::array<View, kSpares>> spares;
  return spares.Get()[absl::HashOf(data) % kSpares];
}

ExternalArrays::~ExternalArrays() {
  for (View& view : views_) {
    // What the call left alone, with the storage that the array has itself.
    const bool is_alone = Py_REFCNT(view.array) == 1 && view.storage.use_count() == 2 &&
                          view.storage->memory.use_count() == 1;
    if (is_alone) {
      view.storage->memory->owner.reset();
      std::swap(view, SpareFor(reinterpret_cast<const void*>(view.storage->bases[0])));
    }
    Py_XDECREF(view.array);
  }
}

// An array over the storage; none if that cannot be used, maybe with an error of Python's.
ExternalArrays::View ExternalArrays::Take(std::shared_ptr<FieldStorage> storage) {
  if (storage == nullptr || !IsUsable(*storage)) return {};
  const py::object type = Steal(Interop("DeviceArray")), empty = Steal(PyTuple_New(0));
  if (!type || !empty) return {};
  auto* const made = reinterpret_cast<PyTypeObject*>(type.ptr());
  py::object array = Steal(made->tp_new(made, empty.ptr(), nullptr));
  if (!array || !BindStorage(array.ptr(), py::cast(storage).ptr())) return {};
  return {array.release().ptr(), std::move(storage)};
}

// An array over the memory of a tensor, which may be a spare one.
ExternalArrays::View ExternalArrays::ViewOf(const ShownTensor& tensor, PyObject* value) {
  View& spare = SpareFor(tensor.data);
  View view = spare.array != nullptr && Fits(*spare.storage, tensor) ? std::exchange(spare, {})
                                                                     : Take(StorageOf(tensor));
  if (view.array != nullptr) view.storage->memory->owner = Owning(value);
  return view;
}

ExternalArrays::View ExternalArrays::OfTensor(PyObject* value, uint64_t* stream) {
  const bool is_of_torch = _PyType_Lookup(Py_TYPE(value), TheNames().detach) != nullptr;
  if (is_of_torch && IsSpecial(value)) return {};
  PyObject* const exchange = OwnExchange(value);
  if (exchange == nullptr) return Take(OfDlpack(value, is_of_torch, stream));
  const std::optional<ShownTensor> shown = ShowTensor(exchange, value, RunsOnCuda());
  if (!shown.has_value()) return Take(OfDlpack(value, is_of_torch, stream));
  *stream = shown->stream;
  if (*stream != ActiveDevice().stream()) RaiseIfError(ToStatus(ActiveDevice().WaitFor(*stream)));
  return ViewOf(*shown, value);
}

// May throw, or leave an error of Python's.
bool ExternalArrays::TryViewOne(PyObject* value, PyObject** view) {
  *view = nullptr;
  ArrayView known;
  if (IsPlain(value) || IsField(value) || ViewArray(value, &known)) return true;
  if (IsNumpyArray(value)) return false;  // one that has to be copied
  // Without the exception that a look for a missing attribute makes.
  const bool gives_capsule = _PyType_Lookup(Py_TYPE(value), TheNames().dlpack) != nullptr;
  py::object info;
  if (!gives_capsule) {
    if (!RunsOnCuda()) return true;
    info = Steal(PyObject_GetAttr(value, TheNames().interface));
    if (!info) return PyErr_Clear(), true;
    if (!PyDict_Check(info.ptr())) return false;
  }
  uint64_t stream = 0;
  View made =
      gives_capsule ? OfTensor(value, &stream) : Take(OfInterface(value, info.ptr(), &stream));
  if (made.array == nullptr) return false;
  *view = made.array;
  views_.push_back(std::move(made));
  if (stream != ActiveDevice().stream()) streams_.push_back(stream);
  return true;
}

bool ExternalArrays::ViewOne(PyObject* value, PyObject** view) {
  bool viewed;
  try {
    viewed = TryViewOne(value, view);
  } catch (const std::exception&) {  // a tensor that cannot be taken, or an error of Python's
    viewed = false;
  }
  if (!viewed) PyErr_Clear();
  return viewed;
}

bool ExternalArrays::ViewAll(PyObject* const* args, Py_ssize_t count) {
  args_.assign(args, args + count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* view = nullptr;
    if (!ViewOne(args[i], &view)) return false;
    if (view != nullptr) args_[i] = view;
  }
  return !views_.empty();
}

bool ExternalArrays::Release() {
  for (const uint64_t stream : streams_) {
    const Result<> done = device_->ReleaseTo(stream);
    if (done.ok()) continue;
    PyErr_SetString(PyExc_RuntimeError, done.error().text.c_str());
    return false;
  }
  return true;
}

}  // namespace kiln
