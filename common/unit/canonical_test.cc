// The key depends on every field of the unit, and on nothing else.
#include "common/unit/canonical.h"

#include <stdio.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kPrintKey[] = "--print_key";

Digest KeyOf(const proto::CompileUnit& unit) {
  return UnitKey(CanonicalBytes(unit), Sha256Of("compiler"));
}

// Sets one scalar field (element `i` if repeated, appended if i < 0) to a value
// that depends on `salt`, never the default.
void SetScalar(Message* message, const FieldDescriptor* field, int i, int salt) {
  const Reflection* r = message->GetReflection();
#define KILN_SET(Kind, value)                                              \
  do {                                                                     \
    if (!field->is_repeated()) return r->Set##Kind(message, field, value); \
    if (i < 0) return r->Add##Kind(message, field, value);                 \
    return r->SetRepeated##Kind(message, field, i, value);                 \
  } while (false)
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      KILN_SET(Int32, 3 + salt);
    case FieldDescriptor::CPPTYPE_INT64:
      KILN_SET(Int64, -3 - salt);
    case FieldDescriptor::CPPTYPE_UINT32:
      KILN_SET(UInt32, 3u + static_cast<uint32_t>(salt));
    case FieldDescriptor::CPPTYPE_UINT64:
      KILN_SET(UInt64, 3u + static_cast<uint64_t>(salt));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      KILN_SET(Double, 0.5 + salt);
    case FieldDescriptor::CPPTYPE_FLOAT:
      KILN_SET(Float, 0.5f + static_cast<float>(salt));
    case FieldDescriptor::CPPTYPE_BOOL:
      KILN_SET(Bool, salt % 2 == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      KILN_SET(EnumValue, 1 + salt);
    case FieldDescriptor::CPPTYPE_STRING:
      KILN_SET(String, "text" + std::to_string(salt));
    default:
      FAIL() << field->full_name();
  }
#undef KILN_SET
}

// Fills every field; for a oneof, the alternative number `choice` (modulo their number).
void Fill(Message* message, int choice) {
  const Descriptor* descriptor = message->GetDescriptor();
  const Reflection* r = message->GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (const auto* oneof = field->real_containing_oneof();
        oneof != nullptr && field->index_in_oneof() != choice % oneof->field_count()) {
      continue;
    }
    for (int copy = 0; copy < (field->is_repeated() ? 2 : 1); ++copy) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        SetScalar(message, field, -1, 2 * copy);
      } else if (field->is_repeated()) {
        Fill(r->AddMessage(message, field), choice);
      } else {
        Fill(r->MutableMessage(message, field), choice);
      }
    }
  }
}

// Makes every possible single change to `message`, calls `check`, and undoes the change. Adds the
// changed fields to `seen`.
void ForEachChange(Message* message, std::set<std::string>* seen,
                   const std::function<void(const std::string&)>& check) {
  const Reflection* r = message->GetReflection();
  const Descriptor* descriptor = message->GetDescriptor();
  for (int f = 0; f < descriptor->field_count(); ++f) {
    const FieldDescriptor* field = descriptor->field(f);
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated() ? r->FieldSize(*message, field) == 0 : !r->HasField(*message, field)) {
      continue;  // another alternative of a oneof
    }
    seen->insert(field->full_name());
    std::unique_ptr<Message> saved(message->New());
    saved->CopyFrom(*message);
    const auto change = [&](const char* what, const std::function<void()>& edit) {
      edit();
      check(field->full_name() + " " + what);
      message->CopyFrom(*saved);
    };
    change("cleared", [&] { r->ClearField(message, field); });
    if (field->is_repeated()) {
      change("shortened", [&] { r->RemoveLast(message, field); });
      change("lengthened", [&] {
        if (is_message) {
          r->AddMessage(message, field);
        } else {
          SetScalar(message, field, -1, 6);
        }
      });
    }
    if (!is_message) change("changed", [&] { SetScalar(message, field, 0, 7); });
    if (!is_message && field->is_repeated()) {
      change("swapped", [&] { r->SwapElements(message, field, 0, 1); });
    }
    if (!is_message) continue;
    const int size = field->is_repeated() ? r->FieldSize(*message, field) : 1;
    for (int i = 0; i < size; ++i) {
      ForEachChange(field->is_repeated() ? r->MutableRepeatedMessage(message, field, i)
                                         : r->MutableMessage(message, field),
                    seen, check);
    }
  }
}

