#include "window/shaders.h"

namespace kiln::window {
namespace {

// A vertex that is NaN or infinite sets `v_bad`, and no fragment that it influences is drawn.

constexpr char kFillVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 2) in vec4 a_color;
out vec4 v_color;
out float v_bad;
void main() {
  bool bad = any(isnan(a_position.xy)) || any(isinf(a_position.xy));
  v_bad = bad ? 1.0 : 0.0;
  v_color = a_color;
  gl_Position = bad ? vec4(0.0, 0.0, 0.0, 1.0) : vec4(a_position.xy * 2.0 - 1.0, 0.0, 1.0);
}
)";

constexpr char kFillFragment[] = R"(
in vec4 v_color;
in float v_bad;
out vec4 color;
void main() {
  if (v_bad > 0.0) discard;
  color = v_color;
}
)";

// Segments. The geometry stage makes a rectangle around each; the fragment stage measures the
// distance to the segment, which rounds the ends and smooths the edges.
constexpr char kStrokeVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 2) in vec4 a_color;
layout(location = 3) in float a_radius;
uniform mat4 u_view;
uniform mat4 u_projection;
out vec4 g_color;
out float g_radius;
out float g_bad;
void main() {
  bool bad = any(isnan(a_position)) || any(isinf(a_position));
  g_bad = bad ? 1.0 : 0.0;
  g_color = a_color;
  g_radius = a_radius;
#ifdef SCENE
  gl_Position = u_projection * u_view * vec4(a_position, 1.0);
#else
  gl_Position = vec4(a_position.xy * 2.0 - 1.0, 0.0, 1.0);
#endif
}
)";

constexpr char kStrokeGeometry[] = R"(
layout(lines) in;
layout(triangle_strip, max_vertices = 4) out;
in vec4 g_color[];
in float g_radius[];
in float g_bad[];
uniform vec2 u_size;
out vec4 v_color;
out vec2 v_at;
flat out vec2 v_from;
flat out vec2 v_to;
flat out float v_radius;

// Cuts off the part of a segment behind the near plane, where a division by w makes no sense.
bool clip_near(inout vec4 a, inout vec4 b) {
  const float near = 1e-4;
  if (a.w < near && b.w < near) return false;
  if (a.w < near) a = mix(a, b, (near - a.w) / (b.w - a.w));
  if (b.w < near) b = mix(b, a, (near - b.w) / (a.w - b.w));
  return true;
}

bool clip_axis(inout vec3 low, inout vec3 high, int axis, float from, float to) {
  if (high[axis] < from || low[axis] > to) return false;
  vec3 start = low, delta = high - low;
  if (start[axis] < from) {
    low = start + delta * ((from - start[axis]) / delta[axis]);
    low[axis] = from;
  }
  if (high[axis] > to) {
    high = start + delta * ((to - start[axis]) / delta[axis]);
    high[axis] = to;
  }
  return true;
}

// Cuts off what is far outside of the canvas, so that pixels can be counted in floats. A cut sets
// the coordinate itself: interpolating it would lose all digits of a long segment.
bool clip_far(inout vec3 a, inout vec3 b, float reach) {
  for (int axis = 0; axis < 2; ++axis) {
    if (a[axis] > b[axis]) {
      if (!clip_axis(b, a, axis, -reach, u_size[axis] + reach)) return false;
    } else if (!clip_axis(a, b, axis, -reach, u_size[axis] + reach)) {
      return false;
    }
  }
  return true;
}

void main() {
  if (g_bad[0] + g_bad[1] > 0.0) return;
  vec4 a = gl_in[0].gl_Position, b = gl_in[1].gl_Position;
  if (!clip_near(a, b)) return;
  vec3 from = a.xyz / a.w, to = b.xyz / b.w;
  from.xy = (from.xy * 0.5 + 0.5) * u_size;
  to.xy = (to.xy * 0.5 + 0.5) * u_size;
  float radius = max(g_radius[0], 0.5), reach = radius + 1.0;
  if (!clip_far(from, to, 2.0 * reach)) return;
  vec2 p = from.xy, q = to.xy;
  float len = length(q - p);
  vec2 along = len > 0.0 ? (q - p) / len : vec2(1.0, 0.0);
  vec2 across = vec2(-along.y, along.x);
  v_from = p;
  v_to = q;
  v_radius = radius;
  for (int i = 0; i < 4; ++i) {
    bool end = i >= 2;
    vec2 at = (end ? q + along * reach : p - along * reach) + across * (i % 2 == 0 ? reach : -reach);
    v_at = at;
    v_color = end ? g_color[1] : g_color[0];
    gl_Position = vec4(at / u_size * 2.0 - 1.0, end ? to.z : from.z, 1.0);
#ifdef SCENE
    gl_Position.z = gl_Position.z * 2.0 - 1.0;
#endif
    EmitVertex();
  }
  EndPrimitive();
}
)";

