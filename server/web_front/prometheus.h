// The daemon's metrics in Prometheus' text format.
#ifndef KILN_SERVER_WEB_FRONT_PROMETHEUS_H_
#define KILN_SERVER_WEB_FRONT_PROMETHEUS_H_

#include <string>

#include "kiln/proto/service.pb.h"

namespace kiln {

inline constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";

std::string PrometheusText(const proto::MetricsReply& metrics);

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_PROMETHEUS_H_
