#include "client_py/native/module_arguments.h"

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "client_py/native/active_device.h"
#include "client_py/native/field_object.h"
#include "client_py/native/status_error.h"
#include "client_py/native/storage_object.h"
#include "runtime/cpu_device.h"

namespace kiln {

namespace py = pybind11;

// An argument, with all that it points to.
struct ModuleArguments::Packed {
  Packed() = default;
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed() {
    if (has_buffer) PyBuffer_Release(&buffer);
  }
  kiln_arg arg{};
  kiln_array array{};
  std::vector<int64_t> shape, strides;
  std::vector<kiln_arg> numbers;
  Py_buffer buffer{};
  bool has_buffer = false;
};

namespace {

// DLPack's code of a buffer's format; 255 for formats that kernels lack.
uint8_t CodeOf(const char* format) {
  if (format == nullptr) return 1;  // unsigned bytes
  // These say that the byte order is this machine's.
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  if (format[0] == '\0' || format[1] != '\0') return 255;
  const std::string_view kinds[] = {"bhilq", "BHILQ", "efd"};
  for (size_t code = 0; code < std::size(kinds); ++code) {
    if (kinds[code].find(*format) != std::string_view::npos) return static_cast<uint8_t>(code);
  }
  return *format == '?' ? 6 : 255;
}

// Null for everything but ndarrays of ours, and arrays of other libraries that stand for such.
const FieldStorage* NdarrayOf(py::handle value) {
  if (!IsField(value.ptr())) return nullptr;
  PyObject* bound = reinterpret_cast<FieldObject*>(value.ptr())->storage_object;
  if (bound == nullptr) return nullptr;
  const auto& storage = py::cast<const FieldStorage&>(py::handle(bound));
  return storage.is_ndarray && storage.memory->alive ? &storage : nullptr;
}

// Of no kind for anything but a number: the library says what it takes.
kiln_arg NumberArg(py::handle value) {
  if (PyNumber_Check(value.ptr()) == 0) return {};
  if (PyFloat_Check(value.ptr()) || !PyIndex_Check(value.ptr())) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return kiln_float(number);
  }
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) return kiln_int(whole);
  const unsigned long long large = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return kiln_uint(large);
}

// The numbers of a vector, matrix or struct, or of nested sequences.
void Flatten(py::handle value, std::vector<kiln_arg>* numbers) {
  if (py::hasattr(value, "to_list")) return Flatten(value.attr("to_list")(), numbers);
  if (py::isinstance<py::dict>(value)) return Flatten(value.attr("values")(), numbers);
  if (py::hasattr(value, "entries")) return Flatten(value.attr("entries"), numbers);
  if (!py::hasattr(value, "__iter__")) return numbers->push_back(NumberArg(value));
  for (py::handle item : value) Flatten(item, numbers);
}

py::object Interop(const char* name) { return py::module_::import("kiln.data.interop").attr(name); }

}  // namespace

ModuleArguments::ModuleArguments(Device* device, const char* kind, const char* name, size_t most)
    : device_(device),
      kind_(kind),
      name_(name),
      args_(new Packed[most]),
      external_(device != nullptr ? device : &CpuDevice()) {}

ModuleArguments::~ModuleArguments() = default;

kiln_arg ModuleArguments::Add(py::handle value, const kiln_param& param) {
  Packed& packed = args_[count_++];
  if (param.kind == KILN_PARAM_ARRAY) {
    AddArray(value, param, &packed);
  } else if (param.element_ndim == 0 && param.dtype != KILN_NO_DTYPE) {
    packed.arg = NumberArg(value);
  } else {
    Flatten(value, &packed.numbers);
    packed.arg = kiln_args(packed.numbers.data(), packed.numbers.size());
  }
  return packed.arg;
}