constexpr char kStrokeFragment[] = R"(
in vec4 v_color;
in vec2 v_at;
flat in vec2 v_from;
flat in vec2 v_to;
flat in float v_radius;
out vec4 color;
void main() {
  vec2 along = v_to - v_from;
  float square = dot(along, along);
  float t = square > 0.0 ? clamp(dot(v_at - v_from, along) / square, 0.0, 1.0) : 0.0;
  float cover = clamp(v_radius + 0.5 - distance(v_at, v_from + t * along), 0.0, 1.0);
  if (cover <= 0.0) discard;
  color = vec4(v_color.rgb, v_color.a * cover);
}
)";

constexpr char kDiscVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 2) in vec4 a_color;
layout(location = 3) in float a_radius;
uniform vec2 u_size;
out vec4 v_color;
out vec2 v_at;
flat out float v_radius;
void main() {
  float reach = a_radius + 0.5;
  v_radius = a_radius;
  v_color = a_color;
  bool bad = any(isnan(a_position.xy)) || any(isinf(a_position.xy)) || !(a_radius > 0.0);
  vec2 middle = a_position.xy * u_size;
#ifdef POINT
  gl_PointSize = 2.0 * reach;
  v_at = vec2(0.0);
#else
  v_at = (vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0) * reach;
  middle += v_at;
#endif
  gl_Position = bad ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(middle / u_size * 2.0 - 1.0, 0.0, 1.0);
}
)";

constexpr char kDiscFragment[] = R"(
in vec4 v_color;
in vec2 v_at;
flat in float v_radius;
out vec4 color;
void main() {
#ifdef POINT
  vec2 at = (gl_PointCoord * 2.0 - 1.0) * (v_radius + 0.5);
#else
  vec2 at = v_at;
#endif
  float cover = clamp(v_radius + 0.5 - length(at), 0.0, 1.0);
  if (cover <= 0.0) discard;
  color = vec4(v_color.rgb, v_color.a * cover);
}
)";

// Light of a scene: an ambient part, and by Lambert's law that of each lamp.
#define KILN_LIGHT                                                                 \
  "uniform vec4 u_ambient;\n"                                                      \
  "uniform int u_lights;\n"                                                        \
  "uniform vec4 u_light_at[16];\n"                                                 \
  "uniform vec4 u_light_color[16];\n"                                              \
  "vec3 lit(vec3 surface, vec3 at, vec3 normal, bool both_sides) {\n"              \
  "  vec3 light = u_ambient.rgb;\n"                                                \
  "  for (int i = 0; i < u_lights; ++i) {\n"                                       \
  "    float part = dot(normal, normalize(u_light_at[i].xyz - at));\n"             \
  "    light += u_light_color[i].rgb * max(both_sides ? abs(part) : part, 0.0);\n" \
  "  }\n"                                                                          \
  "  return surface * light;\n"                                                    \
  "}\n"

constexpr char kMeshVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
layout(location = 2) in vec4 a_color;
layout(location = 4) in vec4 a_row0;
layout(location = 5) in vec4 a_row1;
layout(location = 6) in vec4 a_row2;
layout(location = 7) in vec4 a_row3;
uniform mat4 u_view;
uniform mat4 u_projection;
out vec4 v_color;
out vec3 v_at;
out vec3 v_normal;
out float v_bad;
void main() {
  mat4 transform = transpose(mat4(a_row0, a_row1, a_row2, a_row3));
  vec4 at = transform * vec4(a_position, 1.0);
  bool bad = any(isnan(at)) || any(isinf(at));
  v_bad = bad ? 1.0 : 0.0;
  v_color = a_color;
  v_at = at.xyz;
  v_normal = transpose(inverse(mat3(transform))) * a_normal;
  gl_Position = bad ? vec4(0.0, 0.0, 0.0, 1.0) : u_projection * u_view * at;
  gl_Position.z = gl_Position.z * 2.0 - gl_Position.w;  // our depth is 0..1
}
)";

constexpr char kMeshFragment[] = KILN_LIGHT R"(
in vec4 v_color;
in vec3 v_at;
in vec3 v_normal;
in float v_bad;
uniform int u_both_sides;
out vec4 color;
void main() {
  if (v_bad > 0.0) discard;
  float len = length(v_normal);
  vec3 normal = len > 0.0 ? v_normal / len : vec3(0.0);
  color = vec4(lit(v_color.rgb, v_at, normal, u_both_sides != 0), v_color.a);
}
)";

