// libcuda.so.1 without a device: the functions that runtime/cuda calls. Its device's memory is the
// host's at other addresses, where the host cannot use it; kernels are PTX, which ptx_executor.h
// runs when they are launched.
//
// It cannot show what only a device does: times, orders of memory, threads that really run at the
// same time, and mistakes of NVIDIA's compiler. Barriers, shared memory and operations of warps are
// refused when a module is loaded.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/fake_cuda/ptx_executor.h"
#include "tests/support/fake_cuda/ptx_parser.h"

namespace {

namespace ptx = kiln::ptx;

enum Code {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kNotFound = 500,
  kIllegalAddress = 700,
};

// Added to an address of the host.
constexpr uint64_t kAway = uint64_t{1} << 46;
constexpr uint64_t kTotalBytes = uint64_t{8} << 30;
constexpr int kMajor = 9, kMinor = 0, kMultiprocessors = 4;

// One process's device.
struct Device {
  std::map<uint64_t, uint64_t> allocations;  // by address: bytes
  uint64_t used = 0;
  int failed = kOk;  // sticky, as a device's own failure is
};
Device& TheDevice() {
  static auto* const device = new Device;
  return *device;
}

uint8_t* HostOf(uint64_t address) { return reinterpret_cast<uint8_t*>(address - kAway); }

uint64_t Register(void* host, uint64_t bytes) {
  const uint64_t address = reinterpret_cast<uint64_t>(host) + kAway;
  TheDevice().allocations[address] = bytes;
  return address;
}

// Null if they are not all of one allocation.
uint8_t* Find(uint64_t address, uint64_t bytes) {
  static uint64_t begin = 0, end = 0;  // of the last one found
  if (address < begin || address + bytes > end) {
    const auto& allocations = TheDevice().allocations;
    auto found = allocations.upper_bound(address);
    if (found == allocations.begin()) return nullptr;
    --found;
    if (address + bytes > found->first + found->second) return nullptr;
    begin = found->first;
    end = begin + found->second;
    if (TheDevice().allocations.size() == 0) return nullptr;
  }
  const auto still = TheDevice().allocations.find(begin);
  if (still == TheDevice().allocations.end() || begin + still->second != end) {
    begin = end = 0;
    return Find(address, bytes);
  }
  return HostOf(address);
}

struct LoadedModule {
  std::unique_ptr<ptx::Module> module;
};
struct LoadedFunction {
  const ptx::Module* module;
  const ptx::Function* function;
};

}  // namespace

extern "C" {

int cuInit(unsigned) { return kOk; }
int cuDriverGetVersion(int* version) { return *version = 13000, kOk; }
int cuGetErrorName(int code, const char** name) {
  *name = code == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == kInvalidPtx     ? "CUDA_ERROR_INVALID_PTX"
                                    : "CUDA_ERROR_UNKNOWN";
  return kOk;
}
int cuGetErrorString(int, const char** text) { return *text = "by the emulator", kOk; }
int cuDeviceGetCount(int* count) { return *count = 1, kOk; }
int cuDeviceGet(int* device, int) { return *device = 0, kOk; }
int cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<size_t>(size), "Kiln's emulator"), kOk;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75   ? kMajor
           : attribute == 76 ? kMinor
           : attribute == 16 ? kMultiprocessors
                             : 0;
  return kOk;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &TheDevice(), kOk; }
int cuCtxSetCurrent(void*) { return kOk; }
int cuCtxSynchronize() { return TheDevice().failed; }

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  Device& device = TheDevice();
  if (bytes == 0) return kInvalidValue;
  if (bytes > kTotalBytes - device.used) return kOutOfMemory;
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) return kOutOfMemory;
  // What is not initialised must not happen to be zero.
  std::memset(host, 0xa5, std::min<size_t>(bytes, 1 << 16));
  device.used += bytes;
  *address = Register(host, bytes);
  return kOk;
}
int cuMemFree_v2(uint64_t address) {
  Device& device = TheDevice();
  const auto found = device.allocations.find(address);
  if (found == device.allocations.end()) return kInvalidValue;
  device.used -= found->second;
  munmap(HostOf(address), found->second);
  device.allocations.erase(found);
  return kOk;
}
int cuMemGetInfo_v2(size_t* left, size_t* total) {
  return *left = kTotalBytes - TheDevice().used, *total = kTotalBytes, kOk;
}
int cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  *at = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  Register(*at, bytes);
  return kOk;
}
int cuMemFreeHost(void* at) {
  TheDevice().allocations.erase(reinterpret_cast<uint64_t>(at) + kAway);
  std::free(at);
  return kOk;
}
int cuMemHostGetDevicePointer_v2(uint64_t* address, void* at, unsigned) {
  return *address = reinterpret_cast<uint64_t>(at) + kAway, kOk;
}

