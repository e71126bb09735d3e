#include "window/painter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace kiln::window {
namespace {

// From so many on, discs and spheres are points, which a graphics processor limits in size.
constexpr int64_t kManyItems = 20000;

constexpr float kIdentityRows[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};

// The range within n rows; an error names it.
absl::StatusOr<Range> Within(const Range& range, int64_t n, const char* name) {
  const int64_t count = range.count < 0 ? n - range.first : range.count;
  if (range.first < 0 || count < 0 || range.first + count > n) {
    return absl::InvalidArgumentError(absl::StrCat(name, " [", range.first, ", ",
                                                   range.first + count, ") is not within the ", n,
                                                   " that there are"));
  }
  return Range{range.first, count};
}

bool IsScene(Shape::Kind kind) {
  return kind == Shape::kMesh || kind == Shape::kSceneLines || kind == Shape::kSpheres;
}

Shape WithoutArrays(Shape shape) {
  shape.positions = shape.normals = shape.colors = shape.radii = shape.transforms = shape.indices =
      Array();
  return shape;
}

// An array over `rows` rows of floats; none if there are no floats.
Array Over(const std::vector<float>& floats, int64_t rows) {
  Array made;
  if (floats.empty()) return made;
  made.data = floats.data();
  made.axes = 2;
  made.extents[0] = rows;
  made.extents[1] = static_cast<int64_t>(floats.size()) / rows;
  made.strides[0] = made.extents[1] * static_cast<int64_t>(sizeof(float));
  made.strides[1] = sizeof(float);
  return made;
}

Program ProgramOf(const Painter::Prepared& prepared) {
  const bool many = prepared.vertices > kManyItems;
  switch (prepared.shape.kind) {
    case Shape::kTriangles:
      return Program::kFill;
    case Shape::kLines:
      return Program::kStroke;
    case Shape::kDiscs:
      return many ? Program::kDiscPoint : Program::kDisc;
    case Shape::kMesh:
      return Program::kMesh;
    case Shape::kSceneLines:
      return Program::kSceneStroke;
    case Shape::kSpheres:
      break;
  }
  return many ? Program::kSpherePoint : Program::kSphere;
}

// Adds each triangle's normal, as long as twice its area, to those of its corners.
void AddNormals(const std::vector<float>& positions, const std::vector<uint32_t>& indices,
                std::vector<float>* normals) {
  const size_t corners = indices.empty() ? positions.size() / 3 : indices.size();
  for (size_t i = 0; i + 2 < corners; i += 3) {
    size_t at[3];
    for (size_t c = 0; c < 3; ++c) at[c] = 3 * (indices.empty() ? i + c : indices[i + c]);
    float u[3], v[3];
    for (int axis = 0; axis < 3; ++axis) {
      u[axis] = positions[at[1] + axis] - positions[at[0] + axis];
      v[axis] = positions[at[2] + axis] - positions[at[0] + axis];
    }
    const float normal[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                             u[0] * v[1] - u[1] * v[0]};
    if (!std::isfinite(normal[0] + normal[1] + normal[2])) continue;
    for (const size_t corner : at) {
      for (int axis = 0; axis < 3; ++axis) (*normals)[corner + axis] += normal[axis];
    }
  }
}

}  // namespace

Painter::Painter(const Gl& gl, bool in_software) : gl_(gl), in_software_(in_software) {
  gl_.GenVertexArrays(1, &vertex_array_);
  gl_.BindVertexArray(vertex_array_);
  gl_.PixelStorei(GL_PACK_ALIGNMENT, 1);
  gl_.PixelStorei(GL_UNPACK_ALIGNMENT, 1);
  gl_.Enable(GL_PROGRAM_POINT_SIZE);
}