void AllFields(const Descriptor* descriptor, std::set<std::string>* names) {
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (!names->insert(field->full_name()).second) continue;
    if (field->message_type() != nullptr) AllFields(field->message_type(), names);
  }
}

proto::CompileUnit Filled(int choice) {
  proto::CompileUnit unit;
  Fill(&unit, choice);
  return unit;
}

TEST(UnitKey, EveryFieldChangesIt) {
  std::set<std::string> seen;
  int changes = 0;
  for (int choice = 0; choice < 3; ++choice) {
    proto::CompileUnit unit = Filled(choice);
    const Digest key = KeyOf(unit);
    ForEachChange(&unit, &seen, [&](const std::string& what) {
      ++changes;
      EXPECT_NE(KeyOf(unit), key) << what;
    });
    EXPECT_EQ(KeyOf(unit), key);
  }
  std::set<std::string> all;
  AllFields(proto::CompileUnit::descriptor(), &all);
  EXPECT_EQ(seen, all) << "a field was never tried";
  EXPECT_GT(changes, 500);
}

TEST(UnitKey, DependsOnTheCompiler) {
  const std::string bytes = CanonicalBytes(Filled(0));
  EXPECT_NE(UnitKey(bytes, Sha256Of("a")), UnitKey(bytes, Sha256Of("b")));
}

// Of units for CUDA, on what CUDA's toolkit adds as well; of others, not.
TEST(UnitKey, DependsOnTheToolkitForCudaAlone) {
  const CompilerIds none(Sha256Of("compiler"), Sha256Of("no toolkit"));
  const CompilerIds some(Sha256Of("compiler"), Sha256Of("a toolkit"));
  proto::CompileUnit unit = Filled(0);
  unit.mutable_target()->set_cpu(proto::X86_64_V3);
  const std::string cpu = CanonicalBytes(unit);
  unit.mutable_target()->mutable_cuda()->set_virtual_arch(90);
  const std::string cuda = CanonicalBytes(unit);
  EXPECT_FALSE(IsForCuda(cpu));
  EXPECT_TRUE(IsForCuda(cuda));
  EXPECT_EQ(UnitKey(cpu, none), UnitKey(cpu, some));
  EXPECT_EQ(UnitKey(cpu, some), UnitKey(cpu, Sha256Of("compiler"))) << "as before";
  EXPECT_NE(UnitKey(cuda, none), UnitKey(cuda, some));
  // Whatever a client sends, the look at its head ends.
  for (size_t size = 0; size < cuda.size(); ++size) IsForCuda(cuda.substr(0, size));
  EXPECT_FALSE(IsForCuda(""));
  EXPECT_FALSE(IsForCuda(std::string(100, '\xff')));
}

// The key from another process with another directory, environment and number of threads.
std::string KeyFromAnotherProcess(const std::string& prefix) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return "";
  FILE* out = popen((prefix + " " + self + " " + kPrintKey).c_str(), "r");
  char hex[65] = {};
  const size_t got = fread(hex, 1, 64, out);
  EXPECT_EQ(pclose(out), 0);
  return std::string(hex, got);
}

TEST(UnitKey, IsTheSameInEveryProcess) {
  const std::string key = KeyOf(Filled(0)).Hex();
  EXPECT_EQ(KeyFromAnotherProcess(""), key);
  EXPECT_EQ(KeyFromAnotherProcess("cd / && env -i OMP_NUM_THREADS=7 taskset -c 0"), key);
}

