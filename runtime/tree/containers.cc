#include "runtime/tree/containers.h"

namespace kiln {
namespace {

KilnList* List(uint8_t* container) { return reinterpret_cast<KilnList*>(container); }

}  // namespace

// ---- PointerCells

uint8_t* PointerCells::Activate(SparseNode& node, uint8_t** slot) {
  // An ancestor could not be activated. A cell made here would be reachable through the dump, which
  // no list and no collection visits, and would leak.
  if (node.InParentDump(static_cast<const void*>(slot))) return node.shared.dump;
  uint8_t* cell = node.Fill(slot, node.memory.get());
  if (cell != nullptr) node.SetChanged();
  return cell;
}

// ---- DynamicCells

uint64_t DynamicCells::Length(const SparseNode& node, uint8_t* container) {
  return std::min<uint64_t>(__atomic_load_n(&List(container)->length, __ATOMIC_ACQUIRE),
                            node.cells);
}

uint8_t* DynamicCells::Chunk(const SparseNode& node, uint8_t* container, uint64_t cell) {
  uint8_t* memory = __atomic_load_n(&List(container)->memory, __ATOMIC_ACQUIRE);
  if (memory == nullptr || node.directories == nullptr) return memory;
  return __atomic_load_n(reinterpret_cast<uint8_t**>(memory) + cell / node.memory_cells,
                         __ATOMIC_ACQUIRE);
}

uint8_t* DynamicCells::ActivateChunk(SparseNode& node, uint8_t* container, uint64_t chunk) {
  if (node.InParentDump(container)) return node.shared.dump;
  uint8_t** slot = &List(container)->memory;
  if (node.directories != nullptr) {
    // Directory and chunk are each published by one exchange, so a thread sees neither or a
    // complete one.
    uint8_t* directory = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (directory == nullptr) directory = node.Fill(slot, node.directories.get());
    if (directory == nullptr) return nullptr;
    slot = reinterpret_cast<uint8_t**>(directory) + chunk;
  }
  uint8_t* made = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (made == nullptr) made = node.Fill(slot, node.memory.get());
  if (made != nullptr) node.SetChanged();
  return made;
}

void DynamicCells::RaiseLength(SparseNode& node, uint8_t* container, uint64_t length) {
  uint32_t now = __atomic_load_n(&List(container)->length, __ATOMIC_RELAXED);
  // Never lowers: another thread may have appended beyond. Cells below the length count as active.
  if (length <= now) return;
  while (now < length &&
         !__atomic_compare_exchange_n(&List(container)->length, &now, static_cast<uint32_t>(length),
                                      /*weak=*/true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  node.SetChanged();
}

uint8_t* DynamicCells::Find(SparseNode& node, uint8_t* container, uint64_t cell,
                            CellAccess access) {
  const bool write = access == CellAccess::kWrite;
  if (!write && cell >= Length(node, container)) return node.Absent(access);
  uint8_t* chunk = Chunk(node, container, cell);
  if (chunk == nullptr && write) chunk = ActivateChunk(node, container, cell / node.memory_cells);
  if (chunk == nullptr) return write ? nullptr : node.Absent(access);
  // After the chunk exists: a failed write must not leave an active cell behind.
  if (write) RaiseLength(node, container, cell + 1);
  return chunk + cell % node.memory_cells * node.cell_bytes;
}

bool DynamicCells::Deactivate(SparseNode& node, uint8_t* container, uint64_t) {
  KilnList* list = List(container);
  if (__atomic_load_n(&list->length, __ATOMIC_RELAXED) == 0 &&
      __atomic_load_n(&list->memory, __ATOMIC_RELAXED) == nullptr) {
    return false;
  }
  // The length first, so that a reader in between sees an empty list and not cells without memory.
  __atomic_store_n(&list->length, 0, __ATOMIC_RELEASE);
  uint8_t* old = __atomic_exchange_n(&list->memory, nullptr, __ATOMIC_ACQ_REL);
  if (old != nullptr) node.retired.Add(old);
  return true;
}

int32_t DynamicCells::Append(SparseNode& node, uint8_t* container, uint8_t** cell) {
  uint32_t number = __atomic_load_n(&List(container)->length, __ATOMIC_RELAXED);
  // Allocates the chunk first, so that a failure has no effect. A thread that takes the number in
  // between leaves the next one for us.
  for (;;) {
    *cell = nullptr;
    if (number >= node.cells) return -1;
    const uint64_t chunk = number / node.memory_cells;
    uint8_t* memory = ActivateChunk(node, container, chunk);
    if (memory == nullptr) return 0;
    *cell = memory + (number - chunk * node.memory_cells) * node.cell_bytes;
    if (__atomic_compare_exchange_n(&List(container)->length, &number, number + 1, /*weak=*/false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      node.SetChanged();
      return static_cast<int32_t>(number);
    }
  }
}

}  // namespace kiln
