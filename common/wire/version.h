// Versions that both ends of a connection must agree on.
#ifndef KILN_COMMON_WIRE_VERSION_H_
#define KILN_COMMON_WIRE_VERSION_H_

#include <cstdint>

namespace kiln {

// The local and remote protocol: messages of proto/service.proto, framing, form of
// entries (common/artifact/entry.h). The newest that this build speaks, and the oldest.
//   1  before entries had signers and tenants
//   2  ranges of versions in Hello, callers, Put, Metrics, Recent
// A new kind of request needs no new version: a peer that does not know it answers with an error,
// and the connection goes on.
inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kOldestProtocolVersion = 2;

// The versions that each side speaks; a peer that states no oldest version speaks a single one.
struct ProtocolRange {
  uint32_t newest = kProtocolVersion;
  uint32_t oldest = kOldestProtocolVersion;
};

// The newest common version; 0: none.
constexpr uint32_t CommonProtocol(ProtocolRange a, ProtocolRange b) {
  const uint32_t newest = a.newest < b.newest ? a.newest : b.newest;
  const uint32_t oldest = a.oldest > b.oldest ? a.oldest : b.oldest;
  return newest >= oldest ? newest : 0;
}

// Kiln's own version, for people.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_VERSION_H_
