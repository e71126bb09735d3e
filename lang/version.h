// Versions that both ends of a wire must agree on.
#ifndef KILN_LANG_VERSION_H_
#define KILN_LANG_VERSION_H_

#include <cstdint>

namespace kiln {

// The local and remote protocol: messages of proto/service.proto, framing.
inline constexpr uint32_t kProtocolVersion = 1;
// Kiln's own version, shown to people.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace kiln

#endif  // KILN_LANG_VERSION_H_
