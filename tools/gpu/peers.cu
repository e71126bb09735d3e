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
