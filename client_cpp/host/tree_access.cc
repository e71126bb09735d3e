#include "client_cpp/host/tree_access.h"

#include <cstring>
#include <utility>

#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"

namespace kiln {

TreeAccess::TreeAccess(Scalar scalar, std::vector<int64_t> shape, std::vector<Component> components,
                       DenseAccess elements)
    : scalar_(scalar),
      shape_(std::move(shape)),
      components_(std::move(components)),
      elements_(std::move(elements)) {}

int64_t TreeAccess::num_elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape_) count *= extent;
  return count;
}

absl::StatusOr<uint8_t*> TreeAccess::Locate(const int64_t* indices, int component,
                                            CellAccess access) const {
  const Component& at = components_[component];
  // A component in a tree without sparse levels; it always has an address.
  if (at.tree == nullptr) return at.dense.Address(indices, 0);
  // Components may be placed along other axes than the field's indices name them.
  int64_t physical[kMaxIndices] = {};
  for (size_t i = 0; i < at.axes.size(); ++i) {
    if (at.axes[i] >= 0) physical[at.axes[i]] = indices[i];
  }
  return ToStatusOr(at.tree->Locate(at.place, physical, access));
}

absl::Status TreeAccess::WriteElement(const int64_t* indices, const uint64_t* values) const {
  if (elements_.codec() != nullptr) {
    // All components are in this word: one activation, one write.
    ASSIGN_OR_RETURN(uint8_t* word, Locate(indices, 0, CellAccess::kWrite));
    elements_.WriteNumbers(word, indices, values);
    return absl::OkStatus();
  }
  for (int c = 0; c < static_cast<int>(components_.size()); ++c) {
    ASSIGN_OR_RETURN(uint8_t* at, Locate(indices, c, CellAccess::kWrite));
    Write(at, indices, c, values[c]);
  }
  return absl::OkStatus();
}

template <typename Visit>
void TreeAccess::ForEachRun(const Component& component, HostAccess access,
                            const Visit& visit) const {
  const TreeShape& shape = component.tree->shape();
  const auto [node, offset] = shape.CellOf(component.place);
  const NodeLayout& cells = shape[node];
  int64_t stride_of_axis[kMaxIndices] = {};  // elements of the array per physical axis
  int64_t stride = 1;
  // Row-major: the last index has stride 1.
  for (size_t i = shape_.size(); i-- > 0; stride *= shape_[i]) {
    if (component.axes[i] >= 0) stride_of_axis[component.axes[i]] = stride;
  }
  // Neighbouring cells of a run differ in the last level's axis.
  const int64_t step = cells.levels.empty() ? 0 : stride_of_axis[cells.levels.back().axis];
  component.tree->ForEachRun(
      node,
      [&, offset = offset](const CellRun& run) {
        // Of the run's first element in the array; the others follow by `step`.
        int64_t position = 0;
        for (const int32_t axis : component.axes) {
          if (axis >= 0) position += run.at[axis] * stride_of_axis[axis];
        }
        visit(run.cell + offset, run.count, cells.cell_bytes, position, step);
      },
      access);
}

template <typename Visit>
absl::Status TreeAccess::ForEachWord(CellAccess access, const Visit& visit) const {
  absl::Status status;
  elements_.ForEachElement([&](const int64_t* indices, int64_t first) {
    // The visitor cannot be stopped; after a failure, the rest is skipped.
    if (!status.ok()) return;
    const absl::StatusOr<uint8_t*> word = Locate(indices, 0, access);
    status = word.status();
    // Null: kFind, and the cell is inactive.
    if (word.ok() && *word != nullptr) visit(*word, indices, first);
  });
  return status;
}

absl::Status TreeAccess::WriteWords(CellAccess access, const void* array) const {
  const size_t size = ScalarBytes(scalar_);
  std::vector<uint64_t> values(components_.size());
  return ForEachWord(access, [&](uint8_t* word, const int64_t* indices, int64_t first) {
    for (size_t c = 0; c < values.size(); ++c) {
      std::memcpy(&values[c], static_cast<const uint8_t*>(array) + (first + c) * size, size);
    }
    elements_.WriteNumbers(word, indices, values.data());
  });
}

