// The link job: kernels and tables to one module (LinkRequest, proto/service.proto).
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_MODULE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_MODULE_H_

#include "absl/status/statusor.h"
#include "kiln/proto/service.pb.h"

namespace kiln::cpu {

// Equal requests give equal bytes. InvalidArgument names what is wrong with the request. One call
// at a time (run_lld.h).
absl::StatusOr<proto::LinkReply> LinkModule(const proto::LinkRequest& request);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_MODULE_H_
