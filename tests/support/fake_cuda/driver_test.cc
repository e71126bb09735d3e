#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/cuda_api.h"

// As programs declare them; the library has no header of its own.
extern "C" {
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize();
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t*, size_t*);
CUresult cuMemGetAllocationGranularity(size_t*, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags);
CUresult cuMemAddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemCreate(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                     unsigned long long);
CUresult cuMemRelease(CUmemGenericAllocationHandle);
CUresult cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
CUresult cuMemUnmap(CUdeviceptr, size_t);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t);
CUresult cuDeviceGetAttribute(int*, CUdevice_attribute, CUdevice);
CUresult cuMemAllocHost_v2(void**, size_t);
CUresult cuMemFreeHost(void*);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, size_t);
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t);
CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, size_t, CUstream);
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
CUresult cuModuleUnload(CUmodule);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**);
CUresult cuStreamCreate(CUstream*, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuEventCreate(CUevent*, unsigned);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuGetProcAddress_v2(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
}

namespace {

void Begin() {
  CUcontext context = nullptr;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

std::string Read(const std::string& name) {
  std::ifstream file("tests/support/fake_cuda/testdata/" + name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

CUfunction Load(const std::string& ptx, const char* name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, ptx.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
  return function;
}

template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cuMemAlloc_v2(&address, size_ * sizeof(T)), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoD_v2(address, values.data(), size_ * sizeof(T)), CUDA_SUCCESS);
  }
  Array(const Array&) = delete;
  ~Array() { cuMemFree_v2(address); }
  std::vector<T> Get() const {
    std::vector<T> values(size_);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, size_ * sizeof(T)), CUDA_SUCCESS);
    return values;
  }
  CUdeviceptr address = 0;

 private:
  size_t size_;
};

const char kHead[] = ".version 7.8\n.target sm_90\n.address_size 64\n";

