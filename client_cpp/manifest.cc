#include "client_cpp/manifest.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/unit/canonical.h"
#include "proto/service.pb.h"

namespace kiln {
namespace {

constexpr char kHeader[] = "kiln-manifest 3";

std::string Packed(const std::string& raw) {
  uLongf size = compressBound(raw.size());
  std::string packed(size, '\0');
  // Cannot fail: compressBound() bytes always suffice.
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
            reinterpret_cast<const Bytef*>(raw.data()), raw.size(), Z_BEST_COMPRESSION);
  packed.resize(size);
  return packed;
}

// Appends a recorded kernel, preceded by its length in 8 bytes.
void AppendRecorded(const std::string& recorded, std::string* raw) {
  for (int shift = 0; shift < 64; shift += 8) {
    raw->push_back(static_cast<char>(uint64_t{recorded.size()} >> shift));
  }
  raw->append(recorded);
}

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", "?"}}); }

std::string ProgramName() {
  std::error_code error;
  const std::filesystem::path exe = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "-" : exe.filename().string();
}

// By path; never destroyed, as exit handlers use them.
absl::Mutex manifests_mutex(absl::kConstInit);
std::map<std::string, Manifest*>& Manifests() {
  static auto* const manifests = new std::map<std::string, Manifest*>;
  return *manifests;
}

void WriteAll() {
  absl::MutexLock lock(&manifests_mutex);
  for (const auto& [path, manifest] : Manifests()) manifest->Write();
}

}  // namespace

std::string RecordedKernel(proto::CompileUnit* unit, const proto::SourceMap& source_map) {
  proto::CompileRequest recorded;
  const proto::Target target = unit->target();
  unit->clear_target();
  recorded.set_unit(CanonicalBytes(*unit));
  *unit->mutable_target() = target;
  recorded.set_name(source_map.kernel());
  proto::SourceMap* map = recorded.mutable_source_map();
  *map = source_map;
  for (std::string& file : *map->mutable_files()) file.erase(0, file.rfind('/') + 1);
  return recorded.SerializeAsString();
}

Manifest* Manifest::OfProcess() {
  const char* named = std::getenv("KILN_MANIFEST");
  if (named == nullptr || *named == '\0') return nullptr;
  std::error_code error;
  // The program may change its folder.
  const std::string path = std::filesystem::absolute(named, error);
  absl::MutexLock lock(&manifests_mutex);
  if (Manifests().empty() && std::atexit(&WriteAll) != 0) return nullptr;
  Manifest*& manifest = Manifests()[error ? named : path];
  if (manifest == nullptr) manifest = new Manifest(error ? named : path);
  return manifest;
}

Manifest::Manifest(std::string path) : path_(std::move(path)), pid_(getpid()) {}

void Manifest::Add(Unit unit, const Digest& compiler) {
  absl::MutexLock lock(&mutex_);
  if (!compiler.empty()) compiler_ = compiler;
  if (keys_.insert(unit.key).second) units_.push_back(std::move(unit));
}

std::string Manifest::Bytes(absl::string_view program) const {
  absl::MutexLock lock(&mutex_);
  const std::string compiler = compiler_.empty() ? "-" : compiler_.Hex();
  std::string text =
      absl::StrCat(kHeader, "\nprogram - ", OneLine(program), "\ncompiler ", compiler, "\n");
  std::string raw;
  absl::flat_hash_set<std::string> known;
  for (const Unit& unit : units_) {
    const std::string name = Sha256Of(unit.recorded).Hex();
    const std::string target = unit.target.empty() ? "-" : unit.target.text();
    absl::StrAppend(&text, "unit ", unit.key, " ", name, " ", target, " - ", OneLine(unit.kernel),
                    "\n");
    if (known.insert(name).second) AppendRecorded(unit.recorded, &raw);
  }
  const std::string packed = Packed(raw);
  absl::StrAppend(&text, "recorded ", raw.size(), " ", packed.size(), " ", Sha256Of(packed).Hex(),
                  "\n", packed);
  return text;
}

void Manifest::Write() const {
  {
    absl::MutexLock lock(&mutex_);
    // A forked child leaves the manifest to its parent.
    if (getpid() != pid_ || units_.empty()) return;
  }
  const std::string bytes = Bytes(ProgramName());
  FILE* file = std::fopen(path_.c_str(), "wb");
  bool written =
      file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr) written &= std::fclose(file) == 0;
  if (!written) {
    std::fprintf(stderr, "kiln: KILN_MANIFEST=%s: %s\n", path_.c_str(), std::strerror(errno));
  }
}

}  // namespace kiln
