// Collection: makes retired cells, with everything below them, reusable.
#include <algorithm>
#include <iterator>

#include "runtime/cpu/parallel_for.h"
#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

// The bytes that one thread processes at a time: some ten microseconds.
constexpr uint64_t kBytesOfPiece = uint64_t{128} << 10;

// Cells to collect, by memory_index of the node: retired ones, and those found below other nodes'
// cells.
struct Found {
  explicit Found(const TreeState& tree) : cells(tree.memory_nodes), chunks(tree.memory_nodes) {}
  void Add(Found&& other) {
    for (size_t n = 0; n < cells.size(); ++n) {
      cells[n].Add(std::move(other.cells[n]));
      chunks[n].Add(std::move(other.chunks[n]));
    }
  }
  // As in RetiredCells: pointer cells, only chunks, directories.
  std::vector<CellBag> cells;
  // Chunks of directories.
  std::vector<CellBag> chunks;
};

// Finds the memory below the containers of `node` in `cell`. Threads may still hold the cell: of
// those that deactivate its parts, one succeeds.
void FindBelow(SparseNode* node, uint8_t* cell, Found* found) {
  if (!node->keeps_memory) return;
  CellBag* own = node->memory == nullptr ? nullptr : &found->cells[node->memory_index];
  // Cells that are part of this container (bitmasked ones, for example) may contain containers,
  // too.
  const auto below = [&](uint8_t* in_place) {
    for (SparseNode* nested : node->nested) FindBelow(nested, in_place, found);
  };
  WithKind(*node, [&](auto kind) {
    for (uint64_t c = 0; c < node->path.count(); ++c) {
      kind.TakeMemory(*node, node->path.Find(cell, c), own, below);
    }
  });
}

// Calls visit(cell, Found to add to) for all cells, on several threads if they take many bytes.
template <typename Visit>
void ForEachCell(const TreeState& tree, const CellBag& cells, uint64_t bytes, int max_threads,
                 Found* found, const Visit& visit) {
  // Whole blocks are the unit of sharing: a block's addresses are a few cache lines.
  const std::vector<const CellBlock*> blocks = cells.blocks();
  auto visit_block = [&](const CellBlock& block, Found* to) {
    for (uint32_t i = block.begin; i < block.end; ++i) visit(block.cells[i], to);
  };
  const uint64_t of_block = std::size(CellBlock().cells) * bytes;
  const uint64_t piece = std::max<uint64_t>(1, kBytesOfPiece / std::max<uint64_t>(of_block, 1));
  const uint64_t pieces = (blocks.size() + piece - 1) / piece;
  if (pieces <= 1) {
    for (const CellBlock* block : blocks) visit_block(*block, found);
    return;
  }
  std::vector<std::unique_ptr<Found>> parts(pieces);
  ParallelFor(tree.options.executor, static_cast<int64_t>(pieces), max_threads, [&](int64_t p) {
    // One Found per piece, joined afterwards, so that threads share no bags.
    parts[p] = std::make_unique<Found>(tree);
    const uint64_t end = std::min<uint64_t>(blocks.size(), (p + 1) * piece);
    for (uint64_t b = p * piece; b < end; ++b) visit_block(*blocks[b], parts[p].get());
  });
  // The order of the joined bags has no meaning: a bag is unordered.
  for (const auto& part : parts) found->Add(std::move(*part));
}

class Collector {
 public:
  Collector(TreeState* tree, int max_threads)
      : tree_(*tree), max_threads_(max_threads), found_(*tree) {}

  void Collect(SparseNode* node) {
    // Only what was retired before this moment. Cells retired later wait for the next collection.
    found_.cells[node->memory_index] = node->retired.TakeAll();
    FreeFrom(node);
  }

 private:
  // Proceeds level by level: many cells of one node at a time, so that threads share the work
  // evenly however unequal the cells above are.
  void FreeFrom(SparseNode* node) {
    if (node->memory_index >= 0) FreeOwn(node);
    for (SparseNode* nested : node->nested) {
      if (nested->keeps_memory) FreeFrom(nested);
    }
  }

  void FreeOwn(SparseNode* node) {
    CellBag cells = std::move(found_.cells[node->memory_index]);
    if (node->directories != nullptr) {
      // With directories, `cells` holds those, and the chunks they lead to are what `memory`
      // allocates.
      if (!cells.empty()) FreeDirectories(node, std::move(cells));
      cells = std::move(found_.chunks[node->memory_index]);
    }
    if (!cells.empty()) Free(node, std::move(cells));
  }

  // Frees cells of the node (pointer) or chunks, whose contents were recorded before.
  void Free(SparseNode* node, CellBag cells) {
    const CellAllocator& memory = *node->memory;
    std::vector<SparseNode*> below;
    for (SparseNode* nested : node->nested) {
      if (nested->keeps_memory) below.push_back(nested);
    }
    // Small cells with nothing below are not even touched: the allocator clears them on reuse.
    if (!below.empty() || memory.returns_memory()) {
      ForEachCell(tree_, cells, memory.stride(), max_threads_, &found_,
                  [&](uint8_t* cell, Found* found) {
                    for (SparseNode* nested : below) {
                      for (uint64_t i = 0; i < node->memory_cells; ++i) {
                        FindBelow(nested, cell + i * node->cell_bytes, found);
                      }
                    }
                    memory.Release(cell);
                  });
    }
    // Before the cells return: another thread may take them at once, and they would count twice.
    node->NoteCollected(cells.size());
    node->memory->GiveBack(std::move(cells));
  }

  void FreeDirectories(SparseNode* node, CellBag directories) {
    const CellAllocator& memory = *node->directories;
    ForEachCell(tree_, directories, memory.stride(), max_threads_, &found_,
                [&](uint8_t* directory, Found* found) {
                  auto** chunks = reinterpret_cast<uint8_t**>(directory);
                  for (uint64_t i = 0; i < node->num_chunks(); ++i) {
                    if (uint8_t* chunk = TakeSlot(chunks + i)) {
                      found->chunks[node->memory_index].Add(chunk);
                    }
                  }
                  memory.Release(directory);
                });
    node->directories->GiveBack(std::move(directories));
  }

  TreeState& tree_;
  const int max_threads_;
  Found found_;
};

}  // namespace

void Tree::Collect(int node, int max_threads) {
  SparseNode* sparse = state_->sparse[node].get();
  if (sparse == nullptr || sparse->memory == nullptr || sparse->retired.empty()) return;
  Collector(state_.get(), max_threads).Collect(sparse);
  state_->collections.fetch_add(1, std::memory_order_relaxed);
}

void Tree::Collect() {
  for (size_t n = 0; n < state_->sparse.size(); ++n) Collect(static_cast<int>(n));
}

}  // namespace kiln
