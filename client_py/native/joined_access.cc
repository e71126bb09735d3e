// Copies go part by part through an array of the part's own layout, because each part's storage
// copies only whole arrays.
#include "client_py/native/joined_access.h"

#include <pybind11/stl.h>

#include <cstring>
#include <utility>

#include "client_py/native/status_error.h"
#include "common/base/status_macros.h"

namespace kiln {

namespace py = pybind11;

JoinedAccess::JoinedAccess(std::vector<Part> parts, int num_components)
    : parts_(std::move(parts)), components_(num_components) {
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.components.size(); ++i) {
      // From the number of a component in the element to its part and its number there.
      components_[part.components[i]] = {part.storage.get(), static_cast<int>(i)};
    }
  }
}

absl::StatusOr<uint8_t*> JoinedAccess::Locate(const int64_t* indices, int component,
                                              CellAccess access) const {
  const Component& at = components_[component];
  return at.storage->Locate(indices, at.number, access);
}

uint64_t JoinedAccess::Read(const uint8_t* at, const int64_t* indices, int component) const {
  const Component& of = components_[component];
  return of.storage->Read(at, indices, of.number);
}

void JoinedAccess::Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const {
  const Component& of = components_[component];
  of.storage->Write(at, indices, of.number, value);
}

absl::Status JoinedAccess::WriteElement(const int64_t* indices, const uint64_t* values) const {
  // Part by part: components of one part may share words, which its storage writes at once.
  for (const Part& part : parts_) {
    RETURN_IF_ERROR(part.storage->WriteElement(indices, ValuesOf(part, values).data()));
  }
  return absl::OkStatus();
}

std::vector<uint64_t> JoinedAccess::ValuesOf(const Part& part, const uint64_t* values) const {
  std::vector<uint64_t> own;
  own.reserve(part.components.size());
  for (const int component : part.components) own.push_back(values[component]);
  return own;
}

std::vector<uint8_t> JoinedAccess::ArrayOf(const Part& part) const {
  const DenseAccess& access = part.storage->access;
  return std::vector<uint8_t>(access.num_elements() * access.num_components() *
                              ScalarBytes(access.scalar()));
}

// Two copies of the data; joined fields are rare, and their parts have no common stride.
std::vector<uint8_t> JoinedAccess::Taken(const Part& part, const void* whole) const {
  std::vector<uint8_t> array = ArrayOf(part);
  const size_t size = ScalarBytes(part.storage->access.scalar());
  const size_t element = size * components_.size();
  const auto* from = static_cast<const uint8_t*>(whole);
  uint8_t* to = array.data();
  for (int64_t n = part.storage->access.num_elements(); n > 0; --n, from += element) {
    for (const int component : part.components) {
      std::memcpy(to, from + component * size, size);
      to += size;
    }
  }
  return array;
}

void JoinedAccess::Spread(const Part& part, const std::vector<uint8_t>& array, void* whole) const {
  const size_t size = ScalarBytes(part.storage->access.scalar());
  const size_t element = size * components_.size();
  const uint8_t* from = array.data();
  auto* to = static_cast<uint8_t*>(whole);
  for (int64_t n = part.storage->access.num_elements(); n > 0; --n, to += element) {
    for (const int component : part.components) {
      std::memcpy(to + component * size, from, size);
      from += size;
    }
  }
}

void JoinedAccess::CopyTo(void* array) const {
  for (const Part& part : parts_) {
    std::vector<uint8_t> own = ArrayOf(part);
    part.storage->CopyTo(own.data());
    Spread(part, own, array);
  }
}

void JoinedAccess::ReadAll(void* array) const {
  for (const Part& part : parts_) {
    std::vector<uint8_t> own = ArrayOf(part);
    part.storage->ReadAll(own.data());
    Spread(part, own, array);
  }
}

void JoinedAccess::CopyFrom(const void* array) const {
  for (const Part& part : parts_) part.storage->CopyFrom(Taken(part, array).data());
}

void JoinedAccess::Fill(const uint64_t* values) const {
  for (const Part& part : parts_) part.storage->Fill(ValuesOf(part, values).data());
}

absl::Status JoinedAccess::WriteAll(const void* array) const {
  for (const Part& part : parts_) {
    RETURN_IF_ERROR(part.storage->WriteAll(Taken(part, array).data()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<FieldStorage>> JoinStorages(
    std::vector<JoinedAccess::Part> parts, const std::vector<uint32_t>& element_shape) {
  const FieldStorage& first = *parts.at(0).storage;
  int components = 0;
  std::vector<std::shared_ptr<Memory>> memories;
  for (const JoinedAccess::Part& part : parts) {
    if (part.storage->shape != first.shape) {
      return absl::InvalidArgumentError("components of one field have arrays of different shapes");
    }
    components += static_cast<int>(part.components.size());
    memories.push_back(part.storage->memory);
  }
  std::vector<int64_t> offsets;
  // Offsets of the first part: Python code gives all parts the same.
  offsets.reserve(first.access.ndim());
  for (int a = 0; a < first.access.ndim(); ++a) offsets.push_back(first.access.offset(a));
  auto storage = std::make_shared<FieldStorage>();
  storage->is_joined = true;
  storage->memory = JoinMemory(std::move(memories));
  // The shape alone: elements have no common address.
  storage->access = DenseAccess::OfShape(first.access.scalar(), components, first.shape, offsets);
  storage->shape = first.shape;
  storage->element_shape = element_shape;
  storage->scattered = std::make_shared<JoinedAccess>(std::move(parts), components);
  return storage;
}

void BindJoined(py::module_& m) {
  m.def(
      "join_fields",
      [](const std::vector<std::pair<std::shared_ptr<FieldStorage>, std::vector<int>>>& given,
         const std::vector<uint32_t>& element_shape) {
        std::vector<JoinedAccess::Part> parts;
        parts.reserve(given.size());
        for (const auto& [storage, components] : given) parts.push_back({storage, components});
        return ValueOrRaise(JoinStorages(std::move(parts), element_shape));
      },
      py::arg("parts"), py::arg("element_shape"));
}

}  // namespace kiln
