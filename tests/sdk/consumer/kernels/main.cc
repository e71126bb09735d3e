#include <cstdio>
#include <kiln/dsl.hpp>
#include <vector>

using namespace kiln::dsl;

int main() {
  Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
    ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
  });
  std::vector<float> xs(1000, 3), ys(1000, 2);
  saxpy(xs, ys, 2.0f);
  std::printf("saxpy %g\n", double{ys[999]});
  return 0;
}
