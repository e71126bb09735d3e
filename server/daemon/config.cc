#include "server/daemon/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/home/folder.h"
#include "server/observe/json_text.h"

namespace kiln {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// Far beyond any configuration: bounds what a wrong path, such as that of a log, makes us read.
constexpr uint64_t kMaxConfigBytes = 16 << 20;

// The fields that a section must have if it is present.
struct Required {
  const char* section;
  const char* field;
};
// Not `required` in the schema: the parser's own message would name neither file nor line.
constexpr Required kRequired[] = {
    {"execution", "server"},      {"execution.server", "address"},
    {"service", "listen"},        {"tier.http", "url"},
    {"tier.reapi", "address"},    {"tier.redis", "address"},
    {"tier.upstream", "address"}, {"web", "listen"},
};

// The largest permitted value of a number, for fields with a limit.
struct Bound {
  const char* path;
  uint64_t most;
};
// Larger numbers are typing errors, and would overflow or exhaust something only under load.
constexpr Bound kBounds[] = {
    {"limits.connections", 1 << 16},  {"limits.running", 1 << 20},
    {"service.anonymous_rights", 15}, {"service.connection_seconds", 1 << 20},
    {"service.connections", 1 << 16}, {"workers.count", 256},
    {"workers.job_seconds", 1 << 20}, {"workers.max_jobs", 1 << 30},
    {"workers.max_queue", 1 << 20},
};

bool IsPath(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
         (field.name() == "file" || absl::EndsWith(field.name(), "_file"));
}

// The parser's first error; the parser counts lines and columns from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    // The later ones often follow from the first.
    if (text_.empty()) text_ = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Checks every field that the file sets.
class Checker {
 public:
  explicit Checker(const std::string& file)
      : file_(file), directory_(file.substr(0, file.rfind('/') + 1)) {}

  absl::Status Check(Message* message, TextFormat::ParseInfoTree* tree,
                     const std::string& section) {
    std::vector<const FieldDescriptor*> fields;
    message->GetReflection()->ListFields(*message, &fields);
    // By reflection, so that a new field gets the checks of its kind without code.
    for (const FieldDescriptor* field : fields) {
      const std::string path =
          section.empty() ? field->name() : absl::StrCat(section, ".", field->name());
      const int count =
          field->is_repeated() ? message->GetReflection()->FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        RETURN_IF_ERROR(CheckField(message, tree, field, field->is_repeated() ? i : -1, path));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckField(Message* message, TextFormat::ParseInfoTree* tree,
                          const FieldDescriptor* field, int index, const std::string& path) {
    const TextFormat::ParseLocation where = tree->GetLocation(field, index);
    auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ":", where.line + 1, ":", where.column + 1, ": ", path, ": ", what));
    };
    if (path == "disk.mode" &&
        message->GetReflection()->GetEnumValue(*message, field) == proto::WRITE_ONLY) {
      return wrong("READ_WRITE or READ_ONLY: clients read the directory themselves");
    }
    // The field exists for greetings of clients. In a file, keys are in one place.
    if (path == "tier.upstream.trusted_key") return wrong("give trust.key_file instead");
    if (!IsText(*message, *field, index)) return wrong("not UTF-8");
    // The entries are pairs of texts, which are checked above; they have no fields with rules.
    if (field->is_map()) return absl::OkStatus();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* inner = Inner(message, field, index);
      for (const Required& required : kRequired) {
        if (path == required.section && !Has(*inner, required.field)) {
          return wrong(absl::StrCat("needs a field ", required.field));
        }
      }
      if (path == "tier" && HasNoKind(*inner)) {
        return wrong("needs one of redis, reapi, http and upstream");
      }
      return Check(inner, tree->GetTreeForNested(field, index), path);
    }
    if (field->name() == "listen" &&
        !IsHostAndPort(message->GetReflection()->GetString(*message, field))) {
      return wrong("expected HOST:PORT");
    }
    // Relative to the file that names them, not to the directory in which the daemon was started.
    if (IsPath(*field)) MakeAbsolute(message, field, index);
    return CheckBound(*message, *field, path, wrong);
  }

  // Invalid UTF-8 in strings, also in maps, could not be forwarded in messages.
  static bool IsText(const Message& message, const FieldDescriptor& field, int index) {
    const auto* reflection = message.GetReflection();
    std::string scratch;
    if (field.is_map()) {
      const Message& entry = reflection->GetRepeatedMessage(message, &field, index);
      const auto* kind = field.message_type();
      return IsText(entry, *kind->FindFieldByNumber(1), -1) &&
             IsText(entry, *kind->FindFieldByNumber(2), -1);
    }
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return true;
    return IsUtf8(index < 0
                      ? reflection->GetStringReference(message, &field, &scratch)
                      : reflection->GetRepeatedStringReference(message, &field, index, &scratch));
  }

  template <typename Wrong>
  static absl::Status CheckBound(const Message& message, const FieldDescriptor& field,
                                 const std::string& path, const Wrong& wrong) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_UINT32) return absl::OkStatus();
    for (const Bound& bound : kBounds) {
      if (path == bound.path && message.GetReflection()->GetUInt32(message, &field) > bound.most) {
        return wrong(absl::StrCat("at most ", bound.most));
      }
    }
    return absl::OkStatus();
  }

  static Message* Inner(Message* message, const FieldDescriptor* field, int index) {
    const auto* reflection = message->GetReflection();
    return index < 0 ? reflection->MutableMessage(message, field)
                     : reflection->MutableRepeatedMessage(message, field, index);
  }

  static bool Has(const Message& message, const char* name) {
    return message.GetReflection()->HasField(message,
                                             message.GetDescriptor()->FindFieldByName(name));
  }

  static bool HasNoKind(const Message& tier) {
    return !tier.GetReflection()->HasOneof(tier, tier.GetDescriptor()->FindOneofByName("kind"));
  }

  void MakeAbsolute(Message* message, const FieldDescriptor* field, int index) const {
    const auto* reflection = message->GetReflection();
    if (index < 0) {
      const std::string path = reflection->GetString(*message, field);
      // An empty path would become the directory; ListFields names only fields that are set.
      if (path[0] != '/') reflection->SetString(message, field, directory_ + path);
    } else {
      const std::string path = reflection->GetRepeatedString(*message, field, index);
      if (path.empty() || path[0] != '/') {
        reflection->SetRepeatedString(message, field, index, directory_ + path);
      }
    }
  }

  const std::string& file_;
  const std::string directory_;
};

// Makes paths absolute, since the daemon changes its directory.
absl::StatusOr<std::string> Absolute(const std::string& path) {
  char resolved[PATH_MAX];
  // Links resolved: files beside the configuration are beside the real one.
  if (realpath(path.c_str(), resolved) == nullptr) return absl::ErrnoToStatus(errno, path);
  return std::string(resolved);
}

}  // namespace

absl::StatusOr<proto::Config> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string absolute, Absolute(path));
  ASSIGN_OR_RETURN(const std::string text, ReadOwnFile(absolute, kMaxConfigBytes));
  return ParseConfig(text, absolute);
}

absl::StatusOr<proto::Config> ParseConfig(const std::string& text, const std::string& path) {
  proto::Config config;
  FirstError error;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(text, &config)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", error.text()));
  }
  RETURN_IF_ERROR(Checker(path).Check(&config, &tree, ""));
  return config;
}

bool IsHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  uint32_t port;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port < 65536;
}

bool IsLoopback(absl::string_view address) {
  const size_t colon = address.rfind(':');
  std::string host(address.substr(0, colon));
  // Not resolved: the check must not depend on a name server.
  if (host == "localhost") return true;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace kiln
