// The part of CudaTree that takes its memory, and more of it as the tree grows.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/cuda/mirrored_buffer.h"
#include "runtime/cuda/tree_work.h"
#include "runtime/device_lib/cuda_tree.h"

namespace kiln {
namespace {

using cuda::Address;

constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr uint64_t kLeastArena = uint64_t{1} << 16;
// A tree with less behind its mark does not ask again before it has found too little.
constexpr uint64_t kLeastGrowth = uint64_t{1} << 20;

// Numbers of cells may exceed what 64 bits hold.
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
uint64_t Times(uint64_t x, uint64_t y) { return __builtin_mul_overflow(x, y, &x) ? kMost : x; }
uint64_t Plus(uint64_t x, uint64_t y) { return __builtin_add_overflow(x, y, &x) ? kMost : x; }

// Whether loops run over lists of the node's cells: there are levels below.
bool HasLevelsBelow(const TreeShape& shape, int node) {
  return std::any_of(shape[node].children.begin(), shape[node].children.end(),
                     [&](int child) { return shape[child].kind->is_level(); });
}

// The bytes that all cells and lists can take, roughly, and no less.
uint64_t WorstArena(const TreeShape& shape) {
  uint64_t bytes = kLeastArena;
  std::vector<uint64_t> cells(shape.size(), 1);
  std::vector<int> open = {0};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    const NodeLayout& node = shape[n];
    open.insert(open.end(), node.children.begin(), node.children.end());
    if (n == 0) continue;
    const uint64_t containers = cells[node.parent];
    cells[n] = Times(containers, node.num_cells);
    if (!node.kind->is_sparse) continue;
    if (node.kind->cells == CellsAre::kBehindPointer) {
      bytes = Plus(bytes, Times(cells[n], kiln_cuda_block_bytes(node.cell_bytes)));
    } else if (node.kind->cells == CellsAre::kInChunks) {
      const uint64_t chunk = std::min<uint64_t>(node.num_cells, node.chunk_cells);
      const uint64_t chunks = (node.num_cells + chunk - 1) / chunk;
      uint64_t container = Times(chunks, kiln_cuda_block_bytes(chunk * node.cell_bytes));
      if (chunks > 1) container = Plus(container, kiln_cuda_block_bytes(chunks * sizeof(uint8_t*)));
      bytes = Plus(bytes, Times(containers, container));
    }
    // A list leaves at most twice its size behind as it grows.
    const uint64_t elements = HasLevelsBelow(shape, n)
                                  ? cells[n]
                                  : Plus(Times(containers, node.num_cells / KILN_CUDA_SLICE + 1),
                                         cells[n] / KILN_CUDA_SLICE);
    bytes = Plus(bytes, Times(Plus(elements, 64), 4 * sizeof(KilnElement)));
  }
  return bytes;
}

}  // namespace

// What the host sees of the buffer as a whole is the root's cell.
class CudaTree::RootOfBuffer final : public Buffer {
 public:
  RootOfBuffer(std::unique_ptr<Buffer> all, uint64_t root_bytes)
      : Buffer(all->data(), all->host(), all->size()),
        all_(std::move(all)),
        root_bytes_(root_bytes) {}

  Device* device() const override { return all_->device(); }
  Result<> Touch(uint64_t offset, uint64_t bytes, HostAccess access) override {
    if (offset != 0 || bytes != size()) return all_->Touch(offset, bytes, access);
    // The root has other fields, too.
    const auto wanted = access == HostAccess::kRead ? access : HostAccess::kWrite;
    return all_->Touch(0, root_bytes_, wanted);
  }
  bool IsReady(uint64_t offset, uint64_t bytes, HostAccess access) const override {
    return all_->IsReady(offset, bytes, access);
  }
  Result<> Await() override { return all_->Await(); }
  Result<> HandOver() override { return all_->HandOver(); }
  Result<> Share(uint64_t offset, uint64_t bytes) override { return all_->Share(offset, bytes); }
  bool is_shared() const override { return all_->is_shared(); }
  Result<> Deliver(uint64_t offset, uint64_t bytes) override {
    return all_->Deliver(offset, bytes);
  }

 private:
  const std::unique_ptr<Buffer> all_;
  const uint64_t root_bytes_;
};

