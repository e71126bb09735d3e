// Kernels written in C++.
//
//   #include "client_cpp/dsl/dsl.h"
//   using namespace kiln::dsl;
//
//   Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
//     ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
//   });
//   std::vector<float> xs(1000, 1), ys(1000, 2);
//   saxpy(xs, ys, 2.0f);
//
// The function runs once. Its values are kernel.h's: what it does with them is the kernel, which is
// compiled, or fetched from the cache, as kernels of Python are.
#ifndef KILN_CLIENT_CPP_DSL_DSL_H_
#define KILN_CLIENT_CPP_DSL_DSL_H_

#include "client_cpp/dsl/data.h"        // IWYU pragma: export
#include "client_cpp/dsl/error.h"       // IWYU pragma: export
#include "client_cpp/dsl/kernel.h"      // IWYU pragma: export
#include "client_cpp/dsl/statements.h"  // IWYU pragma: export
#include "client_cpp/dsl/values.h"      // IWYU pragma: export

#endif  // KILN_CLIENT_CPP_DSL_DSL_H_
