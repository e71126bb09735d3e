#include "server/web_front/site.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/service.pb.h"
#include "server/observe/json_text.h"
#include "server/web_front/dashboard.h"
#include "server/web_front/disassembly.h"
#include "server/web_front/prometheus.h"

namespace kiln {
namespace {

constexpr char kJson[] = "application/json";
// As long as the daemon's own limit for one compilation.
constexpr absl::Duration kCompilePatience = absl::Seconds(120);
// Kubernetes' probes wait for one second.
constexpr absl::Duration kReadyPatience = absl::Milliseconds(800);

WebResponse Failure(int status, absl::string_view message) {
  return {status, "text/plain; charset=utf-8", absl::StrCat(message, "\n")};
}

int HttpStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    default:
      // Anything else is a fault of the daemon or of the way to it: monitors and browsers may try
      // again.
      return 503;
  }
}

// {"name": value, …} for values that are JSON already.
// Written by hand: protobuf's JSON has other names and writes 64-bit numbers as texts.
std::string Object(const std::vector<std::pair<std::string, std::string>>& members) {
  return absl::StrCat("{",
                      absl::StrJoin(members, ",",
                                    [](std::string* out, const auto& member) {
                                      absl::StrAppend(out, JsonString(member.first), ":",
                                                      member.second);
                                    }),
                      "}");
}

std::string List(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

std::string Hex(const std::string& digest) {
  const absl::StatusOr<Digest> parsed = Digest::FromBytes(digest);
  return parsed.ok() ? parsed->Hex() : "";
}

std::string StageList(const google::protobuf::RepeatedPtrField<proto::StageReport>& stages,
                      bool with_ir) {
  std::vector<std::string> items;
  for (const proto::StageReport& stage : stages) {
    std::vector<std::pair<std::string, std::string>> members = {
        {"name", JsonString(stage.name())}, {"seconds", JsonNumber(stage.seconds())}};
    // The IR is as large as all other fields together; only the page of one kernel shows it.
    if (with_ir) members.emplace_back("ir", JsonString(stage.ir()));
    items.push_back(Object(members));
  }
  return List(items);
}

std::string RecordJson(const proto::RequestRecord& record) {
  return Object({{"time", JsonNumber(record.time())},
                 {"kernel", JsonString(record.kernel())},
                 {"key", JsonString(Hex(record.digest()))},
                 {"client", JsonString(record.client())},
                 {"outcome", JsonString(record.outcome())},
                 {"seconds", JsonNumber(record.seconds())},
                 {"queue", JsonNumber(record.queue_seconds())},
                 {"bytes", JsonNumber(static_cast<double>(record.bytes()))},
                 {"trace", JsonString(record.trace())},
                 {"error", JsonString(record.error())},
                 {"stages", StageList(record.stages(), /*with_ir=*/false)}});
}

std::string RecordList(const proto::RecentReply& reply) {
  std::vector<std::string> items;
  for (const proto::RequestRecord& record : reply.requests()) items.push_back(RecordJson(record));
  return List(items);
}

std::string ClientList(const proto::RecentReply& reply) {
  std::vector<std::string> items;
  for (const proto::ClientRecord& client : reply.clients()) {
    items.push_back(Object({{"name", JsonString(client.name())},
                            {"connections", absl::StrCat(client.connections())},
                            {"running", absl::StrCat(client.running())},
                            {"requests", absl::StrCat(client.requests())}}));
  }
  return List(items);
}

// Counters and gauges by name and label, histograms as sum and count.
std::string MetricsJson(const proto::MetricsReply& metrics) {
  std::vector<std::pair<std::string, std::string>> families;
  for (const proto::MetricFamily& family : metrics.families()) {
    std::vector<std::pair<std::string, std::string>> samples;
    for (const proto::MetricSample& sample : family.samples()) {
      // Each family of the daemon has at most one label, so its value is enough for a name.
      const std::string label = sample.labels().empty() ? "" : sample.labels().begin()->second;
      const bool histogram = family.kind() == proto::MetricFamily::HISTOGRAM;
      // The dashboard shows means only; the buckets are for /metrics.
      samples.emplace_back(label, histogram ? Object({{"sum", JsonNumber(sample.value())},
                                                      {"count", absl::StrCat(sample.count())}})
                                            : JsonNumber(sample.value()));
    }
    families.emplace_back(family.name(), Object(samples));
  }
  return Object(families);
}

std::string InfoJson(const proto::ArtifactInfo& info, const EntryView& entry) {
  std::vector<std::string> parts, tasks;
  for (const proto::KeyPart& part : info.key_parts()) {
    parts.push_back(Object({{"name", JsonString(part.name())},
                            // A text: JavaScript's numbers are exact up to 2^53 only.
                            {"digest", JsonString(absl::StrFormat("%016x", part.digest()))},
                            {"text", JsonString(part.text())}}));
  }
  for (const proto::Task& task : info.tasks()) {
    tasks.push_back(Object({{"kind", JsonString(proto::TaskKind_Name(task.kind()))},
                            {"symbol", JsonString(task.symbol())}}));
  }
  return Object(
      {{"kernel", JsonString(info.kernel())},
       {"seconds", JsonNumber(info.compile_seconds())},
       {"compiler", JsonString(info.compiler())},
       {"target", JsonString(TargetOf(info.target()).text())},
       {"tenant", JsonString(info.tenant())},
       {"signer", JsonString(entry.signer == 0 ? "" : absl::StrFormat("%016x", entry.signer))},
       {"code_bytes", absl::StrCat(entry.payload.size())},
       {"parts", List(parts)},
       {"tasks", List(tasks)}});
}

absl::StatusOr<Key> ParseKey(const std::string& hex) {
  absl::StatusOr<Key> key = Key::FromHex(hex);
  if (!key.ok()) return absl::InvalidArgumentError("key= must be 64 hexadecimal digits");
  return key;
}

// The last request for that key that the daemon remembers; empty if there is none.
absl::StatusOr<proto::RequestRecord> LastRequest(const DaemonLink& daemon, const Key& key) {
  proto::RecentRequest request;
  request.set_digest(std::string(key.view()));
  // All that the daemon remembers: the one with a unit may be the oldest.
  request.set_limit(512);
  proto::RecentReply reply;
  RETURN_IF_ERROR(daemon.Call(FrameType::kRecent, request, &reply));
  // Prefers the record of a compilation, which has the most detail.
  for (const proto::RequestRecord& record : reply.requests()) {
    if (!record.unit().empty()) return record;
  }
  for (const proto::RequestRecord& record : reply.requests()) {
    if (record.stages_size() > 0) return record;
  }
  return reply.requests().empty() ? proto::RequestRecord() : reply.requests(0);
}

}  // namespace

