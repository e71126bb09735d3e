#include "client_py/native/dlpack.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client_cpp/runtime_status.h"
#include "client_py/native/active_device.h"
#include "client_py/native/gil.h"
#include "client_py/native/status_error.h"
#include "client_py/native/storage_object.h"

namespace kiln {

namespace py = pybind11;

namespace {

// The structs of DLPack 0.8 (github.com/dmlc/dlpack), whose layout is its ABI.
struct DlDevice {
  int32_t type;
  int32_t id;
};

struct DlType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: C-ordered
  uint64_t byte_offset;
};

struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};

// The functions by which a type gives its tensors without a capsule, of DLPack 1.2. Each returns 0,
// or -1 with an exception of Python's.
struct DlExchange {
  uint32_t major, minor;
  DlExchange* previous;
  int (*allocate)();
  int (*from_object)(void*, void**);
  int (*to_object)(void*, void**);
  // A tensor of the object's, which is valid until other Python code runs.
  int (*view)(void* object, DlTensor* tensor);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

// Pinned host memory is ordinary memory for the CPU.
constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBool = 6;
constexpr char kName[] = "dltensor", kUsedName[] = "used_dltensor";
constexpr char kExchangeName[] = "dlpack_exchange_api";

DlType TypeOf(Scalar scalar) {
  if (scalar == proto::U1) return {kBool, 8, 1};
  const auto bits = static_cast<uint8_t>(ScalarBits(scalar));
  if (IsFloat(scalar)) return {kFloat, bits, 1};
  return {IsSignedInt(scalar) ? kInt : kUint, bits, 1};
}

Scalar ScalarOf(DlType type) {
  for (int scalar = proto::U1; scalar < proto::Scalar_ARRAYSIZE; ++scalar) {
    const DlType own = TypeOf(static_cast<Scalar>(scalar));
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) {
      return static_cast<Scalar>(scalar);
    }
  }
  return proto::SCALAR_NONE;
}

// The data that an exported tensor needs as long as it exists.
struct Exported {
  DlManaged managed;
  std::shared_ptr<Buffer> buffer;
  std::shared_ptr<void> owner;
  std::vector<int64_t> shape, strides;
};

void DropCapsule(PyObject* capsule) {
  // A consumer that takes the tensor renames the capsule, and owns the tensor from then on.
  if (!PyCapsule_IsValid(capsule, kName)) return;
  auto* managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule, kName));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

bool IsCOrdered(const DlTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t stride = 1;
  bool is_ordered = true;
  // Axes of one element may have any stride, and so may all of a tensor without elements.
  for (int a = tensor.ndim - 1; a >= 0; --a) {
    if (tensor.shape[a] == 0) return true;
    if (tensor.shape[a] != 1 && tensor.strides[a] != stride) is_ordered = false;
    stride *= tensor.shape[a];
  }
  return is_ordered;
}

// Tells the memory of a device that other libraries use the bytes from the first element of a
// tensor to the last one. Strides are in elements.
void ShareElements(const Memory& memory, const uint8_t* data, int64_t size,
                   absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  int64_t first = 0, last = 0;  // from `data`, in elements
  for (size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] == 0) return;
    const int64_t distance = (shape[a] - 1) * strides[a];
    (distance < 0 ? first : last) += distance;
  }
  const auto bytes = static_cast<uint64_t>((last - first + 1) * size);
  RaiseIfError(memory.Share(data + first * size, bytes));
}

// The storage's elements as a tensor. On a device, other libraries use its memory from now on.
// Throws ValueError if the layout has no single stride per axis.
std::unique_ptr<Exported> Export(const FieldStorage& storage) {
  const DenseAccess& access = storage.access;
  const Memory& memory = *storage.memory;
  const int64_t size = ScalarBytes(access.scalar());
  auto exported = std::make_unique<Exported>();
  const bool on_device = memory.is_mirrored();
  if (storage.scattered != nullptr || (on_device && memory.buffer == nullptr) ||
      !access.ElementStrides(storage.element_shape, &exported->strides)) {
    throw py::value_error("the elements are not at regular distances; use to_numpy()");
  }
  // DLPack counts strides in elements, DenseAccess in bytes.
  for (int64_t& stride : exported->strides) stride /= size;
  exported->shape = storage.shape;
  exported->shape.insert(exported->shape.end(), storage.element_shape.begin(),
                         storage.element_shape.end());
  // Both keep the memory: which of them is set depends on how it was made.
  exported->buffer = memory.buffer;
  exported->owner = memory.owner;
  DlTensor& tensor = exported->managed.tensor;
  uint8_t* data = access.ComponentData(0);
  if (on_device) {
    ShareElements(memory, data, size, exported->shape, exported->strides);
    data = memory.buffer->data() + (data - memory.buffer->host());
  }
  tensor.data = data;
  tensor.device = {on_device ? kCuda : kCpu, on_device ? memory.buffer->device()->number() : 0};
  tensor.ndim = static_cast<int32_t>(exported->shape.size());
  tensor.type = TypeOf(access.scalar());
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  tensor.byte_offset = 0;
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DlManaged* managed) {
    delete static_cast<Exported*>(managed->context);
  };
  return exported;
}