absl::Status Painter::Resize(int width, int height) {
  GLint most = 0;
  gl_.GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
  if (width < 1 || height < 1 || width > most || height > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a window of ", width, " x ", height, " pixels: each side must be in [1, ", most, "]"));
  }
  width_ = width;
  height_ = height;
  if (canvas_ == 0) {
    gl_.GenFramebuffers(1, &canvas_);
    gl_.GenFramebuffers(1, &frame_);
    for (GLuint* texture : {&canvas_color_, &canvas_depth_, &frame_color_, &picture_}) {
      gl_.GenTextures(1, texture);
    }
  }
  const auto attach = [&](GLuint texture, GLenum where, GLenum kind, GLenum format, GLenum type) {
    gl_.BindTexture(GL_TEXTURE_2D, texture);
    gl_.TexImage2D(GL_TEXTURE_2D, 0, static_cast<GLint>(kind), width, height, 0, format, type,
                   nullptr);
    gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    gl_.FramebufferTexture2D(GL_FRAMEBUFFER, where, GL_TEXTURE_2D, texture, 0);
  };
  gl_.BindFramebuffer(GL_FRAMEBUFFER, frame_);
  attach(frame_color_, GL_COLOR_ATTACHMENT0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE);
  gl_.ClearColor(0, 0, 0, 1);
  gl_.Clear(GL_COLOR_BUFFER_BIT);
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  attach(canvas_color_, GL_COLOR_ATTACHMENT0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE);
  attach(canvas_depth_, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT);
  if (gl_.CheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a window of ", width, " x ", height, " pixels"));
  }
  Clear(nullptr);
  return absl::OkStatus();
}

absl::StatusOr<GLuint> Painter::Compile(GLenum stage, const ShaderText& text, const char* body) {
  const GLuint shader = gl_.CreateShader(stage);
  const char* parts[] = {"#version 330 core\n", text.defines, body};
  gl_.ShaderSource(shader, 3, parts, nullptr);
  gl_.CompileShader(shader);
  GLint done = 0;
  gl_.GetShaderiv(shader, GL_COMPILE_STATUS, &done);
  if (done != 0) return shader;
  char log[2048] = "";
  gl_.GetShaderInfoLog(shader, sizeof(log), nullptr, log);
  return absl::InternalError(absl::StrCat("the graphics driver refuses a shader: ", log));
}

absl::Status Painter::Use(Program program) {
  used_ = &programs_[static_cast<int>(program)];
  if (used_->id == 0) {
    const ShaderText& text = TextOf(program);
    const GLuint id = gl_.CreateProgram();
    for (const auto& [stage, body] :
         {std::pair{GL_VERTEX_SHADER, text.vertex}, std::pair{GL_GEOMETRY_SHADER, text.geometry},
          std::pair{GL_FRAGMENT_SHADER, text.fragment}}) {
      if (body == nullptr) continue;
      ASSIGN_OR_RETURN(const GLuint shader, Compile(stage, text, body));
      gl_.AttachShader(id, shader);
      gl_.DeleteShader(shader);  // when the program ends
    }
    gl_.LinkProgram(id);
    GLint done = 0;
    gl_.GetProgramiv(id, GL_LINK_STATUS, &done);
    if (done == 0) {
      char log[2048] = "";
      gl_.GetProgramInfoLog(id, sizeof(log), nullptr, log);
      return absl::InternalError(absl::StrCat("the graphics driver links no program: ", log));
    }
    used_->id = id;
  }
  gl_.UseProgram(used_->id);
  return absl::OkStatus();
}

GLint Painter::Uniform(const char* name) {
  const auto [found, added] = used_->uniforms.try_emplace(name, -1);
  if (added) found->second = gl_.GetUniformLocation(used_->id, name);
  return found->second;
}

GLuint Painter::Acquire() {
  GLuint buffer = 0;
  if (free_.empty()) {
    gl_.GenBuffers(1, &buffer);
  } else {
    buffer = free_.back();
    free_.pop_back();
  }
  return buffer;
}