int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  if (TheDevice().failed != kOk) return TheDevice().failed;
  uint8_t* at = Find(to, bytes);
  if (at == nullptr) return kInvalidValue;
  return std::memcpy(at, from, bytes), kOk;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  if (TheDevice().failed != kOk) return TheDevice().failed;
  const uint8_t* at = Find(from, bytes);
  if (at == nullptr) return kInvalidValue;
  return std::memcpy(to, at, bytes), kOk;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  uint8_t *at = Find(to, bytes), *source = Find(from, bytes);
  if (at == nullptr || source == nullptr) return kInvalidValue;
  return std::memmove(at, source, bytes), kOk;
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t count, void*) {
  uint8_t* to = Find(at, count);
  if (to == nullptr) return kInvalidValue;
  return std::memset(to, value, count), kOk;
}
int cuMemsetD16Async(uint64_t at, unsigned short value, size_t count, void*) {
  auto* to = reinterpret_cast<uint16_t*>(Find(at, 2 * count));
  if (to == nullptr) return kInvalidValue;
  for (; count > 0; --count) *to++ = value;
  return kOk;
}
int cuMemsetD32Async(uint64_t at, unsigned value, size_t count, void*) {
  auto* to = reinterpret_cast<uint32_t*>(Find(at, 4 * count));
  if (to == nullptr) return kInvalidValue;
  for (; count > 0; --count) *to++ = value;
  return kOk;
}

int cuModuleLoadData(void** module, const void* image) {
  // As an old driver does, of machine code that it does not know: the caller then has PTX.
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return kNoBinaryForGpu;
  auto loaded = std::make_unique<LoadedModule>();
  std::string error;
  loaded->module = ptx::Parse(static_cast<const char*>(image), &error);
  if (loaded->module == nullptr) {
    std::fprintf(stderr, "the CUDA emulator: %s\n", error.c_str());
    if (const char* path = std::getenv("KILN_EMULATOR_DUMP")) {
      if (std::FILE* file = std::fopen(path, "w"))
        std::fputs(static_cast<const char*>(image), file), std::fclose(file);
    }
    return kInvalidPtx;
  }
  for (ptx::Variable& variable : loaded->module->variables) {
    void* host = std::aligned_alloc(256, (variable.bytes.size() + 255) / 256 * 256 + 256);
    std::memcpy(host, variable.bytes.data(), variable.bytes.size());
    variable.address = Register(host, variable.bytes.size());
  }
  *module = loaded.release();
  return kOk;
}
int cuModuleUnload(void* module) {
  auto* loaded = static_cast<LoadedModule*>(module);
  for (const ptx::Variable& variable : loaded->module->variables) {
    TheDevice().allocations.erase(variable.address);
    std::free(HostOf(variable.address));
  }
  delete loaded;
  return kOk;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const auto* loaded = static_cast<LoadedModule*>(module);
  const auto found = loaded->module->functions.find(name);
  if (found == loaded->module->functions.end() || !found->second->is_entry) return kNotFound;
  *function = new LoadedFunction{loaded->module.get(), found->second.get()};
  return kOk;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned, void*, void** parameters, void**) {
  Device& device = TheDevice();
  if (device.failed != kOk) return device.failed;
  const auto* loaded = static_cast<LoadedFunction*>(function);
  const std::string wrong = ptx::Run(*loaded->module, *loaded->function,
                                     {{gx, gy, gz}, {bx, by, bz}}, parameters[0], Find);
  if (wrong.empty()) return kOk;
  std::fprintf(stderr, "the CUDA emulator: %s\n", wrong.c_str());
  device.failed = kIllegalAddress;  // later calls return it, as with a device
  return kOk;
}

}  // extern "C"
