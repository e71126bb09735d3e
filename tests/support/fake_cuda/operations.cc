#include "tests/support/fake_cuda/operations.h"

#include <algorithm>

namespace kiln::fake_cuda {

int BytesOf(Type type) {
  switch (type) {
    case Type::kU8:
    case Type::kS8:
      return 1;
    case Type::kU16:
    case Type::kS16:
    case Type::kF16:
    case Type::kBf16:
      return 2;
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
    case Type::kF16x2:
    case Type::kBf16x2:
      return 4;
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 8;
    default:
      return 0;
  }
}

bool IsSigned(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

Type TypeNamed(const std::string& word) {
  static const struct {
    const char* name;
    Type type;
  } kNames[] = {
      {"pred", Type::kPred}, {"b8", Type::kU8},         {"b16", Type::kU16},
      {"b32", Type::kU32},   {"b64", Type::kU64},       {"u8", Type::kU8},
      {"u16", Type::kU16},   {"u32", Type::kU32},       {"u64", Type::kU64},
      {"s8", Type::kS8},     {"s16", Type::kS16},       {"s32", Type::kS32},
      {"s64", Type::kS64},   {"f16", Type::kF16},       {"f16x2", Type::kF16x2},
      {"bf16", Type::kBf16}, {"bf16x2", Type::kBf16x2}, {"f32", Type::kF32},
      {"f64", Type::kF64},
  };
  for (const auto& entry : kNames) {
    if (word == entry.name) return entry.type;
  }
  return Type::kNone;
}

bool Opcode::Has(const char* modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::vector<Type> Opcode::Types() const {
  std::vector<Type> types;
  for (const std::string& word : modifiers) {
    const Type type = TypeNamed(word);
    if (type != Type::kNone) types.push_back(type);
  }
  return types;
}

uint32_t Opcode::Flags() const {
  uint32_t flags = (Has("ftz") ? kFlush : 0) | (Has("sat") ? kSaturate : 0);
  if (Has("rz") || Has("rzi")) flags |= kTowardZero << kRoundShift;
  if (Has("rm") || Has("rmi")) flags |= kDown << kRoundShift;
  if (Has("rp") || Has("rpi")) flags |= kUp << kRoundShift;
  return flags;
}

Space Opcode::MemorySpace() const {
  if (Has("global")) return Space::kGlobal;
  if (Has("const")) return Space::kConst;
  if (Has("shared") || Has("shared::cta")) return Space::kShared;
  if (Has("local")) return Space::kLocal;
  if (Has("param") || Has("param::entry") || Has("param::func")) return Space::kParam;
  return Space::kGeneric;
}

Operation FindOperation(const Opcode& opcode) {
  for (const auto find : {FindInteger, FindFloat, FindCompare, FindConvert, FindWarpOperation}) {
    Operation found = find(opcode);
    if (found.run != nullptr) return found;
  }
  return {};
}

}  // namespace kiln::fake_cuda
