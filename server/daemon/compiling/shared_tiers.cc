#include "server/daemon/compiling/shared_tiers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/wire/version.h"
#include "server/daemon/workers/worker_process.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

// The first number after the standard streams; Spawn puts the socket there.
constexpr int kRemoteFd = 3;
// Covers loading the program and reading certificates on a busy machine.
constexpr absl::Duration kStartLimit = absl::Seconds(10);
// For a whole frame. The peer is a local process that always reads, so a slower one hangs.
constexpr absl::Duration kTransferLimit = absl::Seconds(2);
// A live process answers immediately; this allows for a busy machine.
constexpr absl::Duration kSignOfLife = absl::Seconds(1);
constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
constexpr absl::Duration kLastBackoff = absl::Seconds(10);
// A process that ran for this time resets the back-off.
constexpr absl::Duration kGoodLife = absl::Seconds(5);
constexpr absl::Duration kDefaultGet = absl::Milliseconds(250);
constexpr absl::Duration kDefaultLease = absl::Seconds(2);
// kilnd-remote's own limits expire first.
constexpr absl::Duration kSlack = absl::Milliseconds(250);
// A slow server must not hold the memory of all that is compiled meanwhile.
constexpr size_t kMaxQueuedBytes = size_t{64} << 20;
constexpr absl::Duration kFlushLimit = absl::Seconds(2);
// Enough for a release to each server, and short enough for the shutdown of the daemon.
constexpr absl::Duration kEndLimit = absl::Milliseconds(700);

absl::Duration GetLimitOf(const proto::Config& config) {
  // The tiers are asked one after the other, so their limits add up.
  absl::Duration sum = kSlack;
  for (const proto::Tier& tier : config.tier()) {
    sum += tier.get_ms() == 0 ? kDefaultGet : absl::Milliseconds(tier.get_ms());
  }
  return sum;
}

absl::Duration LeaseTtlOf(const proto::Config& config) {
  for (const proto::Tier& tier : config.tier()) {
    if (tier.redis().lease_ms() != 0) return absl::Milliseconds(tier.redis().lease_ms());
  }
  return kDefaultLease;
}

// Waits without limit for the next frame.
// ReadFrame alone would count the idle time before a frame against its limit.
absl::Status AwaitFrame(int fd) {
  pollfd entry = {fd, POLLIN, 0};
  while (poll(&entry, 1, -1) < 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
  }
  return absl::OkStatus();
}

// The metric of each kind of request: a histogram each, since their speeds differ.
const char* SecondsOf(proto::Asked::What what) {
  switch (what) {
    case proto::Asked::PUT:
      return "kiln_shared_put_seconds";
    case proto::Asked::COMPILE:
      return "kiln_shared_compile_seconds";
    case proto::Asked::LEASE:
      return "kiln_shared_lease_seconds";
    default:
      return "kiln_shared_get_seconds";
  }
}

template <typename Reply>
void Observe(const Reply& reply) {
  Metrics& metrics = Metrics::Get();
  for (const proto::Asked& asked : reply.asked()) {
    metrics.histogram(SecondsOf(asked.what()), asked.tier())
        ->Observe(absl::Seconds(asked.seconds()));
    if (asked.failed()) metrics.counter("kiln_shared_failures_total", asked.tier())->Add();
    // A tier that failed repeatedly is not asked for a while; operators see it here.
    metrics.gauge("kiln_shared_left_alone", asked.tier())->Set(asked.left_alone() ? 1 : 0);
  }
}

SharedTiers::Fetched Move(proto::FetchReply* reply, int i) {
  SharedTiers::Fetched out;
  out.entry = std::move(*reply->mutable_results(i)->mutable_entry());
  out.tier = reply->results(i).tier();
  out.lease = reply->lease();
  out.waited = reply->waited();
  return out;
}

}  // namespace

SharedTiers::SharedTiers(Options options)
    : options_(std::move(options)),
      configured_(options_.config.tier_size() > 0 || options_.config.has_execution()),
      // One more than the configured tiers, for an upstream that a client names.
      get_limit_(kDefaultGet + GetLimitOf(options_.config)),
      lease_ttl_(LeaseTtlOf(options_.config)) {
  absl::MutexLock lock(&mutex_);
  if (configured_) Start();
}

