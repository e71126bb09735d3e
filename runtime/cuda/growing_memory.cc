#include "runtime/cuda/growing_memory.h"

#include <algorithm>
#include <string>

#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"

namespace kiln {
namespace {

constexpr uint64_t kLeastStep = uint64_t{64} << 10;

cuda::MemoryKind KindOn(const CudaDevice& device) {
  cuda::MemoryKind kind;
  kind.device = device.number();
  return kind;
}

}  // namespace

Result<std::unique_ptr<GrowingMemory>> GrowingMemory::Reserve(CudaDevice* device, uint64_t bytes) {
  const auto lacking = [](const std::string& what) {
    return Error{ErrorCode::kUnimplemented, "the CUDA device has no virtual memory" + what};
  };
  if (!device->has_virtual_memory()) return lacking("");
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  const cuda::Driver& driver = device->driver();
  const cuda::MemoryKind kind = KindOn(*device);
  size_t step = 0;
  if (driver.MemGranularity(&step, &kind, /*recommended=*/1) != cuda::kSuccess || step == 0) {
    return lacking(" of a known granularity");
  }
  auto memory = std::unique_ptr<GrowingMemory>(
      new GrowingMemory(device, std::max<uint64_t>(step, kLeastStep)));
  const uint64_t whole = (bytes + memory->step_ - 1) / memory->step_ * memory->step_;
  const cuda::Code code =
      driver.AddressReserve(&memory->address_, whole, /*alignment=*/0, /*wanted=*/0, /*flags=*/0);
  if (code != cuda::kSuccess) return lacking(" of " + std::to_string(whole) + " bytes");
  memory->reserved_ = whole;
  return memory;
}

Result<> GrowingMemory::Commit(uint64_t bytes) {
  bytes = bytes / step_ * step_;
  KILN_CHECK(bytes <= reserved_ - committed_) << "memory grows beyond its addresses";
  if (bytes == 0) return {};
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  const cuda::Driver& driver = device_->driver();
  const cuda::MemoryKind kind = KindOn(*device_);
  cuda::MemoryHandle handle = 0;
  cuda::Code code = driver.MemCreate(&handle, bytes, &kind, /*flags=*/0);
  if (code == cuda::kOutOfMemory && device_->FreeIdle()) {
    code = driver.MemCreate(&handle, bytes, &kind, /*flags=*/0);
  }
  if (code == cuda::kOutOfMemory) return device_->NoMemory(bytes, "fields");
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "no memory for sparse SNodes");
  const cuda::Address at = address_ + committed_;
  code = driver.MemMap(at, bytes, /*offset=*/0, handle, /*flags=*/0);
  driver.MemRelease(handle);  // the mapping keeps it
  if (code == cuda::kSuccess) {
    cuda::MemoryAccess access;
    access.device = device_->number();
    code = driver.MemSetAccess(at, bytes, &access, 1);
    if (code != cuda::kSuccess) driver.MemUnmap(at, bytes);
  }
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "mapping memory for SNodes failed");
  pieces_.push_back(bytes);
  committed_ += bytes;
  return {};
}

GrowingMemory::~GrowingMemory() {
  // In a forked child the memory is the parent's.
  if (address_ == 0 || !device_->Enter().ok()) return;
  const cuda::Driver& driver = device_->driver();
  // Unlike cuMemFree, cuMemUnmap does not wait.
  if (!pieces_.empty()) driver.ContextSynchronize();
  cuda::Address at = address_;
  for (const uint64_t bytes : pieces_) {
    driver.MemUnmap(at, bytes);
    at += bytes;
  }
  driver.AddressFree(address_, reserved_);
}

}  // namespace kiln
