#include <memory>
#include <string>
#include <vector>

#include "client_cpp/dsl/data.h"
#include "client_cpp/fields.h"

namespace kiln::dsl::detail {

std::shared_ptr<DenseField> MakeField(ValueType element, const uint64_t* shape, int axes,
                                      Failure* failure) {
  std::vector<uint32_t> element_shape;
  for (uint32_t extent : {element.rows, element.columns}) {
    if (extent > 0) element_shape.push_back(extent);
  }
  auto field = DenseField::Create(static_cast<proto::Scalar>(element.scalar), {shape, shape + axes},
                                  element_shape);
  if (field.ok()) return *std::move(field);
  *failure = {static_cast<int>(field.status().code()), std::string(field.status().message())};
  return nullptr;
}

void* DataOf(const DenseField& field) { return field.data(); }

}  // namespace kiln::dsl::detail
