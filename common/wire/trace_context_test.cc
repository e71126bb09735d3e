#include "common/wire/trace_context.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

constexpr char kGood[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ReadsValidTraceparents) {
  EXPECT_EQ(ParseTraceparent(kGood).trace, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(ParseTraceparent(kGood).span, "00f067aa0ba902b7");
  EXPECT_EQ(ParseTraceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").span,
            "00f067aa0ba902b7");
}

TEST(TraceContext, RefusesOtherText) {
  for (const char* bad : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01",
       }) {
    EXPECT_EQ(ParseTraceparent(bad).trace, "") << bad;
  }
}

TEST(TraceContext, ANewSpanKeepsItsParentsTrace) {
  const TraceContext child = ParseTraceparent(NewSpan(kGood));
  EXPECT_EQ(child.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_NE(child.span, "00f067aa0ba902b7");
  const TraceContext fresh = ParseTraceparent(NewSpan("nonsense"));
  EXPECT_EQ(fresh.trace.size(), 32u);
  EXPECT_NE(fresh.trace, ParseTraceparent(NewSpan("")).trace);
}

}  // namespace
}  // namespace kiln
