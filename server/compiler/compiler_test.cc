#include "server/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"

namespace kiln {
namespace {

// y[i] = a * x[i], and the number of cells as result.
constexpr char kScale[] = R"(
  kernel {
    types {} types { scalar: F32 } types { scalar: I32 }
    body {
      params { kind: PARAM_STORAGE storage: 0 }
      params { kind: PARAM_STORAGE storage: 1 }
      params { kind: PARAM_VALUE type: 1 }
      returns: 2
      nodes {}
      nodes { kind: STRUCT_FOR index: 0 blocks: 1 }
      nodes { kind: LOOP_INDEX type: 2 operands: 1 }
      nodes { kind: GLOBAL type: 1 operands: 2 index: 0 }
      nodes { kind: LOAD type: 1 operands: 3 }
      nodes { kind: PARAM type: 1 index: 2 }
      nodes { kind: BINARY op: OP_MUL type: 1 operands: 5 operands: 4 }
      nodes { kind: GLOBAL type: 1 operands: 2 index: 1 }
      nodes { kind: STORE operands: 7 operands: 6 }
      nodes { kind: SHAPE type: 2 index: 0 attributes: 0 }
      nodes { kind: RETURN operands: 9 }
      blocks { nodes: 1 nodes: 9 nodes: 10 }
      blocks { nodes: 2 nodes: 3 nodes: 4 nodes: 5 nodes: 6 nodes: 7 nodes: 8 }
    }
  }
  storages {
    element { scalar: F32 }
    dense { num_axes: 1 digits { stride: 4 } components {} num_bases: 1 }
  }
  storages {
    element { scalar: F32 }
    dense { num_axes: 1 digits { stride: 4 } components {} num_bases: 1 }
  }
  target { cpu: X86_64_V3 runtime_abi: 7 }
  options { fast_math: true opt_level: 3 default_int: I32 default_float: F32 })";

proto::CompileUnit Unit(const std::string& text = kScale) {
  proto::CompileUnit unit;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &unit));
  return unit;
}

TEST(Compiler, MakesALibraryAndItsDescription) {
  Compiler compiler;
  absl::StatusOr<Compilation> made = compiler.Compile(Unit());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->diagnostics.empty());
  EXPECT_EQ(made->payload.substr(1, 3), "ELF");
  ASSERT_EQ(made->info.tasks_size(), 2);
  EXPECT_EQ(made->info.tasks(0).kind(), proto::TASK_RANGE);
  EXPECT_EQ(made->info.tasks(1).kind(), proto::TASK_SERIAL);
  // Base and extent of each field, then the scalar.
  EXPECT_EQ(made->info.arguments_size(), 5);
  ASSERT_EQ(made->info.results_size(), 1);
  EXPECT_EQ(made->info.results(0), proto::I32);
  EXPECT_EQ(made->info.target().runtime_abi(), 7u);
  EXPECT_FALSE(made->info.has_effects());
  EXPECT_FALSE(made->info.can_fail());
}

TEST(Compiler, TheSameUnitGivesTheSameBytes) {
  Compiler first, second;
  ASSERT_TRUE(first.WarmUp().ok());
  const absl::StatusOr<Compilation> a = first.Compile(Unit()), b = second.Compile(Unit());
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->payload, b->payload);
}

TEST(Compiler, RelocatableCodeIsAnObjectWithNamesOfItsOwn) {
  Compiler compiler;
  proto::LinkRequest link;
  link.set_symbol("kiln_module_v1");
  link.set_tables(std::string(64, '\0'));
  proto::CompileUnit unit = Unit();
  unit.mutable_options()->set_relocatable(true);
  for (const proto::CpuLevel cpu : {proto::X86_64_V2, proto::X86_64_V3}) {
    unit.mutable_target()->set_cpu(cpu);
    absl::StatusOr<Compilation> made = compiler.Compile(unit);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(made->info.relocatable());
    EXPECT_EQ(made->payload, compiler.Compile(unit)->payload);
    link.add_objects(made->payload);
    for (const proto::Task& task : made->info.tasks()) {
      EXPECT_THAT(task.symbol(), testing::MatchesRegex("k[0-9a-f]+_task_[0-9]+"));
      auto* fixup = link.add_fixups();
      fixup->set_offset(4 * static_cast<uint32_t>(link.fixups_size()));
      fixup->set_symbol(task.symbol());
    }
  }
  absl::StatusOr<proto::LinkReply> module = compiler.Link(link);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->file().substr(1, 3), "ELF");
  EXPECT_FALSE(compiler.Compile(Unit())->info.relocatable());
}

TEST(Compiler, RelocatableCodeSaysWhatItNeeds) {
  Compiler compiler;
  proto::CompileUnit unit = Unit();
  auto* product = unit.mutable_kernel()->mutable_body()->mutable_nodes(6);
  product->set_kind(proto::UNARY);
  product->set_op(proto::OP_TANH);
  product->clear_operands();
  product->add_operands(4);
  unit.mutable_target()->set_glibc(35);
  const absl::StatusOr<Compilation> loadable = compiler.Compile(unit);
  unit.mutable_options()->set_relocatable(true);
  const absl::StatusOr<Compilation> object = compiler.Compile(unit);
  ASSERT_TRUE(loadable.ok() && object.ok()) << loadable.status() << object.status();
  EXPECT_EQ(object->info.needs().at("libmvec.so.1"), "GLIBC_2.35");
  EXPECT_EQ(object->info.needs().size(), loadable->info.needs().size());
}

TEST(Compiler, ReportsEveryStageWithItsText) {
  Compiler compiler;
  proto::ReportOptions report;
  report.set_print_ir(true);
  absl::StatusOr<Compilation> made = compiler.Compile(Unit(), report);
  ASSERT_TRUE(made.ok()) << made.status();
  std::string names;
  for (const proto::StageReport& stage : made->stages) {
    names += stage.name() + " ";
    if (stage.name() == "lower") {
      EXPECT_NE(stage.ir().find("parallel_for"), std::string::npos);
    } else if (stage.name() == "offload") {
      EXPECT_NE(stage.ir().find("task.range_for"), std::string::npos);
    }
  }
  EXPECT_EQ(names.find("check lower refuse-simt demote-atomics"), 0u) << names;
  EXPECT_NE(names.find("codegen link"), std::string::npos) << names;
}

TEST(Compiler, UnsupportedFeaturesAreDiagnostics) {
  proto::CompileUnit unit = Unit();
  unit.mutable_kernel()->add_autodiff(proto::AUTODIFF_VALIDATION);
  Compiler compiler;
  absl::StatusOr<Compilation> made = compiler.Compile(unit);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->diagnostics.size(), 1u);
  EXPECT_EQ(made->diagnostics[0].kind(), proto::KIND_UNSUPPORTED);
  EXPECT_TRUE(made->payload.empty());
}

TEST(Compiler, AnInvalidUnitIsAStatus) {
  proto::CompileUnit unit = Unit();
  unit.mutable_kernel()->mutable_body()->mutable_nodes(6)->set_operands(0, 600);
  Compiler compiler;
  EXPECT_EQ(compiler.Compile(unit).status().code(), absl::StatusCode::kInvalidArgument);
  // And it can go on.
  EXPECT_TRUE(compiler.Compile(Unit()).ok());
}

}  // namespace
}  // namespace kiln
