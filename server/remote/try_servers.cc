#include "server/remote/try_servers.h"

#include <utility>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "server/remote/make_tier.h"
#include "server/remote/reapi/server.h"

namespace kiln {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);

// The digest of no kernel.
Digest SomeDigest() { return Sha256Of("kiln doctor"); }

absl::StatusOr<std::string> WhatCacheLacks(const proto::Reapi& config, proto::Mode mode) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReapiServer> server, ReapiServer::Make(config));
  ASSIGN_OR_RETURN(const ReapiServer::Abilities can, server->abilities(SteadyNow() + kPatience));
  return mode == proto::READ_ONLY || can.update ? "" : "it takes no results from us";
}

absl::StatusOr<std::string> WhatClusterLacks(const proto::Execution& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReapiServer> server, ReapiServer::Make(config.server()));
  ASSIGN_OR_RETURN(const ReapiServer::Abilities can, server->abilities(SteadyNow() + kPatience));
  if (!can.execute) return absl::FailedPreconditionError("it runs no actions");
  return "";
}

// An invalid request: the server reports it as invalid only if the caller may compile.
std::string WhatUpstreamLacks(Delegate* compiles) {
  const absl::Status refused =
      compiles->Compile(proto::CompileRequest(), Key(SomeDigest()), SteadyNow() + kPatience)
          .status();
  return absl::IsPermissionDenied(refused) ? std::string(refused.message()) : "";
}

absl::StatusOr<std::string> Try(const proto::Tier& tier, const proto::Configure& config) {
  ASSIGN_OR_RETURN(const MadeTier made, MakeTier(tier, config));
  RETURN_IF_ERROR(made.store->Get({Place(SomeDigest())}, SteadyNow() + kPatience).status());
  if (tier.has_reapi()) return WhatCacheLacks(tier.reapi(), tier.mode());
  if (made.compiles != nullptr) return WhatUpstreamLacks(made.compiles.get());
  return "";
}

TriedServer Result(std::string name, const absl::StatusOr<std::string>& lacks) {
  return {std::move(name), lacks.status(), lacks.ok() ? *lacks : ""};
}

}  // namespace

std::vector<TriedServer> TryServers(const proto::Configure& config) {
  std::vector<TriedServer> tried;
  for (const proto::Tier& tier : config.tiers()) {
    tried.push_back(Result(tier.name().empty() ? KindOf(tier) : tier.name(), Try(tier, config)));
  }
  if (config.has_execution()) {
    tried.push_back(Result("execution", WhatClusterLacks(config.execution())));
  }
  return tried;
}

}  // namespace kiln
