// Kernels of the runtime's own: lists of active cells, collection, deactivation of all cells. The
// blocks of a launch, of KILN_CUDA_RETIRED threads each, run at the same time, so that barriers of
// the grid separate its stages, and all counts stay on the device. Any number of blocks is right.
// The client has them as PTX, so a change needs no new artifacts.
#include "runtime/device_lib/cuda_memory.h"
#include "runtime/device_lib/cuda_tree.h"

#define KILN_SHARED [[clang::loader_uninitialized]] static __attribute__((address_space(3)))
#define KILN_KERNEL extern "C" [[clang::nvptx_kernel]] void

namespace {

constexpr uint32_t kThreads = KILN_CUDA_RETIRED, kWarp = 32, kWarps = kThreads / kWarp;
constexpr uint64_t kCellsOfUnit = 32;  // of lists of cells: those of a mask's word
constexpr int kMaxDepth = 32;          // common/layout/tree_shape.h

// In the order in which stages use them, which end at barriers.
KILN_SHARED uint64_t sums[kWarps];
KILN_SHARED uint64_t decided;
KILN_SHARED uint64_t cells_of_round[kThreads];

inline uint32_t Thread() { return __nvvm_read_ptx_sreg_tid_x(); }
inline uint32_t Block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
inline uint32_t Blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
// Of the grid's threads.
inline uint32_t Number() { return Block() * kThreads + Thread(); }
inline uint32_t Threads() { return Blocks() * kThreads; }
inline void Barrier() { __syncthreads(); }

// Waits for the other blocks. Requires: the block's threads are together.
__attribute__((noinline)) void WaitForBlocks(KilnCudaTree* tree) {
  if (Thread() == 0) {
    const uint32_t generation = Load(&tree->generation);
    __nvvm_membar_gl();
    if (Add(&tree->arrived, 1u) == Blocks() - 1) {
      Swap(&tree->arrived, 0u);  // a counter, as the additions to it
      __nvvm_membar_gl();
      Store(&tree->generation, generation + 1);
    } else {
      while (Load(&tree->generation) == generation) Wait();
    }
    __nvvm_membar_gl();
  }
  Barrier();
}

// Waits for all threads of the launch. What they have written before is seen after it. Its first
// barrier is not in a call: the lanes of a warp may arrive apart, and the emulator
// (tests/support/fake_cuda) cannot join them in a call.
inline __attribute__((always_inline)) void GridBarrier(KilnCudaTree* tree) {
  Barrier();
  WaitForBlocks(tree);
}

// A division is a hundred instructions, and the driver compiles these kernels in each process.
struct Quotient {
  uint64_t whole, rest;
};
__attribute__((noinline)) Quotient Divide(uint64_t x, uint64_t y) {
  if ((x | y) >> 32 == 0) {
    const auto small = static_cast<uint32_t>(x), by = static_cast<uint32_t>(y);
    return {small / by, small % by};
  }
  return {x / y, x % y};
}
inline uint64_t Least(uint64_t x, uint64_t y) { return x < y ? x : y; }

// The sum of the values of the threads before this one; of all threads in *total. Inline, as
// GridBarrier.
__attribute__((always_inline)) uint64_t SumBefore(uint64_t value, uint64_t* total) {
  const uint32_t lane = Thread() % kWarp, warp = Thread() / kWarp;
  // Counts of one tile fit into 32 bits.
  auto sum = static_cast<uint32_t>(value);
  for (uint32_t distance = 1; distance < kWarp; distance *= 2) {
    const auto below = static_cast<uint32_t>(
        __nvvm_shfl_sync_up_i32(0xffffffff, static_cast<int>(sum), static_cast<int>(distance), 0));
    if (lane >= distance) sum += below;
  }
  if (lane == kWarp - 1) sums[warp] = sum;
  Barrier();
  uint64_t before = sum - value;
  *total = 0;
  for (uint32_t w = 0; w < kWarps; ++w) {
    if (w < warp) before += sums[w];
    *total += sums[w];
  }
  Barrier();
  return before;
}

// The sum of the values of the block's threads: by halves, since SumBefore has 32 bits.
__attribute__((always_inline)) uint64_t SumOfBlock(uint64_t value) {
  uint64_t low = 0, high = 0;
  SumBefore(value & 0xffffff, &low);
  SumBefore(value >> 24, &high);
  return low + (high << 24);
}

// What one thread of the block decides, for all of them.
inline __attribute__((always_inline)) uint64_t Broadcast(uint64_t value) {
  if (Thread() == 0) decided = value;
  Barrier();
  const uint64_t all = decided;
  Barrier();
  return all;
}

uint64_t DigitOf(uint64_t cell, const KilnCudaLevel& level) {
  return Divide(Divide(cell, level.multiplier).whole, level.extent).rest;
}

// --- Containers

// Container `number` of the path, in `cell`.
__attribute__((noinline)) uint8_t* ContainerAt(const KilnCudaPath& path, uint8_t* cell,
                                               uint64_t number) {
  uint64_t below = path.count;
  for (uint64_t s = 0; s < path.num_steps; ++s) {
    const KilnCudaStep& step = path.steps[s];
    below = Divide(below, step.cells).whole;
    const Quotient digits = Divide(number, below);
    cell += step.offset + digits.whole * step.cell_bytes;
    number = digits.rest;
  }
  return cell + path.offset;
}

// The indices of the container's cell 0, from those of the cell above.
void IndexOf(const KilnCudaNode& node, uint64_t number, const int32_t* above, int32_t* at) {
  for (int axis = 0; axis < KILN_MAX_AXES; ++axis) at[axis] = above[axis];
  uint64_t below = node.path.count;
  for (uint64_t s = 0; s < node.path.num_steps; ++s) {
    const KilnCudaStep& step = node.path.steps[s];
    below = Divide(below, step.cells).whole;
    const Quotient digits = Divide(number, below);
    number = digits.rest;
    for (uint64_t l = 0; l < step.num_levels; ++l) {
      const KilnCudaLevel& level = step.levels[l];
      const uint64_t digit = DigitOf(digits.whole, level);
      at[level.axis] = static_cast<int32_t>(at[level.axis] * level.extent + digit);
    }
  }
  for (uint64_t l = 0; l < node.num_levels; ++l) {
    at[node.levels[l].axis] = static_cast<int32_t>(at[node.levels[l].axis] * node.levels[l].extent);
  }
}

// --- Units: the parts of containers that one thread looks at. Those of a list's container are
// parts of chunks.
struct Units {
  KilnCudaNode* node;
  uint64_t cells;         // of a unit
  uint64_t of_piece;      // units of a chunk, or of a container without chunks
  uint64_t of_container;  // units
  uint64_t count;         // of all containers
};

Units UnitsOf(KilnCudaNode* node, uint64_t cells, uint64_t parents) {
  Units units = {node, cells, 0, 0, 0};
  const bool chunked = node->kind == KILN_CUDA_DYNAMIC;
  const uint64_t piece = chunked ? node->memory_cells : node->cells;
  const uint64_t pieces = chunked && node->chunks > 0 ? node->chunks : 1;
  units.of_piece = Divide(piece + cells - 1, cells).whole;
  units.of_container = units.of_piece * pieces;
  units.count = parents * node->path.count * units.of_container;
  return units;
}

// Cells [begin, end) of one container.
struct Part {
  uint8_t* container;
  uint64_t parent, number;  // the element above, and the container below it
  uint64_t begin, end;
};

__attribute__((noinline)) Part PartOf(const Units& units, uint64_t unit,
                                      const KilnCudaList* parents) {
  const KilnCudaNode& node = *units.node;
  const Quotient container = Divide(unit, units.of_container);
  const Quotient above = Divide(container.whole, node.path.count);
  const Quotient piece = Divide(container.rest, units.of_piece);
  Part part = {};
  part.parent = above.whole;
  part.number = above.rest;
  uint8_t* cell = parents == nullptr ? node.tree->root : parents->elements[part.parent].cell;
  part.container = ContainerAt(node.path, cell, part.number);
  const bool chunked = node.kind == KILN_CUDA_DYNAMIC;
  const uint64_t before = chunked ? piece.whole * node.memory_cells : 0;
  part.begin = before + piece.rest * units.cells;
  const uint64_t end = chunked ? Least(before + node.memory_cells, node.cells) : node.cells;
  part.end = part.begin < end ? Least(part.begin + units.cells, end) : part.begin;
  return part;
}

// How many of the part's first cells a dynamic node has.
uint64_t LengthIn(const KilnList* list, const Part& part) {
  const uint64_t end = Least(Load(&list->length), part.end);
  return end > part.begin ? end - part.begin : 0;
}

// Makes the chunks that active cells of a dynamic node lack: loops may write to all of them.
void MakeChunks(KilnCudaNode* node, const Units& units, const KilnCudaList* parents) {
  for (uint64_t unit = Number(); unit < units.count; unit += Threads()) {
    const Part part = PartOf(units, unit, parents);
    auto* list = reinterpret_cast<KilnList*>(part.container);
    if (LengthIn(list, part) == 0) continue;
    const uint64_t chunk = Divide(part.begin, node->memory_cells).whole;
    uint8_t* at = Load(&list->memory);
    if (at != nullptr && node->chunks > 0) at = Load(reinterpret_cast<uint8_t**>(at) + chunk);
    if (at == nullptr) kiln_cuda_activate_chunk(&node->shared, part.container, chunk);
  }
  GridBarrier(node->tree);
}

// Active cells of the part, which has at most the cells of a slice. Of a dynamic node the first
// ones, and where they are in *memory; none without a chunk.
__attribute__((noinline)) uint64_t CountActive(KilnCudaNode* node, const Part& part,
                                               uint8_t** memory) {
  uint64_t count = 0;
  if (node->kind == KILN_CUDA_POINTER) {
    auto** slots = reinterpret_cast<uint8_t**>(part.container);
    for (uint64_t i = part.begin; i < part.end; ++i) count += Load(slots + i) != nullptr;
  } else if (node->kind == KILN_CUDA_BITMASKED) {
    auto* words = reinterpret_cast<uint32_t*>(part.container + node->mask_offset);
    for (uint64_t i = part.begin; i < part.end; i += 32) {
      count += __builtin_popcount(Load(words + i / 32));
    }
  } else {
    auto* list = reinterpret_cast<KilnList*>(part.container);
    count = LengthIn(list, part);
    if (count == 0) return 0;
    const Quotient chunk = Divide(part.begin, node->memory_cells);
    uint8_t* at = Load(&list->memory);
    if (at != nullptr && node->chunks > 0) at = Load(reinterpret_cast<uint8_t**>(at) + chunk.whole);
    if (at == nullptr) return 0;
    *memory = at + chunk.rest * node->cell_bytes;
  }
  return count;
}

void Write(KilnElement* to, uint8_t* cell, uint64_t begin, uint64_t count, const int32_t* at) {
  to->cell = cell;
  to->begin = static_cast<int32_t>(begin);
  to->count = static_cast<int32_t>(count);
  for (int axis = 0; axis < KILN_MAX_AXES; ++axis) to->at[axis] = at[axis];
}

void WriteCell(const KilnCudaNode& node, KilnElement* to, uint8_t* cell, uint64_t number,
               const int32_t* first) {
  Write(to, cell, 0, 0, first);
  for (uint64_t l = 0; l < node.num_levels; ++l) {
    const KilnCudaLevel& level = node.levels[l];
    to->at[level.axis] += static_cast<int32_t>(DigitOf(number, level));
  }
}

// The part's elements.
__attribute__((noinline)) void WritePart(KilnCudaNode* node, const Part& part, bool slices,
                                         uint64_t active, uint8_t* memory,
                                         const KilnCudaList* parents, KilnElement* to) {
  static constexpr int32_t kOrigin[KILN_MAX_AXES] = {};
  int32_t at[KILN_MAX_AXES];
  IndexOf(*node, part.number, parents == nullptr ? kOrigin : parents->elements[part.parent].at, at);
  const bool dynamic = node->kind == KILN_CUDA_DYNAMIC;
  if (slices) {
    const uint64_t cells = dynamic ? active : part.end - part.begin;
    return Write(to, dynamic ? memory : part.container, part.begin, cells, at);
  }
  if (dynamic) {
    for (uint64_t i = 0; i < active; ++i) {
      WriteCell(*node, to++, memory + i * node->cell_bytes, part.begin + i, at);
    }
    return;
  }
  for (uint64_t i = part.begin; i < part.end; ++i) {
    uint8_t* cell = part.container + i * node->cell_bytes;
    if (node->kind == KILN_CUDA_POINTER) {
      cell = Load(reinterpret_cast<uint8_t**>(part.container) + i);
      if (cell == nullptr) continue;
    } else {
      auto* words = reinterpret_cast<uint32_t*>(part.container + node->mask_offset);
      if ((Load(words + i / 32) >> (i % 32) & 1) == 0) continue;
    }
    WriteCell(*node, to++, cell, i, at);
  }
}

// --- Lists

// Room for `count` elements. Lists grow by half, so that what they have left behind is at most
// twice what they use.
bool Reserve(KilnCudaTree* tree, KilnCudaList* list, uint64_t count) {
  if (count <= list->capacity) return true;
  uint64_t capacity = count < 64 ? 64 : count;
  if (list->capacity > 0) capacity += capacity / 2;
  for (;;) {
    const uint64_t bytes = capacity * sizeof(KilnElement);
    if (bytes <= static_cast<uint64_t>(tree->end - tree->next)) {
      list->elements = reinterpret_cast<KilnElement*>(tree->next);
      list->capacity = capacity;
      tree->next += bytes;
      NoteTaken(tree, reinterpret_cast<uint64_t>(tree->next));
      return true;
    }
    if (capacity == count) {
      NoteMissing(tree, bytes);
      return false;
    }
    capacity = count;
  }
}

// One level, from the list of cells above. Each block counts and then writes neighbouring units, so
// that elements are in the order of units, whatever the number of blocks. False without memory: the
// list is empty.
bool MakeList(KilnCudaNode* node, bool slices, const KilnCudaList* parents) {
  KilnCudaTree* const tree = node->tree;
  const Units units = UnitsOf(node, slices ? KILN_CUDA_SLICE : kCellsOfUnit,
                              parents == nullptr ? 1 : parents->count);
  // Before the count, which would otherwise depend on the order in which threads run out of memory.
  if (node->kind == KILN_CUDA_DYNAMIC) MakeChunks(node, units, parents);
  const uint64_t tiles = (units.count + kThreads - 1) / kThreads;
  const uint64_t of_block = Divide(tiles + Blocks() - 1, Blocks()).whole * kThreads;
  const uint64_t begin = Least(Block() * of_block, units.count);
  const uint64_t end = Least(begin + of_block, units.count);
  uint64_t own = 0;
  uint8_t* memory = nullptr;
  for (uint64_t unit = begin + Thread(); unit < end; unit += kThreads) {
    const uint64_t active = CountActive(node, PartOf(units, unit, parents), &memory);
    own += slices ? active > 0 : active;
  }
  const uint64_t sum = SumOfBlock(own);
  if (Thread() == 0) tree->sums[Block()] = sum;
  GridBarrier(tree);
  uint64_t below = 0, all = 0;  // those of this thread's blocks, and of them those before this one
  for (uint32_t block = Thread(); block < Blocks(); block += kThreads) {
    const uint64_t one = tree->sums[block];
    all += one;
    if (block < Block()) below += one;
  }
  const uint64_t before_block = SumOfBlock(below), total = SumOfBlock(all);
  KilnCudaList* const list = &node->lists[slices ? 1 : 0];
  if (Number() == 0) {
    const bool fits = Reserve(tree, list, total);
    if (!fits) Refuse(tree, node->number | KILN_CUDA_LIST);
    list->count = fits ? total : 0;
  }
  GridBarrier(tree);
  if (list->count != total) return false;
  KilnElement* to = list->elements + before_block;
  for (uint64_t tile = begin; tile < end; tile += kThreads) {
    const uint64_t unit = tile + Thread();
    Part part = {};
    uint64_t active = 0, in_tile = 0;
    if (unit < end) {
      part = PartOf(units, unit, parents);
      active = CountActive(node, part, &memory);
    }
    const uint64_t before = SumBefore(slices ? active > 0 : active, &in_tile);
    if (active > 0) WritePart(node, part, slices, active, memory, parents, to + before);
    to += in_tile;
  }
  GridBarrier(tree);
  return true;
}

// Whether the list is up to date. All blocks find the same: the first one notes changes by a higher
// version before it clears `changed`, and sets the stamp after a barrier of all.
bool IsCurrent(const KilnCudaNode* node, bool slices) {
  uint64_t stamp = 1;
  bool changed = false;
  for (const KilnCudaNode* n = node; n != nullptr; n = n->parent) {
    changed |= Load(&n->shared.changed) != 0;
  }
  __nvvm_membar_gl();
  for (const KilnCudaNode* n = node; n != nullptr; n = n->parent) stamp += Load(&n->version);
  return !changed && Load(&node->lists[slices ? 1 : 0].stamp) == stamp;
}

// The list, made again if something has changed, after those of the nodes above.
__attribute__((noinline)) KilnCudaList* CurrentList(KilnCudaNode* node, bool slices) {
  if (Broadcast(Thread() == 0 && IsCurrent(node, slices)) != 0) {
    return &node->lists[slices ? 1 : 0];
  }
  KilnCudaNode* chain[kMaxDepth];
  int depth = 0;
  for (KilnCudaNode* n = node; n != nullptr && depth < kMaxDepth; n = n->parent) {
    chain[depth++] = n;
    if (Number() == 0 && Load(&n->shared.changed) != 0) {
      Store(&n->version, n->version + 1);
      __nvvm_membar_gl();
      Store(&n->shared.changed, 0u);
    }
  }
  GridBarrier(node->tree);
  KilnCudaList* parents = nullptr;
  uint64_t stamp = 1;
  while (depth-- > 0) {
    KilnCudaNode* const n = chain[depth];
    const bool as_slices = slices && depth == 0;
    // Versions only grow: equal sums are equal versions.
    stamp += Load(&n->version);
    KilnCudaList* const list = &n->lists[as_slices ? 1 : 0];
    if (Broadcast(Load(&list->stamp)) != stamp) {
      // Without memory the next launch tries again, and fails again.
      const bool made = MakeList(n, as_slices, parents);
      if (Number() == 0) Store(&list->stamp, made ? stamp : 0);
      GridBarrier(n->tree);
    }
    parents = list;
  }
  return parents;
}

// --- Collection

bool IsBelow(const KilnCudaNode* node, const KilnCudaNode* above) {
  for (; node != nullptr; node = node->parent) {
    if (node == above) return true;
  }
  return false;
}

// Retires what hangs on the containers in one piece of memory of `holder`.
void RetireBelow(KilnCudaNode* holder, uint8_t* memory) {
  KilnCudaTree* const tree = holder->tree;
  for (uint64_t n = 0; n < tree->num_nodes; ++n) {
    KilnCudaNode* const node = &tree->nodes[n];
    if (node->holder != holder || node->memory.bytes == 0) continue;
    for (uint64_t i = 0; i < holder->memory_cells; ++i) {
      for (uint64_t c = 0; c < node->held.count; ++c) {
        uint8_t* container = ContainerAt(node->held, memory + i * holder->cell_bytes, c);
        if (node->kind == KILN_CUDA_DYNAMIC) {
          MakeInactive(node, container, 0);
          continue;
        }
        auto** slots = reinterpret_cast<uint8_t**>(container);
        for (uint64_t s = 0; s < node->cells; ++s) Clear(node, slots + s);
      }
    }
  }
}

// Frees the retired pieces of a pool. `below` retires what hangs on a piece.
template <typename Below>
void FreeRetired(KilnCudaTree* tree, KilnCudaPool* pool, const Below& below) {
  const uint32_t thread = Thread(), chain = Block() + thread * Blocks();
  KilnCudaBlock* block = nullptr;
  if (chain < KILN_CUDA_RETIRED) {
    block = Swap(&pool->retired[chain], static_cast<KilnCudaBlock*>(nullptr));
  }
  while (__nvvm_bar0_or(block != nullptr ? 1 : 0) != 0) {
    uint8_t* const memory = block == nullptr ? nullptr : reinterpret_cast<uint8_t*>(block + 1);
    KilnCudaBlock* const next = block == nullptr ? nullptr : Load(&block->next);
    if (block != nullptr) below(memory);
    cells_of_round[thread] = reinterpret_cast<uint64_t>(memory);
    __nvvm_membar_gl();
    Barrier();
    // Together, so that neighbours write to neighbours.
    for (uint32_t t = 0; t < kThreads; ++t) {
      auto* words = reinterpret_cast<uint64_t*>(cells_of_round[t]);
      if (words == nullptr) continue;
      for (uint64_t w = thread; w * 8 < pool->bytes; w += kThreads) words[w] = 0;
    }
    __nvvm_membar_gl();
    Barrier();
    if (block != nullptr) {
      Push(&pool->free, block);
      Add(&pool->returned, uint64_t{1});
    }
    block = next;
  }
  GridBarrier(tree);
}

void NotePeak(KilnCudaPool* pool) {
  const uint64_t used = pool->made - pool->returned;
  if (pool->peak < used) pool->peak = used;
}

// Makes the retired memory of `top`, and of the nodes below it, usable again.
void Collect(KilnCudaNode* top) {
  KilnCudaTree* const tree = top->tree;
  for (uint64_t n = Number(); n < tree->num_nodes; n += Threads()) {
    if (!IsBelow(&tree->nodes[n], top)) continue;
    NotePeak(&tree->nodes[n].memory);
    NotePeak(&tree->nodes[n].directories);
  }
  GridBarrier(tree);
  // Parents first: what hangs on their cells is retired before its own turn.
  for (uint64_t n = 0; n < tree->num_nodes; ++n) {
    KilnCudaNode* const own = &tree->nodes[n];
    if (own->memory.bytes == 0 || !IsBelow(own, top)) continue;
    if (own->chunks > 0) {
      FreeRetired(tree, &own->directories, [own](uint8_t* directory) {
        auto** chunks = reinterpret_cast<uint8_t**>(directory);
        for (uint64_t i = 0; i < own->chunks; ++i) {
          uint8_t* chunk = Load(chunks + i);
          if (chunk != nullptr) Retire(&own->memory, chunk);
        }
      });
    }
    FreeRetired(tree, &own->memory, [own](uint8_t* memory) { RetireBelow(own, memory); });
  }
}

// Makes all cells of the node inactive, in the active cells above.
void DeactivateAll(KilnCudaNode* node) {
  const KilnCudaList* const parents =
      node->parent == nullptr ? nullptr : CurrentList(node->parent, /*slices=*/false);
  const Units units =
      UnitsOf(node, node->kind == KILN_CUDA_DYNAMIC ? node->memory_cells : kCellsOfUnit,
              parents == nullptr ? 1 : parents->count);
  bool any = false;
  for (uint64_t unit = Number(); unit < units.count; unit += Threads()) {
    const Part part = PartOf(units, unit, parents);
    if (node->kind == KILN_CUDA_BITMASKED) {
      auto* words = reinterpret_cast<uint32_t*>(part.container + node->mask_offset);
      if (part.begin < part.end) any |= Swap(words + part.begin / 32, 0u) != 0;
    } else if (node->kind == KILN_CUDA_POINTER) {
      for (uint64_t i = part.begin; i < part.end; ++i) any |= MakeInactive(node, part.container, i);
    } else if (part.begin == 0) {
      any |= MakeInactive(node, part.container, 0);
    }
  }
  if (any) SetChanged(&node->shared);
}

}  // namespace

// Tells a tree where its memory ends from now on. One thread.
KILN_KERNEL kiln_cuda_tree_grow(KilnCudaTree* tree, uint8_t* end, uint64_t mark) {
  tree->end = end;
  tree->mark = mark;
}

// The only entry for all other work, so that the driver compiles what its parts share once:
// nodes[node], and what to do (KilnCudaTreeWork).
KILN_KERNEL kiln_cuda_tree(KilnNode* const* nodes, uint32_t number, uint32_t work) {
  auto* const node = reinterpret_cast<KilnCudaNode*>(nodes[number]);
  // Kernels of older modules have taken memory without a look at the mark.
  if (Number() == 0) {
    NoteTaken(node->tree, reinterpret_cast<uint64_t>(Load(&node->tree->next)));
    __nvvm_membar_gl();
  }
  if (work == KILN_CUDA_COLLECT) return Collect(node);
  if (work == KILN_CUDA_DEACTIVATE_ALL) return DeactivateAll(node);
  CurrentList(node, work == KILN_CUDA_LIST_SLICES);
}
