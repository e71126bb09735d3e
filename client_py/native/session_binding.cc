// Session for Python.
#include "client_py/native/session_binding.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client_cpp/connection.h"
#include "client_cpp/instance.h"
#include "client_cpp/session.h"
#include "client_cpp/upstream.h"
#include "client_py/native/daemon_binding.h"
#include "client_py/native/gil.h"
#include "client_py/native/id_caster.h"
#include "client_py/native/instance_binding.h"
#include "client_py/native/message_fields.h"
#include "client_py/native/status_error.h"
#include "common/artifact/target.h"
#include "common/home/home.h"
#include "runtime/cpu_device.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Releases the GIL during a call that waits for the daemon.
template <typename Call>
auto Unlocked(const Call& call) {
  const GilReleased release;
  return call();
}

// Runs Python's signal handlers while the compiler works. An exception that a handler raises
// (KeyboardInterrupt) becomes the error of the call.
absl::Status RunSignalHandlers() {
  const GilTaken acquire;
  return PyErr_CheckSignals() == 0 ? absl::OkStatus() : absl::CancelledError("interrupted");
}

template <typename Call>
auto Interruptible(const Call& call) {
  return ValueOrRaise(Unlocked([&] {
    const InterruptCheck interrupts(&RunSignalHandlers);
    return call();
  }));
}

std::shared_ptr<Session> Create(const std::string& home, const std::string& server,
                                const std::string& bin_dir, bool use_cache) {
  SessionOptions options;
  options.home = home;
  options.server = server;
  options.bin_dir = bin_dir;
  options.use_cache = use_cache;
  options.records_manifest = false;  // warm/program.py does, of all sessions
  options.returns_recorded = true;
  return ValueOrRaise(Unlocked([&] { return Session::Create(options); }));
}

Target ParseTarget(const std::string& text) {
  const std::optional<Target> target = Target::Parse(text);
  if (!target.has_value()) {
    throw py::value_error("target '" + text + "': one of " + CompiledTargetTexts() + " expected");
  }
  return *target;
}

CompileSettings SettingsFrom(std::string name, const py::dict& code,
                             std::vector<std::vector<ParamId>> aliases) {
  CompileSettings settings;
  settings.name = std::move(name);
  SetFields(code, &settings.code);
  settings.aliases = std::move(aliases);
  return settings;
}

// What an export compiles: what `builder` built, for any target.
FinishedUnit Finish(KernelBuilder& builder, std::string name, const py::dict& code,
                    std::vector<std::vector<ParamId>> aliases) {
  return ValueOrRaise(
      FinishUnit(&builder, SettingsFrom(std::move(name), code, std::move(aliases))));
}

// (Instance, what it can be compiled from again).
py::tuple Compile(Session& session, KernelBuilder& builder, std::string name, const py::dict& code,
                  const py::dict& report, const std::string& target,
                  std::vector<std::vector<ParamId>> aliases) {
  CompileSettings settings = SettingsFrom(std::move(name), code, std::move(aliases));
  SetFields(report, &settings.report);
  if (!target.empty()) settings.target = ParseTarget(target);
  InstanceOutcome made = Interruptible([&] { return MakeInstance(session, &builder, settings); });
  if (made.instance == nullptr) RaiseCompileFailed(made.diagnostics);
  return py::make_tuple(std::const_pointer_cast<Instance>(made.instance), py::bytes(made.recorded));
}

// The instance of a key from an earlier process's record; null if no cache has its entry.
std::shared_ptr<Instance> Fetch(Session& session, const py::bytes& digest, const py::bytes& writes,
                                const py::bytes& texts) {
  const absl::StatusOr<Key> key = Key::FromBytes(std::string(digest));
  if (!key.ok()) return nullptr;
  absl::StatusOr<CompileOutcome> outcome = Unlocked([&] { return session.Fetch(*key); });
  if (!outcome.ok() || outcome->kernel == nullptr) return nullptr;
  std::vector<bool> written;
  for (const char one : std::string(writes)) written.push_back(one != 0);
  return std::make_shared<Instance>(*std::move(outcome), std::move(written), std::string(texts));
}

int Prefetch(Session& session, const std::vector<py::bytes>& digests) {
  std::vector<Key> keys;
  for (const py::bytes& raw : digests) {
    if (auto key = Key::FromBytes(std::string(raw)); key.ok()) keys.push_back(*key);
  }
  return Unlocked([&] { return session.Prefetch(keys); });
}

