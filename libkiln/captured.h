// Graphs of modules as a device starts them: all launches of a run by one call of its driver.
#ifndef KILN_LIBKILN_CAPTURED_H_
#define KILN_LIBKILN_CAPTURED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kiln/kiln.h"
#include "runtime/launch_graph.h"
#include "runtime/module/module.h"

namespace kiln::capi {

// Of a world, or of a module for runs without one. Thread-safe. The memory of a run's arguments has
// to exist during the run alone: what has other addresses is another run.
//
// Runs with slots that come again have device graphs of their own, which start by one call. All
// others share one: there, each task whose slots differ from the last start's costs another call.
class CapturedGraphs {
 public:
  // The launches of a run of the module's graph `number`, to be started with `slots`: those of each
  // launch, one after the other. Null if the run has to launch its kernels one by one. That is the
  // case if the host waits for one of them. It is also the case if the graph was rarely run, since
  // making the device's graph takes longer than launching the kernels.
  std::shared_ptr<LaunchGraph> Find(const Module& module, int number, const uint64_t* slots);
  // Frees all of them.
  void Clear();

 private:
  struct Run {
    std::vector<uint64_t> slots;
    int times = 0;
    std::shared_ptr<LaunchGraph> made;
  };
  struct Graph {
    bool is_known = false, is_captured = false;  // whether runs may be captured, if that is known
    size_t slots = 0;                            // of a run
    size_t plain_runs = 0;                       // that launched kernel by kernel
    std::vector<Run> runs;                       // the last one first
    std::shared_ptr<LaunchGraph> other;          // for runs that have no `made` of their own
  };

  static void LookAt(const Module& module, int number, Graph* graph);

  std::mutex mutex_;
  std::map<int, Graph> graphs_;  // by number
};

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_CAPTURED_H_