void ModuleArguments::AddArray(py::handle value, const kiln_param& param, Packed* packed) {
  if (const FieldStorage* storage = NdarrayOf(value); storage != nullptr) {
    CheckWritable(storage->is_writable, param);
    CheckTexels(*storage, param);
    packed->shape = storage->full_shape;
    packed->array = kiln_array_of(reinterpret_cast<void*>(storage->bases.at(0)),
                                  storage->access.scalar(), 0, nullptr);
    constexpr int32_t kCuda = 2;
    if (storage->memory->is_mirrored()) {
      packed->array.device_type = kCuda;
      mirrored_.push_back(storage->memory);
    }
  } else if (IsField(value.ptr())) {
    return;  // a field, or an array that was destroyed
  } else if (PyObject_CheckBuffer(value.ptr()) != 0) {
    AddBuffer(value, param, packed);
  } else {
    const ActiveDeviceScope scope(device_);
    PyObject* view = nullptr;
    if (external_.ViewOne(value.ptr(), &view) && view != nullptr) {
      return AddArray(view, param, packed);
    }
    if (!Interop("is_external")(value).cast<bool>()) return;
    const py::object made = Interop("array_view")(value, param.name);
    if (!views_) views_ = py::list();
    views_.cast<py::list>().append(made);
    return AddArray(made, param, packed);
  }
  packed->array.ndim = static_cast<int32_t>(packed->shape.size());
  packed->array.shape = packed->shape.data();
  packed->arg = kiln_array_arg(&packed->array);
}

void ModuleArguments::AddBuffer(py::handle value, const kiln_param& param, Packed* packed) {
  constexpr int kFlags = PyBUF_STRIDES | PyBUF_FORMAT;
  if (PyObject_GetBuffer(value.ptr(), &packed->buffer, kFlags) != 0) {
    throw py::error_already_set();
  }
  packed->has_buffer = true;
  const Py_buffer& buffer = packed->buffer;
  CheckWritable(buffer.readonly == 0, param);
  packed->shape.assign(buffer.shape, buffer.shape + buffer.ndim);
  for (int i = 0; i < buffer.ndim; ++i) {
    // Strides that are no whole number of elements are no C order either.
    const bool is_whole = buffer.itemsize > 0 && buffer.strides[i] % buffer.itemsize == 0;
    packed->strides.push_back(is_whole ? buffer.strides[i] / buffer.itemsize : 0);
  }
  packed->array.data = buffer.buf;
  packed->array.device_type = 1;
  packed->array.code = CodeOf(buffer.format);
  packed->array.bits = static_cast<uint8_t>(buffer.itemsize * 8);
  packed->array.lanes = 1;
  packed->array.strides = packed->strides.data();
}

void ModuleArguments::CheckTexels(const FieldStorage& storage, const kiln_param& param) const {
  const bool is_texture = storage.texels != KILN_NO_TEXELS && param.texels != KILN_NO_TEXELS;
  if (!is_texture || storage.texels == param.texels) return;
  // The launch refuses texels of another type.
  if (storage.access.scalar() != static_cast<Scalar>(param.dtype)) return;
  const auto meaning = [](uint32_t texels) {
    return texels == KILN_FRACTIONS ? "fractions" : "the numbers themselves";
  };
  throw py::value_error(std::string(kind_) + " '" + name_ + "', argument '" + param.name +
                        "' takes a texture that stores " + meaning(param.texels) +
                        ", got one that stores " + meaning(storage.texels));
}

void ModuleArguments::CheckWritable(bool is_writable, const kiln_param& param) const {
  if (is_writable || param.writes == 0) return;
  throw py::value_error(std::string(kind_) + " '" + name_ + "', argument '" + param.name +
                        "': the array is read-only, and the kernel writes to it");
}

bool ModuleArguments::HandOver() const {
  for (const auto& memory : mirrored_) RaiseIfError(memory->HandOver());
  return !mirrored_.empty();
}

void ModuleArguments::Release() {
  const ActiveDeviceScope scope(device_);
  if (!external_.Release()) throw py::error_already_set();
  if (views_) Interop("release")(views_);
}

}  // namespace kiln
