#include "common/unit/key_parts.h"

#include <map>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/artifact/target_proto.h"
#include "common/base/bytes.h"
#include "common/base/deterministic.h"
#include "common/language/op_table.h"
#include "google/protobuf/message.h"

namespace kiln {
namespace {

// The limit on all texts together. Entries contain them and are always read in full, so long texts
// are shortened.
constexpr size_t kMaxText = 4000;
constexpr size_t kMaxTexts = 16000;
constexpr size_t kShortText = 300;

void Cut(size_t size, proto::KeyPart* part) {
  if (part->text().size() <= size) return;
  part->mutable_text()->resize(size);
  part->mutable_text()->append("...");
}

proto::KeyPart Part(std::string name, absl::string_view bytes, std::string text) {
  proto::KeyPart part;
  part.set_name(std::move(name));
  part.set_digest(GetU64(Sha256Of(bytes).view().data()));
  part.set_text(std::move(text));
  Cut(kMaxText, &part);
  return part;
}

proto::KeyPart Part(std::string name, const google::protobuf::Message& message) {
  return Part(std::move(name), DeterministicBytes(message), message.ShortDebugString());
}

// The value of a constant as the program wrote it; f16 and unusual types as bits.
std::string ConstantText(const proto::Kernel& kernel, const proto::Node& node) {
  const auto type = node.type() < static_cast<uint32_t>(kernel.types_size())
                        ? kernel.types(static_cast<int>(node.type())).scalar()
                        : proto::SCALAR_NONE;
  const uint64_t bits = node.index();
  switch (type) {
    case proto::F32:
      return absl::StrCat(absl::bit_cast<float>(static_cast<uint32_t>(bits)));
    case proto::F64:
      return absl::StrCat(absl::bit_cast<double>(bits));
    case proto::I32:
      return absl::StrCat(static_cast<int32_t>(bits));
    case proto::I64:
      return absl::StrCat(static_cast<int64_t>(bits));
    default:
      return absl::StrCat(bits);
  }
}

// An outline that differs after most changes of a program: the number of nodes of each kind, and
// the constants in program order.
std::string InWords(const proto::Kernel& kernel) {
  int nodes = 0;
  std::map<std::string, int> counts;
  std::string constants;
  const auto outline = [&](const proto::Function& function) {
    nodes += function.nodes_size();
    for (const proto::Node& node : function.nodes()) {
      if (node.kind() == proto::NODE_NONE) continue;
      if (node.kind() == proto::CONST) {
        absl::StrAppend(&constants, constants.empty() ? "" : ", ", ConstantText(kernel, node));
        continue;
      }
      const OpInfo* op = FindOp(node.op());
      const NodeInfo* kind = FindNode(node.kind());
      ++counts[op != nullptr && node.op() != 0 ? op->spelling
               : kind != nullptr               ? kind->spelling
                                               : "unknown"];
    }
  };
  outline(kernel.body());
  for (const proto::Function& function : kernel.functions()) outline(function);
  std::string text = absl::StrCat(nodes, " nodes");
  if (kernel.functions_size() > 0) {
    absl::StrAppend(&text, ", ", kernel.functions_size(), " real functions");
  }
  const char* separator = ": ";
  for (const auto& [name, count] : counts) {
    absl::StrAppend(&text, separator, name);
    if (count > 1) absl::StrAppend(&text, " x", count);
    separator = ", ";
  }
  if (!constants.empty()) absl::StrAppend(&text, "; constants ", constants);
  return text;
}

std::string TargetInWords(const proto::Target& target) {
  const Target known = TargetOf(target);
  const std::string glibc =
      target.glibc() != 0 ? absl::StrCat(", glibc 2.", target.glibc()) : std::string();
  return absl::StrCat(known.empty() ? "unknown" : known.text(), glibc, ", runtime ABI ",
                      absl::Hex(target.runtime_abi(), absl::kZeroPad16));
}

}  // namespace

std::vector<proto::KeyPart> KeyParts(const proto::CompileUnit& unit, const Digest& compiler) {
  std::vector<proto::KeyPart> parts;
  parts.push_back(Part("compiler", compiler.view(), compiler.Hex()));
  parts.push_back(Part("target", DeterministicBytes(unit.target()), TargetInWords(unit.target())));
  parts.push_back(Part("options", unit.options()));
  parts.push_back(Part("code", DeterministicBytes(unit.kernel()), InWords(unit.kernel())));
  for (int i = 0; i < unit.storages_size(); ++i) {
    parts.push_back(Part(absl::StrCat("storage ", i), unit.storages(i)));
  }
  for (int i = 0; i < unit.trees_size(); ++i) {
    parts.push_back(Part(absl::StrCat("tree ", i), unit.trees(i)));
  }
  size_t all = 0;
  for (const proto::KeyPart& part : parts) all += part.text().size();
  for (proto::KeyPart& part : parts) {
    if (all > kMaxTexts) Cut(kShortText, &part);
  }
  return parts;
}

}  // namespace kiln
