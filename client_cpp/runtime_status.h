// Failures of the runtime (runtime/result.h) as absl::Status.
#ifndef KILN_CLIENT_CPP_RUNTIME_STATUS_H_
#define KILN_CLIENT_CPP_RUNTIME_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/result.h"

namespace kiln {

static_assert(
    static_cast<int>(ErrorCode::kInvalidArgument) ==
        static_cast<int>(absl::StatusCode::kInvalidArgument) &&
    static_cast<int>(ErrorCode::kResourceExhausted) ==
        static_cast<int>(absl::StatusCode::kResourceExhausted) &&
    static_cast<int>(ErrorCode::kFailedPrecondition) ==
        static_cast<int>(absl::StatusCode::kFailedPrecondition) &&
    static_cast<int>(ErrorCode::kOutOfRange) == static_cast<int>(absl::StatusCode::kOutOfRange) &&
    static_cast<int>(ErrorCode::kUnimplemented) ==
        static_cast<int>(absl::StatusCode::kUnimplemented) &&
    static_cast<int>(ErrorCode::kUnavailable) == static_cast<int>(absl::StatusCode::kUnavailable) &&
    static_cast<int>(ErrorCode::kDataLoss) == static_cast<int>(absl::StatusCode::kDataLoss));

inline absl::Status ToStatus(const Error& error) {
  return absl::Status(static_cast<absl::StatusCode>(error.code), error.text);
}

inline absl::Status ToStatus(const Result<>& done) {
  return done.ok() ? absl::OkStatus() : ToStatus(done.error());
}

template <typename T>
absl::StatusOr<T> ToStatusOr(Result<T> result) {
  if (!result.ok()) return ToStatus(result.error());
  return *std::move(result);
}

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_RUNTIME_STATUS_H_
