// Statistics and clearing of a cache while no daemon runs.
#ifndef KILN_CLIENT_CPP_OFFLINE_CACHE_H_
#define KILN_CLIENT_CPP_OFFLINE_CACHE_H_

#include "common/home/home.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// The counters that the last daemon saved, the hits logged since, and the present content of the
// cache directory.
proto::StatsReply OfflineStats(const Home& home);

// Deletes every entry and every partly written file.
proto::ClearReply OfflineClear(const Home& home);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_OFFLINE_CACHE_H_
