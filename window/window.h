// A window: a surface with a canvas, scenes, widgets and events. The room's interface.
#ifndef KILN_WINDOW_WINDOW_H_
#define KILN_WINDOW_WINDOW_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "window/painter.h"
#include "window/shape.h"
#include "window/surface.h"
#include "window/widgets.h"

namespace kiln::window {

// A frame begins empty. Drawing calls add to its canvas in their order; `EndFrame` shows it. All
// calls have to come from the thread that opened the window; others are errors.
class Window {
 public:
  // On a screen, or without a display.
  static absl::StatusOr<std::unique_ptr<Window>> Open(const SurfaceOptions& options,
                                                      bool on_screen);
  ~Window();

  // "OpenGL version, renderer".
  const std::string& description() const { return description_; }
  bool on_screen() const { return on_screen_; }
  int width() const { return painter_->width(); }
  int height() const { return painter_->height(); }

  absl::Status SetTitle(const std::string& title);
  void set_background(const float color[3]);

  // The canvas.
  absl::Status Clear(const float* color);
  absl::Status DrawImage(const Array& image);
  absl::Status DrawPacked(const uint32_t* pixels, int width, int height);
  absl::Status Draw(const Shape& shape);
  absl::Status Label(const std::string& text, float x, float y, float size, const float color[3]);

  // Adds a shape to the scene; the arrays are copied. `DrawScene` draws and empties the scene.
  absl::Status AddToScene(const Shape& shape);
  absl::Status DrawScene(const View& view);

  // Widgets; the caller must not keep the pointer beyond the frame.
  absl::StatusOr<Widgets*> widgets();

  // Ends the frame: composes it, and shows it on a screen.
  absl::Status EndFrame();
  // The last frame, or if `so_far` the one that has begun: height rows of 4 * width bytes, the
  // lowest row first. Depths are width floats.
  absl::Status ReadFrame(uint8_t* to, bool so_far);
  absl::Status ReadDepth(float* to);

  // The events since the last call. Widgets see them, too.
  absl::StatusOr<std::vector<Event>> Poll();
  // Adds an event, as if the user had caused it.
  void Inject(const Event& event) { injected_.push_back(event); }

 private:
  Window() = default;
  absl::Status Enter();  // makes the context current
  absl::Status Begin();  // as Enter, and begins a frame if none has begun
  absl::Status Compose();

  std::thread::id owner_;
  std::shared_ptr<Surface> surface_;
  std::unique_ptr<Painter> painter_;
  std::unique_ptr<Widgets> widgets_;
  std::vector<Painter::Prepared> scene_;
  std::vector<Event> injected_;
  std::string description_;
  bool on_screen_ = false;
  bool resizable_ = false;
  bool in_frame_ = false;
  float background_[3] = {0, 0, 0};
};

}  // namespace kiln::window

#endif  // KILN_WINDOW_WINDOW_H_
