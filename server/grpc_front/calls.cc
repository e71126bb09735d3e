#include "server/grpc_front/calls.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/wire/error_detail.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace kiln {
namespace {

using google::protobuf::internal::WireFormatLite;

// Sending larger requests may block.
constexpr size_t kQuickBytes = 64 << 10;
// Calls that hold a thread at once: each waits for kilnd, which queues compilations itself.
constexpr int kMaxCalls = 256;
constexpr uint32_t kBusyRetryMs = 250;
// The length of a W3C trace context of version 00; other texts are ignored.
constexpr size_t kTraceparentBytes = 55;

struct Method {
  FrameType type;
  void (Calls::RawService::*request)(grpc::ServerContext*, grpc::ByteBuffer*,
                                     grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*,
                                     grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
  // Look-ups and compilations come in bursts at the start of programs.
  int waiting;  // calls that the queue can accept before the next one is prepared
  bool soon;    // most of its calls end immediately
};
constexpr Method kMethods[] = {
    {FrameType::kLookup, &Calls::RawService::RequestLookup, 32, true},
    {FrameType::kCompile, &Calls::RawService::RequestCompile, 32, false},
    {FrameType::kCapabilities, &Calls::RawService::RequestCapabilities, 1, false},
    {FrameType::kPut, &Calls::RawService::RequestPut, 1, false},
    {FrameType::kStats, &Calls::RawService::RequestStats, 1, false},
    {FrameType::kMetrics, &Calls::RawService::RequestMetrics, 1, false},
};

absl::string_view ValueOf(const grpc::ServerContext& context, const char* key) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

std::string CertificateName(const grpc::ServerContext& context) {
  const auto auth = context.auth_context();
  // A name in a certificate that was not verified proves nothing.
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const auto names = auth->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names[0].data(), names[0].size());
}

// The number in field `number` of a message, 0 if it has none.
// Without parsing the whole message: a unit may have megabytes.
uint64_t NumberIn(grpc::ByteBuffer* message, int number) {
  grpc::ProtoBufferReader reader(message);
  google::protobuf::io::CodedInputStream in(&reader);
  uint64_t value = 0;
  // The last occurrence counts, as for protobuf's parser.
  while (const uint32_t tag = in.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) == number &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_VARINT) {
      if (!in.ReadVarint64(&value)) return 0;
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return 0;
    }
  }
  return value;
}

// The message that `write` serialises.
std::string Encode(const std::function<void(google::protobuf::io::CodedOutputStream*)>& write) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    write(&out);
  }
  return bytes;
}

// The caller's deadline and trace from gRPC's metadata, as fields of the request.
std::string CompileSuffix(const grpc::ServerContext& context, grpc::ByteBuffer* request) {
  // gRPC's deadline is a wall-clock time, so the wall clock is asked.
  const int64_t left =
      absl::ToInt64Milliseconds(absl::FromChrono(context.deadline()) - absl::Now());
  const uint64_t asked = NumberIn(request, proto::CompileRequest::kDeadlineMsFieldNumber);
  const absl::string_view trace = ValueOf(context, "traceparent");
  return Encode([&](google::protobuf::io::CodedOutputStream* out) {
    // The stricter of gRPC's deadline and the request's own. The suffix follows the message, and in
    // protobuf the last value of a field counts.
    if (left < INT32_MAX &&
        (asked == 0 || static_cast<uint64_t>(std::max<int64_t>(left, 1)) < asked)) {
      WireFormatLite::WriteUInt32(proto::CompileRequest::kDeadlineMsFieldNumber,
                                  static_cast<uint32_t>(std::max<int64_t>(left, 1)), out);
    }
    if (trace.size() == kTraceparentBytes) {
      WireFormatLite::WriteString(proto::CompileRequest::kTraceparentFieldNumber,
                                  std::string(trace), out);
    }
  });
}

