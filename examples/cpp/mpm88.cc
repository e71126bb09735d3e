// Three blobs of liquid fall into a box: examples/mpm88.py, in C++. Prints where the liquid is.
//
//   ./kiln build && tools/bazel.sh build //examples/cpp:mpm88
//   KILN_BIN=.kiln/bin .kiln/bazel-bin/examples/cpp/mpm88 [steps]
#include <cstdio>
#include <cstdlib>

#include "client_cpp/dsl/dsl.h"

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): a program, no library
using V = Vec<float, 2>;

constexpr int kParticles = 9000, kNodes = 128, kWall = 3;
constexpr float kH = 1.0f / kNodes, kDt = 2e-4f, kVolume = kH * kH / 4, kStiffness = 400;

// The node below and left of a particle, where it is from there, and the weights of three nodes.
struct Near {
  explicit Near(const Expr<V>& at)
      : corner(Cast<int>(at / kH - 0.5)),
        f(at / kH - corner),
        weights{Square(1.5 - f) * 0.5, 0.75 - Square(f - 1), Square(f - 0.5) * 0.5} {}
  static Expr<V> Square(const Expr<V>& x) { return x * x; }
  Expr<float> Weight(int i, int j) const { return weights[i][0] * weights[j][1]; }
  Expr<V> Away(int i, int j) const { return (Vector<float>(i, j) - f) * kH; }
  Expr<Vec<int, 2>> corner;
  Expr<V> f;
  Expr<V> weights[3];
};

int main(int argc, char** argv) {
  Field<V, 1> position({kParticles}), velocity({kParticles});
  Field<Mat<float, 2, 2>, 1> gradient({kParticles});
  Field<float, 1> expansion({kParticles});
  Field<V, 2> momentum({kNodes, kNodes});  // after the nodes' loop: the node's velocity
  Field<float, 2> mass({kNodes, kNodes});
  for (int p = 0; p < kParticles; ++p) {
    const int block = p / 3000, row = p % 3000 / 50, column = p % 50;
    const float blob = static_cast<float>(block), odd = block == 1 ? 1 : 0;
    const float x = static_cast<float>(column) / 50, y = static_cast<float>(row) / 60;
    position.at(p) = {0.12f + 0.28f * blob + 0.2f * x,
                      0.15f + 0.22f * odd + 0.1f * blob + 0.2f * y};
    velocity.at(p) = {0.6f - 0.6f * blob, 0};
    expansion.at(p) = 1;
  }
  Kernel step("step", [&] {
    ForEach(mass, [&](Int i, Int j) {
      momentum(i, j) = Vector<float>(0, 0);
      mass(i, j) = 0;
    });
    ForEach(position, [&](Int p) {  // particles to nodes
      const Near near(position[p]);
      Expr push = (expansion[p] - 1) * (-4 * kDt * kVolume * kStiffness / kH / kH);
      Expr affine = Matrix<float, 2>(push, 0, 0, push) + kVolume * gradient[p];
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          Expr share = near.Weight(i, j);
          Int at = near.corner[0] + i, above = near.corner[1] + j;
          momentum(at, above) += share * (kVolume * velocity[p] + MatMul(affine, near.Away(i, j)));
          mass(at, above) += share * kVolume;
        }
      }
    });
    ForEach(mass, [&](Int i, Int j) {  // nodes: gravity, walls
      If(mass(i, j) > 0, [&] {
        Var<V> v = momentum(i, j) / mass(i, j) - Vector<float>(0, 9.8f * kDt);
        If((i < kWall && v[0] < 0) || (i > kNodes - kWall && v[0] > 0), [&] { v[0] = 0; });
        If((j < kWall && v[1] < 0) || (j > kNodes - kWall && v[1] > 0), [&] { v[1] = 0; });
        momentum(i, j) = v;
      });
    });
    ForEach(position, [&](Int p) {  // nodes to particles
      const Near near(position[p]);
      Var<V> v = Vector<float>(0, 0);
      Var<Mat<float, 2, 2>> spread = Matrix<float, 2>(0, 0, 0, 0);
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          Expr pull = near.Weight(i, j) * momentum(near.corner[0] + i, near.corner[1] + j);
          Expr away = near.Away(i, j) * (4 / kH / kH);
          v += pull;
          spread += Matrix<float, 2>(pull[0] * away[0], pull[0] * away[1], pull[1] * away[0],
                                     pull[1] * away[1]);
        }
      }
      velocity[p] = v;
      gradient[p] = spread;
      position[p] += kDt * v;
      expansion[p] *= 1 + kDt * (spread(0, 0) + spread(1, 1));
    });
  });
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  for (int i = 0; i < steps; ++i) step();
  V centre = {0, 0};
  for (int p = 0; p < kParticles; ++p) {
    for (int axis = 0; axis < 2; ++axis) centre[axis] += position.at(p)[axis] / kParticles;
  }
  std::printf("after %d steps: centre (%.3f, %.3f)\n", steps, centre[0], centre[1]);
  return 0;
}
