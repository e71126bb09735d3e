// Retired cells become usable again, with all that hangs on them.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/cpu/parallel_for.h"
#include "runtime/tree_node.h"

namespace kiln {
namespace {

// Work for one thread at a time: some ten microseconds.
constexpr uint64_t kBytesOfPiece = uint64_t{128} << 10;

using Cells = std::vector<uint8_t*>;

// Cells to collect, by node: the node's own, and what other nodes' cells lead to.
struct Found {
  Found(const TreeState& tree, int max_threads)
      : cells(tree.sparse.size()), chunks(tree.sparse.size()), max_threads(max_threads) {}
  // What RetiredCells holds: pointer cells, only chunks, directories.
  std::vector<Cells> cells;
  // Chunks that directories led to.
  std::vector<Cells> chunks;
  const int max_threads;
};

// What hangs on the containers of `node` in `cell`.
void FindBelow(SparseNode* node, uint8_t* cell, Found* found) {
  if (!node->keeps_memory) return;
  for (uint64_t c = 0; c < node->path.count(); ++c) {
    uint8_t* container = node->path.Find(cell, c);
    Cells& own = found->cells[node->number];
    switch (node->kind) {
      case proto::SNODE_POINTER: {
        auto** slots = reinterpret_cast<uint8_t**>(container);
        for (uint64_t i = 0; i < node->cells; ++i) {
          uint8_t* below = __atomic_load_n(slots + i, __ATOMIC_ACQUIRE);
          if (below != nullptr) own.push_back(below);
        }
        break;
      }
      case proto::SNODE_BITMASKED:
        // Set or not: cells keep their data when their bit is cleared.
        for (uint64_t i = 0; i < node->cells; ++i) {
          for (SparseNode* nested : node->nested) {
            FindBelow(nested, container + i * node->cell_bytes, found);
          }
        }
        break;
      default: {
        auto* dynamic = reinterpret_cast<DynamicContainer*>(container);
        uint8_t* memory = __atomic_load_n(&dynamic->memory, __ATOMIC_ACQUIRE);
        if (memory != nullptr) own.push_back(memory);
      }
    }
  }
}

void FindBelowCells(SparseNode* node, uint8_t* cells, uint64_t count, Found* found) {
  for (SparseNode* nested : node->nested) {
    if (!nested->keeps_memory) continue;
    for (uint64_t i = 0; i < count; ++i) FindBelow(nested, cells + i * node->cell_bytes, found);
  }
}

// Calls visit(node's cells or chunks) in pieces on several threads, each with a Found of its
// own, which are added up in order.
template <typename Visit>
void InPieces(const TreeState& tree, const Cells& cells, uint64_t bytes, Found* found,
              const Visit& visit) {
  const uint64_t piece = std::max<uint64_t>(1, kBytesOfPiece / std::max<uint64_t>(bytes, 1));
  const uint64_t pieces = (cells.size() + piece - 1) / piece;
  if (pieces <= 1) {
    for (uint8_t* cell : cells) visit(cell, found);
    return;
  }
  std::vector<std::unique_ptr<Found>> parts(pieces);
  ParallelFor(static_cast<int64_t>(pieces), found->max_threads, [&](int64_t p) {
    parts[p] = std::make_unique<Found>(tree, 1);
    const uint64_t end = std::min<uint64_t>(cells.size(), (p + 1) * piece);
    for (uint64_t i = p * piece; i < end; ++i) visit(cells[i], parts[p].get());
  });
  for (const auto& part : parts) {
    for (size_t n = 0; n < tree.sparse.size(); ++n) {
      Cells& to = found->cells[n];
      to.insert(to.end(), part->cells[n].begin(), part->cells[n].end());
      Cells& chunks = found->chunks[n];
      chunks.insert(chunks.end(), part->chunks[n].begin(), part->chunks[n].end());
    }
  }
}

// Cells of the node (pointer) or chunks: what hangs on them is noted, they are free.
void Free(SparseNode* node, const Cells& cells, Found* found) {
  const uint64_t count =
      node->kind == proto::SNODE_POINTER ? 1 : std::min<uint64_t>(node->cells, node->chunk_cells);
  InPieces(*node->tree, cells, count * node->cell_bytes, found, [&](uint8_t* cell, Found* below) {
    FindBelowCells(node, cell, count, below);
    node->memory->Clear(cell);
  });
  node->memory->GiveBack(cells);
  node->collected.fetch_add(cells.size(), std::memory_order_relaxed);
}

void FreeDirectories(SparseNode* node, const Cells& directories, Found* found) {
  const uint64_t count = node->num_chunks();
  InPieces(*node->tree, directories, count * sizeof(uint8_t*), found,
           [&](uint8_t* directory, Found* below) {
             auto** chunks = reinterpret_cast<uint8_t**>(directory);
             for (uint64_t i = 0; i < count; ++i) {
               uint8_t* chunk = __atomic_load_n(chunks + i, __ATOMIC_ACQUIRE);
               if (chunk != nullptr) below->chunks[node->number].push_back(chunk);
             }
             node->directories->Clear(directory);
           });
  node->directories->GiveBack(directories);
}

// Level by level: many cells of one node at a time, so that threads share them however
// unequal the cells above are.
void FreeFrom(SparseNode* node, Found* found) {
  Cells cells = std::move(found->cells[node->number]);
  found->cells[node->number].clear();
  if (node->directories != nullptr) {
    if (!cells.empty()) FreeDirectories(node, cells, found);
    cells = std::move(found->chunks[node->number]);
    found->chunks[node->number].clear();
  }
  if (node->memory != nullptr && !cells.empty()) Free(node, cells, found);
  for (SparseNode* nested : node->nested) {
    if (nested->keeps_memory) FreeFrom(nested, found);
  }
}

}  // namespace

void Tree::Collect(int node, int max_threads) {
  SparseNode* sparse = state_->sparse[node].get();
  if (sparse == nullptr || sparse->memory == nullptr || sparse->retired.empty()) return;
  Found found(*state_, max_threads);
  found.cells[node] = sparse->retired.TakeAll();
  FreeFrom(sparse, &found);
  state_->collections.fetch_add(1, std::memory_order_relaxed);
}

void Tree::Collect() {
  for (size_t n = 0; n < state_->sparse.size(); ++n) Collect(static_cast<int>(n));
}

}  // namespace kiln
