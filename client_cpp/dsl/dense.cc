// Dense fields: kiln_dense_... over DenseField.
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"

namespace kiln::dsl {
namespace {

absl::StatusOr<std::shared_ptr<DenseField>> Make(kiln_value_type element,
                                                 absl::Span<const uint64_t> shape,
                                                 Companions companions) {
  if (element.scalar == KILN_NO_DTYPE || element.scalar > KILN_F64) {
    return absl::InvalidArgumentError(
        absl::StrCat("a field's numbers have no dtype ", element.scalar));
  }
  std::vector<uint32_t> element_shape;
  for (const uint32_t extent : {element.rows, element.columns}) {
    if (extent > 0) element_shape.push_back(extent);
  }
  return DenseField::Create(static_cast<proto::Scalar>(element.scalar),
                            {shape.begin(), shape.end()}, element_shape, companions,
                            CurrentDevice());
}

// Elements of a field, as bytes of its memory.
struct Part {
  uint64_t offset, bytes;
};

absl::StatusOr<Part> PartOf(const DenseField& field, uint64_t first, uint64_t count) {
  uint64_t elements = 1;
  for (const uint64_t extent : field.shape()) elements *= extent;
  if (first > elements || count > elements - first) {
    return absl::OutOfRangeError(
        absl::StrCat(count, " elements from number ", first, " of a field of ", elements));
  }
  const uint64_t element_bytes = field.bytes() / elements;
  return Part{first * element_bytes, count * element_bytes};
}

// Calls use(part) while the host may use the elements, which are up to date.
template <typename Use>
absl::Status WithPart(const DenseField& field, uint64_t first, uint64_t count, HostAccess access,
                      const Use& use) {
  ASSIGN_OR_RETURN(const Part part, PartOf(field, first, count));
  if (part.bytes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*field.device()));
  RETURN_IF_ERROR(ToStatus(field.buffer().Touch(part.offset, part.bytes, access)));
  return use(part);
}

absl::Status Read(const DenseField& field, uint64_t first, uint64_t count, void* to) {
  return WithPart(field, first, count, HostAccess::kRead, [&](Part part) {
    std::memcpy(to, field.data() + part.offset, part.bytes);
    return absl::OkStatus();
  });
}

absl::Status Write(const DenseField& field, uint64_t first, uint64_t count, const void* from) {
  return WithPart(field, first, count, HostAccess::kOverwrite, [&](Part part) {
    std::memcpy(field.data() + part.offset, from, part.bytes);
    return ToStatus(field.buffer().Deliver(part.offset, part.bytes));
  });
}

// All elements become the one at `element`.
absl::Status Fill(const DenseField& field, const uint8_t* element) {
  ASSIGN_OR_RETURN(const Part one, PartOf(field, 0, 1));
  const uint64_t count = field.bytes() / one.bytes;
  if (one.bytes <= sizeof(uint64_t) && (one.bytes & (one.bytes - 1)) == 0) {
    ASSIGN_OR_RETURN(const auto turn, TakeTurn(*field.device()));
    RETURN_IF_ERROR(ToStatus(field.buffer().HandOver()));  // what the host has written comes before
    auto* const begin = reinterpret_cast<uint8_t*>(field.bases()[0]);
    field.device()->Fill(begin, element, static_cast<uint32_t>(one.bytes), count);
    return absl::OkStatus();
  }
  return WithPart(field, 0, count, HostAccess::kOverwrite, [&](Part all) {
    for (uint64_t at = 0; at < all.bytes; at += one.bytes) {
      std::memcpy(field.data() + at, element, one.bytes);
    }
    return ToStatus(field.buffer().Deliver(0, all.bytes));
  });
}

absl::Status ShareAll(const DenseField& field) {
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*field.device()));
  return ToStatus(field.buffer().Share(0, field.buffer().size()));
}

}  // namespace
}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

kiln_status kiln_dense_new(kiln_value_type element, const uint64_t* shape, size_t axes,
                           kiln_dense** field) {
  if (field == nullptr) return Null("kiln_dense_new", "field");
  if (shape == nullptr && axes > 0) return Null("kiln_dense_new", "shape");
  auto made = Make(element, {shape, axes}, kiln::Companions::kNone);
  if (!made.ok()) return Told(made.status());
  *field = new kiln_dense{*std::move(made)};
  return KILN_OK;
}

kiln_status kiln_dense_new_with_gradient(kiln_value_type element, const uint64_t* shape,
                                         size_t axes, kiln_dense** field, kiln_dense** gradient) {
  if (field == nullptr) return Null("kiln_dense_new_with_gradient", "field");
  if (gradient == nullptr) return Null("kiln_dense_new_with_gradient", "gradient");
  if (shape == nullptr && axes > 0) return Null("kiln_dense_new_with_gradient", "shape");
  auto made = Make(element, {shape, axes}, kiln::Companions::kGrad);
  if (!made.ok()) return Told(made.status());
  *gradient = new kiln_dense{(*made)->grad()};
  *field = new kiln_dense{*std::move(made)};
  return KILN_OK;
}

void* kiln_dense_data(const kiln_dense* field) {
  // What the program read or wrote in a mirror would be out of date after a launch, without a word.
  return field->field->buffer().is_mirrored() ? nullptr : field->field->data();
}
void kiln_dense_free(kiln_dense* field) { delete field; }

kiln_status kiln_dense_read(const kiln_dense* field, uint64_t first, uint64_t count, void* to) {
  if (to == nullptr && count > 0) return Null("kiln_dense_read", "to");
  return Told(Read(*field->field, first, count, to));
}

kiln_status kiln_dense_write(const kiln_dense* field, uint64_t first, uint64_t count,
                             const void* from) {
  if (from == nullptr && count > 0) return Null("kiln_dense_write", "from");
  return Told(Write(*field->field, first, count, from));
}

kiln_status kiln_dense_fill(const kiln_dense* field, const void* element) {
  if (element == nullptr) return Null("kiln_dense_fill", "element");
  return Told(Fill(*field->field, static_cast<const uint8_t*>(element)));
}

kiln_status kiln_dense_device_data(const kiln_dense* field, void** address) {
  if (address == nullptr) return Null("kiln_dense_device_data", "address");
  *address = reinterpret_cast<void*>(field->field->bases()[0]);
  return Told(ShareAll(*field->field));
}
