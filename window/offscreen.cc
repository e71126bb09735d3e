// A surface without a screen, by EGL, which is opened at run time (surface.h).
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "window/surface.h"

namespace kiln::window {
namespace {

struct Egl {
  decltype(&eglGetProcAddress) get_proc_address;
  decltype(&eglInitialize) initialize;
  decltype(&eglBindAPI) bind_api;
  decltype(&eglChooseConfig) choose_config;
  decltype(&eglCreateContext) create_context;
  decltype(&eglDestroyContext) destroy_context;
  decltype(&eglMakeCurrent) make_current;
};

void* (*g_find)(const char*) = nullptr;

absl::StatusOr<Egl> LoadEgl() {
  void* library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError("there is no libEGL.so.1");
  Egl egl;
  const auto load = [&](const char* name, auto* field) {
    *field = reinterpret_cast<std::decay_t<decltype(*field)>>(dlsym(library, name));
    return *field != nullptr;
  };
  if (!load("eglGetProcAddress", &egl.get_proc_address) ||
      !load("eglInitialize", &egl.initialize) || !load("eglBindAPI", &egl.bind_api) ||
      !load("eglChooseConfig", &egl.choose_config) ||
      !load("eglCreateContext", &egl.create_context) ||
      !load("eglDestroyContext", &egl.destroy_context) ||
      !load("eglMakeCurrent", &egl.make_current)) {
    return absl::UnavailableError("libEGL.so.1 lacks functions of EGL 1.4");
  }
  g_find = reinterpret_cast<void* (*)(const char*)>(egl.get_proc_address);
  return egl;
}

class Offscreen : public Surface {
 public:
  Offscreen(const Egl& egl, EGLDisplay display, EGLContext context)
      : egl_(egl), display_(display), context_(context) {}

  ~Offscreen() override { egl_.destroy_context(display_, context_); }

  absl::Status MakeCurrent() override {
    // The API that is bound belongs to the thread.
    egl_.bind_api(EGL_OPENGL_API);
    if (egl_.make_current(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_)) {
      return absl::OkStatus();
    }
    return absl::UnavailableError("EGL cannot use its context in this thread");
  }
  void Release() override {
    egl_.make_current(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
  absl::Status status() override { return absl::OkStatus(); }
  void* (*finder())(const char*) override { return g_find; }
  void Swap() override {}
  void Poll(std::vector<Event>*) override {}
  void SetTitle(const std::string&) override {}
  void Size(int* width, int* height) override { *width = *height = 0; }

 private:
  Egl egl_;
  EGLDisplay display_;
  EGLContext context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Surface>> OpenOffscreen() {
  // Loaded once: libraries of drivers do not survive being closed.
  static const absl::StatusOr<Egl> egl = LoadEgl();
  if (!egl.ok()) return egl.status();
  const auto platform_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      egl->get_proc_address("eglGetPlatformDisplayEXT"));
  EGLDisplay display = EGL_NO_DISPLAY;
  if (platform_display != nullptr) {
    display = platform_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  }
  EGLint major = 0, minor = 0;
  if (display == EGL_NO_DISPLAY || !egl->initialize(display, &major, &minor)) {
    return absl::UnavailableError("EGL has no device that draws without a display");
  }
  if (!egl->bind_api(EGL_OPENGL_API)) return absl::UnavailableError("EGL has no OpenGL");
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint found = 0;
  if (!egl->choose_config(display, wanted, &config, 1, &found) || found == 0) {
    return absl::UnavailableError("EGL has no configuration with OpenGL");
  }
  const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                               3,
                               EGL_CONTEXT_MINOR_VERSION,
                               3,
                               EGL_CONTEXT_OPENGL_PROFILE_MASK,
                               EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                               EGL_NONE};
  EGLContext context = egl->create_context(display, config, EGL_NO_CONTEXT, attributes);
  if (context == EGL_NO_CONTEXT) return absl::UnavailableError("EGL has no OpenGL 3.3");
  return std::make_unique<Offscreen>(*egl, display, context);
}

}  // namespace kiln::window
