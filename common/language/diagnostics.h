// The error texts of the language rules that KernelBuilder checks. Clients show them at the
// position of the node. The Python client's own texts are in client_py/kiln/diagnostics. Every row,
// here and there, needs a language case that shows it (tests/diagnostics_test.py).
#ifndef KILN_COMMON_LANGUAGE_DIAGNOSTICS_H_
#define KILN_COMMON_LANGUAGE_DIAGNOSTICS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace kiln {

inline constexpr char kBitCastOfOtherWidth[] =
    "bit_cast needs types of equal width, not '$0' and '$1'";
inline constexpr char kBlocksNestedTooDeep[] =
    "Blocks can be nested $0 deep at most; an elif counts as an if in the else before it";
inline constexpr char kBreakInOutermostLoop[] = "Cannot break in the outermost loop";
inline constexpr char kCannotAssign[] = "cannot assign '$0' to '$1'";
inline constexpr char kCannotCast[] = "cannot cast '$0' to '$1'";
inline constexpr char kDimensionMismatch[] =
    "dimension mismatch between $0 and $1 for matrix multiplication";
inline constexpr char kElementIsNoScalar[] = "elements of a tensor are scalars, not '$0'";
inline constexpr char kIndicesMustBeIntegers[] =
    "indices must be integers, however '$0' is provided as index $1";
inline constexpr char kInsideExpression[] = "'$0' inside an expression";
inline constexpr char kNumberOfFieldIndices[] = "Field with dim $0 accessed with indices of dim $1";
inline constexpr char kNumberOfResults[] = "the function returns $0 values, not $1";
inline constexpr char kNumberOfTensorIndices[] = "'$0' takes $1 indices, not $2";
inline constexpr char kOutsideLoop[] = "'$0' outside loop";
inline constexpr char kProductTooLarge[] = "product of $0 and $1 is larger than $2 elements";
inline constexpr char kRangeTakesIntegers[] = "range takes integers only, however '$0' is provided";
inline constexpr char kReturnInParallelLoop[] =
    "Return statements are not allowed in a parallel loop";
inline constexpr char kTensorIndexOutOfRange[] =
    "index $0 is out of range for dimension $1 of '$2'";
inline constexpr char kTooManyFunctions[] =
    "a kernel cannot have more than $0 real functions; each new template argument makes another";
inline constexpr char kTruthValueIsAmbiguous[] = "The truth value of '$0' is ambiguous";
inline constexpr char kUnsupportedOperand[] = "'$0' takes $1 inputs only, however '$2' is provided";
inline constexpr char kUnsupportedOperands[] = "unsupported operand type(s) for '$0': $1";

// An error of the user's program: a row of the table with its fields.
template <typename... Fields>
absl::Status Refuse(const char* text, const Fields&... fields) {
  return absl::InvalidArgumentError(absl::Substitute(text, fields...));
}

// An error of the calling code, which broke the contract of a function. User programs cannot cause
// it.
template <typename... Parts>
absl::Status Misuse(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_DIAGNOSTICS_H_
