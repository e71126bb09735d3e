#include "common/language/type.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// The facts about each scalar, indexed by proto::Scalar.
struct ScalarInfo {
  const char* name;
  int bits;
  enum { kNone, kBool, kSigned, kUnsigned, kFloat } kind;
};
constexpr ScalarInfo kScalars[proto::Scalar_ARRAYSIZE] = {
    {"none", 0, ScalarInfo::kNone},     {"u1", 1, ScalarInfo::kBool},
    {"i8", 8, ScalarInfo::kSigned},     {"i16", 16, ScalarInfo::kSigned},
    {"i32", 32, ScalarInfo::kSigned},   {"i64", 64, ScalarInfo::kSigned},
    {"u8", 8, ScalarInfo::kUnsigned},   {"u16", 16, ScalarInfo::kUnsigned},
    {"u32", 32, ScalarInfo::kUnsigned}, {"u64", 64, ScalarInfo::kUnsigned},
    {"f16", 16, ScalarInfo::kFloat},    {"f32", 32, ScalarInfo::kFloat},
    {"f64", 64, ScalarInfo::kFloat},
};

// Out-of-range numbers (from the wire) read as "none".
const ScalarInfo& Info(Scalar s) {
  return s >= 0 && s < proto::Scalar_ARRAYSIZE ? kScalars[s] : kScalars[0];
}

template <typename... Parts>
absl::Status Bad(TypeId id, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("type ", id.number(), ": ", parts...));
}

absl::Status CheckShape(TypeId id, const proto::Type& type) {
  if (type.shape_size() > 2) {
    return Bad(id, "a tensor has one or two dimensions, not ", type.shape_size());
  }
  uint64_t elements = 1;
  for (const uint32_t extent : type.shape()) {
    if (extent == 0) return Bad(id, "tensor dimension of zero");
    elements *= extent;
    if (elements > kMaxTensorElements) {
      return Bad(id, "tensor of shape [", absl::StrJoin(type.shape(), ", "), "]; at most ",
                 kMaxTensorElements, " elements are supported");
    }
  }
  return absl::OkStatus();
}

// Checks one message, except for the depth of its members.
absl::Status CheckType(TypeId id, const proto::Type& type) {
  if (!proto::Scalar_IsValid(type.scalar()))
    return Bad(id, "scalar ", type.scalar(), " is unknown");
  if (type.has_quant()) return Bad(id, "quantised numbers are storage, not values");
  if (type.members_size() > 0) {
    if (type.scalar() != proto::SCALAR_NONE || type.shape_size() > 0) {
      return Bad(id, "both a struct and a tensor");
    }
    return absl::OkStatus();
  }
  if (type.scalar() == proto::SCALAR_NONE) return Bad(id, "empty");
  return CheckShape(id, type);
}

}  // namespace

bool IsFloat(Scalar s) { return Info(s).kind == ScalarInfo::kFloat; }
bool IsInt(Scalar s) { return IsSignedInt(s) || IsUnsignedInt(s); }
bool IsSignedInt(Scalar s) { return Info(s).kind == ScalarInfo::kSigned; }
bool IsUnsignedInt(Scalar s) { return Info(s).kind == ScalarInfo::kUnsigned; }
int ScalarBits(Scalar s) { return Info(s).bits; }
int ScalarBytes(Scalar s) { return (Info(s).bits + 7) / 8; }
const char* ScalarName(Scalar s) { return Info(s).name; }

uint64_t ElementBytes(const proto::Type& type) {
  auto bytes = static_cast<uint64_t>(ScalarBytes(type.scalar()));
  for (const uint32_t extent : type.shape()) bytes *= extent;
  return bytes;
}

uint64_t Type::NumElements() const {
  uint64_t elements = 1;
  for (const uint32_t extent : shape) elements *= extent;
  return elements;
}

TypeTable::TypeTable() {
  types_.emplace_back();
  index_.emplace(Type(), num_scalars_.Add(0));
}

