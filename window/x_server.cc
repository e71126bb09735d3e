#include "window/x_server.h"

#include <SDL2/SDL_syswm.h>
#include <dlfcn.h>

namespace kiln::window {
namespace {

// What Xlib calls if a server has ended: first a handler for all displays, which must not return
// but for ours, then one for the display, in place of exit().
Display* g_display = nullptr;  // SDL's, which stays
XIOErrorHandler g_others = nullptr;

std::string& Lost() {
  static auto& name = *new std::string;
  return name;
}

int HandleError(Display* display) { return display == g_display ? 0 : g_others(display); }

void HandleExit(Display* display, void*) { Lost() = DisplayString(display); }

// A function of a library that is loaded already; null if there is none.
template <typename F>
F* Find(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle, name));
}

}  // namespace

void OutliveXServer(SDL_Window* window) {
  static const auto get_info =
      Find<decltype(SDL_GetWindowWMInfo)>("libSDL2-2.0.so.0", "SDL_GetWindowWMInfo");
  SDL_SysWMinfo info;
  SDL_VERSION(&info.version);
  if (get_info == nullptr || !get_info(window, &info) || info.subsystem != SDL_SYSWM_X11) return;
  static const auto set_error =
      Find<decltype(XSetIOErrorHandler)>("libX11.so.6", "XSetIOErrorHandler");
  static const auto set_exit =
      Find<decltype(XSetIOErrorExitHandler)>("libX11.so.6", "XSetIOErrorExitHandler");
  if (set_error == nullptr || set_exit == nullptr) return;
  if (g_others == nullptr) g_others = set_error(HandleError);
  g_display = info.info.x11.display;
  set_exit(g_display, HandleExit, nullptr);
}

const std::string& LostDisplay() { return Lost(); }

}  // namespace kiln::window
