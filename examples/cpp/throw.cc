// A ball that learns to hit a target, from C++: the first program of docs/gradients.md.
//
//   c++ -std=c++17 throw.cc $(kiln config --cflags --libs) -lkiln-compile -o throw
#include <cstdio>
#include <kiln/dsl.hpp>

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): a program, no library

constexpr int kSteps = 50;
constexpr double kStep = 0.02, kDrag = 0.1, kGravity = 9.8;

int main() {
  Field<Vec<double, 2>, 1> x({kSteps + 1}, kGrad);  // where the ball is at each step
  Field<Vec<double, 2>, 0> v({}, kGrad);            // its velocity at first
  Field<double, 0> loss({}, kGrad);
  Kernel fly("fly", [&] {
    Var<Vec<double, 2>> speed = v();
    For(Range(kSteps), [&](Int t) {
      speed -= kStep * (kDrag * Norm(speed) * speed + Vector<double>(0, kGravity));
      x[t + 1] = x[t] + kStep * speed;
    });
  });
  Kernel miss("miss", [&] { loss() += NormSqr(x[kSteps] - Vector<double>(2, 1)); });

  v.set({1, 1});
  Tape tape;
  for (int attempt = 0; attempt < 40; ++attempt) {
    tape.Run(loss, [&] {
      fly();
      miss();
    });
    const Vec<double, 2> now = v.get(), slope = v.grad().get();
    v.set({now[0] - 0.5 * slope[0], now[1] - 0.5 * slope[1]});
  }
  std::printf("loss %.4f, velocity (%.3f, %.3f)\n", loss.get(), v.get()[0], v.get()[1]);
  return loss.get() < 1e-4 ? 0 : 1;
}
