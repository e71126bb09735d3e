// What each kind of sparse SNode does with the cells of one container: the only place in the
// runtime where kinds differ. Kernels do the same through runtime/device_lib/tree.h.
//
// A kind is a class of static functions, the same in all:
//
//   Find           the cell's address; null if it is inactive (kFind; kRead: the ambient cell) or
//                  if memory is exhausted (kWrite)
//   IsActive       whether the cell is active
//   Deactivate     makes the cell inactive; false if it was (lists: all cells of the container)
//   ForEachRun     calls visit(number of the first cell, address, cells) for runs of active
//                  neighbours among the cells [begin, end), in order
//   ForEachCell    calls visit(number, address) for active cells of [begin, end), in order. Those
//                  of lists whose memory is missing get it, or are skipped if it is exhausted
//   Count          the number of cells that ForEachCell visits
//   ForEachSlice   calls add(address, begin, cells) for the slices of [begin, end) that have active
//                  cells, as KilnElement describes them
//   Scanned        the number of cells that a scan of the container looks at
//   DeactivateAll  makes the cells [begin, end) inactive, adds their memory to `taken` and calls
//                  below(cell) for active cells that stay in place; false if all were inactive
//   TakeMemory     adds the memory of all cells to `taken`, and calls below(cell) for cells without
//                  memory of their own. The container itself is going to be freed
//
// and two constants: kDivisible, whether a container can be scanned in parts, and kStep, the number
// of cells that one step of a scan looks at. Parts begin at multiples of it.
//
// Thread safety: as Tree. Private to this directory.
#ifndef KILN_RUNTIME_TREE_CONTAINERS_H_
#define KILN_RUNTIME_TREE_CONTAINERS_H_

#include <algorithm>
#include <cstdlib>

#include "runtime/device_lib/tree.h"
#include "runtime/tree/tree_node.h"

namespace kiln {

// Takes the memory out of a slot, for one of the threads that try.
inline uint8_t* TakeSlot(uint8_t** slot) {
  if (__atomic_load_n(slot, __ATOMIC_RELAXED) == nullptr) return nullptr;
  return __atomic_exchange_n(slot, nullptr, __ATOMIC_ACQ_REL);
}

// Whether a cell exists is whether its pointer is set.
struct PointerCells {
  static constexpr bool kDivisible = true;
  static constexpr uint64_t kStep = 1;

  static uint8_t* Find(SparseNode& node, uint8_t* container, uint64_t cell, CellAccess access) {
    uint8_t* found = __atomic_load_n(Slots(container) + cell, __ATOMIC_ACQUIRE);
    if (found != nullptr) return found;
    return access == CellAccess::kWrite ? Activate(node, Slots(container) + cell)
                                        : node.Absent(access);
  }
  static bool IsActive(const SparseNode&, uint8_t* container, uint64_t cell) {
    return kiln_pointer_is_active(container, cell) != 0;
  }
  static bool Deactivate(SparseNode& node, uint8_t* container, uint64_t cell) {
    uint8_t* old = TakeSlot(Slots(container) + cell);
    if (old != nullptr) node.retired.Add(old);
    return old != nullptr;
  }

  template <typename Visit>
  static void ForEachRun(SparseNode&, uint8_t* container, uint64_t begin, uint64_t end, bool,
                         const Visit& visit) {
    for (uint64_t i = begin; i < end; ++i) {
      uint8_t* cell = __atomic_load_n(Slots(container) + i, __ATOMIC_ACQUIRE);
      if (cell != nullptr) visit(i, cell, 1);
    }
  }
  template <typename Visit>
  static void ForEachCell(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                          const Visit& visit) {
    ForEachRun(node, container, begin, end, /*make=*/true,
               [&](uint64_t number, uint8_t* cell, uint64_t) { visit(number, cell); });
  }
  static uint64_t Count(SparseNode&, uint8_t* container, uint64_t begin, uint64_t end) {
    uint64_t count = 0;
    for (uint64_t i = begin; i < end; ++i) {
      if (__atomic_load_n(Slots(container) + i, __ATOMIC_RELAXED) != nullptr) ++count;
    }
    return count;
  }
  template <typename Add>
  static void ForEachSlice(SparseNode&, uint8_t* container, uint64_t begin, uint64_t end,
                           uint64_t slice, const Add& add) {
    for (; begin < end; begin += slice) {
      const uint64_t cells = std::min(slice, end - begin);
      if (HasActive(container, begin, begin + cells)) add(container, begin, cells);
    }
  }
  static uint64_t Scanned(const SparseNode& node, uint8_t*) { return node.cells; }

  template <typename Below>
  static bool DeactivateAll(SparseNode&, uint8_t* container, uint64_t begin, uint64_t end,
                            CellBag* taken, const Below&) {
    bool any = false;
    for (uint64_t i = begin; i < end; ++i) {
      if (uint8_t* cell = TakeSlot(Slots(container) + i)) {
        taken->Add(cell);
        any = true;
      }
    }
    return any;
  }
  template <typename Below>
  static void TakeMemory(SparseNode& node, uint8_t* container, CellBag* taken, const Below& below) {
    DeactivateAll(node, container, 0, node.cells, taken, below);
  }

