#include "tests/support/fake_cuda/driver_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

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
    } else if (name == "fail_alloc") {
      settings.fail_alloc = std::atoll(value.c_str());
    } else if (name == "fail_launch") {
      settings.fail_launch = value;
    } else if (name == "no_device") {
      settings.no_device = true;
    } else if (name == "driver") {
      settings.driver = std::atoi(value.c_str());
    } else if (name == "log") {
      settings.log = value;
    } else if (!name.empty()) {
      std::fprintf(stderr, "fake CUDA: KILN_FAKE_CUDA has no setting '%s'\n", name.c_str());
      std::abort();
    }
  }
  return settings;
}

DriverState& DriverState::Get() {
  static auto* state = new DriverState;  // outlives every thread that calls
  return *state;
}

DriverState::DriverState()
    : settings(Settings::Parse(std::getenv("KILN_FAKE_CUDA"))), streams(settings.seed) {
  per_thread_ = streams.Create(Stream::kBlocking);
  if (!settings.log.empty()) log_ = std::fopen(settings.log.c_str(), "ae");
}

void DriverState::Log(const char* call) {
  if (log_ == nullptr) return;
  std::fprintf(log_, "%s\n", call);
  std::fflush(log_);
}

uint64_t DriverState::Allocate(uint64_t bytes) {
  if (++allocations_ == settings.fail_alloc) return 0;
  return memory.Allocate(bytes);
}

void DriverState::RunAll() { streams.RunAll(); }

Stream* DriverState::StreamOf(CUstream handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number < 2) return streams.legacy();
  if (number == 2) return per_thread_;
  auto* stream = reinterpret_cast<Stream*>(handle);
  return streams.Exists(stream) ? stream : nullptr;
}

CUresult DriverState::Load(const char* image, CUmodule* module) {
  if (IsBinary(image)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  auto loaded = std::make_unique<CUmod_st>();
  PtxModule parsed;
  std::string error;
  const auto place = [&](const PtxVariable& variable, uint64_t* address, uint8_t** host) {
    *address = memory.Allocate(variable.bytes);
    if (*address == 0) return false;
    *host = memory.Find(*address, variable.bytes);
    std::memset(*host, 0, variable.bytes);
    loaded->variables.push_back(*address);
    return true;
  };
  if (!ParsePtx(image, &parsed, &error) || !TranslatePtx(parsed, place, &loaded->program, &error)) {
    std::fprintf(stderr, "fake CUDA: PTX, %s\n", error.c_str());
    for (const uint64_t address : loaded->variables) memory.Free(address);
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
                      uint64_t dynamic_shared, std::vector<uint8_t> parameters) {
  if (failed != CUDA_SUCCESS) return;
  Grid grid;
  PrepareGrid(function->module->program, *function->function, blocks, threads, dynamic_shared,
              &grid);
  grid.id = ++launches_;
  grid.parameters = std::move(parameters);
  grid.memory = memory.Intervals();
  if (function->function->name == settings.fail_launch) {
    grid.Report(Fault::kIllegalAddress, "kernel " + settings.fail_launch + " fails as asked");
  } else {
    RunGrid(&grid, settings.seed + static_cast<uint32_t>(launches_) * 2654435761u, settings.threads,
            &instructions);
  }
  if (grid.fault.kind == Fault::kNone) return;
  std::fprintf(stderr, "fake CUDA: %s\n", grid.fault.text.c_str());
  failed = CodeOf(grid.fault.kind);
  streams.Clear();
}

}  // namespace kiln::fake_cuda
