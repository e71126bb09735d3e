#include "common/unit/function_checks.h"

#include <utility>

#include "common/base/status_macros.h"

namespace kiln {

absl::Status FunctionChecks::Malformed(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("function ", id_.number(), ": ", what));
}

absl::Status FunctionChecks::BadNode(NodeId id, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("function ", id_.number(), ", node ", id.number(),
                                                 " (", FindNode(node(id).kind())->spelling,
                                                 "): ", what));
}

absl::Status FunctionChecks::Report(NodeId id, proto::DiagnosticKind kind,
                                    std::string message) const {
  proto::Diagnostic diagnostic;
  diagnostic.set_severity(proto::ERROR);
  diagnostic.set_kind(kind);
  diagnostic.set_function(id_.number());
  diagnostic.set_node(id.number());
  diagnostic.set_message(std::move(message));
  diagnostics_->push_back(std::move(diagnostic));
  return absl::OkStatus();
}

bool FunctionChecks::IsInteger(TypeId type) const {
  return types_[type].IsScalar() && IsInt(types_[type].scalar);
}

absl::Status FunctionChecks::CheckValueAt(NodeId id, int i) const {
  const NodeId value = operand(id, i);
  if (FindNode(node(value).kind())->has_value && type_of(value)) return absl::OkStatus();
  // Statements have no value, and a call without results has a kind with one but no type.
  return Bad(id, "operand ", i, " is not a value");
}

absl::Status FunctionChecks::CheckValuesFrom(NodeId id, int first) const {
  for (int i = first; i < node(id).operands_size(); ++i) RETURN_IF_ERROR(CheckValueAt(id, i));
  return absl::OkStatus();
}

absl::Status FunctionChecks::CheckAddressAt(NodeId id, int i) const {
  const NodeId address = operand(id, i);
  if (FindNode(node(address).kind())->is_address && type_of(address)) {
    return absl::OkStatus();
  }
  return Bad(id, "operand ", i, " is not an address");
}

absl::Status FunctionChecks::CheckTypedAt(NodeId id, int i, TypeId type) const {
  RETURN_IF_ERROR(CheckValueAt(id, i));
  // Equal numbers are equal types: the table has each type once.
  if (type_of(operand(id, i)) == type) return absl::OkStatus();
  return Bad(id, "operand ", i, " is '", types_.Name(type_of(operand(id, i))), "', not '",
             types_.Name(type), "'");
}

absl::Status FunctionChecks::CheckResult(NodeId id, TypeId type) const {
  if (type_of(id) == type && type) return absl::OkStatus();
  return Bad(id, "is of '", types_.Name(type_of(id)), "', not '", types_.Name(type), "'");
}

absl::Status FunctionChecks::CheckIntegers(NodeId id, int first, int end) const {
  for (int i = first; i < end; ++i) {
    RETURN_IF_ERROR(CheckValueAt(id, i));
    if (!IsInteger(type_of(operand(id, i)))) return Bad(id, "operand ", i, " is not an integer");
  }
  return absl::OkStatus();
}

absl::Status FunctionChecks::CheckTensorIndices(NodeId id, NodeIds indices, TypeId tensor) const {
  const Type& type = types_[tensor];
  const int rank = static_cast<int>(type.shape.size());
  if (rank == 0 || indices.size() != type.shape.size()) {
    return Bad(id, indices.size(), " indices for '", types_.Name(tensor), "'");
  }
  RETURN_IF_ERROR(CheckIntegers(id, 1, rank + 1));
  for (int i = 0; i < rank; ++i) {
    const proto::Node& index = node(indices[i]);
    // A negative constant is a huge number here, because its bits are zero-extended.
    if (index.kind() != proto::CONST || index.index() < type.shape[i]) continue;
    RETURN_IF_ERROR(Report(id, proto::KIND_INDEX,
                           absl::StrCat("index is out of range for dimension ", i, " of '",
                                        types_.Name(tensor), "'")));
  }
  return CheckResult(id, ScalarId(type.scalar));
}

absl::Status FunctionChecks::CheckMember(NodeId id, TypeId of, uint64_t member) const {
  const Type& type = types_[of];
  if (member >= type.members.size()) return Bad(id, "no member ", member);
  return CheckResult(id, type.members[member].second);
}

absl::Status FunctionChecks::CheckParam(NodeId id, const proto::Function& of, ParamId param,
                                        proto::Param::Kind kind) const {
  if (param.number() < static_cast<uint32_t>(of.params_size()) &&
      ParamAt(of, param).kind() == kind) {
    return absl::OkStatus();
  }
  return Bad(id, "parameter ", param.number(), " does not exist or is of another kind");
}

absl::Status FunctionChecks::CheckOwnParam(NodeId id, ParamId param,
                                           proto::Param::Kind kind) const {
  RETURN_IF_ERROR(CheckParam(id, function_, param, kind));
  return CheckResult(id, TypeOfParam(ParamAt(function_, param)));
}

absl::Status FunctionChecks::CheckStorageParam(NodeId id, ParamId param) const {
  return CheckParam(id, kernel().body(), param, proto::Param::PARAM_STORAGE);
}

absl::Status FunctionChecks::CheckStorageParams(NodeId id, IdList<ParamId, int64_t> params) const {
  for (const ParamId param : params) RETURN_IF_ERROR(CheckStorageParam(id, param));
  return absl::OkStatus();
}

uint32_t FunctionChecks::StorageNumber(ParamId param) const {
  return ParamAt(kernel().body(), param).storage();
}

const proto::Storage& FunctionChecks::StorageOf(ParamId param) const {
  return facts_.unit.storages(StorageNumber(param));
}

int FunctionChecks::StorageIndices(ParamId param) const {
  return facts_.num_indices[StorageNumber(param)];
}

}  // namespace kiln
