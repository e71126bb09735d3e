#include "client_cpp/check_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kiln/proto/op.pb.h"

namespace kiln {
namespace {

// Numbers of i32 in the low halves of slots: "(2, -1)".
std::string Listed(absl::Span<const uint64_t> slots) {
  const auto append = [](std::string* text, uint64_t slot) {
    absl::StrAppend(text, static_cast<int32_t>(slot));
  };
  return absl::StrCat("(", absl::StrJoin(slots, ", ", append), ")");
}

// `values`: the operands and the number of the op.
std::string OpText(absl::Span<const uint64_t> values) {
  if (values.size() != 3) return kCheckFailed;
  const auto left = static_cast<int64_t>(values[0]), right = static_cast<int64_t>(values[1]);
  switch (static_cast<proto::Op>(values[2])) {
    case proto::OP_ADD:
      return absl::StrCat("Addition overflow: ", left, " + ", right);
    case proto::OP_SUB:
      return absl::StrCat("Subtraction overflow: ", left, " - ", right);
    case proto::OP_MUL:
      return absl::StrCat("Multiplication overflow: ", left, " * ", right);
    case proto::OP_SHL:
    case proto::OP_SHR:
    case proto::OP_BIT_SHR:
      return absl::StrCat("Shift by ", right, ", which is out of range for ", left, "'s type");
    case proto::OP_POW:
      return absl::StrCat("Negative exponent in pow(int, int) is not allowed: ", left, " ** ",
                          right);
    case proto::OP_FLOORDIV:
    case proto::OP_MOD:
    case proto::OP_RAW_DIV:
    case proto::OP_RAW_MOD:
      return absl::StrCat("Division by zero: ", left, " by ", right);
    default:
      return kCheckFailed;
  }
}

}  // namespace

std::string CheckText(proto::NodeKind kind, absl::Span<const uint64_t> values) {
  const size_t half = values.size() / 2;
  const absl::Span<const uint64_t> first = values.first(half), second = values.subspan(half);
  switch (kind) {
    case proto::BINARY:
      return OpText(values);
    case proto::STRUCT_FOR:
      return "The loop visits cells that an iteration of it has made inactive";
    case proto::EXTRACT:
    case proto::ELEMENT:
      return absl::StrCat("Out of bound access to a ", Listed(second), " matrix with index ",
                          Listed(first));
    case proto::SNODE_APPEND:
      // The indices above the list, twice, and its size.
      if (values.size() % 2 == 1) {
        return absl::StrCat("Append to a full list: all ", static_cast<int32_t>(values.back()),
                            " cells at index ", Listed(first), " are in use");
      }
      [[fallthrough]];
    case proto::GLOBAL:
    case proto::SNODE_ADDRESS:
    case proto::SNODE_ACTIVATE:
    case proto::SNODE_DEACTIVATE:
    case proto::SNODE_IS_ACTIVE:
    case proto::SNODE_LENGTH:
      return absl::StrCat("Out of bound access: index ", Listed(first), " of shape ",
                          Listed(second));
    default:
      return kCheckFailed;
  }
}

}  // namespace kiln
