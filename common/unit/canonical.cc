#include "common/unit/canonical.h"

#include "absl/strings/str_cat.h"
#include "common/base/deterministic.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

namespace kiln {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Must change whenever equal bytes get another meaning, so that old keys miss.
constexpr absl::string_view kKeyTag("kiln-unit\0v1\0", 13);

// The full name of a message in `message` with unknown fields; empty if there is none.
// The unit's messages do not nest in themselves, so the depth is fixed.
std::string FindUnknown(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  if (!reflection->GetUnknownFields(message).empty()) return descriptor->full_name();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      const int size = reflection->FieldSize(message, field);
      for (int j = 0; j < size; ++j) {
        std::string found = FindUnknown(reflection->GetRepeatedMessage(message, field, j));
        if (!found.empty()) return found;
      }
    } else if (reflection->HasField(message, field)) {
      std::string found = FindUnknown(reflection->GetMessage(message, field));
      if (!found.empty()) return found;
    }
  }
  return "";
}

}  // namespace

std::string CanonicalBytes(const proto::CompileUnit& unit) { return DeterministicBytes(unit); }

std::string WithTarget(absl::string_view bytes, const proto::Target& target,
                       const proto::CompileUnit& unit) {
  static_assert(proto::CompileUnit::kTargetFieldNumber + 1 ==
                proto::CompileUnit::kOptionsFieldNumber);  // only the options follow it
  proto::CompileUnit between, after;
  *between.mutable_target() = target;
  if (unit.has_options()) *after.mutable_options() = unit.options();
  const size_t end = bytes.size() - CanonicalBytes(after).size();
  return absl::StrCat(bytes.substr(0, end), CanonicalBytes(between), bytes.substr(end));
}

absl::StatusOr<proto::CompileUnit> ParseCanonical(absl::string_view bytes) {
  if (bytes.size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compile unit of ", bytes.size(), " bytes; at most ", kMaxUnitBytes, " are accepted"));
  }
  proto::CompileUnit unit;
  if (!unit.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("compile unit does not parse");
  }
  if (std::string message = FindUnknown(unit); !message.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("compile unit holds fields that this build does not know, in ", message));
  }
  if (CanonicalBytes(unit) != bytes) {
    return absl::InvalidArgumentError("compile unit is not in canonical form");
  }
  return unit;
}

bool IsForCuda(absl::string_view canonical) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(canonical.data()),
                                            static_cast<int>(canonical.size()));
  constexpr uint32_t kMessage = 2;  // the wire type of all fields of the unit
  constexpr uint32_t kTarget = proto::CompileUnit::kTargetFieldNumber << 3 | kMessage;
  constexpr uint32_t kCuda = proto::Target::kCudaFieldNumber << 3 | kMessage;
  while (const uint32_t field = in.ReadTag()) {
    uint32_t bytes = 0;
    if ((field & 7) != kMessage || !in.ReadVarint32(&bytes)) return false;
    // The device is the first field of a target.
    if (field == kTarget) return bytes > 0 && in.ReadTag() == kCuda;
    if (!in.Skip(static_cast<int>(bytes))) return false;
  }
  return false;
}

Key UnitKey(absl::string_view canonical, const CompilerIds& compiler) {
  const Digest& id = compiler.For(IsForCuda(canonical));
  return Key(Sha256().Update(kKeyTag).Update(id.view()).Update(canonical).Finish());
}

}  // namespace kiln