WebResponse Site::Answer(const WebRequest& request) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && request.method != "POST") return Failure(405, "GET, HEAD or POST");
  // These three are for other machines' monitors. All below is for the daemon's own user alone.
  if (request.path == "/metrics") return Metrics();
  if (request.path == "/healthz") return {200, "text/plain; charset=utf-8", "ok\n"};
  if (request.path == "/readyz") return Ready();
  if (!request.own_user) {
    // Only the page that a person opens says more than "not here": other paths are tried by
    // scanners.
    return Failure(request.path == "/" ? 403 : 404,
                   "the dashboard is for the daemon's own user, on a loopback address; "
                   "/metrics, /healthz and /readyz are here");
  }
  if (request.path == "/" || request.path == "/kernel") {
    // The page itself has no data, so it needs no secret: it reads the secret from its address.
    return {200, "text/html; charset=utf-8", kDashboardPage};
  }
  if (!absl::StartsWith(request.path, "/api/")) return Failure(404, "no such page");
  // Other programs of the user, such as a web page in the browser, can reach a loopback address.
  // They do not know the secret.
  if (!request.knows_secret) {
    return Failure(403, "open the address that `kiln top` prints: it holds the dashboard's secret");
  }
  absl::StatusOr<std::string> json = Api(request);
  if (!json.ok()) return Failure(HttpStatus(json.status().code()), json.status().message());
  return {200, kJson, *std::move(json)};
}

WebResponse Site::Metrics() const {
  proto::MetricsReply metrics;
  const absl::Status status = daemon_->Call(FrameType::kMetrics, proto::MetricsRequest(), &metrics);
  if (!status.ok()) return Failure(503, status.message());
  return {200, kPrometheusType, PrometheusText(metrics)};
}

WebResponse Site::Ready() const {
  const absl::Status ready = Readiness();
  if (!ready.ok()) return Failure(503, ready.message());
  return {200, "text/plain; charset=utf-8", "ready\n"};
}

