// Signatures as texts: "substep(x: array<f32, 2>, dt: f32) -> f32".
#ifndef KILN_LIBKILN_SIGNATURE_H_
#define KILN_LIBKILN_SIGNATURE_H_

#include <string>

#include "runtime/module/module.h"

namespace kiln::capi {

// "vec3<f32>", "mat2x2<f64>", "struct<f32, i32>", "i32".
std::string TextOf(const ValueShape& value);
std::string TextOf(const ModuleParam& param);  // "x: array<vec3<f32>, 2>"
// The name of a texture's format, for texels: "rgba8", "r32f".
std::string FormatOf(const ValueShape& texels);
std::string TextOf(const ModuleField& field);  // "x: vec3<f32>, 64 x 64"
std::string SignatureOf(const ModuleKernel& kernel);
std::string SignatureOf(const ModuleGraph& graph);  // "step(x: array<f32, 1>)"
// Of all kernels, with "; " between.
std::string SignaturesOf(const Module& module);

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_SIGNATURE_H_
