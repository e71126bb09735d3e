// Kernels written in C++.
//
//   #include <kiln/dsl.hpp>
//   using namespace kiln::dsl;
//
//   Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
//     ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
//   });
//   std::vector<float> xs(1000, 1), ys(1000, 2);
//   saxpy(xs, ys, 2.0f);
//
// The function runs once: what it does with its values is the kernel, which is compiled, or fetched
// from the cache, as kernels of Python are. Programs link libkiln-compile.so.1 (compile.h).
#ifndef KILN_DSL_HPP_
#define KILN_DSL_HPP_

#include "kiln/dsl/data.hpp"           // IWYU pragma: export
#include "kiln/dsl/decompose.hpp"      // IWYU pragma: export
#include "kiln/dsl/error.hpp"          // IWYU pragma: export
#include "kiln/dsl/function.hpp"       // IWYU pragma: export
#include "kiln/dsl/graph.hpp"          // IWYU pragma: export
#include "kiln/dsl/kernel.hpp"         // IWYU pragma: export
#include "kiln/dsl/statements.hpp"     // IWYU pragma: export
#include "kiln/dsl/struct.hpp"         // IWYU pragma: export
#include "kiln/dsl/struct_data.hpp"    // IWYU pragma: export
#include "kiln/dsl/struct_values.hpp"  // IWYU pragma: export
#include "kiln/dsl/tape.hpp"           // IWYU pragma: export
#include "kiln/dsl/tree.hpp"           // IWYU pragma: export
#include "kiln/dsl/values.hpp"         // IWYU pragma: export
#include "kiln/dsl/vectors.hpp"        // IWYU pragma: export

#endif  // KILN_DSL_HPP_
