// Ends an example at its first error.
#ifndef KILN_EXAMPLES_CPP_NEED_H_
#define KILN_EXAMPLES_CPP_NEED_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client_cpp/kiln.h"

// The value; prints the error and ends the program if there is none.
template <typename T>
T Need(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

inline void Need(const absl::Status& status) {
  if (!status.ok()) Need<int>(status);
}

// Compiles or fetches the instance, and shows warnings and errors of the kernel.
inline std::shared_ptr<const kiln::Instance> NeedInstance(kiln::Session& session,
                                                          kiln::KernelBuilder* builder,
                                                          const kiln::CompileSettings& settings) {
  kiln::InstanceOutcome made = Need(kiln::MakeInstance(session, builder, settings));
  for (const kiln::LocatedDiagnostic& one : made.diagnostics) {
    std::fprintf(stderr, "%s: %s\n", settings.name.c_str(), one.diagnostic.message().c_str());
  }
  if (made.instance == nullptr) std::exit(1);
  return made.instance;
}

#endif  // KILN_EXAMPLES_CPP_NEED_H_
