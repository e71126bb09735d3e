#include "server/remote/remote_tiers.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/digest.h"

namespace kiln {
namespace {

constexpr absl::Duration kGetLimit = absl::Milliseconds(250);
constexpr absl::Duration kPutLimit = absl::Seconds(10);
constexpr absl::Duration kLeaseTtl = absl::Seconds(2);
// While somebody else compiles: how often we look whether it is done.
constexpr absl::Duration kFirstPoll = absl::Milliseconds(20);
constexpr absl::Duration kLastPoll = absl::Milliseconds(200);
// Looked up in one go; and what one reply may carry: the rest is not found.
constexpr size_t kPlacesAtOnce = 32;
// Upstreams that clients name, in all of a life.
constexpr size_t kMaxNamed = 32;
constexpr size_t kMaxReplyBytes = size_t{64} << 20;

absl::Duration OrDefault(uint32_t milliseconds, absl::Duration otherwise) {
  return milliseconds == 0 ? otherwise : absl::Milliseconds(milliseconds);
}

// So that those who wait for one key do not ask all at once.
absl::Duration Jittered(absl::Duration pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  return pause * std::uniform_real_distribution<>(0.75, 1.25)(random);
}

bool Parse(const std::string& raw, Digest* out) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(raw);
  if (digest.ok()) *out = *digest;
  return digest.ok();
}

}  // namespace

RemoteTiers::RemoteTiers(const proto::Configure& config, Log log)
    : log_(std::move(log)), config_(config) {
  for (const proto::Tier& tier : config.tiers()) {
    std::string name = tier.name().empty() ? KindOf(tier) : tier.name();
    // Two of a kind are told apart.
    const auto same = [&](const auto& server) { return server->name == name; };
    if (std::any_of(servers_.begin(), servers_.end(), same)) {
      absl::StrAppend(&name, "-", servers_.size() + 1);
    }
    std::unique_ptr<Server> server = MakeServer(MakeTier(tier, config), tier, std::move(name));
    if (server == nullptr) continue;
    if (lease_server_ == nullptr && server->made.leases != nullptr) {
      lease_server_ = server.get();
      lease_ttl_ = OrDefault(tier.redis().lease_ms(), kLeaseTtl);
    }
    servers_.push_back(std::move(server));
  }
  if (config.has_execution()) {
    auto server = MakeServer(MakeExecutor(config), proto::Tier(), "execution");
    if (server != nullptr) servers_.push_back(std::move(server));
  }
  if (lease_server_ != nullptr) {
    held_ = std::make_unique<HeldLeases>(lease_server_->made.leases.get(), lease_ttl_);
  }
}

RemoteTiers::~RemoteTiers() = default;

std::unique_ptr<RemoteTiers::Server> RemoteTiers::MakeServer(absl::StatusOr<MadeTier> made,
                                                             const proto::Tier& tier,
                                                             std::string name) {
  if (!made.ok()) {
    log_(absl::StrCat("tier ", name, " is left out: ", made.status().message()));
    return nullptr;
  }
  auto server = std::make_unique<Server>();
  server->reads = tier.mode() != proto::WRITE_ONLY;
  server->writes = tier.mode() != proto::READ_ONLY && made->takes;
  server->get_limit = OrDefault(tier.get_ms(), kGetLimit);
  server->put_limit = OrDefault(tier.put_ms(), kPutLimit);
  server->made = *std::move(made);
  Breaker::Options options;
  options.log = log_;
  server->breaker = std::make_unique<Breaker>(absl::StrCat("tier ", name), options);
  server->name = std::move(name);
  return server;
}

RemoteTiers::Server* RemoteTiers::Named(const proto::Upstream& upstream) {
  for (const proto::Tier& tier : config_.tiers()) {
    // Configured anyway, with all that it takes to be let in there.
    if (tier.upstream().address() == upstream.address()) return nullptr;
  }
  absl::MutexLock lock(&named_mutex_);
  const std::string key = upstream.SerializeAsString();
  if (named_.size() >= kMaxNamed && named_.count(key) == 0) return nullptr;
  auto [at, fresh] = named_.try_emplace(key);
  if (fresh) {
    proto::Tier tier;
    *tier.mutable_upstream() = upstream;
    at->second =
        MakeServer(MakeTier(tier, config_), tier, absl::StrCat("upstream ", upstream.address()));
  }
  return at->second.get();
}

proto::ConfigureReply RemoteTiers::Describe() const {
  proto::ConfigureReply reply;
  for (const auto& server : servers_) {
    reply.add_tiers(server->name);
    if (server->made.compiles != nullptr) reply.set_delegates(true);
  }
  reply.set_leases(lease_server_ != nullptr);
  return reply;
}

std::vector<std::string> RemoteTiers::Get(Server& server, absl::Span<const Digest> places) {
  std::vector<std::string> nothing(places.size());
  if (!server.reads || server.made.store == nullptr || !server.breaker->Allow()) return nothing;
  auto entries = server.made.store->Get(places, absl::Now() + server.get_limit);
  server.breaker->Report(entries.status());
  if (!entries.ok() || entries->size() != places.size()) return nothing;
  return *std::move(entries);
}

bool RemoteTiers::Put(Server& server, const Digest& place, absl::string_view entry) {
  if (!server.writes || server.made.store == nullptr || !server.breaker->Allow()) return false;
  const absl::Status status = server.made.store->Put(place, entry, absl::Now() + server.put_limit);
  // A server that lets us read only is in order, and is not asked again.
  if (absl::IsPermissionDenied(status)) {
    if (server.writes.exchange(false)) {
      log_(absl::StrCat("tier ", server.name, " is only read: ", status.message()));
    }
    server.breaker->Report(absl::OkStatus());
    return false;
  }
  server.breaker->Report(status);
  return status.ok();
}

