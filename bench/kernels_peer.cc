// The kernels of bench/programs.py in C++ with OpenMP, compiled by bench/kernels.py
// with -O3 -march=native -ffast-math -fopenmp: the roof that Kiln is held against.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr int kN = 16 * 1024 * 1024, kM = 2048, kBodies = 4096, kSize = 1024, kBins = 256;
constexpr int kSide = 512;

float* Floats(size_t n) {
  float* p = static_cast<float*>(std::aligned_alloc(64, n * sizeof(float)));
  std::fill(p, p + n, 0.0f);
  return p;
}

double SecondsPerCall(int rounds, const std::function<void()>& call) {
  call();
  call();
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) {
    auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  if (argc > 2 && std::atoi(argv[2]) > 0) omp_set_num_threads(std::atoi(argv[2]));
  float *x = Floats(kN), *y = Floats(kN);
  float *in = Floats(size_t{kM} * kM), *out = Floats(size_t{kM} * kM);
  float *position = Floats(3 * kBodies), *force = Floats(3 * kBodies);
  std::vector<int32_t> image(size_t{kSize} * kSize), keys(kN), bins(kBins);
  float *left = Floats(kSide * kSide), *right = Floats(kSide * kSide);
  float *result = Floats(kSide * kSide), *depth = Floats(size_t{kSize} * kSize);
  for (int i = 0; i < kSide * kSide; ++i) {
    left[i] = std::sin(i * 0.37f);
    right[i] = std::cos(i * 0.71f);
  }
  float total = 0;
  for (int i = 0; i < kN; ++i) {
    keys[i] =
        static_cast<int32_t>(static_cast<uint32_t>(i) * 1103515245u + 12345u) >> 8 & (kBins - 1);
  }
  for (int i = 0; i < kBodies; ++i) {
    position[3 * i] = std::sin(i * 0.37f);
    position[3 * i + 1] = std::cos(i * 0.71f);
    position[3 * i + 2] = std::sin(i * 0.13f);
  }
  auto fill = [&] {
#pragma omp parallel for
    for (int i = 0; i < kN; ++i) x[i] = 1.5f;
  };
  auto saxpy = [&] {
#pragma omp parallel for
    for (int i = 0; i < kN; ++i) y[i] = 0.5f * x[i] + y[i];
  };
  auto sum = [&] {
    float s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < kN; ++i) s += x[i];
    total += s;
  };
  auto stencil = [&] {
#pragma omp parallel for
    for (int i = 1; i < kM - 1; ++i) {
      for (int j = 1; j < kM - 1; ++j) {
        size_t at = size_t(i) * kM + j;
        out[at] = 0.2f * (in[at] + in[at - kM] + in[at + kM] + in[at - 1] + in[at + 1]);
      }
    }
  };
  auto nbody = [&] {
#pragma omp parallel for
    for (int i = 0; i < kBodies; ++i) {
      float px = position[3 * i], py = position[3 * i + 1], pz = position[3 * i + 2];
      float fx = 0, fy = 0, fz = 0;
      for (int j = 0; j < kBodies; ++j) {
        float dx = position[3 * j] - px, dy = position[3 * j + 1] - py,
              dz = position[3 * j + 2] - pz;
        float inv = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-4f);
        float s = inv * inv * inv;
        fx += dx * s;
        fy += dy * s;
        fz += dz * s;
      }
      force[3 * i] = fx;
      force[3 * i + 1] = fy;
      force[3 * i + 2] = fz;
    }
  };
  auto mandelbrot = [&] {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        float cx = -2.0f + 3.0f * i / kSize, cy = -1.5f + 3.0f * j / kSize, zx = 0, zy = 0;
        int count = 0;
        while (count < 100 && zx * zx + zy * zy < 4.0f) {
          float t = zx * zx - zy * zy + cx;
          zy = 2.0f * zx * zy + cy;
          zx = t;
          ++count;
        }
        image[size_t(i) * kSize + j] = count;
      }
    }
  };
  auto product = [&] {
#pragma omp parallel for
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        float s = 0;
        for (int k = 0; k < kSide; ++k) s += left[i * kSide + k] * right[k * kSide + j];
        result[i * kSide + j] = s;
      }
    }
  };
  auto rays = [&] {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        const float x = (i - kSize / 2.0f) / kSize, y = (j - kSize / 2.0f) / kSize;
        const float scale = 1.0f / std::sqrt(x * x + y * y + 1.0f);
        float t = 0;
        for (int step = 0; step < 100; ++step) {
          const float px = x * scale * t, py = y * scale * t + 0.5f, pz = scale * t - 3.0f;
          const float q = std::sqrt(px * px + pz * pz) - 1.0f;
          const float d = std::min(std::sqrt(q * q + py * py) - 0.3f, py + 1.0f);
          if (d < 1e-3f) break;
          t += d;
          if (t > 20.0f) break;
        }
        depth[size_t(i) * kSize + j] = t;
      }
    }
  };
  // Private bins, as a C++ programmer would write it.
  auto histogram = [&] {
#pragma omp parallel
    {
      int32_t mine[kBins] = {};
#pragma omp for
      for (int i = 0; i < kN; ++i) ++mine[keys[i]];
      for (int b = 0; b < kBins; ++b) {
#pragma omp atomic
        bins[b] += mine[b];
      }
    }
  };
  struct Row {
    const char* name;
    std::function<void()> run;
  } rows[] = {{"fill", fill},       {"saxpy", saxpy}, {"sum", sum},
              {"stencil", stencil}, {"nbody", nbody}, {"mandelbrot", mandelbrot},
              {"product", product}, {"rays", rays},   {"histogram", histogram}};
  std::printf("{\"seconds\": {");
  const char* comma = "";
  for (const Row& row : rows) {
    std::printf("%s\"%s\": %.9f", comma, row.name, SecondsPerCall(rounds, row.run));
    comma = ", ";
  }
  std::printf("}, \"checks\": {\"total\": %g, \"nbody\": %g, \"bins\": %d}}\n", total, force[22],
              bins[17]);
}