// As much as cells and lists can take, or a half or quarter or so of it.
Result<std::unique_ptr<Buffer>> CudaTree::TakeMemory(uint64_t fixed, const MemoryBudget* budget) {
  bool grows = budget == nullptr && device_->has_virtual_memory();
  uint64_t limit = budget == nullptr ? kDefaultLimit : budget->limit();
  const uint64_t worst = WorstArena(shape_);
  if (grows && fixed >= limit) limit = 2 * fixed;
  // Dense fields need what they have.
  if (budget == nullptr && !shape_.HasSparse()) limit = Plus(fixed, worst);
  if (fixed >= limit) {
    return Error{ErrorCode::kResourceExhausted,
                 "the root of the fields takes " + std::to_string(shape_.root_bytes()) +
                     " bytes; the limit is " + std::to_string(limit) + " bytes"};
  }
  const auto take = [&](uint64_t arena) -> Result<std::unique_ptr<Buffer>> {
    if (arena < worst && grows) {
      const uint64_t most = std::min(worst, std::max(device_->memory_bytes(), arena));
      auto reserved = MirroredBuffer::Reserve(device_, fixed + most, fixed + arena);
      if (reserved.ok()) growing_ = reserved->get();
      if (reserved.ok()) return std::unique_ptr<Buffer>(*std::move(reserved));
      if (reserved.error().code != ErrorCode::kUnimplemented) return reserved.error();
      grows = false;
    }
    return device_->Allocate(fixed + arena);
  };
  uint64_t arena = std::min(worst, limit - fixed);
  Result<std::unique_ptr<Buffer>> memory = take(arena);
  // What the program needs may be far less than it may need.
  while (!memory.ok() && memory.error().code == ErrorCode::kResourceExhausted &&
         arena / 2 >= kLeastArena) {
    arena /= 2;
    memory = take(arena);
  }
  return memory;
}

Result<> CudaTree::Allocate(const MemoryBudget* budget) {
  // A cache line of zeros behind the root, for stray reads.
  const uint64_t head = (shape_.root_bytes() + 64 + 255) / 256 * 256;
  const uint64_t fixed = head + ImageBytes() + 4096;
  Result<std::unique_ptr<Buffer>> memory = TakeMemory(fixed, budget);
  if (!memory.ok()) return memory.error();
  buffer_ = std::make_shared<RootOfBuffer>(*std::move(memory), shape_.root_bytes());
  if (Result<> touched = buffer_->Touch(0, fixed, HostAccess::kWrite); !touched.ok())
    return touched;
  return WriteImage(head);
}

uint64_t CudaTree::bytes() const {
  return growing_ == nullptr ? buffer_->size() : growing_->committed();
}

// Half of the memory for cells, and after a request in vain half of what then was behind the mark:
// the device may have more by then.
uint64_t CudaTree::NextMark() const {
  if (asks_ == 0) return KILN_CUDA_ASKED;
  const uint64_t end = bytes(), from = is_full_ ? mark_ : arena_;
  mark_ = from + (end - from) / 2;
  const bool is_last = end == buffer_->size() || end - mark_ < kLeastGrowth;
  return is_last ? KILN_CUDA_ASKED : reinterpret_cast<Address>(buffer_->data()) + mark_;
}

void CudaTree::Grow(uint64_t needed) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (growing_ == nullptr) return;
  if (Result<> entered = device_->Enter(); !entered.ok()) return device_->Keep(entered);
  const uint64_t before = bytes(), free = device_->FreeBytes();
  const uint64_t most = std::max(free / 2, std::min(needed, free));
  uint64_t more = std::min(std::max(before, needed), most);
  Result<> grown = growing_->Grow(more);
  while (!grown.ok() && grown.error().code == ErrorCode::kResourceExhausted && more > 0) {
    more /= 2;
    grown = growing_->Grow(more);
  }
  device_->Keep(grown);
  is_full_ = bytes() == before;
  SetEnd();
}

void CudaTree::SetEnd() const {
  const auto end = reinterpret_cast<Address>(buffer_->data()) + bytes();
  const uint64_t mark = NextMark();
  device_->Keep(growing_->ChangeBoth([&]() -> Result<> {
    // Whatever state its page is in: the device gets the same.
    auto* mirror = reinterpret_cast<KilnCudaTree*>(
        buffer_->host() + (reinterpret_cast<uint8_t*>(tree_) - buffer_->data()));
    mirror->end = reinterpret_cast<uint8_t*>(end);
    mirror->mark = mark;
    CudaDevice::Turn turn;
    if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return taken;
    const cuda::Code code =
        cuda::StartTreeGrowth(*device_, reinterpret_cast<Address>(tree_), end, mark, turn.stream());
    if (code == cuda::kSuccess) return {};
    return device_->ErrorOf(code, "sparse SNodes cannot grow");
  }));
}

std::string CudaTree::Refusal(uint64_t node, const std::string& where) const {
  const uint32_t number = static_cast<uint32_t>(node);
  const bool list = (node & KILN_CUDA_LIST) != 0;
  std::string name = "S" + std::to_string(number);
  if (number < names_.size() && !names_[number].empty()) name = "'" + names_[number] + "'";
  name += std::string(" (") + shape_[static_cast<int>(number)].kind->name + ")";
  const std::string what =
      list ? "no room for the list of a struct-for's cells, of SNode " + name
           : std::string("cannot activate another ") +
                 (shape_[static_cast<int>(number)].kind->is_list ? "chunk" : "cell") +
                 " of SNode " + name;
  const char* const advice = growing_ == nullptr ? " (ti.init(device_memory_GB=...) sets the limit)"
                             : is_full_          ? ", which has no more memory"
                                                 : ", and grows before the next launch";
  return "out of memory: " + what + where + "; its tree has " + std::to_string(bytes()) +
         " bytes on the CUDA device" + advice;
}

}  // namespace kiln