// The capsule, or its consumer, calls the deleter once.
py::capsule CapsuleOf(std::unique_ptr<Exported> exported) {
  return py::reinterpret_steal<py::capsule>(
      PyCapsule_New(&exported.release()->managed, kName, DropCapsule));
}

struct Imported {
  void* data;
  Scalar scalar;
  absl::Span<const int64_t> shape;  // with the elements' axes, which are the last ones
  int element_axes;
  bool is_external;
};

// Throws ValueError for a shape whose indices or bytes kernels cannot count.
void CheckShape(absl::Span<const int64_t> shape, uint64_t element_bytes) {
  constexpr int64_t kMostIndices = std::numeric_limits<int32_t>::max();
  uint64_t bytes = element_bytes;
  for (size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0 || shape[a] > kMostIndices) {
      throw py::value_error("its axis " + std::to_string(a) + " has " + std::to_string(shape[a]) +
                            " indices, but indices are 32-bit integers");
    }
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(shape[a]), &bytes)) {
      throw py::value_error("its shape is that of more bytes than there are addresses");
    }
  }
}

// The storage of an array, whose memory the caller gives an owner. Throws ValueError.
std::shared_ptr<FieldStorage> Import(const Imported& array, bool on_device) {
  const int ndim = static_cast<int>(array.shape.size()) - array.element_axes;
  if (ndim < 0 || array.shape.size() > kMaxIndices) {
    throw py::value_error("the tensor has " + std::to_string(array.shape.size()) + " axes");
  }
  CheckShape(array.shape, static_cast<uint64_t>(ScalarBytes(array.scalar)));
  auto memory = std::make_shared<Memory>();
  memory->alive = true;
  auto* data = static_cast<uint8_t*>(array.data);
  if (on_device) {
    const auto size = static_cast<uint64_t>(ScalarBytes(array.scalar));
    if (reinterpret_cast<uintptr_t>(data) % size != 0) {
      throw py::value_error("the tensor's address is not a multiple of its elements' size");
    }
    uint64_t bytes = size;
    for (int64_t extent : array.shape) bytes *= static_cast<uint64_t>(extent);
    memory->buffer = ValueOrRaise(
        ToStatusOr(ActiveDevice().Borrow(data, bytes, /*has_mirror=*/!array.is_external)));
    data = memory->buffer->host();
  }
  const std::vector<uint32_t> element(array.shape.begin() + ndim, array.shape.end());
  std::shared_ptr<FieldStorage> storage =
      MakeArrayStorage(std::move(memory), data, array.scalar, element,
                       {array.shape.begin(), array.shape.begin() + ndim});
  storage->is_external = array.is_external;
  return storage;
}

// (address, strides in bytes, an object that keeps the memory), for __cuda_array_interface__.
py::tuple CudaArrayOf(const FieldStorage& storage) {
  if (!storage.memory->is_mirrored()) {
    throw py::value_error("the elements are in the memory of the CPU");
  }
  std::unique_ptr<Exported> exported = Export(storage);
  const auto address = reinterpret_cast<uintptr_t>(exported->managed.tensor.data);
  py::tuple strides(exported->strides.size());
  for (size_t a = 0; a < exported->strides.size(); ++a) {
    strides[a] = exported->strides[a] * ScalarBytes(storage.access.scalar());
  }
  return py::make_tuple(address, strides, CapsuleOf(std::move(exported)));
}

// A "dltensor" capsule over the elements. Its axes are those of the shape, then those of an
// element. The receiver keeps the memory alive even if the field is destroyed.
py::capsule ToDlpack(const FieldStorage& storage) { return CapsuleOf(Export(storage)); }

bool IsCuda(const DlTensor& tensor) { return IsCudaDevice(tensor.device.type); }

