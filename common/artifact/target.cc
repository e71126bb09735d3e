#include "common/artifact/target.h"

#include <algorithm>
#include <array>

namespace kiln {
namespace {

// The texts of CPU targets, by level - 1. "x86-64" names machines; nothing is compiled for it.
constexpr std::array<std::string_view, 4> kCpuTexts = {"x86-64", "x86-64-v2", "x86-64-v3",
                                                       "x86-64-v4"};
constexpr uint32_t kFirstCompiledLevel = 2;

constexpr std::string_view kCudaPrefix = "sm_";

// "90", "100": two or three digits that start with no zero.
std::optional<uint32_t> ParseArch(std::string_view digits) {
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits || digits.size() < 2 || digits.size() > 3 || digits[0] == '0') return {};
  uint32_t arch = 0;
  for (const char digit : digits) arch = 10 * arch + static_cast<uint32_t>(digit - '0');
  return arch;
}

}  // namespace

std::optional<Target> Target::Parse(std::string_view text) {
  if (text == "x86-64-v1") return Cpu(1);
  const auto* const at = std::find(kCpuTexts.begin(), kCpuTexts.end(), text);
  if (at != kCpuTexts.end()) return Cpu(static_cast<uint32_t>(at - kCpuTexts.begin() + 1));
  if (text.substr(0, kCudaPrefix.size()) != kCudaPrefix) return {};
  const std::optional<uint32_t> arch = ParseArch(text.substr(kCudaPrefix.size()));
  return arch.has_value() ? std::optional<Target>(Cuda(*arch)) : std::nullopt;
}

std::string Target::text() const {
  switch (device_) {
    case Device::kCpu:
      return std::string(kCpuTexts[level_ - 1]);
    case Device::kCuda:
      return std::string(kCudaPrefix) + std::to_string(level_);
    case Device::kNone:
      break;
  }
  return "";
}

const std::vector<Target>& CompiledTargets() {
  static const auto* const targets = [] {
    auto* all = new std::vector<Target>;
    for (uint32_t level = kFirstCompiledLevel; level <= kCpuTexts.size(); ++level) {
      all->push_back(Target::Cpu(level));
    }
    return all;
  }();
  return *targets;
}

std::string CompiledTargetTexts() {
  std::string texts;
  for (const Target target : CompiledTargets()) {
    if (!texts.empty()) texts += ", ";
    texts += target.text();
  }
  return texts;
}

}  // namespace kiln