void RemoteTiers::Find(Server& server, absl::Span<const Digest> places, proto::FetchReply* reply) {
  size_t bytes = 0;
  std::vector<int> missing;
  for (int i = 0; i < reply->results_size(); ++i) {
    bytes += reply->results(i).entry().size();
    if (reply->results(i).entry().empty()) missing.push_back(i);
  }
  for (size_t from = 0; from < missing.size() && bytes < kMaxReplyBytes; from += kPlacesAtOnce) {
    const size_t to = std::min(from + kPlacesAtOnce, missing.size());
    std::vector<Digest> asked;
    for (size_t i = from; i < to; ++i) asked.push_back(places[missing[i]]);
    std::vector<std::string> entries = Get(server, asked);
    for (size_t i = from; i < to; ++i) {
      std::string& entry = entries[i - from];
      if (entry.empty() || bytes + entry.size() > kMaxReplyBytes) continue;
      bytes += entry.size();
      proto::FetchReply::Result* result = reply->mutable_results(missing[i]);
      result->set_entry(std::move(entry));
      result->set_tier(server.name);
    }
  }
}

proto::FetchReply RemoteTiers::Fetch(const proto::FetchRequest& request) {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(request.wait_ms());
  proto::FetchReply reply;
  std::vector<Digest> places;
  for (const std::string& raw : request.places()) {
    Digest place;
    if (!Parse(raw, &place)) return proto::FetchReply();
    places.push_back(place);
    reply.add_results();
  }
  for (const auto& server : servers_) Find(*server, places, &reply);
  if (request.has_upstream()) {
    if (Server* named = Named(request.upstream())) Find(*named, places, &reply);
  }
  if (request.lease() && places.size() == 1 && reply.results(0).entry().empty()) {
    WaitOrTake(places[0], deadline, &reply);
  }
  return reply;
}

absl::StatusOr<std::string> RemoteTiers::TakeLease(const Digest& place) {
  Server& server = *lease_server_;
  if (!server.breaker->Allow()) return absl::UnavailableError("not asked for now");
  absl::StatusOr<std::string> token = server.made.leases->Acquire(place, lease_ttl_);
  server.breaker->Report(token.status());
  return token;
}

void RemoteTiers::WaitOrTake(const Digest& place, absl::Time deadline, proto::FetchReply* reply) {
  if (lease_server_ == nullptr) return;
  for (absl::Duration pause = kFirstPoll;; pause = std::min(pause * 1.5, kLastPoll)) {
    absl::StatusOr<std::string> token = TakeLease(place);
    if (!token.ok()) return;  // nobody to agree with: everyone compiles for himself
    if (!token->empty()) held_->Hold(place, *token);
    // Also with the lease: who had it before may have stored and let go since we looked.
    std::string entry = Get(*lease_server_, {place})[0];
    if (!entry.empty()) {
      held_->Release(*token);
      reply->mutable_results(0)->set_entry(std::move(entry));
      reply->mutable_results(0)->set_tier(lease_server_->name);
      return;
    }
    if (!token->empty()) {
      reply->set_lease(*token);
      return;
    }
    reply->set_waited(true);
    if (stopping_ || absl::Now() + pause > deadline) return;
    absl::SleepFor(Jittered(pause));
  }
}

void RemoteTiers::Store(const proto::StoreRequest& request) {
  Digest place;
  if (Parse(request.place(), &place)) {
    for (const auto& server : servers_) {
      // Those behind the one that had it have not been asked.
      if (!request.from().empty() && server->name == request.from()) break;
      Put(*server, place, request.entry());
    }
  }
  if (held_ != nullptr) held_->Release(request.lease());
}

void RemoteTiers::Release(const proto::ReleaseRequest& request) {
  if (held_ != nullptr) held_->Release(request.lease());
}

absl::StatusOr<proto::DelegateReply> RemoteTiers::Delegate(const proto::DelegateRequest& request) {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(request.wait_ms());
  proto::CompileRequest job;
  Digest key;
  if (!job.ParseFromString(request.request()) || !Parse(request.key(), &key)) {
    return absl::InvalidArgumentError("a request to compile elsewhere that does not parse");
  }
  absl::Status last = absl::UnavailableError("nobody else compiles");
  std::vector<Server*> able;
  if (request.has_upstream()) able.push_back(Named(request.upstream()));
  for (const auto& server : servers_) able.push_back(server.get());
  for (Server* server : able) {
    if (server == nullptr || server->made.compiles == nullptr || !server->breaker->Allow()) {
      continue;
    }
    absl::StatusOr<proto::CompileReply> reply = server->made.compiles->Compile(job, key, deadline);
    // Trouble with this unit, or too much work, says nothing of the server.
    if (!absl::IsInternal(reply.status()) && !absl::IsResourceExhausted(reply.status())) {
      server->breaker->Report(reply.status());
    }
    if (!reply.ok()) {
      last = reply.status();
      continue;
    }
    proto::DelegateReply out;
    // What was made for us is no hit.
    if (reply->tier() != "compiled") reply->set_tier(server->name);
    out.set_reply(reply->SerializeAsString());
    out.set_trusted(server->made.trusted);
    return out;
  }
  return last;
}

void RemoteTiers::Stop() {
  stopping_ = true;
  if (held_ != nullptr) held_->ReleaseAll();
}

}  // namespace kiln
