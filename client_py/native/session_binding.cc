// Session and Instance for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client_cpp/connection.h"
#include "client_cpp/kernel_builder.h"
#include "client_cpp/kernel_facts.h"
#include "client_cpp/manifest.h"
#include "client_cpp/session.h"
#include "client_cpp/upstream.h"
#include "client_py/native/instance.h"
#include "client_py/native/status_error.h"
#include "client_py/native/warm_binding.h"
#include "common/artifact/target_proto.h"
#include "common/home/home.h"
#include "common/unit/node_number.h"
#include "runtime/cpu/host_target.h"

namespace kiln {

namespace py = pybind11;

namespace {

PyObject* compile_failed = nullptr;

// (file, line, column, end line, end column, function). Lists have the innermost call first.
using Position = std::tuple<std::string, uint32_t, uint32_t, uint32_t, uint32_t, std::string>;

std::vector<Position> PositionTuples(const proto::SourceMap& map, uint32_t number) {
  std::vector<Position> tuples;
  for (SourcePosition& at : PositionsOf(map, number)) {
    tuples.emplace_back(std::move(at.file), at.line, at.column, at.end_line, at.end_column,
                        std::move(at.function));
  }
  return tuples;
}

struct Diagnostic {
  int severity, kind;
  uint32_t node;
  std::string message;
  std::vector<Position> spans;
};

py::list DiagnosticsList(const CompileOutcome& outcome, const proto::SourceMap& map) {
  py::list diagnostics;
  for (const proto::Diagnostic& d : outcome.diagnostics) {
    diagnostics.append(Diagnostic{static_cast<int>(d.severity()), static_cast<int>(d.kind()),
                                  d.node(), d.message(),
                                  PositionTuples(map, NodeNumber(d.function(), d.node()))});
  }
  return diagnostics;
}

py::list StagesList(const std::vector<proto::StageReport>& reports) {
  py::list stages;
  for (const proto::StageReport& stage : reports) {
    py::dict operations;
    for (const auto& [kind, count] : stage.operations()) operations[py::str(kind)] = count;
    stages.append(py::make_tuple(stage.name(), stage.seconds(), stage.ir(), operations));
  }
  return stages;
}

[[noreturn]] void RaiseCompileFailed(const CompileOutcome& outcome, const proto::SourceMap& map) {
  PyErr_SetObject(compile_failed, DiagnosticsList(outcome, map).ptr());
  throw py::error_already_set();
}

struct CompileArguments {
  std::string name;
  bool fast_math, debug, check_bounds, print_ir, timing, statistics;
  int on_overflow;
  uint32_t opt_level;
  int default_int, default_float;
  std::string target;
  std::vector<std::vector<uint32_t>> aliases;
};

Target ParseTarget(const std::string& text) {
  const std::optional<Target> target = Target::Parse(text);
  if (!target.has_value()) {
    throw py::value_error("target '" + text + "': one of " + CompiledTargetTexts() + " expected");
  }
  return *target;
}

void SetOptions(const CompileArguments& arguments, proto::CompileUnit* unit) {
  proto::CodeOptions* options = unit->mutable_options();
  options->set_fast_math(arguments.fast_math);
  options->set_debug(arguments.debug);
  options->set_check_bounds(arguments.check_bounds);
  options->set_on_overflow(static_cast<proto::OnOverflow>(arguments.on_overflow));
  options->set_opt_level(arguments.opt_level);
  options->set_default_int(static_cast<Scalar>(arguments.default_int));
  options->set_default_float(static_cast<Scalar>(arguments.default_float));
  if (!arguments.target.empty()) {
    SetTarget(ParseTarget(arguments.target), unit->mutable_target());
  }
}

// Gives each group of parameters whose storages overlap its own alias set. Set 1 is for ndarrays.
void SetAliases(const std::vector<std::vector<uint32_t>>& aliases, proto::CompileUnit* unit) {
  uint32_t set = 2;
  for (const std::vector<uint32_t>& params : aliases) {
    for (uint32_t param : params) {
      const uint32_t storage = unit->kernel().body().params(param).storage();
      unit->mutable_storages(storage)->set_alias_set(set);
    }
    ++set;
  }
}

void TakeOutcome(CompileOutcome outcome, Instance* instance) {
  instance->kernel = std::move(outcome.kernel);
  instance->info = std::move(outcome.info);
  instance->digest = std::move(outcome.digest);
  instance->tier = std::move(outcome.tier);
  instance->wait_seconds = outcome.wait_seconds;
  instance->compile_seconds = outcome.compile_seconds;
  instance->stages = std::move(outcome.stages);
}

// Runs Python's signal handlers while the compiler works. An exception that a handler raises
// (KeyboardInterrupt) becomes the error of the call.
absl::Status RunSignalHandlers() {
  const py::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() == 0 ? absl::OkStatus() : absl::CancelledError("interrupted");
}

// The instance of a key from an earlier process's record; null if no cache has its entry.
std::shared_ptr<Instance> Fetch(Session& session, const std::string& digest,
                                const std::string& writes, std::string texts) {
  const absl::StatusOr<Digest> key = Digest::FromBytes(digest);
  if (!key.ok()) return nullptr;
  absl::StatusOr<CompileOutcome> outcome;
  {
    py::gil_scoped_release release;
    outcome = session.Fetch(*key);
  }
  if (!outcome.ok() || outcome->kernel == nullptr) return nullptr;
  auto instance = std::make_shared<Instance>();
  TakeOutcome(*std::move(outcome), instance.get());
  for (char written : writes) instance->writes.push_back(written != 0);
  instance->packed_texts = std::move(texts);
  return instance;
}

std::shared_ptr<Instance> Compile(Session& session, KernelBuilder& builder,
                                  const CompileArguments& arguments) {
  proto::CompileUnit unit;
  auto instance = std::make_shared<Instance>();
  instance->unpacked_texts = std::make_unique<InstanceTexts>();
  InstanceTexts& texts = *instance->unpacked_texts;
  RaiseIfError(builder.Finish(&unit, &texts.source_map));
  texts.source_map.set_kernel(arguments.name);
  SetOptions(arguments, &unit);
  SetAliases(arguments.aliases, &unit);
  instance->recorded = RecordedKernel(&unit, texts.source_map);
  texts.types = ValueOrRaise(TypeTable::FromProto(unit.kernel().types()));
  instance->writes = WrittenParams(unit.kernel());
  texts.node_kinds = NodeKinds(unit.kernel());
  if (arguments.debug || arguments.check_bounds) texts.node_params = AccessedParams(unit.kernel());
  proto::ReportOptions report;
  report.set_print_ir(arguments.print_ir);
  report.set_timing(arguments.timing);
  report.set_statistics(arguments.statistics);
  absl::StatusOr<CompileOutcome> outcome;
  {
    py::gil_scoped_release release;
    const InterruptCheck interrupts(&RunSignalHandlers);
    outcome = session.Compile(std::move(unit), texts.source_map, report);
  }
  CompileOutcome done = ValueOrRaise(std::move(outcome));
  if (done.kernel == nullptr) RaiseCompileFailed(done, texts.source_map);
  TakeOutcome(std::move(done), instance.get());
  return instance;
}

// Session::Warm of serialised `recorded`: (digest, tier, seconds waited, seconds of compiling,
// diagnostics, stages).
py::tuple Warm(Session& session, const std::string& bytes, const std::string& target_text,
               bool print_ir) {
  proto::CompileRequest recorded;
  if (!recorded.ParseFromString(bytes)) throw py::value_error("not a recorded kernel");
  recorded.mutable_report()->set_print_ir(print_ir);
  recorded.mutable_report()->set_timing(print_ir);
  const Target target = target_text.empty() ? HostTarget() : ParseTarget(target_text);
  absl::StatusOr<CompileOutcome> outcome;
  {
    py::gil_scoped_release release;
    const InterruptCheck interrupts(&RunSignalHandlers);
    outcome = session.Warm(recorded, target);
  }
  const CompileOutcome done = ValueOrRaise(std::move(outcome));
  return py::make_tuple(done.digest, done.tier, done.wait_seconds, done.compile_seconds,
                        DiagnosticsList(done, recorded.source_map()), StagesList(done.stages));
}

py::dict StatsDict(const proto::StatsReply& reply) {
  py::dict stats;
  stats["hits"] = reply.hits();
  stats["misses"] = reply.misses();
  stats["compiles"] = reply.compiles();
  stats["entries"] = reply.entries();
  stats["bytes"] = reply.bytes();
  stats["seconds_saved"] = reply.seconds_saved();
  stats["evictions"] = reply.evictions();
  stats["corrupt"] = reply.corrupt();
  stats["worker_deaths"] = reply.worker_deaths();
  stats["waiting"] = reply.waiting();
  stats["errors"] = reply.errors();
  stats["uptime_seconds"] = reply.uptime_seconds();
  stats["pid"] = reply.pid();
  py::dict tiers;
  for (const auto& [tier, hits] : reply.hits_by_tier()) tiers[py::str(tier)] = hits;
  stats["hits_by_tier"] = tiers;
  return stats;
}

// Family -> value of the label ("" without one) -> number, or a dict for a histogram.
py::dict MetricsDict(const proto::MetricsReply& reply) {
  py::dict families;
  for (const proto::MetricFamily& family : reply.families()) {
    py::dict samples;
    for (const proto::MetricSample& sample : family.samples()) {
      const py::str label(sample.labels().empty() ? "" : sample.labels().begin()->second);
      if (family.kind() != proto::MetricFamily::HISTOGRAM) {
        samples[label] = sample.value();
        continue;
      }
      py::dict histogram;
      histogram["sum"] = sample.value();
      histogram["count"] = sample.count();
      histogram["bounds"] = std::vector<double>(sample.bounds().begin(), sample.bounds().end());
      histogram["buckets"] =
          std::vector<uint64_t>(sample.buckets().begin(), sample.buckets().end());
      samples[label] = histogram;
    }
    families[py::str(family.name())] = samples;
  }
  return families;
}

py::dict RecentDict(const proto::RecentReply& reply) {
  py::list requests, clients;
  for (const proto::RequestRecord& record : reply.requests()) {
    const absl::StatusOr<Digest> key = Digest::FromBytes(record.digest());
    py::dict stages, out;
    for (const proto::StageReport& stage : record.stages()) {
      const py::str name(stage.name());
      const double before = stages.contains(name) ? stages[name].cast<double>() : 0;
      stages[name] = before + stage.seconds();
    }
    out["time"] = record.time();
    out["kernel"] = py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
        record.kernel().data(), static_cast<Py_ssize_t>(record.kernel().size()), "replace"));
    out["key"] = key.ok() ? key->Hex() : "";
    out["client"] = record.client();
    out["outcome"] = record.outcome();
    out["seconds"] = record.seconds();
    out["queue_seconds"] = record.queue_seconds();
    out["bytes"] = record.bytes();
    out["trace"] = record.trace();
    out["error"] = record.error();
    out["stages"] = stages;
    requests.append(out);
  }
  for (const proto::ClientRecord& client : reply.clients()) {
    py::dict out;
    out["name"] = client.name();
    out["connections"] = client.connections();
    out["running"] = client.running();
    out["requests"] = client.requests();
    clients.append(out);
  }
  py::dict recent;
  recent["requests"] = requests;
  recent["clients"] = clients;
  return recent;
}

