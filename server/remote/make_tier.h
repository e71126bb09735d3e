// From configuration to what talks to the server it names.
#ifndef KILN_SERVER_REMOTE_MAKE_TIER_H_
#define KILN_SERVER_REMOTE_MAKE_TIER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/remote.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// What one server can do; null what it cannot.
struct MadeTier {
  std::unique_ptr<RemoteTier> store;
  std::unique_ptr<Leases> leases;
  std::unique_ptr<Delegate> compiles;
  bool takes = true;     // its store takes what others made
  bool trusted = false;  // what it compiles needs no signature
};

// "redis", "reapi", "http", "upstream": what a tier is called that has no name.
std::string KindOf(const proto::Tier& tier);

// InvalidArgument naming the field that is wrong. Connects to nothing.
absl::StatusOr<MadeTier> MakeTier(const proto::Tier& tier, const proto::Configure& config);

// The cluster of `config.execution`, as one more place that compiles.
absl::StatusOr<MadeTier> MakeExecutor(const proto::Configure& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_MAKE_TIER_H_
