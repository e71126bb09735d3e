#include "client_cpp/instance.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "kiln/proto/warm.pb.h"

namespace kiln {
namespace {

// Set 1 is the arrays'; parameters whose memory overlaps get a set of their own.
constexpr uint32_t kFirstFreeAliasSet = 2;

void SetAliases(const std::vector<std::vector<ParamId>>& aliases, proto::CompileUnit* unit) {
  uint32_t set = kFirstFreeAliasSet;
  for (const std::vector<ParamId>& params : aliases) {
    for (const ParamId param : params) {
      const uint32_t storage = ParamAt(unit->kernel().body(), param).storage();
      unit->mutable_storages(static_cast<int>(storage))->set_alias_set(set);
    }
    ++set;
  }
}

void SetSourceMap(proto::SourceMap map, InstanceTexts* texts) {
  texts->names = std::make_shared<const std::vector<std::string>>(1, map.kernel());
  texts->source_map = std::move(map);
}

InstanceTexts Unpacked(const std::string& bytes) {
  InstanceTexts texts;
  proto::WarmTexts packed;
  // Texts of a warm record only describe: without them, errors lack their positions and nothing
  // else is wrong.
  if (!packed.ParseFromString(bytes)) return texts;
  if (auto types = TypeTable::FromProto(packed.types()); types.ok()) {
    texts.types = *std::move(types);
    SetSourceMap(std::move(*packed.mutable_source_map()), &texts);
  }
  texts.node_kinds.assign(packed.node_kinds().begin(), packed.node_kinds().end());
  for (const auto& [node, param] : packed.node_params()) {
    texts.node_params[NodeNumber(node)] = ParamId(param);
  }
  return texts;
}

}  // namespace

Instance::Instance(CompileOutcome outcome, std::vector<bool> writes, InstanceTexts texts,
                   InstanceDerivatives derivatives)
    : outcome_(std::move(outcome)),
      writes_(std::move(writes)),
      derivatives_(std::move(derivatives)),
      texts_(std::move(texts)) {
  // Marks the texts as unpacked.
  std::call_once(unpacked_, [] {});
}

Instance::Instance(CompileOutcome outcome, std::vector<bool> writes, std::string packed)
    : outcome_(std::move(outcome)), writes_(std::move(writes)), packed_(std::move(packed)) {}

const InstanceTexts& Instance::texts() const {
  // Lazily: most instances never fail nor print, and threads may ask at the same time.
  std::call_once(unpacked_, [this] {
    texts_ = Unpacked(packed_);
    packed_ = std::string();
  });
  return texts_;
}

proto::NodeKind Instance::KindOf(NodeNumber node) const {
  const size_t function = FunctionOfNode(node).number(), id = NodeInFunction(node).number();
  const std::vector<std::string>& kinds = texts().node_kinds;
  if (function >= kinds.size() || id >= kinds[function].size()) return proto::NODE_NONE;
  return static_cast<proto::NodeKind>(static_cast<uint8_t>(kinds[function][id]));
}

absl::StatusOr<std::string> Instance::Pack(absl::Span<const std::vector<int>> code_lines) const {
  proto::WarmTexts packed;
  proto::SourceMap* map = packed.mutable_source_map();
  *map = texts().source_map;
  if (map->files_size() > static_cast<int>(code_lines.size())) {
    return absl::InvalidArgumentError("a file of the source map has no lines");
  }
  // Numbers in place of paths: the reader knows the functions' files, which may have moved.
  for (int file = 0; file < map->files_size(); ++file) map->set_files(file, absl::StrCat(file));
  for (proto::Span& span : *map->mutable_spans()) {
    if (span.file() >= code_lines.size()) {
      return absl::InvalidArgumentError("a span without a file");
    }
    // Replace each line by its rank among the function's lines with code, which does not change
    // when the function moves or its comments change.
    const std::vector<int>& counted = code_lines[span.file()];
    if (counted.empty()) continue;
    const auto rank = [&](uint32_t line) {
      return static_cast<uint32_t>(
          std::lower_bound(counted.begin(), counted.end(), static_cast<int>(line)) -
          counted.begin());
    };
    span.set_line(rank(span.line()));
    span.set_end_line(rank(span.end_line()));
  }
  texts().types.ToProto(packed.mutable_types());
  for (const std::string& kinds : texts().node_kinds) packed.add_node_kinds(kinds);
  for (const auto& [node, param] : texts().node_params) {
    (*packed.mutable_node_params())[node.number()] = param.number();
  }
  return packed.SerializeAsString();
}

std::vector<LocatedDiagnostic> Located(absl::Span<const proto::Diagnostic> diagnostics,
                                       const proto::SourceMap& map) {
  std::vector<LocatedDiagnostic> located;
  for (const proto::Diagnostic& one : diagnostics) {
    const NodeNumber node = NumberOfNode(FunctionId(one.function()), NodeId(one.node()));
    located.push_back({one, PositionsOf(map, node)});
  }
  return located;
}

namespace {

// Compiles the instances of one kernel.
class Maker {
 public:
  Maker(Session& session, const proto::ReportOptions& report)
      : session_(session), report_(report) {}

