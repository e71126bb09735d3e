// Replaces kilnd-remote in tests: sends correct answers, damaged messages, answers to other
// requests, and half frames; occasionally it exits or hangs. (A single missing answer from a live
// process counts as a remote compilation, which kilnd waits for.)
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>

#include "common/wire/framing.h"
#include "kiln/proto/remote.pb.h"
#include "kiln/proto/service.pb.h"

namespace kiln {
namespace {

constexpr int kFd = 3;  // as kilnd starts it

std::mt19937& Random() {
  static std::mt19937 random(static_cast<unsigned>(getpid()));
  return random;
}

bool OneIn(unsigned n) { return Random()() % n == 0; }

std::string Noise(size_t most) {
  std::string out(Random()() % most, '\0');
  for (char& c : out) c = static_cast<char>(Random()());
  return out;
}

std::string GoodAnswer(const Frame& asked) {
  proto::FetchReply fetched;
  proto::FetchRequest fetch;
  proto::DelegateReply delegated;
  switch (asked.type) {
    case FrameType::kFetch:
      if (!fetch.ParseFromString(asked.body)) abort();  // kilnd's own must be in order
      for (int i = 0; i < fetch.places_size(); ++i) {
        proto::FetchReply::Result* result = fetched.add_results();
        if (OneIn(2)) continue;
        result->set_entry(Noise(OneIn(10) ? 1 << 20 : 1000));
        result->set_tier("noise");
      }
      if (OneIn(3)) fetched.set_lease("token");
      fetched.set_waited(OneIn(4));
      return fetched.SerializeAsString();
    case FrameType::kDelegate:
      delegated.set_reply(Noise(1000));
      delegated.set_trusted(OneIn(2));
      return delegated.SerializeAsString();
    default:
      return "";
  }
}

void Damage(std::string* bytes) {
  if (OneIn(4)) *bytes = Noise(5000);
  if (OneIn(4)) bytes->resize(bytes->size() / 2);
  if (!bytes->empty())
    (*bytes)[Random()() % bytes->size()] ^= static_cast<char>(1 + Random()() % 9);
}

void Answer(const Frame& asked) {
  auto type = static_cast<FrameType>(static_cast<uint32_t>(asked.type) + 1);
  const uint32_t id = asked.id;
  std::string body = GoodAnswer(asked);
  if (OneIn(3)) Damage(&body);
  if (OneIn(8)) type = static_cast<FrameType>(1 + Random()() % kLastFrameType);
  if (OneIn(8)) (void)WriteFrame(kFd, type, id + Random()() % 5 - 2, body);  // for others too
  // Hangs for longer than kilnd waits, but not for good: the rest of the test would show nothing.
  if (OneIn(300)) sleep(2);
  if (OneIn(150)) {
    const std::string noise = Noise(100);
    (void)send(kFd, noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  if (OneIn(150)) {  // announces more than comes
    char header[kFrameHeaderSize];
    EncodeFrameHeader({type, OneIn(2) ? 0xffffffffU : 1000, id}, header);
    (void)send(kFd, header, sizeof header, MSG_NOSIGNAL);
    _exit(1);
  }
  (void)WriteFrame(kFd, type, id, body);
}

int Main() {
  while (true) {
    const absl::StatusOr<Frame> asked = ReadFrame(kFd);
    if (!asked.ok()) return 0;
    if (asked->type == FrameType::kConfigure) {
      proto::ConfigureReply reply;
      reply.add_tiers("noise");
      reply.set_leases(true);
      reply.set_delegates(true);
      std::string body = reply.SerializeAsString();
      if (OneIn(5)) Damage(&body);
      (void)WriteFrame(kFd, FrameType::kConfigureReply, asked->id, body);
    } else {
      Answer(*asked);
    }
  }
}

}  // namespace
}  // namespace kiln

int main() { return kiln::Main(); }
