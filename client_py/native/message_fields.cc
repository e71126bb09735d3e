#include "client_py/native/message_fields.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace kiln {

namespace py = pybind11;
using google::protobuf::FieldDescriptor;

namespace {

int EnumNumber(const google::protobuf::EnumDescriptor& type, py::handle value) {
  if (!py::isinstance<py::str>(value)) return py::cast<int>(value);
  const std::string name = py::cast<std::string>(value);
  const google::protobuf::EnumValueDescriptor* found = type.FindValueByName(name);
  if (found == nullptr) {
    throw py::value_error(absl::StrCat("no value '", name, "' of ", type.name()));
  }
  return found->number();
}

}  // namespace

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
      reflection.SetEnumValue(message, field, EnumNumber(*field->enum_type(), value));
    } else {
      throw py::value_error(
          absl::StrCat("no field '", name, "' in ", message->GetDescriptor()->name()));
    }
  }
}

}  // namespace kiln
