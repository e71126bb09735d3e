// The canonical byte string of a compile unit, and the unit's key.
//
// Canonical bytes are the deterministic protobuf serialization of the unit
// (fields in number order, no maps, packed lists). Bytes are refused if they have unknown fields,
// or if serialising the parsed unit yields other bytes. So each unit has exactly one byte string.
#ifndef KILN_COMMON_UNIT_CANONICAL_H_
#define KILN_COMMON_UNIT_CANONICAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/artifact/compiler_ids.h"
#include "common/base/digest.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

inline constexpr size_t kMaxUnitBytes = size_t{64} << 20;

std::string CanonicalBytes(const proto::CompileUnit& unit);

// The canonical bytes of `unit` with `target`. `bytes`: CanonicalBytes(unit); `unit` has no target.
// Costs a copy of the bytes; serialising a large kernel costs much more.
std::string WithTarget(absl::string_view bytes, const proto::Target& target,
                       const proto::CompileUnit& unit);

// Parses canonical bytes. InvalidArgument says what is wrong with others.
absl::StatusOr<proto::CompileUnit> ParseCanonical(absl::string_view bytes);

// Whether the unit is for a CUDA device. Reads only the heads of the unit's fields. False for bytes
// that are not canonical.
bool IsForCuda(absl::string_view canonical);

// SHA-256 over a version tag, the compiler's id for the unit's target, and the canonical bytes.
Key UnitKey(absl::string_view canonical, const CompilerIds& compiler);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CANONICAL_H_
