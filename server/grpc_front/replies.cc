#include "server/grpc_front/replies.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

// Larger requests and replies are rare, and cost more than asking kilnd.
constexpr size_t kMostRequestBytes = 4096;
constexpr size_t kShareOfReply = 4;  // the part of the budget that one reply may take

// Includes the memory that an item takes besides its texts.
size_t SizeOf(const std::string& key, const grpc::ByteBuffer& reply) {
  constexpr size_t kRest = 512;
  return 2 * key.size() + reply.Length() + kRest;
}

// Without a copy if the message is one slice, as small ones are.
bool AppendTo(std::string* out, const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  if (bytes.TrySingleSlice(&slice).ok() || bytes.DumpToSingleSlice(&slice).ok()) {
    out->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return true;
  }
  return false;
}

template <typename Message>
bool Parse(const grpc::ByteBuffer& bytes, Message* message) {
  grpc::ByteBuffer buffer = bytes;  // its slices are shared
  grpc::ProtoBufferReader reader(&buffer);
  return message->ParseFromZeroCopyStream(&reader);
}

bool AllFound(const proto::LookupReply& reply, int asked) {
  return reply.results_size() == asked && asked > 0 &&
         std::all_of(reply.results().begin(), reply.results().end(),
                     [](const auto& result) { return result.found() && !result.entry().empty(); });
}

}  // namespace

bool Replies::Find(const Identity& caller, const grpc::ByteBuffer& request, Asked* asked,
                   grpc::ByteBuffer* reply) {
  if (request.Length() > kMostRequestBytes || max_bytes_ == 0) return false;
  // The caller is part of the key: tenants have entries of their own, and rights differ.
  asked->key = caller.key;
  asked->key.push_back('\0');  // does not occur in names
  if (!AppendTo(&asked->key, request)) return false;
  absl::MutexLock lock(&mutex_);
  Follow();
  // The generation at the time of the request: an entry may be removed before the reply comes.
  asked->generation = kept_of_;
  const auto found = index_.find(asked->key);
  if (found == index_.end()) return false;
  Item& item = *found->second;
  ++item.answered;
  *reply = item.reply;
  order_.splice(order_.begin(), order_, found->second);
  return true;
}

void Replies::Keep(Asked asked, IdentityPtr caller, const grpc::ByteBuffer& request,
                   const grpc::ByteBuffer& reply) {
  const size_t size = SizeOf(asked.key, reply);
  if (asked.generation == Generation::kOver || size > max_bytes_ / kShareOfReply) return;
  proto::LookupRequest question;
  proto::LookupReply answer;
  if (!Parse(request, &question) || !Parse(reply, &answer) ||
      // Misses are not kept: the entry may be there a moment later.
      !AllFound(answer, question.digests_size())) {
    return;
  }
  absl::MutexLock lock(&mutex_);
  Follow();
  // Drops a reply if kilnd has removed an entry since the request.
  if (asked.generation != kept_of_ || index_.contains(asked.key)) return;
  while (!order_.empty() && bytes_ + size > max_bytes_) Drop(std::prev(order_.end()));
  bytes_ += size;
  order_.push_front({std::move(asked.key),
                     std::move(caller),
                     {question.digests().begin(), question.digests().end()},
                     reply});
  index_[order_.front().key] = order_.begin();
}

std::vector<Replies::Hits> Replies::TakeHits() {
  absl::MutexLock lock(&mutex_);
  for (Item& item : order_) Count(&item);
  std::vector<Hits> taken;
  taken.reserve(hits_.size());
  for (auto& [caller, hits] : hits_) taken.push_back(std::move(hits));
  hits_.clear();
  return taken;
}

void Replies::Follow() {
  const uint64_t now = generation_->now();
  if (now == kept_of_) return;
  kept_of_ = now;
  while (!order_.empty()) Drop(order_.begin());
}

void Replies::Drop(Order::iterator item) {
  Count(&*item);
  bytes_ -= SizeOf(item->key, item->reply);
  index_.erase(item->key);
  order_.erase(item);
}

void Replies::Count(Item* item) {
  const uint64_t count = std::exchange(item->answered, 0);
  if (count == 0) return;
  Hits& hits = hits_[item->caller->key];
  hits.caller = item->caller;
  hits.request.set_requests(hits.request.requests() + count);
  // kilnd needs the digests to know what was used: its eviction drops the least recently used.
  for (const std::string& digest : item->digests) {
    proto::HitsRequest::Hit* hit = hits.request.add_hits();
    hit->set_digest(digest);
    hit->set_count(count);
  }
}

}  // namespace kiln
