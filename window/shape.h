// What one drawing call draws.
#ifndef KILN_WINDOW_SHAPE_H_
#define KILN_WINDOW_SHAPE_H_

#include <cstdint>
#include <vector>

#include "window/array.h"

namespace kiln::window {

struct Range {
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
};

struct Shape {
  // Of the canvas: positions in [0, 1]² from the lower left corner, radii in pixels. Of a scene:
  // positions in space; radii of spheres likewise, of lines in pixels.
  enum Kind { kTriangles, kLines, kDiscs, kMesh, kSceneLines, kSpheres };
  Kind kind = kTriangles;
  Array positions;   // (n, 2 or 3)
  Array normals;     // (n, 3); a mesh without gets smooth ones
  Array colors;      // (n, 3 or 4), 0..1, in place of `color`
  Array radii;       // (n), in place of `radius * radius_unit`
  Array transforms;  // (m, 16): matrices by rows, one for each instance of a mesh
  Array indices;     // of vertices: (k) or (k, 2 or 3)
  float color[4] = {0.5F, 0.5F, 0.5F, 1.0F};
  float radius = 1;
  float radius_unit = 1;
  bool two_sided = false;  // whether light reaches the backs of triangles, too
  bool wireframe = false;
  Range vertices;  // indices count from its first
  Range elements;  // of the indices
  Range instances;
};

inline constexpr int kMostLights = 16;

// How a scene is seen. Matrices are by columns, as GL has them; the projection's depth is 1 at the
// near plane and 0 at the far one.
struct View {
  float view[16];
  float projection[16];
  float ambient[3] = {0, 0, 0};
  struct Light {
    float at[3];
    float color[3];
  };
  std::vector<Light> lights;  // those after the first kMostLights have no effect
};

}  // namespace kiln::window

#endif  // KILN_WINDOW_SHAPE_H_