TEST(Canonical, RoundTrips) {
  for (int choice = 0; choice < 3; ++choice) {
    const std::string bytes = CanonicalBytes(Filled(choice));
    const auto unit = ParseCanonical(bytes);
    ASSERT_TRUE(unit.ok()) << unit.status();
    EXPECT_EQ(CanonicalBytes(*unit), bytes);
  }
}

// Keys of all that was compiled before the option existed.
TEST(Canonical, UnitsThatAreNotRelocatableKeepTheirBytes) {
  proto::CompileUnit unit;
  unit.mutable_target()->set_cpu(proto::X86_64_V3);
  unit.mutable_options()->set_fast_math(true);
  unit.mutable_options()->set_opt_level(3);
  const std::string bytes = CanonicalBytes(unit);
  EXPECT_EQ(bytes, std::string("\x22\x02\x08\x03\x2a\x04\x08\x01\x18\x03", 10));
  unit.mutable_options()->set_relocatable(false);
  EXPECT_EQ(CanonicalBytes(unit), bytes);
  unit.mutable_options()->set_relocatable(true);
  EXPECT_NE(CanonicalBytes(unit), bytes);
}

TEST(Canonical, TargetsAreInsertedIntoTheBytes) {
  for (int choice = 0; choice < 3; ++choice) {
    for (const bool has_options : {true, false}) {
      proto::CompileUnit unit = Filled(choice);
      if (!has_options) unit.clear_options();
      const std::string whole = CanonicalBytes(unit);
      const proto::Target target = unit.target();
      unit.clear_target();
      EXPECT_EQ(WithTarget(CanonicalBytes(unit), target, unit), whole);
    }
  }
  proto::Target target;
  target.set_runtime_abi(1);
  proto::CompileUnit empty;
  const std::string bytes = WithTarget("", target, empty);
  EXPECT_EQ(ParseCanonical(bytes)->target().runtime_abi(), 1u);
}

TEST(Canonical, RefusesUnknownFieldsAtEveryLevel) {
  proto::CompileUnit unit = Filled(0);
  const std::function<void(Message*)> visit = [&](Message* message) {
    const Reflection* r = message->GetReflection();
    r->MutableUnknownFields(message)->AddVarint(1000, 1);
    const auto parsed = ParseCanonical(CanonicalBytes(unit));
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(parsed.status().message().find(message->GetDescriptor()->full_name()),
              std::string::npos)
        << parsed.status();
    r->MutableUnknownFields(message)->Clear();
    std::vector<const FieldDescriptor*> fields;
    r->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      visit(field->is_repeated() ? r->MutableRepeatedMessage(message, field, 0)
                                 : r->MutableMessage(message, field));
    }
  };
  visit(&unit);
}

TEST(Canonical, RefusesNonCanonicalBytes) {
  proto::CompileUnit options, target;
  options.mutable_options()->set_debug(true);
  target.mutable_target()->set_runtime_abi(1);
  const struct {
    const char* what;
    std::string bytes;
  } cases[] = {
      {"fields out of order", CanonicalBytes(options) + CanonicalBytes(target)},
      {"a field twice", CanonicalBytes(options) + CanonicalBytes(options)},
      {"a default written out", std::string("\x2a\x02\x08\x00", 4)},
      {"an overlong varint", std::string("\x2a\x03\x08\x81\x00", 5)},
      {"unpacked list", std::string("\x0a\x06\x12\x04\x10\x01\x10\x02", 8)},
      {"no message at all", "\xff\xff\xff"},
      {"truncated", CanonicalBytes(Filled(0)).substr(0, 100)},
  };
  for (const auto& c : cases) EXPECT_FALSE(ParseCanonical(c.bytes).ok()) << c.what;
  EXPECT_FALSE(ParseCanonical(std::string(kMaxUnitBytes + 1, '\0')).ok());
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == kiln::kPrintKey) {
    std::fputs(kiln::KeyOf(kiln::Filled(0)).Hex().c_str(), stdout);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
