// The Python module kiln._window: windows of the room `window`, loaded when the first one opens.
// Python code checks shapes and types, because it has the texts of the errors. Arrays are passed as
// buffers with any strides, which are read during the call alone.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client_py/native/gil.h"
#include "window/window.h"

namespace py = pybind11;

namespace kiln::window {
namespace {

// Raises the error of a call: ValueError for arguments, RuntimeError for the rest.
void Check(const absl::Status& status) {
  if (status.ok()) return;
  const std::string text(status.message());
  if (status.code() == absl::StatusCode::kInvalidArgument) throw py::value_error(text);
  throw std::runtime_error(text);
}

template <typename T>
T Checked(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

// Holds a buffer of a Python object while the call lasts. None is no array.
class Buffer {
 public:
  explicit Buffer(const py::object& object, bool writable = false) {
    if (object.is_none()) return;
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw py::error_already_set();
    held_ = true;
  }
  ~Buffer() {
    if (held_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Array array() const {
    Array made;
    if (!held_) return made;
    if (view_.ndim < 1 || view_.ndim > Array::kMaxAxes) {
      throw py::value_error("an array needs one to four axes");
    }
    // An empty buffer may have no address.
    static const char kNothing = 0;
    made.data = view_.buf == nullptr ? &kNothing : view_.buf;
    made.number = NumberOf(view_.format, view_.itemsize);
    made.axes = view_.ndim;
    std::copy_n(view_.shape, view_.ndim, made.extents);
    std::copy_n(view_.strides, view_.ndim, made.strides);
    return made;
  }

  // Memory without gaps of at least `size` bytes.
  void* memory(int64_t size) const {
    if (!held_ || view_.len < size || !PyBuffer_IsContiguous(&view_, 'C')) {
      throw py::value_error("the buffer is too small, or has gaps");
    }
    return view_.buf;
  }

 private:
  static Number NumberOf(const char* format, int64_t size) {
    const char* code = format == nullptr ? "B" : format;
    if (*code == '@' || *code == '=' || *code == '<') ++code;
    if (std::strlen(code) == 1) {
      const bool is_signed = std::strchr("bhilqn", *code) != nullptr;
      if (*code == 'e') return Number::kF16;
      if (*code == 'f') return Number::kF32;
      if (*code == 'd') return Number::kF64;
      if (is_signed || std::strchr("?BHILQN", *code) != nullptr) {
        switch (size) {
          case 1:
            return is_signed ? Number::kI8 : Number::kU8;
          case 2:
            return is_signed ? Number::kI16 : Number::kU16;
          case 4:
            return is_signed ? Number::kI32 : Number::kU32;
          case 8:
            return is_signed ? Number::kI64 : Number::kU64;
          default:
            break;
        }
      }
    }
    throw py::type_error(std::string("an array of numbers is needed, not of '") + format + "'");
  }

  Py_buffer view_ = {};
  bool held_ = false;
};

using Color = std::array<float, 3>;

// The arrays of one drawing call, from a dict with the names of Shape's fields.
class ShapeBuffers {
 public:
  explicit ShapeBuffers(const py::dict& from)
      : positions_(Get(from, "positions")),
        normals_(Get(from, "normals")),
        colors_(Get(from, "colors")),
        radii_(Get(from, "radii")),
        transforms_(Get(from, "transforms")),
        indices_(Get(from, "indices")) {
    shape_.kind = static_cast<Shape::Kind>(py::cast<int>(from["kind"]));
    shape_.positions = positions_.array();
    shape_.normals = normals_.array();
    shape_.colors = colors_.array();
    shape_.radii = radii_.array();
    shape_.transforms = transforms_.array();
    shape_.indices = indices_.array();
    Read(from, "radius", &shape_.radius);
    Read(from, "radius_unit", &shape_.radius_unit);
    Read(from, "two_sided", &shape_.two_sided);
    Read(from, "wireframe", &shape_.wireframe);
    if (from.contains("color")) {
      std::copy_n(py::cast<Color>(from["color"]).begin(), 3, shape_.color);
    }
    ReadRange(from, "vertex_range", &shape_.vertices);
    ReadRange(from, "index_range", &shape_.elements);
    ReadRange(from, "instance_range", &shape_.instances);
  }

  const Shape& shape() const { return shape_; }

 private:
  static py::object Get(const py::dict& from, const char* name) {
    return from.contains(name) ? py::object(from[name]) : py::none();
  }
  template <typename T>
  static void Read(const py::dict& from, const char* name, T* to) {
    if (from.contains(name)) *to = py::cast<T>(from[name]);
  }
  static void ReadRange(const py::dict& from, const char* name, Range* to) {
    if (!from.contains(name)) return;
    const auto pair = py::cast<std::pair<int64_t, int64_t>>(from[name]);
    *to = {pair.first, pair.second};
  }

  Buffer positions_, normals_, colors_, radii_, transforms_, indices_;
  Shape shape_;
};

void CopyMatrix(const py::object& from, float* to) {
  const Buffer buffer(from);
  std::memcpy(to, buffer.memory(16 * sizeof(float)), 16 * sizeof(float));
}

View MakeView(const py::object& view, const py::object& projection, const Color& ambient,
              const std::vector<std::pair<Color, Color>>& lights) {
  View made;
  CopyMatrix(view, made.view);
  CopyMatrix(projection, made.projection);
  std::copy_n(ambient.begin(), 3, made.ambient);
  for (const auto& [at, color] : lights) {
    made.lights.push_back({{at[0], at[1], at[2]}, {color[0], color[1], color[2]}});
  }
  return made;
}

constexpr const char* kTypes[] = {"press", "release", "move", "wheel", "close", "resize", "text"};

std::unique_ptr<Window> OpenWindow(const std::string& title, std::pair<int, int> size,
                                   std::pair<int, int> place, bool on_screen, bool vsync,
                                   bool fullscreen, bool resizable) {
  SurfaceOptions options;
  options.title = title;
  std::tie(options.width, options.height) = size;
  std::tie(options.x, options.y) = place;
  options.vsync = vsync;
  options.fullscreen = fullscreen;
  options.resizable = resizable;
  return Checked(Window::Open(options, on_screen));
}

py::list PollEvents(Window& window) {
  py::list found;
  for (const Event& event : Checked(window.Poll())) {
    found.append(py::make_tuple(kTypes[event.type], event.key, event.x, event.y, event.dx, event.dy,
                                event.modifiers));
  }
  return found;
}

void Inject(Window& window, const std::string& type, const std::string& key, float x, float y,
            float dy) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const char* known) { return type == known; });
  if (found == std::end(kTypes)) throw py::value_error("no type of events: " + type);
  Event event;
  event.type = static_cast<Event::Type>(found - std::begin(kTypes));
  event.key = key;
  event.x = x;
  event.y = y;
  event.dy = dy;
  window.Inject(event);
}

void BindWidgets(py::class_<Window>* window) {
  using Colors = std::optional<Color>;
  window
      ->def("begin", [](Window& w, const std::string& name, float x, float y, float width,
                        float height) { Checked(w.widgets())->Begin(name, x, y, width, height); })
      .def("end", [](Window& w) { return Checked(w.widgets())->End(); })
      .def("text",
           [](Window& w, const std::string& text, const Colors& color) {
             Checked(w.widgets())->Text(text, color ? color->data() : nullptr);
           })
      .def("button",
           [](Window& w, const std::string& text) { return Checked(w.widgets())->Button(text); })
      .def("checkbox", [](Window& w, const std::string& text,
                          bool value) { return Checked(w.widgets())->Checkbox(text, value); })
      .def("slider_int",
           [](Window& w, const std::string& text, int value, int low, int high) {
             return Checked(w.widgets())->SliderInt(text, value, low, high);
           })
      .def("slider_float",
           [](Window& w, const std::string& text, float value, float low, float high) {
             return Checked(w.widgets())->SliderFloat(text, value, low, high);
           })
      .def("color_edit_3", [](Window& w, const std::string& text, Color color) {
        Checked(w.widgets())->ColorEdit(text, color.data());
        return color;
      });
}

void BindDrawing(py::class_<Window>* window) {
  window
      ->def("clear",
            [](Window& w, const std::optional<Color>& color) {
              Check(w.Clear(color ? color->data() : nullptr));
            })
      .def("set_background", [](Window& w, const Color& color) { w.set_background(color.data()); })
      .def("image",
           [](Window& w, const py::object& image) {
             const Buffer buffer(image);
             Check(w.DrawImage(buffer.array()));
           })
      .def("packed",
           [](Window& w, const py::object& pixels, int width, int height) {
             const Buffer buffer(pixels);
             const int64_t size = int64_t{4} * width * height;
             Check(w.DrawPacked(static_cast<const uint32_t*>(buffer.memory(size)), width, height));
           })
      .def("draw",
           [](Window& w, const py::dict& shape) { Check(w.Draw(ShapeBuffers(shape).shape())); })
      .def("label", [](Window& w, const std::string& text, float x, float y, float size,
                       const Color& color) { Check(w.Label(text, x, y, size, color.data())); })
      .def("add_to_scene",
           [](Window& w, const py::dict& shape) {
             Check(w.AddToScene(ShapeBuffers(shape).shape()));
           })
      .def("draw_scene",
           [](Window& w, const py::object& view, const py::object& projection, const Color& ambient,
              const std::vector<std::pair<Color, Color>>& lights) {
             Check(w.DrawScene(MakeView(view, projection, ambient, lights)));
           });
}

}  // namespace
}  // namespace kiln::window

