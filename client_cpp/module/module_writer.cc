#include "client_cpp/module/module_writer.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/module/format.h"

namespace kiln {
namespace {

absl::Status CheckName(absl::string_view what, const std::string& name) {
  constexpr absl::string_view kTemplateArguments = "[]=,. <>-+:()";
  const bool fits = !name.empty() && (absl::ascii_isalpha(name[0]) || name[0] == '_') &&
                    std::all_of(name.begin(), name.end(), [&](char c) {
                      return absl::ascii_isalnum(c) || c == '_' ||
                             absl::StrContains(kTemplateArguments, absl::string_view(&c, 1));
                    });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not a name of a ", what, ": a letter or '_' has to begin it"));
}

// Adds one of a kind under its name.
template <typename Thing>
absl::Status AddNamed(absl::string_view what, Thing thing, std::map<std::string, Thing>* to) {
  RETURN_IF_ERROR(CheckName(what, thing.name));
  const std::string name = thing.name;
  if (!to->emplace(name, std::move(thing)).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("two ", what, "s are named '", name, "': give one of them another name"));
  }
  return absl::OkStatus();
}

bool SameSlots(const proto::ArtifactInfo& a, const proto::ArtifactInfo& b) {
  const auto same = [](const proto::ArgumentSlot& x, const proto::ArgumentSlot& y) {
    return x.kind() == y.kind() && x.param() == y.param() && x.element() == y.element() &&
           x.scalar() == y.scalar();
  };
  return a.arguments_size() == b.arguments_size() &&
         std::equal(a.arguments().begin(), a.arguments().end(), b.arguments().begin(), same) &&
         std::equal(a.results().begin(), a.results().end(), b.results().begin(), b.results().end());
}

}  // namespace

int ModuleWriter::AddTree(const TreeShape& shape, const std::vector<std::string>& names,
                          std::string contents) {
  trees_.push_back({shape, names, std::move(contents)});
  return static_cast<int>(trees_.size()) - 1;
}

absl::Status ModuleWriter::AddField(ExportedField field) {
  return AddNamed("field", std::move(field), &fields_);
}

absl::Status ModuleWriter::AddKernel(ExportedKernel kernel) {
  for (const ExportedCode& code : kernel.code) {
    if (!SameSlots(code.info, kernel.code[0].info)) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel '", kernel.name, "' takes other arguments on another target"));
    }
  }
  return AddNamed("kernel", std::move(kernel), &kernels_);
}

absl::Status ModuleWriter::AddGraph(ExportedGraph graph) {
  for (const ExportedGraph::Launch& launch : graph.launches) {
    if (kernels_.count(launch.kernel) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("graph '", graph.name, "' launches '",
                                                     launch.kernel,
                                                     "', which the module does not have"));
    }
  }
  return AddNamed("graph", std::move(graph), &graphs_);
}

absl::Status ModuleWriter::CheckContents() const {
  std::set<absl::string_view> distinct;  // the module has equal ones once
  for (const ExportedTree& tree : trees_) distinct.insert(tree.contents);
  uint64_t bytes = 0;
  for (const absl::string_view contents : distinct) bytes += contents.size();
  if (bytes <= module::kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the relations and patches of the meshes have ",
                                                 bytes, " bytes; a module has at most ",
                                                 module::kMaxBytes));
}

}  // namespace kiln
