// What the daemon reports, as Python dicts of the messages' fields.
#ifndef KILN_CLIENT_PY_NATIVE_DAEMON_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_DAEMON_BINDING_H_

#include <pybind11/pybind11.h>

#include "kiln/proto/service.pb.h"

namespace kiln {

pybind11::dict StatsDict(const proto::StatsReply& reply);
// Family -> value of the label ("" without one) -> number, or a dict for a histogram.
pybind11::dict MetricsDict(const proto::MetricsReply& reply);
pybind11::dict RecentDict(const proto::RecentReply& reply);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DAEMON_BINDING_H_