void SharedTiers::Start() {
  // Three threads: one reads and restarts, one writes so that no caller blocks on a full pipe, one
  // watches deadlines.
  started_ = true;
  supervisor_ = std::thread([this] { Supervise(); });
  writer_ = std::thread([this] { Write(); });
  timer_ = std::thread([this] { Time(); });
}

void SharedTiers::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    auto flushed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return fd_ < 0 || (queue_.empty() && !writing_ && requests_.empty());
    };
    // Entries that are still queued are hits for other machines; two seconds are worth them.
    mutex_.AwaitWithTimeout(absl::Condition(&flushed), kFlushLimit);
    stopping_ = true;
    if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
    if (!started_) return;
  }
  writer_.join();
  supervisor_.join();
  timer_.join();
}

bool SharedTiers::delegates(const std::string& upstream) const {
  absl::MutexLock lock(&mutex_);
  return delegates_ || !upstream.empty();
}

SharedTiers::Stats SharedTiers::stats() const {
  absl::MutexLock lock(&mutex_);
  Stats stats = stats_;
  stats.queued_bytes = queued_bytes_;
  return stats;
}

uint64_t SharedTiers::Ask(FrameType type, std::string body, absl::Duration limit,
                          std::function<void(absl::StatusOr<Frame>)> done) {
  {
    absl::MutexLock lock(&mutex_);
    if (!down_ && !stopping_) {
      // Without configured tiers, the process starts when the first client names an upstream.
      if (!started_) Start();
      // With each request, so that a process that hangs is detected within its time.
      AskForLife();
      Outgoing frame;
      frame.id = next_id_++;
      frame.type = type;
      frame.body = std::move(body);
      const uint32_t id = frame.id;
      requests_[id] = Request{SteadyNow() + limit, /*ping=*/false, std::move(done)};
      queue_.push_back(std::move(frame));
      return id;
    }
  }
  // Outside of the lock: the callback may ask again.
  done(absl::UnavailableError("kilnd-remote does not run"));
  return 0;
}

// Sends an empty Fetch, which kilnd-remote answers immediately, even while it waits for servers. So
// a missing answer means that kilnd-remote hangs, and not a server.
void SharedTiers::AskForLife() {
  // Not while it starts: Configure has a limit of its own.
  if (ping_ != 0 || fd_ < 0) return;
  pinged_ = SteadyNow();
  Outgoing frame;
  frame.id = ping_ = next_id_++;
  frame.type = FrameType::kFetch;
  requests_[ping_] = Request{SteadyNow() + kSignOfLife, /*ping=*/true, nullptr};
  queue_.push_back(std::move(frame));
}

uint64_t SharedTiers::Fetch(const Place& place, const std::string& upstream, absl::Duration wait,
                            OnFetched done) {
  proto::FetchRequest request;
  request.add_places(std::string(place.view()));
  // A miss leads to a compilation, so the lease is taken in the same round trip: other machines
  // then wait for this entry.
  request.set_lease(true);
  if (!upstream.empty()) request.mutable_upstream()->ParseFromString(upstream);
  request.set_wait_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(wait)));
  auto take = [this, done = std::move(done)](absl::StatusOr<Frame> frame) {
    proto::FetchReply reply;
    // A failure of the shared tiers is a miss, never an error of the program.
    if (!frame.ok() || !ParseReply(*frame, FrameType::kFetchReply, &reply).ok() ||
        reply.results_size() != 1) {
      return done(Fetched());
    }
    Observe(reply);
    // Another machine compiled the kernel meanwhile.
    if (reply.waited()) {
      absl::MutexLock lock(&mutex_);
      ++stats_.waits;
    }
    done(Move(&reply, 0));
  };
  return Ask(FrameType::kFetch, request.SerializeAsString(), get_limit_ + wait, std::move(take));
}

