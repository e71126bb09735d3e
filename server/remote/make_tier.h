// Creates the clients of the servers that a configuration names.
#ifndef KILN_SERVER_REMOTE_MAKE_TIER_H_
#define KILN_SERVER_REMOTE_MAKE_TIER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kiln/proto/remote.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// The capabilities of one server; null for those that it lacks.
struct MadeTier {
  std::unique_ptr<RemoteTier> store;
  std::unique_ptr<Leases> leases;
  std::unique_ptr<Delegate> compiles;
  bool takes = true;     // its store accepts entries that others made
  bool trusted = false;  // its compilations need no signature
};

// "redis", "reapi", "http", "upstream": the default name of a tier.
std::string KindOf(const proto::Tier& tier);

// InvalidArgument names the faulty field. Does not connect.
absl::StatusOr<MadeTier> MakeTier(const proto::Tier& tier, const proto::Configure& config);

// The cluster of `config.execution`, as another remote compiler.
absl::StatusOr<MadeTier> MakeExecutor(const proto::Configure& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_MAKE_TIER_H_
