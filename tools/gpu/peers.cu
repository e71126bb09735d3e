// What the device reaches without Kiln: the rows of benchmarks.py as nvcc compiles them, NVIDIA's
// own copies, and CUB. One JSON line each. `pack.py` builds it if the machine that packs has nvcc.
//
//     peers [--small]
//
// Kernels say what the loops of benchmarks.py say: one element a thread, no tuning by hand.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kThreads = 128;

void Check(cudaError_t error) {
  if (error == cudaSuccess) {
    return;
  }
  std::fprintf(stderr, "peers: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void Saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}

__global__ void Stencil(const float* x, float* y, int side) {
  int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int i = blockIdx.y + 1;
  if (j < side - 1) {
    const float* at = x + (size_t)i * side + j;
    y[(size_t)i * side + j] = 0.2f * (at[0] + at[-side] + at[side] + at[-1] + at[1]);
  }
}

__global__ void Stencil3(const float* x, float* y, int side) {
  int k = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int j = blockIdx.y + 1, i = blockIdx.z + 1;
  if (k < side - 1) {
    int plane = side * side;
    const float* at = x + (size_t)i * plane + j * side + k;
    y[at - x] = at[0] + 0.1f * (at[-plane] + at[plane] + at[-side] + at[side] + at[-1] + at[1] -
                                6.0f * at[0]);
  }
}

__global__ void Matmul(const float* a, const float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) {
      sum += a[i * n + k] * b[k * n + j];
    }
    c[i * n + j] = sum;
  }
}

__global__ void TiledMatmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16], right[16][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  int row = blockIdx.x / (n / 16) * 16 + y, column = blockIdx.x % (n / 16) * 16 + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    left[y][x] = a[row * n + tile + x];
    right[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      sum += left[y][k] * right[k][x];
    }
    __syncthreads();
  }
  c[row * n + column] = sum;
}

struct Vector {
  float x, y, z;
};

__global__ void Bodies(const Vector* positions, Vector* forces, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Vector p = positions[i], force{0, 0, 0};
    for (int j = 0; j < n; ++j) {
      float x = positions[j].x - p.x, y = positions[j].y - p.y, z = positions[j].z - p.z;
      float inverse = rsqrtf(x * x + y * y + z * z + 1e-4f);
      float weight = inverse * inverse * inverse;
      force.x += weight * x;
      force.y += weight * y;
      force.z += weight * z;
    }
    forces[i] = force;
  }
}

struct Pair {
  int a, b;
};

__global__ void Springs(const Pair* pairs, const Vector* positions, Vector* forces, int n) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < n) {
    auto [a, b] = pairs[e];
    Vector p = positions[a], q = positions[b];
    float x = q.x - p.x, y = q.y - p.y, z = q.z - p.z;
    float weight = 1.0f - 0.1f * rsqrtf(x * x + y * y + z * z + 1e-4f);
    const float force[3] = {weight * x, weight * y, weight * z};
    for (int d = 0; d < 3; ++d) {
      atomicAdd(&forces[a].x + d, force[d]);
      atomicAdd(&forces[b].x + d, -force[d]);
    }
  }
}

// Pseudorandom ends (the finaliser of MurmurHash3).
__global__ void Connect(Pair* pairs, int n, int bodies) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < n) {
    int ends[2];
    for (int i = 0; i < 2; ++i) {
      unsigned h = 2 * e + i;
      h = (h ^ h >> 16) * 0x85ebca6b;
      h = (h ^ h >> 13) * 0xc2b2ae35;
      ends[i] = static_cast<int>((h ^ h >> 16) % bodies);
    }
    pairs[e] = {ends[0], ends[1]};
  }
}

// A substep of the material point method, as benchmarks.py has it.
struct Particles {
  Vector *x, *v;
  float (*affine)[3][3];
  float* volume;
  int count;
};

struct Nodes {
  Vector* momentum;
  float* mass;
  int side;

  __device__ int At(const int* base, int i, int j, int k) const {
    return ((base[0] + i) * side + base[1] + j) * side + base[2] + k;
  }
};

constexpr float kStep = 1e-4f;

// The first node that a particle reaches, its distance from it in nodes, and the weights of the
// three nodes along each axis.
struct Reach {
  int base[3];
  float fraction[3], weights[3][3];

