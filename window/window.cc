#include "window/window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "window/gl.h"

namespace kiln::window {
namespace {

// The surface whose context is current in this thread. It stays if another thread ends its window,
// as Python's collector may, and when the thread exits, because drivers may be gone then.
std::shared_ptr<Surface>& Current() {
  static thread_local auto& surface = *new std::shared_ptr<Surface>;
  return surface;
}

// Makes no context current in this thread.
void Leave() {
  if (Current() != nullptr) Current()->Release();
  Current() = nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Window>> Window::Open(const SurfaceOptions& options,
                                                     bool on_screen) {
  std::unique_ptr<Window> window(new Window);
  window->owner_ = std::this_thread::get_id();
  window->on_screen_ = on_screen;
  window->resizable_ = options.resizable;
  Leave();
  ASSIGN_OR_RETURN(window->surface_, on_screen ? OpenScreen(options) : OpenOffscreen());
  RETURN_IF_ERROR(window->Enter());
  ASSIGN_OR_RETURN(const Gl gl, LoadGl(window->surface_->finder()));
  const auto text = [&](GLenum name) {
    const GLubyte* found = gl.GetString(name);
    return found == nullptr ? "unknown" : reinterpret_cast<const char*>(found);
  };
  window->description_ = absl::StrCat("OpenGL ", text(GL_VERSION), ", ", text(GL_RENDERER));
  window->painter_ =
      std::make_unique<Painter>(gl, absl::StrContains(window->description_, "llvmpipe"));
  int width = 0, height = 0;
  window->surface_->Size(&width, &height);
  // A window that covers the screen shows a frame of the wanted size, scaled.
  const bool follows = options.resizable && width > 0;
  RETURN_IF_ERROR(
      window->painter_->Resize(follows ? width : options.width, follows ? height : options.height));
  return window;
}

// The context ends with the surface, and returns what painter and widgets had of it.
Window::~Window() {
  if (Current() == surface_) Leave();
}

absl::Status Window::Enter() {
  if (std::this_thread::get_id() != owner_) {
    return absl::FailedPreconditionError("it was opened by another thread");
  }
  RETURN_IF_ERROR(surface_->status());
  if (Current() == surface_) return absl::OkStatus();
  Leave();
  RETURN_IF_ERROR(surface_->MakeCurrent());
  Current() = surface_;
  return absl::OkStatus();
}

absl::Status Window::Begin() {
  RETURN_IF_ERROR(Enter());
  if (std::exchange(in_frame_, true)) return absl::OkStatus();
  int width = 0, height = 0;
  if (resizable_) surface_->Size(&width, &height);
  if (width > 0 && height > 0 && (width != painter_->width() || height != painter_->height())) {
    RETURN_IF_ERROR(painter_->Resize(width, height));
  }
  painter_->Clear(nullptr);
  return absl::OkStatus();
}

absl::Status Window::SetTitle(const std::string& title) {
  RETURN_IF_ERROR(Enter());
  surface_->SetTitle(title);
  return absl::OkStatus();
}

void Window::set_background(const float color[3]) { std::copy_n(color, 3, background_); }

absl::Status Window::Clear(const float* color) {
  RETURN_IF_ERROR(Begin());
  painter_->Clear(color);
  return absl::OkStatus();
}

absl::Status Window::DrawImage(const Array& image) {
  RETURN_IF_ERROR(Begin());
  return painter_->DrawImage(image);
}

absl::Status Window::DrawPacked(const uint32_t* pixels, int width, int height) {
  RETURN_IF_ERROR(Begin());
  return painter_->DrawPacked(pixels, width, height);
}

absl::Status Window::Draw(const Shape& shape) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(Painter::Prepared prepared, painter_->Prepare(shape));
  const absl::Status status = painter_->Draw(prepared, nullptr);
  painter_->Release(&prepared);
  return status;
}

absl::Status Window::Label(const std::string& text, float x, float y, float size,
                           const float color[3]) {
  ASSIGN_OR_RETURN(Widgets* const widgets, this->widgets());
  widgets->Label(text, x, y, size, color);
  return absl::OkStatus();
}

absl::Status Window::AddToScene(const Shape& shape) {
  RETURN_IF_ERROR(Enter());
  ASSIGN_OR_RETURN(Painter::Prepared prepared, painter_->Prepare(shape));
  scene_.push_back(std::move(prepared));
  return absl::OkStatus();
}

absl::Status Window::DrawScene(const View& view) {
  RETURN_IF_ERROR(Begin());
  painter_->ClearDepth();  // a scene covers what was drawn before it
  absl::Status status;
  for (Painter::Prepared& prepared : scene_) {
    status.Update(painter_->Draw(prepared, &view));
    painter_->Release(&prepared);
  }
  scene_.clear();
  return status;
}

absl::StatusOr<Widgets*> Window::widgets() {
  RETURN_IF_ERROR(Begin());
  if (widgets_ == nullptr) widgets_ = std::make_unique<Widgets>(painter_.get());
  return widgets_.get();
}

absl::Status Window::Compose() {
  painter_->Compose(background_);
  return widgets_ == nullptr ? absl::OkStatus() : widgets_->Draw();
}

absl::Status Window::EndFrame() {
  RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(Compose());
  in_frame_ = false;
  if (widgets_ != nullptr) widgets_->Forget();
  if (!on_screen_) return absl::OkStatus();
  int width = 0, height = 0;
  surface_->Size(&width, &height);
  painter_->Present(width, height);
  surface_->Swap();
  return surface_->status();
}

absl::Status Window::ReadFrame(uint8_t* to, bool so_far) {
  RETURN_IF_ERROR(Enter());
  if (so_far && in_frame_) RETURN_IF_ERROR(Compose());
  painter_->ReadFrame(to);
  return absl::OkStatus();
}

absl::Status Window::ReadDepth(float* to) {
  RETURN_IF_ERROR(Enter());
  painter_->ReadDepth(to);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Event>> Window::Poll() {
  RETURN_IF_ERROR(Enter());
  std::vector<Event> events;
  surface_->Poll(&events);
  RETURN_IF_ERROR(surface_->status());
  int width = 0, height = 0;
  surface_->Size(&width, &height);
  for (Event& event : events) {  // from pixels of the screen to those of the frame that it shows
    event.x *= static_cast<float>(painter_->width()) / static_cast<float>(std::max(width, 1));
    event.y *= static_cast<float>(painter_->height()) / static_cast<float>(std::max(height, 1));
  }
  events.insert(events.begin(), injected_.begin(), injected_.end());
  injected_.clear();
  if (widgets_ != nullptr) {
    for (const Event& event : events) widgets_->Handle(event);
  }
  events.erase(std::remove_if(events.begin(), events.end(),
                              [](const Event& event) { return event.type == Event::kText; }),
               events.end());
  return events;
}

}  // namespace kiln::window
