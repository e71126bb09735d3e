// Fields and arrays of C++ programs: dense memory, and the descriptors through which kernels access
// them.
//
// Example:
//   auto x = *Field<float>::Create({1000});
//   x[3] = 1.5f;
//   ParamId p = builder.AddStorageParam(x.storage());
//   launcher.Bind(p, x);
//
// A field of floats may have companions, fields of the same form for its derivatives:
//   auto v = *Field<float>::Create({}, {2}, Companions::kGrad);
//   Field<float> v_grad = *v.grad();
#ifndef KILN_CLIENT_CPP_FIELDS_H_
#define KILN_CLIENT_CPP_FIELDS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "kiln/proto/layout.pb.h"
#include "runtime/cpu_device.h"

namespace kiln {

template <typename T>
constexpr proto::Scalar ScalarOf() {
  if constexpr (std::is_same_v<T, bool>) return proto::U1;
  if constexpr (std::is_same_v<T, int8_t>) return proto::I8;
  if constexpr (std::is_same_v<T, int16_t>) return proto::I16;
  if constexpr (std::is_same_v<T, int32_t>) return proto::I32;
  if constexpr (std::is_same_v<T, int64_t>) return proto::I64;
  if constexpr (std::is_same_v<T, uint8_t>) return proto::U8;
  if constexpr (std::is_same_v<T, uint16_t>) return proto::U16;
  if constexpr (std::is_same_v<T, uint32_t>) return proto::U32;
  if constexpr (std::is_same_v<T, uint64_t>) return proto::U64;
  if constexpr (std::is_same_v<T, float>) return proto::F32;
  if constexpr (std::is_same_v<T, double>) return proto::F64;
  return proto::SCALAR_NONE;
}

// Which derivatives a field has memory for: its gradient (reverse mode), its dual (forward mode).
enum class Companions { kNone, kGrad, kDual, kGradAndDual };

// A dense zeroed field of any element type: one tree of one dense level, elements row-major, the
// scalars of a tensor adjacent. Its memory does not move; accesses are as thread-safe as plain
// memory.
class DenseField {
 public:
  // InvalidArgument for impossible shapes and for companions of anything but floats,
  // ResourceExhausted if the system or the device refuses memory.
  static absl::StatusOr<std::shared_ptr<DenseField>> Create(
      proto::Scalar scalar, const std::vector<uint64_t>& shape,
      const std::vector<uint32_t>& element_shape = {}, Companions companions = Companions::kNone,
      Device* device = &CpuDevice());

  const proto::Storage& storage() const { return storage_; }
  const std::vector<uint64_t>& shape() const { return shape_; }
  // The number of scalars.
  uint64_t size() const { return size_; }
  // For the host. Of a field on a device with memory of its own, a mirror: buffer().Touch comes
  // before each use, and buffer().HandOver before each launch.
  uint8_t* data() const { return buffer_->host(); }
  Buffer& buffer() const { return *buffer_; }
  // On which it is.
  Device* device() const { return buffer_->device() == nullptr ? &CpuDevice() : buffer_->device(); }
  uint64_t bytes() const;
  // Sets all scalars to `value`, converted to their type. Fails if the device does.
  absl::Status Fill(double value) const;

  // Null if the field was made without.
  const std::shared_ptr<DenseField>& grad() const { return grad_; }
  const std::shared_ptr<DenseField>& dual() const { return dual_; }

  // The slots of a launch: the address of each base, then the outermost extent.
  const std::vector<uint64_t>& bases() const { return bases_; }
  uint64_t outer_extent() const { return outer_extent_; }

 private:
  DenseField() = default;
  proto::Storage storage_;
  std::vector<uint64_t> shape_;
  std::vector<uint64_t> bases_;
  uint64_t outer_extent_ = 0;
  uint64_t size_ = 0;
  std::unique_ptr<Buffer> buffer_;
  std::shared_ptr<DenseField> grad_, dual_;
};

// The descriptor of an array of `ndim` axes whose shape is given at launch. Its memory must not
// overlap that of other parameters, unless CompileSettings::aliases names them.
proto::Storage ArrayStorage(proto::Scalar scalar, int ndim);

// A dense field seen as scalars of type T. Cheap to copy; copies share memory.
template <typename T>
class Field {
 public:
  static_assert(ScalarOf<T>() != proto::SCALAR_NONE, "no scalar of the language");

  static absl::StatusOr<Field> Create(const std::vector<uint64_t>& shape,
                                      const std::vector<uint32_t>& element_shape = {},
                                      Companions companions = Companions::kNone) {
    auto dense = DenseField::Create(ScalarOf<T>(), shape, element_shape, companions);
    if (!dense.ok()) return dense.status();
    return Field(*std::move(dense));
  }

  const proto::Storage& storage() const { return dense_->storage(); }
  const DenseField& dense() const { return *dense_; }
  const std::vector<uint64_t>& shape() const { return dense_->shape(); }
  uint64_t size() const { return dense_->size(); }

  // The field's companions; FailedPrecondition if it was made without.
  absl::StatusOr<Field> grad() const { return Companion(dense_->grad(), "gradient"); }
  absl::StatusOr<Field> dual() const { return Companion(dense_->dual(), "dual"); }

  T* data() const { return reinterpret_cast<T*>(dense_->data()); }
  absl::Span<T> values() const { return {data(), size()}; }
  // By row-major position; unchecked.
  T& operator[](uint64_t position) const { return data()[position]; }
  // By indices, of the field's axes and then the element's; unchecked.
  template <typename... Index>
  T& at(Index... indices) const {
    uint64_t position = 0;
    int axis = 0;
    ((position = position * extents_[axis++] + static_cast<uint64_t>(indices)), ...);
    return data()[position];
  }

  void Fill(T value) const { CpuDevice().Fill(dense_->data(), &value, sizeof value, size()); }
  // InvalidArgument unless the sizes agree.
  absl::Status CopyFrom(absl::Span<const T> from) const {
    if (from.size() != size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(from.size(), " values for a field of ", size()));
    }
    CpuDevice().CopyIn(dense_->data(), from.data(), size() * sizeof(T));
    return absl::OkStatus();
  }
  std::vector<T> ToVector() const { return {data(), data() + size()}; }

 private:
  explicit Field(std::shared_ptr<DenseField> dense) : dense_(std::move(dense)) {
    extents_ = dense_->shape();
    for (uint32_t extent : dense_->storage().element().shape()) extents_.push_back(extent);
  }
  static absl::StatusOr<Field> Companion(std::shared_ptr<DenseField> dense, const char* what) {
    if (dense != nullptr) return Field(std::move(dense));
    return absl::FailedPreconditionError(absl::StrCat("the field was made without a ", what));
  }
  std::shared_ptr<DenseField> dense_;
  std::vector<uint64_t> extents_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_FIELDS_H_