// Releases the GIL during a call that waits for the daemon.
template <typename Call>
auto Unlocked(const Call& call) {
  py::gil_scoped_release release;
  return call();
}

void BindInstance(py::module_& m) {
  py::class_<Instance, std::shared_ptr<Instance>>(m, "Instance", py::dynamic_attr())
      .def_readonly("digest", &Instance::digest)
      .def_readonly("tier", &Instance::tier)
      .def_readonly("wait_seconds", &Instance::wait_seconds)
      .def_readonly("compile_seconds", &Instance::compile_seconds)
      .def("pack", &PackInstance, py::arg("lines"))
      .def_property_readonly("stages",
                             [](const Instance& instance) { return StagesList(instance.stages); })
      .def("take_recorded",
           [](Instance& instance) { return py::bytes(std::exchange(instance.recorded, {})); })
      .def_property_readonly(
          "key_parts",
          [](const Instance& instance) {
            py::list parts;
            for (const proto::KeyPart& part : instance.info->key_parts()) {
              parts.append(py::make_tuple(part.name(), part.digest(), part.text()));
            }
            return parts;
          })
      .def_property_readonly(
          "num_tasks",
          [](const Instance& instance) { return instance.kernel->info().tasks.size(); })
      .def("positions",
           [](const Instance& instance, uint32_t number) {
             return PositionTuples(instance.texts().source_map, number);
           })
      .def("node_param",
           [](const Instance& instance, uint32_t number) -> py::object {
             const auto& params = instance.texts().node_params;
             const auto found = params.find(number);
             if (found == params.end()) return py::none();
             return py::int_(found->second);
           })
      .def("node_kind", [](const Instance& instance, uint32_t number) {
        const uint32_t function = FunctionOfNode(number), node = NodeInFunction(number);
        const std::vector<std::string>& kinds = instance.texts().node_kinds;
        if (function >= kinds.size() || node >= kinds[function].size()) return 0;
        return static_cast<int>(static_cast<uint8_t>(kinds[function][node]));
      });
  py::class_<Diagnostic>(m, "Diagnostic")
      .def_readonly("severity", &Diagnostic::severity)
      .def_readonly("kind", &Diagnostic::kind)
      .def_readonly("node", &Diagnostic::node)
      .def_readonly("message", &Diagnostic::message)
      .def_readonly("spans", &Diagnostic::spans);
}

}  // namespace