std::vector<SharedTiers::Fetched> SharedTiers::Find(absl::Span<const Place> places,
                                                    const std::string& upstream) {
  // No lease here: look-ups of many keys do not promise to compile any of them.
  std::vector<Fetched> found(places.size());
  if (!serves(upstream) || places.empty()) return found;
  proto::FetchRequest request;
  if (!upstream.empty()) request.mutable_upstream()->ParseFromString(upstream);
  for (const Place& place : places) request.add_places(std::string(place.view()));
  absl::BlockingCounter answered(1);
  // The callback runs exactly once, on a reply, at the limit or when the process ends. So the
  // references to this frame's locals stay valid.
  Ask(FrameType::kFetch, request.SerializeAsString(), get_limit_, [&](absl::StatusOr<Frame> frame) {
    proto::FetchReply reply;
    if (frame.ok() && ParseReply(*frame, FrameType::kFetchReply, &reply).ok() &&
        reply.results_size() == static_cast<int>(found.size())) {
      Observe(reply);
      for (size_t i = 0; i < found.size(); ++i) {
        found[i] = Move(&reply, static_cast<int>(i));
      }
    }
    answered.DecrementCount();
  });
  answered.Wait();
  return found;
}

uint64_t SharedTiers::Delegate(std::string request, const Key& key, const std::string& upstream,
                               absl::Duration wait, OnDelegated done) {
  proto::DelegateRequest delegate;
  if (!upstream.empty()) delegate.mutable_upstream()->ParseFromString(upstream);
  delegate.set_request(std::move(request));
  // The reply must have this key: an upstream of another compiler would return other code.
  delegate.set_key(std::string(key.view()));
  delegate.set_wait_ms(
      static_cast<uint32_t>(std::min<int64_t>(absl::ToInt64Milliseconds(wait), INT32_MAX)));
  auto take = [done = std::move(done)](absl::StatusOr<Frame> frame) {
    proto::DelegateReply reply;
    const absl::Status status =
        frame.ok() ? ParseReply(*frame, FrameType::kDelegateReply, &reply) : frame.status();
    if (!status.ok()) return done(status);
    Observe(reply);
    done(std::move(reply));
  };
  return Ask(FrameType::kDelegate, delegate.SerializeAsString(), wait + kSlack, std::move(take));
}

void SharedTiers::Cancel(uint64_t request) {
  // Callbacks run without the lock, because they may start the next request.
  std::function<void(absl::StatusOr<Frame>)> done;
  {
    absl::MutexLock lock(&mutex_);
    auto at = requests_.find(static_cast<uint32_t>(request));
    // Already answered: its callback ran or is running.
    if (at == requests_.end()) return;
    done = std::move(at->second.done);
    requests_.erase(at);
  }
  done(absl::CancelledError("cancelled"));
}

void SharedTiers::Store(const Place& place, EntryPtr entry, const std::string& lease,
                        const std::string& from) {
  absl::MutexLock lock(&mutex_);
  if (!started_ || stopping_) return;
  Outgoing frame;
  frame.id = next_id_++;
  // The queue is full or kilnd-remote is down: dropping the entry costs another machine a hit.
  if (down_ || queued_bytes_ + entry->bytes.size() > kMaxQueuedBytes) {
    ++stats_.dropped;
    if (lease.empty()) return;
    // Without the entry, other machines must not wait for it any longer.
    proto::ReleaseRequest release;
    release.set_lease(lease);
    frame.type = FrameType::kRelease;
    frame.body = release.SerializeAsString();
  } else {
    // Counts until it is stored, not only sent: this bounds both sides of the pipe.
    Request request{absl::InfiniteFuture(), /*ping=*/false, nullptr, entry->bytes.size()};
    queued_bytes_ += request.stores;
    requests_[frame.id] = std::move(request);
    frame.type = FrameType::kStore;
    // The entry is shared, not copied, until the writer takes it.
    frame.place = place;
    frame.entry = std::move(entry);
    frame.lease = lease;
    frame.from = from;
  }
  queue_.push_back(std::move(frame));
}

void SharedTiers::Release(const std::string& lease, bool fruitless) {
  // No tier granted one, so no machine waits.
  if (lease.empty()) return;
  proto::ReleaseRequest release;
  release.set_lease(lease);
  release.set_fruitless(fruitless);
  absl::MutexLock lock(&mutex_);
  if (!started_ || stopping_ || down_) return;
  Outgoing frame;
  frame.id = next_id_++;
  frame.type = FrameType::kRelease;
  frame.body = release.SerializeAsString();
  queue_.push_back(std::move(frame));
}

