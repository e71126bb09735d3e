// Parses, checks and lays out arbitrary messages as compile units. Each step must end with a result
// or an error, and a unit must have only one form that is accepted as canonical.
#include <cstdlib>
#include <string>

#include "common/unit/canonical.h"
#include "common/unit/check_unit.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto canonical = kiln::ParseCanonical(bytes);
  if (canonical.ok() && kiln::CanonicalBytes(*canonical) != bytes) std::abort();

  // Most inputs are not canonical; the rest of the code is looser on purpose.
  kiln::proto::CompileUnit unit;
  if (!unit.ParseFromArray(data, static_cast<int>(size))) return 0;
  unit.DiscardUnknownFields();
  if (!kiln::ParseCanonical(kiln::CanonicalBytes(unit)).ok()) std::abort();
  std::vector<kiln::proto::Diagnostic> diagnostics;
  const absl::Status status = kiln::CheckUnit(unit, &diagnostics).status();
  if (!status.ok() && status.code() != absl::StatusCode::kInvalidArgument) std::abort();
  return 0;
}
