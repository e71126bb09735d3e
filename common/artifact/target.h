// What machine code is made for: a value, and the text by which people, files and messages name it.
// Plain, without protobuf; common/artifact/target_proto.h converts to the form on the wire.
//
//   "x86-64-v3"   a level of the x86-64 psABI; each level includes the ones below it
//   "sm_90"       a CUDA device's architecture: its machine code, and PTX for newer devices
//   "compute_80"  PTX alone, which the driver compiles for any device of at least this level
#ifndef KILN_COMMON_ARTIFACT_TARGET_H_
#define KILN_COMMON_ARTIFACT_TARGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

class Target {
 public:
  enum class Device : uint8_t { kNone, kCpu, kCuda };

  Target() = default;  // none: the machine that asks is meant
  // `level` is 1 to 4, or one of a later build, which nothing here runs.
  static constexpr Target Cpu(uint32_t level) { return Target(Device::kCpu, level); }
  // `arch` is 90 for sm_90.
  static constexpr Target Cuda(uint32_t arch) { return Target(Device::kCuda, arch); }
  // `arch` is 80 for compute_80.
  static constexpr Target CudaPtx(uint32_t arch) { return Target(Device::kCuda, arch, true); }
  // Reads what text() returns, and "x86-64-v1" for "x86-64". Nothing for all else, also for "".
  static std::optional<Target> Parse(std::string_view text);

  // "" for none.
  std::string text() const;
  Device device() const { return device_; }
  uint32_t level() const { return level_; }
  // CUDA: no machine code.
  bool ptx_only() const { return ptx_only_; }
  // CUDA: the level of the PTX. LLVM 19 writes none for devices after sm_90, which run that of 90.
  uint32_t virtual_arch() const;
  bool empty() const { return device_ == Device::kNone; }
  // Whether a machine of this target runs code that was made for `code`. A CUDA device runs machine
  // code of its generation (the level without its last digit) up to its level, and PTX up to its
  // level.
  bool Runs(Target code) const;

  friend bool operator==(Target a, Target b) {
    return a.device_ == b.device_ && a.level_ == b.level_ && a.ptx_only_ == b.ptx_only_;
  }
  friend bool operator!=(Target a, Target b) { return !(a == b); }

 private:
  constexpr Target(Device device, uint32_t level, bool ptx_only = false)
      : device_(device), level_(level), ptx_only_(ptx_only) {}

  Device device_ = Device::kNone;
  uint32_t level_ = 0;
  bool ptx_only_ = false;
};

// The levels of CPUs that this build compiles for, least first.
const std::vector<Target>& CompiledTargets();
// Their texts, for messages: "x86-64-v2, x86-64-v3, x86-64-v4".
std::string CompiledTargetTexts();
// The same of CUDA devices: machine code first, then PTX. The compiler has no list of both because
// a program chooses among CPU levels alone.
const std::vector<Target>& CompiledCudaTargets();
std::string CompiledCudaTargetTexts();

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_TARGET_H_
