// A compile unit off the wire: parsing, checking and laying out arbitrary messages
// end in an answer, and what is accepted as canonical has one spelling.
// Sources: lang/canonical.cc lang/digest.cc lang/deterministic.cc lang/op_table.cc
// Sources: lang/check_unit.cc lang/check_function.cc lang/check_storage.cc lang/check_tree.cc
// Sources: lang/check_word.cc lang/argument_layout.cc lang/type.cc lang/type_rules.cc
// Sources: lang/tree_field.cc lang/layout.cc lang/dense_field.cc
// Messages: unit kernel layout options target type op artifact diagnostic
#include <cstdlib>
#include <string>

#include "lang/canonical.h"
#include "lang/check_unit.h"

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
  const absl::Status status = kiln::CheckUnit(unit, &diagnostics);
  if (!status.ok() && status.code() != absl::StatusCode::kInvalidArgument) std::abort();
  return 0;
}
