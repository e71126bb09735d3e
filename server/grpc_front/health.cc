#include "server/grpc_front/health.h"

#include <grpcpp/alarm.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "kiln/proto/service.grpc.pb.h"
#include "server/events/event_loop.h"

namespace kiln {
namespace {

constexpr absl::string_view kCheck = "/grpc.health.v1.Health/Check";
constexpr absl::string_view kWatch = "/grpc.health.v1.Health/Watch";
// Polled: a change of state concerns few watchers, and a list of them would need locks.
constexpr std::chrono::seconds kLookAgain{1};

// HealthCheckResponse.ServingStatus.
enum Status : char { kNone = 0, kServing = 1, kNotServing = 2, kUnknown = 3 };

// A HealthCheckResponse: its only field is a number.
grpc::ByteBuffer Response(Status status) {
  // Field 1, a varint.
  const char bytes[] = {'\x08', static_cast<char>(status)};
  const grpc::Slice slice(bytes, sizeof bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// Parses HealthCheckRequest.service; false for an invalid message.
bool ServiceIn(const grpc::ByteBuffer& request, std::string* service) {
  std::vector<grpc::Slice> slices;
  if (!request.Dump(&slices).ok()) return false;
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  using google::protobuf::internal::WireFormatLite;
  constexpr uint32_t kServiceTag = 1 << 3 | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  while (const uint32_t tag = in.ReadTag()) {
    if (tag == kServiceTag ? !WireFormatLite::ReadString(&in, service)
                           : !WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

// One call of a method outside of Kiln's service, from the wait for it to its end. Owned by gRPC's
// events; deletes itself. One step is in progress at a time, besides the wait for the call's end.
class HealthCall {
 public:
  static void Await(Health* health, grpc::ServerCompletionQueue* queue) {
    new HealthCall(health, queue);
  }

 private:
  HealthCall(Health* health, grpc::ServerCompletionQueue* queue) : health_(health), queue_(queue) {
    context_.AsyncNotifyWhenDone(&done_);
    health->service_.RequestCall(&context_, &stream_, queue, queue, &came_);
  }

  void Came(bool ok, LoopThread* /*thread*/) {
    if (!ok) {  // the server shuts down; no further event will come
      delete this;
      return;
    }
    Await(health_, queue_);
    watch_ = context_.method() == kWatch;
    if (watch_ || context_.method() == kCheck) return stream_.Read(&message_, &read_);
    Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  }

  void Read(bool ok, LoopThread* /*thread*/) {
    std::string service;
    if (!ok || !ServiceIn(message_, &service)) {
      return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no HealthCheckRequest"));
    }
    // The empty name asks for the server as a whole.
    known_ = service.empty() || service == proto::Kiln::service_full_name();
    if (watch_) {
      health_->guests_->LetWait(context_.peer());
      return Look(true, nullptr);
    }
    if (!known_) return Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service"));
    stream_.WriteAndFinish(Response(Now()), grpc::WriteOptions(), grpc::Status::OK, &end_);
  }

  // For a Watch: reports a change, and waits for the next.
  void Look(bool ok, LoopThread* /*thread*/) {
    if (!ok || over_) return Finish(grpc::Status::CANCELLED);
    const Status now = Now();
    if (now == said_ && health_->ending_) {
      return Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "kilnd-grpc is ending"));
    }
    if (now == said_) return Pause(true, nullptr);
    said_ = now;
    stream_.Write(Response(now), &wrote_);
  }
  void Pause(bool ok, LoopThread* /*thread*/) {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    alarm_.Set(queue_, std::chrono::system_clock::now() + kLookAgain, &look_);
  }

  void Finish(const grpc::Status& status) { stream_.Finish(status, &end_); }
  void Done(bool /*ok*/, LoopThread* /*thread*/) {
    over_ = true;
    Release();
  }
  void End(bool /*ok*/, LoopThread* /*thread*/) { Release(); }
  void Release() {
    if (--pending_ == 0) delete this;
  }

  Status Now() const { return !known_ ? kUnknown : health_->serving_ ? kServing : kNotServing; }

  Health* const health_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::Alarm alarm_;
  grpc::ByteBuffer message_;
  bool watch_ = false;
  bool known_ = false;
  Status said_ = kNone;
  std::atomic<bool> over_{false};  // the call has ended
  std::atomic<int> pending_{2};    // the last step, and the call's end
  Step<HealthCall> came_{this, &HealthCall::Came};
  Step<HealthCall> read_{this, &HealthCall::Read};
  Step<HealthCall> wrote_{this, &HealthCall::Pause};
  Step<HealthCall> look_{this, &HealthCall::Look};
  Step<HealthCall> done_{this, &HealthCall::Done};
  Step<HealthCall> end_{this, &HealthCall::End};
};

void Health::Start(grpc::ServerCompletionQueue* queue) { HealthCall::Await(this, queue); }

}  // namespace kiln
