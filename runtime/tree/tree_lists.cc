// Lists of active cells and of slices. All threads build them level by level, each from the list of
// cells of the sparse node above. A list is kept until a cell changes.
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "common/base/check.h"
#include "runtime/cpu/parallel_for.h"
#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

// A slice is the least that a thread takes. If it is too small, elements cost more than cells; if
// it is too large, threads finish at different times.
constexpr uint64_t kMaxSlice = 1024;
constexpr uint64_t kMinSlice = 32;
// As many slices as this, if there are enough cells, so that few threads share them evenly.
constexpr uint64_t kWantedSlices = 64;
// Slots that one thread scans at a time; above this number threads share the scan.
constexpr uint64_t kPiece = 16384;
constexpr uint64_t kShareFrom = 65536;
// The number of elements that exceeds a core's cache: 2 MiB.
constexpr uint64_t kStreamFrom = 32768;

// A list and its memory. Immutable once published.
class Elements final : public ElementList {
 public:
  Elements(std::shared_ptr<ElementMemory> memory, ElementMemory::Block block, uint64_t size)
      : memory_(std::move(memory)), block_(block) {
    data_ = block.elements;
    size_ = static_cast<int64_t>(size);
  }
  ~Elements() override { memory_->Return(block_); }

  KilnElement* elements() { return data_; }
  void Shrink(uint64_t size) { size_ = static_cast<int64_t>(size); }

 private:
  std::shared_ptr<ElementMemory> memory_;
  ElementMemory::Block block_;
};

// The elements' sink: a first scan counts, a second writes.
class Counter {
 public:
  void AddSlice(uint8_t*, uint64_t, uint64_t, const int32_t*) { ++count_; }
  void Add(uint64_t count) { count_ += count; }
  static constexpr bool kWrites = false;
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
};

class Writer {
 public:
  // `streaming`: bypasses the caches, which the list would only flush.
  Writer(KilnElement* begin, KilnElement* end, bool streaming)
      : begin_(begin), next_(begin), end_(end), streaming_(streaming) {}
  ~Writer() {
    // Streaming stores are not ordered by the pool's release at the end of the loop.
    if (streaming_) _mm_sfence();
  }
  void AddCell(uint8_t* cell, const int32_t* at) { AddSlice(cell, 0, 0, at); }
  void AddSlice(uint8_t* cell, uint64_t begin, uint64_t count, const int32_t* at) {
    // Cells activated since the count do not fit; the next list has them.
    if (next_ == end_) return;
    const __m128i first =
        _mm_set_epi32(static_cast<int32_t>(count), static_cast<int32_t>(begin),
                      static_cast<int32_t>(reinterpret_cast<uintptr_t>(cell) >> 32),
                      static_cast<int32_t>(reinterpret_cast<uintptr_t>(cell)));
    auto* to = reinterpret_cast<__m128i*>(next_++);
    const auto* from = reinterpret_cast<const __m128i*>(at);
    if (streaming_) {
      _mm_stream_si128(to, first);
      for (int i = 0; i < 3; ++i) _mm_stream_si128(to + 1 + i, _mm_loadu_si128(from + i));
    } else {
      _mm_store_si128(to, first);
      for (int i = 0; i < 3; ++i) _mm_store_si128(to + 1 + i, _mm_loadu_si128(from + i));
    }
  }
  static constexpr bool kWrites = true;
  uint64_t count() const { return next_ - begin_; }

 private:
  KilnElement *begin_, *next_, *end_;
  const bool streaming_;
};
static_assert(sizeof(KilnElement) == 4 * sizeof(__m128i) && offsetof(KilnElement, at) == 16);

// Builds one list. The scan is cut into units, parts of containers of at most `unit_` cells. Their
// row-major numbers determine the thread that scans them, but not the result.
class Scan {
 public:
  Scan(SparseNode* node, const KilnElement* parents, uint64_t num_parents, bool slices,
       int max_threads)
      : node_(*node),
        parents_(parents),
        slices_(slices),
        max_threads_(max_threads),
        containers_(num_parents * node->path.count()) {
    // Containers of a fixed number of cells are cut by arithmetic. Lists are taken whole, and their
    // lengths have to be summed to know the work.
    const bool divisible = WithKind(*node, [](auto kind) { return kind.kDivisible; });
    unit_ = divisible ? std::min<uint64_t>(node->cells, kPiece) : node->cells;
    units_of_container_ = (node->cells + unit_ - 1) / unit_;
    units_ = containers_ * units_of_container_;
    const uint64_t total = divisible ? containers_ * node->cells : TotalScanned();
    // A multiple of 32, the cells of a mask word: slices then share no word.
    slice_ = std::clamp((total / kWantedSlices + 31) / 32 * 32, kMinSlice, kMaxSlice);
    work_ = std::max(total, containers_);
  }

