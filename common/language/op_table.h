// The facts about every op and node kind, as constexpr tables that
// common/language/generate_tables.py generates from proto/op.proto and proto/kernel.proto.
#ifndef KILN_COMMON_LANGUAGE_OP_TABLE_H_
#define KILN_COMMON_LANGUAGE_OP_TABLE_H_

#include <cstdint>

#include "kiln/proto/kernel.pb.h"
#include "kiln/proto/op.pb.h"

namespace kiln {

struct OpInfo {
  proto::Op op;
  const char* spelling;
  proto::OpFamily family;
  int arity;
  proto::ResultRule result;
  proto::OperandKinds operands;
  const char* python;
  uint32_t vector_glibc;
};

struct NodeInfo {
  proto::NodeKind kind;
  const char* spelling;
  int min_operands;
  int max_operands;  // -1: any number
  int blocks;
  bool has_value;
  bool is_address;
  bool is_terminator;
};

// Null for numbers that are not an op or kind (unknown values on the wire).
const OpInfo* FindOp(int op);
const NodeInfo* FindNode(int kind);

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_OP_TABLE_H_
