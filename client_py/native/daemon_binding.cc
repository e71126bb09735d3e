#include "client_py/native/daemon_binding.h"

#include <pybind11/stl.h>

#include <vector>

#include "common/base/digest.h"

namespace kiln {

namespace py = pybind11;

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
  // A map of the message has no order; Python code sorts it for display.
  py::dict tiers;
  for (const auto& [tier, hits] : reply.hits_by_tier()) tiers[py::str(tier)] = hits;
  stats["hits_by_tier"] = tiers;
  return stats;
}

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
    const absl::StatusOr<Key> key = Key::FromBytes(record.digest());
    py::dict stages, out;
    for (const proto::StageReport& stage : record.stages()) {
      const py::str name(stage.name());
      // A stage may run several times, as for each function; the sum is what counts.
      const double before = stages.contains(name) ? stages[name].cast<double>() : 0;
      stages[name] = before + stage.seconds();
    }
    out["time"] = record.time();
    // Names come from other programs and may have been cut in the middle of a character.
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

}  // namespace kiln
