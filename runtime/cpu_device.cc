#include "runtime/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/first_use.h"
#include "runtime/cpu/host_target.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/loaded_kernel.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

template <typename Word>
void FillWords(uint8_t* at, const void* value, uint64_t count) {
  Word word;
  std::memcpy(&word, value, sizeof word);
  std::fill_n(reinterpret_cast<Word*>(at), count, word);
}

// Launches, copies and fills return when they are done.
class Cpu final : public Device {
 public:
  Target target() const override { return HostTarget(); }

  Result<std::shared_ptr<const LoadedKernel>> LoadBytes(
      std::string_view payload, KernelInfo info,
      const std::vector<std::string>& directories) override {
    return LoadedKernel::FromBytes(payload, std::move(info), directories);
  }

  Result<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) override {
    Result<std::unique_ptr<RootBuffer>> buffer = RootBuffer::Allocate(bytes);
    if (!buffer.ok()) return buffer.error();
    return std::unique_ptr<Buffer>(*std::move(buffer));
  }
  Result<MadeTree> MakeTree(TreeShape shape, TreeOptions options) override {
    Result<std::unique_ptr<Tree>> tree = Tree::Make(std::move(shape), std::move(options));
    if (!tree.ok()) return tree.error();
    return MadeTree{*std::move(tree), nullptr};
  }
  void CopyIn(uint8_t* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void CopyOut(void* to, const uint8_t* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void Fill(uint8_t* at, const void* value, uint32_t value_bytes, uint64_t count) override {
    switch (value_bytes) {
      case 1:
        return FillWords<uint8_t>(at, value, count);
      case 2:
        return FillWords<uint16_t>(at, value, count);
      case 4:
        return FillWords<uint32_t>(at, value, count);
      default:
        return FillWords<uint64_t>(at, value, count);
    }
  }

  Result<> Synchronize() override { return {}; }
  Event Record() override { return {NowNanoseconds()}; }
};

}  // namespace

Device& CpuDevice() {
  static FirstUse<Cpu> device;
  return device.Get();
}

}  // namespace kiln
