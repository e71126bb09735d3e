#include "client_cpp/manifest_recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "common/base/first_use.h"
#include "common/base/whole_file.h"

namespace kiln {
namespace {

std::string ProgramName() {
  std::error_code error;
  const std::filesystem::path exe = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "-" : exe.filename().string();
}

// By path.
Mutex recorders_mutex;
std::map<std::string, ManifestRecorder*>& Recorders() {
  static FirstUse<std::map<std::string, ManifestRecorder*>> recorders;
  return recorders.Get();
}

// A fork waits until no thread uses the table, so that the child may.
void LockRecorders() ABSL_NO_THREAD_SAFETY_ANALYSIS { recorders_mutex.lock(); }
void UnlockRecorders() ABSL_NO_THREAD_SAFETY_ANALYSIS { recorders_mutex.unlock(); }

void WriteAll() {
  MutexLock lock(&recorders_mutex);
  for (const auto& [path, recorder] : Recorders()) recorder->Write();
}

}  // namespace

ManifestRecorder* ManifestRecorder::OfProcess() {
  const char* named = std::getenv("KILN_MANIFEST");
  if (named == nullptr || *named == '\0') return nullptr;
  std::error_code error;
  // The program may change its folder.
  const std::string path = std::filesystem::absolute(named, error);
  MutexLock lock(&recorders_mutex);
  if (Recorders().empty()) {
    if (std::atexit(&WriteAll) != 0) return nullptr;
    pthread_atfork(&LockRecorders, &UnlockRecorders, &UnlockRecorders);
  }
  ManifestRecorder*& recorder = Recorders()[error ? named : path];
  if (recorder == nullptr) recorder = new ManifestRecorder(error ? named : path);
  return recorder;
}

ManifestRecorder::ManifestRecorder(std::string path) : path_(std::move(path)), pid_(getpid()) {
  made_.recorded.emplace();
}

void ManifestRecorder::Add(Manifest::Unit unit, std::string recorded, const Digest& compiler) {
  unit.recorded = Sha256Of(recorded).Hex();
  // A forked child's units are not written, and a thread of its parent may have held the lock.
  if (getpid() != pid_) return;
  MutexLock lock(&mutex_);
  if (!compiler.empty()) made_.compiler = compiler.Hex();
  if (!keys_.insert(unit.key).second) return;
  made_.recorded->emplace(unit.recorded, std::move(recorded));
  made_.units.push_back(std::move(unit));
}

Manifest ManifestRecorder::Made(absl::string_view program) const {
  MutexLock lock(&mutex_);
  Manifest manifest = made_;
  manifest.name = std::string(program);
  return manifest;
}

void ManifestRecorder::Write() const {
  if (getpid() != pid_) return;  // of a forked child the units are its parent's
  const Manifest manifest = Made(ProgramName());
  if (manifest.units.empty()) return;
  const std::string bytes = ManifestBytes(manifest);
  const absl::Status written = WriteWholeFile(path_, bytes);
  if (written.ok()) return;
  std::fprintf(stderr, "kiln: KILN_MANIFEST=%s\n", std::string(written.message()).c_str());
}

}  // namespace kiln