TypeId TypeTable::Add(const Type& type) {
  // Kept with the type: a struct of structs would otherwise be walked at each question, and may be
  // exponentially large.
  uint64_t scalars = type.IsStruct() ? 0 : type.NumElements();
  for (const auto& member : type.members) {
    scalars = std::min<uint64_t>(scalars + num_scalars_[member.second], kMaxTypeScalars + 1);
  }
  types_.push_back(type);
  const TypeId id = num_scalars_.Add(scalars);
  // Scalars have a table of their own: they are asked for with nearly every node.
  if (type.IsScalar()) scalars_[type.scalar] = id;
  return id;
}

TypeId TypeTable::Get(const Type& type) {
  // One look-up for both cases. Equal types have one id, so ids can be compared.
  const auto [slot, is_new] = index_.try_emplace(type, TypeId(types_.size()));
  return is_new ? Add(type) : slot->second;
}

TypeId TypeTable::GetScalar(Scalar s) {
  if (scalars_[s] || s == proto::SCALAR_NONE) return scalars_[s];
  Type type;
  type.scalar = s;
  return Get(type);
}

TypeId TypeTable::GetTensor(Scalar s, const std::vector<uint32_t>& shape) {
  if (shape.empty()) return GetScalar(s);
  Type type;
  type.scalar = s;
  type.shape = shape;
  return Get(type);
}

std::string TypeTable::Name(TypeId id) const {
  const Type& type = (*this)[id];
  if (type.IsStruct()) {
    return absl::StrCat("struct {",
                        absl::StrJoin(type.members, ", ",
                                      [this](std::string* out, const auto& member) {
                                        absl::StrAppend(out, member.first, ": ",
                                                        Name(member.second));
                                      }),
                        "}");
  }
  const char* scalar = ScalarName(type.scalar);
  switch (type.shape.size()) {
    case 0:
      return scalar;
    case 1:
      return absl::StrCat("vec", type.shape[0], " of ", scalar);
    default:
      return absl::StrCat(absl::StrJoin(type.shape, "x"), " matrix of ", scalar);
  }
}

uint64_t TypeTable::NumScalars(TypeId id) const { return num_scalars_[id]; }

void TypeTable::AppendScalars(TypeId id, std::vector<Scalar>* out) const {
  const Type& type = (*this)[id];
  if (type.IsStruct()) {
    for (const auto& member : type.members) AppendScalars(member.second, out);
  } else if (type.scalar != proto::SCALAR_NONE) {
    out->insert(out->end(), type.NumElements(), type.scalar);
  }
}

absl::StatusOr<TypeTable> TypeTable::FromProto(
    const google::protobuf::RepeatedPtrField<proto::Type>& types) {
  TypeTable table;
  if (types.empty()) return table;
  if (types[0].ByteSizeLong() != 0) return Bad(TypeId(), "must be empty: it represents \"none\"");
  IdVector<TypeId, uint32_t> depth(types.size());  // of nested structs
  for (int i = 1; i < types.size(); ++i) {
    const TypeId id(i);
    const proto::Type& message = types[i];
    RETURN_IF_ERROR(CheckType(id, message));
    Type type;
    type.scalar = message.scalar();
    type.shape.assign(message.shape().begin(), message.shape().end());
    for (const proto::Member& member : message.members()) {
      // Types of members have lower ids, so no type can contain itself.
      const TypeId member_type(member.type());
      if (!member_type || !(member_type < id)) {
        return Bad(id, "member '", member.name(), "' has type ", member.type(),
                   ", not one of the types before it");
      }
      depth[id] = std::max(depth[id], depth[member_type] + 1);
      type.members.emplace_back(member.name(), member_type);
    }
    if (depth[id] >= kMaxTypeDepth) return Bad(id, "structs nested over ", kMaxTypeDepth, " deep");
    if (table.Get(type) != id) return Bad(id, "is listed twice");
    if (table.NumScalars(id) > kMaxTypeScalars) {
      return Bad(id, "struct of over ", kMaxTypeScalars, " scalars");
    }
  }
  return table;
}

void TypeTable::ToProto(google::protobuf::RepeatedPtrField<proto::Type>* out) const {
  out->Clear();
  for (const Type& type : types_) {
    proto::Type* message = out->Add();
    message->set_scalar(type.scalar);
    message->mutable_shape()->Add(type.shape.begin(), type.shape.end());
    for (const auto& [name, member_type] : type.members) {
      proto::Member* member = message->add_members();
      member->set_name(name);
      member->set_type(member_type.number());
    }
  }
}

}  // namespace kiln
