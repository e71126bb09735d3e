// Contexts: threads, and what the library tells the program.
#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>

#include "libkiln/failure.h"
#include "libkiln/graveyard.h"
#include "libkiln/handles.h"
#include "runtime/cpu/host_executor.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cuda/driver.h"

using kiln::capi::Fail;
using kiln::capi::FailNull;
using kiln::capi::Guarded;

namespace {

kiln_status ChooseDevice(kiln_context* context) {
  const kiln_context_options& options = context->options;
  using Device = kiln::Target::Device;
  constexpr Device kKinds[] = {Device::kNone, Device::kCpu, Device::kCuda};
  if (options.device >= std::size(kKinds)) {
    return Fail(KILN_INVALID_ARGUMENT, "kiln_context_new: there is no device " +
                                           std::to_string(options.device) + " (KILN_DEVICE_BEST)");
  }
  context->device = {kKinds[options.device], static_cast<int32_t>(options.cuda_device) - 1};
  if (options.cuda_driver == nullptr || kiln::cuda::UseDriver(options.cuda_driver)) return KILN_OK;
  return Fail(KILN_FAILED_PRECONDITION,
              std::string("kiln_context_new: the process uses another CUDA driver than ") +
                  options.cuda_driver);
}

}  // namespace

uint32_t kiln_version(void) {
  return KILN_API_VERSION_MAJOR * 10000 + KILN_API_VERSION_MINOR * 100;
}

kiln_status kiln_context_new(const kiln_context_options* options, kiln_context** context) {
  return Guarded([&]() -> kiln_status {
    if (context == nullptr) return FailNull("kiln_context_new", "context");
    auto made = std::make_unique<kiln_context>();
    made->options = kiln::capi::Sized(options);
    if ((made->options.allocate == nullptr) != (made->options.release == nullptr)) {
      return Fail(KILN_INVALID_ARGUMENT, "kiln_context_new: memory needs 'allocate' and 'release'");
    }
    if (const kiln_status chosen = ChooseDevice(made.get()); chosen != KILN_OK) return chosen;
    made->options.cuda_driver = nullptr;  // borrowed
    if (const kiln_executor* given = made->options.executor; given != nullptr) {
      made->host = kiln::capi::Sized(given);
      if (made->host.concurrency == nullptr || made->host.parallel_for == nullptr) {
        return Fail(KILN_INVALID_ARGUMENT,
                    "kiln_context_new: an executor needs 'concurrency' and 'parallel_for'");
      }
      made->options.executor = &made->host;
      made->executor = std::make_unique<kiln::HostExecutor>(
          kiln::HostThreads{made->host.self, made->host.concurrency, made->host.parallel_for});
    } else {
      const auto threads =
          static_cast<int>(std::min<uint32_t>(made->options.max_threads, kiln::kMaxPoolThreads));
      auto pool = std::make_unique<kiln::ThreadPool>(threads);
      made->pool = pool.get();
      made->executor = std::move(pool);
    }
    *context = made.release();
    return KILN_OK;
  });
}

kiln_status kiln_context_free(kiln_context* context) {
  return Guarded([&]() -> kiln_status {
    if (context == nullptr) return KILN_OK;
    if (!kiln::capi::IsLive(context)) return FailNull("kiln_context_free", "context");
    if (const int64_t objects = context->objects.load(); objects != 0) {
      return Fail(KILN_FAILED_PRECONDITION, "kiln_context_free: " + std::to_string(objects) +
                                                " modules and worlds of the context exist");
    }
    context->executor.reset();  // joins its threads
    context->magic = 0;
    kiln::capi::Bury(std::unique_ptr<kiln_context>(context));
    return KILN_OK;
  });
}

kiln_status kiln_context_prepare(kiln_context* context) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(context)) return FailNull("kiln_context_prepare", "context");
    if (kiln::ThreadPool* pool = context->pool) pool->StartAll();
    return KILN_OK;
  });
}

kiln_status kiln_context_synchronize(kiln_context* context) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(context)) return FailNull("kiln_context_synchronize", "context");
    kiln::Device* const device = context->used.load();
    if (device == nullptr) return KILN_OK;
    const kiln::Result<> done = device->Synchronize();
    return done.ok() ? KILN_OK : Fail(done.error());
  });
}
