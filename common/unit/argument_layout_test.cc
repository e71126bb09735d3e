#include "common/unit/argument_layout.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

proto::CompileUnit Unit(const std::string& text) {
  proto::CompileUnit unit;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &unit)) << text;
  return unit;
}

absl::StatusOr<ArgumentLayout> LayoutOf(const std::string& text) {
  const proto::CompileUnit unit = Unit(text);
  const absl::StatusOr<TypeTable> types = TypeTable::FromProto(unit.kernel().types());
  if (!types.ok()) return types.status();
  return LayoutArguments(unit, *types);
}

std::string Text(const ArgumentLayout& layout) {
  std::string text;
  for (const proto::ArgumentSlot& slot : layout.slots) {
    text += "vbet"[slot.kind()] + std::to_string(slot.param()) + "." +
            std::to_string(slot.element()) + " ";
  }
  return text;
}

TEST(ArgumentLayout, OneSlotAScalarBaseAndExtent) {
  const auto layout = LayoutOf(R"(
    kernel {
      types {} types { scalar: F32 } types { scalar: I32 shape: 2 }
      types { members { name: "a" type: 1 } members { name: "b" type: 2 } }
      body {
        params { type: 1 }
        params { kind: PARAM_STORAGE storage: 0 }
        params { type: 3 }
        params { kind: PARAM_STORAGE storage: 1 }
        params { kind: PARAM_STORAGE storage: 2 }
        returns: 2 returns: 1
      }
    }
    storages { dense { num_bases: 2 } }
    storages { ndarray { ndim: 3 } }
    storages { tree {} }
    trees {} trees {})");
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(Text(*layout),
            "v0.0 b1.0 b1.1 e1.0 v2.0 v2.1 v2.2 b3.0 e3.0 e3.1 e3.2 t0.0 t0.1 t1.0 t1.1 ");
  EXPECT_EQ(layout->first_slot.values(), (std::vector<int>{0, 1, 4, 7, 11}));
  EXPECT_EQ(layout->tree_slot, (std::vector<int>{11, 13}));
  EXPECT_EQ(layout->slots[5].scalar(), proto::I32);
  EXPECT_EQ(layout->results, (std::vector<proto::Scalar>{proto::I32, proto::I32, proto::F32}));
}

TEST(ArgumentLayout, Refuses) {
  for (const char* text : {
           "kernel { body { params { type: 1 } } }",
           "kernel { body { params { kind: PARAM_STORAGE storage: 1 } } }",
           "kernel { body { params { kind: PARAM_STORAGE } } } storages {}",
           "kernel { types {} types { scalar: F32 } body { params { kind: 9 type: 1 } } }",
           "kernel { types {} types { scalar: F32 shape: 70000 } body { params { type: 1 } } }",
           "kernel { types {} types { scalar: F32 shape: 70000 } body { returns: 1 } }",
           "storages { dense { num_bases: 4294967295 } } kernel { body { params { kind: 1 } } }",
           "kernel { body { returns: 0 } }",
       }) {
    EXPECT_EQ(LayoutOf(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace kiln