  // Builds the list in two parallel scans: the first counts the elements of each piece, so that the
  // second can write all pieces directly to their final positions. Null if the system refuses
  // memory.
  std::shared_ptr<Elements> Run(const std::shared_ptr<ElementMemory>& memory) {
    const bool share = work_ >= kShareFrom && max_threads_ != 1;
    const uint64_t pieces = share ? std::clamp<uint64_t>(work_ / kPiece, 1, units_) : 1;
    std::vector<uint64_t> first(pieces + 1);
    // Spreads the remainder over the first pieces.
    auto begin_of = [&](uint64_t piece) {
      return units_ / pieces * piece + std::min(piece, units_ % pieces);
    };
    ParallelFor(node_.tree->options.executor, static_cast<int64_t>(pieces),
                share ? max_threads_ : 1, [&](int64_t p) {
                  Counter counter;
                  Units(begin_of(p), begin_of(p + 1), &counter);
                  first[p + 1] = counter.count();
                });
    // first[p + 1] held the count of piece p; the sums turn counts into positions.
    for (uint64_t p = 0; p < pieces; ++p) first[p + 1] += first[p];
    const ElementMemory::Block block = memory->Take(first[pieces]);
    if (block.elements == nullptr) return nullptr;
    auto list = std::make_shared<Elements>(memory, block, first[pieces]);
    std::vector<uint64_t> written(pieces);
    const bool streaming = first[pieces] >= kStreamFrom;
    ParallelFor(node_.tree->options.executor, static_cast<int64_t>(pieces),
                share ? max_threads_ : 1, [&](int64_t p) {
                  Writer writer(list->elements() + first[p], list->elements() + first[p + 1],
                                streaming);
                  Units(begin_of(p), begin_of(p + 1), &writer);
                  written[p] = writer.count();
                });
    CloseGaps(first, written, list.get());
    return list;
  }

 private:
  // Removes the gaps left by cells that another thread deactivated between the two scans.
  static void CloseGaps(const std::vector<uint64_t>& first, const std::vector<uint64_t>& written,
                        Elements* list) {
    uint64_t end = 0;
    for (size_t p = 0; p < written.size(); ++p) {
      // Rare, and a move of what follows the first gap at most.
      if (end != first[p]) {
        std::memmove(list->elements() + end, list->elements() + first[p],
                     written[p] * sizeof(KilnElement));
      }
      end += written[p];
    }
    list->Shrink(static_cast<int64_t>(end));
  }

  uint64_t TotalScanned() const {
    const uint64_t pieces = (containers_ + kPiece - 1) / kPiece;
    std::vector<uint64_t> scanned(pieces);
    ParallelFor(node_.tree->options.executor, static_cast<int64_t>(pieces), max_threads_,
                [&](int64_t p) {
                  int32_t at[kMaxIndices];
                  const uint64_t end = std::min(containers_, (p + 1) * kPiece);
                  for (uint64_t c = p * kPiece; c < end; ++c) {
                    uint8_t* container = Container(c, at);
                    scanned[p] +=
                        WithKind(node_, [&](auto kind) { return kind.Scanned(node_, container); });
                  }
                });
    return std::accumulate(scanned.begin(), scanned.end(), uint64_t{0});
  }

  uint8_t* Container(uint64_t number, int32_t* at) const {
    const uint64_t count = node_.path.count();
    const KilnElement& parent = parents_[number / count];
    return node_.path.Find(parent.cell, number % count, parent.at, at);
  }

  template <typename To>
  void Units(uint64_t begin, uint64_t end, To* to) {
    WithKind(node_, [&](auto kind) { Units(kind, begin, end, to); });
  }
  template <typename Kind, typename To>
  void Units(Kind kind, uint64_t begin, uint64_t end, To* to) {
    int32_t at[kMaxIndices];
    for (uint64_t unit = begin; unit < end; ++unit) {
      uint8_t* container = Container(unit / units_of_container_, at);
      const uint64_t first = unit % units_of_container_ * unit_;
      const uint64_t last = std::min(first + unit_, node_.cells);
      if (slices_) {
        kind.ForEachSlice(node_, container, first, last, slice_,
                          [&](uint8_t* cell, uint64_t cells_begin, uint64_t count) {
                            to->AddSlice(cell, cells_begin, count, at);
                          });
      } else {
        Cells(kind, container, at, first, last, to);
      }
    }
  }