  // The cell that *slot leads to, allocated if necessary; null if memory is exhausted.
  static uint8_t* Activate(SparseNode& node, uint8_t** slot);

 private:
  static uint8_t** Slots(uint8_t* container) { return reinterpret_cast<uint8_t**>(container); }
  static bool HasActive(uint8_t* container, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      if (__atomic_load_n(Slots(container) + i, __ATOMIC_RELAXED) != nullptr) return true;
    }
    return false;
  }
};

// Cells exist whether they are active or not, and keep their data when they are deactivated: a bit
// of the container's mask words says which are active.
struct BitmaskedCells {
  static constexpr bool kDivisible = true;
  static constexpr uint64_t kStep = 32;

  static uint8_t* Find(SparseNode& node, uint8_t* container, uint64_t cell, CellAccess access) {
    if (access == CellAccess::kWrite) {
      kiln_bitmasked_activate(&node.shared, container + node.mask_offset, cell);
    } else if (access == CellAccess::kFind && !IsActive(node, container, cell)) {
      return nullptr;
    }
    return container + cell * node.cell_bytes;
  }
  static bool IsActive(const SparseNode& node, uint8_t* container, uint64_t cell) {
    return kiln_bitmasked_is_active(container + node.mask_offset, cell) != 0;
  }
  static bool Deactivate(SparseNode& node, uint8_t* container, uint64_t cell) {
    uint32_t* word = Words(node, container) + cell / 32;
    const uint32_t bit = uint32_t{1} << (cell % 32);
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) return false;
    return (__atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL) & bit) != 0;
  }

  template <typename Visit>
  static void ForEachRun(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end, bool,
                         const Visit& visit) {
    for (uint64_t w = begin / 32; w * 32 < end; ++w) {
      uint32_t bits = __atomic_load_n(Words(node, container) + w, __ATOMIC_ACQUIRE);
      while (bits != 0) {
        const uint64_t first = w * 32 + __builtin_ctz(bits);
        const uint64_t count = __builtin_ctzll(~(uint64_t{bits} >> (first % 32)));
        visit(first, container + first * node.cell_bytes, count);
        bits &= bits + (bits & -bits);  // the carry clears the lowest run of ones
      }
    }
  }
  template <typename Visit>
  static void ForEachCell(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                          const Visit& visit) {
    for (uint64_t w = begin / 32; w * 32 < end; ++w) {
      for (uint32_t bits = __atomic_load_n(Words(node, container) + w, __ATOMIC_ACQUIRE); bits != 0;
           bits &= bits - 1) {
        const uint64_t i = w * 32 + __builtin_ctz(bits);
        visit(i, container + i * node.cell_bytes);
      }
    }
  }
  static uint64_t Count(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end) {
    uint64_t count = 0;
    for (uint64_t w = begin / 32; w * 32 < end; ++w) {
      count += __builtin_popcount(__atomic_load_n(Words(node, container) + w, __ATOMIC_RELAXED));
    }
    return count;
  }
  template <typename Add>
  static void ForEachSlice(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                           uint64_t slice, const Add& add) {
    for (; begin < end; begin += slice) {
      const uint64_t cells = std::min(slice, end - begin);
      if (HasActive(node, container, begin, begin + cells)) add(container, begin, cells);
    }
  }
  static uint64_t Scanned(const SparseNode& node, uint8_t*) { return node.cells; }

  // The contents of active cells are removed before their bits are cleared.
  template <typename Below>
  static bool DeactivateAll(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                            CellBag*, const Below& below) {
    bool any = false;
    for (uint64_t w = begin / 32; w * 32 < end; ++w) {
      uint32_t* word = Words(node, container) + w;
      const uint32_t set = __atomic_load_n(word, __ATOMIC_ACQUIRE);
      if (set == 0) continue;
      any = true;
      for (uint32_t bits = node.nested.empty() ? 0 : set; bits != 0; bits &= bits - 1) {
        below(container + (w * 32 + __builtin_ctz(bits)) * node.cell_bytes);
      }
      __atomic_fetch_and(word, ~set, __ATOMIC_ACQ_REL);
    }
    return any;
  }
  // Inactive cells may hold memory, too.
  template <typename Below>
  static void TakeMemory(SparseNode& node, uint8_t* container, CellBag*, const Below& below) {
    for (uint64_t i = 0; i < node.cells; ++i) below(container + i * node.cell_bytes);
  }

 private:
  static uint32_t* Words(const SparseNode& node, uint8_t* container) {
    return reinterpret_cast<uint32_t*>(container + node.mask_offset);
  }
  static bool HasActive(const SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end) {
    for (uint64_t w = begin / 32; w * 32 < end; ++w) {
      if (__atomic_load_n(Words(node, container) + w, __ATOMIC_RELAXED) != 0) return true;
    }
    return false;
  }
};

