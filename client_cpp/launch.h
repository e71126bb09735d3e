// One launch of an instance with packed arguments, and the texts of what it reports.
#ifndef KILN_CLIENT_CPP_LAUNCH_H_
#define KILN_CLIENT_CPP_LAUNCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client_cpp/instance.h"
#include "client_cpp/kernel_facts.h"
#include "common/unit/node_number.h"

namespace kiln {

// Why a launch failed.
struct LaunchFailure {
  // The text of an assert, or a sentence about another check or the runtime's error.
  std::string text;
  // Of the check, innermost call first; empty if the kernel has no positions.
  std::vector<SourcePosition> positions;
  NodeNumber node;               // of the check; none: the runtime's error
  std::vector<uint64_t> values;  // the slots that the check reports
};

// Receivers of a launch's texts. A launch calls them from any of its threads, one call at a time.
struct LaunchReceivers {
  // Gets the text of each print and warning, with its line end. Empty: standard output.
  std::function<void(absl::string_view text)> print;
  // Gets the first failure before Launch returns it as a status. May be empty.
  std::function<void(const LaunchFailure& failure)> failure;
};

// Runs `instance` with the slots of its arguments and results (LoadedKernel::Launch). Aborted if
// the launch failed, with the failure's text and first position.
absl::Status Launch(const Instance& instance, const uint64_t* arguments, uint64_t* results,
                    int max_threads, const LaunchReceivers& receivers);

// The end of a text, " at FILE:LINE" of the innermost position; empty if there is none.
std::string PositionText(const std::vector<SourcePosition>& positions);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_LAUNCH_H_
