// Little-endian integers in byte strings: frame headers, entry trailers.
#ifndef KILN_COMMON_BASE_BYTES_H_
#define KILN_COMMON_BASE_BYTES_H_

#include <cstdint>
#include <cstring>

namespace kiln {

// x86-64 and AArch64 are little-endian; another host needs a swap here.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte swap needed");

inline void PutU32(uint32_t value, char* out) { std::memcpy(out, &value, sizeof value); }
inline void PutU64(uint64_t value, char* out) { std::memcpy(out, &value, sizeof value); }
inline uint32_t GetU32(const char* in) {
  uint32_t value;
  std::memcpy(&value, in, sizeof value);
  return value;
}
inline uint64_t GetU64(const char* in) {
  uint64_t value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

}  // namespace kiln

#endif  // KILN_COMMON_BASE_BYTES_H_
