#include "common/unit/key_parts.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

const Digest kCompiler = Sha256Of("compiler");

proto::CompileUnit Unit() {
  proto::CompileUnit unit;
  unit.mutable_target()->set_cpu(proto::X86_64_V3);
  unit.mutable_options()->set_debug(true);
  unit.add_storages()->set_alias_set(1);
  unit.add_storages()->set_alias_set(2);
  unit.add_trees();
  return unit;
}

// The names of the parts in which two units differ.
std::string Differing(const proto::CompileUnit& a, const proto::CompileUnit& b) {
  const auto left = KeyParts(a, kCompiler);
  const auto right = KeyParts(b, kCompiler);
  std::string names;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    EXPECT_EQ(left[i].name(), right[i].name());
    if (left[i].digest() != right[i].digest()) names += left[i].name() + ";";
  }
  return names;
}

TEST(KeyParts, NameTheDifferingParts) {
  EXPECT_EQ(Differing(Unit(), Unit()), "");
  proto::CompileUnit other = Unit();
  other.mutable_target()->set_cpu(proto::X86_64_V4);
  EXPECT_EQ(Differing(Unit(), other), "target;");
  other = Unit();
  other.mutable_options()->set_fast_math(true);
  other.mutable_storages(1)->set_read_only(true);
  EXPECT_EQ(Differing(Unit(), other), "options;storage 1;");
  other = Unit();
  other.mutable_kernel()->add_loops()->set_serialize(true);
  EXPECT_EQ(Differing(Unit(), other), "code;");
}

TEST(KeyParts, AreReadable) {
  const auto parts = KeyParts(Unit(), kCompiler);
  EXPECT_EQ(parts[0].text(), kCompiler.Hex());
  EXPECT_EQ(parts[1].text(), "x86-64-v3, runtime ABI 0000000000000000");
  EXPECT_EQ(parts[2].text(), "debug: true");
}

TEST(KeyParts, DescribeTheCode) {
  proto::CompileUnit unit = Unit();
  proto::Kernel& kernel = *unit.mutable_kernel();
  kernel.add_types();
  kernel.add_types()->set_scalar(proto::F32);
  kernel.add_types()->set_scalar(proto::I32);
  const auto add = [&](proto::NodeKind kind, uint32_t type, proto::Op op, uint64_t index) {
    proto::Node* node = kernel.mutable_body()->add_nodes();
    node->set_kind(kind);
    node->set_type(type);
    node->set_op(op);
    node->set_index(index);
  };
  add(proto::NODE_NONE, 0, proto::OP_NONE, 0);
  add(proto::CONST, 1, proto::OP_NONE, 0x40200000);
  add(proto::CONST, 2, proto::OP_NONE, 0xffffffff);
  add(proto::BINARY, 1, proto::OP_MUL, 0);
  add(proto::BINARY, 1, proto::OP_MUL, 0);
  add(proto::STORE, 0, proto::OP_NONE, 0);
  const std::string text = KeyParts(unit, kCompiler)[3].text();
  EXPECT_EQ(text, "6 nodes: mul x2, store; constants 2.5, -1");
}

TEST(KeyParts, StaySmall) {
  proto::CompileUnit unit = Unit();
  for (int i = 0; i < 1000; ++i) unit.mutable_storages(0)->mutable_tree()->add_axes(i);
  for (const proto::KeyPart& part : KeyParts(unit, kCompiler)) EXPECT_LE(part.text().size(), 4003u);
  // If there are many long texts, each is cut further.
  for (int i = 0; i < 10; ++i) *unit.add_storages() = unit.storages(0);
  for (const proto::KeyPart& part : KeyParts(unit, kCompiler)) EXPECT_LE(part.text().size(), 303u);
}

}  // namespace
}  // namespace kiln
