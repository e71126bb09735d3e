#include "window/splat.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace kiln::window {
namespace {

// Discs and spheres of more pixels than that, on average, are for the graphics library.
constexpr double kMostPixels = 64;
// Rows that one thread paints at a time: they stay in its cache.
constexpr int kBandRows = 16;

int ThreadCount() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 16);
}

// Runs work(0) … work(n - 1), at the same time if the system gives threads.
template <typename F>
void InParallel(int n, const F& work) {
  std::vector<std::thread> others;
  others.reserve(n);
  for (int i = 1; i < n; ++i) {
    try {
      others.emplace_back([&work, i] { work(i); });
    } catch (const std::system_error&) {
      work(i);
    }
  }
  work(0);
  for (std::thread& thread : others) thread.join();
}

// The first and last of `size` pixels whose centres, at halves, are within `reach` of `middle`.
// False if there are none; also for NaNs and infinities.
bool Within(float middle, float reach, int size, int* first, int* last) {
  const auto end = static_cast<float>(size);
  if (!(reach > 0 && middle + reach > 0 && middle - reach < end)) return false;
  *first = static_cast<int>(std::max(middle - reach + 0.5F, 0.0F));
  *last = static_cast<int>(std::min(middle + reach + 0.5F, end)) - 1;
  return *first <= *last;
}

// Four pixels of a row at a time. Those that a spot does not reach keep their values, so pixels
// behind the last one, or behind the end of a row, may be written.
using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
constexpr int kLanes = 4;

Floats All(float value) { return Floats{value, value, value, value}; }
Floats Least(Floats a, Floats b) { return a < b ? a : b; }
Floats Most(Floats a, Floats b) { return a > b ? a : b; }
Floats Bounded(Floats values) { return Least(Most(values, All(0)), All(1)); }

float Bounded(float value) { return value > 0 ? std::min(value, 1.0F) : 0; }  // 0 for a NaN

Floats Root(Floats values) {
#ifdef __SSE2__
  return _mm_sqrt_ps(values);
#else
  for (int k = 0; k < kLanes; ++k) values[k] = std::sqrt(values[k]);
  return values;
#endif
}

bool Any(Ints mask) {
  int64_t halves[2];
  std::memcpy(halves, &mask, sizeof(halves));
  return (halves[0] | halves[1]) != 0;
}

template <typename T, typename U>
T Load(const U* from) {
  T values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

// Lays a colour over pixels, of which each covers a part; all numbers are in 0..1.
void Blend(const Floats (&color)[3], Floats part, uint8_t* pixels) {
  const auto below = Load<Ints>(pixels);
  const Floats rest = 1 - part, scaled = part * 255;
  Ints made = {};
  for (int c = 0; c < 4; ++c) {
    const Floats old = __builtin_convertvector(below >> (8 * c) & 255, Floats);
    const Floats over = c < 3 ? color[c] * scaled : scaled;
    made |= __builtin_convertvector(over + rest * old + 0.5F, Ints) << (8 * c);
  }
  std::memcpy(pixels, &made, sizeof(made));
}

// The distances of the centres of four pixels, from `column` on, from x.
Floats Offsets(int column, float x) {
  const float first = static_cast<float>(column) + 0.5F - x;
  return Floats{first, first + 1, first + 2, first + 3};
}

const float* ColorOf(const Points& points, int64_t i) {
  return points.colors.empty() ? points.color : points.colors.data() + 4 * i;
}

float RadiusOf(const Points& points, int64_t i) {
  return points.radii.empty() ? points.radius : points.radii[i];
}

// The product of a matrix by columns with (x, y, z, 1).
float Row(const float* matrix, int row, const float* v) {
  return matrix[row] * v[0] + matrix[4 + row] * v[1] + matrix[8 + row] * v[2] + matrix[12 + row];
}

}  // namespace

Points CopyPoints(const Shape& shape, const Range& rows, int axes) {
  Points made;
  made.count = rows.count;
  const auto copy = [&](const Array& from, int components, std::vector<float>* to) {
    if (!from.present()) return;
    to->resize(rows.count * components);
    CopyFloats(from, rows.first, rows.count, components, to->data());
  };
  copy(shape.positions, axes, &made.positions);
  copy(shape.colors, 4, &made.colors);
  copy(shape.radii, 1, &made.radii);
  std::copy_n(shape.color, 4, made.color);
  made.radius = shape.radius * shape.radius_unit;
  return made;
}

