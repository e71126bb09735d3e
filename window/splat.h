// Draws many small discs and spheres without a graphics library. A graphics library in software
// spends most of a microsecond on each; these functions, a few nanoseconds on all processors.
// The pictures are those of the painter's programs kDiscPoint and kSpherePoint.
#ifndef KILN_WINDOW_SPLAT_H_
#define KILN_WINDOW_SPLAT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "window/shape.h"

namespace kiln::window {

// The arrays of a shape, as floats. Positions on a canvas have two components, in a scene three.
struct Points {
  int64_t count = 0;
  std::vector<float> positions;
  std::vector<float> colors;  // four for each point; empty: all have the shape's
  std::vector<float> radii;   // empty: all have the shape's
  float color[4] = {};
  float radius = 0;
};

// Copies the rows of a shape's arrays.
Points CopyPoints(const Shape& shape, const Range& rows, int axes);

// Pixels between rows that a splatter may read and write.
inline constexpr int kSplatMargin = 4;

// The canvas in memory: rows from the lowest up, colours multiplied by their alpha. Rows are
// `stride` pixels apart, at least width + kSplatMargin.
struct Pixels {
  int width, height, stride;
  uint8_t* rgba;
  float* depths;  // only for spheres: 1 is near, 0 far
};

class Splatter {
 public:
  Splatter();
  ~Splatter();

  // Draws points in their order. Returns false, and draws nothing, if they are so large that a
  // graphics library is quicker.
  bool Discs(const Points& points, const Pixels& to);
  bool Spheres(const Points& points, const View& view, const Pixels& to);

 private:
  struct Spot;

  template <typename SpotOf, typename Use>
  static void EachSpot(int64_t first, int64_t end, const Pixels& to, const SpotOf& spot_of,
                       const Use& use);
  template <typename SpotOf>
  std::optional<std::vector<int64_t>> Sort(int64_t count, const Pixels& to, int bands,
                                           const SpotOf& spot_of);
  template <typename SpotOf, typename Paint>
  bool Run(int64_t count, const Pixels& to, const SpotOf& spot_of, const Paint& paint);

  std::unique_ptr<Spot[]> spots_;  // kept from frame to frame: fresh memory is slow
  int64_t capacity_ = 0;
};

}  // namespace kiln::window

#endif  // KILN_WINDOW_SPLAT_H_
