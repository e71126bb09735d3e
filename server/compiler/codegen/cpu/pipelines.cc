#include "server/compiler/codegen/cpu/pipelines.h"

#include <string_view>

namespace kiln::cpu {
namespace {

#define KILN_INSTCOMBINE "instcombine<no-verify-fixpoint>"

constexpr char kNone[] = "always-inline";

constexpr char kSimple[] =
    "always-inline,globaldce,"
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg," KILN_INSTCOMBINE
    ",loop-mssa(loop-rotate,licm),simplifycfg)";

// Before the others where a kernel has functions: callees first, each as far as it takes
// to know its size, tail calls as loops, then what is small goes into its callers.
constexpr char kInline[] =
    "always-inline,globaldce,"
    "cgscc(function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg," KILN_INSTCOMBINE
    ",tailcallelim),inline,function-attrs),globaldce,";

// LLVM's -O3 without what kernels have no use for: the call graph, globals, exceptions,
// profiles.
constexpr char kFull[] =
    "always-inline,globaldce,"
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg<switch-range-to-icmp>"
    "," KILN_INSTCOMBINE
    ",correlated-propagation,simplifycfg,reassociate,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,"
    "loop-rotate<header-duplication>,licm<allowspeculation>,"
    "simple-loop-unswitch<nontrivial;trivial>),"
    "simplifycfg," KILN_INSTCOMBINE
    ",loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),"
    "sroa<modify-cfg>,gvn,sccp,bdce," KILN_INSTCOMBINE
    ",jump-threading,correlated-propagation,adce,dse,loop-mssa(licm<allowspeculation>),"
    "simplifycfg<hoist-common-insts;sink-common-insts>," KILN_INSTCOMBINE
    // Narrow arithmetic: a sum of bytes that is stored as a byte takes 16 bits a lane, not 32.
    ",narrow-shifts,bound-operands,aggressive-instcombine,"
    // The loop vectoriser takes no loop with a switch, which simplifycfg makes of comparisons.
    "lower-switch,loop(loop-rotate<header-duplication>,loop-deletion),inject-tli-mappings,"
    "masked-stores,loop-vectorize,infer-alignment,loop-load-elim," KILN_INSTCOMBINE
    ",simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-lookup;no-keep-loops;"
    "hoist-common-insts;sink-common-insts>,slp-vectorizer,vector-combine," KILN_INSTCOMBINE
    ",loop-unroll<O3>,sroa<preserve-cfg>," KILN_INSTCOMBINE
    ",loop-mssa(licm<allowspeculation>),loop-sink,instsimplify,div-rem-pairs,simplifycfg)";

}  // namespace

std::string PipelineText(int level, bool has_functions, bool large) {
  if (level == 0) return kNone;
  std::string text = level == 1 ? kSimple : kFull;
  if (large) {
    // Both compare each store of a block with many others.
    for (const std::string_view pass : {"slp-vectorizer,vector-combine,", "dse,"}) {
      if (const size_t at = text.find(pass); at != text.npos) text.erase(at, pass.size());
    }
  }
  // The last ones: the others know nothing of the processor's instructions, which these are about.
  return std::string(has_functions ? kInline : "") + text +
         ",function(reciprocal-roots,branch-free-extremes)";
}

}  // namespace kiln::cpu
