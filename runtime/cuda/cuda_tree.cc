#include "runtime/cuda/cuda_tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/mirrored_buffer.h"
#include "runtime/cuda/tree_work.h"
#include "runtime/device_lib/cuda_tree.h"
#include "runtime/device_lib/tree.h"

namespace kiln {
namespace {

using cuda::Address;

constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr uint64_t kLeastArena = uint64_t{1} << 16;
// A tree with less behind its mark does not ask again before it has found too little.
constexpr uint64_t kLeastGrowth = uint64_t{1} << 20;

// As in Tree: vector loads of the last element of a stand-in must not read the next one.
uint64_t RoomFor(uint64_t cell_bytes) { return (cell_bytes + 127) / 64 * 64; }

uint64_t BlockBytes(uint64_t bytes) { return sizeof(KilnCudaBlock) + (bytes + 31) / 32 * 32; }

// Numbers of cells may exceed what 64 bits hold.
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
uint64_t Times(uint64_t x, uint64_t y) { return __builtin_mul_overflow(x, y, &x) ? kMost : x; }
uint64_t Plus(uint64_t x, uint64_t y) { return __builtin_add_overflow(x, y, &x) ? kMost : x; }

uint64_t KindOf(const SNodeFacts& kind) {
  if (kind.cells == CellsAre::kBehindPointer) return KILN_CUDA_POINTER;
  return kind.cells == CellsAre::kInChunks ? KILN_CUDA_DYNAMIC : KILN_CUDA_BITMASKED;
}

// Whether loops run over lists of the node's cells: there are levels below.
bool HasLevelsBelow(const TreeShape& shape, int node) {
  return std::any_of(shape[node].children.begin(), shape[node].children.end(),
                     [&](int child) { return shape[child].kind->is_level(); });
}

bool IsSparse(const TreeShape& shape) {
  return std::any_of(shape.nodes.begin(), shape.nodes.end(),
                     [](const NodeLayout& node) { return node.kind->is_sparse; });
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
      bytes = Plus(bytes, Times(cells[n], BlockBytes(node.cell_bytes)));
    } else if (node.kind->cells == CellsAre::kInChunks) {
      const uint64_t chunk = std::min<uint64_t>(node.num_cells, node.chunk_cells);
      const uint64_t chunks = (node.num_cells + chunk - 1) / chunk;
      uint64_t container = Times(chunks, BlockBytes(chunk * node.cell_bytes));
      if (chunks > 1) container = Plus(container, BlockBytes(chunks * sizeof(uint8_t*)));
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

// --- Making

// Writes what the device knows of the tree into the mirror of a new buffer, which is all zeros.
class CudaTree::Image {
 public:
  Image(CudaTree* tree, uint64_t at) : tree_(*tree), next_(at) {}

  // The bytes between the root and the cells, at most.
  static uint64_t Bytes(const TreeShape& shape) {
    uint64_t bytes = sizeof(KilnCudaTree) + 4096;
    for (const NodeLayout& node : shape.nodes) {
      bytes += sizeof(void*);  // in the table of nodes
      if (!node.kind->is_sparse) continue;
      bytes += sizeof(KilnCudaNode) + 2 * RoomFor(node.cell_bytes) + 4 * 64;
      // Its own levels, and the steps of two paths.
      bytes += node.levels.size() * sizeof(KilnCudaLevel);
      for (int n = node.parent; n > 0; n = shape[n].parent) {
        bytes += 2 * (sizeof(KilnCudaStep) + shape[n].levels.size() * sizeof(KilnCudaLevel));
      }
    }
    return bytes;
  }

  // The device's address of `count` new Ts.
  template <typename T>
  T* New(uint64_t count, uint64_t align = 64) {
    next_ = (next_ + align - 1) / align * align;
    auto* at = reinterpret_cast<T*>(tree_.buffer_->data() + next_);
    next_ += count * sizeof(T);  // NOLINT(bugprone-sizeof-expression)
    KILN_CHECK(next_ <= tree_.buffer_->size()) << "the image of a tree is too large";
    return at;
  }
  template <typename T>
  T& Host(T* device) {
    return *reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(device) - tree_.buffer_->data() +
                                 tree_.buffer_->host());
  }

  const KilnCudaLevel* Levels(const std::vector<NodeLayout::Level>& levels) {
    auto* made = New<KilnCudaLevel>(levels.size(), 8);
    for (size_t i = 0; i < levels.size(); ++i) {
      Host(made + i) = {levels[i].axis, levels[i].extent, levels[i].multiplier};
    }
    return made;
  }

  // From the cells of `above` to the containers of `node`.
  KilnCudaPath Path(int above, int node) {
    const TreeShape& shape = tree_.shape_;
    std::vector<int> way;
    for (int n = shape[node].parent; n != above && n > 0; n = shape[n].parent) {
      way.insert(way.begin(), n);
    }
    auto* steps = New<KilnCudaStep>(way.size(), 8);
    KilnCudaPath path = {steps, way.size(), 1, shape[node].offset};
    for (size_t i = 0; i < way.size(); ++i) {
      const NodeLayout& level = shape[way[i]];
      Host(steps + i) = {level.num_cells, level.cell_bytes, level.offset, Levels(level.levels),
                         level.levels.size()};
      path.count *= level.num_cells;
    }
    return path;
  }

  uint64_t end() const { return (next_ + 255) / 256 * 256; }

 private:
  CudaTree& tree_;
  uint64_t next_;
};

Result<std::unique_ptr<CudaTree>> CudaTree::Make(CudaDevice* device, TreeShape shape,
                                                 const TreeOptions& options) {
  if (Result<> checked = CheckContainers(shape); !checked.ok()) return checked.error();
  // A tree without sparse nodes has no lists and nothing to collect.
  if (IsSparse(shape)) {
    if (Result<> loaded = device->LoadTreeKernel(); !loaded.ok()) return loaded.error();
  }
  auto tree = std::unique_ptr<CudaTree>(new CudaTree(device, std::move(shape), options));
  if (Result<> allocated = tree->Allocate(options.budget.get()); !allocated.ok()) {
    return allocated.error();
  }
  return tree;
}

CudaTree::CudaTree(CudaDevice* device, TreeShape shape, const TreeOptions& options)
    : device_(device), shape_(std::move(shape)), names_(options.names) {}

CudaTree::~CudaTree() {
  if (id_ != 0) device_->trees().Forget(id_);
}

// As much as cells and lists can take, or a half or quarter or so of it.
Result<std::unique_ptr<Buffer>> CudaTree::TakeMemory(uint64_t fixed, const MemoryBudget* budget) {
  bool grows = budget == nullptr && device_->has_virtual_memory();
  uint64_t limit = budget == nullptr ? kDefaultLimit : budget->limit();
  const uint64_t worst = WorstArena(shape_);
  if (grows && fixed >= limit) limit = 2 * fixed;
  // Dense fields need what they have.
  if (budget == nullptr && !IsSparse(shape_)) limit = Plus(fixed, worst);
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
  const uint64_t fixed = head + Image::Bytes(shape_) + 4096;
  Result<std::unique_ptr<Buffer>> memory = TakeMemory(fixed, budget);
  if (!memory.ok()) return memory.error();
  buffer_ = std::make_shared<RootOfBuffer>(*std::move(memory), shape_.root_bytes());
  if (Result<> touched = buffer_->Touch(0, fixed, HostAccess::kWrite); !touched.ok())
    return touched;
  return WriteImage(head);
}

// Goes through parents first, whatever their numbers.
CudaTree::Above CudaTree::OrderNodes() {
  Above above{std::vector<int>(shape_.size(), 0), std::vector<int>(shape_.size(), 0)};
  std::vector<int> open = {0};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    const bool sparse = shape_[n].kind->is_sparse;
    if (sparse) order_.push_back(n);
    for (size_t c = shape_[n].children.size(); c-- > 0;) {
      const int child = shape_[n].children[c];
      above.sparse[child] = sparse ? n : above.sparse[n];
      above.holder[child] = shape_[n].kind->keeps_memory() ? n : above.holder[n];
      open.push_back(child);
    }
  }
  return above;
}

void CudaTree::WriteNode(Image& image, int n, const Above& above) {
  const NodeLayout& layout = shape_[n];
  const int parent = above.sparse[n], holder = above.holder[n];
  KilnCudaNode& node = image.Host(sparse_[n]);
  image.Host(table_ + n) = &sparse_[n]->shared;
  node.shared.ambient = image.New<uint8_t>(RoomFor(layout.cell_bytes));
  node.shared.dump = image.New<uint8_t>(RoomFor(layout.cell_bytes));
  node.tree = tree_;
  node.parent = parent == 0 ? nullptr : sparse_[parent];
  node.holder = holder == 0 ? nullptr : sparse_[holder];
  node.number = n;
  node.kind = KindOf(*layout.kind);
  node.cells = layout.num_cells;
  node.cell_bytes = layout.cell_bytes;
  node.mask_offset = layout.mask_offset;
  node.memory_cells = 1;
  if (node.kind == KILN_CUDA_DYNAMIC) {
    node.memory_cells = std::min<uint64_t>(layout.num_cells, layout.chunk_cells);
    const uint64_t chunks = (node.cells + node.memory_cells - 1) / node.memory_cells;
    if (chunks > 1) node.chunks = chunks;
    node.directories.bytes = node.chunks * sizeof(uint8_t*);
  }
  if (layout.kind->keeps_memory()) node.memory.bytes = node.memory_cells * node.cell_bytes;
  node.path = image.Path(parent, n);
  node.held = image.Path(holder, n);
  node.levels = image.Levels(layout.levels);
  node.num_levels = layout.levels.size();
}

Result<> CudaTree::WriteImage(uint64_t head) {
  const Above above = OrderNodes();
  Image image(this, head);
  tree_ = image.New<KilnCudaTree>(1);
  auto* nodes = image.New<KilnCudaNode>(order_.size());
  table_ = image.New<KilnNode*>(shape_.size());
  sparse_.resize(shape_.size());
  for (size_t i = 0; i < order_.size(); ++i) sparse_[order_[i]] = nodes + i;
  for (const int n : order_) WriteNode(image, n, above);
  arena_ = image.end();
  KilnCudaTree& tree = image.Host(tree_);
  tree.next = buffer_->data() + arena_;
  tree.end = buffer_->data() + bytes();
  tree.root = buffer_->data();
  Result<cuda::TreeNotices::Place> known = device_->trees().Remember(this, growing_ != nullptr);
  if (!known.ok()) return known.error();
  id_ = known->id;
  asks_ = known->asks;
  tree.notice = reinterpret_cast<KilnCudaNotice*>(known->notice);
  tree.id = id_;
  tree.nodes = nodes;
  tree.num_nodes = order_.size();
  tree.asks = reinterpret_cast<uint32_t*>(asks_);
  tree.mark = NextMark();
  return {};
}

uint64_t CudaTree::bytes() const {
  return growing_ == nullptr ? buffer_->size() : growing_->committed();
}

// --- Growing

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

// --- The mirror

uint8_t* CudaTree::Mirror(const void* at, uint64_t bytes, HostAccess access) const {
  const uint64_t offset = static_cast<const uint8_t*>(at) - buffer_->data();
  KILN_CHECK(offset < this->bytes()) << "an address outside of a tree";
  bytes = std::min(bytes, this->bytes() - offset);
  if (Result<> touched = buffer_->Touch(offset, bytes, access); !touched.ok() && failure_.ok()) {
    failure_ = touched;
  }
  return buffer_->host() + offset;
}

void CudaTree::Deliver(const void* at, uint64_t bytes) const {
  if (!buffer_->is_shared()) return;
  const uint64_t offset = static_cast<const uint8_t*>(at) - buffer_->data();
  if (Result<> done = buffer_->Deliver(offset, bytes); !done.ok() && failure_.ok()) failure_ = done;
}

Result<> CudaTree::TakeFailure() const {
  if (failure_.ok()) return device_->TakeNotice();
  return std::exchange(failure_, Result<>());
}

uint8_t* CudaTree::root() const { return buffer_->host(); }

KilnNode* CudaTree::node(int node) const {
  return sparse_[node] == nullptr ? nullptr : &sparse_[node]->shared;
}

uint8_t* CudaTree::Take(KilnCudaPool* pool) const {
  KilnCudaPool& own = *Mirror(pool, HostAccess::kWrite);
  KilnCudaBlock* block = own.free;
  if (block != nullptr) {
    own.free = Read(&block->next);
  } else {
    KilnCudaTree& tree = *Mirror(tree_, HostAccess::kWrite);
    const uint64_t bytes = BlockBytes(own.bytes);
    // Grow writes to the same mirror.
    if (bytes > static_cast<uint64_t>(tree.end - tree.next)) {
      Grow(bytes);
      if (bytes > static_cast<uint64_t>(tree.end - tree.next)) return nullptr;
    }
    block = reinterpret_cast<KilnCudaBlock*>(tree.next);
    tree.next += bytes;
    if (reinterpret_cast<Address>(tree.next) > tree.mark) Grow(0);
  }
  ++own.made;
  return reinterpret_cast<uint8_t*>(block + 1);
}

uint8_t* CudaTree::Fill(KilnCudaPool* pool, uint8_t** slot) const {
  uint8_t* found = Read(slot);
  if (found != nullptr) return found;
  found = Take(pool);
  if (found != nullptr) Write(slot, found);
  return found;
}

uint8_t* CudaTree::ActivateChunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const {
  uint8_t** slot = &reinterpret_cast<KilnList*>(container)->memory;
  if (Read(&node->chunks) > 0) {
    uint8_t* directory = Fill(&node->directories, slot);
    if (directory == nullptr) return nullptr;
    slot = reinterpret_cast<uint8_t**>(directory) + chunk;
  }
  uint8_t* made = Fill(&node->memory, slot);
  if (made != nullptr) SetChanged(node);
  return made;
}

uint8_t* CudaTree::Chunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const {
  uint8_t* memory = Read(&reinterpret_cast<KilnList*>(container)->memory);
  if (memory == nullptr || Read(&node->chunks) == 0) return memory;
  return Read(reinterpret_cast<uint8_t**>(memory) + chunk);
}

// The cell of a sparse node, as the device's address; null as for CellAccess and without memory.
uint8_t* CudaTree::Find(KilnCudaNode* node, uint8_t* container, uint64_t cell,
                        CellAccess access) const {
  const KilnCudaNode& own = *Mirror(node, HostAccess::kRead);
  uint8_t* const absent = access == CellAccess::kRead ? own.shared.ambient : nullptr;
  const bool write = access == CellAccess::kWrite;
  if (own.kind == KILN_CUDA_POINTER) {
    uint8_t** slot = reinterpret_cast<uint8_t**>(container) + cell;
    uint8_t* found = Read(slot);
    if (found != nullptr || !write) return found != nullptr ? found : absent;
    found = Fill(&node->memory, slot);
    if (found != nullptr) SetChanged(node);
    return found;
  }
  if (own.kind == KILN_CUDA_BITMASKED) {
    auto* word = reinterpret_cast<uint32_t*>(container + own.mask_offset) + cell / 32;
    const uint32_t bit = uint32_t{1} << (cell % 32);
    const uint32_t bits = Read(word);
    if ((bits & bit) == 0) {
      if (access == CellAccess::kFind) return nullptr;
      if (write) {
        Write(word, bits | bit);
        SetChanged(node);
      }
    }
    return container + cell * own.cell_bytes;
  }
  auto* list = reinterpret_cast<KilnList*>(container);
  const uint64_t length = Read(&list->length);
  if (!write && cell >= length) return absent;
  const uint64_t chunk = cell / own.memory_cells;
  uint8_t* memory = Chunk(node, container, chunk);
  if (memory == nullptr && write) memory = ActivateChunk(node, container, chunk);
  if (memory == nullptr) return write ? nullptr : absent;
  if (cell >= length) {
    Write(&list->length, static_cast<uint32_t>(cell) + 1);
    SetChanged(node);
  }
  return memory + cell % own.memory_cells * own.cell_bytes;
}

// --- Elements

Error CudaTree::Beyond(int node, uint32_t axis, const int64_t* at) const {
  return {ErrorCode::kOutOfRange,
          "index " + std::to_string(at[axis]) + " along axis " + std::to_string(axis) +
              " of SNode S" + std::to_string(node) + ", which has " +
              std::to_string(shape_.AxisExtent(node, axis)) + " cells there"};
}

Result<std::vector<CudaTree::Level>> CudaTree::WayTo(int node, const int64_t* at) const {
  std::vector<Level> way;
  std::array<uint64_t, kMaxIndices> rest = {};
  uint32_t axes = 0;
  for (int n = node; n > 0; n = shape_[n].parent) {
    uint64_t cell = 0;
    for (const NodeLayout::Level& level : shape_[n].levels) {
      // The first level of an axis on the way up sees the whole index.
      if ((axes >> level.axis & 1) == 0) {
        axes |= uint32_t{1} << level.axis;
        if (at[level.axis] < 0) return Beyond(node, level.axis, at);
        rest[level.axis] = static_cast<uint64_t>(at[level.axis]);
      }
      cell += rest[level.axis] % level.extent * level.multiplier;
      rest[level.axis] /= level.extent;
    }
    way.push_back({n, cell});
  }
  for (uint32_t axis = 0; axis < kMaxIndices; ++axis) {
    if (rest[axis] != 0) return Beyond(node, axis, at);
  }
  std::reverse(way.begin(), way.end());
  return way;
}

Result<uint8_t*> CudaTree::Locate(int node, const int64_t* at, CellAccess access) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Result<std::vector<Level>> way = WayTo(node, at);
  if (!way.ok()) return way.error();
  uint8_t* cell = buffer_->data();
  for (const Level& level : *way) {
    const NodeLayout& layout = shape_[level.node];
    uint8_t* container = cell + layout.offset;
    if (sparse_[level.node] == nullptr) {
      // The cells of a word are its bits.
      cell = container + (layout.kind->is_word() ? 0 : level.cell * layout.cell_bytes);
      continue;
    }
    cell = Find(sparse_[level.node], container, level.cell, access);
    if (Result<> done = TakeFailure(); !done.ok()) return done.error();
    if (cell == nullptr) {
      if (access == CellAccess::kFind) return cell;
      return Error{ErrorCode::kResourceExhausted, Refusal(level.node, "")};
    }
  }
  const auto wanted = access == CellAccess::kRead ? HostAccess::kRead : HostAccess::kWrite;
  // No byte beside a value or word: the host may have written there, and not delivered it yet.
  const NodeLayout& parent = shape_[std::max(shape_[node].parent, 0)];
  const NodeLayout& own = parent.kind->is_word() ? parent : shape_[node];
  const uint64_t bytes = std::min<uint64_t>(own.cell_bytes, sizeof(uint64_t));
  uint8_t* host = Mirror(static_cast<const void*>(cell), bytes, wanted);
  if (Result<> done = TakeFailure(); !done.ok()) return done.error();
  return host;
}

