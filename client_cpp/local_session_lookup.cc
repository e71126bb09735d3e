// The part of a session that finds what is compiled: in the process, on disk, at the daemon.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "client_cpp/devices.h"
#include "client_cpp/local_session.h"
#include "client_cpp/mutex.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"

namespace kiln {
namespace {

// The approximate limit on the bytes that Prefetch keeps.
// A program may name thousands of kernels, and use few of them.
constexpr size_t kMaxPrefetchBytes = size_t{64} << 20;

}  // namespace

absl::StatusOr<CompileOutcome> LocalSession::Fetch(const Key& key) {
  State& state = Current();
  if (!options_.use_cache) return absl::NotFoundError("this session uses no cache");
  const absl::Time start = SteadyNow();
  Device* const cuda = CudaDeviceInUse();
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&state.mutex);
    auto at = state.flights.find(Slot(key, nullptr));
    if (at == state.flights.end()) at = state.flights.find(Slot(key, cuda));
    if (at != state.flights.end()) flight = at->second;
  }
  if (flight != nullptr) return Await(*flight, start);
  // Not published in the table until it is found: a compiling thread must not wait for a look-up
  // that may miss.
  ASSIGN_OR_RETURN(CompileOutcome outcome, Find(state, key, /*ask=*/!off(), cuda));
  outcome.wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  Count(state, outcome);
  flight = std::make_shared<Flight>();
  {
    MutexLock lock(&flight->mutex);
    flight->outcome = outcome;
    flight->done = true;
  }
  MutexLock lock(&state.mutex);
  state.flights.emplace(Slot(key, outcome.kernel->device()), std::move(flight));
  return outcome;
}

// Finds an existing entry: on disk, among the prefetched or, if `ask`, at the daemon. NotFound for
// any failure.
absl::StatusOr<CompileOutcome> LocalSession::Find(State& state, const Key& key, bool ask,
                                                  Device* cuda) {
  CompileOutcome outcome;
  outcome.digest = key.Hex();
  outcome.tier = "disk";
  auto loaded = disk_.Load(key, cuda);
  if (!loaded.ok()) {
    ASSIGN_OR_RETURN(const proto::LookupReply::Result result, FindSent(state, key, ask));
    ASSIGN_OR_RETURN(const EntryView entry, CheckSent(result.entry(), key));
    outcome.tier = result.tier();
    loaded = disk_.LoadSent(result.entry(), entry, cuda);
  }
  if (!loaded.ok()) return absl::NotFoundError(loaded.status().message());
  outcome.kernel = std::move(loaded->kernel);
  outcome.info = std::move(loaded->info);
  outcome.compile_seconds = outcome.info->compile_seconds();
  return outcome;
}

// What the daemon has sent of `key`: among the prefetched or, if `ask`, now. NotFound if nothing.
absl::StatusOr<proto::LookupReply::Result> LocalSession::FindSent(State& state, const Key& key,
                                                                  bool ask) {
  proto::LookupReply::Result result;
  {
    MutexLock lock(&state.mutex);
    if (auto at = state.prefetched.find(key); at != state.prefetched.end()) {
      result = std::move(at->second);
      state.prefetched.erase(at);
    }
  }
  if (!result.found() && ask) {
    ASSIGN_OR_RETURN(proto::LookupReply reply, Lookup(state, {key}));
    if (reply.results_size() == 1) result = std::move(*reply.mutable_results(0));
  }
  if (!result.found()) return absl::NotFoundError("no such entry");
  return result;
}

absl::StatusOr<EntryView> LocalSession::CheckSent(const std::string& bytes, const Key& key) const {
  ASSIGN_OR_RETURN(EntryView entry, DecodeEntry(bytes, &key));
  // The daemon checked it too, but by its own configuration.
  if (trust_.required()) RETURN_IF_ERROR(trust_.Check(entry));
  return entry;
}

int LocalSession::Prefetch(absl::Span<const Key> keys) {
  State& state = Current();
  if (off()) return 0;
  absl::flat_hash_set<Key> seen;
  std::vector<Key> missing;
  for (const Key& key : keys) {
    // Whether the file is good shows when it is loaded; asking for it twice costs more than a rare
    // miss.
    if (seen.insert(key).second && access(home_.EntryPath(PlaceOf(key)).c_str(), R_OK) != 0) {
      missing.push_back(key);
    }
  }
  int found = 0;
  size_t bytes = 0;
  // A full reply omits the remaining entries; request these again.
  while (!missing.empty() && bytes < kMaxPrefetchBytes) {
    absl::StatusOr<proto::LookupReply> reply = Lookup(state, missing);
    if (!reply.ok() || reply->results_size() != static_cast<int>(missing.size())) break;
    std::vector<Key> left_out;
    const int before = found;
    MutexLock lock(&state.mutex);
    for (int i = 0; i < reply->results_size(); ++i) {
      proto::LookupReply::Result& result = *reply->mutable_results(i);
      if (result.left_out()) left_out.push_back(missing[i]);
      if (!result.found()) continue;
      ++found;
      bytes += result.entry().size();
      // Kept as bytes: most are loaded later, some never.
      state.prefetched[missing[i]] = std::move(result);
    }
    if (found == before) break;  // no progress, so another request would not help
    missing = std::move(left_out);
  }
  return found;
}

// Finds an existing entry like Find, and loads nothing.
absl::StatusOr<EntryOutcome> LocalSession::FindEntry(State& state, const Key& key) {
  EntryOutcome outcome;
  if (auto read = disk_.Read(key); read.ok()) {
    outcome.entry = *std::move(read);
    outcome.tier = "disk";
    return outcome;
  }
  ASSIGN_OR_RETURN(proto::LookupReply::Result result, FindSent(state, key, /*ask=*/!off()));
  RETURN_IF_ERROR(CheckSent(result.entry(), key).status());
  outcome.entry = std::move(*result.mutable_entry());
  outcome.tier = result.tier();
  return outcome;
}

absl::StatusOr<proto::LookupReply> LocalSession::Lookup(State& state, absl::Span<const Key> keys) {
  if (!TryDaemon(state)) return absl::UnavailableError(state.daemon.given_up().message());
  proto::LookupRequest request;
  for (const Key& key : keys) request.add_digests(std::string(key.view()));
  proto::LookupReply reply;
  absl::Status status = state.daemon.Call(FrameType::kLookup, request, FrameType::kLookupReply,
                                          &reply, SteadyNow() + kControlTimeout);
  if (status.ok()) return reply;
  GiveUpDaemon(state, status);
  return status;
}

}  // namespace kiln
