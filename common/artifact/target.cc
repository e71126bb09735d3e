#include "common/artifact/target.h"

#include <algorithm>
#include <array>

#include "common/base/first_use.h"

namespace kiln {
namespace {

// The texts of CPU targets, by level - 1. "x86-64" names machines; nothing is compiled for it.
constexpr std::array<std::string_view, 4> kCpuTexts = {"x86-64", "x86-64-v2", "x86-64-v3",
                                                       "x86-64-v4"};
constexpr uint32_t kFirstCompiledLevel = 2;

constexpr std::string_view kCudaPrefix = "sm_";
constexpr std::string_view kPtxPrefix = "compute_";
// What both LLVM 19 (PTX, up to 90) and the toolkit's linker (machine code) know.
constexpr std::array<uint32_t, 11> kCudaArchs = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
constexpr uint32_t kMostVirtualArch = 90;

// "90", "100": two or three digits that start with no zero.
std::optional<uint32_t> ParseArch(std::string_view digits) {
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits || digits.size() < 2 || digits.size() > 3 || digits[0] == '0') return {};
  uint32_t arch = 0;
  for (const char digit : digits) arch = 10 * arch + static_cast<uint32_t>(digit - '0');
  return arch;
}

std::string TextsOf(const std::vector<Target>& targets) {
  std::string texts;
  for (const Target target : targets) {
    if (!texts.empty()) texts += ", ";
    texts += target.text();
  }
  return texts;
}

}  // namespace

std::optional<Target> Target::Parse(std::string_view text) {
  if (text == "x86-64-v1") return Cpu(1);
  const auto* const at = std::find(kCpuTexts.begin(), kCpuTexts.end(), text);
  if (at != kCpuTexts.end()) return Cpu(static_cast<uint32_t>(at - kCpuTexts.begin() + 1));
  for (const std::string_view prefix : {kCudaPrefix, kPtxPrefix}) {
    if (text.substr(0, prefix.size()) != prefix) continue;
    const std::optional<uint32_t> arch = ParseArch(text.substr(prefix.size()));
    if (!arch.has_value()) return {};
    return prefix == kPtxPrefix ? CudaPtx(*arch) : Cuda(*arch);
  }
  return {};
}

uint32_t Target::virtual_arch() const {
  return ptx_only_ ? level_ : std::min(level_, kMostVirtualArch);
}

bool Target::Runs(Target code) const {
  if (device_ != code.device_ || empty() || code.level_ > level_) return false;
  if (device_ == Device::kCpu) return true;
  // A device is known by its own level; PTX alone is none.
  if (ptx_only_) return *this == code;
  return code.ptx_only_ || code.level_ / 10 == level_ / 10;
}

std::string Target::text() const {
  switch (device_) {
    case Device::kCpu:
      // A module of a later build may have a level that this one does not know.
      return level_ - 1 < kCpuTexts.size() ? std::string(kCpuTexts[level_ - 1])
                                           : "x86-64-v" + std::to_string(level_);
    case Device::kCuda:
      return std::string(ptx_only_ ? kPtxPrefix : kCudaPrefix) + std::to_string(level_);
    case Device::kNone:
      break;
  }
  return "";
}

const std::vector<Target>& CompiledTargets() {
  static FirstUse<std::vector<Target>> targets;
  return targets.Get([] {
    std::vector<Target> all;
    for (uint32_t level = kFirstCompiledLevel; level <= kCpuTexts.size(); ++level) {
      all.push_back(Target::Cpu(level));
    }
    return all;
  });
}

const std::vector<Target>& CompiledCudaTargets() {
  static FirstUse<std::vector<Target>> targets;
  return targets.Get([] {
    std::vector<Target> all;
    all.reserve(2 * kCudaArchs.size());
    for (const uint32_t arch : kCudaArchs) all.push_back(Target::Cuda(arch));
    for (const uint32_t arch : kCudaArchs) {
      if (arch <= kMostVirtualArch) all.push_back(Target::CudaPtx(arch));
    }
    return all;
  });
}

std::string CompiledTargetTexts() { return TextsOf(CompiledTargets()); }
std::string CompiledCudaTargetTexts() { return TextsOf(CompiledCudaTargets()); }

}  // namespace kiln
