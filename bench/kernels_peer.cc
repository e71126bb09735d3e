// The rows of bench/programs.py in C++ with OpenMP, compiled by bench/kernels.py
// with -O3 -march=native -ffast-math -fopenmp: the roof that Kiln is held against.
//
// Each row is written as a C++ programmer would write it first: histograms and scatters with
// private copies, everything else plainly.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kN = 16 * 1024 * 1024, kM = 2048, kBodies = 4096, kSize = 1024, kBins = 256;
constexpr int kCube = 192, kProducts = 1 << 16, kRows = 1 << 17, kPerRow = 16;
constexpr int kParticles = 1 << 18, kGrid = 512, kSide = 512;
constexpr int kCells = 32, kPerCell = 2, kCellCount = kCells * kCells * kCells;

constexpr double kShortest = 0.03;  // seconds that the calls of a row take together

template <typename T>
T* Array(size_t n) {
  T* p = static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64));
  std::fill(p, p + n, T{0});
  return p;
}

double SecondsPerCall(int rounds, const std::function<void()>& call) {
  call();
  call();
  std::vector<double> times;
  double all = 0;
  while (times.size() < static_cast<size_t>(rounds) || all < kShortest) {
    auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    all += times.back();
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Body {
  float place[3], speed[3], mass;
};

// What the rows read and write, as in programs.py.
struct Data {
  float *x = Array<float>(kN), *y = Array<float>(kN);
  float *in = Array<float>(size_t{kM} * kM), *out = Array<float>(size_t{kM} * kM);
  float* cube_in = Array<float>(size_t{kCube} * kCube * kCube);
  float* cube_out = Array<float>(size_t{kCube} * kCube * kCube);
  uint8_t* bytes_in = Array<uint8_t>(size_t{kM} * kM);
  uint8_t* bytes_out = Array<uint8_t>(size_t{kM} * kM);
  int32_t *cells = Array<int32_t>(size_t{kM} * kM), *counts = Array<int32_t>(size_t{kM} * kM);
  float *position = Array<float>(3 * kBodies), *force = Array<float>(3 * kBodies);
  int32_t* image = Array<int32_t>(size_t{kSize} * kSize);
  float *square_left = Array<float>(kSide * kSide), *square_right = Array<float>(kSide * kSide);
  float *square = Array<float>(kSide * kSide), *depth = Array<float>(size_t{kSize} * kSize);
  float *left = Array<float>(16 * kProducts), *right = Array<float>(16 * kProducts);
  float* product = Array<float>(16 * kProducts);
  int32_t *row_start = Array<int32_t>(kRows + 1), *column = Array<int32_t>(kRows * kPerRow);
  float* value = Array<float>(kRows * kPerRow);
  float *vector_in = Array<float>(kRows), *vector_out = Array<float>(kRows);
  int32_t *keys = Array<int32_t>(kN), *bins = Array<int32_t>(65536);
  float *particles = Array<float>(2 * kParticles), *shuffled = Array<float>(2 * kParticles);
  float* mass = Array<float>(kGrid * kGrid);
  std::vector<Body> bodies = std::vector<Body>(kParticles);
  float* velocity = Array<float>(2 * kSide * kSide);
  int32_t* cell_start = Array<int32_t>(kCellCount + 1);
  float* points = Array<float>(3 * kCellCount * kPerCell);
  float* density = Array<float>(kCellCount * kPerCell);
  float total = 0, fastest = 0;
  int32_t best = 0;

  Data() {
    for (int i = 0; i < kN; ++i) {
      keys[i] = static_cast<int32_t>(static_cast<uint32_t>(i) * 1103515245u + 12345u) >> 8 & 65535;
    }
    for (int i = 0; i < kBodies; ++i) {
      position[3 * i] = std::sin(i * 0.37f);
      position[3 * i + 1] = std::cos(i * 0.71f);
      position[3 * i + 2] = std::sin(i * 0.13f);
    }
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kM; ++j) {
        const size_t at = size_t(i) * kM + j;
        in[at] = 3.0f + std::sin(i * 0.01f) + std::cos(j * 0.02f);
        bytes_in[at] = static_cast<uint8_t>(i * 7 + j * 13);
        cells[at] = (i * 31 + j * 17 + i * j) % 3 / 2;
      }
    }
    for (int i = 0; i < kCube; ++i) {
      for (int j = 0; j < kCube; ++j) {
        for (int k = 0; k < kCube; ++k) {
          cube_in[(size_t(i) * kCube + j) * kCube + k] =
              std::sin(i * 0.01f + j * 0.02f + k * 0.03f);
        }
      }
    }
    for (int i = 0; i < kSide * kSide; ++i) {
      square_left[i] = std::sin(i * 0.37f);
      square_right[i] = std::cos(i * 0.71f);
    }
    for (int i = 0; i < kProducts; ++i) {
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) {
          left[16 * i + 4 * a + b] = a + b * 0.5f;
          right[16 * i + 4 * a + b] = a - b * 0.25f;
        }
      }
    }
    for (int i = 0; i <= kRows; ++i) row_start[i] = i * kPerRow;
    for (int i = 0; i < kRows * kPerRow; ++i) {
      column[i] = (i / kPerRow + (i % kPerRow) * 37) % kRows;
      value[i] = 0.5f;
    }
    std::fill(vector_in, vector_in + kRows, 1.0f);
    for (int i = 0; i < kParticles; ++i) {
      const int at = static_cast<int>(static_cast<uint32_t>(i) * 2654435761u & (kParticles - 1));
      particles[2 * i] = i / 512 / 512.0f;
      particles[2 * i + 1] = i % 512 / 512.0f;
      shuffled[2 * i] = at / 512 / 512.0f;
      shuffled[2 * i + 1] = at % 512 / 512.0f;
    }
    for (int i = 0; i < kSide * kSide; ++i) {
      velocity[2 * i] = std::sin(i / kSide * 0.01f);
      velocity[2 * i + 1] = std::cos(i % kSide * 0.02f);
    }
    for (int i = 0; i <= kCellCount; ++i) cell_start[i] = i * kPerCell;
    for (int i = 0; i < kCellCount * kPerCell; ++i) {
      const int c = i / kPerCell;
      points[3 * i] = (c / (kCells * kCells) + (i * 7 % 16 + 0.5f) / 16) / kCells;
      points[3 * i + 1] = (c / kCells % kCells + (i * 11 % 16 + 0.5f) / 16) / kCells;
      points[3 * i + 2] = (c % kCells + (i * 13 % 16 + 0.5f) / 16) / kCells;
    }
  }
};