  template <typename Kind, typename To>
  void Cells(Kind kind, uint8_t* container, const int32_t* at, uint64_t first, uint64_t last,
             To* to) {
    if constexpr (To::kWrites) {
      // Only the second scan needs indices; they are the dearer half of writing a cell.
      CellIndex index(node_.layout.levels, at);
      kind.ForEachCell(node_, container, first, last, [&](uint64_t number, uint8_t* cell) {
        index.MoveTo(number);
        to->AddCell(cell, index.at());
      });
    } else {  // the number alone is cheaper: whole words of bits at a time
      to->Add(kind.Count(node_, container, first, last));
    }
  }

  SparseNode& node_;
  const KilnElement* parents_;
  const bool slices_;
  const int max_threads_;
  const uint64_t containers_;
  uint64_t unit_, units_of_container_, units_, slice_, work_;
};

class Lists {
 public:
  Lists(TreeState* tree, int max_threads) : tree_(*tree), max_threads_(max_threads) {}

  std::shared_ptr<const ElementList> Get(SparseNode* node, bool slices) {
    const Executor* const executor = tree_.options.executor;
    if (executor == nullptr || executor->has_own_threads()) {
      tree_.list_lock.Lock();
    } else if (!tree_.list_lock.TryLock()) {
      // The application decides what its threads do meanwhile: the lock's holder may wait for this
      // thread, or be below on its stack.
      return Fresh(node, slices);
    }
    std::shared_ptr<const ElementList> list = Current(node, slices);
    tree_.list_lock.Unlock();
    return list;
  }

 private:
  std::shared_ptr<const ElementList> Current(SparseNode* node, bool slices) {
    // The marks are cleared before the scan. A change during the scan sets one again, and the next
    // list is new; clearing after it would lose that change.
    for (SparseNode* n = node; n != nullptr; n = n->parent) {
      // Tests before the exchange, as the writers do, so that the cache line stays shared.
      if (__atomic_load_n(&n->shared.changed, __ATOMIC_RELAXED) != 0 &&
          __atomic_exchange_n(&n->shared.changed, 0, __ATOMIC_ACQ_REL) != 0) {
        ++n->version;
      }
    }
    return UpToDate(node, slices, /*step=*/false);
  }

  // `step`: built on the way to another list.
  std::shared_ptr<const ElementList> UpToDate(SparseNode* node, bool slices, bool step) {
    CachedList& cached = node->lists[slices ? 1 : 0];
    std::vector<uint64_t> versions;
    // A cell above that appears or vanishes changes the list as much as one of the node itself.
    for (SparseNode* n = node; n != nullptr; n = n->parent) versions.push_back(n->version);
    if (cached.list != nullptr && cached.versions == versions) {
      if (!step) tree_.lists_kept.fetch_add(1, std::memory_order_relaxed);
      return cached.list;
    }
    std::shared_ptr<const ElementList> parents;
    if (node->parent != nullptr) {
      // Recursion of the depth of the tree. The parents' list stays cached: the next list of a
      // sibling starts from it.
      parents = UpToDate(node->parent, /*slices=*/false, /*step=*/true);
      if (parents == nullptr) return nullptr;
    }
    cached.list.reset();  // frees its memory for the new one
    cached.list = Make(node, slices, parents.get());
    cached.versions = std::move(versions);
    return cached.list;
  }

  // A list of its own, without the lock.
  std::shared_ptr<const ElementList> Fresh(SparseNode* node, bool slices) {
    std::shared_ptr<const ElementList> parents;
    if (node->parent != nullptr) {
      parents = Fresh(node->parent, /*slices=*/false);
      if (parents == nullptr) return nullptr;
    }
    return Make(node, slices, parents.get());
  }

  // `parents`: the cells of the sparse node above; null: the root's cell.
  std::shared_ptr<const ElementList> Make(SparseNode* node, bool slices,
                                          const ElementList* parents) {
    const KilnElement root = {tree_.root->data(), 0, 0, {}};
    Scan scan(node, parents == nullptr ? &root : parents->data(),
              parents == nullptr ? 1 : parents->size(), slices, max_threads_);
    std::shared_ptr<const ElementList> list = scan.Run(tree_.element_memory);
    tree_.lists_made.fetch_add(1, std::memory_order_relaxed);
    return list;
  }

  TreeState& tree_;
  const int max_threads_;
};

}  // namespace

std::shared_ptr<const ElementList> Tree::List(int node, bool slices, int max_threads) {
  SparseNode* sparse = state_->sparse[node].get();
  KILN_CHECK(sparse != nullptr) << "a list of SNode " << node;
  return Lists(state_.get(), max_threads).Get(sparse, slices);
}

}  // namespace kiln
