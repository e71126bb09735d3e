// nvcc.ptx: nvcc -ptx -arch=sm_90 -o nvcc.ptx nvcc.cu
// Shared memory, barriers, shuffles, constants, initialised pointers, slow paths of functions.
__device__ int table[4] = {10, 20, 30, 40};
__device__ int* pointer = table + 1;
__constant__ float factors[2] = {1.5f, 2.5f};
extern __shared__ float shared[];

extern "C" __global__ void mixed(float* out, const float* __restrict__ in, int n, double* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  float value = shared[threadIdx.x ^ 1] * factors[i & 1] + *pointer;
  if (i < n) value += sinf(in[i]) / (1 + fabsf(in[i]));
  for (int by = 16; by > 0; by /= 2) {
    const float other = __shfl_down_sync(~0u, value, by);
    if (threadIdx.x % 32 == 0) value += other;
  }
  if (i < n) {
    out[i] = value;
    atomicAdd(sum, (double)in[i]);
  }
}

extern "C" __global__ void block_sum(const int* in, int* out, int n) {
  __shared__ int sums[256];
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int by = 128; by > 0; by /= 2) {
    if (threadIdx.x < by) sums[threadIdx.x] += sums[threadIdx.x + by];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = sums[0] + __syncthreads_count(1) * 0;
  else __syncthreads_count(1);
}

extern "C" __global__ void lock(int* mutex, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(mutex, 0, 1) == 0) {
      *(volatile int*)counter = *(volatile int*)counter + 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
  }
}

extern "C" __global__ void wait_for_all(int* arrived, int* out) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int*)arrived;
}
