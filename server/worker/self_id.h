// The compiler id of the running process: SHA-256 over the GNU build ids of those of its code
// objects that can change generated code. For CUDA it also covers the files of NVIDIA's toolkit
// (common/artifact/compiler_id.h).
#ifndef KILN_SERVER_WORKER_SELF_ID_H_
#define KILN_SERVER_WORKER_SELF_ID_H_

#include "absl/status/statusor.h"
#include "common/artifact/compiler_id.h"

namespace kiln {

// This executable first, then libLLVM and libMLIR if they are mapped, then the files of
// CudaToolkit() that are there. FailedPrecondition names an object of its own without a build id.
absl::StatusOr<CompilerIdRecord> IdentifySelf();

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SELF_ID_H_
