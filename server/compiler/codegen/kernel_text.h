// For tests: the text of kernels over dense fields.
#ifndef KILN_SERVER_COMPILER_CODEGEN_KERNEL_TEXT_H_
#define KILN_SERVER_COMPILER_CODEGEN_KERNEL_TEXT_H_

#include <string>
#include <utility>
#include <vector>

namespace kiln {

// A dense field of scalars: `digits` are axis, extent, stride.
std::string Dense(int slot, int axes, const std::vector<int>& digits, const std::string& type,
                  const std::string& offset = "", int alias = 0,
                  const std::string& components = "0, 0");

std::string Kernel(const std::vector<std::string>& storages, const std::string& tasks,
                   const std::string& results = "");

// A range task over constant bounds.
std::string Range(const std::vector<std::pair<int, int>>& bounds, const std::string& body,
                  const std::string& finish = "");

std::string Serial(const std::string& body);

// Of a loop: field 0 [i] = a i, where argument 0 is a.
inline constexpr char kFillBody[] = R"(
    %a = kiln.argument 0 : f32
    %f = arith.sitofp %i0 : i32 to f32
    %v = arith.mulf %a, %f fastmath<reassoc,contract> : f32
    %p = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    kiln.store %v, %p : !kiln.addr<f32>
    kiln.continue)";

// Of a loop: field 1 [i] = a x + 1, where x is field 0 [i].
inline constexpr char kScaleBody[] = R"(
    %from = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    %x = kiln.load %from : !kiln.addr<f32>
    %a = kiln.argument 0 : f32
    %ax = arith.mulf %a, %x fastmath<reassoc,contract> : f32
    %one = arith.constant 1.0 : f32
    %v = arith.addf %ax, %one fastmath<reassoc,contract> : f32
    %p = kiln.global 1 component 0 [%i0] : !kiln.addr<f32>
    kiln.store %v, %p : !kiln.addr<f32>
    kiln.continue)";

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_KERNEL_TEXT_H_
