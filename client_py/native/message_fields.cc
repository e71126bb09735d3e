#include "client_py/native/message_fields.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace kiln {

namespace py = pybind11;
using google::protobuf::FieldDescriptor;

void SetFields(const py::dict& values, google::protobuf::Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  for (const auto& [key, value] : values) {
    const std::string name = py::cast<std::string>(key);
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
    const auto type = field == nullptr || field->is_repeated() ? FieldDescriptor::CPPTYPE_MESSAGE
                                                               : field->cpp_type();
    if (type == FieldDescriptor::CPPTYPE_BOOL) {
      reflection.SetBool(message, field, py::cast<bool>(value));
    } else if (type == FieldDescriptor::CPPTYPE_UINT32) {
      reflection.SetUInt32(message, field, py::cast<uint32_t>(value));
    } else if (type == FieldDescriptor::CPPTYPE_ENUM) {
      reflection.SetEnumValue(message, field, py::cast<int>(value));
    } else {
      throw py::value_error(
          absl::StrCat("no field '", name, "' in ", message->GetDescriptor()->name()));
    }
  }
}

}  // namespace kiln