// The thread that runs kilnd-remote, and restarts it with growing pauses until the end.
void SharedTiers::Supervise() {
  absl::Duration backoff = kFirstBackoff;
  absl::Status said;
  while (true) {
    const absl::Time start = SteadyNow();
    const absl::Status end = Live();
    {
      absl::MutexLock lock(&mutex_);
      // Before FailAll: its callbacks may ask again, and must not wait for a process that has
      // ended.
      down_ = true;
    }
    // Every request gets its answer, though the process is gone: callers count on exactly one.
    FailAll(end);
    EndProcess();
    // A process that worked for a while did not fail because of its configuration.
    if (SteadyNow() - start > kGoodLife) backoff = kFirstBackoff;
    absl::MutexLock lock(&mutex_);
    if (stopping_) break;
    // Logs each reason once: a missing program is missing at every attempt.
    if (end != said) Log("shared tiers: ", end.message(), "; it is restarted as often as needed");
    said = end;
    PauseUnless(stopping_, backoff, &mutex_);
    if (stopping_) break;
    // After the pause. Requests until then fail at once, and the daemon compiles by itself.
    down_ = false;
    backoff = std::min(2 * backoff, kLastBackoff);
  }
}

// One run of kilnd-remote: from its start to the end of its stream. Returns why it ended.
absl::Status SharedTiers::Live() {
  ASSIGN_OR_RETURN(const int fd, StartProcess());
  absl::Status status = Configure(fd);
  if (status.ok()) {
    {
      absl::MutexLock lock(&mutex_);
      fd_ = fd;
    }
    status = Read(fd);
    absl::MutexLock lock(&mutex_);
    fd_ = -1;
    // Stops the writer in the middle of a frame.
    shutdown(fd, SHUT_RDWR);
    auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !writing_; };
    mutex_.Await(absl::Condition(&idle));
  }
  close(fd);
  return status;
}

absl::StatusOr<int> SharedTiers::StartProcess() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  std::vector<std::string> args = LogFlags();
  args.push_back(absl::StrCat("--fd=", kRemoteFd));
  absl::StatusOr<pid_t> pid = Spawn(options_.program, args, ends[1]);
  // Our copy of the child's end, otherwise the end of the child would never be seen as the end of
  // the stream.
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  pid_ = *pid;
  absl::MutexLock lock(&mutex_);
  ++stats_.starts;
  return ends[0];
}

proto::Configure SharedTiers::ToAsk(const Options& options) {
  proto::Configure config;
  *config.mutable_tiers() = options.config.tier();
  if (options.config.has_execution()) *config.mutable_execution() = options.config.execution();
  // Without a compiler of our own, no upstream can be compatible.
  if (absl::StatusOr<CompilerIds> compiler = options.compiler(); compiler.ok()) {
    config.set_compiler(std::string(compiler->cpu.view()));
  }
  config.set_build(kVersion);
  config.set_worker(options.worker);
  return config;
}

absl::Status SharedTiers::Configure(int fd) {
  const proto::Configure config = ToAsk(options_);
  // Blocks only the supervisor's thread: requests queue until `fd_` is set.
  const absl::Time deadline = SteadyNow() + kStartLimit;
  RETURN_IF_ERROR(WriteFrame(fd, FrameType::kConfigure, 0, config, deadline));
  ASSIGN_OR_RETURN(const Frame frame, ReadFrame(fd, deadline));
  proto::ConfigureReply reply;
  RETURN_IF_ERROR(ParseReply(frame, FrameType::kConfigureReply, &reply));
  // Initially all tiers count as working.
  for (const std::string& tier : reply.tiers()) {
    Metrics::Get().gauge("kiln_shared_left_alone", tier)->Set(0);
  }
  absl::MutexLock lock(&mutex_);
  delegates_ = reply.delegates();
  return absl::OkStatus();
}

absl::Status SharedTiers::Read(int fd) {
  while (true) {
    RETURN_IF_ERROR(AwaitFrame(fd));
    absl::StatusOr<Frame> frame = ReadFrame(fd, SteadyNow() + kTransferLimit);
    if (!frame.ok()) {
      return absl::UnavailableError(
          absl::StrCat("kilnd-remote ended (", frame.status().message(), ")"));
    }
    Take(*std::move(frame));
  }
}