// Runs `body`, which leaves %d for the inputs %a, %b and %c, registers of the types; one thread
// for each row. `type` is a register's, such as "b32".
template <typename D, typename A>
std::vector<D> Evaluate(const std::string& body, const std::string& d, const std::string& a,
                        const std::vector<std::vector<A>>& rows) {
  const std::string bytes_d = std::to_string(sizeof(D)), bytes_a = std::to_string(sizeof(A));
  std::string text = kHead;
  text +=
      ".visible .entry f(.param .u64 out, .param .u64 in) {\n.reg .b64 %rd<9>; .reg .b32 %r<99>;"
      ".reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .pred %p<9>;\n"
      ".reg ." +
      d + " %d; .reg ." + a +
      " %a, %b, %c;\n"
      "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %rd1, %r1, " +
      bytes_d +
      ", %rd1; mul.lo.u32 %r2, %r1, 3;\n"
      "mad.wide.u32 %rd2, %r2, " +
      bytes_a +
      ", %rd2;\n"
      "ld.global." +
      a + " %a, [%rd2]; ld.global." + a + " %b, [%rd2+" + bytes_a +
      "];\n"
      "ld.global." +
      a + " %c, [%rd2+" + std::to_string(2 * sizeof(A)) + "];\n" + body + "\nst.global." + d +
      " [%rd1], %d; ret;\n}\n";
  std::vector<A> flat;
  for (std::vector<A> row : rows) {
    row.resize(3);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  const Array<A> in(flat);
  const Array<D> out(std::vector<D>(rows.size()));
  CUdeviceptr to = out.address, from = in.address;
  void* parameters[] = {&to, &from};
  EXPECT_EQ(cuLaunchKernel(Load(text, "f"), 1, 1, 1, static_cast<unsigned>(rows.size()), 1, 1, 0,
                           nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  return out.Get();
}

using U32 = std::vector<uint32_t>;
using U64 = std::vector<uint64_t>;
using F32 = std::vector<float>;
using F64 = std::vector<double>;

U32 Ints(const std::string& body, const std::vector<U32>& rows) {
  return Evaluate<uint32_t, uint32_t>(body, "b32", "b32", rows);
}
F32 Floats(const std::string& body, const std::vector<F32>& rows) {
  return Evaluate<float, float>(body, "f32", "f32", rows);
}

class FakeCuda : public testing::Test {
 protected:
  void SetUp() override { Begin(); }
};

TEST_F(FakeCuda, IntegerArithmetic) {
  EXPECT_EQ(Ints("add.u32 %d, %a, %b;", {{~0u, 2}, {3, 4}}), (U32{1, 7}));
  EXPECT_EQ(Ints("sub.s32 %d, %a, %b;", {{3, 5}}), (U32{~0u - 1}));
  EXPECT_EQ(Ints("mul.hi.s32 %d, %a, %b;", {{~0u, 2}, {1u << 31, 4}}), (U32{~0u, ~1u}));
  EXPECT_EQ(Ints("mul.hi.u32 %d, %a, %b;", {{~0u, 2}}), (U32{1}));
  EXPECT_EQ(Ints("mad.lo.s32 %d, %a, %b, %c;", {{3, ~0u, 10}}), (U32{7}));
  EXPECT_EQ(Ints("div.s32 %d, %a, %b;", {{~6u, 2}, {1u << 31, ~0u}}), (U32{~2u, 1u << 31}));
  EXPECT_EQ(Ints("rem.s32 %d, %a, %b;", {{~6u, 4}}), (U32{~2u}));
  EXPECT_EQ(Ints("min.s32 %d, %a, %b;", {{~0u, 1}}), (U32{~0u}));
  EXPECT_EQ(Ints("max.u32 %d, %a, %b;", {{~0u, 1}}), (U32{~0u}));
  EXPECT_EQ(Ints("abs.s32 %d, %a;", {{~4u}}), (U32{5}));
  EXPECT_EQ(Ints("neg.s32 %d, %a;", {{5}}), (U32{~4u}));
}

TEST_F(FakeCuda, Bits) {
  EXPECT_EQ(Ints("shl.b32 %d, %a, %b;", {{1, 31}, {1, 32}}), (U32{1u << 31, 0}));
  EXPECT_EQ(Ints("shr.s32 %d, %a, %b;", {{~7u, 1}, {~7u, 99}}), (U32{~3u, ~0u}));
  EXPECT_EQ(Ints("shr.u32 %d, %a, %b;", {{~0u, 28}, {~0u, 32}}), (U32{15, 0}));
  EXPECT_EQ(Ints("bfe.u32 %d, %a, %b, %c;", {{0x12345678, 8, 8}}), (U32{0x56}));
  EXPECT_EQ(Ints("bfe.s32 %d, %a, %b, %c;", {{0x1234f678, 8, 8}, {0x80000000, 28, 8}}),
            (U32{0xfffffff6, 0xfffffff8}));
  EXPECT_EQ(Ints("bfi.b32 %d, %a, %b, 8, %c;", {{0xab, 0x11111111, 8}}), (U32{0x1111ab11}));
  EXPECT_EQ(Ints("prmt.b32 %d, %a, %b, 0x0167;", {{0x33221100, 0x77665544}}), (U32{0x00116677}));
  EXPECT_EQ(Ints("lop3.b32 %d, %a, %b, %c, 0x96;", {{12, 10, 6}}), (U32{12 ^ 10 ^ 6}));
  EXPECT_EQ(Ints("shf.l.wrap.b32 %d, %a, %b, %c;", {{0x80000000, 1, 1}}), (U32{3}));
  EXPECT_EQ(Ints("shf.r.wrap.b32 %d, %a, %b, %c;", {{2, 1, 1}}), (U32{0x80000001}));
  EXPECT_EQ(Ints("popc.b32 %d, %a;", {{0xff0f}}), (U32{12}));
  EXPECT_EQ(Ints("clz.b32 %d, %a;", {{1}, {0}}), (U32{31, 32}));
  EXPECT_EQ(Ints("brev.b32 %d, %a;", {{1}}), (U32{1u << 31}));
  EXPECT_EQ(Ints("bfind.s32 %d, %a;", {{~8u}, {~0u}}), (U32{3, ~0u}));
}

TEST_F(FakeCuda, CarriesAndHalves) {
  const std::string add =
      "mov.b64 {%r3, %r4}, %a; mov.b64 {%r5, %r6}, %b;"
      "add.cc.u32 %r7, %r3, %r5; addc.u32 %r8, %r4, %r6; mov.b64 %d, {%r7, %r8};";
  EXPECT_EQ((Evaluate<uint64_t, uint64_t>(add, "b64", "b64", {{0xffffffff, 1}, {5, 1ull << 40}})),
            (U64{1ull << 32, 5 + (1ull << 40)}));
  EXPECT_EQ(
      (Evaluate<uint64_t, uint64_t>("mul.hi.u64 %d, %a, %b;", "b64", "b64", {{1ull << 63, 6}})),
      (U64{3}));
}

TEST_F(FakeCuda, Floats) {
  EXPECT_EQ(Floats("fma.rn.f32 %d, %a, %b, %c;", {{1.1f, 2.3f, -2.53f}}),
            (F32{std::fma(1.1f, 2.3f, -2.53f)}));
  EXPECT_EQ(Floats("mul.rn.f32 %d, %a, %b; add.rn.f32 %d, %d, %c;", {{1.1f, 2.3f, -2.53f}}),
            (F32{1.1f * 2.3f + -2.53f}));
  EXPECT_EQ(Floats("add.rz.f32 %d, %a, %b;", {{1.0f, 0x1.8p-24f}}), (F32{1.0f}));
  EXPECT_EQ(Floats("add.rp.f32 %d, %a, %b;", {{1.0f, 0x1p-40f}}),
            (F32{std::nextafter(1.0f, 2.0f)}));
  EXPECT_EQ(Floats("add.ftz.f32 %d, %a, %b;", {{1e-40f, 0}, {1e-30f, 0}}), (F32{0, 1e-30f}));
  EXPECT_EQ(Floats("add.sat.f32 %d, %a, %b;", {{1, 2}, {-1, 0}, {NAN, 0}}), (F32{1, 0, 0}));
  EXPECT_EQ(Floats("min.f32 %d, %a, %b;", {{NAN, 2}, {0.0f, -0.0f}}), (F32{2, -0.0f}));
  EXPECT_EQ(Floats("div.rn.f32 %d, %a, %b;", {{1, 3}}), (F32{1.0f / 3}));
  EXPECT_EQ(Floats("sqrt.rn.f32 %d, %a;", {{2}}), (F32{std::sqrt(2.0f)}));
  EXPECT_NEAR(Floats("sin.approx.f32 %d, %a;", {{1}})[0], std::sin(1.0), 1e-6);
  EXPECT_NEAR(Floats("ex2.approx.ftz.f32 %d, %a;", {{0.5f}})[0], std::sqrt(2.0), 1e-6);
  EXPECT_EQ((Evaluate<double, double>("sub.f64 %d, %a, %b;", "f64", "f64", {{1, 3}})), (F64{-2}));
}

TEST_F(FakeCuda, Halves) {
  using H = std::vector<uint16_t>;
  const auto halves = [](const std::string& body, const std::vector<H>& rows) {
    return Evaluate<uint16_t, uint16_t>(body, "b16", "b16", rows);
  };
  EXPECT_EQ(halves("add.f16 %d, %a, %b;", {{0x3c00, 0x4000}}), (H{0x4200}));
  EXPECT_EQ(halves("mul.f16 %d, %a, %b;", {{0x7bff, 0x4000}, {0x0001, 0x3800}}), (H{0x7c00, 0}));
  EXPECT_EQ(halves("cvt.f32.f16 %f1, %a; cvt.rn.f16.f32 %d, %f1;", {{0x3555}, {0x0003}, {0xfc00}}),
            (H{0x3555, 0x0003, 0xfc00}));
}

TEST_F(FakeCuda, Conversions) {
  const auto to_int = [](const std::string& body, const std::vector<F32>& rows) {
    return Evaluate<uint32_t, float>(body, "b32", "f32", rows);
  };
  EXPECT_EQ(to_int("cvt.rzi.s32.f32 %d, %a;", {{-1.7f}, {1e20f}, {NAN}, {-1e20f}}),
            (U32{~0u, 0x7fffffff, 0, 0x80000000}));
  EXPECT_EQ(to_int("cvt.rni.u32.f32 %d, %a;", {{2.5f}, {3.5f}, {-1}}), (U32{2, 4, 0}));
  EXPECT_EQ(to_int("cvt.rmi.f32.f32 %f1, %a; mov.b32 %d, %f1;", {{-1.5f}}), (U32{0xc0000000}));
  EXPECT_EQ(Ints("cvt.s32.s8 %d, %a;", {{0x1ff}, {0x7f}}), (U32{~0u, 0x7f}));
  EXPECT_EQ(Ints("cvt.sat.u8.s32 %d, %a;", {{~0u}, {300}}), (U32{0, 255}));
  EXPECT_EQ((Evaluate<float, uint64_t>("cvt.rn.f32.u64 %d, %a;", "f32", "b64",
                                       {{(1ull << 60) + (1ull << 36) + 1}})),
            (F32{0x1.000002p60f}));
}

TEST_F(FakeCuda, ComparisonsAndSelections) {
  const std::string select = " selp.b32 %d, 1, 0, %p1;";
  const auto floats = [&](const std::string& relation, const std::vector<F32>& rows) {
    return Evaluate<uint32_t, float>("setp." + relation + ".f32 %p1, %a, %b;" + select, "b32",
                                     "f32", rows);
  };
  EXPECT_EQ(floats("lt", {{1, 2}, {NAN, 2}}), (U32{1, 0}));
  EXPECT_EQ(floats("ltu", {{3, 2}, {NAN, 2}}), (U32{0, 1}));
  EXPECT_EQ(floats("ne", {{3, 2}, {NAN, 2}}), (U32{1, 0}));
  EXPECT_EQ(floats("neu", {{2, 2}, {NAN, 2}}), (U32{0, 1}));
  EXPECT_EQ(floats("nan", {{2, 2}, {NAN, 2}}), (U32{0, 1}));
  EXPECT_EQ(Ints("setp.gt.s32 %p2, %a, 0; setp.lt.and.u32 %p1|%p3, %a, %b, !%p2;" + select,
                 {{~0u, 2}, {0, 1}, {1, 2}}),
            (U32{0, 1, 0}));
  EXPECT_EQ(
      Ints("setp.eq.s32 %p1, %a, 1; mov.u32 %d, 5; @%p1 mov.u32 %d, 6; @!%p1 add.u32 %d, %d, 1;",
           {{1}, {2}}),
      (U32{6, 6}));
}

TEST_F(FakeCuda, LanesOfAWarp) {
  std::vector<U32> rows;
  for (uint32_t n = 0; n < 32; ++n) rows.push_back({n});
  const U32 down = Ints("shfl.sync.down.b32 %d|%p1, %a, 4, 31, -1;", rows);
  EXPECT_EQ(down[0], 4u);
  EXPECT_EQ(down[31], 31u);
  EXPECT_EQ(Ints("shfl.sync.bfly.b32 %d, %a, 1, 31, -1;", rows)[6], 7u);
  EXPECT_EQ(Ints("shfl.sync.idx.b32 %d, %a, 3, 0x181f, -1;", rows)[13], 11u);
  EXPECT_EQ(Ints("setp.lt.u32 %p1, %a, 5; vote.sync.ballot.b32 %d, %p1, -1;", rows)[9], 31u);
  EXPECT_EQ(Ints("redux.sync.add.u32 %d, %a, -1;", rows)[9], 496u);
  EXPECT_EQ(Ints("and.b32 %r9, %a, 1; match.any.sync.b32 %d, %r9, -1;", rows)[2], 0x55555555u);
  EXPECT_EQ(Ints("activemask.b32 %d;", rows)[2], ~0u);
  // Lanes of one branch wait for those of the other, because the shuffle names both.
  EXPECT_EQ(Ints("setp.lt.u32 %p1, %a, 9; @%p1 bra $L1; add.u32 %a, %a, 100; bra $L2; $L1: "
                 "add.u32 %a, %a, 200; $L2: shfl.sync.idx.b32 %d, %a, 1, 31, -1;",
                 rows)[20],
            201u);
}

TEST_F(FakeCuda, CallsByLlvm) {
  struct {
    uint64_t out, counter, other, arguments[5];
  } launch{0, 0, 0, {7, 1, 2, 3, 4}};
  const Array<int> out(std::vector<int>(200)), counter({0});
  launch.out = out.address;
  launch.counter = counter.address;
  void* parameters[] = {&launch};
  ASSERT_EQ(cuLaunchKernel(Load(Read("calls.ptx"), "task_0"), 4, 1, 1, 50, 1, 1, 0, nullptr,
                           parameters, nullptr),
            CUDA_SUCCESS);
  const std::vector<int> got = out.Get();
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  int sum = 0;
  for (int i = 0; i < 200; ++i) {
    int w[5];
    for (int j = 0; j < 5; ++j) w[j] = i * j;
    w[0] += 3 + 7;
    w[i & 3] = 4;
    int z = w[0] + w[1] + w[i % 5];
    const int kind = i % 7;
    if (kind == 0) z += 3;
    if (kind == 1) z *= 8;
    if (kind == 2) z -= static_cast<int>(launch.arguments[i % 5]);
    if (kind == 3 || kind == 6) z ^= 1;
    if (kind == 4) sum += i;
    if (kind == 5) z = fibonacci[i % 11];
    EXPECT_EQ(got[i], z) << i;
  }
  EXPECT_EQ(counter.Get()[0], sum);
}

TEST_F(FakeCuda, KernelsByNvcc) {
  const std::string text = Read("nvcc.ptx");
  std::vector<int> values(1000);
  int total = 0;
  for (int n = 0; n < 1000; ++n) total += values[n] = n * 7 % 31;
  const Array<int> in(values), out({0}), mutex({0}), counter({0}), arrived({0});
  const Array<int> seen(std::vector<int>(8 * 64));
  CUdeviceptr a = in.address, b = out.address;
  int n = 1000;
  void* sums[] = {&a, &b, &n};
  ASSERT_EQ(cuLaunchKernel(Load(text, "block_sum"), 1, 1, 1, 256, 1, 1, 0, nullptr, sums, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(out.Get()[0], total);
  CUdeviceptr m = mutex.address, c = counter.address;
  void* locks[] = {&m, &c};
  ASSERT_EQ(cuLaunchKernel(Load(text, "lock"), 3, 1, 1, 64, 1, 1, 0, nullptr, locks, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(counter.Get()[0], 3 * 64);
  CUdeviceptr w = arrived.address, s = seen.address;
  void* waits[] = {&w, &s};
  ASSERT_EQ(
      cuLaunchKernel(Load(text, "wait_for_all"), 8, 1, 1, 64, 1, 1, 0, nullptr, waits, nullptr),
      CUDA_SUCCESS);
  EXPECT_EQ(seen.Get(), std::vector<int>(8 * 64, 8));
}

TEST_F(FakeCuda, MixedKernelByNvcc) {
  std::vector<float> values;
  for (int n = 0; n < 100; ++n) values.push_back(static_cast<float>(n) * 4000.0f - 7);
  const Array<float> in(values), out(std::vector<float>(100));
  const Array<double> sum({0});
  CUdeviceptr a = out.address, b = in.address, d = sum.address;
  int n = 100;
  void* parameters[] = {&a, &b, &n, &d};
  ASSERT_EQ(cuLaunchKernel(Load(Read("nvcc.ptx"), "mixed"), 2, 1, 1, 64, 1, 1, 256, nullptr,
                           parameters, nullptr),
            CUDA_SUCCESS);
  const std::vector<float> got = out.Get();
  for (const int i : {1, 33, 70}) {  // lanes that add nothing of others
    const float other = values[i ^ 1] * (i % 2 != 0 ? 2.5f : 1.5f) + 20;
    const double expected = other + std::sin(values[i]) / (1 + std::fabs(values[i]));
    EXPECT_NEAR(got[i], expected, std::fabs(expected) * 1e-6) << i;
  }
  double total = 0;
  for (const float value : values) total += value;
  EXPECT_EQ(sum.Get()[0], total);
}

TEST_F(FakeCuda, WorkWaitsForASynchronisation) {
  const Array<uint32_t> array(std::vector<uint32_t>(4));
  void* pinned = nullptr;
  CUstream first = nullptr, second = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(cuMemAllocHost_v2(&pinned, 16), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&first, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  std::memset(pinned, 0, 16);
  auto* seen = static_cast<volatile uint32_t*>(pinned);
  ASSERT_EQ(cuMemsetD32Async(array.address, 7, 4, first), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned, array.address, 16, second), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 0u);
  ASSERT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 7u);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(FakeCuda, UnknownInstructionsAndImagesAreRefused) {
  CUmodule module = nullptr;
  const std::string text = std::string(kHead) + ".visible .entry f() {\n frobnicate.b32 %r1;\n}";
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("line 5: "), std::string::npos);
  EXPECT_EQ(cuModuleLoadData(&module,
                             "\x7f"
                             "ELF..."),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuModuleLoadData(&module, "no PTX"), CUDA_ERROR_INVALID_PTX);
  const auto load = [&](const std::string& version, int bytes) {
    const std::string entry = ".version " + version +
                              "\n.target sm_90\n.address_size 64\n.visible .entry f(.param .b8 p[" +
                              std::to_string(bytes) + "]) { ret; }";
    return cuModuleLoadData(&module, entry.c_str());
  };
  EXPECT_EQ(load("7.8", 4352), CUDA_SUCCESS);
  EXPECT_EQ(load("8.0", 4353), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("8.1", 32764), CUDA_SUCCESS);
  EXPECT_EQ(load("8.1", 32765), CUDA_ERROR_INVALID_PTX);
}

// --- Virtual memory

constexpr size_t kStep = size_t{2} << 20;
constexpr CUmemAllocationProp kOnDevice = {1, 0, {1, 0}, nullptr, {}};
constexpr CUmemAccessDesc kAccess = {{1, 0}, 3};

// Maps new memory, without access to it.
void MapNew(CUdeviceptr at, size_t bytes) {
  CUmemGenericAllocationHandle memory = 0;
  EXPECT_EQ(cuMemCreate(&memory, bytes, &kOnDevice, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(at, bytes, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

size_t FreeBytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  return free;
}

TEST_F(FakeCuda, ReservedAddressesGetMemoryInPieces) {
  size_t step = 0;
  EXPECT_EQ(cuMemGetAllocationGranularity(&step, &kOnDevice, 0), CUDA_SUCCESS);
  EXPECT_EQ(step, kStep);
  const size_t free = FreeBytes();
  CUdeviceptr at = 0;
  ASSERT_EQ(cuMemAddressReserve(&at, 4 * kStep, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), free);
  MapNew(at, kStep);
  MapNew(at + kStep, 2 * kStep);
  EXPECT_EQ(FreeBytes(), free - 3 * kStep);
  EXPECT_EQ(cuMemSetAccess(at, 3 * kStep, &kAccess, 1), CUDA_SUCCESS);
  // Fills, copies and kernels cross the borders of pieces.
  EXPECT_EQ(cuMemsetD32Async(at + kStep - 8, 7, 4, nullptr), CUDA_SUCCESS);
  U32 read(5);
  EXPECT_EQ(cuMemcpyDtoH_v2(read.data(), at + kStep - 8, 20), CUDA_SUCCESS);
  EXPECT_EQ(read, (U32{7, 7, 7, 7, 0xa5a5a5a5}));
  EXPECT_EQ(cuMemUnmap(at, 3 * kStep), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), free);
  EXPECT_EQ(cuMemcpyDtoH_v2(read.data(), at, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(at, 4 * kStep), CUDA_SUCCESS);
}

TEST_F(FakeCuda, MisusedAddressesAreNamed) {
  const auto refused = [](CUresult result, const std::string& text) {
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << text;
    EXPECT_NE(said.find(text), std::string::npos) << said;
    testing::internal::CaptureStderr();
  };
  testing::internal::CaptureStderr();
  CUdeviceptr at = 0;
  CUmemGenericAllocationHandle memory = 0;
  refused(cuMemAddressReserve(&at, 100, 0, 0, 0), "multiples of 2 MiB");
  refused(cuMemCreate(&memory, kStep + 1, &kOnDevice, 0), "multiples of 2 MiB");
  ASSERT_EQ(cuMemAddressReserve(&at, 3 * kStep, 0, 0, 0), CUDA_SUCCESS);
  MapNew(at, 2 * kStep);
  EXPECT_EQ(cuMemcpyHtoD_v2(at, &at, 8), CUDA_ERROR_INVALID_VALUE);  // without access
  ASSERT_EQ(cuMemCreate(&memory, kStep, &kOnDevice, 0), CUDA_SUCCESS);
  refused(cuMemMap(at + kStep, kStep, 0, memory, 0), "mapped there already");
  refused(cuMemMap(at + 2 * kStep, 2 * kStep, 0, memory, 0), "another size");
  refused(cuMemMap(at + 3 * kStep, kStep, 0, memory, 0), "not reserved");
  ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  refused(cuMemRelease(memory), "no such memory");
  refused(cuMemMap(at + 2 * kStep, kStep, 0, memory, 0), "no such memory");
  refused(cuMemSetAccess(at, 3 * kStep, &kAccess, 1), "not all of what was mapped");
  refused(cuMemUnmap(at, kStep), "not all of what was mapped");
  refused(cuMemAddressFree(at, 3 * kStep), "still mapped");
  refused(cuMemAddressFree(at, 2 * kStep), "no reservation");
  EXPECT_EQ(cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemSetAccess(at, 2 * kStep, &kAccess, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32Async(at, 1, 1, nullptr), CUDA_SUCCESS);
  refused(cuMemUnmap(at, 2 * kStep), "has not run");
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(at, 2 * kStep), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(at, 3 * kStep), CUDA_SUCCESS);
  testing::internal::GetCapturedStderr();
}

TEST_F(FakeCuda, AddressesAreUsedAgain) {
  for (int n = 0; n < 1000; ++n) {
    CUdeviceptr at = 0;
    ASSERT_EQ(cuMemAddressReserve(&at, size_t{8} << 30, 0, 0, 0), CUDA_SUCCESS) << n;
    MapNew(at, kStep);
    ASSERT_EQ(cuMemUnmap(at, kStep), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAddressFree(at, size_t{8} << 30), CUDA_SUCCESS);
  }
}

TEST_F(FakeCuda, FunctionsAreFoundByName) {
  void* function = nullptr;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemFree", &function, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &function, 13000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

// The context does not survive these, so each runs in a process of its own.

void Exit(bool good) { std::_Exit(good ? 0 : 1); }

void StoreAt(int64_t offset, CUresult expected) {
  Begin();
  const std::string text = std::string(kHead) +
                           ".visible .entry f(.param .u64 p) {\n.reg .b64 %rd<3>;\n"
                           "ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 1;\nret;\n}";
  const Array<uint32_t> array(std::vector<uint32_t>(10));
  CUdeviceptr at = array.address + offset;
  void* parameters[] = {&at};
  cuLaunchKernel(Load(text, "f"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  const CUresult first = cuCtxSynchronize();
  void* pinned = nullptr;
  Exit(first == expected && cuMemAllocHost_v2(&pinned, 16) == expected);
}

TEST(FakeCudaDeathTest, AnAccessBehindAnAllocationEndsTheContext) {
  const auto zero = testing::ExitedWithCode(0);
  EXPECT_EXIT(StoreAt(36, CUDA_SUCCESS), zero, "");
  EXPECT_EXIT(
      StoreAt(40, CUDA_ERROR_ILLEGAL_ADDRESS), zero,
      "4 bytes behind an allocation of 40 bytes.*line 7 of the PTX of module [0-9]+, kernel f");
  EXPECT_EXIT(StoreAt(-4, CUDA_ERROR_ILLEGAL_ADDRESS), zero, "access of 4 bytes");
  EXPECT_EXIT(StoreAt(2, CUDA_ERROR_MISALIGNED_ADDRESS), zero, "not a multiple of 4");
}

void StoreToReserved(size_t mapped, size_t accessible, size_t offset) {
  Begin();
  CUdeviceptr at = 0;
  cuMemAddressReserve(&at, 4 * kStep, 0, 0, 0);
  MapNew(at, accessible);
  cuMemSetAccess(at, accessible, &kAccess, 1);
  if (mapped > accessible) MapNew(at + accessible, mapped - accessible);
  const std::string text = std::string(kHead) +
                           ".visible .entry f(.param .u64 p) {\n.reg .b64 %rd<3>;\n"
                           "ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 1;\nret;\n}";
  at += offset;
  void* parameters[] = {&at};
  cuLaunchKernel(Load(text, "f"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  Exit(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST(FakeCudaDeathTest, AnAccessOfReservedAddressesEndsTheContext) {
  const auto zero = testing::ExitedWithCode(0), one = testing::ExitedWithCode(1);
  EXPECT_EXIT(StoreToReserved(2 * kStep, 2 * kStep, 2 * kStep - 4), zero, "");
  EXPECT_EXIT(StoreToReserved(2 * kStep, 2 * kStep, 2 * kStep), one,
              "nothing is mapped there, in a reservation of 8388608 bytes.*kernel f");
  EXPECT_EXIT(StoreToReserved(2 * kStep, kStep, kStep), one, "mapped without cuMemSetAccess");
}

TEST(FakeCudaDeathTest, TheHostCannotReadDeviceMemory) {
  EXPECT_EXIT(
      {
        Begin();
        const Array<uint32_t> array(std::vector<uint32_t>(10));
        Exit(*reinterpret_cast<volatile uint32_t*>(array.address) == 0);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST(FakeCudaDeathTest, SettingsMakeCallsFail) {
  EXPECT_EXIT(
      {
        setenv("KILN_FAKE_CUDA", "fail_alloc=2", 1);
        Begin();
        CUdeviceptr a = 0;
        const bool first = cuMemAlloc_v2(&a, 8) == CUDA_SUCCESS;
        const bool second = cuMemAlloc_v2(&a, 8) == CUDA_ERROR_OUT_OF_MEMORY;
        Exit(first && second && cuMemAlloc_v2(&a, 8) == CUDA_SUCCESS);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("KILN_FAKE_CUDA", "fail_alloc=2;no_virtual_memory", 1);
        Begin();
        CUdeviceptr a = 0;
        int has = 1;
        CUmemGenericAllocationHandle memory = 0;
        const bool first = cuMemAlloc_v2(&a, 8) == CUDA_SUCCESS;
        const bool second = cuMemCreate(&memory, kStep, &kOnDevice, 0) == CUDA_ERROR_OUT_OF_MEMORY;
        const bool lacks = cuDeviceGetAttribute(&has, 102, 0) == CUDA_SUCCESS && has == 0 &&
                           cuMemAddressReserve(&a, kStep, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED;
        Exit(first && second && lacks);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("KILN_FAKE_CUDA", "no_device", 1);
        Exit(cuInit(0) == CUDA_ERROR_NO_DEVICE);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  return RUN_ALL_TESTS();
}
