#include "client_py/native/dlpack.h"

#include <string>
#include <utility>
#include <vector>

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

// Pinned host memory is ordinary memory for the CPU.
constexpr int32_t kCpu = 1, kCudaHost = 3;
constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBool = 6;
constexpr char kName[] = "dltensor", kUsedName[] = "used_dltensor";

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
  // Axes of one element may have any stride.
  for (int a = tensor.ndim - 1; a >= 0; --a) {
    if (tensor.shape[a] != 1 && tensor.strides[a] != stride) return false;
    stride *= tensor.shape[a];
  }
  return true;
}

}  // namespace

py::capsule ToDlpack(const FieldStorage& storage) {
  const DenseAccess& access = storage.access;
  if (storage.memory->is_mirrored()) {
    throw py::value_error("the elements are on a CUDA device; use to_numpy()");
  }
  const int64_t size = ScalarBytes(access.scalar());
  auto exported = std::make_unique<Exported>();
  if (storage.scattered != nullptr ||
      !access.ElementStrides(storage.element_shape, &exported->strides)) {
    throw py::value_error("the elements are not at regular distances; use to_numpy()");
  }
  // DLPack counts strides in elements, DenseAccess in bytes.
  for (int64_t& stride : exported->strides) stride /= size;
  exported->shape = storage.shape;
  exported->shape.insert(exported->shape.end(), storage.element_shape.begin(),
                         storage.element_shape.end());
  // Both keep the memory: which of them is set depends on how it was made.
  exported->buffer = storage.memory->buffer;
  exported->owner = storage.memory->owner;
  DlTensor& tensor = exported->managed.tensor;
  tensor.data = access.ComponentData(0);
  tensor.device = {kCpu, 0};
  tensor.ndim = static_cast<int32_t>(exported->shape.size());
  tensor.type = TypeOf(access.scalar());
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  tensor.byte_offset = 0;
  // From here on the deleter owns it; the capsule or its consumer calls that once.
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DlManaged* managed) {
    delete static_cast<Exported*>(managed->context);
  };
  return py::reinterpret_steal<py::capsule>(
      PyCapsule_New(&exported.release()->managed, kName, DropCapsule));
}

std::shared_ptr<FieldStorage> FromDlpack(const py::capsule& capsule, int element_axes) {
  if (!PyCapsule_IsValid(capsule.ptr(), kName)) {
    throw py::value_error("a DLPack capsule that has not been used is needed");
  }
  auto* managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  const DlTensor& tensor = managed->tensor;
  const Scalar scalar = ScalarOf(tensor.type);
  if (tensor.device.type != kCpu && tensor.device.type != kCudaHost) {
    throw py::value_error("the tensor is not in the memory of the CPU");
  }
  if (scalar == proto::SCALAR_NONE) {
    throw py::value_error("the tensor's type (code " + std::to_string(tensor.type.code) + ", " +
                          std::to_string(tensor.type.bits) + " bits) is no type of the language");
  }
  if (!IsCOrdered(tensor)) throw py::value_error("the tensor is not contiguous in C order");
  const int ndim = tensor.ndim - element_axes;
  if (ndim < 0 || tensor.ndim > kMaxIndices) {
    throw py::value_error("the tensor has " + std::to_string(tensor.ndim) + " axes");
  }
  const std::vector<int64_t> shape(tensor.shape, tensor.shape + ndim);
  const std::vector<uint32_t> element(tensor.shape + ndim, tensor.shape + tensor.ndim);
  auto memory = std::make_shared<Memory>();
  memory->owner = std::shared_ptr<void>(managed, [](void* owned) {
    auto* tensor = static_cast<DlManaged*>(owned);
    // The deleter may run Python code.
    py::gil_scoped_acquire gil;
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
  memory->alive = true;
  // The protocol's mark that the tensor has an owner. Only now, since an error above leaves it
  // unused.
  PyCapsule_SetName(capsule.ptr(), kUsedName);
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  uint8_t* data = static_cast<uint8_t*>(tensor.data) + tensor.byte_offset;
  return MakeArrayStorage(std::move(memory), data, scalar, element, shape);
}

}  // namespace kiln
