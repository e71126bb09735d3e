#include "client_cpp/host/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client_cpp/host/clear_memory.h"

namespace kiln {
namespace {

// The side of the tiles in which elements are transposed. A tile's cache lines on either side fit
// the first-level cache, even if a stride maps them to few sets.
constexpr int64_t kTile = 16;

// Sorts the axes by the target's strides, outermost first, and merges neighbours that form one
// regular loop.
void Normalise(std::vector<CopyAxis>* axes) {
  // Axes of one step would keep their neighbours from merging.
  axes->erase(
      std::remove_if(axes->begin(), axes->end(), [](const CopyAxis& a) { return a.extent == 1; }),
      axes->end());
  std::sort(axes->begin(), axes->end(), [](const CopyAxis& a, const CopyAxis& b) {
    return a.to_stride != b.to_stride ? a.to_stride > b.to_stride : a.from_stride > b.from_stride;
  });
  // From the inside, so that a merged axis can merge with the next one.
  for (size_t i = axes->size(); i-- > 1;) {
    CopyAxis& outer = (*axes)[i - 1];
    const CopyAxis inner = (*axes)[i];
    if (outer.to_stride != inner.to_stride * inner.extent ||
        outer.from_stride != inner.from_stride * inner.extent) {
      continue;
    }
    outer = {outer.extent * inner.extent, inner.to_stride, inner.from_stride};
    axes->erase(axes->begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Calls run(to offset, from offset) for all indices of `axes`.
template <typename Run>
void ForAll(const std::vector<CopyAxis>& axes, const Run& run) {
  std::vector<int64_t> index(axes.size(), 0);
  int64_t to = 0, from = 0;
  for (;;) {
    run(to, from);
    size_t a = axes.size();
    for (; a > 0; --a) {
      const CopyAxis& axis = axes[a - 1];
      to += axis.to_stride;
      from += axis.from_stride;
      if (++index[a - 1] < axis.extent) break;
      // Back to the start of this axis; the next outer one steps on.
      to -= axis.to_stride * axis.extent;
      from -= axis.from_stride * axis.extent;
      index[a - 1] = 0;
    }
    if (a == 0) return;
  }
}

// The size is a template parameter so that memcpy becomes one load and one store.
template <size_t kSize>
void CopyLoop(uint8_t* to, const uint8_t* from, const CopyAxis& axis) {
  for (int64_t i = 0; i < axis.extent; ++i) {
    std::memcpy(to + i * axis.to_stride, from + i * axis.from_stride, kSize);
  }
}

template <size_t kSize>
void CopyTiles(uint8_t* to, const uint8_t* from, CopyAxis p, CopyAxis q) {
  // Make the longer loop the inner one. If there are few rows (the components of vectors), a tile
  // may have many columns.
  if (q.extent < kTile && q.extent < p.extent) std::swap(p, q);
  const int64_t width = p.extent < kTile ? kTile * kTile / p.extent : kTile;
  for (int64_t i = 0; i < p.extent; i += kTile) {
    const int64_t rows = std::min(kTile, p.extent - i);
    for (int64_t j = 0; j < q.extent; j += width) {
      const CopyAxis columns = {std::min(width, q.extent - j), q.to_stride, q.from_stride};
      uint8_t* tile_to = to + i * p.to_stride + j * q.to_stride;
      const uint8_t* tile_from = from + i * p.from_stride + j * q.from_stride;
      for (int64_t r = 0; r < rows; ++r) {
        CopyLoop<kSize>(tile_to + r * p.to_stride, tile_from + r * p.from_stride, columns);
      }
    }
  }
}

// `inner` is the target's innermost axis; `axes` are the others.
template <size_t kSize>
void CopyAxes(uint8_t* to, const uint8_t* from, std::vector<CopyAxis> axes, const CopyAxis& inner) {
  const auto source_inner = std::min_element(
      axes.begin(), axes.end(),
      [](const CopyAxis& a, const CopyAxis& b) { return a.from_stride < b.from_stride; });
  // Both sides have the same innermost axis: no transposition, so no tiles.
  if (source_inner == axes.end() || source_inner->from_stride >= inner.from_stride) {
    ForAll(axes, [&](int64_t t, int64_t f) { CopyLoop<kSize>(to + t, from + f, inner); });
    return;
  }
  const CopyAxis other = *source_inner;
  axes.erase(source_inner);
  ForAll(axes, [&](int64_t t, int64_t f) { CopyTiles<kSize>(to + t, from + f, other, inner); });
}

// Fills one line in a loop that the compiler turns into wide stores.
template <typename T>
void FillRow(uint8_t* to, T value, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  T line[kLine];
  std::fill_n(line, kLine, value);
  int64_t i = 0;
  for (; i + kLine <= count; i += kLine) std::memcpy(to + i * sizeof(T), line, sizeof(line));
  std::memcpy(to + i * sizeof(T), line, (count - i) * sizeof(T));
}

void FillRuns(uint8_t* to, const void* value, const std::vector<CopyAxis>& axes,
              const CopyAxis& inner, size_t size) {
  const auto run = [&](auto scalar) {
    std::memcpy(&scalar, value, sizeof(scalar));
    ForAll(axes, [&](int64_t t, int64_t) {
      if (inner.to_stride == static_cast<int64_t>(sizeof(scalar))) {
        FillRow(to + t, scalar, inner.extent);
        return;
      }
      for (int64_t i = 0; i < inner.extent; ++i) {
        std::memcpy(to + t + i * inner.to_stride, &scalar, sizeof(scalar));
      }
    });
  };
  if (size == 1) return run(uint8_t{});
  if (size == 2) return run(uint16_t{});
  if (size == 4) return run(uint32_t{});
  run(uint64_t{});
}

// Removes the innermost axis of a target without a source from `axes`, and returns it.
CopyAxis TakeInner(std::vector<CopyAxis>* axes, size_t size) {
  // Equal strides let Normalise merge all axes of the target.
  for (CopyAxis& axis : *axes) axis.from_stride = axis.to_stride;
  Normalise(axes);
  if (axes->empty()) return {1, static_cast<int64_t>(size), 0};
  const CopyAxis inner = axes->back();
  axes->pop_back();
  return inner;
}

bool IsEmpty(const std::vector<CopyAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const CopyAxis& a) { return a.extent == 0; });
}

}  // namespace

void CopyStrided(uint8_t* to, const uint8_t* from, std::vector<CopyAxis> axes, size_t size) {
  if (IsEmpty(axes)) return;
  Normalise(&axes);
  // Merge data that is adjacent on both sides into larger elements.
  const auto bytes = static_cast<int64_t>(size);
  if (!axes.empty() && axes.back().to_stride == bytes && axes.back().from_stride == bytes) {
    size *= static_cast<size_t>(axes.back().extent);
    axes.pop_back();
  }
  if (axes.empty()) {
    std::memcpy(to, from, size);
    return;
  }
  const CopyAxis inner = axes.back();
  axes.pop_back();
  switch (size) {
    case 1:
      return CopyAxes<1>(to, from, std::move(axes), inner);
    case 2:
      return CopyAxes<2>(to, from, std::move(axes), inner);
    case 4:
      return CopyAxes<4>(to, from, std::move(axes), inner);
    case 8:
      return CopyAxes<8>(to, from, std::move(axes), inner);
    // A vector of three f32, a common element of fields.
    case 12:
      return CopyAxes<12>(to, from, std::move(axes), inner);
    case 16:
      return CopyAxes<16>(to, from, std::move(axes), inner);
    default:
      axes.push_back(inner);
      ForAll(axes, [&](int64_t t, int64_t f) { std::memcpy(to + t, from + f, size); });
  }
}

void FillStrided(uint8_t* to, const void* value, std::vector<CopyAxis> axes, size_t size) {
  if (IsEmpty(axes)) return;
  const CopyAxis inner = TakeInner(&axes, size);
  FillRuns(to, value, axes, inner, size);
}

void ClearStrided(uint8_t* to, std::vector<CopyAxis> axes, size_t size) {
  if (IsEmpty(axes)) return;
  const CopyAxis inner = TakeInner(&axes, size);
  if (inner.to_stride == static_cast<int64_t>(size)) {
    ForAll(axes, [&](int64_t t, int64_t) { ClearMemory(to + t, inner.extent * size); });
    return;
  }
  constexpr uint64_t kZero = 0;
  FillRuns(to, &kZero, axes, inner, size);
}

}  // namespace kiln
