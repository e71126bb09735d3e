// The typing rules of the language (language reference, "Common rules of binary
// operations"; reference implementation 1.7). The client's builder applies them, and the worker's
// check applies them again.
//
// Two rules differ from the reference on purpose: u1 in arithmetic counts as the default integer,
// as in Python, and functions of floats also take integers.
//
// Errors are InvalidArgument. Their message is the text for the user ("unsupported operand type(s)
// for '<<': 'f32' and 'i32'"), without a position.
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

// The promoted type: a float rather than an integer, then the wider type, then unsigned rather than
// signed. Two u1 stay u1; TypeOp converts them to integers for arithmetic.
Scalar Promote(Scalar a, Scalar b);

// The type of an operation's result, and the types to which its operands must first be cast, in
// order. Tensors are cast by element; the operation itself broadcasts scalars.
struct OpTyping {
  TypeId result;
  absl::InlinedVector<Scalar, 3> operand_scalars;
};

// The typing of UNARY, BINARY and TERNARY nodes. `operands` are types of values.
absl::StatusOr<OpTyping> TypeOp(proto::Op op, absl::Span<const TypeId> operands,
                                const DefaultTypes& defaults, TypeTable* types);

// The typing of REDUCE by `op`, an associative binary op: the scalar type of the result, to which
// the tensor's elements must first be cast.
absl::StatusOr<TypeId> TypeReduce(proto::Op op, TypeId operand, const DefaultTypes& defaults,
                                  TypeTable* types);

// Checks an ATOMIC, whose value must have exactly the type of the value at the address.
absl::Status CheckAtomic(proto::Op op, TypeId address, const TypeTable& types);

// Whether a value of `from` may be cast (value cast) to `to`: scalar to scalar,
// tensor to a tensor of the same shape, scalar to tensor by broadcast, struct to an
// equal struct.
absl::Status CheckCast(TypeId from, TypeId to, const TypeTable& types);
// Checks that the elements have the same width.
absl::Status CheckBitCast(TypeId from, TypeId to, const TypeTable& types);

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_TYPE_RULES_H_
