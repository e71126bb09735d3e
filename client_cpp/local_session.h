// The session of Session::Create. Private to session.cc and local_session*.cc.
#ifndef KILN_CLIENT_CPP_LOCAL_SESSION_H_
#define KILN_CLIENT_CPP_LOCAL_SESSION_H_

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client_cpp/daemon_client.h"
#include "client_cpp/disk_tier.h"
#include "client_cpp/entry_trust.h"
#include "client_cpp/manifest_recorder.h"
#include "client_cpp/mutex.h"
#include "client_cpp/private_worker.h"
#include "client_cpp/session.h"
#include "common/artifact/entry.h"
#include "common/home/home.h"

namespace kiln {

// For requests without a compilation: a daemon that takes longer hangs.
inline constexpr absl::Duration kControlTimeout = absl::Seconds(10);

class LocalSession : public Session {
 public:
  LocalSession(Home home, SessionOptions options)
      : home_(std::move(home)),
        own_home_(home_.CheckIsOwn()),
        own_cache_(home_.CheckIsOwnWithCache()),
        options_(std::move(options)),
        trust_(home_),
        disk_(home_, &trust_, {options_.read_only || !own_home_.ok(), !own_cache_.ok()}),
        manifest_(options_.records_manifest ? ManifestRecorder::OfProcess() : nullptr),
        state_(new State(home_, options_)) {}

  ~LocalSession() override {
    State* state = state_.load();
    // A forked child must not stop its parent's worker.
    // In a child, locks of the state may be held by threads that do not exist there.
    if (state->pid == getpid()) delete state;
  }

  absl::StatusOr<CompileOutcome> Compile(proto::CompileUnit unit,
                                         const proto::SourceMap& source_map,
                                         const proto::ReportOptions& report) override;
  absl::StatusOr<CompileOutcome> Fetch(const Key& key) override;
  int Prefetch(absl::Span<const Key> keys) override;
  absl::StatusOr<CompileOutcome> Warm(const proto::CompileRequest& recorded,
                                      Target target) override;
  absl::StatusOr<EntryOutcome> FetchEntry(proto::CompileUnit unit,
                                          const proto::SourceMap& source_map) override;
  absl::StatusOr<proto::LinkReply> Link(proto::LinkRequest request) override;
  CompilerIds compiler() override { return CompilerId(Current()); }
  uint32_t glibc() const override { return options_.glibc; }
  SessionStats stats() const override {
    State& state = Current();
    MutexLock lock(&state.mutex);
    return state.stats;
  }
  const std::string& home() const override { return home_.dir(); }
  bool read_only() const override { return options_.read_only || !own_home_.ok(); }
  const absl::Status& own_home() const override { return own_home_; }
  absl::StatusOr<proto::StatsReply> DaemonStats() override;
  absl::StatusOr<proto::MetricsReply> DaemonMetrics() override;
  absl::StatusOr<proto::RecentReply> DaemonRecent(const proto::RecentRequest& request) override;
  absl::StatusOr<proto::ClearReply> ClearCache() override;
  absl::Status StopDaemon() override;

 private:
  // One compilation or fetch. Other callers with the same key wait for it.
  struct Flight {
    Mutex mutex;
    std::condition_variable_any is_done;
    bool done ABSL_GUARDED_BY(mutex) = false;
    absl::StatusOr<CompileOutcome> outcome ABSL_GUARDED_BY(mutex) = CompileOutcome();
  };
  // A kernel in the process's own table. Code for CUDA is loaded for one of the devices; null: code
  // for CPUs.
  using Slot = std::pair<Key, const Device*>;
  // The state that does not survive a fork; a child starts with a new one.
  struct State {
    State(const Home& home, const SessionOptions& options);

    const pid_t pid;
    const State* parents = nullptr;  // in a forked child: the parent's state, unused but not leaked
    DaemonClient daemon;
    PrivateWorker worker;
    Mutex mutex;
    absl::flat_hash_map<Slot, std::shared_ptr<Flight>> flights ABSL_GUARDED_BY(mutex);
    // Entries that Prefetch received and that are not used yet.
    absl::flat_hash_map<Key, proto::LookupReply::Result> prefetched ABSL_GUARDED_BY(mutex);
    SessionStats stats ABSL_GUARDED_BY(mutex);
    // Empty until known: from the home's record, or from the first compilation.
    CompilerIds compiler ABSL_GUARDED_BY(mutex);
    bool looked_for_compiler ABSL_GUARDED_BY(mutex) = false;
  };
  struct Job {
    const std::string& canonical;
    const proto::SourceMap& source_map;
    const proto::ReportOptions& report;
    CompilerIds compiler;  // empty if unknown
    Key key;
    Device* cuda = nullptr;  // for LoadBytes
    bool load = true;        // false: only make the entry
    proto::Priority priority = proto::PRIORITY_INTERACTIVE;
  };

  using Obtainer = absl::FunctionRef<absl::StatusOr<CompileOutcome>()>;

  absl::StatusOr<CompileOutcome> Get(State& state, Job job, absl::Time start);
  State& Current() const;
  CompilerIds CompilerId(State& state) const;
  static absl::StatusOr<CompileOutcome> Await(Flight& flight, absl::Time start);
  absl::StatusOr<CompileOutcome> Shared(State& state, const Slot& slot, Obtainer obtain);
  absl::StatusOr<CompileOutcome> Obtain(State& state, const Job& job);
  absl::StatusOr<CompileOutcome> Find(State& state, const Key& key, bool ask, Device* cuda);
  absl::StatusOr<proto::LookupReply::Result> FindSent(State& state, const Key& key, bool ask);
  absl::StatusOr<EntryView> CheckSent(const std::string& bytes, const Key& key) const;
  absl::StatusOr<EntryOutcome> FindEntry(State& state, const Key& key);
  absl::StatusOr<proto::LookupReply> Lookup(State& state, absl::Span<const Key> keys);
  absl::Status CheckKeeps(absl::string_view what) const;
  bool TryDaemon(State& state) const;
  bool GiveUpDaemon(State& state, const absl::Status& why) const;
  absl::Status WithoutStranger(const absl::Status& refusal, const Digest& its_compiler) const;
  absl::Status CheckWorksAlone(const absl::Status& why) const;
  absl::Time Deadline() const;
  void SayWhoseHome() const;
  void SayFallback(const std::string& why) const;
  absl::StatusOr<proto::CompileReply> Ask(State& state, const Job& job, CompilerIds* compiler);
  absl::StatusOr<CompileOutcome> Take(State& state, const Job& job, proto::CompileReply reply,
                                      CompilerIds compiler);
  void Count(State& state, const CompileOutcome& outcome) const;
  // Whether the user chose to use no daemon. A daemon would write to the home, so a read-only
  // session also uses none.
  bool wants_none() const {
    return options_.server == "off" || !options_.use_cache || options_.read_only;
  }
  // The same, or others can write to the home, which no daemon serves.
  bool off() const { return wants_none() || !own_cache_.ok(); }

  const Home home_;
  const absl::Status own_home_;
  const absl::Status own_cache_;  // own_home_, if that is an error
  const SessionOptions options_;
  const EntryTrust trust_;
  const DiskTier disk_;
  ManifestRecorder* const manifest_;  // or nullptr
  mutable std::atomic<State*> state_;
  mutable std::atomic<bool> warned_{false};
  mutable std::atomic<bool> warned_of_home_{false};
  mutable std::atomic<bool> warned_of_upstream_{false};
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_LOCAL_SESSION_H_