void TreeAccess::CopyTo(void* array) const {
  const size_t size = ScalarBytes(scalar_);
  const size_t element = size * components_.size();
  std::memset(array, 0, element * num_elements());  // inactive elements are zero
  auto* to = static_cast<uint8_t*>(array);
  if (elements_.codec() != nullptr) {
    // Inactive elements read as zeros, so reading cannot fail.
    (void)ForEachWord(CellAccess::kRead, [&](uint8_t* word, const int64_t* indices, int64_t first) {
      for (size_t c = 0; c < components_.size(); ++c) {
        const uint64_t value = elements_.Read(word, indices, static_cast<int>(c));
        std::memcpy(to + (first + c) * size, &value, size);
      }
    });
    return;
  }
  for (const Component& component : components_) {
    if (component.tree == nullptr) {
      std::vector<uint8_t> packed(size * num_elements());
      component.dense.CopyTo(packed.data());
      for (int64_t i = 0; i < num_elements(); ++i) {
        std::memcpy(to + i * element, &packed[i * size], size);
      }
    } else {
      ForEachRun(component, HostAccess::kRead,
                 [&](const uint8_t* from, uint64_t count, uint64_t stride, int64_t position,
                     int64_t step) {
                   for (uint64_t i = 0; i < count; ++i) {
                     std::memcpy(to + (position + static_cast<int64_t>(i) * step) * element,
                                 from + i * stride, size);
                   }
                 });
    }
    to += size;
  }
}

void TreeAccess::CopyFrom(const void* array) const {
  if (elements_.codec() != nullptr) {
    // kFind: only active elements get values, so nothing is allocated and nothing can fail.
    (void)WriteWords(CellAccess::kFind, array);
    return;
  }
  const size_t size = ScalarBytes(scalar_);
  const size_t element = size * components_.size();
  const auto* from = static_cast<const uint8_t*>(array);
  for (const Component& component : components_) {
    if (component.tree == nullptr) {
      std::vector<uint8_t> packed(size * num_elements());
      for (int64_t i = 0; i < num_elements(); ++i) {
        std::memcpy(&packed[i * size], from + i * element, size);
      }
      component.dense.CopyFrom(packed.data());
    } else {
      ForEachRun(component, HostAccess::kWrite,
                 [&](uint8_t* to, uint64_t count, uint64_t stride, int64_t position, int64_t step) {
                   for (uint64_t i = 0; i < count; ++i) {
                     std::memcpy(to + i * stride,
                                 from + (position + static_cast<int64_t>(i) * step) * element,
                                 size);
                   }
                 });
    }
    from += size;
  }
}

template <typename Visit>
absl::Status TreeAccess::ForEachScalar(CellAccess access, const Visit& visit) const {
  const size_t size = ScalarBytes(scalar_);
  size_t position = 0;
  std::vector<int64_t> indices(shape_.size(), 0);
  for (int64_t n = num_elements(); n > 0; --n) {
    for (size_t c = 0; c < components_.size(); ++c, position += size) {
      ASSIGN_OR_RETURN(uint8_t* at, Locate(indices.data(), static_cast<int>(c), access));
      visit(at, position);
    }
    // Counts the indices up like an odometer, the last one fastest.
    for (size_t i = indices.size(); i-- > 0;) {
      if (++indices[i] < shape_[i]) break;
      indices[i] = 0;
    }
  }
  return absl::OkStatus();
}

void TreeAccess::ReadAll(void* array) const {
  // Words of inactive cells read as zeros either way.
  if (elements_.codec() != nullptr) return CopyTo(array);
  const size_t size = ScalarBytes(scalar_);
  auto* to = static_cast<uint8_t*>(array);
  // Reading cannot fail.
  (void)ForEachScalar(CellAccess::kRead, [&](const uint8_t* at, size_t position) {
    std::memcpy(to + position, at, size);
  });
}

absl::Status TreeAccess::WriteAll(const void* array) const {
  if (elements_.codec() != nullptr) return WriteWords(CellAccess::kWrite, array);
  const size_t size = ScalarBytes(scalar_);
  const auto* from = static_cast<const uint8_t*>(array);
  return ForEachScalar(CellAccess::kWrite, [&](uint8_t* at, size_t position) {
    std::memcpy(at, from + position, size);
  });
}

void TreeAccess::Fill(const uint64_t* values) const {
  if (elements_.codec() != nullptr) {
    (void)ForEachWord(CellAccess::kFind, [&](uint8_t* word, const int64_t* indices, int64_t) {
      elements_.WriteNumbers(word, indices, values);
    });
    return;
  }
  const size_t size = ScalarBytes(scalar_);
  for (const Component& component : components_) {
    if (component.tree == nullptr) {
      component.dense.Fill(values);
    } else {
      ForEachRun(component, HostAccess::kWrite,
                 [&](uint8_t* to, uint64_t count, uint64_t stride, int64_t, int64_t) {
                   for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * stride, values, size);
                 });
    }
    ++values;
  }
}

}  // namespace kiln