// Throws ValueError if kernels cannot use the tensor.
ShownTensor Checked(const DlTensor& tensor) {
  const Scalar scalar = ScalarOf(tensor.type);
  const bool on_device = IsCuda(tensor);
  if (!on_device && tensor.device.type != kCpu && tensor.device.type != kCudaHost) {
    throw py::value_error("the tensor is neither in the memory of the CPU nor on a CUDA device");
  }
  if (on_device && ActiveDevice().target().device() != Target::Device::kCuda) {
    throw py::value_error("the tensor is not in the memory of the CPU");
  }
  // Managed memory belongs to all devices.
  if (tensor.device.type == kCuda && tensor.device.id != ActiveDevice().number()) {
    throw py::value_error("the tensor is on CUDA device " + std::to_string(tensor.device.id) +
                          ", the program's kernels run on device " +
                          std::to_string(ActiveDevice().number()));
  }
  if (scalar == proto::SCALAR_NONE) {
    throw py::value_error("the tensor's type (code " + std::to_string(tensor.type.code) + ", " +
                          std::to_string(tensor.type.bits) +
                          " bits) is not a type of the language");
  }
  if (!IsCOrdered(tensor)) throw py::value_error("the tensor is not contiguous in C order");
  const bool is_empty =
      std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
  if (tensor.data == nullptr && !is_empty) throw py::value_error("the tensor has no memory");
  return {static_cast<uint8_t*>(tensor.data) + tensor.byte_offset,
          scalar,
          {tensor.shape, static_cast<size_t>(tensor.ndim)},
          on_device};
}

}  // namespace

bool IsCudaDevice(int kind) { return kind == kCuda || kind == kCudaManaged; }

std::shared_ptr<void> Owning(const py::handle& object) {
  return {object.inc_ref().ptr(), [](void* owned) {
            const GilTaken gil;
            Py_DECREF(static_cast<PyObject*>(owned));
          }};
}

std::shared_ptr<FieldStorage> FromDlpack(const py::capsule& capsule, int element_axes,
                                         bool is_external) {
  if (!PyCapsule_IsValid(capsule.ptr(), kName)) {
    throw py::value_error("a DLPack capsule that has not been used is needed");
  }
  auto* managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  const ShownTensor tensor = Checked(managed->tensor);
  std::shared_ptr<FieldStorage> storage =
      Import({tensor.data, tensor.scalar, tensor.shape, element_axes, is_external}, tensor.on_cuda);
  storage->memory->owner = std::shared_ptr<void>(managed, [](void* owned) {
    auto* tensor = static_cast<DlManaged*>(owned);
    // The deleter may run Python code.
    const GilTaken gil;
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
  // The protocol's mark that the tensor has an owner. Only now, since an error above leaves it
  // unused.
  PyCapsule_SetName(capsule.ptr(), kUsedName);
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  return storage;
}

std::optional<ShownTensor> ShowTensor(PyObject* capsule, PyObject* value, bool on_cuda) {
  if (!PyCapsule_IsValid(capsule, kExchangeName)) return std::nullopt;
  const auto* exchange =
      static_cast<const DlExchange*>(PyCapsule_GetPointer(capsule, kExchangeName));
  if (exchange->major != 1 || exchange->view == nullptr || exchange->current_stream == nullptr) {
    return std::nullopt;
  }
  DlTensor tensor;
  if (exchange->view(value, &tensor) != 0) throw py::error_already_set();
  if (IsCuda(tensor) != on_cuda) return std::nullopt;
  ShownTensor shown = Checked(tensor);
  if (!on_cuda) return shown;
  void* current = nullptr;
  if (exchange->current_stream(tensor.device.type, tensor.device.id, &current) != 0) {
    throw py::error_already_set();
  }
  shown.stream = reinterpret_cast<uintptr_t>(current);
  return shown;
}

std::shared_ptr<FieldStorage> StorageOf(const ShownTensor& tensor) {
  return Import(
      {tensor.data, tensor.scalar, tensor.shape, /*element_axes=*/0, /*is_external=*/true},
      tensor.on_cuda);
}

std::shared_ptr<FieldStorage> FromCudaArray(uintptr_t address, int scalar,
                                            const std::vector<int64_t>& shape, bool is_writable,
                                            const py::object& owner, int element_axes,
                                            bool is_external) {
  std::shared_ptr<FieldStorage> storage =
      Import({reinterpret_cast<void*>(address), static_cast<Scalar>(scalar), shape, element_axes,
              is_external},
             /*on_device=*/true);
  storage->is_writable = is_writable;
  storage->memory->owner = Owning(owner);
  return storage;
}

void BindDlpack(py::module_& m) {
  m.def("to_dlpack", &ToDlpack);
  m.def("cuda_array", &CudaArrayOf);
  m.def("from_dlpack", &FromDlpack, py::arg("capsule"), py::arg("element_axes") = 0,
        py::arg("is_external") = false);
  m.def("from_cuda_array", &FromCudaArray, py::arg("address"), py::arg("scalar"), py::arg("shape"),
        py::arg("is_writable"), py::arg("owner"), py::arg("element_axes") = 0,
        py::arg("is_external") = false);
}

}  // namespace kiln
