// A surface in a window on the screen, by SDL, which is opened at run time (surface.h).
#include <SDL2/SDL.h>
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "window/surface.h"
#include "window/x_server.h"

namespace kiln::window {
namespace {

#define KILN_SDL_FUNCTIONS(X) \
  X(InitSubSystem)            \
  X(QuitSubSystem)            \
  X(GetError)                 \
  X(SetHint)                  \
  X(CreateWindow)             \
  X(DestroyWindow)            \
  X(SetWindowTitle)           \
  X(GetDesktopDisplayMode)    \
  X(GetWindowID)              \
  X(GetModState)              \
  X(GetKeyName)               \
  X(PollEvent)                \
  X(StopTextInput)            \
  X(StartTextInput)           \
  X(GL_SetAttribute)          \
  X(GL_CreateContext)         \
  X(GL_DeleteContext)         \
  X(GL_MakeCurrent)           \
  X(GL_SetSwapInterval)       \
  X(GL_SwapWindow)            \
  X(GL_GetDrawableSize)       \
  X(GL_GetProcAddress)

struct Sdl {
#define KILN_SDL_FIELD(name) decltype(&SDL_##name) name;
  KILN_SDL_FUNCTIONS(KILN_SDL_FIELD)
#undef KILN_SDL_FIELD
};

void* (*g_find)(const char*) = nullptr;

absl::StatusOr<Sdl> LoadSdl() {
  void* library = dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(
        "there is no libSDL2-2.0.so.0 (Debian's package is libsdl2-2.0-0)");
  }
  Sdl sdl;
#define KILN_SDL_LOAD(name)                                                         \
  sdl.name = reinterpret_cast<decltype(&SDL_##name)>(dlsym(library, "SDL_" #name)); \
  if (sdl.name == nullptr) return absl::UnavailableError("libSDL2 lacks SDL_" #name);
  KILN_SDL_FUNCTIONS(KILN_SDL_LOAD)
#undef KILN_SDL_LOAD
  // Python's handlers of Ctrl-C and of SIGTERM stay in place.
  sdl.SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
  // Not its drivers without a display, which would take the place of one that cannot be opened.
  sdl.SetHint("SDL_VIDEODRIVER", "x11,wayland");
  sdl.SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
  sdl.SetHint("SDL_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR", "0");
  g_find = sdl.GL_GetProcAddress;
  return sdl;
}

// The names of the reference, which are those of X11's keys.
std::string NameOf(const Sdl& sdl, SDL_Keycode key) {
  if (key == SDLK_SPACE || (key > 32 && key < 127)) return std::string(1, static_cast<char>(key));
  static const std::map<SDL_Keycode, const char*> names = {
      {SDLK_ESCAPE, "Escape"},       {SDLK_RETURN, "Return"},  {SDLK_TAB, "Tab"},
      {SDLK_BACKSPACE, "BackSpace"}, {SDLK_UP, "Up"},          {SDLK_DOWN, "Down"},
      {SDLK_LEFT, "Left"},           {SDLK_RIGHT, "Right"},    {SDLK_CAPSLOCK, "Caps_Lock"},
      {SDLK_LSHIFT, "Shift_L"},      {SDLK_RSHIFT, "Shift_R"}, {SDLK_LCTRL, "Control_L"},
      {SDLK_RCTRL, "Control_R"},     {SDLK_LALT, "Alt_L"},     {SDLK_RALT, "Alt_R"},
      {SDLK_LGUI, "Super_L"},        {SDLK_RGUI, "Super_R"},   {SDLK_DELETE, "Delete"},
      {SDLK_HOME, "Home"},           {SDLK_END, "End"},        {SDLK_PAGEUP, "Prior"},
      {SDLK_PAGEDOWN, "Next"},       {SDLK_INSERT, "Insert"},  {SDLK_KP_ENTER, "KP_Enter"},
  };
  const auto found = names.find(key);
  return found != names.end() ? found->second : sdl.GetKeyName(key);
}

std::string ButtonName(int button) {
  switch (button) {
    case SDL_BUTTON_LEFT:
      return "LMB";
    case SDL_BUTTON_MIDDLE:
      return "MMB";
    case SDL_BUTTON_RIGHT:
      return "RMB";
    default:
      return absl::StrCat("Mouse", button);
  }
}

absl::Status CheckDisplay() {
  if (LostDisplay().empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the display ", LostDisplay(), " is lost: its X server has ended"));
}

// SDL has one connection for all windows. Once that is lost, nothing calls SDL any more.
class Screen : public Surface {
 public:
  Screen(const Sdl& sdl, SDL_Window* window, SDL_GLContext context)
      : sdl_(sdl), window_(window), context_(context), id_(sdl.GetWindowID(window)) {
    open()[id_] = this;
  }

  ~Screen() override {
    open().erase(id_);
    if (!status().ok()) return;
    sdl_.GL_DeleteContext(context_);
    sdl_.DestroyWindow(window_);
    sdl_.QuitSubSystem(SDL_INIT_VIDEO);
  }

  absl::Status MakeCurrent() override {
    RETURN_IF_ERROR(status());
    if (sdl_.GL_MakeCurrent(window_, context_) == 0) return absl::OkStatus();
    RETURN_IF_ERROR(status());
    return absl::UnavailableError(absl::StrCat("OpenGL of the display fails: ", sdl_.GetError()));
  }
  void Release() override { sdl_.GL_MakeCurrent(nullptr, nullptr); }
  absl::Status status() override { return CheckDisplay(); }
  void* (*finder())(const char*) override { return g_find; }
  void Swap() override { sdl_.GL_SwapWindow(window_); }
  void SetTitle(const std::string& title) override { sdl_.SetWindowTitle(window_, title.c_str()); }
  void Size(int* width, int* height) override { sdl_.GL_GetDrawableSize(window_, width, height); }

  // SDL has one queue for all windows: each event goes to the window that it names.
  void Poll(std::vector<Event>* events) override {
    SDL_Event event;
    while (sdl_.PollEvent(&event) != 0) {
      uint32_t id = 0;
      Event made;
      if (!Convert(event, &id, &made)) continue;
      const auto window = open().find(id);
      if (window != open().end()) window->second->pending_.push_back(std::move(made));
    }
    std::move(pending_.begin(), pending_.end(), std::back_inserter(*events));
    pending_.clear();
  }

 private:
  static std::map<uint32_t, Screen*>& open() {
    static auto& windows = *new std::map<uint32_t, Screen*>;
    return windows;
  }

  std::vector<std::string> Modifiers() const {
    const int state = sdl_.GetModState();
    std::vector<std::string> found;
    if ((state & KMOD_SHIFT) != 0) found.emplace_back("Shift");
    if ((state & KMOD_ALT) != 0) found.emplace_back("Alt");
    if ((state & KMOD_CTRL) != 0) found.emplace_back("Control");
    return found;
  }

  bool Convert(const SDL_Event& event, uint32_t* id, Event* made) const {
    made->modifiers = Modifiers();
    switch (event.type) {
      case SDL_KEYDOWN:
      case SDL_KEYUP:
        if (event.key.repeat != 0) return false;
        *id = event.key.windowID;
        made->type = event.type == SDL_KEYDOWN ? Event::kPress : Event::kRelease;
        made->key = NameOf(sdl_, event.key.keysym.sym);
        return true;
      case SDL_TEXTINPUT:
        *id = event.text.windowID;
        made->type = Event::kText;
        made->key = event.text.text;
        return true;
      case SDL_MOUSEBUTTONDOWN:
      case SDL_MOUSEBUTTONUP:
        *id = event.button.windowID;
        made->type = event.type == SDL_MOUSEBUTTONDOWN ? Event::kPress : Event::kRelease;
        made->key = ButtonName(event.button.button);
        made->x = static_cast<float>(event.button.x);
        made->y = static_cast<float>(event.button.y);
        return true;
      case SDL_MOUSEMOTION:
        *id = event.motion.windowID;
        made->type = Event::kMove;
        made->x = static_cast<float>(event.motion.x);
        made->y = static_cast<float>(event.motion.y);
        return true;
      case SDL_MOUSEWHEEL:
        *id = event.wheel.windowID;
        made->type = Event::kWheel;
        made->dx = static_cast<float>(event.wheel.x);
        made->dy = static_cast<float>(event.wheel.y);
        return true;
      case SDL_WINDOWEVENT:
        *id = event.window.windowID;
        if (event.window.event == SDL_WINDOWEVENT_CLOSE) {
          made->type = Event::kClose;
          return true;
        }
        made->type = Event::kResize;
        return event.window.event == SDL_WINDOWEVENT_SIZE_CHANGED;
      default:
        return false;
    }
  }

  Sdl sdl_;
  SDL_Window* window_;
  SDL_GLContext context_;
  uint32_t id_;
  std::vector<Event> pending_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Surface>> OpenScreen(const SurfaceOptions& options) {
  static const absl::StatusOr<Sdl> sdl = LoadSdl();
  if (!sdl.ok()) return sdl.status();
  RETURN_IF_ERROR(CheckDisplay());
  const auto fails = [](const char* what) {
    return absl::UnavailableError(absl::StrCat(what, ": ", sdl->GetError()));
  };
  if (sdl->InitSubSystem(SDL_INIT_VIDEO) != 0) return fails("no display");
  sdl->GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 3);
  sdl->GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 3);
  sdl->GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
  sdl->GL_SetAttribute(SDL_GL_DOUBLEBUFFER, 1);
  uint32_t flags = SDL_WINDOW_OPENGL;
  if (!options.visible) flags |= SDL_WINDOW_HIDDEN;
  if (options.resizable) flags |= SDL_WINDOW_RESIZABLE;
  if (options.fullscreen) flags |= SDL_WINDOW_FULLSCREEN_DESKTOP;
  const auto place = [](int at) { return at < 0 ? SDL_WINDOWPOS_UNDEFINED : at; };
  int width = options.width, height = options.height;
  SDL_DisplayMode desktop;
  if (options.fullscreen && sdl->GetDesktopDisplayMode(0, &desktop) == 0) {
    width = desktop.w;  // where no window manager makes it as large
    height = desktop.h;
  }
  SDL_Window* window = sdl->CreateWindow(options.title.c_str(), place(options.x), place(options.y),
                                         width, height, flags);
  if (window == nullptr) {
    absl::Status status = fails("the display opens no window with OpenGL");
    sdl->QuitSubSystem(SDL_INIT_VIDEO);
    return status;
  }
  SDL_GLContext context = sdl->GL_CreateContext(window);
  if (context == nullptr) {
    absl::Status status = fails("the display has no OpenGL 3.3");
    sdl->DestroyWindow(window);
    sdl->QuitSubSystem(SDL_INIT_VIDEO);
    return status;
  }
  OutliveXServer(window);
  sdl->GL_SetSwapInterval(options.vsync ? 1 : 0);
  sdl->StartTextInput();
  return std::make_unique<Screen>(*sdl, window, context);
}

}  // namespace kiln::window