// --- Streams --------------------------------------------------------------------------------

void Fill(Data& d) {
  float* x = d.x;
#pragma omp parallel for
  for (int i = 0; i < kN; ++i) x[i] = 1.5f;
}

void Scale(Data& d) {
  float *x = d.x, *y = d.y;
#pragma omp parallel for
  for (int i = 0; i < kN; ++i) y[i] = 0.5f * x[i];
}

void Saxpy(Data& d) {
  float *x = d.x, *y = d.y;
#pragma omp parallel for
  for (int i = 0; i < kN; ++i) y[i] = 0.5f * x[i] + y[i];
}

// --- Reductions -----------------------------------------------------------------------------

void Sum(Data& d) {
  const float* x = d.x;
  float s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < kN; ++i) s += x[i];
  d.total += s;
}

void Max(Data& d) {
  const float* x = d.x;
  float s = d.total;
#pragma omp parallel for reduction(max : s)
  for (int i = 0; i < kN; ++i) s = std::max(s, x[i]);
  d.total = s;
}

void ConditionalSum(Data& d) {
  const float* x = d.x;
  float s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < kN; ++i) {
    if (x[i] > 0.5f) s += x[i] * x[i];
  }
  d.total += s;
}

void ArgMin(Data& d) {
  const float* x = d.x;
  int32_t s = d.best;
#pragma omp parallel for reduction(min : s)
  for (int i = 0; i < kN; ++i) {
    if (x[i] > 2.0f) s = std::min(s, i);
  }
  d.best = s;
}

