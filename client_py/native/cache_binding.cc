// The cache directory, bundles and keys, for the `kiln cache` and `kiln key` commands, and the
// signatures of modules.
#include "client_py/native/cache_binding.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client_cpp/cache_files.h"
#include "client_py/native/gil.h"
#include "client_py/native/status_error.h"
#include "common/artifact/signature.h"
#include "common/artifact/target_proto.h"
#include "common/artifact/user_keys.h"
#include "common/base/digest.h"
#include "common/home/home.h"

namespace py = pybind11;

namespace kiln {
namespace {

// As text: JavaScript, jq and the like round integers beyond 2^53.
std::string HexOf(uint64_t number) { return absl::StrCat(absl::Hex(number, absl::kZeroPad16)); }

py::list PartsOf(const proto::ArtifactInfo& info) {
  py::list parts;
  for (const proto::KeyPart& part : info.key_parts()) {
    parts.append(py::make_tuple(part.name(), HexOf(part.digest()), part.text()));
  }
  return parts;
}

py::dict EntryHeadDict(const std::string& path) {
  const EntryHead head = ValueOrRaise(ReadEntryHead(path));
  py::dict entry;
  entry["key"] = head.key.Hex();
  entry["kernel"] = head.info.kernel();
  entry["tenant"] = head.info.tenant();
  // The class of code, such as x86-64-v3, not the model of a processor.
  entry["target"] = TargetOf(head.info.target()).text();
  entry["runtime_abi"] = HexOf(head.info.target().runtime_abi());
  entry["compiler"] = head.info.compiler();
  entry["compile_seconds"] = head.info.compile_seconds();
  entry["code_bytes"] = head.payload_bytes;
  entry["tasks"] = head.info.tasks_size();
  entry["signer"] = head.signer == 0 ? "" : HexOf(head.signer);
  entry["parts"] = PartsOf(head.info);
  py::dict needs;
  for (const auto& [library, version] : head.info.needs()) needs[py::str(library)] = version;
  entry["needs"] = needs;
  return entry;
}

// The keys of a home, or those in `files`.
TrustedKeys KeysOf(const std::string& home, const std::vector<std::string>& files) {
  TrustedKeys keys;
  for (const std::string& file : files) RaiseIfError(keys.AddFile(file));
  // Keys that are named replace the home's: `--keys` asks what these alone would trust.
  if (!files.empty()) return keys;
  absl::StatusOr<TrustedKeys> own = ReadUserKeys(ValueOrRaise(Home::Find(home)));
  // No file of keys is the normal state of one machine; a file that cannot be read is an error.
  if (absl::IsNotFound(own.status())) return keys;
  return ValueOrRaise(std::move(own));
}

std::optional<SigningKey> SecretKey(const std::string& file) {
  if (file.empty()) return std::nullopt;
  return ValueOrRaise(SigningKey::ReadFile(file));
}

// ---- Signatures of modules: a file of one line, "kiln-module-signature 1 ID BASE64".

constexpr char kSignatureOfModule[] = "kiln-module-signature 1 ";

// What is signed. The head keeps it from being the message of any other signature.
std::string MessageOf(const py::bytes& module) {
  return absl::StrCat("kiln module 1\n", Sha256Of(std::string(module)).Hex());
}

std::string SignModule(const py::bytes& module, const std::string& key_file) {
  const SigningKey key = ValueOrRaise(SigningKey::ReadFile(key_file));
  const Signature made = key.Sign(MessageOf(module));
  const absl::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
  return absl::StrCat(kSignatureOfModule, HexOf(key.public_key().id()), " ",
                      absl::Base64Escape(bytes), "\n");
}

// Why no trusted key vouches for the module; "" if one does.
std::string DistrustOfModule(const py::bytes& module, const std::string& line,
                             const std::string& home, const std::vector<std::string>& key_files) {
  absl::string_view rest = absl::StripAsciiWhitespace(line);
  std::string bytes;
  KeyId id = 0;
  Signature signature;
  const bool is_signature = absl::ConsumePrefix(&rest, kSignatureOfModule);
  const std::vector<std::string> parts = absl::StrSplit(rest, ' ');
  if (!is_signature || parts.size() != 2 || !absl::SimpleHexAtoi(parts[0], &id) ||
      !absl::Base64Unescape(parts[1], &bytes) || bytes.size() != signature.size()) {
    return "its signature is damaged";
  }
  std::copy(bytes.begin(), bytes.end(), signature.begin());
  const TrustedKeys keys = KeysOf(home, key_files);
  return std::string(keys.Check(MessageOf(module), id, signature).message());
}

// For each file: (what is wrong or "", whether only the signature is wrong).
py::list Verify(const std::string& home, const std::vector<std::string>& files,
                const std::vector<std::string>& key_files) {
  const TrustedKeys keys = KeysOf(home, key_files);
  py::list results;
  for (const std::string& file : files) {
    absl::Status status;
    {
      // Reads and hashes the file: other Python threads go on meanwhile.
      const GilReleased release;
      status = VerifyEntryFile(file, &keys);
    }
    results.append(py::make_tuple(std::string(status.message()), absl::IsPermissionDenied(status)));
  }
  return results;
}

py::dict Export(std::vector<std::string> files, const std::string& path,
                const std::string& signing_key_file) {
  const std::optional<SigningKey> key = SecretKey(signing_key_file);
  absl::StatusOr<ExportResult> result;
  {
    const GilReleased release;
    result = ExportBundle(std::move(files), path, key.has_value() ? &*key : nullptr);
  }
  const ExportResult done = ValueOrRaise(std::move(result));
  py::dict summary;
  summary["entries"] = done.entries;
  summary["bytes"] = done.bytes;
  summary["left_out"] = done.left_out;
  return summary;
}

py::dict Import(const std::string& home, const std::string& path,
                const std::vector<std::string>& key_files, bool accept_unsigned, bool any_target) {
  const TrustedKeys keys = KeysOf(home, key_files);
  const Home place = ValueOrRaise(Home::Find(home));
  absl::StatusOr<ImportResult> result;
  {
    const GilReleased release;
    result = ImportBundle(place, path, {&keys, accept_unsigned, any_target});
  }
  const ImportResult done = ValueOrRaise(std::move(result));
  py::dict summary;
  summary["entries"] = done.entries;
  summary["imported"] = done.imported;
  summary["present"] = done.present;
  summary["bytes"] = done.bytes;
  py::list refused;
  for (const ImportResult::Refusal& refusal : done.refused) {
    py::dict one;
    one["key"] = refusal.key.Hex();
    one["kernel"] = refusal.kernel;
    one["reason"] = refusal.reason;
    one["text"] = refusal.text;
    refused.append(one);
  }
  summary["refused"] = refused;
  return summary;
}

}  // namespace

void BindCache(py::module_& m) {
  m.def("entry_head", &EntryHeadDict, py::arg("path"));
  m.def("verify_entries", &Verify, py::arg("home"), py::arg("files"), py::arg("key_files"));
  m.def("export_bundle", &Export, py::arg("files"), py::arg("path"), py::arg("signing_key_file"));
  m.def("import_bundle", &Import, py::arg("home"), py::arg("path"), py::arg("key_files"),
        py::arg("accept_unsigned"), py::arg("any_target"));
  // (the secret line, the public line)
  m.def("new_key", [](const std::string& name) {
    const SigningKey key = ValueOrRaise(SigningKey::Generate(name));
    return py::make_tuple(key.Text(), key.public_key().Text());
  });
  // The public line of a secret key's file.
  m.def("public_key", [](const std::string& file) {
    return ValueOrRaise(SigningKey::ReadFile(file)).public_key().Text();
  });
  m.def("sign_module", &SignModule, py::arg("module"), py::arg("signing_key_file"));
  m.def("distrust_of_module", &DistrustOfModule, py::arg("module"), py::arg("signature"),
        py::arg("home"), py::arg("key_files"));
  // The file to which keys are added, and all files with trusted keys.
  m.def("key_file_to_change", [](const std::string& home) {
    return ValueOrRaise(UserKeyFileToChange(ValueOrRaise(Home::Find(home))));
  });
  m.def("key_files",
        [](const std::string& home) { return UserKeyFiles(ValueOrRaise(Home::Find(home))); });
  m.def("count_keys", [](const std::string& home) {
    return ValueOrRaise(ReadUserKeys(ValueOrRaise(Home::Find(home)))).size();
  });
  // Why others can write to a home; "" if they cannot.
  m.def("distrust_of", [](const std::string& home) {
    return std::string(ValueOrRaise(Home::Find(home)).CheckIsOwnWithCache().message());
  });
  // (name, id) of a public key's line.
  m.def("key_id", [](const std::string& line) {
    const PublicKey key = ValueOrRaise(PublicKey::Parse(line));
    return py::make_tuple(key.name(), HexOf(key.id()));
  });
}

}  // namespace kiln
