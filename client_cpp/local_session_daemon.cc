// The part of a session that talks to the daemon, and goes on without one.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "client_cpp/local_session.h"
#include "client_cpp/offline_cache.h"
#include "client_cpp/upstream.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/user_keys.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/programs.h"

namespace kiln {
namespace {

bool NamesUpstream(const SessionOptions& options) {
  return !options.server.empty() && options.server != "off";
}

// The fields of each greeting to the daemon. They contain this program's upstream and trusted keys,
// because another program, with another environment, may have started the daemon.
proto::Hello WishesOf(const Home& home, const SessionOptions& options) {
  proto::Hello hello;
  if (!NamesUpstream(options)) return hello;
  *hello.mutable_upstream() = *ParseUpstream(options.server);  // Create has checked it
  // If the keys cannot be read, the check of a signature reports it.
  if (const absl::StatusOr<TrustedKeys> keys = ReadUserKeys(home); keys.ok()) {
    for (const std::string& line : keys->Lines()) hello.mutable_upstream()->add_trusted_key(line);
  }
  hello.set_upstream_required(options.strict);
  return hello;
}

}  // namespace

LocalSession::State::State(const Home& home, const SessionOptions& options)
    : pid(getpid()),
      daemon(home, options.bin_dir, WishesOf(home, options)),
      worker(options.bin_dir) {}

absl::StatusOr<proto::LinkReply> LocalSession::Link(proto::LinkRequest request) {
  State& state = Current();
  request.set_deadline_ms(options_.compile_timeout_ms);
  const absl::Time deadline = Deadline();
  absl::Status status = state.daemon.given_up();
  if (TryDaemon(state)) {
    proto::LinkReply reply;
    CompilerIds compiler;
    status = state.daemon.Call(FrameType::kLink, request, FrameType::kLinkReply, &reply, deadline,
                               &compiler);
    // Also a daemon that knows no link jobs.
    status = WithoutStranger(status, compiler.cpu);
    if (status.ok()) return reply;
    if (!GiveUpDaemon(state, status)) return status;
  }
  RETURN_IF_ERROR(CheckWorksAlone(status));
  return state.worker.Link(request, deadline);
}

// FailedPrecondition, with `what` and the reason, if this session may not change the cache.
absl::Status LocalSession::CheckKeeps(absl::string_view what) const {
  if (!own_cache_.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": ", own_cache_.message()));
  }
  if (!options_.read_only) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, ": it is read-only"));
}

bool LocalSession::TryDaemon(State& state) const { return !off() && state.daemon.Usable(); }

// Returns whether `why` means that the daemon is unavailable. If so, opens the breaker, and warns
// the first time.
bool LocalSession::GiveUpDaemon(State& state, const absl::Status& why) const {
  const bool absent =
      absl::IsUnavailable(why) || absl::IsFailedPrecondition(why) || absl::IsPermissionDenied(why);
  if (!absent) return false;
  // From here on calls do not wait for it, until the breaker tries again.
  state.daemon.GiveUp(why);
  if (!options_.strict && !warned_.exchange(true)) {
    std::fprintf(stderr, "kiln: compiling without a daemon for now: %s\n",
                 std::string(why.message()).c_str());
  }
  return true;
}

// A daemon of another build may not understand this build's messages, and refuse them as unknown.
// Then this process continues without a daemon; otherwise returns `refusal`.
absl::Status LocalSession::WithoutStranger(const absl::Status& refusal,
                                           const Digest& its_compiler) const {
  // Starting a worker to ask for its id takes long, so only this refusal leads there.
  if (!absl::IsInvalidArgument(refusal)) return refusal;
  const auto own = AskCompilerId(ProgramIn(options_.bin_dir, "kiln-worker"));
  if (!own.ok() || own->ids.cpu == its_compiler) return refusal;
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon is of another build of Kiln: ", refusal.message(), "; kiln stop ends it"));
}

// OK if a private worker may do what the daemon did not. `why`: the daemon's failure.
absl::Status LocalSession::CheckWorksAlone(const absl::Status& why) const {
  // A deliberate choice of no daemon is not a failure of one.
  if (!options_.strict || wants_none()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "no daemon, and KILN_STRICT=1: ", own_cache_.ok() ? why.message() : own_cache_.message()));
}

// Reports once that the home is not own. A read-only session of an own home needs no report.
void LocalSession::SayWhoseHome() const {
  if (own_cache_.ok() || options_.strict || !options_.use_cache) return;
  if (options_.read_only && own_home_.ok()) return;
  if (warned_of_home_.exchange(true)) return;
  std::fprintf(stderr, "kiln: using only signed entries of %s, storing nothing there: %s\n",
               home_.dir().c_str(), std::string(own_cache_.message()).c_str());
}

// Reports once why the kilnd that the user named is not used.
void LocalSession::SayFallback(const std::string& why) const {
  if (why.empty() || !NamesUpstream(options_) || warned_of_upstream_.exchange(true)) return;
  std::fprintf(stderr, "kiln: KILN_SERVER=%s: %s; compiling without it for now\n",
               options_.server.c_str(), why.c_str());
}

absl::StatusOr<proto::StatsReply> LocalSession::DaemonStats() {
  proto::StatsReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kStats, proto::StatsRequest(),
                                     FrameType::kStatsReply, &reply, SteadyNow() + kControlTimeout);
  return status.ok() ? reply : OfflineStats(home_);
}

absl::StatusOr<proto::MetricsReply> LocalSession::DaemonMetrics() {
  proto::MetricsReply reply;
  RETURN_IF_ERROR(Current().daemon.CallIfRunning(FrameType::kMetrics, proto::MetricsRequest(),
                                                 FrameType::kMetricsReply, &reply,
                                                 SteadyNow() + kControlTimeout));
  return reply;
}

absl::StatusOr<proto::RecentReply> LocalSession::DaemonRecent(const proto::RecentRequest& request) {
  proto::RecentReply reply;
  RETURN_IF_ERROR(Current().daemon.CallIfRunning(
      FrameType::kRecent, request, FrameType::kRecentReply, &reply, SteadyNow() + kControlTimeout));
  return reply;
}

absl::StatusOr<proto::ClearReply> LocalSession::ClearCache() {
  RETURN_IF_ERROR(CheckKeeps("the cache cannot be cleared"));
  proto::ClearReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kClear, proto::ClearRequest(),
                                     FrameType::kClearReply, &reply, SteadyNow() + kControlTimeout);
  return status.ok() ? reply : OfflineClear(home_);
}

absl::Status LocalSession::StopDaemon() {
  proto::ShutdownReply reply;
  const absl::Time deadline = SteadyNow() + kControlTimeout;
  DaemonClient& daemon = Current().daemon;
  absl::Status status = daemon.CallIfRunning(FrameType::kShutdown, proto::ShutdownRequest(),
                                             FrameType::kShutdownReply, &reply, deadline);
  if (status.ok()) daemon.AwaitEnd(deadline);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace kiln
