// Lets two of Kiln's shared libraries live in one process: the Python module and libkiln-compile.
//
// Generated code registers each message file with the process's protobuf when a library is loaded.
// A second file of the same name ends the process, even if both are the same. This constructor,
// which generated code calls, takes the place of protobuf's own in libraries that link this file:
// it leaves a file alone that is registered with the same content. Messages of both libraries then
// share one description, as their layout and code are the same.
//
// Requires protobuf as a shared library, version 3.21. Files of other libraries are not its matter.
#include <dlfcn.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/extension_set.h>
#include <google/protobuf/generated_message_reflection.h>
#include <google/protobuf/message.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace google::protobuf::internal {
namespace {

void Register(const DescriptorTable* table) {
  if (table == nullptr || table->is_initialized) return;
  table->is_initialized = true;
  for (int i = 0; i < table->num_deps; ++i) Register(table->deps[i]);
  // The pool itself would remember that it did not find the file.
  FileDescriptorProto known, own;
  if (DescriptorPool::internal_generated_database()->FindFileByName(table->filename, &known)) {
    own.ParseFromArray(table->descriptor, table->size);
    if (own.SerializeAsString() == known.SerializeAsString()) return;
    std::fprintf(
        stderr, "kiln: this process has loaded two versions of Kiln, whose messages in %s differ\n",
        table->filename);
  }
  DescriptorPool::InternalAddGeneratedFile(table->descriptor, table->size);
  MessageFactory::InternalRegisterGeneratedFile(table);
}

}  // namespace

AddDescriptorsRunner::AddDescriptorsRunner(const DescriptorTable* table) { Register(table); }

// The same for options that messages of ours add to protobuf's (op.proto).
void ExtensionSet::RegisterMessageExtension(const MessageLite* extendee, int number, FieldType type,
                                            bool is_repeated, bool is_packed,
                                            const MessageLite* prototype,
                                            LazyEagerVerifyFnType verify_func) {
  ExtensionInfo known;
  if (GeneratedExtensionFinder(extendee).Find(number, &known) &&
      known.message_info.prototype->GetTypeName() == prototype->GetTypeName()) {
    return;
  }
  // protobuf's own, which this function hides from our library.
  static auto* const original = reinterpret_cast<decltype(&RegisterMessageExtension)>(
      dlsym(RTLD_NEXT,
            "_ZN6google8protobuf8internal12ExtensionSet24RegisterMessageExtension"
            "EPKNS0_11MessageLiteEihbbS5_PFPKcS7_PNS1_12ParseContextEE"));
  if (original == nullptr) std::abort();  // another protobuf than the one we were built with
  original(extendee, number, type, is_repeated, is_packed, prototype, verify_func);
}

}  // namespace google::protobuf::internal