// google.rpc.Status with RetryInfo and ErrorInfo, for clients' libraries. Hand-written, since two
// messages do not justify a dependency.
std::string Details(const absl::Status& status) {
  const std::string part = PartOf(status);
  const absl::Duration retry = RetryAfterOf(status);
  if (part.empty() && retry <= absl::ZeroDuration()) return "";
  using Out = google::protobuf::io::CodedOutputStream;
  auto any = [](const char* type, const std::string& value) {
    return Encode([&](Out* out) {
      WireFormatLite::WriteString(1, absl::StrCat("type.googleapis.com/google.rpc.", type), out);
      WireFormatLite::WriteBytes(2, value, out);
    });
  };
  return Encode([&](Out* out) {
    WireFormatLite::WriteInt32(1, static_cast<int>(status.code()), out);
    WireFormatLite::WriteString(2, std::string(status.message()), out);
    if (retry > absl::ZeroDuration()) {
      const int64_t nanos = absl::ToInt64Nanoseconds(retry);
      const std::string duration = Encode([&](Out* inner) {
        WireFormatLite::WriteInt64(1, nanos / 1000000000, inner);
        WireFormatLite::WriteInt32(2, static_cast<int>(nanos % 1000000000), inner);
      });
      WireFormatLite::WriteBytes(
          3, any("RetryInfo", Encode([&](Out* o) { WireFormatLite::WriteBytes(1, duration, o); })),
          out);
    }
    if (!part.empty()) {
      const std::string info = Encode([&](Out* o) {
        WireFormatLite::WriteString(1, part, o);
        WireFormatLite::WriteString(2, "kiln", o);
      });
      WireFormatLite::WriteBytes(3, any("ErrorInfo", info), out);
    }
  });
}

// gRPC requests have a lower size limit than the socket; replies state it.
void StateLimit(grpc::ByteBuffer* capabilities) {
  const std::string suffix = Encode([](google::protobuf::io::CodedOutputStream* out) {
    WireFormatLite::WriteUInt32(proto::CapabilitiesReply::kMaxMessageBytesFieldNumber,
                                kMaxRequestBytes, out);
  });
  std::vector<grpc::Slice> slices;
  if (!capabilities->Dump(&slices).ok()) return;
  slices.emplace_back(suffix);
  *capabilities = grpc::ByteBuffer(slices.data(), slices.size());
}

absl::Status Busy() {
  absl::Status busy = absl::ResourceExhaustedError(
      absl::StrCat("kilnd-grpc already has ", kMaxCalls, " calls in progress"));
  SetRetryAfter(&busy, absl::Milliseconds(kBusyRetryMs));
  SetPart(&busy, "queue");
  return busy;
}

}  // namespace

// One call, from the wait for it to its end. Owned by gRPC's events; deletes itself.
class Call {
 public:
  static void Await(Calls* calls, const Method& method, grpc::ServerCompletionQueue* queue) {
    new Call(calls, method, queue);
  }

 private:
  Call(Calls* calls, const Method& method, grpc::ServerCompletionQueue* queue)
      : calls_(calls), method_(method), queue_(queue), letter_(calls->outbox_) {
    if (Cancellable()) context_.AsyncNotifyWhenDone(&done_);
    (calls_->service_.*method.request)(&context_, &request_, &responder_, queue, queue, &came_);
  }

  // Only long calls watch for cancellation, since watching costs time at every call.
  bool Cancellable() const { return method_.type == FrameType::kCompile; }
  bool Keepable() const { return method_.type == FrameType::kLookup; }