GLuint Painter::Upload(const Array& array, const Range& range, int components) {
  const GLuint buffer = Acquire();
  const GLsizeiptr size = range.count * components * static_cast<GLsizeiptr>(sizeof(float));
  gl_.BindBuffer(GL_ARRAY_BUFFER, buffer);
  gl_.BufferData(GL_ARRAY_BUFFER, size, nullptr, GL_STREAM_DRAW);
  if (size == 0) return buffer;
  void* to =
      gl_.MapBufferRange(GL_ARRAY_BUFFER, 0, size, GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
  if (to != nullptr) {
    CopyFloats(array, range.first, range.count, components, static_cast<float*>(to));
    gl_.UnmapBuffer(GL_ARRAY_BUFFER);
  }
  return buffer;
}

absl::StatusOr<GLuint> Painter::UploadNormals(const Shape& shape, const Range& range,
                                              const std::vector<uint32_t>& indices) {
  std::vector<float> positions(3 * range.count), normals(3 * range.count);
  CopyFloats(shape.positions, range.first, range.count, 3, positions.data());
  AddNormals(positions, indices, &normals);
  const GLuint buffer = Acquire();
  gl_.BindBuffer(GL_ARRAY_BUFFER, buffer);
  gl_.BufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(normals.size() * sizeof(float)),
                 normals.data(), GL_STREAM_DRAW);
  return buffer;
}

absl::StatusOr<Painter::Prepared> Painter::Prepare(const Shape& shape) {
  Prepared made;
  ASSIGN_OR_RETURN(const Range rows,
                   Within(shape.vertices, shape.positions.extents[0], "the range of vertices"));
  made.vertices = rows.count;
  const int axes = IsScene(shape.kind) ? 3 : 2;
  const bool points = shape.kind == Shape::kDiscs || shape.kind == Shape::kSpheres;
  if (in_software_ && points && rows.count > kManyItems) {
    made.points = CopyPoints(shape, rows, axes);
    made.shape = WithoutArrays(shape);
    return made;
  }
  std::vector<uint32_t> indices;
  if (shape.indices.present()) {
    const Array& array = shape.indices;
    const int64_t all = array.extents[0] * (array.axes < 2 ? 1 : array.extents[1]);
    ASSIGN_OR_RETURN(const Range part, Within(shape.elements, all, "the range of indices"));
    indices.resize(part.count);
    const int64_t largest = CopyIndices(array, part.first, part.count, indices.data());
    if (largest >= rows.count) {
      const auto shown = largest > static_cast<int64_t>(UINT32_MAX) ? std::string("a negative one")
                                                                    : absl::StrCat(largest);
      return absl::InvalidArgumentError(
          absl::StrCat("indices hold ", shown, ", and there are ", rows.count, " vertices"));
    }
    made.elements = part.count;
  }
  if (shape.transforms.present()) {
    ASSIGN_OR_RETURN(const Range part, Within(shape.instances, shape.transforms.extents[0],
                                              "the range of instances"));
    made.instances = part.count;
    made.transforms = Upload(shape.transforms, part, 16);
  }
  if (shape.indices.present()) {
    made.indices = Acquire();
    gl_.BindBuffer(GL_ELEMENT_ARRAY_BUFFER, made.indices);
    gl_.BufferData(GL_ELEMENT_ARRAY_BUFFER,
                   static_cast<GLsizeiptr>(indices.size() * sizeof(uint32_t)), indices.data(),
                   GL_STREAM_DRAW);
  }
  made.positions = Upload(shape.positions, rows, axes);
  if (shape.colors.present()) made.colors = Upload(shape.colors, rows, 4);
  if (shape.radii.present()) made.radii = Upload(shape.radii, rows, 1);
  if (shape.kind == Shape::kMesh) {
    if (shape.normals.present()) {
      made.normals = Upload(shape.normals, rows, 3);
    } else {
      ASSIGN_OR_RETURN(made.normals, UploadNormals(shape, rows, indices));
    }
  }
  made.shape = WithoutArrays(shape);
  return made;
}

