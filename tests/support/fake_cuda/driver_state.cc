#include "tests/support/fake_cuda/driver_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/ptx_executor.h"
#include "tests/support/fake_cuda/ptx_parser.h"
#include "tests/support/fake_cuda/ptx_translator.h"

namespace kiln::fake_cuda {
namespace {

CUresult CodeOf(Fault::Kind kind) {
  switch (kind) {
    case Fault::kNone:
      return CUDA_SUCCESS;
    case Fault::kIllegalAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case Fault::kMisaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

bool IsBinary(const char* image) {
  static const char kFatbin[] = "\x50\xed\x55\xba";
  return std::memcmp(image,
                     "\x7f"
                     "ELF",
                     4) == 0 ||
         std::memcmp(image, kFatbin, 4) == 0;
}

}  // namespace

Settings Settings::Parse(const char* text) {
  Settings settings;
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string item = rest.substr(0, end);
    rest.erase(0, end + 1);
    const size_t equal = item.find('=');
    const std::string name = item.substr(0, equal);
    const std::string value = equal == std::string::npos ? "" : item.substr(equal + 1);
    if (name == "seed") {
      settings.seed = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "threads") {
      settings.threads = std::max(1, std::atoi(value.c_str()));
    } else if (name == "check") {
      settings.check_races = value.find("race") != std::string::npos;
      settings.check_init = value.find("init") != std::string::npos;
    } else if (name == "reports") {
      settings.reports = value;
    } else if (name == "ptx") {
      settings.ptx = value;
    } else if (name == "memory") {
      settings.memory = std::strtoull(value.c_str(), nullptr, 10) << 20;
    } else if (name == "fail_alloc") {
      settings.fail_alloc = std::atoll(value.c_str());
    } else if (name == "fail_image") {
      settings.fail_image = std::atoll(value.c_str());
    } else if (name == "fail_launch") {
      settings.fail_launch = value;
    } else if (name == "no_kernels") {
      settings.no_kernels = true;
    } else if (name == "no_virtual_memory") {
      settings.no_virtual_memory = true;
    } else if (name == "no_device") {
      settings.no_device = true;
    } else if (name == "devices") {
      settings.devices = std::max(1, std::atoi(value.c_str()));
    } else if (name == "driver") {
      settings.driver = std::atoi(value.c_str());
    } else if (name == "arch") {
      settings.archs.clear();
      for (const char* at = value.c_str(); *at != '\0'; at += *at == ',') {
        settings.archs.push_back(static_cast<int>(std::strtol(at, const_cast<char**>(&at), 10)));
      }
    } else if (name == "log") {
      settings.log = value;
    } else if (!name.empty()) {
      std::fprintf(stderr, "fake CUDA: KILN_FAKE_CUDA has no setting '%s'\n", name.c_str());
      std::abort();
    }
  }
  return settings;
}

namespace {

// Versions of PTX times 10. CUDA 11.8 has 7.8, CUDA 12.3 has 8.3, and so on.
int NewestPtx(int driver) { return driver / 1000 * 10 - 40 + driver % 1000 / 10; }
int PtxVersionOf(const char* image) {
  const char* found = std::strstr(image, ".version ");
  int major = 0, minor = 0;
  if (found != nullptr)
    std::sscanf(found, ".version %d.%d", &major, &minor);  // NOLINT(cert-err34-c)
  return major * 10 + minor;
}

// The bytes of an entry's parameters that the driver takes.
uint64_t MostParameterBytes(int ptx_version) { return ptx_version < 81 ? 4352 : 32764; }

int PtxTargetOf(const char* image) {
  const char* found = std::strstr(image, ".target sm_");
  return found == nullptr ? 0 : std::atoi(found + std::strlen(".target sm_"));
}

// The devices that CUDA_VISIBLE_DEVICES lists, up to the first that there is not; null: all.
std::vector<int> VisibleDevices(const char* list, int devices) {
  std::vector<int> visible;
  for (int n = 0; list == nullptr && n < devices; ++n) visible.push_back(n);
  while (list != nullptr && *list >= '0' && *list <= '9') {
    char* end = nullptr;
    const long number = std::strtol(list, &end, 10);
    if (number >= devices) break;
    visible.push_back(static_cast<int>(number));
    list = *end == ',' ? end + 1 : end;
  }
  return visible;
}

}  // namespace

DriverState& DriverState::Get() {
  static auto* state = new DriverState;  // outlives every thread that calls
  return *state;
}

DriverState::DriverState()
    : settings(Settings::Parse(std::getenv("KILN_FAKE_CUDA"))),
      memory(settings.memory),
      streams(settings.seed) {
  visible = VisibleDevices(std::getenv("CUDA_VISIBLE_DEVICES"), settings.devices);
  for (size_t n = 0; n < visible.size(); ++n) {
    contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{static_cast<int>(n)}));
  }
  if (!settings.log.empty()) log_ = std::fopen(settings.log.c_str(), "ae");
  if (!settings.reports.empty()) reports_ = std::fopen(settings.reports.c_str(), "ae");
}

void DriverState::Log(const char* call) {
  if (log_ == nullptr) return;
  std::fprintf(log_, "%s\n", call);
  std::fflush(log_);
}

void DriverState::PrintReport(const std::string& text) {
  for (std::FILE* file : {stderr, reports_}) {
    if (file == nullptr) continue;
    std::fprintf(file, "fake CUDA: %s\n", text.c_str());
    std::fflush(file);
  }
}

