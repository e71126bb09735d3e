// Arrays that a program draws, and the one copy that brings them into memory of the graphics
// library: any strides, any type of number.
#ifndef KILN_WINDOW_ARRAY_H_
#define KILN_WINDOW_ARRAY_H_

#include <cstddef>
#include <cstdint>

namespace kiln::window {

enum class Number { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF16, kF32, kF64 };

// A view: the memory belongs to the caller, and has to stay for the duration of a call.
struct Array {
  static constexpr int kMaxAxes = 4;
  const void* data = nullptr;  // null: no array
  Number number = Number::kF32;
  int axes = 0;
  int64_t extents[kMaxAxes] = {};
  int64_t strides[kMaxAxes] = {};  // in bytes

  bool present() const { return data != nullptr; }
};

// Copies rows [first, first + count) of (n, k) to `to`, `components` floats a row. Missing
// components become 0, the fourth 1. An array of one axis counts as (n, 1).
// Requires rows and components >= k within the array's extents.
void CopyFloats(const Array& from, int64_t first, int64_t count, int components, float* to);

// Copies integers of an array of one or two axes, in order; returns the largest, or -1 for none.
// A negative one counts as the largest.
int64_t CopyIndices(const Array& from, int64_t first, int64_t count, uint32_t* to);

// Copies an image (width, height[, 1 to 4]) to rows of `height` pixels of four bytes, red first.
// Floats are clipped to 0..1 and NaNs are 0; unsigned integers are scaled by their range. One
// component is grey; the fourth is always opaque.
void CopyImage(const Array& from, uint8_t* to);

}  // namespace kiln::window

#endif  // KILN_WINDOW_ARRAY_H_