void SharedTiers::Take(Frame frame) {
  std::function<void(absl::StatusOr<Frame>)> done;
  {
    absl::MutexLock lock(&mutex_);
    if (frame.id == ping_) ping_ = 0;  // kilnd-remote is alive; the next check may begin
    auto at = requests_.find(frame.id);
    if (at != requests_.end()) {
      done = std::move(at->second.done);
      queued_bytes_ -= at->second.stores;
      requests_.erase(at);
    }
  }
  // Stores have no callback; only their bytes were counted. Outside of the lock, as in Cancel.
  if (done != nullptr) return done(std::move(frame));
  proto::StoreReply stored;
  proto::FetchReply late;
  if (frame.type == FrameType::kStoreReply && stored.ParseFromString(frame.body)) {
    Observe(stored);
  } else if (frame.type == FrameType::kFetchReply && late.ParseFromString(frame.body)) {
    // No request waits for this reply any more; release the lease that it may carry.
    Observe(late);
    Release(late.lease());
  }
}

void SharedTiers::Time() {
  std::vector<std::function<void(absl::StatusOr<Frame>)>> late;
  auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !requests_.empty();
  };
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    mutex_.Await(absl::Condition(&has_work));
    // A coarse tick, so that new requests need not wake this thread.
    PauseUnless(stopping_, kTick, &mutex_);
    const absl::Time now = SteadyNow();
    // All requests each tick: there are few at a time, and an order by deadline would cost every
    // request.
    for (auto at = requests_.begin(); at != requests_.end();) {
      auto request = at++;
      if (request->second.deadline > now) continue;
      if (request->second.ping) {
        Log("shared tiers: kilnd-remote does not answer");
        if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
      } else {
        late.push_back(std::move(request->second.done));
        ++stats_.timeouts;
      }
      requests_.erase(request);
    }
    // At most one liveness check at a time.
    if (!requests_.empty() && now - pinged_ > kSignOfLife) AskForLife();
    if (late.empty()) continue;
    // The callbacks may ask again, which takes the lock.
    mutex_.Unlock();
    for (auto& done : late) done(absl::DeadlineExceededError("kilnd-remote is too slow"));
    late.clear();
    mutex_.Lock();
  }
}

void SharedTiers::FailAll(const absl::Status& why) {
  absl::flat_hash_map<uint32_t, Request> failed;
  {
    absl::MutexLock lock(&mutex_);
    // The callbacks run without the lock and find no request of the old process.
    failed.swap(requests_);
    for (const auto& [id, request] : failed) stats_.dropped += request.stores > 0 ? 1 : 0;
    queue_.clear();
    queued_bytes_ = 0;
    delegates_ = false;
    ping_ = 0;
  }
  for (auto& [id, request] : failed) {
    if (request.done != nullptr) request.done(why);
  }
}

// Gives it time to release its leases: its stream has ended.
void SharedTiers::EndProcess() {
  if (pid_ <= 0) return;
  const absl::Time give_up = SteadyNow() + kEndLimit;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (SteadyNow() > give_up) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  pid_ = -1;
}

void SharedTiers::Write() {
  while (true) {
    Outgoing out;
    int fd;
    {
      absl::MutexLock lock(&mutex_);
      auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || (fd_ >= 0 && !queue_.empty());
      };
      mutex_.Await(absl::Condition(&has_work));
      if (stopping_) return;
      out = std::move(queue_.front());
      queue_.pop_front();
      fd = fd_;
      // Live waits for this flag before it closes the descriptor, whose number could be reused at
      // once.
      writing_ = true;
    }
    // Serialise entries only now: the queue shares the memory tier's bytes instead of copies.
    if (out.entry != nullptr) {
      proto::StoreRequest store;
      store.set_place(std::string(out.place.view()));
      store.set_entry(out.entry->bytes);
      store.set_lease(out.lease);
      store.set_from(out.from);
      out.body = store.SerializeAsString();
    }
    const absl::Status sent =
        WriteFrame(fd, out.type, out.id, out.body, SteadyNow() + kTransferLimit);
    // A partly sent frame makes the stream unusable; the reader sees the end.
    if (!sent.ok()) shutdown(fd, SHUT_RDWR);
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
}

}  // namespace kiln