  __device__ Reach(Vector x, int side) {
    const float at[3] = {x.x * side, x.y * side, x.z * side};
    for (int d = 0; d < 3; ++d) {
      base[d] = int(at[d] - 0.5f);
      const float f = fraction[d] = at[d] - base[d];
      weights[0][d] = 0.5f * (1.5f - f) * (1.5f - f);
      weights[1][d] = 0.75f - (f - 1.0f) * (f - 1.0f);
      weights[2][d] = 0.5f * (f - 0.5f) * (f - 0.5f);
    }
  }
};

__global__ void ClearNodes(Nodes nodes, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    nodes.momentum[i] = {0, 0, 0};
    nodes.mass[i] = 0;
  }
}

__global__ void Scatter(Particles particles, Nodes nodes) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= particles.count) {
    return;
  }
  const float width = 1.0f / nodes.side, cube = width * width * width;
  const Reach reach(particles.x[p], nodes.side);
  const float stress = -kStep * 400 * width * (particles.volume[p] - 1);
  const Vector v = particles.v[p];
  const float speed[3] = {v.x, v.y, v.z};
  float matrix[3][3];
  for (int d = 0; d < 3; ++d) {
    for (int e = 0; e < 3; ++e) {
      matrix[d][e] = (d == e ? stress : 0) + particles.affine[p][d][e] * cube;
    }
  }
#pragma unroll
  for (int n = 0; n < 27; ++n) {
    const int offset[3] = {n / 9, n / 3 % 3, n % 3};
    float weight = 1, distance[3], added[3];
    for (int d = 0; d < 3; ++d) {
      weight *= reach.weights[offset[d]][d];
      distance[d] = (offset[d] - reach.fraction[d]) * width;
    }
    for (int d = 0; d < 3; ++d) {
      added[d] = weight * (cube * speed[d] + matrix[d][0] * distance[0] +
                           matrix[d][1] * distance[1] + matrix[d][2] * distance[2]);
    }
    const int node = nodes.At(reach.base, offset[0], offset[1], offset[2]);
    atomicAdd(&nodes.momentum[node].x, added[0]);
    atomicAdd(&nodes.momentum[node].y, added[1]);
    atomicAdd(&nodes.momentum[node].z, added[2]);
    atomicAdd(&nodes.mass[node], weight * cube);
  }
}

__global__ void MoveNodes(Nodes nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, side = nodes.side;
  if (i >= side * side * side || nodes.mass[i] <= 0) {
    return;
  }
  const int at[3] = {i / side / side, i / side % side, i % side};
  const Vector m = nodes.momentum[i];
  const float mass = nodes.mass[i];
  float v[3] = {m.x / mass, m.y / mass - kStep * 9.8f, m.z / mass};
  for (int d = 0; d < 3; ++d) {
    if ((at[d] < 3 && v[d] < 0) || (at[d] > side - 3 && v[d] > 0)) {
      v[d] = 0;
    }
  }
  nodes.momentum[i] = {v[0], v[1], v[2]};
}

__global__ void Gather(Particles particles, Nodes nodes) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= particles.count) {
    return;
  }
  const float width = 1.0f / nodes.side;
  Vector x = particles.x[p];
  const Reach reach(x, nodes.side);
  float velocity[3] = {}, gradient[3][3] = {};
#pragma unroll
  for (int n = 0; n < 27; ++n) {
    const int offset[3] = {n / 9, n / 3 % 3, n % 3};
    float weight = 1;
    for (int d = 0; d < 3; ++d) {
      weight *= reach.weights[offset[d]][d];
    }
    const Vector node = nodes.momentum[nodes.At(reach.base, offset[0], offset[1], offset[2])];
    const float cell[3] = {node.x, node.y, node.z};
    for (int d = 0; d < 3; ++d) {
      velocity[d] += weight * cell[d];
      for (int e = 0; e < 3; ++e) {
        const float distance = (offset[e] - reach.fraction[e]) * width;
        gradient[d][e] += 4 * weight * cell[d] * distance / (width * width);
      }
    }
  }
  particles.v[p] = {velocity[0], velocity[1], velocity[2]};
  particles.x[p] = {x.x + kStep * velocity[0], x.y + kStep * velocity[1],
                    x.z + kStep * velocity[2]};
  particles.volume[p] *= 1 + kStep * (gradient[0][0] + gradient[1][1] + gradient[2][2]);
  for (int d = 0; d < 3; ++d) {
    for (int e = 0; e < 3; ++e) {
      particles.affine[p][d][e] = gradient[d][e];
    }
  }
}

