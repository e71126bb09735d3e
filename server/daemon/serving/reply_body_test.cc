#include "server/daemon/serving/reply_body.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

EntryPtr Entry(size_t size) {
  auto entry = std::make_shared<StoredEntry>();
  entry->bytes.assign(size, '\xfe');
  return entry;
}

std::string BytesOf(const ReplyBody& body) {
  ReplyBody::Parts parts;
  body.AddTo(&parts);
  std::string bytes;
  for (const iovec& part : parts) bytes.append(static_cast<char*>(part.iov_base), part.iov_len);
  EXPECT_EQ(body.size(), bytes.size());
  return bytes;
}

TEST(ReplyBody, ALookUpReplyEqualsTheMessage) {
  proto::LookupReply reply, expected;
  std::vector<EntryPtr> entries;
  for (const size_t size : {0, 1, 127, 128, 20000, 3000000}) {
    proto::LookupReply::Result* result = reply.add_results();
    result->set_found(true);
    result->set_tier("memory");
    entries.push_back(Entry(size));
    *expected.add_results() = *result;
    expected.mutable_results(expected.results_size() - 1)->set_entry(entries.back()->bytes);
    reply.add_results();  // not found
    entries.push_back(nullptr);
    expected.add_results();
  }
  proto::LookupReply parsed;
  ASSERT_TRUE(parsed.ParseFromString(BytesOf(ReplyBody::Of(reply, entries))));
  EXPECT_EQ(parsed.SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(BytesOf(ReplyBody::Of(proto::LookupReply(), {})), "");
}

TEST(ReplyBody, ACompilationReplyEqualsTheMessage) {
  proto::CompileReply reply, parsed;
  reply.set_digest("d");
  reply.set_seconds(0.5);
  ASSERT_TRUE(parsed.ParseFromString(BytesOf(ReplyBody::Of(reply, nullptr))));
  EXPECT_EQ(parsed.SerializeAsString(), reply.SerializeAsString());
  ASSERT_TRUE(parsed.ParseFromString(BytesOf(ReplyBody::Of(reply, Entry(20000)))));
  reply.set_entry(Entry(20000)->bytes);
  EXPECT_EQ(parsed.SerializeAsString(), reply.SerializeAsString());
}

TEST(ReplyBody, EntriesAreNotCopied) {
  const EntryPtr entry = Entry(100);
  const ReplyBody body = ReplyBody::Of(proto::CompileReply(), entry);
  ReplyBody::Parts parts;
  body.AddTo(&parts);
  ASSERT_GE(parts.size(), 2u);
  EXPECT_EQ(parts[1].iov_base, entry->bytes.data());
  EXPECT_EQ(BytesOf(ReplyBody(std::string("as it is"))), "as it is");
}

}  // namespace
}  // namespace kiln
