// Early return of absl::Status failures (Debian's Abseil has no macros for it).
//
//   RETURN_IF_ERROR(Check(x));
//   ASSIGN_OR_RETURN(Digest key, Digest::FromHex(text));
#ifndef KILN_COMMON_BASE_STATUS_MACROS_H_
#define KILN_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define KILN_STATUS_CONCAT_INNER_(a, b) a##b
#define KILN_STATUS_CONCAT_(a, b) KILN_STATUS_CONCAT_INNER_(a, b)

#define RETURN_IF_ERROR(expr)                                     \
  do {                                                            \
    if (absl::Status kiln_status_ = (expr); !kiln_status_.ok()) { \
      return kiln_status_;                                        \
    }                                                             \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  KILN_ASSIGN_OR_RETURN_(KILN_STATUS_CONCAT_(kiln_statusor_, __LINE__), lhs, expr)

#define KILN_ASSIGN_OR_RETURN_(statusor, lhs, expr)        \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

#endif  // KILN_COMMON_BASE_STATUS_MACROS_H_
