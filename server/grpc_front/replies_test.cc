#include "server/grpc_front/replies.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

constexpr size_t kBudget = 64 << 10;

IdentityPtr Caller(const std::string& name) {
  auto identity = std::make_shared<Identity>();
  identity->key = name;
  return identity;
}

grpc::ByteBuffer Bytes(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

std::string TextOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return {slice.begin(), slice.end()};
}

proto::LookupRequest Question(const std::vector<std::string>& digests) {
  proto::LookupRequest request;
  for (const std::string& digest : digests) request.add_digests(digest);
  return request;
}

proto::LookupReply Answer(const std::vector<std::string>& entries) {
  proto::LookupReply reply;
  for (const std::string& entry : entries) {
    proto::LookupReply::Result* result = reply.add_results();
    result->set_found(!entry.empty());
    result->set_entry(entry);
  }
  return reply;
}

class RepliesTest : public testing::Test {
 protected:
  // Whether the cache answers the request; otherwise stores `reply` for the next time.
  bool Ask(const proto::LookupRequest& request, const proto::LookupReply& reply,
           const IdentityPtr& caller = Caller("ann")) {
    grpc::ByteBuffer found;
    Replies::Asked asked;
    if (replies_.Find(*caller, Bytes(request), &asked, &found)) {
      EXPECT_EQ(TextOf(found), reply.SerializeAsString());
      return true;
    }
    replies_.Keep(std::move(asked), caller, Bytes(request), Bytes(reply));
    return false;
  }

  Generation generation_;
  Replies replies_{kBudget, &generation_};
};

TEST_F(RepliesTest, AnswersTheSameRequestOfTheSameCaller) {
  EXPECT_FALSE(Ask(Question({"a", "b"}), Answer({"A", "B"})));
  EXPECT_TRUE(Ask(Question({"a", "b"}), Answer({"A", "B"})));
  EXPECT_FALSE(Ask(Question({"b", "a"}), Answer({"B", "A"})));
  EXPECT_FALSE(Ask(Question({"a", "b"}), Answer({"C", "D"}), Caller("bob")));
  EXPECT_TRUE(Ask(Question({"a", "b"}), Answer({"C", "D"}), Caller("bob")));
}

TEST_F(RepliesTest, KeepsNoRepliesThatMayChange) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(
        Ask(Question({"a", "b"}), Answer({"A", ""})));  // another machine may make it later
    EXPECT_FALSE(Ask(Question({}), Answer({})));
    EXPECT_FALSE(Ask(Question({"a", "b"}), Answer({"A"})));
  }
  proto::LookupRequest presence = Question({"a"});
  presence.set_presence(true);
  proto::LookupReply there = Answer({""});
  there.mutable_results(0)->set_found(true);
  EXPECT_FALSE(Ask(presence, there));
  EXPECT_FALSE(Ask(presence, there));
}

TEST_F(RepliesTest, DropsRepliesWhenKilndRemovesEntries) {
  EXPECT_FALSE(Ask(Question({"a"}), Answer({"A"})));
  generation_.Advance();
  EXPECT_FALSE(Ask(Question({"a"}), Answer({"A2"})));
  EXPECT_TRUE(Ask(Question({"a"}), Answer({"A2"})));

  // kilnd removes an entry between the request and the reply.
  Replies::Asked asked;
  grpc::ByteBuffer found;
  const IdentityPtr caller = Caller("ann");
  const grpc::ByteBuffer request = Bytes(Question({"b"}));
  EXPECT_FALSE(replies_.Find(*caller, request, &asked, &found));
  generation_.Advance();
  replies_.Keep(std::move(asked), caller, request, Bytes(Answer({"B"})));
  EXPECT_FALSE(replies_.Find(*caller, request, &asked, &found));

  generation_.End();
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(Ask(Question({"a"}), Answer({"A"})));
}

TEST_F(RepliesTest, StaysWithinItsBudgetAndKeepsWhatIsUsed) {
  const std::string entry(4000, 'x');
  EXPECT_FALSE(Ask(Question({"hot"}), Answer({entry})));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Ask(Question({absl::StrCat(i)}), Answer({entry}))) << i;
    EXPECT_TRUE(Ask(Question({"hot"}), Answer({entry}))) << i;
  }
  // 64 KiB have room for some ten of them.
  int kept = 0;
  for (int i = 99; i >= 0; --i) {
    Replies::Asked asked;
    grpc::ByteBuffer found;
    kept += replies_.Find(*Caller("ann"), Bytes(Question({absl::StrCat(i)})), &asked, &found);
  }
  EXPECT_GE(kept, 8);
  EXPECT_LE(kept, 16);
  // A reply that would take most of the budget is not kept.
  EXPECT_FALSE(Ask(Question({"big"}), Answer({std::string(kBudget / 2, 'x')})));
  EXPECT_FALSE(Ask(Question({"big"}), Answer({std::string(kBudget / 2, 'x')})));
}

TEST_F(RepliesTest, CountsItsReplies) {
  for (int i = 0; i < 4; ++i) Ask(Question({"a", "b"}), Answer({"A", "B"}));
  generation_.Advance();  // dropped replies count, too
  for (int i = 0; i < 3; ++i) Ask(Question({"a"}), Answer({"A"}));
  for (int i = 0; i < 2; ++i) Ask(Question({"a"}), Answer({"A"}), Caller("bob"));
  for (const Replies::Hits& hits : replies_.TakeHits()) {
    std::map<std::string, uint64_t> counts;
    for (const auto& hit : hits.request.hits()) counts[hit.digest()] += hit.count();
    if (hits.caller->key == "bob") {
      EXPECT_EQ(hits.request.requests(), 1u);
      EXPECT_EQ(counts["a"], 1u);
    } else {
      EXPECT_EQ(hits.request.requests(), 5u);
      EXPECT_EQ(counts["a"], 5u);
      EXPECT_EQ(counts["b"], 3u);
    }
  }
  EXPECT_TRUE(replies_.TakeHits().empty());
}

TEST(EditionTest, IsSharedWithAnotherProcess) {
  Generation own;
  Generation seen(own.fd());
  EXPECT_NE(own.now(), Generation::kOver);
  EXPECT_EQ(seen.now(), own.now());
  own.Advance();
  EXPECT_EQ(seen.now(), own.now());
  own.End();
  EXPECT_EQ(seen.now(), Generation::kOver);
  own.Advance();
  EXPECT_EQ(seen.now(), Generation::kOver);
  EXPECT_EQ(Generation(-1).now(), Generation::kOver);
}

}  // namespace
}  // namespace kiln