// A point on the canvas, in pixels.
struct Splatter::Spot {
  float x, y;
  float reach;   // of the square that it covers; not positive: it is not visible
  float radius;  // of a sphere; it and its middle are in the space of the camera
  float middle[3];
  int32_t index;
};

Splatter::Splatter() = default;
Splatter::~Splatter() = default;

// Calls use(spot, band) for the spots of points first … end - 1, and for each band of rows that
// they reach.
template <typename SpotOf, typename Use>
void Splatter::EachSpot(int64_t first, int64_t end, const Pixels& to, const SpotOf& spot_of,
                        const Use& use) {
  for (int64_t i = first; i < end; ++i) {
    const Spot spot = spot_of(i);
    int low = 0, high = 0, left = 0, right = 0;
    if (!Within(spot.y, spot.reach, to.height, &low, &high) ||
        !Within(spot.x, spot.reach, to.width, &left, &right)) {
      continue;
    }
    for (int band = low / kBandRows; band <= high / kBandRows; ++band) use(spot, band);
  }
}

// Puts the spots of points 0 … count - 1 into bands of rows; within a band they keep their order.
// Returns the ends of the bands, or nullopt if the spots are too large.
template <typename SpotOf>
std::optional<std::vector<int64_t>> Splatter::Sort(int64_t count, const Pixels& to, int bands,
                                                   const SpotOf& spot_of) {
  const int threads = ThreadCount();
  const auto each_of = [&](int thread, const auto& use) {
    EachSpot(count * thread / threads, count * (thread + 1) / threads, to, spot_of, use);
  };
  // First count, so that each thread knows where its spots of each band go.
  std::vector<std::vector<int64_t>> places(threads, std::vector<int64_t>(bands));
  std::vector<double> areas(threads);
  InParallel(threads, [&](int thread) {
    std::vector<int64_t> counts(bands);
    double area = 0;
    each_of(thread, [&](const Spot& spot, int band) {
      ++counts[band];
      area += spot.reach * std::min(spot.reach * 2, static_cast<float>(kBandRows));
    });
    places[thread] = std::move(counts);
    areas[thread] = 2 * area;
  });
  if (!(std::accumulate(areas.begin(), areas.end(), 0.0) <=
        kMostPixels * static_cast<double>(count))) {
    return std::nullopt;
  }
  std::vector<int64_t> ends(bands);
  int64_t sum = 0;
  for (int band = 0; band < bands; ++band) {
    for (int thread = 0; thread < threads; ++thread) {
      sum += std::exchange(places[thread][band], sum);
    }
    ends[band] = sum;
  }
  if (sum > capacity_) {
    capacity_ = sum + sum / 8;
    spots_.reset(new Spot[capacity_]);
  }
  InParallel(threads, [&](int thread) {
    std::vector<int64_t> place = std::move(places[thread]);
    each_of(thread, [&](const Spot& spot, int band) { spots_[place[band]++] = spot; });
  });
  return ends;
}

// Calls paint(spot, row, first, last) for the rows of the spots of points 0 … count - 1: a thread
// for each band of rows, in which spots keep their order. Returns false if they are too large.
template <typename SpotOf, typename Paint>
bool Splatter::Run(int64_t count, const Pixels& to, const SpotOf& spot_of, const Paint& paint) {
  if (count > std::numeric_limits<int32_t>::max()) return false;
  const int bands = (to.height + kBandRows - 1) / kBandRows;
  const std::optional<std::vector<int64_t>> sorted = Sort(count, to, bands, spot_of);
  if (!sorted) return false;
  const std::vector<int64_t>& ends = *sorted;
  std::atomic<int> next = 0;
  InParallel(ThreadCount(), [&](int) {
    for (int band; (band = next++) < bands;) {
      const int begin = band * kBandRows, end = std::min(begin + kBandRows, to.height);
      for (int64_t i = band == 0 ? 0 : ends[band - 1]; i < ends[band]; ++i) {
        const Spot& spot = spots_[i];
        int low = 0, high = 0, first = 0, last = 0;
        Within(spot.y, spot.reach, to.height, &low, &high);
        Within(spot.x, spot.reach, to.width, &first, &last);
        for (int row = std::max(low, begin); row <= high && row < end; ++row) {
          paint(spot, row, first, last);
        }
      }
    }
  });
  return true;
}

