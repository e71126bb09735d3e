// Serialization that is the same in every process: map entries in key order.
#ifndef KILN_COMMON_BASE_DETERMINISTIC_H_
#define KILN_COMMON_BASE_DETERMINISTIC_H_

#include <string>

#include "google/protobuf/message_lite.h"

namespace kiln {

std::string DeterministicBytes(const google::protobuf::MessageLite& message);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_DETERMINISTIC_H_