void Fastest(Data& d) {
  const float* velocity = d.velocity;
  float s = d.fastest;
#pragma omp parallel for reduction(max : s)
  for (int i = 0; i < kSide * kSide; ++i) {
    const float u = velocity[2 * i], v = velocity[2 * i + 1];
    s = std::max(s, std::sqrt(u * u + v * v));
  }
  d.fastest = s;
}

// --- Stencils -------------------------------------------------------------------------------

void Stencil(Data& d) {
  const float* in = d.in;
  float* out = d.out;
#pragma omp parallel for
  for (int i = 1; i < kM - 1; ++i) {
    for (int j = 1; j < kM - 1; ++j) {
      size_t at = size_t(i) * kM + j;
      out[at] = 0.2f * (in[at] + in[at - kM] + in[at + kM] + in[at - 1] + in[at + 1]);
    }
  }
}

void GuardedStencil(Data& d) {
  const float* in = d.in;
  float* out = d.out;
#pragma omp parallel for
  for (int i = 1; i < kM - 1; ++i) {
    for (int j = 1; j < kM - 1; ++j) {
      size_t at = size_t(i) * kM + j;
      out[at] = 0.25f * (in[at - kM] + in[at + kM] + in[at - 1] + in[at + 1]);
    }
  }
}

void ClampedStencil(Data& d) {
  const float* in = d.in;
  float* out = d.out;
#pragma omp parallel for
  for (int i = 0; i < kM; ++i) {
    const float* above = in + size_t(std::max(i - 1, 0)) * kM;
    const float* row = in + size_t(i) * kM;
    const float* below = in + size_t(std::min(i + 1, kM - 1)) * kM;
    for (int j = 0; j < kM; ++j) {
      out[size_t(i) * kM + j] =
          0.25f * (above[j] + below[j] + row[std::max(j - 1, 0)] + row[std::min(j + 1, kM - 1)]);
    }
  }
}

void GuardedCube(Data& d) {
  const float* in = d.cube_in;
  float* out = d.cube_out;
  constexpr int kRow = kCube, kPlane = kCube * kCube;
#pragma omp parallel for
  for (int i = 1; i < kCube - 1; ++i) {
    for (int j = 1; j < kCube - 1; ++j) {
      for (int k = 1; k < kCube - 1; ++k) {
        const int at = i * kPlane + j * kRow + k;
        out[at] = in[at - kPlane] + in[at + kPlane] + in[at - kRow] + in[at + kRow] + in[at - 1] +
                  in[at + 1] - 6.0f * in[at];
      }
    }
  }
}

void BlurU8(Data& d) {
  const uint8_t* in = d.bytes_in;
  uint8_t* out = d.bytes_out;
#pragma omp parallel for
  for (int i = 1; i < kM - 1; ++i) {
    for (int j = 1; j < kM - 1; ++j) {
      int s = 0;
      for (int a = -1; a < 2; ++a) {
        for (int b = -1; b < 2; ++b) s += in[size_t(i + a) * kM + j + b];
      }
      out[size_t(i) * kM + j] = static_cast<uint8_t>(s >> 3);
    }
  }
}

void Life(Data& d) {
  const int32_t* cells = d.cells;
  int32_t* counts = d.counts;
#pragma omp parallel for
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kM; ++j) {
      int c = 0;
      for (int a = -1; a < 2; ++a) {
        for (int b = -1; b < 2; ++b) {
          if (a != 0 || b != 0) c += cells[size_t((i + a + kM) % kM) * kM + (j + b + kM) % kM];
        }
      }
      const int s = cells[size_t(i) * kM + j];
      counts[size_t(i) * kM + j] = c == 3 || (s == 1 && c == 2) ? 1 : 0;
    }
  }
}

// --- Arithmetic -----------------------------------------------------------------------------

