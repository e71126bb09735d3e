#include "server/remote/remote_tiers.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// A look-up must not take longer than most compilations, but an upload is waited for by no program.
constexpr absl::Duration kGetLimit = absl::Milliseconds(250);
constexpr absl::Duration kPutLimit = absl::Seconds(10);
constexpr absl::Duration kLeaseTtl = absl::Seconds(2);
// How often we look for the entry while another machine compiles it.
constexpr absl::Duration kFirstPoll = absl::Milliseconds(20);
constexpr absl::Duration kLastPoll = absl::Milliseconds(200);
// The number of upstreams that clients may name during a run.
constexpr size_t kMaxNamed = 32;
// The limit of one reply; further entries count as not found.
constexpr size_t kMaxReplyBytes = size_t{64} << 20;

absl::Duration OrDefault(uint32_t milliseconds, absl::Duration otherwise) {
  return milliseconds == 0 ? otherwise : absl::Milliseconds(milliseconds);
}

// Spreads the polls of machines that wait for one key.
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
    // Makes the names of tiers of one kind unique.
    const auto same = [&](const auto& server) { return server->name == name; };
    if (std::any_of(servers_.begin(), servers_.end(), same)) {
      absl::StrAppend(&name, "-", servers_.size() + 1);
    }
    auto server = MakeServer(MakeTier(tier, config), tier, std::move(name));
    // One wrong tier is logged and left out: programs go on with the others.
    if (!server.ok()) continue;
    // Leases of two servers would not exclude each other, so the first server that has them serves
    // all.
    if (lease_server_ == nullptr && (*server)->made.leases != nullptr) {
      lease_server_ = server->get();
      lease_ttl_ = OrDefault(tier.redis().lease_ms(), kLeaseTtl);
    }
    (*server)->configured = true;
    servers_.push_back(*std::move(server));
  }
  if (config.has_execution()) {
    auto server = MakeServer(MakeExecutor(config), proto::Tier(), "execution");
    if (server.ok()) servers_.push_back(*std::move(server));
  }
  if (lease_server_ != nullptr) {
    held_ = std::make_unique<HeldLeases>(lease_server_->made.leases.get(), lease_ttl_);
  }
}

RemoteTiers::~RemoteTiers() = default;

