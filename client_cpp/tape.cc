#include "client_cpp/tape.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/access_history.h"
#include "client_cpp/kernel_facts.h"
#include "client_cpp/launch.h"
#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"
#include "runtime/cpu_device.h"

namespace kiln {
namespace {

// The tape whose body the thread runs.
struct Running {
  Tape* tape = nullptr;
  bool is_paused = false;
};
thread_local Running running;

std::atomic<uint64_t> recordings{0};

// Makes `tape` this thread's until the end of the body, also where it throws.
class Activation {
 public:
  explicit Activation(Tape* tape) : before_(std::exchange(running, {tape, false})) {}
  ~Activation() { running = before_; }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  const Running before_;
};

absl::Status CheckLoss(const DenseField& loss) {
  if (loss.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss of a tape has one element, and not ", loss.size()));
  }
  if (loss.grad() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the loss of the tape has no gradient: create it with Companions::kGrad");
}

absl::Status CheckNotNested() {
  if (Tape::Active() == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("a tape within the body of another one");
}

}  // namespace

Tape* Tape::Active() { return running.is_paused ? nullptr : running.tape; }
Tape* Tape::Paused() { return running.is_paused ? running.tape : nullptr; }

TapePause::TapePause() : was_paused_(std::exchange(running.is_paused, true)) {}
TapePause::~TapePause() { running.is_paused = was_paused_; }

absl::Status Tape::Run(const DenseField& loss, Body body) {
  RETURN_IF_ERROR(CheckLoss(loss));
  RETURN_IF_ERROR(CheckNotNested());
  RETURN_IF_ERROR(loss.Fill(0));
  RETURN_IF_ERROR(Record(body));
  RETURN_IF_ERROR(ClearGradients());
  RETURN_IF_ERROR(loss.grad()->Fill(1));
  return Gradients();
}

absl::Status Tape::Record(Body body) {
  RETURN_IF_ERROR(CheckNotNested());
  calls_.clear();
  arguments_.clear();
  functions_.clear();
  gradients_.clear();
  tree_gradients_.clear();
  nodes_.clear();
  mirrored_.clear();
  status_ = absl::OkStatus();
  is_recorded_ = false;
  recording_ = ++recordings;
  const absl::Status done = [&] {
    const Activation activation(this);
    return body();
  }();
  RETURN_IF_ERROR(done);
  // A body may have overlooked it.
  RETURN_IF_ERROR(status_);
  is_recorded_ = true;
  return absl::OkStatus();
}

absl::Status Tape::ClearGradients() {
  // Launches share most of their memory.
  std::sort(gradients_.begin(), gradients_.end(), [](const MemoryRange& a, const MemoryRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes > b.bytes;
  });
  const uint8_t* cleared = nullptr;
  for (const MemoryRange& range : gradients_) {
    // Within one that is cleared: the longest of those with the same begin comes first.
    if (range.begin + range.bytes <= cleared) continue;
    constexpr uint8_t kZero = 0;
    Buffer* const mirrored = range.mirrored;
    if (mirrored == nullptr) {
      Device& device = range.device == nullptr ? CpuDevice() : *range.device;
      device.Fill(range.begin, &kZero, sizeof kZero, range.bytes);
    } else {
      // What the host has written comes before.
      RETURN_IF_ERROR(ToStatus(mirrored->HandOver()));
      uint8_t* const there = mirrored->data() + (range.begin - mirrored->host());
      mirrored->device()->Fill(there, &kZero, sizeof kZero, range.bytes);
    }
    cleared = range.begin + range.bytes;
  }
  for (const auto& [gradient, components] : tree_gradients_) {
    gradient->Fill(std::vector<uint64_t>(components).data());
  }
  return absl::OkStatus();
}

std::vector<uint64_t> Tape::HostSlotsOf(const Call& call) const {
  const std::vector<ArgumentSlot>& slots = call.gradient->kernel()->info().arguments;
  const auto first = arguments_.begin() + static_cast<ptrdiff_t>(call.first);
  std::vector<uint64_t> values(first, first + static_cast<ptrdiff_t>(slots.size()));
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind != ArgumentSlot::Kind::kTree) continue;
    const auto known = nodes_.find(values[i]);
    if (known != nodes_.end()) values[i] = known->second;
  }
  return values;
}

absl::Status Tape::HandOver() const {
  for (Buffer* const buffer : mirrored_) RETURN_IF_ERROR(ToStatus(buffer->HandOver()));
  return absl::OkStatus();
}

absl::Status Tape::Gradients() {
  if (!is_recorded_) {
    return absl::FailedPreconditionError("the tape has recorded nothing since its last gradients");
  }
  is_recorded_ = false;
  if (overwritten_ == Overwritten::kRefused) RETURN_IF_ERROR(CheckOverwritten());
  // What the functions launch is not for the tape in whose body this may run.
  const TapePause pause;
  RETURN_IF_ERROR(HandOver());
  for (size_t i = calls_.size(); i > 0; --i) RETURN_IF_ERROR(RunGradient(calls_[i - 1]));
  return absl::OkStatus();
}

absl::Status Tape::CheckOverwritten() const {
  AccessHistory history;
  for (size_t i = calls_.size(); i > 0; --i) {
    const Call& call = calls_[i - 1];
    // Gradients that programs write themselves restore memory as they need it.
    if (call.gradient == nullptr) continue;
    const auto conflict = history.Add(call.gradient, HostSlotsOf(call).data());
    if (!conflict) continue;
    const proto::SourceMap& reader = conflict->reader->texts().source_map;
    const proto::SourceMap& writer = conflict->writer->texts().source_map;
    return absl::FailedPreconditionError(absl::StrCat(
        "gradients may be wrong: the gradient of kernel '", reader.kernel(), "' reads memory again",
        PositionText(PositionsOf(reader, conflict->read)), ", which ",
        conflict->reader == conflict->writer
            ? std::string("a later launch of it")
            : absl::StrCat("the later kernel '", writer.kernel(), "'"),
        " may have overwritten", PositionText(PositionsOf(writer, conflict->written)),
        ". Give each launch cells of its own, or copy what is overwritten. "
        "Tape::Overwritten::kIgnored runs the gradients anyway"));
  }
  return absl::OkStatus();
}

absl::Status Tape::RunGradient(const Call& call) {
  if (call.gradient == nullptr) {
    RETURN_IF_ERROR(functions_[call.first]());
    return HandOver();  // of what the function has written
  }
  results_.resize(std::max(results_.size(), call.gradient->kernel()->info().results.size()));
  absl::Status done =
      Launch(*call.gradient, arguments_.data() + call.first, results_.data(), call.max_threads, {});
  if (done.ok()) return done;
  return absl::Status(done.code(),
                      absl::StrCat("the gradient of ", call.gradient->texts().source_map.kernel(),
                                   ": ", done.message()));
}

void Tape::Add(std::function<absl::Status()> gradient) {
  calls_.push_back({nullptr, functions_.size(), 0});
  functions_.push_back(std::move(gradient));
}

void Tape::Add(std::shared_ptr<const Instance> gradient, absl::Span<const uint64_t> arguments,
               int max_threads) {
  calls_.push_back({std::move(gradient), arguments_.size(), max_threads});
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
}

void Tape::Fail(const absl::Status& status) { status_.Update(status); }

}  // namespace kiln
