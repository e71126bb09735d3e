// Tapes: kiln_tape_... over Tape.
#include "client_cpp/tape.h"

#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/capture.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "common/base/status_macros.h"

namespace kiln::dsl {
namespace {

// The tape whose body the thread runs.
thread_local kiln_tape* recording = nullptr;

absl::Status CheckLoss(const DenseField& loss) {
  if (loss.grad() == nullptr) {
    return absl::InvalidArgumentError("the loss of the tape has no gradient");
  }
  if (loss.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the loss of a tape has one element, and not ", loss.size()));
}

absl::Status Record(kiln_tape* tape, kiln_status (*body)(void* self), void* self) {
  if (RunningCapture() != nullptr) {
    return absl::FailedPreconditionError("a tape cannot record while launches are captured");
  }
  return tape->tape.Record([&] {  // which fails within another body
    tape->fields.clear();
    tape->kept.clear();
    tape->device = &CpuDevice();
    recording = tape;
    const kiln_status done = body(self);
    recording = nullptr;
    if (done == KILN_OK) return absl::OkStatus();
    return absl::Status(static_cast<absl::StatusCode>(done), kiln_compile_error());
  });
}

absl::Status Run(kiln_tape* tape, const DenseField& loss, kiln_status (*body)(void* self),
                 void* self) {
  RETURN_IF_ERROR(CheckLoss(loss));
  Device* const device = loss.device();
  // Else Record fails, and the loss stays.
  if (recording == nullptr && RunningCapture() == nullptr) {
    ASSIGN_OR_RETURN(const auto turn, TakeTurn(*device));
    RETURN_IF_ERROR(loss.Fill(0));
  }
  RETURN_IF_ERROR(Record(tape, body, self));
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*device));
  RETURN_IF_ERROR(tape->tape.ClearGradients());
  RETURN_IF_ERROR(loss.grad()->Fill(1));
  return tape->tape.Gradients();
}

}  // namespace

kiln_tape* RunningTape() { return recording; }

}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

kiln_tape* kiln_tape_new(int ignores_overwritten) {
  using Overwritten = kiln::Tape::Overwritten;
  return new (std::nothrow)
      kiln_tape(ignores_overwritten != 0 ? Overwritten::kIgnored : Overwritten::kRefused);
}

void kiln_tape_free(kiln_tape* tape) { delete tape; }

kiln_status kiln_tape_run(kiln_tape* tape, const kiln_dense* loss, kiln_status (*body)(void* self),
                          void* self) {
  if (body == nullptr) return Null("kiln_tape_run", "body");
  return Told(Run(tape, *loss->field, body, self));
}

kiln_status kiln_tape_record(kiln_tape* tape, kiln_status (*body)(void* self), void* self) {
  if (body == nullptr) return Null("kiln_tape_record", "body");
  return Told(Record(tape, body, self));
}

kiln_status kiln_tape_clear_gradients(kiln_tape* tape) {
  const auto turn = TakeTurn(*tape->device);
  return Told(turn.ok() ? tape->tape.ClearGradients() : turn.status());
}

kiln_status kiln_tape_gradients(kiln_tape* tape) {
  const auto turn = TakeTurn(*tape->device);
  return Told(turn.ok() ? tape->tape.Gradients() : turn.status());
}
