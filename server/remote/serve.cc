#include "server/remote/serve.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status_macros.h"
#include "common/wire/framing.h"
#include "kiln/proto/remote.pb.h"
#include "server/remote/blocking_pool.h"
#include "server/remote/remote_tiers.h"

namespace kiln {
namespace {

// Three pools, so that waiting for another machine's compilation takes no thread from stores, and
// stores take none from look-ups. The threads block on the network, so there are many.
constexpr int kWaiters = 128;
constexpr int kMovers = 32;
// Requests of a few hundred bytes; stores are bounded by kilnd, which counts their bytes.
constexpr size_t kMaxQueue = 4096;

class Conversation {
 public:
  Conversation(int fd, std::unique_ptr<RemoteTiers> tiers)
      : fd_(fd),
        tiers_(std::move(tiers)),
        waiters_(new BlockingPool(kWaiters, 0)),
        finders_(new BlockingPool(kMovers, kMaxQueue)),
        movers_(new BlockingPool(kMovers, kMaxQueue)) {}

  RemoteTiers& tiers() { return *tiers_; }

  void Take(const Frame& frame) {
    switch (frame.type) {
      case FrameType::kFetch:
        return Fetch(frame);
      case FrameType::kStore:
        return Move<proto::StoreRequest>(
            frame, [this](const auto& request) { return tiers_->Store(request); });
      case FrameType::kRelease:
        return Move<proto::ReleaseRequest>(frame, [this](const auto& request) {
          tiers_->Release(request);
          return proto::ReleaseReply();
        });
      case FrameType::kDelegate:
        return Delegate(frame);
      // A newer kilnd with an older kilnd-remote: it gets an error and not silence.
      default:
        Fail(frame.id,
             absl::InvalidArgumentError(absl::StrCat("kilnd-remote does not answer frames of type ",
                                                     static_cast<uint32_t>(frame.type))));
    }
  }

  void Reply(FrameType type, uint32_t id, const google::protobuf::MessageLite& message) {
    // Replies come from many threads, and frames must not mix.
    absl::MutexLock lock(&write_);
    // If the reply cannot be written, the stream has ended; the reader notices.
    WriteFrame(fd_, type, id, message).IgnoreError();
  }

 private:
  void Fail(uint32_t id, const absl::Status& status) {
    Reply(FrameType::kError, id, ToErrorReply(status));
  }

  void Fetch(const Frame& frame) {
    proto::FetchRequest request;
    if (!request.ParseFromString(frame.body)) return Malformed(frame);
    // A liveness check.
    if (request.places().empty()) {
      return Reply(FrameType::kFetchReply, frame.id, proto::FetchReply());
    }
    // Such a request may wait as long as another machine compiles; look-ups must not queue behind
    // it.
    const bool waits = request.lease();
    auto task = [this, id = frame.id, request = std::move(request)] {
      Reply(FrameType::kFetchReply, id, tiers_->Fetch(request));
    };
    // More waiting requests than threads: sends an empty reply, and kilnd compiles.
    if (!(waits ? waiters_ : finders_)->Do(std::move(task))) {
      Reply(FrameType::kFetchReply, frame.id, proto::FetchReply());
    }
  }

  void Delegate(const Frame& frame) {
    proto::DelegateRequest request;
    if (!request.ParseFromString(frame.body)) return Malformed(frame);
    auto task = [this, id = frame.id, request = std::move(request)] {
      Reply(FrameType::kDelegateReply, id, tiers_->Delegate(request));
    };
    if (!waiters_->Do(std::move(task))) {
      Fail(frame.id, absl::ResourceExhaustedError("too many compilations elsewhere"));
    }
  }

  template <typename Request, typename Body>
  void Move(const Frame& frame, Body body) {
    Request request;
    if (!request.ParseFromString(frame.body)) return Malformed(frame);
    const auto type = static_cast<FrameType>(static_cast<uint32_t>(frame.type) + 1);
    auto task = [this, type, id = frame.id, request = std::move(request), body] {
      Reply(type, id, body(request));
    };
    if (!movers_->Do(std::move(task))) {
      Fail(frame.id, absl::ResourceExhaustedError("too much is being stored"));
    }
  }

  void Malformed(const Frame& frame) {
    Fail(frame.id,
         absl::InvalidArgumentError(absl::StrCat(
             "a frame of type ", static_cast<uint32_t>(frame.type), " that does not parse")));
  }

  const int fd_;
  const std::unique_ptr<RemoteTiers> tiers_;
  BlockingPool* const waiters_;
  BlockingPool* const finders_;
  BlockingPool* const movers_;
  absl::Mutex write_;
};

}  // namespace

absl::Status ServeRemote(int fd, const std::function<void(const std::string&)>& log) {
  ASSIGN_OR_RETURN(const Frame first, ReadFrame(fd));
  proto::Configure config;
  if (first.type != FrameType::kConfigure || !config.ParseFromString(first.body)) {
    return absl::InvalidArgumentError("the first message must be Configure");
  }
  // Never deleted: threads that use it may wait for a network that does not answer.
  auto* conversation = new Conversation(fd, std::make_unique<RemoteTiers>(config, log));
  conversation->Reply(FrameType::kConfigureReply, first.id, conversation->tiers().Describe());
  while (true) {
    absl::StatusOr<Frame> frame = ReadFrame(fd);
    if (!frame.ok()) {
      conversation->tiers().Stop();
      return absl::IsUnavailable(frame.status()) ? absl::OkStatus() : frame.status();
    }
    conversation->Take(*frame);
  }
}

}  // namespace kiln
