// Sends arbitrary frames to kilnd-remote's code, with servers that answer immediately. Every frame
// must get exactly one answer, and so must the next one. The first byte selects the frame's type,
// of all but one.
#include <sys/socket.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/clock.h"
#include "common/wire/framing.h"
#include "kiln/proto/remote.pb.h"
#include "server/remote/make_tier.h"
#include "server/remote/serve.h"

namespace kiln {
namespace {

// Has whatever place begins with a letter.
class HalfFull : public RemoteTier {
 public:
  absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                               absl::Time) override {
    std::vector<std::string> entries;
    for (const Place& place : places) {
      entries.push_back(place.view()[0] >= 'a' ? std::string(place.view()) : "");
    }
    return entries;
  }
  absl::Status Put(const Place& place, absl::string_view, absl::Time) override {
    return place.view()[0] == 'r' ? absl::PermissionDeniedError("read only") : absl::OkStatus();
  }
};

// Grants every lease, so that no request waits.
class FreeLeases : public Leases {
 public:
  absl::StatusOr<Answer> Acquire(const Place&, absl::Duration) override {
    return Answer{"token", false};
  }
  absl::Status Renew(const Place&, const std::string&, absl::Duration) override {
    return absl::NotFoundError("lost");
  }
  absl::Status Release(const Place&, const std::string&, bool) override { return absl::OkStatus(); }
};

class Answers : public Delegate {
 public:
  absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request, const Key&,
                                              absl::Time) override {
    if (request.name().empty()) return absl::InternalError("nameless");
    proto::CompileReply reply;
    reply.set_tier(request.name());
    return reply;
  }
};

// The other end of a stream that stays open as long as the process.
int Conversation() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  std::thread([fd = ends[1]] {
    (void)ServeRemote(fd, [](const std::string&) {});
    std::abort();  // it ended
  }).detach();
  proto::Configure configure;
  configure.add_tiers()->mutable_redis();
  configure.mutable_execution();
  if (!WriteFrame(ends[0], FrameType::kConfigure, 0, configure).ok()) std::abort();
  if (!ReadFrame(ends[0], SteadyNow() + absl::Seconds(10)).ok()) std::abort();
  return ends[0];
}

}  // namespace

// In the place of make_tier.cc, whose tiers talk to other machines.
std::string KindOf(const proto::Tier&) { return "fake"; }

absl::StatusOr<MadeTier> MakeTier(const proto::Tier& tier, const proto::Configure&) {
  if (absl::StrContains(tier.upstream().address(), "!")) return absl::InvalidArgumentError("!");
  MadeTier made;
  made.store = std::make_unique<HalfFull>();
  if (tier.has_redis()) made.leases = std::make_unique<FreeLeases>();
  if (tier.has_upstream()) made.compiles = std::make_unique<Answers>();
  return made;
}

absl::StatusOr<MadeTier> MakeExecutor(const proto::Configure&) {
  MadeTier made;
  made.compiles = std::make_unique<Answers>();
  return made;
}

}  // namespace kiln

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = kiln::Conversation();
  static uint32_t id = 0;
  if (size == 0) return 0;
  const absl::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint32_t type = 1 + data[0] % kiln::kLastFrameType;
  const absl::Time deadline = kiln::SteadyNow() + absl::Seconds(5);
  ++id;
  if (!kiln::WriteFrame(fd, static_cast<kiln::FrameType>(type), id, body, deadline).ok())
    std::abort();
  const absl::StatusOr<kiln::Frame> answer = kiln::ReadFrame(fd, deadline);
  if (!answer.ok() || answer->id != id) std::abort();
  const auto expected = static_cast<kiln::FrameType>(type + 1);
  if (answer->type != kiln::FrameType::kError && answer->type != expected) std::abort();
  return 0;
}
