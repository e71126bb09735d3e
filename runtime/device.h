// A device that runs kernels: where code is loaded and data live. CpuDevice (cpu_device.h) is the
// first; a second one is a folder of this room with an implementation.
//
// Launches are no virtual call: what a device loads is launched by the kernel itself.
#ifndef KILN_RUNTIME_DEVICE_H_
#define KILN_RUNTIME_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/artifact/target.h"
#include "runtime/kernel_info.h"
#include "runtime/launch_graph.h"
#include "runtime/result.h"
#include "runtime/storage.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

class LoadedKernel;

// Thread-safe. Devices live as long as the process.
class Device {
 public:
  // A point in the order of a device's work.
  struct Event {
    int64_t nanoseconds = 0;  // since a time of the device's own
    void* handle = nullptr;   // of devices whose work is done later
  };

  virtual ~Device() = default;

  // The best target whose code the device runs.
  virtual Target target() const = 0;
  // Which of its kind it is, as other libraries count them.
  virtual int32_t number() const { return 0; }
  // Bytes of the memory that it has of its own; 0: it uses the host's.
  virtual uint64_t memory_bytes() { return 0; }
  // The most blocks of threads that a task of a launch has from now on; 0: as many as pay. Of
  // devices without blocks: has no effect.
  virtual void LimitBlocks(uint32_t /*most*/) {}
  // Sets the stack of a thread whose functions call themselves, in bytes (cuda_stack_limit); 0: as
  // much as the device has memory for.
  virtual void LimitStack(uint64_t /*bytes*/) {}

  // FailedPrecondition in a process that was forked from one that uses the device, where it does
  // not work. Takes no lock: another thread may have held any when the process was forked.
  virtual Result<> CheckProcess() const { return {}; }

  // --- Code: as LoadedKernel::FromBytes, with its `directories`
  virtual Result<std::shared_ptr<const LoadedKernel>> LoadBytes(
      std::string_view payload, KernelInfo info, const std::vector<std::string>& directories) = 0;

  // An empty graph; null: the device starts each launch by itself, so a graph would save nothing.
  virtual std::unique_ptr<LaunchGraph> MakeGraph() { return nullptr; }

  // --- Memory. Copies and fills come after the launches before them and before those after them.
  // Zeroed memory for fields; ResourceExhausted names the size if there is none.
  virtual Result<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) = 0;
  // `bytes` of the device's memory that another library has allocated, and which outlives the
  // buffer. Without a mirror, the host must not use it. InvalidArgument if the device's kernels
  // cannot use them.
  virtual Result<std::unique_ptr<Buffer>> Borrow(uint8_t* /*address*/, uint64_t /*bytes*/,
                                                 bool /*has_mirror*/) {
    return Error{ErrorCode::kInvalidArgument,
                 "it is on a CUDA device, the program's kernels run on the CPU"};
  }
  // Memory for the time of a launch, with anything in it, 256-byte aligned and at a distance from
  // other memory. The device keeps what is given back for the next request. ResourceExhausted names
  // the size. Only of devices that have memory of their own.
  virtual Result<uint8_t*> TakeScratch(uint64_t /*bytes*/) {
    return Error{ErrorCode::kUnimplemented, "the device's memory is the host's"};
  }
  // `bytes`: as they were asked for.
  virtual void ReturnScratch(uint8_t* /*memory*/, uint64_t /*bytes*/) {}
  // The data of a tree with sparse levels and, if the host sees a mirror of them, their memory.
  struct MadeTree {
    std::shared_ptr<TreeData> tree;
    std::shared_ptr<Buffer> buffer;
  };
  virtual Result<MadeTree> MakeTree(TreeShape shape, TreeOptions options) = 0;
  // Copy `bytes` from the host to the device, and from the device to the host.
  virtual void CopyIn(uint8_t* to, const void* from, uint64_t bytes) = 0;
  virtual void CopyOut(void* to, const uint8_t* from, uint64_t bytes) = 0;
  // Writes `count` times the value of `value_bytes` (1, 2, 4 or 8) bytes at `value`.
  virtual void Fill(uint8_t* at, const void* value, uint32_t value_bytes, uint64_t count) = 0;

  // --- Order and time
  // Returns when all launches, copies and fills before it are done. What failed of them since the
  // last call fails this one.
  virtual Result<> Synchronize() = 0;
  // Does not wait. The caller has to release the point.
  virtual Event Record() = 0;
  virtual void Release(Event /*event*/) {}
  // The time between two points, for the second of which it waits.
  virtual double Seconds(Event from, Event to) {
    return static_cast<double>(to.nanoseconds - from.nanoseconds) * 1e-9;
  }
  // Work that other libraries start in a stream (its handle) comes after what the device was given
  // before. What the device is given later comes after the stream's work so far.
  virtual Result<> ReleaseTo(uint64_t /*stream*/) { return {}; }
  virtual Result<> WaitFor(uint64_t /*stream*/) { return {}; }
  // The calling thread's launches go to this stream from now on; 0: to the device's own. The stream
  // exists until the thread uses another. All work keeps its order. InvalidArgument or
  // FailedPrecondition if kernels cannot run in it.
  virtual Result<> UseStream(uint64_t /*stream*/) {
    return Error{ErrorCode::kInvalidArgument,
                 "a stream is of a CUDA device, the program's kernels run on the CPU"};
  }
  // That of the calling thread.
  virtual uint64_t stream() const { return 0; }
};

}  // namespace kiln

#endif  // KILN_RUNTIME_DEVICE_H_
