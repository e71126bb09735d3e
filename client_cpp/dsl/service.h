// How the kernels of this process are compiled, and on which device they run.
#ifndef KILN_CLIENT_CPP_DSL_SERVICE_H_
#define KILN_CLIENT_CPP_DSL_SERVICE_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client_cpp/session.h"
#include "kiln/compile.h"
#include "kiln/proto/options.pb.h"
#include "runtime/device.h"
#include "runtime/memory_budget.h"

namespace kiln::dsl {

// Keeps the text for kiln_compile_error(); returns the code.
kiln_status Told(const absl::Status& status);
// The failure of a function whose argument of this name is NULL.
kiln_status Null(const char* function, const char* argument);

// The functions below are thread-safe.

struct Compiling {
  std::shared_ptr<Session> session;
  proto::CodeOptions code;
  int max_threads = 0;  // of launches
};
// Of kernels that are compiled now; makes the session with the first.
absl::StatusOr<Compiling> CurrentCompiling();

// Where fields are made, and for which kernels are traced, from now on.
Device* CurrentDevice();
// The limit of trees that are made from now on; null: none.
std::shared_ptr<MemoryBudget> CurrentBudget();
// "CUDA device 0", for messages.
std::string NameOf(const Device& device);

// While it exists, no other thread launches on the device or uses its data: what the host has
// written must not be handed over half. Costs nothing on the CPU, whose memory is the host's.
// FailedPrecondition in a process that was forked from one that uses the device.
absl::StatusOr<std::unique_lock<std::mutex>> TakeTurn(const Device& device);

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_SERVICE_H_