absl::StatusOr<std::unique_ptr<RemoteTiers::Server>> RemoteTiers::MakeServer(
    absl::StatusOr<MadeTier> made, const proto::Tier& tier, std::string name) {
  if (!made.ok()) {
    log_(absl::StrCat("tier ", name, " is left out: ", made.status().message()));
    return made.status();
  }
  auto server = std::make_unique<Server>();
  server->upstream = tier.upstream().address();
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

absl::StatusOr<RemoteTiers::Server*> RemoteTiers::Named(const proto::Upstream& upstream) {
  // Tiers of other kinds have no address either.
  if (upstream.address().empty()) return absl::InvalidArgumentError("an upstream without address");
  for (const auto& server : servers_) {
    // The configured upstream has the credentials needed there.
    if (server->upstream == upstream.address()) return server.get();
  }
  absl::MutexLock lock(&named_mutex_);
  const std::string key = upstream.SerializeAsString();
  // By the whole message: the same address with other credentials is another server.
  auto at = named_.find(key);
  if (at == named_.end()) {
    // Each has a channel and threads; a client could otherwise make any number.
    if (named_.size() >= kMaxNamed) {
      return absl::ResourceExhaustedError(
          absl::StrCat("programs have named ", kMaxNamed, " upstreams already"));
    }
    proto::Tier tier;
    *tier.mutable_upstream() = upstream;
    auto server =
        MakeServer(MakeTier(tier, config_), tier, absl::StrCat("upstream ", upstream.address()));
    at = named_.emplace(key, std::move(server)).first;
  }
  RETURN_IF_ERROR(at->second.status());
  return at->second->get();
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

void RemoteTiers::Note(Server& server, proto::Asked::What what, absl::Time start,
                       const absl::Status& status, AskedList* asked) {
  proto::Asked* note = asked->Add();
  note->set_tier(server.name);
  note->set_what(what);
  note->set_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  note->set_failed(server.breaker->Report(status, what));
  note->set_left_alone(server.breaker->open());
}

std::vector<std::string> RemoteTiers::Get(Server& server, absl::Span<const Place> places,
                                          AskedList* asked) {
  std::vector<std::string> nothing(places.size());
  // A tier that is left alone looks like one that has nothing.
  if (!server.reads || server.made.store == nullptr || !server.breaker->Allow()) return nothing;
  const absl::Time start = SteadyNow();
  auto entries = server.made.store->Get(places, start + server.get_limit);
  Note(server, proto::Asked::GET, start, entries.status(), asked);
  // A reply of another length cannot be matched to the places.
  if (!entries.ok() || entries->size() != places.size()) return nothing;
  return *std::move(entries);
}

void RemoteTiers::Put(Server& server, const Place& place, absl::string_view entry,
                      AskedList* asked) {
  if (!server.writes || server.made.store == nullptr || !server.breaker->Allow()) return;
  const absl::Time start = SteadyNow();
  absl::Status status = server.made.store->Put(place, entry, start + server.put_limit);
  // A server that refuses our writes works, but is not asked to store again.
  if (absl::IsPermissionDenied(status)) {
    if (server.writes.exchange(false)) {
      log_(absl::StrCat("tier ", server.name, " is only read: ", status.message()));
    }
    status = absl::OkStatus();
  }
  // So does one that is full: what it has is still found.
  if (absl::IsResourceExhausted(status)) {
    if (!server.full.exchange(true)) {
      log_(absl::StrCat("tier ", server.name, " takes no more for now: ", status.message()));
    }
    status = absl::OkStatus();
  } else if (status.ok()) {
    server.full = false;
  }
  Note(server, proto::Asked::PUT, start, status, asked);
}

absl::StatusOr<proto::CompileReply> RemoteTiers::Compile(Server& server,
                                                         const proto::CompileRequest& job,
                                                         const Key& key, absl::Time deadline,
                                                         AskedList* asked) {
  if (!server.breaker->Allow()) return server.breaker->why();
  const absl::Time start = SteadyNow();
  absl::StatusOr<proto::CompileReply> reply = server.made.compiles->Compile(job, key, deadline);
  // A problem of this unit, or overload, is not the server's failure.
  const bool blameless =
      absl::IsInternal(reply.status()) || absl::IsResourceExhausted(reply.status());
  Note(server, proto::Asked::COMPILE, start, blameless ? absl::OkStatus() : reply.status(), asked);
  return reply;
}

void RemoteTiers::Find(Server& server, absl::Span<const Place> places, proto::FetchReply* reply) {
  size_t bytes = 0;
  std::vector<int> missing;
  // What earlier tiers found counts too: all entries travel in one frame.
  for (int i = 0; i < reply->results_size(); ++i) {
    bytes += reply->results(i).entry().size();
    if (reply->results(i).entry().empty()) missing.push_back(i);
  }
  if (missing.empty()) return;
  std::vector<Place> asked;
  asked.reserve(missing.size());
  for (const int i : missing) asked.push_back(places[i]);
  std::vector<std::string> entries = Get(server, asked, reply->mutable_asked());
  for (size_t i = 0; i < missing.size(); ++i) {
    // A later, smaller entry may still fit. The daemon asks again for the others.
    if (entries[i].empty() || bytes + entries[i].size() > kMaxReplyBytes) continue;
    bytes += entries[i].size();
    proto::FetchReply::Result* result = reply->mutable_results(missing[i]);
    result->set_entry(std::move(entries[i]));
    result->set_tier(server.name);
  }
}

proto::FetchReply RemoteTiers::Fetch(const proto::FetchRequest& request) {
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(request.wait_ms());
  proto::FetchReply reply;
  std::vector<Place> places;
  for (const std::string& raw : request.places()) {
    Place place;
    // kilnd made the request, so this is a mistake of its own; a reply of no results means "nothing
    // found".
    if (!Parse(raw, &place)) return proto::FetchReply();
    places.push_back(place);
    reply.add_results();
  }
  // In the configured order, each server only for what the earlier ones lack.
  for (const auto& server : servers_) Find(*server, places, &reply);
  if (request.has_upstream()) {
    // If the upstream is one of the tiers, it was asked already and lacks the remaining entries.
    if (auto named = Named(request.upstream()); named.ok() && !(*named)->configured) {
      Find(**named, places, &reply);
    }
  }
  // Leases are for compilations, which ask for one place. Look-ups of many places take none.
  if (request.lease() && places.size() == 1 && reply.results(0).entry().empty()) {
    WaitOrTake(places[0], deadline, &reply);
  }
  return reply;
}

absl::StatusOr<Leases::Answer> RemoteTiers::TakeLease(const Place& place, AskedList* asked) {
  Server& server = *lease_server_;
  if (!server.breaker->Allow()) return absl::UnavailableError("not asked for now");
  const absl::Time start = SteadyNow();
  absl::StatusOr<Leases::Answer> answer = server.made.leases->Acquire(place, lease_ttl_);
  // A server that is full has no leases, and still has its entries.
  const bool full = absl::IsResourceExhausted(answer.status());
  Note(server, proto::Asked::LEASE, start, full ? absl::OkStatus() : answer.status(), asked);
  return answer;
}

void RemoteTiers::WaitOrTake(const Place& place, absl::Time deadline, proto::FetchReply* reply) {
  if (lease_server_ == nullptr) return;
  for (absl::Duration pause = kFirstPoll;; pause = std::min(pause * 1.5, kLastPoll)) {
    absl::StatusOr<Leases::Answer> answer = TakeLease(place, reply->mutable_asked());
    // No server has leases, or compiling gives no entry: every machine compiles for itself.
    if (!answer.ok() || answer->fruitless) return;
    const std::string& token = answer->token;
    // Held from the first moment: this process renews it until kilnd stores or releases.
    if (!token.empty()) held_->Hold(place, token);
    // Look again after taking the lease: its previous holder may have stored the entry and released
    // the lease since.
    std::string entry = Get(*lease_server_, {place}, reply->mutable_asked())[0];
    if (!entry.empty()) {
      held_->Release(token);
      reply->mutable_results(0)->set_entry(std::move(entry));
      reply->mutable_results(0)->set_tier(lease_server_->name);
      return;
    }
    if (!token.empty()) {
      reply->set_lease(token);
      return;
    }
    reply->set_waited(true);
    // Without an entry or lease: kilnd compiles after all, since the holder of the lease may hang.
    if (stopping_ || SteadyNow() + pause > deadline) return;
    absl::SleepFor(Jittered(pause));
  }
}

proto::StoreReply RemoteTiers::Store(const proto::StoreRequest& request) {
  proto::StoreReply reply;
  Place place;
  if (Parse(request.place(), &place)) {
    for (const auto& server : servers_) {
      // The tiers behind the one that had it were not asked.
      if (!request.from().empty() && server->name == request.from()) break;
      Put(*server, place, request.entry(), reply.mutable_asked());
    }
  }
  // After the entry is stored: machines that wait find it when they get the lease.
  if (held_ != nullptr) held_->Release(request.lease());
  return reply;
}

void RemoteTiers::Release(const proto::ReleaseRequest& request) {
  if (held_ != nullptr) held_->Release(request.lease(), request.fruitless());
}

proto::DelegateReply RemoteTiers::Delegate(const proto::DelegateRequest& request) {
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(request.wait_ms());
  proto::DelegateReply out;
  proto::CompileRequest job;
  Key key;
  if (!job.ParseFromString(request.request()) || !Parse(request.key(), &key)) return out;
  std::vector<Server*> able;
  Server* wanted = nullptr;
  if (request.has_upstream()) {
    absl::StatusOr<Server*> named = Named(request.upstream());
    if (named.ok()) {
      // First: the program asked for it.
      able.push_back(wanted = *named);
    } else {
      out.set_upstream_failure(std::string(named.status().message()));
    }
  }
  for (const auto& server : servers_) {
    if (server.get() != wanted && server->made.compiles != nullptr) able.push_back(server.get());
  }
  // One after the other: two compilations of one unit would waste a machine.
  for (Server* server : able) {
    absl::StatusOr<proto::CompileReply> reply =
        Compile(*server, job, key, deadline, out.mutable_asked());
    if (!reply.ok()) {
      if (server == wanted) out.set_upstream_failure(std::string(reply.status().message()));
      continue;
    }
    // A compilation on our behalf is not a hit.
    if (reply->tier() != "compiled") reply->set_tier(server->name);
    out.set_reply(reply->SerializeAsString());
    // From the configuration: such results need no signature.
    out.set_trusted(server->made.trusted);
    return out;
  }
  return out;
}

void RemoteTiers::Stop() {
  stopping_ = true;
  if (held_ != nullptr) held_->ReleaseAll();
}

}  // namespace kiln
