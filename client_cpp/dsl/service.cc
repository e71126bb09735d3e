#include "client_cpp/dsl/service.h"

#include <cmath>
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
#include "runtime/random.h"
#include "runtime/thread_tape.h"

namespace kiln::dsl {
namespace {

// How the calling thread's last call failed.
std::string& LastError() {
  static thread_local std::string text;
  return text;
}

proto::CodeOptions CodeFor(const kiln_compile_options& given) {
  proto::CodeOptions code;
  code.set_debug(given.debug != 0);
  code.set_check_bounds(given.debug != 0 || given.check_out_of_bound != 0);
  code.set_fast_math(given.exact_floats == 0);
  code.set_deterministic(given.deterministic != 0);
  code.set_opt_level(3);
  code.set_default_int(proto::I32);
  code.set_default_float(proto::F32);
  return code;
}

struct Shared {
  Mutex mutex;
  Compiling compiling = {nullptr, CodeFor({}), 0};  // the first kernel makes the session
  Device* device = &CpuDevice();
  std::shared_ptr<MemoryBudget> budget;
  std::mutex turns;  // TakeTurn
};

Shared& OfProcess() {
  static FirstUse<Shared> shared;
  return shared.Get();
}

absl::StatusOr<Device*> DeviceNamed(const char* arch, int32_t cuda_device) {
  const absl::string_view name = absl::NullSafeStringView(arch);
  if (name.empty() || name == "cpu") return &CpuDevice();
  if (name == "cuda") return UseCudaDevice(cuda_device);
  return absl::InvalidArgumentError(
      absl::StrCat("no arch '", name, "': expected \"cpu\" or \"cuda\""));
}

// Bytes have 63 bits. NaN is no number of them either.
absl::Status CheckGigabytes(absl::string_view name, double value) {
  if (value >= 0 && value < std::exp2(33)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", value, ": expected a number of gigabytes, or 0"));
}

uint64_t BytesOf(double gigabytes) { return static_cast<uint64_t>(gigabytes * std::exp2(30)); }

absl::Status CheckNumbers(const kiln_compile_options& given) {
  if (given.cpu_max_num_threads < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cpu_max_num_threads=", given.cpu_max_num_threads,
                     ": expected a number of threads, or 0 for one per CPU"));
  }
  RETURN_IF_ERROR(CheckGigabytes("snode_memory_GB", given.snode_memory_GB));
  return CheckGigabytes("ad_tape_GB", given.ad_tape_GB);
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
  RETURN_IF_ERROR(CheckNumbers(given));
  ASSIGN_OR_RETURN(std::shared_ptr<Session> made, Session::Create(options));
  ASSIGN_OR_RETURN(Device* const device, DeviceNamed(given.arch, given.cuda_device));
  Shared& shared = OfProcess();
  MutexLock lock(&shared.mutex);
  shared.compiling = {std::move(made), CodeFor(given), given.cpu_max_num_threads};
  shared.device = device;
  const uint64_t limit = BytesOf(given.snode_memory_GB);
  shared.budget = limit == 0 ? nullptr : std::make_shared<MemoryBudget>(limit);
  ThreadTape::SetLimit(BytesOf(given.ad_tape_GB));
  SetRandomSeed(static_cast<uint64_t>(given.random_seed));
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

std::shared_ptr<MemoryBudget> CurrentBudget() {
  Shared& shared = OfProcess();
  MutexLock lock(&shared.mutex);
  return shared.budget;
}

std::string NameOf(const Device& device) {
  return &device == &CpuDevice() ? "the CPU" : absl::StrCat("CUDA device ", device.number());
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