// A sphere is a disc that faces the camera; the fragment stage bulges it towards the camera.
constexpr char kSphereVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 2) in vec4 a_color;
layout(location = 3) in float a_radius;
uniform mat4 u_view;
uniform mat4 u_projection;
uniform vec2 u_size;
out vec4 v_color;
out vec2 v_at;
flat out vec3 v_middle;
flat out float v_radius;
void main() {
  vec4 middle = u_view * vec4(a_position, 1.0);
  bool bad = any(isnan(middle)) || any(isinf(middle)) || !(a_radius > 0.0);
  v_color = a_color;
  v_middle = middle.xyz;
  v_radius = a_radius;
#ifdef POINT
  vec4 at = u_projection * middle;
  v_at = vec2(0.0);
  gl_PointSize = max(a_radius * u_projection[1][1] / at.w * u_size.y, 1.0);
#else
  v_at = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  vec4 at = u_projection * vec4(middle.xy + v_at * a_radius, middle.z, 1.0);
#endif
  at.z = at.z * 2.0 - at.w;
  gl_Position = bad ? vec4(2.0, 2.0, 2.0, 1.0) : at;
}
)";

constexpr char kSphereFragment[] = KILN_LIGHT R"(
in vec4 v_color;
in vec2 v_at;
flat in vec3 v_middle;
flat in float v_radius;
uniform mat4 u_view;
uniform mat4 u_projection;
out vec4 color;
void main() {
#ifdef POINT
  vec2 at = vec2(gl_PointCoord.x * 2.0 - 1.0, 1.0 - gl_PointCoord.y * 2.0);
#else
  vec2 at = v_at;
#endif
  float square = dot(at, at);
  if (square > 1.0) discard;
  vec3 normal = vec3(at, sqrt(1.0 - square));
  vec3 here = v_middle + v_radius * normal;
  vec2 depth = vec2(u_projection[2][2] * here.z + u_projection[3][2],
                    u_projection[2][3] * here.z + u_projection[3][3]);
  gl_FragDepth = clamp(depth.x / depth.y, 0.0, 1.0);
  mat3 back = transpose(mat3(u_view));
  vec3 world = back * (here - u_view[3].xyz);
  color = vec4(lit(v_color.rgb, world, back * normal, false), v_color.a);
}
)";

// One triangle that covers the canvas.
constexpr char kCoverVertex[] = R"(
out vec2 v_at;
void main() {
  v_at = vec2((gl_VertexID & 1) * 2, (gl_VertexID >> 1) * 2);
  gl_Position = vec4(v_at * 2.0 - 1.0, 0.0, 1.0);
}
)";

constexpr char kImageFragment[] = R"(
in vec2 v_at;
uniform sampler2D u_picture;
uniform int u_by_columns;
out vec4 color;
void main() {
  vec2 at = u_by_columns != 0 ? v_at.yx : vec2(v_at.x, 1.0 - v_at.y);
  color = vec4(texture(u_picture, at).rgb, 1.0);
}
)";

constexpr char kComposeFragment[] = R"(
in vec2 v_at;
uniform sampler2D u_picture;
uniform vec4 u_background;
out vec4 color;
void main() {
  vec4 above = texture(u_picture, v_at);
  color = vec4(above.rgb + (1.0 - above.a) * u_background.rgb, 1.0);
}
)";

constexpr char kWidgetsVertex[] = R"(
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
layout(location = 2) in vec4 a_color;
uniform vec2 u_size;
out vec4 v_color;
out vec2 v_at;
void main() {
  v_color = a_color;
  v_at = a_normal.xy;
  gl_Position = vec4(a_position.x / u_size.x * 2.0 - 1.0, 1.0 - a_position.y / u_size.y * 2.0,
                     0.0, 1.0);
}
)";

constexpr char kWidgetsFragment[] = R"(
in vec4 v_color;
in vec2 v_at;
uniform sampler2D u_picture;
out vec4 color;
void main() {
  color = v_color * texture(u_picture, v_at);
}
)";

}  // namespace

const ShaderText& TextOf(Program program) {
  static constexpr ShaderText kTexts[] = {
      {"", kFillVertex, nullptr, kFillFragment},
      {"", kStrokeVertex, kStrokeGeometry, kStrokeFragment},
      {"", kDiscVertex, nullptr, kDiscFragment},
      {"#define POINT\n", kDiscVertex, nullptr, kDiscFragment},
      {"", kMeshVertex, nullptr, kMeshFragment},
      {"#define SCENE\n", kStrokeVertex, kStrokeGeometry, kStrokeFragment},
      {"", kSphereVertex, nullptr, kSphereFragment},
      {"#define POINT\n", kSphereVertex, nullptr, kSphereFragment},
      {"", kCoverVertex, nullptr, kImageFragment},
      {"", kCoverVertex, nullptr, kComposeFragment},
      {"", kWidgetsVertex, nullptr, kWidgetsFragment},
  };
  static_assert(sizeof(kTexts) / sizeof(kTexts[0]) == static_cast<int>(Program::kCount));
  return kTexts[static_cast<int>(program)];
}

}  // namespace kiln::window
