// Unordered bags of addresses of cells, in blocks of hundreds.
#ifndef KILN_RUNTIME_CELL_BAG_H_
#define KILN_RUNTIME_CELL_BAG_H_

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace kiln {

// Bags are joined by moving whole blocks. Blocks are stored outside of the cells, so a thread that
// still writes to a freed cell corrupts nothing.
struct CellBlock {
  CellBlock* next = nullptr;
  uint32_t begin = 0, end = 0;  // of `cells`
  uint8_t* cells[125];

  bool full() const { return end == std::size(cells); }
  uint32_t size() const { return end - begin; }
};
static_assert(sizeof(CellBlock) == 1016);

// For one thread at a time. Destroying it drops the addresses.
class CellBag {
 public:
  CellBag() = default;
  CellBag(CellBag&& other) noexcept { Swap(other); }
  CellBag& operator=(CellBag&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~CellBag() {
    while (CellBlock* block = TakeBlock()) delete block;
  }

  void Add(uint8_t* cell) {
    if (first_ == nullptr || first_->full()) AddBlock(new CellBlock);
    first_->cells[first_->end] = cell;
    ++first_->end;
  }
  // Moves all addresses of `other` into this bag.
  void Add(CellBag&& other) {
    if (other.first_ == nullptr) return;
    // Joins small bags by copying, to avoid long chains of nearly empty blocks.
    if (first_ != nullptr && first_->begin == 0 && other.first_ == other.last_ &&
        first_->end + other.first_->size() <= std::size(first_->cells)) {
      for (uint32_t i = other.first_->begin; i < other.first_->end; ++i) {
        first_->cells[first_->end++] = other.first_->cells[i];
      }
      delete other.TakeBlock();
      return;
    }
    other.last_->next = first_;
    if (first_ == nullptr) last_ = other.last_;
    first_ = other.first_;
    other.first_ = other.last_ = nullptr;
  }

  void AddBlock(CellBlock* block) {
    block->next = first_;
    if (first_ == nullptr) last_ = block;
    first_ = block;
  }
  // Takes a block, which the caller then owns; null if none is left.
  CellBlock* TakeBlock() {
    CellBlock* block = first_;
    if (block == nullptr) return nullptr;
    first_ = block->next;
    if (first_ == nullptr) last_ = nullptr;
    return block;
  }

  bool empty() const { return first_ == nullptr; }
  uint64_t size() const {
    uint64_t cells = 0;
    for (const CellBlock* block = first_; block != nullptr; block = block->next) {
      cells += block->size();
    }
    return cells;
  }
  std::vector<const CellBlock*> blocks() const {
    std::vector<const CellBlock*> all;
    for (const CellBlock* block = first_; block != nullptr; block = block->next) {
      all.push_back(block);
    }
    return all;
  }

 private:
  void Swap(CellBag& other) {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
  }

  CellBlock *first_ = nullptr, *last_ = nullptr;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CELL_BAG_H_