void NBody(Data& d) {
  const float* position = d.position;
  float* force = d.force;
#pragma omp parallel for
  for (int i = 0; i < kBodies; ++i) {
    float px = position[3 * i], py = position[3 * i + 1], pz = position[3 * i + 2];
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < kBodies; ++j) {
      float dx = position[3 * j] - px, dy = position[3 * j + 1] - py, dz = position[3 * j + 2] - pz;
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
}

void Mandelbrot(Data& d) {
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
      d.image[size_t(i) * kSize + j] = count;
    }
  }
}

void SquareProduct(Data& d) {
  const float *left = d.square_left, *right = d.square_right;
  float* result = d.square;
#pragma omp parallel for
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      float s = 0;
      for (int k = 0; k < kSide; ++k) s += left[i * kSide + k] * right[k * kSide + j];
      result[i * kSide + j] = s;
    }
  }
}

void Rays(Data& d) {
  float* depth = d.depth;
#pragma omp parallel for schedule(dynamic, 8)
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      const float x = (i - kSize / 2.0f) / kSize, y = (j - kSize / 2.0f) / kSize;
      const float scale = 1.0f / std::sqrt(x * x + y * y + 1.0f);
      float t = 0;
      for (int step = 0; step < 100; ++step) {
        const float px = x * scale * t, py = y * scale * t + 0.5f, pz = scale * t - 3.0f;
        const float q = std::sqrt(px * px + pz * pz) - 1.0f;
        const float distance = std::min(std::sqrt(q * q + py * py) - 0.3f, py + 1.0f);
        if (distance < 1e-3f) break;
        t += distance;
        if (t > 20.0f) break;
      }
      depth[size_t(i) * kSize + j] = t;
    }
  }
}

void Powers(Data& d) {
  const float* in = d.in;
  float* out = d.out;
#pragma omp parallel for
  for (int i = 0; i < kM * kM; ++i) {
    out[i] = std::pow(in[i], 1.5f) + std::pow(2.5f + in[i], 2.2f);
  }
}

// --- Small matrices and rows of other lengths -----------------------------------------------

void Products(Data& d) {
  const float *left = d.left, *right = d.right;
  float* product = d.product;
#pragma omp parallel for
  for (int i = 0; i < kProducts; ++i) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        float s = 0;
        for (int k = 0; k < 4; ++k) s += left[16 * i + 4 * a + k] * right[16 * i + 4 * k + b];
        product[16 * i + 4 * a + b] = s;
      }
    }
  }
}

void Bodies(Data& d) {
  Body* bodies = d.bodies.data();
#pragma omp parallel for
  for (int i = 0; i < kParticles; ++i) {
    Body& b = bodies[i];
    b.speed[1] -= 9.8f * 1e-4f;
    for (int k = 0; k < 3; ++k) b.place[k] += b.speed[k] * 1e-4f;
    b.mass *= 0.999f;
  }
}

void SparseRows(Data& d) {
  const int32_t *start = d.row_start, *column = d.column;
  const float *value = d.value, *in = d.vector_in;
  float* out = d.vector_out;
#pragma omp parallel for
  for (int i = 0; i < kRows; ++i) {
    float s = 0;
    for (int k = start[i]; k < start[i + 1]; ++k) s += value[k] * in[column[k]];
    out[i] = s;
  }
}

// --- Neighbours -----------------------------------------------------------------------------

void Neighbours(Data& d) {
  const float* points = d.points;
  const int32_t* start = d.cell_start;
  float* density = d.density;
#pragma omp parallel for
  for (int i = 0; i < kCellCount * kPerCell; ++i) {
    const float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    const int cx = static_cast<int>(x * kCells), cy = static_cast<int>(y * kCells);
    const int cz = static_cast<int>(z * kCells);
    float s = 0;
    for (int a = std::max(cx - 1, 0); a <= std::min(cx + 1, kCells - 1); ++a) {
      for (int b = std::max(cy - 1, 0); b <= std::min(cy + 1, kCells - 1); ++b) {
        for (int c = std::max(cz - 1, 0); c <= std::min(cz + 1, kCells - 1); ++c) {
          const int at = (a * kCells + b) * kCells + c;
          for (int k = start[at]; k < start[at + 1]; ++k) {
            const float u = x - points[3 * k], v = y - points[3 * k + 1];
            const float w = z - points[3 * k + 2];
            const float r = 1.0f - (u * u + v * v + w * w) * (kCells * kCells);
            if (r > 0.0f) s += r * r * r;
          }
        }
      }
    }
    density[i] = s;
  }
}

