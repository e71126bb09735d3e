// The kinds of SNodes and the facts of each. Code that must know what a kind is like asks this
// table: the checks, the layout, the runtime, the compiler and Python (_native.SNODES). What a kind
// does is code, in one place of each layer; docs/how_to.md lists these places.
//
// No messages: the runtime uses this header without them.
#ifndef KILN_COMMON_LAYOUT_SNODE_KINDS_H_
#define KILN_COMMON_LAYOUT_SNODE_KINDS_H_

#include <cstdint>
#include <iterator>
#include <string_view>

namespace kiln {

// The numbers are those of proto SNodeKind, which layout.cc asserts.
enum class SNodeKind : uint8_t {
  kRoot = 1,
  kDense = 2,
  kPointer = 3,
  kBitmasked = 4,
  kDynamic = 5,
  kPlace = 6,
  kBitStruct = 7,
  kQuantArray = 8,
};

// What the cells of an SNode hold. Quantised places are in words, all others are not.
enum class CellsHold : uint8_t {
  kNodes,      // SNodes and places
  kQuantised,  // quantised places
  kScalar,     // one scalar: the SNode is a place
};

// Where the cells of a container are.
enum class CellsAre : uint8_t {
  kInContainer,    // side by side in the container
  kBehindPointer,  // each in memory of its own; the container is an array of pointers to them
  kInChunks,       // in memory for `chunk_size` cells; the container is a length and a pointer
  kInWord,         // bits of the container, which is one word
};

struct SNodeFacts {
  SNodeKind kind;
  const char* name;  // in programs and messages
  CellsHold hold;
  CellsAre cells;
  bool has_axes;   // the SNode divides at least one axis
  bool is_sparse;  // a cell is active or inactive; cells of other kinds are always active
  bool has_mask;   // a bit for each cell, in 32-bit words after the cells, says that it is active
  // The first `length` cells are active. Cells are appended, and deactivated all at once. The SNode
  // divides one axis, which no SNode above it divides.
  bool is_list;

  constexpr bool is_word() const { return cells == CellsAre::kInWord; }
  constexpr bool is_place() const { return hold == CellsHold::kScalar; }
  // Whether the SNode is a node of its own in a unit (proto TreePart). Places and words are
  // components of storages.
  constexpr bool is_level() const { return hold == CellsHold::kNodes; }
  // Whether cells have memory of their own, which is allocated and collected.
  constexpr bool keeps_memory() const {
    return cells == CellsAre::kBehindPointer || cells == CellsAre::kInChunks;
  }
};

// In the order of the numbers.
inline constexpr SNodeFacts kSNodeKinds[] = {
    // kind, name, hold, cells, has_axes, is_sparse, has_mask, is_list
    {SNodeKind::kRoot, "root", CellsHold::kNodes, CellsAre::kInContainer,  //
     false, false, false, false},
    {SNodeKind::kDense, "dense", CellsHold::kNodes, CellsAre::kInContainer,  //
     true, false, false, false},
    {SNodeKind::kPointer, "pointer", CellsHold::kNodes, CellsAre::kBehindPointer,  //
     true, true, false, false},
    {SNodeKind::kBitmasked, "bitmasked", CellsHold::kNodes, CellsAre::kInContainer,  //
     true, true, true, false},
    {SNodeKind::kDynamic, "dynamic", CellsHold::kNodes, CellsAre::kInChunks,  //
     true, true, false, true},
    {SNodeKind::kPlace, "place", CellsHold::kScalar, CellsAre::kInContainer,  //
     false, false, false, false},
    {SNodeKind::kBitStruct, "bit_struct", CellsHold::kQuantised, CellsAre::kInWord,  //
     false, false, false, false},
    {SNodeKind::kQuantArray, "quant_array", CellsHold::kQuantised, CellsAre::kInWord,  //
     true, false, false, false},
};

constexpr const SNodeFacts& FactsOf(SNodeKind kind) {
  return kSNodeKinds[static_cast<int>(kind) - 1];
}

// Null for numbers and names of no kind.
constexpr const SNodeFacts* FindSNodeKind(int number) {
  return number >= 1 && number <= static_cast<int>(std::size(kSNodeKinds))
             ? &kSNodeKinds[number - 1]
             : nullptr;
}
constexpr const SNodeFacts* FindSNodeKind(std::string_view name) {
  for (const SNodeFacts& facts : kSNodeKinds) {
    if (name == facts.name) return &facts;
  }
  return nullptr;
}

// What a container is like within its parent's cell.
struct ContainerShape {
  uint64_t bytes;
  uint64_t alignment;
  uint64_t mask_offset;  // of the mask words in the container; 0 without a mask
};

// `bytes` is the largest uint64_t if it overflows.
ContainerShape ShapeOfContainer(const SNodeFacts& kind, uint64_t num_cells, uint64_t cell_bytes,
                                uint64_t cell_alignment);
// The same of a container whose mask may be further from its cells than it need be.
uint64_t ContainerBytes(const SNodeFacts& kind, uint64_t num_cells, uint64_t cell_bytes,
                        uint64_t mask_offset);

// What kernels do with the cells of SNodes.
enum class SNodeOp { kActivate, kDeactivate, kIsActive, kLength, kAppend };

// Whether SNodes of the kind have the op.
constexpr bool Accepts(const SNodeFacts& kind, SNodeOp op) {
  return op == SNodeOp::kLength || op == SNodeOp::kAppend ? kind.is_list : kind.is_sparse;
}
// Whether the op's indices name a container, not one of its cells.
constexpr bool NamesContainer(const SNodeFacts& kind, SNodeOp op) {
  return kind.is_list && op != SNodeOp::kActivate && op != SNodeOp::kIsActive;
}

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_SNODE_KINDS_H_
