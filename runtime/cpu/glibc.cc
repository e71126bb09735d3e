#include "runtime/cpu/glibc.h"

#include <gnu/libc-version.h>

#include <charconv>

#include "common/base/first_use.h"

namespace kiln {
namespace {

constexpr std::string_view kSymbolPrefix = "GLIBC_";
constexpr std::string_view kMajor = "2.";

}  // namespace

std::optional<uint32_t> ParseGlibc(std::string_view version) {
  if (version.substr(0, kMajor.size()) != kMajor) return {};
  version.remove_prefix(kMajor.size());
  const char* const begin = version.data();
  const char* const end = begin + version.size();
  uint32_t minor = 0;
  const auto [rest, error] = std::from_chars(begin, end, minor);
  if (error != std::errc() || (rest != end && *rest != '.')) return {};
  return minor;
}

uint32_t HostGlibc() {
  static FirstUse<uint32_t> minor;
  return minor.Get([] { return ParseGlibc(gnu_get_libc_version()).value_or(0); });
}

std::string MissingFromGlibc(const LibraryVersions& needs, uint32_t available) {
  for (const auto& [library, symbols] : needs) {
    const std::string_view version = symbols;
    if (version.substr(0, kSymbolPrefix.size()) != kSymbolPrefix) continue;
    const std::optional<uint32_t> minor = ParseGlibc(version.substr(kSymbolPrefix.size()));
    if (minor.has_value() && *minor > available) {
      return library + " of glibc " + symbols.substr(kSymbolPrefix.size());
    }
  }
  return "";
}

}  // namespace kiln
