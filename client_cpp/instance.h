// An instance of a kernel: its code for arguments of certain kinds, and where that came from. It
// also holds what is needed to print, to locate errors and to know which arguments it writes.
//
//   ASSIGN_OR_RETURN(InstanceOutcome made, MakeInstance(*session, &builder, {"saxpy"}));
//   for (const LocatedDiagnostic& d : made.diagnostics) …
//   if (made.instance == nullptr) return …;
//   Launcher launch(made.instance);
//
// CompileSettings::gradients and duals list the parameters by which a program differentiates. The
// instance then has derivatives, which are instances, too.
#ifndef KILN_CLIENT_CPP_INSTANCE_H_
#define KILN_CLIENT_CPP_INSTANCE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client_cpp/derivative.h"
#include "client_cpp/kernel_builder.h"
#include "client_cpp/kernel_facts.h"
#include "client_cpp/session.h"
#include "common/artifact/target.h"
#include "common/language/ids.h"
#include "common/language/type.h"
#include "common/layout/prune_trees.h"
#include "common/unit/node_number.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/options.pb.h"

namespace kiln {

// The data that only prints, asserts and errors need.
struct InstanceTexts {
  proto::SourceMap source_map;
  NamesInErrors names;                  // that of source_map, as launches take it
  TypeTable types;                      // the kernel's, for formats
  std::vector<std::string> node_kinds;  // of the body, then each function: one byte per node
  // If bounds are checked: the kernel's parameter that a node accesses.
  absl::flat_hash_map<NodeNumber, ParamId> node_params;
};

class Instance;

// An instance's own derivatives, and what it is the derivative of.
struct InstanceDerivatives {
  std::shared_ptr<const Instance> gradient;    // null if the instance has none
  std::shared_ptr<const Instance> with_duals;  // forward mode; likewise
  DerivativeParams params;                     // if the instance is a derivative
};

// Immutable once made; may be used from any thread.
class Instance {
 public:
  Instance(CompileOutcome outcome, std::vector<bool> writes, InstanceTexts texts,
           InstanceDerivatives derivatives = {});
  // Of an earlier process: `packed` is a serialised proto::WarmTexts, which is parsed when the
  // texts are first needed. If it does not parse, there are no texts.
  Instance(CompileOutcome outcome, std::vector<bool> writes, std::string packed);

  const std::shared_ptr<const LoadedKernel>& kernel() const { return outcome_.kernel; }
  // Its diagnostics have no positions; MakeInstance gives those that have.
  const CompileOutcome& outcome() const { return outcome_; }
  // For each parameter: whether a store, an atomic or a call may write its memory.
  const std::vector<bool>& writes() const { return writes_; }
  const InstanceTexts& texts() const;
  const InstanceDerivatives& derivatives() const { return derivatives_; }

  // The kind of a node; NODE_NONE if the kernel has no such node.
  proto::NodeKind KindOf(NodeNumber node) const;

  // A serialised proto::WarmTexts for a later process. `code_lines`: for each file of the source
  // map, the 1-based lines that count, ascending; positions become ranks among them. Where the list
  // is empty, line numbers stay. InvalidArgument if a file has no list.
  absl::StatusOr<std::string> Pack(absl::Span<const std::vector<int>> code_lines) const;

 private:
  const CompileOutcome outcome_;
  const std::vector<bool> writes_;
  const InstanceDerivatives derivatives_;
  mutable std::once_flag unpacked_;  // a child forked meanwhile unpacks again, absl's would wait
  mutable InstanceTexts texts_;
  mutable std::string packed_;
};

// How a kernel is compiled.
struct CompileSettings {
  std::string name;  // of the kernel, in messages and lists
  proto::CodeOptions code;
  proto::ReportOptions report;
  Target target;  // none: the machine's
  // Sets of parameters whose memory overlaps.
  std::vector<std::vector<ParamId>> aliases;
  // Fields and arrays of floats that have gradients (duals). If there are any, the instance's
  // gradient (the kernel with duals) is compiled, too. All other parameters are constants to it.
  std::vector<ParamId> gradients, duals;
  // The gradients of those in `gradients` that are fields of trees: each is in the cells of its
  // field, as KernelBuilder::AddStorageParam takes it.
  CompanionsInTrees tree_gradients;
};

// What a kernel is compiled from.
struct FinishedUnit {
  proto::CompileUnit unit;  // without runtime ABI and glibc, which a session fills in
  proto::SourceMap source_map;
  std::vector<bool> writes;        // Instance::writes
  std::vector<ReachedTree> trees;  // InstanceOutcome::trees
  proto::CompileUnit whole;        // KernelBuilder::Finish
};

// Of what `builder` built, which is unusable afterwards. For exports; MakeInstance compiles, too.
absl::StatusOr<FinishedUnit> FinishUnit(KernelBuilder* builder, const CompileSettings& settings);

struct LocatedDiagnostic {
  proto::Diagnostic diagnostic;
  std::vector<SourcePosition> positions;  // innermost call first
};

struct InstanceOutcome {
  std::shared_ptr<const Instance> instance;  // null when there are errors
  std::string recorded;  // client_cpp/recorded_kernel.h; if SessionOptions requests it
  std::vector<LocatedDiagnostic> diagnostics;
  // Of each tree that launches bind (Launcher::BindTree): which part of which of the builder's.
  std::vector<ReachedTree> trees;
};

// Compiles or fetches what `builder` built, which is unusable afterwards, and its derivatives. User
// errors are diagnostics; code that has no derivative is one. InvalidArgument for parameters that
// cannot have companions (client_cpp/derivative.h).
absl::StatusOr<InstanceOutcome> MakeInstance(Session& session, KernelBuilder* builder,
                                             const CompileSettings& settings);
// The same of what FinishUnit returned for these settings; only `gradients` and `duals` may differ,
// and `tree_gradients` may be empty.
absl::StatusOr<InstanceOutcome> MakeInstance(Session& session, FinishedUnit finished,
                                             const CompileSettings& settings);

// With the positions that `map` has of them.
std::vector<LocatedDiagnostic> Located(absl::Span<const proto::Diagnostic> diagnostics,
                                       const proto::SourceMap& map);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_INSTANCE_H_