// As benchmarks.py places them: in the middle of the grid.
__global__ void Place(Particles particles) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < particles.count) {
    Vector& x = particles.x[p];
    x = {x.x / 2 + 0.25f, x.y / 2 + 0.25f, x.z / 2 + 0.25f};
    particles.v[p] = {0, 0, 0};
    particles.volume[p] = 1;
    for (int d = 0; d < 9; ++d) {
      particles.affine[p][d / 3][d % 3] = 0;
    }
  }
}

__global__ void Nothing(const float* x, float* y) { *y = *x; }

__global__ void Random(float* x, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned bits = i * 2654435761u;
    bits = (bits ^ bits >> 15) * 2246822519u;
    x[i] = (bits >> 8) / 16777216.0f;
  }
}

float* Array(size_t count) {
  float* made;
  Check(cudaMalloc(&made, count * sizeof(float)));
  Random<<<(count + 255) / 256, 256>>>(made, count);
  Check(cudaGetLastError());
  return made;
}

// The median over `times` of the seconds of a call, when `batch` of them are queued.
double Seconds(int times, int batch, const std::function<void()>& call) {
  call();
  Check(cudaDeviceSynchronize());
  std::vector<double> found;
  for (int time = 0; time < times; ++time) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) {
      call();
    }
    Check(cudaDeviceSynchronize());
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    found.push_back(spent.count() / batch);
  }
  Check(cudaGetLastError());
  std::sort(found.begin(), found.end());
  return found[found.size() / 2];
}

void Tell(const char* name, double seconds, const char* unit, double work) {
  std::printf("{\"name\": \"%s\", \"seconds\": %.9g, \"%s\": %.6g}\n", name, seconds, unit,
              work / seconds / 1e9);
  std::fflush(stdout);
}

// Calls run(temporary, bytes) to learn how many bytes CUB needs, and returns a call with them.
template <typename Run>
std::function<void()> WithTemporary(Run run) {
  size_t bytes = 0;
  Check(run(nullptr, bytes));
  void* temporary;
  Check(cudaMalloc(&temporary, bytes));
  return [=]() mutable { Check(run(temporary, bytes)); };
}

}  // namespace