// Session::Warm of serialised `bytes`: (digest, tier, seconds waited, seconds of compiling,
// diagnostics, stages).
py::tuple Warm(Session& session, const py::bytes& bytes, const std::string& target_text,
               bool print_ir) {
  proto::CompileRequest recorded;
  if (!recorded.ParseFromString(std::string(bytes))) throw py::value_error("not a recorded kernel");
  recorded.mutable_report()->set_print_ir(print_ir);
  recorded.mutable_report()->set_timing(print_ir);
  const Target target = target_text.empty() ? CpuDevice().target() : ParseTarget(target_text);
  const CompileOutcome done = Interruptible([&] { return session.Warm(recorded, target); });
  return py::make_tuple(done.digest, done.tier, done.wait_seconds, done.compile_seconds,
                        DiagnosticsList(Located(done.diagnostics, recorded.source_map())),
                        StagesList(done.stages));
}

// The id in keys of code for CUDA devices, or for CPUs; "" while it is unknown.
py::bytes CompilerFor(Session& session, bool is_cuda) {
  const CompilerIds ids = Unlocked([&] { return session.compiler(); });
  return py::bytes(ids.empty() ? "" : std::string(ids.For(is_cuda).view()));
}

py::dict SessionStatsDict(const Session& session) {
  const SessionStats stats = session.stats();
  py::dict result;
  result["kernels"] = stats.kernels;
  result["hits"] = stats.hits;
  result["misses"] = stats.misses;
  result["seconds_saved"] = stats.seconds_saved;
  return result;
}

py::dict Recent(Session& session, uint32_t limit, bool slowest) {
  proto::RecentRequest request;
  request.set_limit(limit);
  request.set_slowest(slowest);
  return RecentDict(ValueOrRaise(Unlocked([&] { return session.DaemonRecent(request); })));
}

py::dict ClearCache(Session& session) {
  const proto::ClearReply reply = ValueOrRaise(Unlocked([&] { return session.ClearCache(); }));
  py::dict result;
  result["entries"] = reply.entries();
  result["bytes"] = reply.bytes();
  return result;
}

std::vector<std::string> CodeOptionNames() {
  const auto* descriptor = proto::CodeOptions::descriptor();
  std::vector<std::string> names;
  names.reserve(descriptor->field_count());
  for (int i = 0; i < descriptor->field_count(); ++i) names.push_back(descriptor->field(i)->name());
  return names;
}

std::string UpstreamTier(const std::string& server) {
  proto::Tier tier;
  tier.set_name("KILN_SERVER");
  *tier.mutable_upstream() = ValueOrRaise(ParseUpstream(server));
  return absl::StrCat("tier { ", tier.ShortDebugString(), " }");
}

}  // namespace

void BindSession(py::module_& m) {
  py::class_<Session, std::shared_ptr<Session>>(m, "Session")
      .def(py::init(&Create), py::arg("home") = "", py::arg("server") = "", py::arg("bin_dir") = "",
           py::arg("use_cache") = true)
      .def("compile", &Compile, py::arg("builder"), py::arg("name"), py::arg("code"),
           py::arg("report"), py::arg("target"), py::arg("aliases"))
      .def("fetch", &Fetch, py::arg("digest"), py::arg("writes"), py::arg("texts"))
      .def("prefetch", &Prefetch)
      .def("warm", &Warm, py::arg("recorded"), py::arg("target") = "", py::arg("print_ir") = false)
      .def_property_readonly("compiler", [](Session& s) { return CompilerFor(s, false); })
      .def_property_readonly("cuda_compiler", [](Session& s) { return CompilerFor(s, true); })
      .def_property_readonly("glibc", &Session::glibc)
      .def("stats", &SessionStatsDict)
      .def("daemon_stats",
           [](Session& session) {
             return StatsDict(ValueOrRaise(Unlocked([&] { return session.DaemonStats(); })));
           })
      .def("daemon_metrics",
           [](Session& session) {
             return MetricsDict(ValueOrRaise(Unlocked([&] { return session.DaemonMetrics(); })));
           })
      .def("daemon_recent", &Recent, py::arg("limit") = 0, py::arg("slowest") = false)
      .def("clear_cache", &ClearCache)
      .def("stop_daemon",
           [](Session& session) { RaiseIfError(Unlocked([&] { return session.StopDaemon(); })); })
      .def_property_readonly("read_only", &Session::read_only)
      .def_property_readonly("own_home",
                             [](const Session& session) { return session.own_home().ok(); })
      .def_property_readonly("home", &Session::home);
  const py::class_<FinishedUnit> finished_unit(m, "FinishedUnit");
  m.def("finish_unit", &Finish, py::arg("builder"), py::arg("name"), py::arg("code"),
        py::arg("aliases"));
  m.def("code_option_names", &CodeOptionNames);
  m.def("dashboard_path",
        [](const std::string& home) { return ValueOrRaise(Home::Find(home)).DashboardPath(); });
  m.def("upstream_tier", &UpstreamTier);
}

}  // namespace kiln