// The first `length` cells are active. They are in chunks: the container leads to the only chunk
// or, if there are several, to a directory of them. Chunks are allocated when first written to, so
// an active cell's chunk may be missing.
struct DynamicCells {
  static constexpr bool kDivisible = false;  // parts of it would depend on its length
  static constexpr uint64_t kStep = 1;

  static uint8_t* Find(SparseNode& node, uint8_t* container, uint64_t cell, CellAccess access);
  static bool IsActive(const SparseNode&, uint8_t* container, uint64_t cell) {
    return kiln_dynamic_is_active(container, cell) != 0;
  }
  static bool Deactivate(SparseNode& node, uint8_t* container, uint64_t cell);

  // Loops may write to all active cells. If `make` is set, missing chunks are therefore allocated,
  // and skipped if memory is exhausted; if not, their cells have no address.
  template <typename Visit>
  static void ForEachRun(SparseNode& node, uint8_t* container, uint64_t, uint64_t, bool make,
                         const Visit& visit) {
    const uint64_t length = Length(node, container);
    for (uint64_t first = 0; first < length; first += node.memory_cells) {
      uint8_t* chunk = Chunk(node, container, first);
      if (chunk == nullptr && make) {
        chunk = ActivateChunk(node, container, first / node.memory_cells);
        if (chunk == nullptr) continue;
      }
      visit(first, chunk, std::min(node.memory_cells, length - first));
    }
  }
  template <typename Visit>
  static void ForEachCell(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                          const Visit& visit) {
    ForEachRun(node, container, begin, end, /*make=*/true,
               [&](uint64_t first, uint8_t* chunk, uint64_t count) {
                 for (uint64_t i = 0; i < count; ++i) visit(first + i, chunk + i * node.cell_bytes);
               });
  }
  static uint64_t Count(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end) {
    uint64_t count = 0;
    ForEachRun(node, container, begin, end, /*make=*/true,
               [&](uint64_t, uint8_t*, uint64_t cells) { count += cells; });
    return count;
  }
  template <typename Add>
  static void ForEachSlice(SparseNode& node, uint8_t* container, uint64_t begin, uint64_t end,
                           uint64_t slice, const Add& add) {
    ForEachRun(node, container, begin, end, /*make=*/true,
               [&](uint64_t first, uint8_t* chunk, uint64_t count) {
                 for (uint64_t i = 0; i < count; i += slice) {
                   add(chunk + i * node.cell_bytes, first + i, std::min(slice, count - i));
                 }
               });
  }
  static uint64_t Scanned(const SparseNode& node, uint8_t* container) {
    return Length(node, container);
  }

  template <typename Below>
  static bool DeactivateAll(SparseNode&, uint8_t* container, uint64_t, uint64_t, CellBag* taken,
                            const Below&) {
    auto* list = reinterpret_cast<KilnList*>(container);
    const bool any = __atomic_load_n(&list->length, __ATOMIC_RELAXED) != 0;
    if (any) __atomic_store_n(&list->length, 0, __ATOMIC_RELEASE);
    uint8_t* memory = TakeSlot(&list->memory);
    if (memory != nullptr) taken->Add(memory);
    return any || memory != nullptr;
  }
  // The only chunk, or the directory.
  template <typename Below>
  static void TakeMemory(SparseNode&, uint8_t* container, CellBag* taken, const Below&) {
    uint8_t* memory = TakeSlot(&reinterpret_cast<KilnList*>(container)->memory);
    if (memory != nullptr) taken->Add(memory);
  }

  // The number of cells that `container` holds now, at most `cells`.
  static uint64_t Length(const SparseNode& node, uint8_t* container);
  // The chunk that holds `cell`; null if there is none.
  static uint8_t* Chunk(const SparseNode& node, uint8_t* container, uint64_t cell);
  // Allocates the chunk if it is missing; null if memory is exhausted.
  static uint8_t* ActivateChunk(SparseNode& node, uint8_t* container, uint64_t chunk);
  // Returns the number of the next cell, and its address; null if memory is exhausted, -1 if the
  // container is full.
  static int32_t Append(SparseNode& node, uint8_t* container, uint8_t** cell);

 private:
  // Activates at least the first `length` cells.
  static void RaiseLength(SparseNode& node, uint8_t* container, uint64_t length);
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

// Calls `visit` with the class of the node's kind. A kind without a case does not build.
template <typename Visit>
auto WithKind(const SparseNode& node, const Visit& visit) {
  switch (node.kind.kind) {
    case SNodeKind::kPointer:
      return visit(PointerCells());
    case SNodeKind::kBitmasked:
      return visit(BitmaskedCells());
    case SNodeKind::kDynamic:
      return visit(DynamicCells());
    case SNodeKind::kRoot:
    case SNodeKind::kDense:
    case SNodeKind::kPlace:
    case SNodeKind::kBitStruct:
    case SNodeKind::kQuantArray:
      break;  // not sparse
  }
  std::abort();
}

#pragma GCC diagnostic pop

}  // namespace kiln

#endif  // KILN_RUNTIME_TREE_CONTAINERS_H_