PYBIND11_MODULE(_window, m) {
  using kiln::window::Buffer;
  using kiln::window::Check;
  using kiln::window::Window;
  m.doc() = "Windows over SDL, EGL and OpenGL; see kiln/windows.";
  py::class_<Window> window(m, "Window");
  window
      .def(py::init(&kiln::window::OpenWindow), py::arg("title"), py::arg("size"), py::arg("place"),
           py::arg("on_screen"), py::arg("vsync"), py::arg("fullscreen"), py::arg("resizable"))
      .def_property_readonly("description", &Window::description)
      .def_property_readonly("on_screen", &Window::on_screen)
      .def_property_readonly("size",
                             [](const Window& w) { return std::pair(w.width(), w.height()); })
      .def("set_title", [](Window& w, const std::string& title) { Check(w.SetTitle(title)); })
      .def("end_frame",
           [](Window& w) {
             absl::Status status;
             {
               const kiln::GilReleased unlocked;  // it may wait for the screen
               status = w.EndFrame();
             }
             Check(status);
           })
      .def(
          "read_frame",
          [](Window& w, const py::object& to, bool so_far) {
            const Buffer buffer(to, true);
            Check(w.ReadFrame(
                static_cast<uint8_t*>(buffer.memory(int64_t{4} * w.width() * w.height())), so_far));
          })
      .def("read_depth",
           [](Window& w, const py::object& to) {
             const Buffer buffer(to, true);
             Check(w.ReadDepth(
                 static_cast<float*>(buffer.memory(int64_t{4} * w.width() * w.height()))));
           })
      .def("poll", &kiln::window::PollEvents)
      .def("inject", &kiln::window::Inject, py::arg("type"), py::arg("key") = "",
           py::arg("x") = 0.0F, py::arg("y") = 0.0F, py::arg("dy") = 0.0F);
  kiln::window::BindDrawing(&window);
  kiln::window::BindWidgets(&window);
}