void Painter::Release(Prepared* prepared) {
  for (GLuint* buffer : {&prepared->positions, &prepared->normals, &prepared->colors,
                         &prepared->radii, &prepared->transforms, &prepared->indices}) {
    if (*buffer != 0) free_.push_back(std::exchange(*buffer, 0));
  }
}

void Painter::Bind(GLuint buffer, int location, int components, int divisor,
                   const float* constant) {
  if (buffer == 0) {
    gl_.DisableVertexAttribArray(location);
    gl_.VertexAttrib4f(location, constant[0], constant[1], constant[2], constant[3]);
    return;
  }
  gl_.BindBuffer(GL_ARRAY_BUFFER, buffer);
  gl_.VertexAttribPointer(location, components, GL_FLOAT, GL_FALSE, 0, nullptr);
  gl_.VertexAttribDivisor(location, divisor);
  gl_.EnableVertexAttribArray(location);
}

void Painter::SetView(const View& view) {
  gl_.UniformMatrix4fv(Uniform("u_view"), 1, GL_FALSE, view.view);
  gl_.UniformMatrix4fv(Uniform("u_projection"), 1, GL_FALSE, view.projection);
  gl_.Uniform4f(Uniform("u_ambient"), view.ambient[0], view.ambient[1], view.ambient[2], 1);
  const int lights = std::min(static_cast<int>(view.lights.size()), kMostLights);
  float at[4 * kMostLights] = {}, color[4 * kMostLights] = {};
  for (int i = 0; i < lights; ++i) {
    std::copy_n(view.lights[i].at, 3, at + 4 * i);
    std::copy_n(view.lights[i].color, 3, color + 4 * i);
  }
  gl_.Uniform1i(Uniform("u_lights"), lights);
  if (lights == 0) return;
  gl_.Uniform4fv(Uniform("u_light_at"), lights, at);
  gl_.Uniform4fv(Uniform("u_light_color"), lights, color);
}

Painter::Prepared Painter::UploadPoints(const Prepared& prepared) {
  const Points& points = prepared.points;
  const Range all = {0, points.count};
  Prepared made;
  made.shape = prepared.shape;
  made.vertices = points.count;
  const int axes = IsScene(made.shape.kind) ? 3 : 2;
  made.positions = Upload(Over(points.positions, points.count), all, axes);
  if (!points.colors.empty()) made.colors = Upload(Over(points.colors, points.count), all, 4);
  if (!points.radii.empty()) made.radii = Upload(Over(points.radii, points.count), all, 1);
  return made;
}

// Draws on a copy of the canvas in memory.
bool Painter::SplatPoints(const Points& points, const View* view) {
  const int stride = width_ + kSplatMargin;
  const size_t count = static_cast<size_t>(stride) * height_;
  pixels_.resize(std::max(pixels_.size(), 4 * count));
  Pixels to = {width_, height_, stride, pixels_.data(), nullptr};
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  gl_.PixelStorei(GL_PACK_ROW_LENGTH, stride);
  gl_.ReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, to.rgba);
  if (view != nullptr) {
    depths_.resize(std::max(depths_.size(), count));
    to.depths = depths_.data();
    gl_.ReadPixels(0, 0, width_, height_, GL_DEPTH_COMPONENT, GL_FLOAT, to.depths);
  }
  gl_.PixelStorei(GL_PACK_ROW_LENGTH, 0);
  if (!(view == nullptr ? splatter_.Discs(points, to) : splatter_.Spheres(points, *view, to))) {
    return false;
  }
  const auto write = [&](GLuint texture, GLenum format, GLenum type, const void* from) {
    gl_.BindTexture(GL_TEXTURE_2D, texture);
    gl_.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width_, height_, format, type, from);
  };
  gl_.PixelStorei(GL_UNPACK_ROW_LENGTH, stride);
  write(canvas_color_, GL_RGBA, GL_UNSIGNED_BYTE, to.rgba);
  if (view != nullptr) write(canvas_depth_, GL_DEPTH_COMPONENT, GL_FLOAT, to.depths);
  gl_.PixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  return true;
}

