// Targets as messages carry them (proto/target.proto), from and to the value.
#ifndef KILN_COMMON_ARTIFACT_TARGET_PROTO_H_
#define KILN_COMMON_ARTIFACT_TARGET_PROTO_H_

#include "common/artifact/target.h"
#include "kiln/proto/target.pb.h"

namespace kiln {

// None for a message that names no device, or one that this build does not know.
Target TargetOf(const proto::Target& message);
// Sets the device, and leaves the rest of `message` alone. Requires: `target` is not empty.
void SetTarget(Target target, proto::Target* message);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_TARGET_PROTO_H_
