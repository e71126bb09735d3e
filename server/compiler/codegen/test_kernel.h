// For tests: kernels written as text, compiled and run in this process.
#ifndef KILN_SERVER_COMPILER_CODEGEN_TEST_KERNEL_H_
#define KILN_SERVER_COMPILER_CODEGEN_TEST_KERNEL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "runtime/abi.h"
#include "server/compiler/codegen/codegen.h"

namespace kiln {

class TestKernel {
 public:
  struct Options {
    Target target = Target::Cpu(3);
    uint32_t glibc = 0;
    bool fast_math = true;
    int opt_level = 3;
  };
  struct Report {
    bool failed = false;
    uint32_t node = 0;
    std::vector<uint64_t> values;
  };

  // `text` holds one kiln.kernel.
  static absl::StatusOr<std::unique_ptr<TestKernel>> Compile(const std::string& text,
                                                             const Options& options);
  static absl::StatusOr<std::unique_ptr<TestKernel>> Compile(const std::string& text) {
    return Compile(text, Options());
  }
  // As a relocatable object whose symbols begin with `prefix`.
  static absl::StatusOr<GeneratedCode> CompileObject(const std::string& text,
                                                     const std::string& prefix, Target target);
  static absl::StatusOr<std::string> EmitText(const std::string& text);
  // The LLVM IR after optimisation.
  static absl::StatusOr<std::string> OptimizedText(const std::string& text,
                                                   const Target& target = Target::Cpu(3));
  ~TestKernel();

  // Runs all tasks on this thread, ranges in chunks or pieces of `chunk` (0: one); each run has
  // other random numbers.
  void Run(const std::vector<uint64_t>& arguments, int64_t chunk = 0);
  int64_t Iterations(int task) const;
  uint64_t result(int i) const { return results_[i]; }
  const std::vector<Report>& reports() const { return reports_; }
  const GeneratedCode& code() const { return code_; }
  const std::vector<proto::StageReport>& stages() const { return stages_; }
  KilnContext* context() { return &context_; }
  KilnRuntime* runtime() { return &runtime_; }
  // Does the runtime's own tasks; answers the list that a listgen task makes.
  std::function<std::vector<KilnElement>(const proto::Task&)> runtime_task;
  KilnTask task(int i) const { return tasks_[i]; }

 private:
  TestKernel();
  static void Record(const KilnContext* context, bool failed, uint32_t node, uint32_t count,
                     const uint64_t* values);

  GeneratedCode code_;
  std::vector<proto::StageReport> stages_;
  void* library_ = nullptr;
  std::vector<KilnTask> tasks_;
  std::vector<KilnBounds> bounds_;
  std::vector<KilnTask> finishes_;
  KilnContext context_ = {};
  KilnRuntime runtime_ = {};
  uint32_t failed_ = 0;
  uint64_t results_[64] = {};
  alignas(64) uint8_t temporaries_[4096] = {};
  std::vector<uint64_t> partials_;
  std::vector<Report> reports_;
  std::vector<KilnElement> elements_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_TEST_KERNEL_H_