absl::Status Painter::Draw(const Prepared& prepared, const View* view) {
  CarryOutClear(GL_COLOR_BUFFER_BIT | (view != nullptr ? GL_DEPTH_BUFFER_BIT : 0));
  if (prepared.points.count > 0) {
    if (SplatPoints(prepared.points, view)) return absl::OkStatus();
    Prepared uploaded = UploadPoints(prepared);
    const absl::Status status = Draw(uploaded, view);
    Release(&uploaded);
    return status;
  }
  const Program program = ProgramOf(prepared);
  RETURN_IF_ERROR(Use(program));
  const bool quads = program == Program::kDisc || program == Program::kSphere;
  PrepareCanvas(prepared.shape, view);
  BindArrays(prepared, quads ? 1 : 0);
  const bool wireframe = prepared.shape.wireframe;
  if (wireframe) gl_.PolygonMode(GL_FRONT_AND_BACK, GL_LINE);
  DrawArrays(prepared, quads);
  if (wireframe) gl_.PolygonMode(GL_FRONT_AND_BACK, GL_FILL);
  gl_.Disable(GL_DEPTH_TEST);
  gl_.Disable(GL_BLEND);
  return absl::OkStatus();
}

void Painter::PrepareCanvas(const Shape& shape, const View* view) {
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  gl_.Viewport(0, 0, width_, height_);
  gl_.Enable(GL_BLEND);
  gl_.BlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  if (view != nullptr) {
    gl_.Enable(GL_DEPTH_TEST);
    gl_.DepthFunc(GL_GEQUAL);
    SetView(*view);
  }
  gl_.Uniform2f(Uniform("u_size"), static_cast<float>(width_), static_cast<float>(height_));
  gl_.Uniform1i(Uniform("u_both_sides"), shape.two_sided ? 1 : 0);
}

void Painter::BindArrays(const Prepared& prepared, int step) {
  const Shape& shape = prepared.shape;
  const float zero[4] = {0, 0, 0, 1};
  const float radius[4] = {shape.radius * shape.radius_unit, 0, 0, 1};
  Bind(prepared.positions, kPosition, IsScene(shape.kind) ? 3 : 2, step, zero);
  Bind(prepared.normals, kNormal, 3, step, zero);
  Bind(prepared.colors, kColor, 4, step, shape.color);
  Bind(prepared.radii, kRadius, 1, step, radius);
  for (int row = 0; row < 4; ++row) {
    Bind(prepared.transforms, kTransform + row, 4, 1, kIdentityRows[row]);
    if (prepared.transforms != 0) {
      gl_.VertexAttribPointer(kTransform + row, 4, GL_FLOAT, GL_FALSE, 64,
                              reinterpret_cast<const void*>(static_cast<size_t>(16 * row)));
    }
  }
}

void Painter::DrawArrays(const Prepared& prepared, bool quads) {
  const Shape& shape = prepared.shape;
  const auto vertices = static_cast<GLsizei>(prepared.vertices);
  const auto instances = static_cast<GLsizei>(prepared.transforms != 0 ? prepared.instances : 1);
  GLenum mode = GL_TRIANGLES;
  if (shape.kind == Shape::kLines || shape.kind == Shape::kSceneLines) mode = GL_LINES;
  if (quads) {
    gl_.DrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, vertices);
  } else if (shape.kind == Shape::kDiscs || shape.kind == Shape::kSpheres) {
    gl_.DrawArrays(GL_POINTS, 0, vertices);
  } else if (prepared.indices != 0) {
    gl_.BindBuffer(GL_ELEMENT_ARRAY_BUFFER, prepared.indices);
    gl_.DrawElementsInstanced(mode, static_cast<GLsizei>(prepared.elements), GL_UNSIGNED_INT,
                              nullptr, instances);
  } else {
    gl_.DrawArraysInstanced(mode, 0, vertices, instances);
  }
}

