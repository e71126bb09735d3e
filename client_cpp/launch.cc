#include "client_cpp/launch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/check_text.h"
#include "client_cpp/print_format.h"
#include "common/language/op_table.h"
#include "runtime/loaded_kernel.h"

namespace kiln {
namespace {

// Makes texts of what one launch reports, and passes them on.
class Texts {
 public:
  Texts(const Instance& instance, const LaunchReceivers& receivers)
      : instance_(instance), texts_(instance.texts()), receivers_(receivers) {
    // The runtime calls these from any of its threads, one at a time.
    hooks_.print = [this](uint32_t node, const uint64_t* values, uint32_t count) {
      Print(node, values, count);
    };
    hooks_.fail = [this](uint32_t node, const uint64_t* values, uint32_t count) {
      // Threads may fail together. The first report is the one that counts, as in Python.
      if (failed_) return;
      Fail({TextOf(node, values, count),
            PositionsOf(texts_.source_map, NodeNumber(node)),
            NodeNumber(node),
            {values, values + count}});
    };
    hooks_.error = [this](std::string_view text) { Fail({std::string(text), {}, {}, {}}); };
    hooks_.names = &texts_.names;
  }

  const LaunchHooks& hooks() const { return hooks_; }

  // Of a launch that failed.
  absl::Status status() const {
    return absl::AbortedError(absl::StrCat(failure_.text, PositionText(failure_.positions)));
  }

 private:
  const proto::Format* FormatOf(uint32_t node) const {
    const auto found = texts_.source_map.formats().find(node);
    return found == texts_.source_map.formats().end() ? nullptr : &found->second;
  }

  std::string TextOf(uint32_t node, const uint64_t* values, uint32_t count) const {
    const proto::Format* format = FormatOf(node);
    if (format != nullptr) return RenderFormat(*format, texts_.types, values, count);
    // A gradient repeats no checks of its kernel, whose nodes it has.
    if (instance_.derivatives().params.mode == proto::AUTODIFF_REVERSE) return kCheckFailed;
    return CheckText(instance_.KindOf(NodeNumber(node)), {values, count});
  }

  void Print(uint32_t node, const uint64_t* values, uint32_t count) {
    if (const proto::Format* format = FormatOf(node); format != nullptr) {
      Show(RenderFormat(*format, texts_.types, values, count));
    } else if (count == 1) {  // debug mode's warning about an op
      const OpInfo* op = FindOp(static_cast<int>(values[0]));
      Show(absl::StrCat("overflow of ", op == nullptr ? "an op" : op->spelling,
                        PositionText(PositionsOf(texts_.source_map, NodeNumber(node))), "\n"));
    }
  }

  void Show(const std::string& text) {
    if (receivers_.print) {
      receivers_.print(text);
    } else {
      standard_output_.Add(text);
    }
  }

  void Fail(LaunchFailure failure) {
    if (std::exchange(failed_, true)) return;
    failure_ = std::move(failure);
    if (receivers_.failure) receivers_.failure(failure_);
  }

  const Instance& instance_;
  const InstanceTexts& texts_;
  const LaunchReceivers& receivers_;
  LaunchHooks hooks_;
  PrintSink standard_output_;
  bool failed_ = false;
  LaunchFailure failure_;
};

}  // namespace

std::string PositionText(const std::vector<SourcePosition>& positions) {
  if (positions.empty()) return "";
  return absl::StrCat(" at ", positions[0].file, ":", positions[0].line);
}

absl::Status Launch(const Instance& instance, const uint64_t* arguments, uint64_t* results,
                    int max_threads, const LaunchReceivers& receivers) {
  Texts texts(instance, receivers);
  if (instance.kernel()->Launch(arguments, results, {&texts.hooks(), max_threads})) {
    return absl::OkStatus();
  }
  return texts.status();
}

}  // namespace kiln