bool Splatter::Discs(const Points& points, const Pixels& to) {
  const auto width = static_cast<float>(to.width), height = static_cast<float>(to.height);
  const auto spot_of = [&](int64_t i) {
    const float radius = RadiusOf(points, i);
    const float* at = points.positions.data() + 2 * i;
    return Spot{
        at[0] * width,          at[1] * height, radius > 0 ? radius + 0.5F : -1.0F, radius, {},
        static_cast<int32_t>(i)};
  };
  return Run(points.count, to, spot_of, [&](const Spot& spot, int row, int first, int last) {
    const float* wanted = ColorOf(points, spot.index);
    Floats color[3];
    for (int c = 0; c < 3; ++c) color[c] = All(Bounded(wanted[c]));
    const float alpha = Bounded(wanted[3]);
    const float y = static_cast<float>(row) + 0.5F - spot.y;
    for (int column = first; column <= last; column += kLanes) {
      const Floats x = Offsets(column, spot.x);
      const Floats part = Bounded(spot.reach - Root(x * x + y * y)) * alpha;
      Blend(color, part, to.rgba + 4 * (int64_t{row} * to.stride + column));
    }
  });
}

bool Splatter::Spheres(const Points& points, const View& view, const Pixels& to) {
  const auto width = static_cast<float>(to.width), height = static_cast<float>(to.height);
  const float* projection = view.projection;
  // Light is computed in the space of the camera, where a normal is the way from the middle.
  const int lights = std::min(static_cast<int>(view.lights.size()), kMostLights);
  float lamps[kMostLights][3];
  for (int i = 0; i < lights; ++i) {
    for (int axis = 0; axis < 3; ++axis) lamps[i][axis] = Row(view.view, axis, view.lights[i].at);
  }
  const auto spot_of = [&](int64_t i) {
    const float* at = points.positions.data() + 3 * i;
    Spot spot;
    for (int axis = 0; axis < 3; ++axis) spot.middle[axis] = Row(view.view, axis, at);
    const float w = Row(projection, 3, spot.middle), z = Row(projection, 2, spot.middle);
    spot.x = (Row(projection, 0, spot.middle) / w + 1) / 2 * width;
    spot.y = (Row(projection, 1, spot.middle) / w + 1) / 2 * height;
    spot.radius = RadiusOf(points, i);
    const bool seen = w > 0 && z >= 0 && z <= w && spot.radius > 0;  // false for NaNs
    spot.reach = seen ? std::max(spot.radius * projection[5] / w * height, 1.0F) / 2 : -1.0F;
    spot.index = static_cast<int32_t>(i);
    return spot;
  };
  return Run(points.count, to, spot_of, [&](const Spot& spot, int row, int first, int last) {
    const float* wanted = ColorOf(points, spot.index);
    const float scale = 1 / spot.reach;
    const float y = (static_cast<float>(row) + 0.5F - spot.y) * scale;
    for (int column = first; column <= last; column += kLanes) {
      const int64_t pixel = int64_t{row} * to.stride + column;
      const auto before = Load<Floats>(to.depths + pixel);
      const Floats x = Offsets(column, spot.x) * scale;
      const Floats square = 1 - x * x - y * y;
      const Floats facing = Root(Most(square, All(0)));
      const Floats z = spot.middle[2] + spot.radius * facing;
      const Floats depth =
          Bounded((projection[10] * z + projection[14]) / (projection[11] * z + projection[15]));
      const Ints seen = (square >= 0) & (depth >= before);
      if (!Any(seen)) continue;
      const Floats after = seen ? depth : before;
      std::memcpy(to.depths + pixel, &after, sizeof(after));
      Floats color[3];
      for (int c = 0; c < 3; ++c) color[c] = All(view.ambient[c]);
      for (int lamp = 0; lamp < lights; ++lamp) {
        const Floats way[3] = {lamps[lamp][0] - spot.middle[0] - spot.radius * x,
                               All(lamps[lamp][1] - spot.middle[1] - spot.radius * y),
                               lamps[lamp][2] - z};
        const Floats length = Root(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
        const Floats share = Most(way[0] * x + way[1] * y + way[2] * facing, All(0)) / length;
        for (int c = 0; c < 3; ++c) color[c] += view.lights[lamp].color[c] * share;
      }
      for (int c = 0; c < 3; ++c) color[c] = Bounded(wanted[c] * color[c]);
      const Floats part = seen ? All(Bounded(wanted[3])) : All(0);
      Blend(color, part, to.rgba + 4 * pixel);
    }
  });
}

}  // namespace kiln::window
