// What the calls of the fake driver share.
//
// KILN_FAKE_CUDA holds settings, separated by semicolons:
//   seed=N            of the order of streams, blocks and warps (1)
//   threads=N         of the host that run a grid's blocks (2)
//   check=race,init   either or both checks of access_checks.h, which print what they find
//   reports=PATH      appends that to the file, too
//   ptx=FOLDER        writes the PTX of each module to FOLDER/NUMBER.ptx
//   memory=N          MiB of the device's memory (8192)
//   fail_alloc=N      the N-th allocation of device memory fails, from 1, cuMemCreate's included
//   fail_image=N      all modules from the N-th on are refused with CUDA_ERROR_INVALID_IMAGE
//   fail_launch=NAME  launches of kernels of that name, or the launch of that number from 1, fail
//                     with CUDA_ERROR_ILLEGAL_ADDRESS
//   no_kernels        launches do nothing: for programs that only compile
//   no_virtual_memory the devices lack cuMemMap and what belongs to it
//   no_device         there is a driver, but no device
//   devices=N         devices (1)
//   driver=N          the version that cuDriverGetVersion gives (13000): an older one refuses newer
//                     PTX
//   arch=N,...        the devices' compute capabilities (90); the last one is that of all others
//   log=PATH          appends the name of each call to the file, one a line
// CUDA_VISIBLE_DEVICES chooses among the devices, as for NVIDIA's driver. They share one memory.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_STATE_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_STATE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/cuda_api.h"
#include "tests/support/fake_cuda/device_memory.h"
#include "tests/support/fake_cuda/ptx_program.h"
#include "tests/support/fake_cuda/streams.h"

// The tags of the interface's handles.
struct CUctx_st {
  int device;
};
struct CUfunc_st {
  CUmodule module;
  const kiln::fake_cuda::Function* function;
  int most_dynamic_shared;
};
struct CUmod_st {
  CUcontext context;
  kiln::fake_cuda::Program program;
  std::vector<uint64_t> variables;  // addresses of device memory
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUevent_st {
  CUcontext context;
  kiln::fake_cuda::Done recorded;  // null: never
  // In ms, when it was reached. Work that waits to note it may outlive the event.
  std::shared_ptr<double> time = std::make_shared<double>(0);
};

namespace kiln::fake_cuda {

inline constexpr int kMultiprocessors = 4;
inline constexpr int kMostThreads = 1024, kMostShared = 48 << 10, kMostOptedShared = 227 << 10;

struct Settings {
  uint32_t seed = 1;
  // Of a launch, by its number. The odd factor makes neighbouring launches unlike each other.
  uint32_t SeedOf(uint64_t launch) const {
    return seed + static_cast<uint32_t>(launch) * 2654435761u;
  }
  int threads = 2;
  bool check_races = false, check_init = false;
  std::string reports, ptx;
  uint64_t memory = uint64_t{8} << 30;  // bytes
  int64_t fail_alloc = 0, fail_image = 0;
  std::string fail_launch;
  bool no_kernels = false, no_device = false, no_virtual_memory = false;
  int devices = 1;
  int driver = 13000;
  std::vector<int> archs = {90};
  std::string log;

  static Settings Parse(const char* text);  // null: none
};

class DriverState {
 public:
  static DriverState& Get();

  CUresult Load(const char* image, CUcontext context, CUmodule* module);
  void Unload(CUmodule module);
  // Reports the fault, if there was one, and makes the context's error of it.
  void Run(CUfunction function, const uint32_t blocks[3], const uint32_t threads[3],
           uint64_t dynamic_shared, bool cooperative, std::vector<uint8_t> parameters);
  // The compute capability of a device.
  int ArchOf(CUdevice device) const;
  // The stream of a handle (0, 1 and 2 are the current context's default streams), or nullptr.
  Stream* StreamOf(CUstream handle);
  uint64_t Allocate(uint64_t bytes, CUcontext context);
  // The memory of a handle, without an address.
  CUresult CreateMemory(uint64_t bytes, uint64_t* handle);
  // Says on stderr why a call is wrong.
  static CUresult Refuse(const char* call, const std::string& why);
  void RunAll();
  void Log(const char* call);

  std::recursive_mutex lock;
  Settings settings;
  bool initialized = false;
  int process = 0;
  CUresult failed = CUDA_SUCCESS;                   // the error that ended the context
  std::vector<int> visible;                         // the devices' numbers in the machine
  std::vector<std::unique_ptr<CUctx_st>> contexts;  // the devices' primary ones first
  DeviceMemory memory;
  Streams streams;
  std::set<CUmodule> modules;
  std::set<CUevent> events;
  std::set<CUgraph> graphs;
  std::set<CUgraphExec> execs;
  int64_t instructions = 0;  // of all launches, by warps

 private:
  DriverState();

  // What a check found: to stderr, and to the file of reports.
  void PrintReport(const std::string& text);

  int64_t allocations_ = 0, modules_ = 0;
  uint64_t launches_ = 0;
  std::FILE *log_ = nullptr, *reports_ = nullptr;
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_STATE_H_