void Painter::Clear(const float* color) {
  const float nothing[3] = {};
  std::copy_n(color == nullptr ? nothing : color, 3, clear_color_);
  opaque_ = color != nullptr;
  clear_color_[3] = opaque_ ? 1.0F : 0.0F;
  to_clear_ = GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT;
}

void Painter::ClearDepth() { to_clear_ |= GL_DEPTH_BUFFER_BIT; }

void Painter::CarryOutClear(GLbitfield buffers) {
  buffers &= to_clear_;
  if (buffers == 0) return;
  to_clear_ &= ~buffers;
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  gl_.ClearColor(clear_color_[0], clear_color_[1], clear_color_[2], clear_color_[3]);
  gl_.ClearDepth(0);
  gl_.Clear(buffers);
}

void Painter::UseTexture(int width, int height) {
  gl_.BindTexture(GL_TEXTURE_2D, picture_);
  if (width == picture_width_ && height == picture_height_) return;
  picture_width_ = width;
  picture_height_ = height;
  gl_.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
}

absl::Status Painter::DrawTexture(bool by_columns) {
  RETURN_IF_ERROR(Use(Program::kImage));
  const bool scaled = (by_columns ? picture_height_ : picture_width_) != width_ ||
                      (by_columns ? picture_width_ : picture_height_) != height_;
  const GLint filter =
      scaled ? GL_LINEAR : GL_NEAREST;  // of these, one reads a pixel, the other four
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
  opaque_ = true;
  to_clear_ &= ~GL_COLOR_BUFFER_BIT;  // it covers the canvas
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  gl_.Viewport(0, 0, width_, height_);
  gl_.Uniform1i(Uniform("u_by_columns"), by_columns ? 1 : 0);
  gl_.DrawArrays(GL_TRIANGLES, 0, 3);
  return absl::OkStatus();
}

absl::Status Painter::DrawImage(const Array& image) {
  GLint most = 0;
  gl_.GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
  const int64_t width = image.extents[0], height = image.extents[1];
  if (width < 1 || height < 1 || width > most || height > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an image of ", width, " x ", height, " pixels: each side must be in [1, ", most, "]"));
  }
  // Columns of the image are rows of the texture, so that no pass over the pixels transposes them.
  UseTexture(static_cast<int>(height), static_cast<int>(width));
  // Not through a mapped buffer: Mesa would copy that to the texture by drawing.
  pixels_.resize(4 * width * height);
  CopyImage(image, pixels_.data());
  gl_.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, static_cast<GLsizei>(height),
                    static_cast<GLsizei>(width), GL_RGBA, GL_UNSIGNED_BYTE, pixels_.data());
  return DrawTexture(true);
}

absl::Status Painter::DrawPacked(const uint32_t* pixels, int width, int height) {
  UseTexture(width, height);
  gl_.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV,
                    pixels);
  return DrawTexture(false);
}

void Painter::Compose(const float background[3]) {
  CarryOutClear(GL_COLOR_BUFFER_BIT);
  if (opaque_) {
    gl_.BindFramebuffer(GL_READ_FRAMEBUFFER, canvas_);
    gl_.BindFramebuffer(GL_DRAW_FRAMEBUFFER, frame_);
    gl_.BlitFramebuffer(0, 0, width_, height_, 0, 0, width_, height_, GL_COLOR_BUFFER_BIT,
                        GL_NEAREST);
    return;
  }
  if (!Use(Program::kCompose).ok()) return;
  gl_.BindFramebuffer(GL_FRAMEBUFFER, frame_);
  gl_.Viewport(0, 0, width_, height_);
  gl_.BindTexture(GL_TEXTURE_2D, canvas_color_);
  gl_.Uniform4f(Uniform("u_background"), background[0], background[1], background[2], 1);
  gl_.DrawArrays(GL_TRIANGLES, 0, 3);
}