  // Null, with the reasons among the outcome's diagnostics, if there are errors.
  absl::StatusOr<std::shared_ptr<const Instance>> Make(proto::CompileUnit unit,
                                                       std::vector<bool> writes,
                                                       InstanceTexts texts,
                                                       InstanceDerivatives derivatives) {
    ASSIGN_OR_RETURN(CompileOutcome outcome,
                     session_.Compile(std::move(unit), texts.source_map, report_));
    AddDiagnostics(Located(outcome.diagnostics, texts.source_map));
    made_.recorded = std::exchange(outcome.recorded, {});
    if (outcome.kernel == nullptr) return nullptr;
    return std::make_shared<const Instance>(std::move(outcome), std::move(writes), std::move(texts),
                                            std::move(derivatives));
  }

  // Of the kernel of `unit`, by the parameters `of`.
  absl::StatusOr<std::shared_ptr<const Instance>> MakeDerivative(proto::AutodiffMode mode,
                                                                 const std::vector<ParamId>& of,
                                                                 proto::CompileUnit unit,
                                                                 std::vector<bool> writes,
                                                                 const InstanceTexts& texts) {
    InstanceDerivatives derivative;
    ASSIGN_OR_RETURN(derivative.params, Differentiate(mode, of, &unit));
    return Make(std::move(unit), Companions(std::move(writes), of), texts, std::move(derivative));
  }

  // The gradient of a kernel with fields of trees that have gradients.
  absl::StatusOr<std::shared_ptr<const Instance>> MakeGradientInTrees(
      const FinishedUnit& finished, const CompileSettings& settings, const InstanceTexts& texts) {
    InstanceDerivatives derivative;
    proto::CompileUnit unit = finished.unit;
    *unit.mutable_storages() = finished.whole.storages();
    *unit.mutable_trees() = finished.whole.trees();
    SetAliases(settings.aliases, &unit);
    ASSIGN_OR_RETURN(derivative.params, Differentiate(proto::AUTODIFF_REVERSE, settings.gradients,
                                                      &unit, settings.tree_gradients));
    ASSIGN_OR_RETURN(const std::vector<ReachedTree> trees,
                     PruneTrees(unit.mutable_storages(), unit.mutable_trees()));
    // Launches bind the parts that the kernel reaches.
    if (!absl::c_equal(trees, finished.trees, AreSame)) {
      return absl::InvalidArgumentError("a gradient is not in the cells of its field");
    }
    return Make(std::move(unit), Companions(finished.writes, settings.gradients), texts,
                std::move(derivative));
  }

  InstanceOutcome& made() { return made_; }

 private:
  static bool AreSame(const ReachedTree& a, const ReachedTree& b) {
    return a.tree == b.tree && a.nodes == b.nodes && a.root_offset == b.root_offset;
  }
  // What a derivative writes.
  static std::vector<bool> Companions(std::vector<bool> writes, const std::vector<ParamId>& of) {
    writes.resize(writes.size() + of.size(), true);
    return writes;
  }