int main(int argc, char** argv) {
  bool small = argc > 1 && std::strcmp(argv[1], "--small") == 0;
  int count = small ? 1 << 10 : 1 << 28;
  int times = small ? 1 : 5, batch = small ? 1 : 20;
  double bytes = 4.0 * count;
  float *x = Array(count), *y = Array(count), *result = Array(1);
  int blocks = (count + kThreads - 1) / kThreads;
  Tell("copy", Seconds(times, batch, [=] {
         Check(cudaMemcpyAsync(y, x, 4ull * count, cudaMemcpyDeviceToDevice));
       }), "gb_per_second", 2 * bytes);
  Tell("saxpy", Seconds(times, batch, [=] { Saxpy<<<blocks, kThreads>>>(2.0f, x, y, count); }),
       "gb_per_second", 3 * bytes);
  Tell("sum", Seconds(times, batch, WithTemporary([=](void* temporary, size_t& size) {
         return cub::DeviceReduce::Sum(temporary, size, x, result, count);
       })), "gb_per_second", bytes);
  Tell("maximum", Seconds(times, batch, WithTemporary([=](void* temporary, size_t& size) {
         return cub::DeviceReduce::Max(temporary, size, x, result, count);
       })), "gb_per_second", bytes);
  int* bins = reinterpret_cast<int*>(Array(256));
  auto histogram = WithTemporary([=](void* temporary, size_t& size) {
    return cub::DeviceHistogram::HistogramEven(temporary, size, x, bins, 257, 0.0f, 1.0f, count);
  });
  Tell("histogram, 256 bins", Seconds(times, batch, histogram), "gb_per_second", bytes);
  Tell("fill", Seconds(times, batch, [=] { Check(cudaMemsetAsync(x, 0, 4ull * count)); }),
       "gb_per_second", bytes);
  Tell("histogram, one bin", Seconds(times, batch, histogram), "gb_per_second", bytes);
  Check(cudaFree(x));
  Check(cudaFree(y));

  int side = small ? 16 : 8192;
  float *p = Array(side * side), *q = Array(side * side);
  Tell("stencil of five points", Seconds(times, batch, [=] {
         Stencil<<<dim3((side + kThreads - 1) / kThreads, side - 2), kThreads>>>(p, q, side);
       }), "gb_per_second", 8.0 * side * side);
  int depth = small ? 8 : 512;
  float *r = Array(depth * depth * depth), *s = Array(depth * depth * depth);
  Tell("stencil of seven points", Seconds(times, batch, [=] {
         dim3 grid((depth + kThreads - 1) / kThreads, depth - 2, depth - 2);
         Stencil3<<<grid, kThreads>>>(r, s, depth);
       }), "gb_per_second", 8.0 * depth * depth * depth);

  int width = small ? 16 : 2048;
  float *a = Array(width * width), *b = Array(width * width), *c = Array(width * width);
  double operations = 2.0 * width * width * width;
  Tell("matmul, naive", Seconds(times, 3, [=] {
         Matmul<<<dim3((width + 31) / 32, (width + 3) / 4), dim3(32, 4)>>>(a, b, c, width);
       }), "gflops", operations);
  Tell("matmul, tiles in shared memory", Seconds(times, 3, [=] {
         TiledMatmul<<<width / 16 * (width / 16), 256>>>(a, b, c, width);
       }), "gflops", operations);
  int bodies = small ? 64 : 1 << 16;
  Vector* positions = reinterpret_cast<Vector*>(Array(3 * bodies));
  Vector* forces = reinterpret_cast<Vector*>(Array(3 * bodies));
  Tell("n-body", Seconds(times, 1, [=] {
         Bodies<<<(bodies + kThreads - 1) / kThreads, kThreads>>>(positions, forces, bodies);
       }), "interactions", 1.0 * bodies * bodies);
  int springs = 64 * bodies, spring_blocks = (springs + kThreads - 1) / kThreads;
  Pair* pairs = reinterpret_cast<Pair*>(Array(2 * springs));
  Connect<<<spring_blocks, kThreads>>>(pairs, springs, bodies);
  Tell("springs", Seconds(times, batch, [=] {
         Springs<<<spring_blocks, kThreads>>>(pairs, positions, forces, springs);
       }), "springs", springs);

  for (int side : {64, 128}) {
    if (small && side > 64) {
      break;
    }
    int cells = side * side * side, count = small ? 64 : cells;
    int blocks = (count + kThreads - 1) / kThreads, all = (cells + kThreads - 1) / kThreads;
    Particles particles{reinterpret_cast<Vector*>(Array(3 * count)),
                        reinterpret_cast<Vector*>(Array(3 * count)),
                        reinterpret_cast<float(*)[3][3]>(Array(9 * count)), Array(count), count};
    Nodes nodes{reinterpret_cast<Vector*>(Array(3 * cells)), Array(cells), side};
    Place<<<blocks, kThreads>>>(particles);
    double seconds = Seconds(times, batch, [=] {
      ClearNodes<<<all, kThreads>>>(nodes, cells);
      Scatter<<<blocks, kThreads>>>(particles, nodes);
      MoveNodes<<<all, kThreads>>>(nodes);
      Gather<<<blocks, kThreads>>>(particles, nodes);
    });
    Tell(("mpm, grid of " + std::to_string(side) + "^3").c_str(), seconds, "particles", count);
  }

  int launches = small ? 100 : 20000;
  auto launch = [=] { Nothing<<<1, 1>>>(a, c); };
  double seconds = Seconds(times, launches, launch);
  std::printf("{\"name\": \"launch with two arrays\", \"microseconds\": %.6g}\n", seconds * 1e6);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 80; ++i) {
    Nothing<<<1, 1, 0, stream>>>(a, c);
  }
  cudaGraph_t graph;
  cudaGraphExec_t captured;
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiate(&captured, graph, 0));
  seconds = Seconds(times, launches / 80, [=] { Check(cudaGraphLaunch(captured, stream)); });
  std::printf("{\"name\": \"80 launches as a captured graph\", \"microseconds\": %.6g}\n",
              seconds * 1e6);
  return 0;
}
