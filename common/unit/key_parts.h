// Digests and short texts of the parts of a key. Every entry contains its own, so that tools can
// explain why a kernel missed.
#ifndef KILN_COMMON_UNIT_KEY_PARTS_H_
#define KILN_COMMON_UNIT_KEY_PARTS_H_

#include <vector>

#include "common/base/digest.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

// The parts are "compiler", "target", "options", "code", "storage 0", …, "tree 0", …. Two units
// have the same key if and only if the digests of all parts are equal, up to collisions of 64-bit
// digests.
std::vector<proto::KeyPart> KeyParts(const proto::CompileUnit& unit, const Digest& compiler);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_KEY_PARTS_H_