absl::Status Site::Readiness() const {
  // One limit for both questions.
  const absl::Time give_up = SteadyNow() + kReadyPatience;
  const auto ask = [&](FrameType type, const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* reply) {
    absl::Status status = daemon_->Call(type, request, reply, give_up - SteadyNow());
    // A deadline would mean to the caller that its own one was too short.
    if (!absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError("kilnd does not answer in time");
  };
  // Fails while the daemon has no compiler, which a probe must see.
  proto::CapabilitiesReply reply;
  RETURN_IF_ERROR(ask(FrameType::kCapabilities, proto::CapabilitiesRequest(), &reply));
  proto::MetricsReply metrics;
  RETURN_IF_ERROR(ask(FrameType::kMetrics, proto::MetricsRequest(), &metrics));
  for (const proto::MetricFamily& family : metrics.families()) {
    if (family.name() != "kiln_front_serves") continue;
    for (const proto::MetricSample& front : family.samples()) {
      const std::string name = front.labels().empty() ? "" : front.labels().begin()->second;
      if (front.value() != 0 || name == "kilnd-web") continue;  // which evidently answers
      return absl::UnavailableError(absl::StrCat(name, " does not serve; kilnd's log says why"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Site::Api(const WebRequest& request) const {
  const auto key = request.query.find("key");
  const std::string text = key == request.query.end() ? "" : key->second;
  if (request.path == "/api/overview") return Overview(request);
  if (request.path == "/api/kernel") return Kernel(text);
  if (request.path == "/api/stages") {
    if (request.method != "POST") {  // it causes work in the daemon
      return absl::PermissionDeniedError("POST");
    }
    return Stages(text);
  }
  return absl::NotFoundError("no such data");
}

absl::StatusOr<std::string> Site::Overview(const WebRequest& request) const {
  proto::MetricsReply metrics;
  RETURN_IF_ERROR(daemon_->Call(FrameType::kMetrics, proto::MetricsRequest(), &metrics));
  proto::RecentRequest asked;
  proto::RecentReply recent, slowest;
  // Rows of the page's tables.
  asked.set_limit(40);
  RETURN_IF_ERROR(daemon_->Call(FrameType::kRecent, asked, &recent));
  asked.set_limit(20);
  asked.set_slowest(true);
  RETURN_IF_ERROR(daemon_->Call(FrameType::kRecent, asked, &slowest));
  const auto range = request.query.find("range");
  const bool day = range != request.query.end() && range->second == "day";
  return Object({{"now", JsonNumber(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()))},
                 {"metrics", MetricsJson(metrics)},
                 {"history", history_->Json(day)},
                 {"recent", RecordList(recent)},
                 {"slowest", RecordList(slowest)},
                 {"clients", ClientList(recent)}});
}

absl::StatusOr<std::string> Site::Kernel(const std::string& text) const {
  ASSIGN_OR_RETURN(const Key key, ParseKey(text));
  ASSIGN_OR_RETURN(const proto::RequestRecord record, LastRequest(*daemon_, key));
  // Counts as a hit of the daemon like any other look-up; the page is opened by hand and rarely.
  proto::LookupRequest lookup;
  lookup.add_digests(std::string(key.view()));
  proto::LookupReply found;
  RETURN_IF_ERROR(daemon_->Call(FrameType::kLookup, lookup, &found));
  std::vector<std::pair<std::string, std::string>> members = {
      {"key", JsonString(key.Hex())},
      {"request", record.time() > 0 ? RecordJson(record) : "null"},
      {"can_show_ir", record.unit().empty() ? "false" : "true"}};
  if (found.results_size() == 1 && found.results(0).found()) {
    const proto::LookupReply::Result& result = found.results(0);
    ASSIGN_OR_RETURN(const EntryView entry, DecodeEntry(result.entry(), &key));
    members.emplace_back("bytes", absl::StrCat(result.entry().size()));
    members.emplace_back("tier", JsonString(result.tier()));
    members.emplace_back("info", InfoJson(entry.info, entry));
    const absl::StatusOr<std::string> assembly = Disassemble(entry.payload);
    // An entry of another processor cannot be disassembled here; everything else about it is still
    // shown.
    members.emplace_back(assembly.ok() ? "assembly" : "no_assembly",
                         JsonString(assembly.ok() ? *assembly : assembly.status().message()));
  } else if (record.time() == 0) {
    return absl::NotFoundError("no entry of that key, and no request for it lately");
  }
  return Object(members);
}

absl::StatusOr<std::string> Site::Stages(const std::string& text) const {
  ASSIGN_OR_RETURN(const Key key, ParseKey(text));
  ASSIGN_OR_RETURN(const proto::RequestRecord record, LastRequest(*daemon_, key));
  if (record.unit().empty()) {
    return absl::NotFoundError(
        "the daemon no longer has what this kernel was compiled from; run the program again "
        "after clearing the cache, or with print_ir=True");
  }
  proto::CompileRequest request;
  request.set_unit(record.unit());
  request.set_name(record.kernel());
  // A request for the IR is never answered from the cache, whose entries have none.
  request.mutable_report()->set_print_ir(true);
  // A look at a kernel's stages must not delay programs that wait for theirs.
  request.set_priority(proto::PRIORITY_WARM);
  request.set_deadline_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(kCompilePatience)));
  proto::CompileReply reply;
  RETURN_IF_ERROR(daemon_->Call(FrameType::kCompile, request, &reply, kCompilePatience));
  return Object({{"seconds", JsonNumber(reply.seconds())},
                 {"stages", StageList(reply.stages(), /*with_ir=*/true)}});
}

}  // namespace kiln
