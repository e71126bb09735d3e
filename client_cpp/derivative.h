// Makes the unit of a kernel's derivative from that of the kernel.
//
// The derivative has the kernel's parameters, under their ids, and then one more for the companion
// (gradient or dual) of each parameter that has one.
//
// Thread safety: pure functions.
#ifndef KILN_CLIENT_CPP_DERIVATIVE_H_
#define KILN_CLIENT_CPP_DERIVATIVE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/language/ids.h"
#include "kiln/proto/layout.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

// The parameters of a derivative.
struct DerivativeParams {
  proto::AutodiffMode mode = proto::AUTODIFF_NONE;  // NONE: the kernel is no derivative
  std::vector<ParamId> of;                          // the parameters with companions
  ParamId first_companion;                          // that of of[0]; the others follow
  // The bytes of one element of each storage; 0 for values.
  IdVector<ParamId, uint64_t> element_bytes;

  // None if `param` has no companion.
  absl::optional<ParamId> CompanionOf(ParamId param) const;
};

// The companions of fields in trees. Those of others have the form of the field or array.
using CompanionsInTrees = std::vector<std::pair<ParamId, proto::Storage>>;

// Makes `unit` compute its derivative. `of`: storage parameters, which get companions; all others
// are constants. InvalidArgument, leaving `unit` unspecified, if one of them is neither a field nor
// an array of floats, or is a field in a tree that `in_trees` does not list. The same if one is
// listed twice or may overlap other memory, or if the unit already computes a derivative.
absl::StatusOr<DerivativeParams> Differentiate(proto::AutodiffMode mode,
                                               absl::Span<const ParamId> of,
                                               proto::CompileUnit* unit,
                                               const CompanionsInTrees& in_trees = {});

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DERIVATIVE_H_
