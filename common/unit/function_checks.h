// A function under check: its parts, the failures of its check, and the checks that many kinds of
// nodes share. Part of CheckUnit (common/unit/check_unit.h).
//
// Requires of all nodes given: they exist and are of known kinds. Requires of all operands given by
// number: the node has them, and they exist.
#ifndef KILN_COMMON_UNIT_FUNCTION_CHECKS_H_
#define KILN_COMMON_UNIT_FUNCTION_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/language/ids.h"
#include "common/language/kernel_parts.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"
#include "common/language/type.h"
#include "common/unit/unit_facts.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

class FunctionChecks {
 public:
  // `facts` and `diagnostics` must outlive the object.
  FunctionChecks(const UnitFacts& facts, FunctionId id, std::vector<proto::Diagnostic>* diagnostics)
      : facts_(facts),
        types_(*facts.types),
        id_(id),
        function_(FunctionAt(facts.unit.kernel(), id)),
        diagnostics_(diagnostics) {}

  FunctionId function_id() const { return id_; }
  const proto::Function& function() const { return function_; }
  const proto::Kernel& kernel() const { return facts_.unit.kernel(); }
  const proto::Node& node(NodeId id) const { return NodeAt(function_, id); }
  TypeId type_of(NodeId id) const { return TypeId(node(id).type()); }

  // Failures: no kernel that our front ends make can cause them, so their messages are for the
  // author of a client.
  absl::Status Malformed(absl::string_view what) const;
  template <typename... Parts>
  absl::Status Bad(NodeId id, const Parts&... parts) const {
    return BadNode(id, absl::StrCat(parts...));
  }

  // Reports a mistake of the user's program; the check continues.
  absl::Status Report(NodeId id, proto::DiagnosticKind kind, std::string message) const;

  // Whether a loop iterates the list of a tree's cells. Even if it is serialized, nothing may break
  // out of it.
  bool IsOverTree(StructForNode loop) const { return StorageOf(loop.param()).has_tree(); }

 protected:
  const UnitFacts& facts() const { return facts_; }
  TypeTable& types() const { return types_; }
  TypeId ScalarId(Scalar s) const { return types_.GetScalar(s); }

  // Operand `i` is a value; all from `first` on are; it is an address; it is a value of exactly
  // `type`; those from `first` to before `end` are integers.
  absl::Status CheckValueAt(NodeId id, int i) const;
  absl::Status CheckValuesFrom(NodeId id, int first) const;
  absl::Status CheckAddressAt(NodeId id, int i) const;
  absl::Status CheckTypedAt(NodeId id, int i, TypeId type) const;
  absl::Status CheckIntegers(NodeId id, int first, int end) const;
  // The operands from 1 on, `indices`, are indices of a tensor of type `tensor`, and the node is of
  // its elements' type. A constant outside the tensor is a mistake of the user's program.
  absl::Status CheckTensorIndices(NodeId id, NodeIds indices, TypeId tensor) const;
  // The node is of `type`.
  absl::Status CheckResult(NodeId id, TypeId type) const;
  // The node is of the type of member number `member` of `of`.
  absl::Status CheckMember(NodeId id, TypeId of, uint64_t member) const;

  // The parameter exists, is of the kind, and has the node's type; the kernel has such parameters,
  // which are storages.
  absl::Status CheckOwnParam(NodeId id, ParamId param, proto::Param::Kind kind) const;
  absl::Status CheckStorageParam(NodeId id, ParamId param) const;
  absl::Status CheckStorageParams(NodeId id, IdList<ParamId, int64_t> params) const;

  // Of a storage that is a parameter of the kernel.
  uint32_t StorageNumber(ParamId param) const;
  const proto::Storage& StorageOf(ParamId param) const;
  int StorageIndices(ParamId param) const;

 private:
  NodeId operand(NodeId id, int i) const { return NodeId(node(id).operands(i)); }
  absl::Status BadNode(NodeId id, absl::string_view what) const;
  bool IsInteger(TypeId type) const;
  // `of`: the function that declares the parameter.
  absl::Status CheckParam(NodeId id, const proto::Function& of, ParamId param,
                          proto::Param::Kind kind) const;

  const UnitFacts& facts_;
  TypeTable& types_;
  const FunctionId id_;
  const proto::Function& function_;
  std::vector<proto::Diagnostic>* diagnostics_;
};

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_FUNCTION_CHECKS_H_
