#include "window/gl.h"

#include "absl/status/status.h"

namespace kiln::window {

absl::StatusOr<Gl> LoadGl(void* (*find)(const char* name)) {
  Gl gl;
#define KILN_GL_LOAD(name, type)                      \
  gl.name = reinterpret_cast<type>(find("gl" #name)); \
  if (gl.name == nullptr) return absl::UnavailableError("OpenGL lacks gl" #name);
  KILN_GL_FUNCTIONS(KILN_GL_LOAD)
#undef KILN_GL_LOAD
  return gl;
}

}  // namespace kiln::window