  // A kernel and its derivatives share their code's warnings, which are reported once.
  void AddDiagnostics(std::vector<LocatedDiagnostic> diagnostics) {
    for (LocatedDiagnostic& one : diagnostics) {
      const std::string text = one.diagnostic.SerializeAsString();
      const bool known = absl::c_any_of(made_.diagnostics, [&](const LocatedDiagnostic& other) {
        return other.diagnostic.SerializeAsString() == text;
      });
      if (!known) made_.diagnostics.push_back(std::move(one));
    }
  }

  Session& session_;
  const proto::ReportOptions& report_;
  InstanceOutcome made_;
};

// A derivative writes gradients or duals, of which the nodes of the kernel say nothing.
void MarkCompanions(const proto::CompileUnit& unit, std::vector<bool>* writes) {
  if (unit.kernel().autodiff_size() == 0) return;
  absl::flat_hash_set<uint32_t> companions;  // numbers of storages, from 1; 0: none
  for (const proto::Storage& storage : unit.storages()) {
    companions.insert(storage.grad());
    companions.insert(storage.dual());
  }
  const proto::Function& body = unit.kernel().body();
  for (int i = 0; i < body.params_size(); ++i) {
    const proto::Param& param = body.params(i);
    if (param.kind() != proto::Param::PARAM_STORAGE) continue;
    if (companions.contains(param.storage() + 1)) (*writes)[i] = true;
  }
}

}  // namespace

absl::StatusOr<FinishedUnit> FinishUnit(KernelBuilder* builder, const CompileSettings& settings) {
  FinishedUnit finished;
  proto::CompileUnit& unit = finished.unit;
  RETURN_IF_ERROR(builder->Finish(&unit, &finished.source_map, &finished.trees,
                                  settings.tree_gradients.empty() ? nullptr : &finished.whole));
  finished.source_map.set_kernel(settings.name);
  *unit.mutable_options() = settings.code;
  if (!settings.target.empty()) SetTarget(settings.target, unit.mutable_target());
  SetAliases(settings.aliases, &unit);
  finished.writes = WrittenParams(unit.kernel());
  MarkCompanions(unit, &finished.writes);
  return finished;
}

absl::StatusOr<InstanceOutcome> MakeInstance(Session& session, KernelBuilder* builder,
                                             const CompileSettings& settings) {
  ASSIGN_OR_RETURN(FinishedUnit finished, FinishUnit(builder, settings));
  return MakeInstance(session, std::move(finished), settings);
}

absl::StatusOr<InstanceOutcome> MakeInstance(Session& session, FinishedUnit finished,
                                             const CompileSettings& settings) {
  proto::CompileUnit& unit = finished.unit;
  std::vector<bool>& writes = finished.writes;
  InstanceTexts texts;
  SetSourceMap(std::move(finished.source_map), &texts);
  ASSIGN_OR_RETURN(texts.types, TypeTable::FromProto(unit.kernel().types()));
  texts.node_kinds = NodeKinds(unit.kernel());
  // Only checks name the field that was accessed.
  if (settings.code.debug() || settings.code.check_bounds()) {
    texts.node_params = AccessedParams(unit.kernel());
  }
  Maker maker(session, settings.report);
  InstanceDerivatives derivatives;
  if (!settings.gradients.empty()) {
    ASSIGN_OR_RETURN(
        derivatives.gradient,
        settings.tree_gradients.empty()
            ? maker.MakeDerivative(proto::AUTODIFF_REVERSE, settings.gradients, unit, writes, texts)
            : maker.MakeGradientInTrees(finished, settings, texts));
    if (derivatives.gradient == nullptr) return std::move(maker.made());
  }
  maker.made().trees = std::move(finished.trees);
  if (!settings.duals.empty()) {
    ASSIGN_OR_RETURN(
        derivatives.with_duals,
        maker.MakeDerivative(proto::AUTODIFF_FORWARD, settings.duals, unit, writes, texts));
    if (derivatives.with_duals == nullptr) return std::move(maker.made());
  }
  ASSIGN_OR_RETURN(maker.made().instance, maker.Make(std::move(unit), std::move(writes),
                                                     std::move(texts), std::move(derivatives)));
  return std::move(maker.made());
}

}  // namespace kiln
