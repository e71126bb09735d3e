#include "server/daemon/worker_reports.h"

#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace kiln {

void WorkerReports::Note(const proto::HelloReply& worker) {
  absl::MutexLock lock(&mutex_);
  if (const std::string& now = worker.cuda_toolchain(); now != cuda_toolchain_) {
    const auto gauge = [](const std::string& toolchain) {
      return Metrics::Get().gauge("kiln_cuda_toolchain", toolchain);
    };
    if (!cuda_toolchain_.empty()) gauge(cuda_toolchain_)->Set(0);
    cuda_toolchain_ = now;
    if (!now.empty()) gauge(now)->Set(1);
  }
  for (const proto::HelloReply::Gap& gap : worker.gaps()) {
    // Each worker reports the same gaps; there may be hundreds in a day.
    if (!known_.insert(gap.name()).second) continue;
    Log("warning: workers are confined less than they should be: ", gap.text());
    Metrics::Get().gauge("kiln_worker_gaps", gap.name())->Set(1);
  }
}

std::string WorkerReports::cuda_toolchain() const {
  absl::MutexLock lock(&mutex_);
  return cuda_toolchain_;
}

}  // namespace kiln
