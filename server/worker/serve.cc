#include "server/worker/serve.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/unit/canonical.h"
#include "common/unit/key_parts.h"
#include "common/wire/framing.h"
#include "common/wire/version.h"

namespace kiln {
namespace {

absl::Status Reply(const WorkerOptions& options, uint32_t id, FrameType type,
                   const absl::StatusOr<std::string>& body) {
  if (body.ok()) return WriteFrame(options.out, type, id, *body);
  return WriteFrame(options.out, FrameType::kError, id, ToErrorReply(body.status()));
}

std::string HelloBody(const WorkerOptions& options) {
  proto::HelloReply reply;
  reply.set_protocol(kProtocolVersion);
  reply.set_build(kVersion);
  reply.set_compiler(std::string(options.compiler.cpu.view()));
  reply.set_cuda_compiler(std::string(options.compiler.cuda.view()));
  reply.set_pid(getpid());
  for (const Gap& gap : options.gaps) {
    proto::HelloReply::Gap* told = reply.add_gaps();
    told->set_name(gap.name);
    told->set_text(gap.text);
  }
  reply.set_cuda_toolchain(options.cuda_toolchain);
  return reply.SerializeAsString();
}

absl::StatusOr<std::string> CompileBody(const WorkerOptions& options, const std::string& body) {
  proto::CompileRequest request;
  if (!request.ParseFromString(body)) {
    return absl::InvalidArgumentError("the compile request does not parse");
  }
  ASSIGN_OR_RETURN(proto::CompileReply reply, RunJob(options, request));
  return reply.SerializeAsString();
}

absl::StatusOr<std::string> LinkBody(const WorkerOptions& options, const std::string& body) {
  proto::LinkRequest request;
  if (!request.ParseFromString(body)) {
    return absl::InvalidArgumentError("the link request does not parse");
  }
  ASSIGN_OR_RETURN(const proto::LinkReply reply, options.link(request));
  return reply.SerializeAsString();
}

// Moves the stages to the reply. Of a large kernel, the texts of all stages would not fit in a
// frame: from where they fill half of one, a note takes the place of each.
void AddStages(std::vector<proto::StageReport> stages, proto::CompileReply* reply) {
  constexpr size_t kMostBytes = kMaxFrameBytes / 2;
  size_t bytes = 0;
  for (proto::StageReport& stage : stages) {
    bytes += stage.ir().size();
    if (bytes > kMostBytes && !stage.ir().empty()) {
      stage.set_ir(absl::StrCat("; ", stage.ir().size(), " bytes: too many beside those of the ",
                                "stages before it, as a reply has ", kMostBytes, " at most\n"));
    }
    *reply->add_stages() = std::move(stage);
  }
}

}  // namespace

absl::StatusOr<proto::CompileReply> RunJob(const WorkerOptions& options,
                                           const proto::CompileRequest& request) {
  const absl::Time start = SteadyNow();
  // The daemon checks this too. The worker is the last one before the compiler, and may be run by a
  // cluster.
  if (request.unit().size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a compile unit of ", request.unit().size(),
                                                   " bytes; at most ", kMaxUnitBytes));
  }
  // Only the canonical form: two forms of one unit would have two keys.
  ASSIGN_OR_RETURN(const proto::CompileUnit unit, ParseCanonical(request.unit()));
  ASSIGN_OR_RETURN(Product product, options.compile(request, unit));

  // The worker computes the key from the bytes that it compiled, and trusts no other key.
  const Key key = UnitKey(request.unit(), options.compiler);
  const double seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  proto::CompileReply reply;
  reply.set_digest(std::string(key.view()));
  reply.set_tier("compiled");
  reply.set_seconds(seconds);
  for (proto::Diagnostic& diagnostic : product.diagnostics) {
    *reply.add_diagnostics() = std::move(diagnostic);
  }
  AddStages(std::move(product.stages), &reply);
  // Without code there were errors, and nothing to keep.
  if (!product.payload.empty()) {
    product.info.set_compile_seconds(seconds);
    const Digest& compiler = options.compiler.For(unit.target().has_cuda());
    product.info.set_compiler(compiler.Hex());
    product.info.set_tenant(request.tenant());
    product.info.set_kernel(request.name());
    for (proto::KeyPart& part : KeyParts(unit, compiler)) {
      *product.info.add_key_parts() = std::move(part);
    }
    reply.set_entry(EncodeEntry(key, product.payload, product.info));
  }
  return reply;
}

absl::Status Serve(const WorkerOptions& options) {
  bool warm = options.warm_up == nullptr;
  while (true) {
    absl::StatusOr<Frame> frame = ReadFrame(options.in);
    if (!frame.ok()) {
      // The end of the stream between two frames is how a worker is told to end.
      return absl::IsUnavailable(frame.status()) ? absl::OkStatus() : frame.status();
    }
    // Warm up and confine the process before the reply: the pool then knows that this worker is
    // ready, and which restrictions its sandbox lacks.
    if (!warm) {
      RETURN_IF_ERROR(options.warm_up());
      warm = true;
    }
    absl::StatusOr<std::string> body;
    FrameType type = FrameType::kError;
    if (frame->type == FrameType::kHello) {
      type = FrameType::kHelloReply;
      body = HelloBody(options);
    } else if (frame->type == FrameType::kCompile) {
      type = FrameType::kCompileReply;
      body = CompileBody(options, frame->body);
    } else if (frame->type == FrameType::kLink) {
      type = FrameType::kLinkReply;
      body = LinkBody(options, frame->body);
    } else {
      body = absl::UnimplementedError(
          absl::StrCat("a worker does not answer frames of type ", static_cast<int>(frame->type)));
    }
    RETURN_IF_ERROR(Reply(options, frame->id, type, body));
  }
}

}  // namespace kiln
