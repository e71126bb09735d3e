// Where frames go: a window on a screen (SDL) or memory alone (EGL without a display). Both have an
// OpenGL 3.3 core context. SDL and EGL are opened at run time, so that nothing needs them before a
// window opens. Their absence is an error of that moment.
#ifndef KILN_WINDOW_SURFACE_H_
#define KILN_WINDOW_SURFACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::window {

struct Event {
  enum Type { kPress, kRelease, kMove, kWheel, kClose, kResize, kText };
  Type type;
  std::string key;       // the key's or button's name, or the text
  float x = 0, y = 0;    // the mouse in pixels of the surface, from the upper left corner
  float dx = 0, dy = 0;  // of the wheel, in steps
  std::vector<std::string> modifiers = {};
};

struct SurfaceOptions {
  std::string title;
  int width = 0, height = 0;
  int x = -1, y = -1;  // -1: where the desktop likes
  bool vsync = false;
  bool visible = true;
  bool fullscreen = false;
  bool resizable = false;
};

// Belongs to the thread that made it.
class Surface {
 public:
  virtual ~Surface() = default;
  virtual absl::Status MakeCurrent() = 0;
  // Makes no context current. Required before another surface's becomes current: a thread has only
  // one, be it GLX's or EGL's.
  virtual void Release() = 0;
  // An error if the display is lost, which other calls may find out. They do nothing afterwards.
  virtual absl::Status status() = 0;
  virtual void* (*finder())(const char*) = 0;
  // Shows the default framebuffer. Blocks until the screen's refresh if so asked.
  virtual void Swap() = 0;
  // Moves pending events behind those in `events`.
  virtual void Poll(std::vector<Event>* events) = 0;
  virtual void SetTitle(const std::string& title) = 0;
  // The size of the default framebuffer in pixels; (0, 0) if there is none.
  virtual void Size(int* width, int* height) = 0;
};

// An error if there is no display, SDL is missing, or the display has no OpenGL 3.3.
absl::StatusOr<std::unique_ptr<Surface>> OpenScreen(const SurfaceOptions& options);

// An error if EGL is missing, or cannot make a context without a display.
absl::StatusOr<std::unique_ptr<Surface>> OpenOffscreen();

}  // namespace kiln::window

#endif  // KILN_WINDOW_SURFACE_H_
