#include "client_cpp/dsl/service.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client_cpp/devices.h"
#include "client_cpp/mutex.h"
#include "client_cpp/runtime_status.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"
#include "runtime/cpu_device.h"

namespace kiln::dsl {
namespace {

// How the calling thread's last call failed.
std::string& LastError() {
  static thread_local std::string text;
  return text;
}

struct Shared {
  Mutex mutex;
  Compiling compiling;  // its session: made when the first kernel is compiled
  Device* device = &CpuDevice();
  std::mutex turns;  // TakeTurn
};

Shared& OfProcess() {
  static FirstUse<Shared> shared;
  return shared.Get();
}

absl::StatusOr<Device*> DeviceNamed(const char* arch) {
  const absl::string_view name = absl::NullSafeStringView(arch);
  if (name.empty() || name == "cpu") return &CpuDevice();
  if (name == "cuda") return DeviceFor(Target::Device::kCuda);
  return absl::InvalidArgumentError(
      absl::StrCat("no arch '", name, "': expected \"cpu\" or \"cuda\""));
}

absl::Status Use(const kiln_compile_options& given) {
  SessionOptions options;
  const auto take = [](const char* from, std::string* to) {
    if (from != nullptr) *to = from;
  };
  take(given.home, &options.home);
  take(given.server, &options.server);
  take(given.programs, &options.bin_dir);
  options.strict = given.strict != 0;
  ASSIGN_OR_RETURN(Device* const device, DeviceNamed(given.arch));
  ASSIGN_OR_RETURN(std::shared_ptr<Session> made, Session::Create(options));
  Shared& shared = OfProcess();
  MutexLock lock(&shared.mutex);
  shared.compiling = {std::move(made), given.debug != 0};
  shared.device = device;
  return absl::OkStatus();
}

}  // namespace

kiln_status Told(const absl::Status& status) {
  if (!status.ok()) LastError() = std::string(status.message());
  return static_cast<kiln_status>(status.code());
}

kiln_status Null(const char* function, const char* argument) {
  return Told(absl::InvalidArgumentError(absl::StrCat(function, ": ", argument, " is NULL")));
}

absl::StatusOr<Compiling> CurrentCompiling() {
  Shared& shared = OfProcess();
  MutexLock lock(&shared.mutex);
  if (shared.compiling.session == nullptr) {
    ASSIGN_OR_RETURN(shared.compiling.session, Session::Create({}));
  }
  return shared.compiling;
}

Device* CurrentDevice() {
  Shared& shared = OfProcess();
  MutexLock lock(&shared.mutex);
  return shared.device;
}

const char* NameOf(const Device& device) {
  return &device == &CpuDevice() ? "the CPU" : "a CUDA device";
}

absl::StatusOr<std::unique_lock<std::mutex>> TakeTurn(const Device& device) {
  if (&device == &CpuDevice()) return std::unique_lock<std::mutex>();
  RETURN_IF_ERROR(ToStatus(device.CheckProcess()));
  return std::unique_lock(OfProcess().turns);
}

}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

const char* kiln_compile_error() { return LastError().c_str(); }

kiln_status kiln_compile_use(const kiln_compile_options* options) {
  kiln_compile_options known{};
  if (options != nullptr) {
    const size_t size = options->size < sizeof known ? options->size : sizeof known;
    std::memcpy(&known, options, size);
  }
  return Told(Use(known));
}

kiln_status kiln_compile_sync() {
  kiln::Device* const device = CurrentDevice();
  const auto turn = TakeTurn(*device);
  return Told(turn.ok() ? kiln::ToStatus(device->Synchronize()) : turn.status());
}
