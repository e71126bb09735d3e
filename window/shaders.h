// The painter's programs for the graphics processor, in GLSL 3.30.
#ifndef KILN_WINDOW_SHADERS_H_
#define KILN_WINDOW_SHADERS_H_

namespace kiln::window {

// Attributes of vertices, by location.
enum Attribute { kPosition = 0, kNormal = 1, kColor = 2, kRadius = 3, kTransform = 4 };  // 4 to 7

// Texts of one program. `defines` selects a variant; `geometry` may be null.
struct ShaderText {
  const char* defines;
  const char* vertex;
  const char* geometry;
  const char* fragment;
};

enum class Program {
  kFill,         // flat triangles
  kStroke,       // flat segments with round ends
  kDisc,         // flat discs, a quadrilateral each
  kDiscPoint,    // flat discs, a point each: for many small ones
  kMesh,         // triangles of a scene
  kSceneStroke,  // segments of a scene
  kSphere,       // spheres of a scene, a quadrilateral each
  kSpherePoint,  // spheres of a scene, a point each
  kImage,        // a picture on the whole canvas
  kCompose,      // the canvas over its background
  kWidgets,
  kCount,
};

const ShaderText& TextOf(Program program);

}  // namespace kiln::window

#endif  // KILN_WINDOW_SHADERS_H_
