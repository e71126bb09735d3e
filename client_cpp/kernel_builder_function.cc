// The part of KernelBuilder that defines functions and calls them.
#include "absl/strings/str_cat.h"
#include "client_cpp/kernel_builder.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/op_table.h"

namespace kiln {

absl::Status KernelBuilder::CheckSignature(absl::Span<const FunctionParam> params,
                                           absl::Span<const TypeId> returns) const {
  for (size_t i = 0; i < params.size(); ++i) {
    RETURN_IF_ERROR(CheckType(params[i].type));
    if (!params[i].by_reference || types_[params[i].type].IsScalar()) continue;
    return Misuse("parameter ", i, " refers to '", types_.Name(params[i].type),
                  "': only scalars are passed by reference");
  }
  for (const TypeId type : returns) RETURN_IF_ERROR(CheckType(type));
  return absl::OkStatus();
}

absl::StatusOr<FunctionId> KernelBuilder::BeginFunction(absl::Span<const FunctionParam> params,
                                                        absl::Span<const TypeId> returns) {
  RETURN_IF_ERROR(CheckSignature(params, returns));
  proto::Kernel* kernel = unit_.mutable_kernel();
  // Numbers of nodes have a fixed part for the function.
  if (static_cast<uint32_t>(kernel->functions_size()) == kMaxFunctions) {
    return Refuse(kTooManyFunctions, kMaxFunctions);
  }
  // A front end meets a function in the middle of its caller, and continues there afterwards.
  suspended_.push_back(std::move(current_));
  current_ = {};
  current_.message = kernel->add_functions();
  current_.id = FunctionAtPosition(kernel->functions_size() - 1);
  current_.spans = source_map_.add_functions()->mutable_node_span();
  // Until the front end states a position of the function.
  current_.span = suspended_.back().span;
  for (const FunctionParam& param : params) {
    proto::Param* made = current_.message->add_params();
    made->set_kind(param.by_reference ? proto::Param::PARAM_REFERENCE : proto::Param::PARAM_VALUE);
    made->set_type(param.type.number());
  }
  for (const TypeId type : returns) current_.message->add_returns(type.number());
  BeginBody();
  return current_.id;
}

absl::Status KernelBuilder::EndFunction() {
  if (suspended_.empty()) return Misuse("no function is open");
  RETURN_IF_ERROR(CheckClosed());
  current_ = std::move(suspended_.back());
  suspended_.pop_back();
  return absl::OkStatus();
}

absl::StatusOr<NodeNumber> KernelBuilder::Reference(ParamId param) {
  RETURN_IF_ERROR(CheckParam(param, proto::Param::PARAM_REFERENCE));
  const NodeNumber made =
      Append(proto::REFERENCE, TypeOfParam(ParamAt(*current_.message, param)), {});
  mutable_node(made)->set_index(param.number());
  return made;
}

// Converts an argument for its parameter: an address of its type, or a value cast to it.
absl::StatusOr<NodeNumber> KernelBuilder::Argument(const proto::Param& param, size_t position,
                                                   NodeNumber given) {
  const TypeId type = TypeOfParam(param);
  if (param.kind() == proto::Param::PARAM_VALUE) {
    RETURN_IF_ERROR(CheckValue(given));
    if (CheckCast(TypeOf(given), type, types_).ok()) {
      return CastUnchecked(given, type);
    }
  } else {
    RETURN_IF_ERROR(CheckVisible(given));
    if (!IsAddress(given)) {
      return Misuse("argument ", position, " is passed by reference and has no address");
    }
    // Exactly: what the function writes through it must be a value of the variable's type.
    if (TypeOf(given) == type) return given;
  }
  return Misuse("argument ", position, " is of type '", types_.Name(TypeOf(given)),
                "', the parameter of '", types_.Name(type), "'");
}

// For several results: a struct of members "0", "1", ….
TypeId KernelBuilder::ResultType(const proto::Function& function) {
  const TypeIds returns = ReturnTypesOf(function);
  if (returns.empty()) return {};
  if (returns.size() == 1) return returns[0];
  Type type;
  for (size_t i = 0; i < returns.size(); ++i) {
    type.members.emplace_back(absl::StrCat(i), returns[i]);
  }
  return types_.Get(type);
}

absl::StatusOr<NodeNumber> KernelBuilder::Call(FunctionId function,
                                               absl::Span<const NodeNumber> arguments) {
  const proto::Kernel& kernel = unit_.kernel();
  if (function == kKernelBody || !HasFunction(kernel, function)) {
    return Misuse("function ", function.number(), " does not exist");
  }
  const proto::Function& callee = FunctionAt(kernel, function);
  if (static_cast<int>(arguments.size()) != callee.params_size()) {
    return Misuse("the function takes ", callee.params_size(), " arguments, not ",
                  arguments.size());
  }
  std::vector<NodeNumber> operands;
  operands.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    ASSIGN_OR_RETURN(const NodeNumber operand,
                     Argument(callee.params(static_cast<int>(i)), i, arguments[i]));
    operands.push_back(operand);
  }
  const NodeNumber made = Append(proto::CALL, ResultType(callee), operands);
  mutable_node(made)->set_index(PositionOf(function));
  return made;
}

}  // namespace kiln
