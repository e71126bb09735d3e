// Three blobs of liquid fall into a box: examples/mpm88.py, in C++. Prints where the liquid is.
//
//   c++ -std=c++17 mpm88.cc $(kiln config --cflags --libs) -lkiln-compile -o mpm88
#include <cstdio>
#include <cstdlib>
#include <kiln/dsl.hpp>

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): a program, no library
using V = Vec<float, 2>;
using M = Mat<float, 2, 2>;

constexpr int kParticles = 9000, kNodes = 128, kWall = 3;
constexpr float kH = 1.0f / kNodes, kDt = 2e-4f, kVolume = kH * kH / 4, kStiffness = 400;

// Calls body(i, j, the way from the particle to node (i, j), weight) for the nine nodes around it.
template <typename Body>
void Around(const Expr<V>& at, const Body& body) {
  const auto square = [](const Expr<V>& x) { return x * x; };
  Expr corner = Cast<int>(at / kH - 0.5);
  Expr f = at / kH - corner;
  const Expr<V> w[] = {square(1.5 - f) * 0.5, 0.75 - square(f - 1), square(f - 0.5) * 0.5};
  for (int node = 0; node < 9; ++node) {
    const int i = node / 3, j = node % 3;
    body(corner[0] + i, corner[1] + j, (Vector<float>(i, j) - f) * kH, w[i][0] * w[j][1]);
  }
}

int main(int argc, char** argv) {
  Field<V, 1> position({kParticles}), velocity({kParticles});
  Field<M, 1> gradient({kParticles});
  Field<float, 1> expansion({kParticles});
  Field<V, 2> momentum({kNodes, kNodes});  // after the nodes' loop: the node's velocity
  Field<float, 2> mass({kNodes, kNodes});
  for (int p = 0; p < kParticles; ++p) {
    const int blob = p / 3000, row = p % 3000 / 50, column = p % 50;
    const float x = 0.12f + 0.28f * blob + 0.004f * column, drop = blob == 1 ? 0.22f : 0;
    position.set({x, 0.15f + 0.1f * blob + 0.2f / 60 * row + drop}, p);
    velocity.set({0.6f - 0.6f * blob, 0}, p);
    expansion.set(1, p);
  }
  Kernel step("step", [&] {
    ForEach(mass, [&](Int i, Int j) {
      momentum(i, j) = Vector<float>(0, 0);
      mass(i, j) = 0;
    });
    ForEach(position, [&](Int p) {  // particles to nodes
      Expr push = (expansion[p] - 1) * (-4 * kDt * kVolume * kStiffness / kH / kH);
      Expr affine = Matrix<float, 2>(push, 0, 0, push) + kVolume * gradient[p];
      Around(position[p], [&](Int i, Int j, Expr<V> way, Expr<float> weight) {
        momentum(i, j) += weight * (kVolume * velocity[p] + MatMul(affine, way));
        mass(i, j) += weight * kVolume;
      });
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
      Var<V> v = Vector<float>(0, 0);
      Var<M> spread = Matrix<float, 2>(0, 0, 0, 0);
      Around(position[p], [&](Int i, Int j, Expr<V> way, Expr<float> weight) {
        Expr pull = weight * momentum(i, j);
        v += pull;
        spread += Outer(pull, way) * (4 / kH / kH);
      });
      velocity[p] = v;
      gradient[p] = spread;
      position[p] += kDt * v;
      expansion[p] *= 1 + kDt * (spread(0, 0) + spread(1, 1));
    });
  });
  for (int steps = argc > 1 ? std::atoi(argv[1]) : 500; steps > 0; --steps) step();
  V centre = {0, 0};
  for (int n = 0; n < 2 * kParticles; ++n) centre[n % 2] += position.get(n / 2)[n % 2] / kParticles;
  std::printf("the liquid's centre: (%.3f, %.3f)\n", centre[0], centre[1]);
}
