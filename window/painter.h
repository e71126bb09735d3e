// Draws shapes and pictures on a canvas in the graphics processor's memory, and composes frames.
#ifndef KILN_WINDOW_PAINTER_H_
#define KILN_WINDOW_PAINTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "window/gl.h"
#include "window/shaders.h"
#include "window/shape.h"
#include "window/splat.h"

namespace kiln::window {

// Requires, for every call, that the context of `gl` is current. Errors name the argument.
class Painter {
 public:
  // `in_software`: whether the processor renders, not a graphics processor.
  Painter(const Gl& gl, bool in_software);
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  // Makes canvas and frame anew, empty.
  absl::Status Resize(int width, int height);
  int width() const { return width_; }
  int height() const { return height_; }

  // A shape whose arrays were copied, mostly to buffers, which `Release` returns.
  struct Prepared {
    Shape shape;  // without its arrays
    GLuint positions = 0, normals = 0, colors = 0, radii = 0, transforms = 0, indices = 0;
    int64_t vertices = 0, elements = 0, instances = 0;
    Points points;  // in place of buffers, if these are empty
  };

  // Copies the shape's arrays. An error for indices beyond the vertices and ranges beyond arrays.
  absl::StatusOr<Prepared> Prepare(const Shape& shape);
  void Release(Prepared* prepared);

  // Draws on the canvas; `view` is only for shapes of scenes.
  absl::Status Draw(const Prepared& prepared, const View* view);

  // Covers the canvas with one colour, or makes it transparent, and forgets depths.
  void Clear(const float* color);
  void ClearDepth();
  // Covers the canvas with an image; see CopyImage.
  absl::Status DrawImage(const Array& image);
  // Covers the canvas with rows of numbers 0xRRGGBB, the top one first.
  absl::Status DrawPacked(const uint32_t* pixels, int width, int height);

  // The frame becomes the canvas over the background.
  void Compose(const float background[3]);
  // Copies the frame to the default framebuffer, scaled.
  void Present(int width, int height);
  // The frame's pixels: rows of four bytes, the lowest row first.
  void ReadFrame(uint8_t* to);
  // The canvas's depths, the lowest row first: 1 is the near plane, 0 the far one or nothing.
  void ReadDepth(float* to);

  // For widgets: draws triangles with a texture on the frame.
  struct WidgetVertices {
    const void* vertices;  // of ImDrawVert: two floats, two floats, four bytes
    int64_t vertices_size;
    const void* indices;  // of 16 bits
    int64_t indices_size;
  };
  struct WidgetPart {
    int first, count;
    int scissor[4];  // left, lower, width, height
  };
  absl::Status DrawWidgets(const WidgetVertices& data, const std::vector<WidgetPart>& parts,
                           GLuint texture);
  GLuint MakeTexture(const uint8_t* rgba, int width, int height);

 private:
  struct Linked {
    GLuint id = 0;
    std::map<std::string, GLint> uniforms;
  };

  absl::StatusOr<GLuint> Compile(GLenum stage, const ShaderText& text, const char* body);
  absl::Status Use(Program program);
  GLint Uniform(const char* name);
  GLuint Acquire();
  GLuint Upload(const Array& array, const Range& range, int components);
  absl::StatusOr<GLuint> UploadNormals(const Shape& shape, const Range& range,
                                       const std::vector<uint32_t>& indices);
  void Bind(GLuint buffer, int location, int components, int divisor, const float* constant);
  void UseTexture(int width, int height);
  absl::Status DrawTexture(bool by_columns);
  void SetView(const View& view);
  void PrepareCanvas(const Shape& shape, const View* view);
  // `step`: 0 if vertices take elements of arrays in turn, 1 if instances do.
  void BindArrays(const Prepared& prepared, int step);
  void DrawArrays(const Prepared& prepared, bool quads);
  void CarryOutClear(GLbitfield buffers);

  Prepared UploadPoints(const Prepared& prepared);
  bool SplatPoints(const Points& points, const View* view);

  const Gl gl_;
  const bool in_software_;
  int width_ = 0, height_ = 0;
  GLuint vertex_array_ = 0;
  GLuint canvas_ = 0, canvas_color_ = 0, canvas_depth_ = 0;
  GLuint frame_ = 0, frame_color_ = 0;
  // What is to be cleared before anything draws there: a frame that an image covers, or without a
  // scene, saves the pass over the canvas.
  GLbitfield to_clear_ = 0;
  float clear_color_[4] = {};
  bool opaque_ = false;  // the canvas hides its background
  GLuint picture_ = 0;
  std::vector<uint8_t> pixels_;  // of an image, on its way to the picture, or of the canvas
  Splatter splatter_;
  std::vector<float> depths_;  // of the canvas, while spheres are splatted
  int picture_width_ = 0, picture_height_ = 0;
  GLuint widget_vertices_ = 0, widget_indices_ = 0;
  Linked programs_[static_cast<int>(Program::kCount)];
  Linked* used_ = nullptr;
  std::vector<GLuint> free_;  // buffers
};

}  // namespace kiln::window

#endif  // KILN_WINDOW_PAINTER_H_