// --- Scatters -------------------------------------------------------------------------------

template <int kCount>
void Histogram(Data& d) {
  const int32_t* keys = d.keys;
#pragma omp parallel
  {
    std::vector<int32_t> mine(kCount);
#pragma omp for
    for (int i = 0; i < kN; ++i) ++mine[keys[i] & (kCount - 1)];
    for (int b = 0; b < kCount; ++b) {
#pragma omp atomic
      d.bins[b] += mine[b];
    }
  }
}

void Scatter(Data& d, const float* particles) {
  static std::vector<std::vector<float>> copies(omp_get_max_threads());
#pragma omp parallel
  {
    std::vector<float>& mine = copies[omp_get_thread_num()];
    mine.assign(kGrid * kGrid, 0.0f);
#pragma omp for
    for (int i = 0; i < kParticles; ++i) {
      const float x = particles[2 * i] * (kGrid - 3), y = particles[2 * i + 1] * (kGrid - 3);
      const int bx = static_cast<int>(x), by = static_cast<int>(y);
      const float fx = x - bx, fy = y - by;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
          mine[(bx + a) * kGrid + by + b] += (0.5f + a * fx) * (0.25f + b * fy);
        }
      }
    }
#pragma omp for
    for (int i = 0; i < kGrid * kGrid; ++i) {
      float s = d.mass[i];
      for (const std::vector<float>& copy : copies) s += copy[i];
      d.mass[i] = s;
    }
  }
}

void P2gSorted(Data& d) { Scatter(d, d.particles); }
void P2gRandom(Data& d) { Scatter(d, d.shuffled); }

constexpr struct Row {
  const char* name;
  void (*run)(Data& d);
} kTable[] = {
    {"fill", Fill},
    {"scale", Scale},
    {"saxpy", Saxpy},
    {"sum", Sum},
    {"max", Max},
    {"conditional_sum", ConditionalSum},
    {"argmin", ArgMin},
    {"fastest", Fastest},
    {"stencil", Stencil},
    {"guarded_stencil", GuardedStencil},
    {"clamped_stencil", ClampedStencil},
    {"guarded_cube", GuardedCube},
    {"blur_u8", BlurU8},
    {"life", Life},
    {"nbody", NBody},
    {"mandelbrot", Mandelbrot},
    {"product", SquareProduct},
    {"rays", Rays},
    {"powers", Powers},
    {"products_4x4", Products},
    {"bodies", Bodies},
    {"sparse_rows", SparseRows},
    {"neighbours", Neighbours},
    {"histogram", Histogram<kBins>},
    {"histogram_16", Histogram<16>},
    {"histogram_1024", Histogram<1024>},
    {"histogram_65536", Histogram<65536>},
    {"p2g_sorted", P2gSorted},
    {"p2g_random", P2gRandom},
};

// Whether the list "a,b,c" has the word.
bool Has(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

}  // namespace

// [rounds] [threads] [row,row,…]
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  if (argc > 2 && std::atoi(argv[2]) > 0) omp_set_num_threads(std::atoi(argv[2]));
  const std::string wanted = argc > 3 ? argv[3] : "";
  Data data;
  std::printf("{\"seconds\": {");
  const char* comma = "";
  for (const Row& row : kTable) {
    if (!wanted.empty() && !Has(wanted, row.name)) continue;
    std::printf("%s\"%s\": %.9f", comma, row.name, SecondsPerCall(rounds, [&] { row.run(data); }));
    comma = ", ";
  }
  std::printf("}, \"checks\": {\"total\": %g, \"nbody\": %g, \"bins\": %d, \"life\": %d}}\n",
              data.total, data.force[22], data.bins[17], data.counts[0]);
}
