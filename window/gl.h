// The functions of OpenGL 3.3 core that the painter uses, found at run time: nothing links with GL.
#ifndef KILN_WINDOW_GL_H_
#define KILN_WINDOW_GL_H_

#include <GL/glcorearb.h>

#include "absl/status/statusor.h"

// X(name, type of the pointer)
#define KILN_GL_FUNCTIONS(X)                                     \
  X(ActiveTexture, PFNGLACTIVETEXTUREPROC)                       \
  X(AttachShader, PFNGLATTACHSHADERPROC)                         \
  X(BindBuffer, PFNGLBINDBUFFERPROC)                             \
  X(BindFramebuffer, PFNGLBINDFRAMEBUFFERPROC)                   \
  X(BindTexture, PFNGLBINDTEXTUREPROC)                           \
  X(BindVertexArray, PFNGLBINDVERTEXARRAYPROC)                   \
  X(BlendFuncSeparate, PFNGLBLENDFUNCSEPARATEPROC)               \
  X(BlitFramebuffer, PFNGLBLITFRAMEBUFFERPROC)                   \
  X(BufferData, PFNGLBUFFERDATAPROC)                             \
  X(CheckFramebufferStatus, PFNGLCHECKFRAMEBUFFERSTATUSPROC)     \
  X(Clear, PFNGLCLEARPROC)                                       \
  X(ClearColor, PFNGLCLEARCOLORPROC)                             \
  X(ClearDepth, PFNGLCLEARDEPTHPROC)                             \
  X(CompileShader, PFNGLCOMPILESHADERPROC)                       \
  X(CreateProgram, PFNGLCREATEPROGRAMPROC)                       \
  X(CreateShader, PFNGLCREATESHADERPROC)                         \
  X(DeleteShader, PFNGLDELETESHADERPROC)                         \
  X(DepthFunc, PFNGLDEPTHFUNCPROC)                               \
  X(Disable, PFNGLDISABLEPROC)                                   \
  X(DisableVertexAttribArray, PFNGLDISABLEVERTEXATTRIBARRAYPROC) \
  X(DrawArrays, PFNGLDRAWARRAYSPROC)                             \
  X(DrawArraysInstanced, PFNGLDRAWARRAYSINSTANCEDPROC)           \
  X(DrawElements, PFNGLDRAWELEMENTSPROC)                         \
  X(DrawElementsInstanced, PFNGLDRAWELEMENTSINSTANCEDPROC)       \
  X(Enable, PFNGLENABLEPROC)                                     \
  X(EnableVertexAttribArray, PFNGLENABLEVERTEXATTRIBARRAYPROC)   \
  X(FramebufferTexture2D, PFNGLFRAMEBUFFERTEXTURE2DPROC)         \
  X(GenBuffers, PFNGLGENBUFFERSPROC)                             \
  X(GenFramebuffers, PFNGLGENFRAMEBUFFERSPROC)                   \
  X(GenTextures, PFNGLGENTEXTURESPROC)                           \
  X(GenVertexArrays, PFNGLGENVERTEXARRAYSPROC)                   \
  X(GetIntegerv, PFNGLGETINTEGERVPROC)                           \
  X(GetProgramInfoLog, PFNGLGETPROGRAMINFOLOGPROC)               \
  X(GetProgramiv, PFNGLGETPROGRAMIVPROC)                         \
  X(GetShaderInfoLog, PFNGLGETSHADERINFOLOGPROC)                 \
  X(GetShaderiv, PFNGLGETSHADERIVPROC)                           \
  X(GetString, PFNGLGETSTRINGPROC)                               \
  X(GetUniformLocation, PFNGLGETUNIFORMLOCATIONPROC)             \
  X(LinkProgram, PFNGLLINKPROGRAMPROC)                           \
  X(MapBufferRange, PFNGLMAPBUFFERRANGEPROC)                     \
  X(PixelStorei, PFNGLPIXELSTOREIPROC)                           \
  X(PolygonMode, PFNGLPOLYGONMODEPROC)                           \
  X(ReadPixels, PFNGLREADPIXELSPROC)                             \
  X(Scissor, PFNGLSCISSORPROC)                                   \
  X(ShaderSource, PFNGLSHADERSOURCEPROC)                         \
  X(TexImage2D, PFNGLTEXIMAGE2DPROC)                             \
  X(TexParameteri, PFNGLTEXPARAMETERIPROC)                       \
  X(TexSubImage2D, PFNGLTEXSUBIMAGE2DPROC)                       \
  X(Uniform1i, PFNGLUNIFORM1IPROC)                               \
  X(Uniform2f, PFNGLUNIFORM2FPROC)                               \
  X(Uniform4f, PFNGLUNIFORM4FPROC)                               \
  X(Uniform4fv, PFNGLUNIFORM4FVPROC)                             \
  X(UniformMatrix4fv, PFNGLUNIFORMMATRIX4FVPROC)                 \
  X(UnmapBuffer, PFNGLUNMAPBUFFERPROC)                           \
  X(UseProgram, PFNGLUSEPROGRAMPROC)                             \
  X(VertexAttrib4f, PFNGLVERTEXATTRIB4FPROC)                     \
  X(VertexAttribDivisor, PFNGLVERTEXATTRIBDIVISORPROC)           \
  X(VertexAttribPointer, PFNGLVERTEXATTRIBPOINTERPROC)           \
  X(Viewport, PFNGLVIEWPORTPROC)

namespace kiln::window {

// Requires, for every call, that the context for which it was loaded is current.
struct Gl {
#define KILN_GL_FIELD(name, type) type name = nullptr;
  KILN_GL_FUNCTIONS(KILN_GL_FIELD)
#undef KILN_GL_FIELD
};

// Asks `find`, a GetProcAddress, for each function. An error names the first that is missing.
absl::StatusOr<Gl> LoadGl(void* (*find)(const char* name));

}  // namespace kiln::window

#endif  // KILN_WINDOW_GL_H_
