#include "server/observe/activity.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

constexpr size_t kMaxRecent = 512;
constexpr size_t kMaxSlowest = 64;
constexpr uint64_t kMaxUnitBytes = 4 << 20;  // of all units together
constexpr uint32_t kDefaultLimit = 100;

double CompileSeconds(const proto::RequestRecord& record) {
  double sum = 0;
  for (const proto::StageReport& stage : record.stages()) sum += stage.seconds();
  return sum;
}

}  // namespace

Activity::Session::Session(Activity* owner, std::shared_ptr<Client> client)
    : owner_(owner), client_(std::move(client)) {}

Activity::Session::~Session() {
  absl::MutexLock lock(&owner_->mutex_);
  // So the map is as large as the number of connected callers.
  if (--client_->connections == 0) owner_->clients_.erase(client_->name);
}

std::unique_ptr<Activity::Session> Activity::Enter(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Client>& client = clients_[name];
  if (client == nullptr) client = std::make_shared<Client>(name);
  ++client->connections;
  return std::make_unique<Session>(this, client);
}

void Activity::Note(proto::RequestRecord record) {
  auto shared = std::make_shared<proto::RequestRecord>(std::move(record));
  absl::MutexLock lock(&mutex_);
  KeepUnit(shared);
  // Only compilations: the slowest hits would say nothing about kernels.
  if (shared->stages_size() > 0) Rank(shared);
  recent_.push_front(std::move(shared));
  if (recent_.size() > kMaxRecent) recent_.pop_back();
}

void Activity::KeepUnit(const std::shared_ptr<proto::RequestRecord>& record) {
  if (record->unit().empty()) return;
  // One large unit must not push out those of all other kernels.
  if (record->unit().size() > kMaxUnitBytes / 4) {
    record->clear_unit();
    return;
  }
  // The two lists hold fewer records than this, so one of these is in neither. It is near the
  // front: only the slowest records stay longer than newer ones.
  if (with_unit_.size() > kMaxRecent + kMaxSlowest) {
    const auto left = std::find_if(with_unit_.begin(), with_unit_.end(),
                                   [](const auto& old) { return old.use_count() == 1; });
    unit_bytes_ -= (*left)->unit().size();
    with_unit_.erase(left);
  }
  unit_bytes_ += record->unit().size();
  with_unit_.push_back(record);
  while (unit_bytes_ > kMaxUnitBytes) {
    unit_bytes_ -= with_unit_.front()->unit().size();
    with_unit_.front()->clear_unit();
    with_unit_.pop_front();
  }
}

void Activity::Rank(const std::shared_ptr<proto::RequestRecord>& record) {
  const double seconds = CompileSeconds(*record);
  if (slowest_.size() >= kMaxSlowest && CompileSeconds(*slowest_.back()) >= seconds) return;
  // One row for each kernel: its slowest compilation.
  slowest_.erase(std::remove_if(slowest_.begin(), slowest_.end(),
                                [&](const auto& old) { return old->digest() == record->digest(); }),
                 slowest_.end());
  auto place = std::find_if(slowest_.begin(), slowest_.end(),
                            [&](const auto& old) { return CompileSeconds(*old) < seconds; });
  slowest_.insert(place, record);
  if (slowest_.size() > kMaxSlowest) slowest_.pop_back();
}

proto::RecentReply Activity::Recent(const proto::RecentRequest& request) const {
  const uint32_t limit = request.limit() == 0 ? kDefaultLimit : request.limit();
  proto::RecentReply reply;
  absl::MutexLock lock(&mutex_);
  const auto take = [&](const Records& records) {
    for (const auto& record : records) {
      if (reply.requests_size() >= static_cast<int>(std::min<size_t>(limit, kMaxRecent))) return;
      if (!request.digest().empty() && record->digest() != request.digest()) continue;
      proto::RequestRecord* out = reply.add_requests();
      *out = *record;
      // Units are large; only a request for one kernel gets it.
      if (request.digest().empty()) out->clear_unit();
    }
  };
  if (!request.slowest()) take(recent_);
  // A kernel that is requested by key may be in either list.
  if (request.slowest() || !request.digest().empty()) take(slowest_);
  for (const auto& [name, client] : clients_) {
    proto::ClientRecord* out = reply.add_clients();
    out->set_name(name);
    out->set_connections(client->connections);
    out->set_running(client->running);
    out->set_requests(client->requests);
  }
  return reply;
}

uint32_t Activity::clients() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<uint32_t>(clients_.size());
}

}  // namespace kiln