void BindSession(py::module_& m) {
  static py::exception<Instance> error(m, "CompileFailed");
  compile_failed = error.ptr();
  BindInstance(m);
  py::class_<Session, std::shared_ptr<Session>>(m, "Session")
      .def(py::init([](const std::string& home, const std::string& server,
                       const std::string& bin_dir, bool use_cache) {
             SessionOptions options;
             options.home = home;
             options.server = server;
             options.bin_dir = bin_dir;
             options.use_cache = use_cache;
             options.records_manifest = false;  // warm/program.py does it for all sessions
             return ValueOrRaise(Unlocked([&] { return Session::Create(options); }));
           }),
           py::arg("home") = "", py::arg("server") = "", py::arg("bin_dir") = "",
           py::arg("use_cache") = true)
      .def(
          "compile",
          [](Session& session, KernelBuilder& builder, std::string name, bool fast_math, bool debug,
             uint32_t opt_level, bool check_bounds, int on_overflow, int default_int,
             int default_float, std::string target, bool print_ir, bool timing, bool statistics,
             std::vector<std::vector<uint32_t>> aliases) {
            return Compile(session, builder,
                           {std::move(name), fast_math, debug, check_bounds, print_ir, timing,
                            statistics, on_overflow, opt_level, default_int, default_float,
                            std::move(target), std::move(aliases)});
          },
          py::arg("builder"), py::arg("name"), py::kw_only(), py::arg("fast_math"),
          py::arg("debug"), py::arg("opt_level"), py::arg("check_bounds"), py::arg("on_overflow"),
          py::arg("default_int"), py::arg("default_float"), py::arg("target") = "",
          py::arg("print_ir") = false, py::arg("timing") = false, py::arg("statistics") = false,
          py::arg("aliases") = std::vector<std::vector<uint32_t>>())
      .def(
          "fetch",
          [](Session& session, const py::bytes& digest, const py::bytes& writes,
             const py::bytes& texts) {
            return Fetch(session, std::string(digest), std::string(writes), std::string(texts));
          },
          py::arg("digest"), py::arg("writes"), py::arg("texts"))
      .def("prefetch",
           [](Session& session, const std::vector<py::bytes>& digests) {
             std::vector<Digest> keys;
             for (const py::bytes& raw : digests) {
               auto key = Digest::FromBytes(std::string(raw));
               if (key.ok()) keys.push_back(*key);
             }
             return Unlocked([&] { return session.Prefetch(keys); });
           })
      .def(
          "warm",
          [](Session& session, const py::bytes& recorded, const std::string& target,
             bool print_ir) { return Warm(session, std::string(recorded), target, print_ir); },
          py::arg("recorded"), py::arg("target") = "", py::arg("print_ir") = false)
      .def_property_readonly("compiler",
                             [](Session& session) {
                               const Digest id = Unlocked([&] { return session.compiler(); });
                               return py::bytes(id.empty() ? "" : std::string(id.view()));
                             })
      .def("stats",
           [](const Session& session) {
             const SessionStats stats = session.stats();
             py::dict result;
             result["kernels"] = stats.kernels;
             result["hits"] = stats.hits;
             result["misses"] = stats.misses;
             result["seconds_saved"] = stats.seconds_saved;
             return result;
           })
      .def("daemon_stats",
           [](Session& session) {
             return StatsDict(ValueOrRaise(Unlocked([&] { return session.DaemonStats(); })));
           })
      .def("daemon_metrics",
           [](Session& session) {
             return MetricsDict(ValueOrRaise(Unlocked([&] { return session.DaemonMetrics(); })));
           })
      .def(
          "daemon_recent",
          [](Session& session, uint32_t limit, bool slowest) {
            proto::RecentRequest request;
            request.set_limit(limit);
            request.set_slowest(slowest);
            return RecentDict(
                ValueOrRaise(Unlocked([&] { return session.DaemonRecent(request); })));
          },
          py::arg("limit") = 0, py::arg("slowest") = false)
      .def("clear_cache",
           [](Session& session) {
             const proto::ClearReply reply =
                 ValueOrRaise(Unlocked([&] { return session.ClearCache(); }));
             py::dict result;
             result["entries"] = reply.entries();
             result["bytes"] = reply.bytes();
             return result;
           })
      .def("stop_daemon",
           [](Session& session) { RaiseIfError(Unlocked([&] { return session.StopDaemon(); })); })
      .def_property_readonly("read_only",
                             [](const Session& session) { return session.read_only(); })
      .def_property_readonly("own_home",
                             [](const Session& session) { return session.own_home().ok(); })
      .def_property_readonly("home", [](const Session& session) { return session.home(); });
  m.def("dashboard_path",
        [](const std::string& home) { return ValueOrRaise(Home::Find(home)).DashboardPath(); });
  m.def("upstream_tier", [](const std::string& server) {
    proto::Tier tier;
    tier.set_name("KILN_SERVER");
    *tier.mutable_upstream() = ValueOrRaise(ParseUpstream(server));
    return absl::StrCat("tier { ", tier.ShortDebugString(), " }");
  });
}

}  // namespace kiln
