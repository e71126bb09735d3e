// Statistics and clearing of a cache whose daemon is not running.
#ifndef KILN_CLIENT_CPP_OFFLINE_CACHE_H_
#define KILN_CLIENT_CPP_OFFLINE_CACHE_H_

#include "lang/home.h"
#include "proto/service.pb.h"

namespace kiln {

// The counters that the last daemon left, the hits logged since, and what lies in
// the cache directory now.
proto::StatsReply OfflineStats(const Home& home);

// Deletes every entry and every file left half-written.
proto::ClearReply OfflineClear(const Home& home);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_OFFLINE_CACHE_H_
