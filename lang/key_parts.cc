#include "lang/key_parts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lang/bytes.h"
#include "lang/deterministic.h"

namespace kiln {
namespace {

constexpr size_t kMaxText = 300;

proto::KeyPart Part(std::string name, absl::string_view bytes, std::string text) {
  proto::KeyPart part;
  part.set_name(std::move(name));
  part.set_digest(GetU64(Sha256Of(bytes).view().data()));
  if (text.size() > kMaxText) {
    text.resize(kMaxText);
    text += "...";
  }
  part.set_text(std::move(text));
  return part;
}

proto::KeyPart Part(std::string name, const google::protobuf::Message& message) {
  return Part(std::move(name), DeterministicBytes(message), message.ShortDebugString());
}

std::string InWords(const proto::Kernel& kernel) {
  int nodes = 0;
  for (const proto::Function& function : kernel.functions()) nodes += function.nodes_size();
  return absl::StrCat(nodes + kernel.body().nodes_size(), " nodes, ", kernel.functions_size(),
                      " real functions");
}

}  // namespace

std::vector<proto::KeyPart> KeyParts(const proto::CompileUnit& unit, const Digest& compiler) {
  std::vector<proto::KeyPart> parts;
  parts.push_back(Part("compiler", compiler.view(), compiler.Hex()));
  parts.push_back(Part("target", unit.target()));
  parts.push_back(Part("options", unit.options()));
  parts.push_back(Part("code", DeterministicBytes(unit.kernel()), InWords(unit.kernel())));
  for (int i = 0; i < unit.storages_size(); ++i) {
    parts.push_back(Part(absl::StrCat("storage ", i), unit.storages(i)));
  }
  for (int i = 0; i < unit.trees_size(); ++i) {
    parts.push_back(Part(absl::StrCat("tree ", i), unit.trees(i)));
  }
  return parts;
}

}  // namespace kiln
