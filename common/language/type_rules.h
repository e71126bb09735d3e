// The typing rules of the language (language reference, "Common rules of binary
// operations"; reference implementation 1.7), used by the builder in the client
// and again by the checker in the worker.
//
// Two rows differ from the reference on purpose: u1 in arithmetic counts as the
// default integer (Python's answer), and functions of floats take integers too.
//
// Errors are InvalidArgument; their message is the user's text ("unsupported
// operand type(s) for '<<': 'f32' and 'i32'"), without position.
#ifndef KILN_COMMON_LANGUAGE_TYPE_RULES_H_
#define KILN_COMMON_LANGUAGE_TYPE_RULES_H_

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/language/op_table.h"
#include "common/language/type.h"

namespace kiln {

struct DefaultTypes {
  Scalar int_type = proto::I32;
  Scalar float_type = proto::F32;
};

// Promotion: float wins over integer, then the wider, then unsigned over signed
// of equal width. u1 with u1 stays u1 (TypeOp makes it an integer where it counts).
Scalar Promote(Scalar a, Scalar b);

// What an operation yields and what its operands must first be cast to (same
// order; tensors by element, scalars broadcast by the operation itself).
struct OpTyping {
  TypeId result;
  absl::InlinedVector<Scalar, 3> operand_scalars;
};

// Typing of UNARY, BINARY, TERNARY nodes. `operands` are value types.
absl::StatusOr<OpTyping> TypeOp(proto::Op op, absl::Span<const TypeId> operands,
                                const DefaultTypes& defaults, TypeTable* types);

// Typing of REDUCE: the scalar that `op` (an associative binary op) makes of a tensor's
// elements, which must first be cast to it.
absl::StatusOr<TypeId> TypeReduce(proto::Op op, TypeId operand, const DefaultTypes& defaults,
                                  TypeTable* types);

// The value of an ATOMIC must have exactly the type behind the address.
absl::Status CheckAtomic(proto::Op op, TypeId address, const TypeTable& types);

// Whether a value of `from` may be cast (value cast) to `to`: scalar to scalar,
// tensor to a tensor of the same shape, scalar to tensor by broadcast, struct to an
// equal struct.
absl::Status CheckCast(TypeId from, TypeId to, const TypeTable& types);
// Equal total widths of the elements.
absl::Status CheckBitCast(TypeId from, TypeId to, const TypeTable& types);

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_TYPE_RULES_H_
