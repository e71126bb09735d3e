// Units with one or two things changed at random: whatever CheckUnit lets pass, the
// compiler must compile or refuse; it must not fall over.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "server/compiler/compiler.h"

namespace kiln {
namespace {

constexpr int kMutationsPerUnit = 60;

std::vector<proto::CompileUnit> Corpus() {
  std::vector<proto::CompileUnit> units;
  for (const char* name :
       {"lower_checks", "lower_loops", "lower_memory", "lower_values", "pipeline"}) {
    std::ifstream file(std::string("tests/golden/") + name + ".textproto");
    std::stringstream text;
    text << file.rdbuf();
    for (absl::string_view part : absl::StrSplit(text.str(), "# -----\n")) {
      EXPECT_TRUE(
          google::protobuf::TextFormat::ParseFromString(std::string(part), &units.emplace_back()));
    }
  }
  return units;
}

// The unit of the derivative of a unit's kernel, with a companion for each storage that can have
// one.
proto::CompileUnit Derivative(proto::CompileUnit unit, proto::AutodiffMode mode) {
  proto::Kernel* kernel = unit.mutable_kernel();
  kernel->add_autodiff(mode);
  const int count = unit.storages_size();
  for (int i = 0; i < count; ++i) {
    const proto::Scalar scalar = unit.storages(i).element().scalar();
    if (scalar != proto::F32 && scalar != proto::F64 && scalar != proto::F16) continue;
    if (unit.storages(i).has_word()) continue;
    const uint32_t companion = unit.storages_size();
    *unit.add_storages() = unit.storages(i);
    proto::Param* param = kernel->mutable_body()->add_params();
    param->set_kind(proto::Param::PARAM_STORAGE);
    param->set_storage(companion);
    if (mode == proto::AUTODIFF_REVERSE) {
      unit.mutable_storages(i)->set_grad(companion + 1);
    } else {
      unit.mutable_storages(i)->set_dual(companion + 1);
    }
  }
  return unit;
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  void Mutate(proto::CompileUnit* unit) {
    proto::Function* body = unit->mutable_kernel()->mutable_body();
    if (body->nodes_size() < 2) return;
    proto::Node* node = body->mutable_nodes(1 + Below(body->nodes_size() - 1));
    switch (Below(8)) {
      case 0:
        return node->set_type(Below(unit->kernel().types_size()));
      case 1:
        return node->set_index(Below(6));
      case 2:
        return node->set_op(static_cast<proto::Op>(Below(108)));
      case 3:
        return node->set_kind(static_cast<proto::NodeKind>(Below(83)));
      case 4:
        return node->add_operands(Below(body->nodes_size()));
      case 5: {
        proto::Block* block = body->mutable_blocks(Below(body->blocks_size()));
        if (block->nodes_size() > 0) block->mutable_nodes()->RemoveLast();
        return;
      }
      case 6: {
        if (unit->storages_size() == 0) return;
        proto::DenseStorage* dense = unit->mutable_storages(0)->mutable_dense();
        if (dense->digits_size() == 0) return;
        return dense->mutable_digits(Below(dense->digits_size()))->set_extent(Below(5));
      }
      default:
        if (node->operands_size() == 0) return;
        return node->set_operands(Below(node->operands_size()), Below(body->nodes_size()));
    }
  }

  uint32_t Below(uint32_t limit) { return random_() % limit; }

 private:
  std::mt19937 random_;
};

// Compiles mutations of the units that `make` makes of the corpus.
template <typename Make>
void CompileMutations(Make make) {
  Compiler compiler;
  int compiled = 0, refused = 0;
  for (const proto::CompileUnit& original : Corpus()) {
    for (int seed = 0; seed < kMutationsPerUnit; ++seed) {
      Mutator mutator(seed);
      proto::CompileUnit unit = make(original);
      mutator.Mutate(&unit);
      if (seed % 3 == 0) mutator.Mutate(&unit);
      unit.mutable_options()->set_opt_level(0);
      SCOPED_TRACE(unit.DebugString());
      const absl::StatusOr<Compilation> made = compiler.Compile(unit);
      if (made.ok() && made->diagnostics.empty()) ++compiled;
      if (!made.ok()) {
        ++refused;
        EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << made.status();
      }
    }
  }
  EXPECT_GT(compiled, 50);
  EXPECT_GT(refused, 50);
}

TEST(Mutation, CheckedUnitsNeverBreakTheCompiler) {
  CompileMutations([](const proto::CompileUnit& unit) { return unit; });
}

TEST(Mutation, DerivativesNeverBreakTheCompiler) {
  for (const proto::AutodiffMode mode : {proto::AUTODIFF_REVERSE, proto::AUTODIFF_FORWARD}) {
    CompileMutations([mode](const proto::CompileUnit& unit) { return Derivative(unit, mode); });
  }
}

}  // namespace
}  // namespace kiln
