#include "server/web_front/prometheus.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace kiln {
namespace {

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Integers are exact up to 2^53.
  if (value == std::floor(value) && std::abs(value) < 9e15) return absl::StrFormat("%.0f", value);
  // As many digits as a double needs to be read back unchanged.
  return absl::StrFormat("%.17g", value);
}

// A bound in short form: 0.005, not 0.0050000000000000001.
std::string Bound(double value) { return absl::StrFormat("%.6g", value); }

// {name="value",…}, with `more` as the last; "" if there are none.
std::string LabelText(const proto::MetricSample& sample, const std::string& more = "") {
  // Protobuf's maps have no order; texts of one state should be equal.
  const std::map<std::string, std::string> sorted(sample.labels().begin(), sample.labels().end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=\"",
                    absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                    "\"");
  }
  if (!more.empty()) absl::StrAppend(&text, text.empty() ? "" : ",", more);
  return text.empty() ? "" : absl::StrCat("{", text, "}");
}

void AppendHistogram(const std::string& name, const proto::MetricSample& sample,
                     std::string* text) {
  const int buckets = std::min(sample.bounds_size(), sample.buckets_size());
  for (int i = 0; i < buckets; ++i) {
    absl::StrAppend(text, name, "_bucket",
                    LabelText(sample, absl::StrCat("le=\"", Bound(sample.bounds(i)), "\"")), " ",
                    sample.buckets(i), "\n");
  }
  // Prometheus requires the bucket without a bound, which has all observations.
  absl::StrAppend(text, name, "_bucket", LabelText(sample, "le=\"+Inf\""), " ", sample.count(),
                  "\n", name, "_sum", LabelText(sample), " ", Number(sample.value()), "\n", name,
                  "_count", LabelText(sample), " ", sample.count(), "\n");
}

}  // namespace

std::string PrometheusText(const proto::MetricsReply& metrics) {
  std::string text;
  for (const proto::MetricFamily& family : metrics.families()) {
    const char* kind = family.kind() == proto::MetricFamily::COUNTER ? "counter"
                       : family.kind() == proto::MetricFamily::GAUGE ? "gauge"
                                                                     : "histogram";
    absl::StrAppend(&text, "# HELP ", family.name(), " ",
                    absl::StrReplaceAll(family.help(), {{"\\", "\\\\"}, {"\n", "\\n"}}), "\n",
                    "# TYPE ", family.name(), " ", kind, "\n");
    for (const proto::MetricSample& sample : family.samples()) {
      if (family.kind() == proto::MetricFamily::HISTOGRAM) {
        AppendHistogram(family.name(), sample, &text);
      } else {
        absl::StrAppend(&text, family.name(), LabelText(sample), " ", Number(sample.value()), "\n");
      }
    }
  }
  return text;
}

}  // namespace kiln