// --- Work of the device

void CudaTree::Work(int node, uint32_t work) const {
  if (Result<> entered = device_->Enter(); !entered.ok()) return device_->Keep(entered);
  if (Result<> done = buffer_->HandOver(); !done.ok()) return device_->Keep(done);
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return device_->Keep(taken);
  const cuda::Code code = cuda::StartTreeWork(*device_, reinterpret_cast<Address>(table_),
                                              static_cast<uint32_t>(node), work, turn.stream());
  if (code != cuda::kSuccess) device_->Keep(device_->ErrorOf(code, "work on sparse SNodes failed"));
}

void CudaTree::DeactivateAll(int node) {
  device_->trees().Grow();  // makes lists
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  // The deepest first: the lists that lead to them still have the cells above.
  for (size_t i = order_.size(); i-- > 0;) {
    int above = order_[i];
    while (above > 0 && above != node) above = shape_[above].parent;
    if (above == node) Work(order_[i], KILN_CUDA_DEACTIVATE_ALL);
  }
}

void CudaTree::Collect() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  // A node's work includes those below.
  for (const int node : order_) {
    bool outermost = true;
    for (int n = shape_[node].parent; n > 0; n = shape_[n].parent) {
      outermost &= sparse_[n] == nullptr;
    }
    if (outermost) Work(node, KILN_CUDA_COLLECT);
  }
}

// --- Counts

uint64_t CudaTree::Arena() const {
  return static_cast<uint64_t>(Read(&tree_->next) - buffer_->data()) - arena_;
}

TreeStats CudaTree::Stats() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  TreeStats stats;
  stats.root_bytes = shape_.root_bytes();
  stats.cell_bytes = Arena();
  for (const int node : order_) {
    for (const KilnCudaList& list : Mirror(sparse_[node], HostAccess::kRead)->lists) {
      stats.list_bytes += list.capacity * sizeof(KilnElement);
    }
  }
  stats.cell_bytes -= std::min(stats.cell_bytes, stats.list_bytes);
  return stats;
}

NodeStats CudaTree::Stats(int node) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  NodeStats stats;
  if (sparse_[node] == nullptr) return stats;
  const KilnCudaPool& pool = *Mirror(&sparse_[node]->memory, HostAccess::kRead);
  stats.cells_made = pool.made;
  stats.cells_collected = pool.returned;
  stats.cells_peak = std::max(pool.peak, pool.made - pool.returned);
  return stats;
}

}  // namespace kiln
