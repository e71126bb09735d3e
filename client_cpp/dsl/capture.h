// Captured launches: the object behind kiln_capture.
#ifndef KILN_CLIENT_CPP_DSL_CAPTURE_H_
#define KILN_CLIENT_CPP_DSL_CAPTURE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "client_cpp/dsl/program.h"
#include "client_cpp/field_tree.h"
#include "client_cpp/fields.h"
#include "client_cpp/launcher.h"
#include "kiln/compile.h"
#include "runtime/device.h"
#include "runtime/launch_graph.h"

struct kiln_capture {
  // Adds a run of a program, whose version in use has all arguments. Fails for a run that cannot be
  // repeated, and then the recording fails, too.
  absl::Status Add(kiln::dsl::RunOf what, const kiln_program& program);
  // After the last one: has the device take the launches in a row whose outcome the host need not
  // look at.
  absl::Status Finish();
  absl::Status Run();

 private:
  struct Launch {
    std::unique_ptr<kiln::Launcher> launcher;  // with the arguments
    std::string name;
    int max_threads;
  };
  // Launches in a row.
  struct Part {
    size_t first, last;                        // exclusive
    std::unique_ptr<kiln::LaunchGraph> graph;  // null: one by one
  };

  absl::Status Check(const kiln_program& program) const;
  absl::Status MakeGraph(Part* part);
  absl::Status HandOver() const;

  kiln::Device* device_ = nullptr;  // of all launches; null: there are none
  std::vector<Launch> launches_;
  std::vector<Part> parts_;
  absl::Status failure_;  // the first
  // What the launches use.
  absl::flat_hash_set<std::shared_ptr<kiln::DenseField>> fields_;
  absl::flat_hash_set<std::shared_ptr<kiln::FieldTree>> trees_;
  absl::flat_hash_set<std::shared_ptr<const void>> kept_;
};

namespace kiln::dsl {

// The capture whose body the thread runs; null: none.
kiln_capture* RunningCapture();

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_CAPTURE_H_