uint64_t DriverState::Allocate(uint64_t bytes, CUcontext context) {
  if (++allocations_ == settings.fail_alloc) return 0;
  return memory.Allocate(bytes, context);
}

int DriverState::ArchOf(CUdevice device) const {
  const auto number = static_cast<size_t>(visible[device]);
  return settings.archs[std::min(number, settings.archs.size() - 1)];
}

CUresult DriverState::CreateMemory(uint64_t bytes, uint64_t* handle) {
  if (++allocations_ == settings.fail_alloc) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = memory.Create(bytes);
  return *handle == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult DriverState::Refuse(const char* call, const std::string& why) {
  std::fprintf(stderr, "fake CUDA: %s: %s\n", call, why.c_str());
  return CUDA_ERROR_INVALID_VALUE;
}

void DriverState::RunAll() { streams.RunAll(); }

Stream* DriverState::StreamOf(CUstream handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  const CUcontext context = DriverCall::context();
  if (number < 2) return streams.Default(Stream::kLegacy, context);
  // All threads share one.
  if (number == 2) return streams.Default(Stream::kPerThread, context);
  auto* stream = reinterpret_cast<Stream*>(handle);
  return streams.Exists(stream) ? stream : nullptr;
}

CUresult DriverState::Load(const char* image, CUcontext context, CUmodule* module) {
  if (IsBinary(image)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (++modules_ >= settings.fail_image && settings.fail_image > 0) return CUDA_ERROR_INVALID_IMAGE;
  if (NewestPtx(settings.driver) < PtxVersionOf(image)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  if (ArchOf(context->device) < PtxTargetOf(image)) {
    std::fprintf(stderr, "fake CUDA: PTX for sm_%d on a device of sm_%d\n", PtxTargetOf(image),
                 ArchOf(context->device));
    return CUDA_ERROR_INVALID_PTX;
  }
  auto loaded = std::make_unique<CUmod_st>();
  loaded->context = context;
  loaded->program.number = modules_;
  if (!settings.ptx.empty()) {
    const std::string path = settings.ptx + "/" + std::to_string(modules_) + ".ptx";
    if (std::FILE* file = std::fopen(path.c_str(), "we"); file != nullptr) {
      std::fputs(image, file);
      std::fclose(file);
    }
  }
  PtxModule parsed;
  std::string error;
  const auto place = [&](const PtxVariable& variable, uint64_t* address, uint8_t** host) {
    *address = memory.Allocate(variable.bytes, context);
    if (*address == 0) return false;
    *host = memory.Find(*address, variable.bytes);
    std::memset(*host, 0, variable.bytes);
    memory.NoteWrite(*host, variable.bytes);
    loaded->variables.push_back(*address);
    return true;
  };
  if (!ParsePtx(image, &parsed, &error) || !TranslatePtx(parsed, place, &loaded->program, &error)) {
    std::fprintf(stderr, "fake CUDA: PTX, %s\n", error.c_str());
    for (const uint64_t address : loaded->variables) memory.Free(address);
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const Function& function : loaded->program.functions) {
    if (!function.entry || function.parameter_bytes <= MostParameterBytes(PtxVersionOf(image))) {
      continue;
    }
    std::fprintf(stderr, "fake CUDA: %s has %llu bytes of parameters\n", function.name.c_str(),
                 static_cast<unsigned long long>(function.parameter_bytes));
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = loaded.release();
  modules.insert(*module);
  return CUDA_SUCCESS;
}

void DriverState::Unload(CUmodule module) {
  for (const uint64_t address : module->variables) memory.Free(address);
  modules.erase(module);
  delete module;
}

void DriverState::Run(CUfunction function, const uint32_t blocks[3], const uint32_t threads[3],
                      uint64_t dynamic_shared, bool cooperative, std::vector<uint8_t> parameters) {
  if (failed != CUDA_SUCCESS || settings.no_kernels) return;
  Grid grid;
  PrepareGrid(function->module->program, *function->function, blocks, threads, dynamic_shared,
              &grid);
  grid.id = ++launches_;
  grid.parameters = std::move(parameters);
  grid.is_cooperative = cooperative;
  grid.memory = memory.Intervals(function->module->context);
  grid.gaps = memory.Gaps();
  AccessChecks checks;
  checks.print = [this](const std::string& text) { PrintReport(text); };
  if (settings.check_races) {
    checks.races = std::make_unique<RaceChecks>(uint64_t{blocks[0]} * blocks[1] * blocks[2]);
  }
  if (settings.check_init) checks.unwritten = &memory.unwritten();
  if (settings.check_races || settings.check_init) grid.checks = &checks;
  if (settings.fail_launch == function->function->name ||
      settings.fail_launch == std::to_string(launches_)) {
    grid.Report(Fault::kIllegalAddress, "kernel " + settings.fail_launch + " fails as asked");
  } else {
    RunGrid(&grid, settings.SeedOf(launches_), settings.threads, &instructions);
  }
  if (grid.fault.kind == Fault::kNone) return;
  std::fprintf(stderr, "fake CUDA: %s\n", grid.fault.text.c_str());
  failed = CodeOf(grid.fault.kind);
  streams.Clear();
}

}  // namespace kiln::fake_cuda
