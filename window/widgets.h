// Widgets (Dear ImGui) and texts, drawn over a frame.
#ifndef KILN_WINDOW_WIDGETS_H_
#define KILN_WINDOW_WIDGETS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "window/painter.h"
#include "window/surface.h"

struct ImGuiContext;

namespace kiln::window {

// One for each window. Requires that the painter's context is current. Widgets begin a frame, which
// `Draw` ends.
class Widgets {
 public:
  explicit Widgets(Painter* painter);
  ~Widgets();
  Widgets(const Widgets&) = delete;
  Widgets& operator=(const Widgets&) = delete;

  void Handle(const Event& event);

  // A window within the window; place and size as fractions, from the upper left corner, which
  // only count when it first appears. Widgets outside of any have one of their own. A size of 0
  // fits the contents.
  void Begin(const std::string& name, float x, float y, float width, float height);
  // False if none has begun.
  bool End();

  void Text(const std::string& text, const float* color);
  bool Button(const std::string& text);
  bool Checkbox(const std::string& text, bool value);
  int SliderInt(const std::string& text, int value, int low, int high);
  float SliderFloat(const std::string& text, float value, float low, float high);
  void ColorEdit(const std::string& text, float color[3]);

  // A text with its upper left corner at a place in pixels.
  void Label(const std::string& text, float x, float y, float size, const float color[3]);

  // Draws on the painter's frame what was called since the frame began. If it is called again,
  // draws the same widgets, unless others have begun in the meantime.
  absl::Status Draw();
  // Begins a frame without widgets and texts.
  void Forget();

 private:
  struct PlacedText {
    std::string text;
    float x, y, size;
    float color[3];
  };

  void BeginFrame();
  void DrawTexts();

  Painter* painter_;
  ImGuiContext* context_;
  GLuint texture_ = 0;
  int small_font_ = 0, large_font_ = 0;
  bool in_frame_ = false;
  bool drawn_ = false;  // whether there is a frame to draw again
  std::vector<PlacedText> texts_;
  int depth_ = 0;  // of windows that have begun
  double time_ = 0;
};

}  // namespace kiln::window

#endif  // KILN_WINDOW_WIDGETS_H_