  void Came(bool ok, LoopThread* thread) {
    if (!ok) {  // the server shuts down; no further event will come
      delete this;
      return;
    }
    Await(calls_, method_, queue_);  // the next call of this method needs its own object
    if (Cancellable()) ++pending_;   // Done will come, too
    absl::StatusOr<IdentityPtr> caller =
        calls_->callers_->Identify(ValueOf(context_, "authorization"), CertificateName(context_));
    if (!caller.ok()) {
      Reply(caller.status());
      return;
    }
    caller_ = *std::move(caller);
    if (calls_->guests_->has_strangers()) calls_->guests_->Know(context_.peer());
    grpc::ByteBuffer kept;
    if (Keepable() && calls_->replies_->Find(*caller_, request_, &asked_, &kept)) {
      // Replies that a slow client does not read take memory, so each is counted before it is sent.
      const absl::Status reserved = letter_.Reserve(*caller_, kept.Length());
      reserved.ok() ? Post(kept) : Reply(reserved);
      return;
    }
    // A quick call cannot block: the request fits the socket's buffer and a connection is idle. It
    // is answered here if kilnd replies soon; otherwise another thread takes over the event loop.
    const bool quick = request_.Length() <= kQuickBytes && calls_->bridge_->HasIdle(*caller_);
    std::string suffix = Cancellable() ? CompileSuffix(context_, &request_) : "";
    exchange_.emplace(calls_->bridge_, caller_, method_.type, request_, std::move(suffix),
                      [this](size_t bytes) { return letter_.Reserve(*caller_, bytes); });
    if (quick && exchange_->Begin(method_.soon)) {
      Reply(exchange_->status());
      return;
    }
    // A long call takes a thread; one caller must not take them all.
    absl::Status lasts = letter_.Linger(*caller_);
    if (lasts.ok() && !thread->HandOver()) lasts = Busy();
    if (!lasts.ok()) {
      exchange_.reset();
      Reply(lasts);
      return;
    }
    if (quick || !exchange_->Begin(method_.soon)) {
      exchange_->Finish(absl::FromChrono(context_.deadline()), [this] { return gone_.load(); });
    }
    Reply(exchange_->status());
  }

  void Reply(const absl::Status& status) {
    if (status.ok()) {
      if (method_.type == FrameType::kCapabilities) StateLimit(exchange_->reply());
      if (Keepable()) {
        calls_->replies_->Keep(std::move(asked_), caller_, request_, *exchange_->reply());
      }
      Post(*exchange_->reply());
      return;
    }
    // gRPC and Abseil use the same numbers for codes.
    responder_.FinishWithError(grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                                            std::string(status.message()), Details(status)),
                               &sent_);
  }

  void Post(const grpc::ByteBuffer& reply) {
    letter_.Post(&context_);
    responder_.Finish(reply, grpc::Status::OK, &sent_);
  }

  void Sent(bool /*ok*/, LoopThread* /*thread*/) {
    letter_.Taken();
    Release();
  }
  void Done(bool /*ok*/, LoopThread* /*thread*/) {
    gone_ = context_.IsCancelled();
    Release();
  }
  void Release() {
    if (--pending_ == 0) delete this;
  }

  Calls* const calls_;
  const Method& method_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  IdentityPtr caller_;
  Replies::Asked asked_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_{&context_};
  Outbox::Letter letter_;
  std::optional<Exchange> exchange_;
  std::atomic<bool> gone_{false};
  std::atomic<int> pending_{1};  // events that gRPC still owes us
  Step<Call> came_{this, &Call::Came};
  Step<Call> sent_{this, &Call::Sent};
  Step<Call> done_{this, &Call::Done};

  friend class Calls;
};

void Calls::Register(grpc::ServerBuilder* builder) {
  builder->RegisterService(&service_);
  health_.Register(builder);
  queue_ = builder->AddCompletionQueue();
}

void Calls::Start() {
  for (const Method& method : kMethods) {
    for (int i = 0; i < method.waiting; ++i) Call::Await(this, method, queue_.get());
  }
  health_.Start(queue_.get());
  events_.emplace(queue_.get());
  loop_.emplace(&*events_, kMaxCalls);
  KILN_CHECK(loop_->Start());
}

void Calls::Drain() {
  // Before the loop ends: its threads leave when the queue is empty.
  queue_->Shutdown();
  loop_.reset();
}

}  // namespace kiln