void Painter::Present(int width, int height) {
  gl_.BindFramebuffer(GL_READ_FRAMEBUFFER, frame_);
  gl_.BindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  gl_.BlitFramebuffer(0, 0, width_, height_, 0, 0, width, height, GL_COLOR_BUFFER_BIT,
                      width == width_ && height == height_ ? GL_NEAREST : GL_LINEAR);
}

void Painter::ReadFrame(uint8_t* to) {
  gl_.BindFramebuffer(GL_FRAMEBUFFER, frame_);
  gl_.ReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, to);
}

void Painter::ReadDepth(float* to) {
  CarryOutClear(GL_DEPTH_BUFFER_BIT);
  gl_.BindFramebuffer(GL_FRAMEBUFFER, canvas_);
  gl_.ReadPixels(0, 0, width_, height_, GL_DEPTH_COMPONENT, GL_FLOAT, to);
}

GLuint Painter::MakeTexture(const uint8_t* rgba, int width, int height) {
  GLuint texture = 0;
  gl_.GenTextures(1, &texture);
  gl_.BindTexture(GL_TEXTURE_2D, texture);
  gl_.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  return texture;
}

absl::Status Painter::DrawWidgets(const WidgetVertices& data, const std::vector<WidgetPart>& parts,
                                  GLuint texture) {
  RETURN_IF_ERROR(Use(Program::kWidgets));
  if (widget_vertices_ == 0) {
    gl_.GenBuffers(1, &widget_vertices_);
    gl_.GenBuffers(1, &widget_indices_);
  }
  gl_.BindFramebuffer(GL_FRAMEBUFFER, frame_);
  gl_.Viewport(0, 0, width_, height_);
  gl_.BindTexture(GL_TEXTURE_2D, texture);
  gl_.Uniform2f(Uniform("u_size"), static_cast<float>(width_), static_cast<float>(height_));
  gl_.BindBuffer(GL_ELEMENT_ARRAY_BUFFER, widget_indices_);
  gl_.BufferData(GL_ELEMENT_ARRAY_BUFFER, data.indices_size, data.indices, GL_STREAM_DRAW);
  gl_.BindBuffer(GL_ARRAY_BUFFER, widget_vertices_);
  gl_.BufferData(GL_ARRAY_BUFFER, data.vertices_size, data.vertices, GL_STREAM_DRAW);
  constexpr int kVertexSize = 20;
  const auto attribute = [&](int location, int components, GLenum type, bool scaled, size_t at) {
    gl_.EnableVertexAttribArray(location);
    gl_.VertexAttribDivisor(location, 0);
    gl_.VertexAttribPointer(location, components, type, scaled ? GL_TRUE : GL_FALSE, kVertexSize,
                            reinterpret_cast<const void*>(at));
  };
  attribute(kPosition, 2, GL_FLOAT, false, 0);
  attribute(kNormal, 2, GL_FLOAT, false, 8);
  attribute(kColor, 4, GL_UNSIGNED_BYTE, true, 16);
  gl_.Enable(GL_BLEND);
  gl_.BlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  gl_.Enable(GL_SCISSOR_TEST);
  for (int i = 3; i < 8; ++i) gl_.DisableVertexAttribArray(i);
  for (const WidgetPart& part : parts) {
    gl_.Scissor(part.scissor[0], part.scissor[1], part.scissor[2], part.scissor[3]);
    gl_.DrawElements(GL_TRIANGLES, part.count, GL_UNSIGNED_SHORT,
                     reinterpret_cast<const void*>(static_cast<size_t>(2) * part.first));
  }
  gl_.Disable(GL_SCISSOR_TEST);
  gl_.Disable(GL_BLEND);
  return absl::OkStatus();
}

}  // namespace kiln::window
