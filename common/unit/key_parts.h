// What a key is made of, part by part, in a form small enough to keep with every
// entry: so that "why did this miss?" has an answer.
#ifndef KILN_COMMON_UNIT_KEY_PARTS_H_
#define KILN_COMMON_UNIT_KEY_PARTS_H_

#include <vector>

#include "common/base/digest.h"
#include "proto/artifact.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

// "compiler", "target", "options", "code", "storage 0", …, "tree 0", …: equal digests
// stand for equal parts. Two units have the same key exactly if their lists are equal
// (but for a collision of the parts' 64-bit digests).
std::vector<proto::KeyPart> KeyParts(const proto::CompileUnit& unit, const Digest& compiler);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_KEY_PARTS_H_
