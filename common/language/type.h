// The types of kernel values in C++: interned per kernel, so that comparing two is comparing ids.
//
// A Type is none, a scalar, a tensor (vector or matrix of scalars) or a struct.
// TypeTable contains the distinct types of one kernel, Kernel.types of the message; id 0 is "none".
#ifndef KILN_COMMON_LANGUAGE_TYPE_H_
#define KILN_COMMON_LANGUAGE_TYPE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/language/ids.h"
#include "kiln/proto/type.pb.h"

namespace kiln {

using proto::Scalar;

bool IsFloat(Scalar s);
bool IsInt(Scalar s);  // without u1
bool IsSignedInt(Scalar s);
bool IsUnsignedInt(Scalar s);      // without u1
int ScalarBits(Scalar s);          // u1 is 1
int ScalarBytes(Scalar s);         // in memory; u1 is 1
const char* ScalarName(Scalar s);  // "f32"
// Of a scalar or a tensor, in memory.
uint64_t ElementBytes(const proto::Type& type);

struct Type {
  Scalar scalar = proto::SCALAR_NONE;
  std::vector<uint32_t> shape;  // empty: scalar
  std::vector<std::pair<std::string, TypeId>> members;

  bool IsScalar() const { return scalar != proto::SCALAR_NONE && shape.empty(); }
  bool IsTensor() const { return !shape.empty(); }
  bool IsStruct() const { return !members.empty(); }
  uint64_t NumElements() const;  // 1 for a scalar
  friend bool operator==(const Type& a, const Type& b) {
    return a.scalar == b.scalar && a.shape == b.shape && a.members == b.members;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Type& t) {
    return H::combine(std::move(h), t.scalar, t.shape, t.members);
  }
};

// Limits on types in messages; FromProto refuses larger ones.
inline constexpr uint32_t kMaxTensorElements = 1u << 16;
// Generated code keeps larger tensors in memory and loops over them; smaller ones become scalars.
inline constexpr uint32_t kMaxScalarised = 32;
inline constexpr uint32_t kMaxTypeScalars = 1u << 20;  // of a struct, flattened
inline constexpr uint32_t kMaxTypeDepth = 16;

class TypeTable {
 public:
  TypeTable();
  // Interns a type; equal types get equal ids.
  TypeId Get(const Type& type);
  TypeId GetScalar(Scalar s);
  TypeId GetTensor(Scalar s, const std::vector<uint32_t>& shape);
  const Type& operator[](TypeId id) const { return types_[id.number()]; }
  size_t size() const { return types_.size(); }
  bool Has(TypeId id) const { return id.number() < types_.size(); }
  // "f32", "vec3 of f32", "3x3 matrix of f32", "struct {pos: vec3 of f32}".
  std::string Name(TypeId id) const;
  // Scalar slots that a value takes when flattened (members in order, row-major).
  uint64_t NumScalars(TypeId id) const;
  void AppendScalars(TypeId id, std::vector<Scalar>* out) const;

  // InvalidArgument for dangling or cyclic members, zero or absurd shapes,
  // unknown scalars, duplicates.
  static absl::StatusOr<TypeTable> FromProto(
      const google::protobuf::RepeatedPtrField<proto::Type>& types);
  void ToProto(google::protobuf::RepeatedPtrField<proto::Type>* out) const;

 private:
  TypeId Add(const Type& type);

  std::deque<Type> types_;                  // references stay valid while types are added
  IdVector<TypeId, uint64_t> num_scalars_;  // saturated
  absl::flat_hash_map<Type, TypeId> index_;
  TypeId scalars_[proto::Scalar_ARRAYSIZE] = {};
};

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_TYPE_H_
