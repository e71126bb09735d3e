#include "server/remote/make_tier.h"

#include "common/base/status_macros.h"
#include "server/remote/http/tier.h"
#include "server/remote/reapi/execution.h"
#include "server/remote/reapi/tier.h"
#include "server/remote/redis_tier.h"
#include "server/remote/upstream.h"

namespace kiln {
namespace {

absl::StatusOr<MadeTier> MakeRedis(const proto::Tier& tier) {
  ASSIGN_OR_RETURN(std::shared_ptr<RedisClient> client, RedisClient::Make(tier.redis()));
  const bool read_only = tier.mode() == proto::READ_ONLY;
  MadeTier made;
  made.store = std::make_unique<RedisTier>(client, tier.redis(), read_only);
  // Leases need a writable tier: the holder stores the result where the others look for it.
  if (tier.mode() == proto::READ_WRITE) {
    made.leases = std::make_unique<RedisLeases>(client, tier.redis());
  }
  return made;
}

absl::StatusOr<MadeTier> MakeUpstream(const proto::Upstream& upstream,
                                      const proto::Configure& config) {
  ASSIGN_OR_RETURN(std::shared_ptr<UpstreamKilnd> kilnd,
                   UpstreamKilnd::Make(upstream, config.compiler()));
  MadeTier made;
  // Both share one endpoint: one connection, and one check that the builds fit.
  made.store = std::make_unique<UpstreamTier>(kilnd);
  made.compiles = std::make_unique<UpstreamDelegate>(kilnd);
  // An upstream stores only what it has compiled itself.
  made.takes = false;
  return made;
}

}  // namespace

std::string KindOf(const proto::Tier& tier) {
  switch (tier.kind_case()) {
    case proto::Tier::kRedis:
      return "redis";
    case proto::Tier::kReapi:
      return "reapi";
    case proto::Tier::kHttp:
      return "http";
    case proto::Tier::kUpstream:
      return "upstream";
    default:
      return "tier";
  }
}

absl::StatusOr<MadeTier> MakeTier(const proto::Tier& tier, const proto::Configure& config) {
  switch (tier.kind_case()) {
    case proto::Tier::kRedis:
      return MakeRedis(tier);
    case proto::Tier::kReapi: {
      MadeTier made;
      ASSIGN_OR_RETURN(made.store, MakeReapiTier(tier.reapi()));
      return made;
    }
    case proto::Tier::kHttp: {
      MadeTier made;
      ASSIGN_OR_RETURN(made.store, MakeHttpTier(tier.http()));
      return made;
    }
    case proto::Tier::kUpstream:
      return MakeUpstream(tier.upstream(), config);
    case proto::Tier::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a tier says what it is: redis, reapi, http or upstream");
}

absl::StatusOr<MadeTier> MakeExecutor(const proto::Configure& config) {
  MadeTier made;
  ASSIGN_OR_RETURN(made.compiles, MakeExecution(config.execution(), config.worker()));
  made.trusted = config.execution().trusted();
  return made;
}

}  // namespace kiln
