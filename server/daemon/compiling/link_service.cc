#include "server/daemon/compiling/link_service.h"

#include <utility>

#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/deterministic.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/wire/framing.h"

namespace kiln {
namespace {

absl::StatusOr<std::shared_ptr<const std::string>> ReplyOf(absl::StatusOr<Frame> frame) {
  RETURN_IF_ERROR(frame.status());
  proto::LinkReply reply;
  RETURN_IF_ERROR(ParseReply(*frame, FrameType::kLinkReply, &reply));
  return std::make_shared<const std::string>(std::move(frame->body));
}

}  // namespace

absl::StatusOr<std::string> LinkService::Link(const proto::LinkRequest& request,
                                              const Caller& caller) {
  const absl::Time deadline =
      SteadyNow() +
      (request.deadline_ms() == 0 ? limit_ : absl::Milliseconds(request.deadline_ms()));
  if (caller.account != nullptr) RETURN_IF_ERROR(caller.account->CheckCompiles(SteadyNow()));
  std::string job = DeterministicBytes(request);
  const Place place = PlaceOf(caller.tenant, Key(Sha256Of(job)));
  // Runs at most once, in the caller that opens the flight.
  auto start = [&](const Flights::Done& done) -> Flights::Control {
    WorkerPool::Task task;
    task.request = std::move(job);
    task.name = request.name();
    task.owner = {caller.tenant, caller.name};
    task.place = place;
    task.type = FrameType::kLink;
    auto submitted = pool_->Submit(
        std::move(task), [done](absl::StatusOr<Frame> frame) { done(ReplyOf(std::move(frame))); });
    if (!submitted.ok()) {
      done(submitted.status());
      return {};
    }
    if (caller.account != nullptr) caller.account->CountCompile(SteadyNow());
    return {[pool = pool_, job = *submitted] { pool->Cancel(job); }, nullptr};
  };
  const Flights::Outcome outcome = flights_.Do(place, deadline, caller.gone, start);
  RETURN_IF_ERROR(outcome.result.status());
  return **outcome.result;
}

}  // namespace kiln
