// The format of a module: kernels that a program exported, with what they need to run without
// compiler, daemon and source.
//
//   file     [ ELF shared object ][ trailer ]
//   object   .text            the code: each kernel at each level of processor
//            .kiln.meta       the tables below, the images of CUDA devices, and the contents of
//                             constant fields; the one exported symbol names their first byte
//
// Tables are arrays of fixed-size records, little-endian, without pointers: a program can read them
// from the file without loading it, and they need no relocations. All code addresses are distances
// from the tables' first byte, which the linker fills in.
//
// Versions. Readers accept other minor versions. A newer writer may add tables, and fields at the
// end of a record, which older readers skip by `stride`. Fields that a record of an older writer
// lacks are zero. A change of meaning is a new major version. kModuleAbi numbers what the code
// expects of the runtime (runtime/abi.h, the parts for launches). kTreeAbi numbers what it expects
// of the data of trees (the rest of abi.h, and the layout rules of common/layout/layout.h). Modules
// without trees state 0. kCudaAbi numbers what images for CUDA devices expect of both
// (runtime/cuda_abi.h). Modules without images state 0. All are counted by hand. The structs of
// abi.h grow at their ends only, so a runtime runs modules of all smaller numbers since
// kOldestModuleAbi. Readers of module ABI 2 know no images: a module that also has code for CPUs
// states 2, since they run that. One that has images alone states 3. Readers of module ABI 3 would
// make all fields zeros: a module with Tree::contents states 4.
//
// Plain, without protobuf: the runtime reads it, client_cpp/module writes it.
#ifndef KILN_COMMON_MODULE_FORMAT_H_
#define KILN_COMMON_MODULE_FORMAT_H_

#include <cstdint>

namespace kiln::module {

inline constexpr uint64_t kMagic = 0x31444f4d4e4c494b;  // "KILNMOD1"
inline constexpr uint16_t kMajor = 1;
inline constexpr uint16_t kMinor = 3;
inline constexpr uint32_t kModuleAbi = 4, kOldestModuleAbi = 1;
inline constexpr uint32_t kModuleAbiWithCpuCode = 2, kModuleAbiOfImages = 3;
inline constexpr uint32_t kTreeAbi = 1, kOldestTreeAbi = 1;
inline constexpr uint32_t kCudaAbi = 2, kOldestCudaAbi = 1;
// The symbol that a shared object exports; static ones append '_' and the module's name.
inline constexpr char kSymbol[] = "kiln_module_v1";
inline constexpr char kSection[] = ".kiln.meta";
inline constexpr uint32_t kNone = ~0u;  // in place of a record's number
// Most bytes of a module's tables and of the objects with its code: what is linked fits into a
// frame (common/wire/framing.h).
inline constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

// Which table a directory entry is about. Numbers never change their meaning.
enum class TableKind : uint32_t {
  kStrings = 1,  // bytes
  kNumbers = 2,  // uint64_t
  kKernels = 3,
  kParams = 4,
  kSlots = 5,
  kBindings = 6,
  kVariants = 7,
  kTasks = 8,
  kResults = 9,
  kFormats = 10,
  kPieces = 11,
  kPlaces = 12,
  kTrees = 13,
  kNodes = 14,
  kLevels = 15,
  kFields = 16,
  kComponents = 17,
  kGraphs = 18,
  kGraphArgs = 19,
  kDispatches = 20,
  kFacts = 21,
  kImages = 22,
  kImageTasks = 23,
  kBytes = 24,
};

// Bytes of kStrings, not terminated.
struct Text {
  uint32_t offset, size;
};

// Records first ... first + count - 1 of a table, which the field's comment names. Records belong
// to one span each, in the order of what the spans are in; numbers and bytes may be shared.
struct Span {
  uint32_t first, count;
};

struct Header {
  uint64_t magic;
  uint16_t major, minor;
  uint32_t bytes;          // of the tables, this header included
  uint32_t module_abi;     // the least that the code needs
  uint32_t tree_abi;       // likewise; 0: the module has no trees
  uint32_t tables;         // entries of the directory, which follows the header
  uint32_t cuda_abi;       // the least that the images need; 0: the module has none
  Text name;               // of the module
  uint64_t signatures[4];  // SHA-256 of what callers depend on: generated headers compare it
};
static_assert(sizeof(Header) == 72);

struct Table {
  TableKind kind;
  uint32_t offset;  // from the header; a multiple of 8
  uint32_t count;
  uint32_t stride;  // bytes from one record to the next
};

struct Kernel {
  static constexpr TableKind kTable = TableKind::kKernels;
  Text name;
  Span params;    // kParams: what callers pass
  Span slots;     // kSlots: the argument buffer
  Span bindings;  // kBindings: the slots that the module's data fill
  Span results;   // kResults
  Span variants;  // kVariants, by level, least first
  Span formats;   // kFormats, by node
  Span places;    // kPlaces, by node
  uint32_t temporary_bytes;
  // kApart: it is a derivative, whose arrays must not overlap one another.
  // Of images (below) and of code for CPUs. kTapes: of images alone.
  enum Flags : uint32_t { kDraws = 1, kPrints = 2, kCanFail = 4, kApart = 8, kTapes = 16 };
  uint32_t flags;
  Span images;  // kImages. Since minor version 1
};

// A parameter of a kernel for its callers. Structs and tensors are one parameter of several
// scalars.
struct Param {
  static constexpr TableKind kTable = TableKind::kParams;
  enum Kind : uint32_t { kValue = 1, kArray = 2 };
  Text name;
  Kind kind;
  uint32_t scalar;      // proto::Scalar; of values that are structs 0
  Span scalars;         // kNumbers: of structs, the scalar of each number
  Span shape;           // kNumbers: of a tensor, or of an array's elements
  uint32_t rank;        // of an array, without its elements' axes
  uint32_t first_slot;  // values: one slot for each number; arrays: base, then `rank` extents
  // kTexture: the array stands for a texture, and its elements for texels. kFractions: its integers
  // are fractions, of which the largest is 1. Both since minor version 2.
  enum Flags : uint32_t { kWrites = 1, kTexture = 2, kFractions = 4 };
  uint32_t flags;  // of an array
};

// A slot of the argument buffer (common/unit/argument_layout.h).
struct Slot {
  static constexpr TableKind kTable = TableKind::kSlots;
  uint32_t kind;  // proto::ArgumentSlot::Kind
  uint32_t param, element;
  uint32_t scalar;
};

// A slot that is the same in all launches of a world.
struct Binding {
  static constexpr TableKind kTable = TableKind::kBindings;
  enum Kind : uint32_t {
    kNumber = 1,   // `value`
    kAddress = 2,  // of byte `value` of the tree's root container
    kNodes = 3,    // an array of KilnNode*, by `nodes`
  };
  Kind kind;
  uint32_t slot;
  uint64_t value;
  uint32_t tree;
  Span nodes;  // kNumbers: the nodes of the tree
  // kAddress: `bytes` from there on are the kernel's; arrays must not overlap them where it writes.
  enum Flags : uint32_t { kWrites = 1 };
  uint32_t flags;
  uint64_t bytes;  // 0 for trees with sparse levels
};

struct Result {
  static constexpr TableKind kTable = TableKind::kResults;
  uint32_t scalar;  // of structs 0
  uint32_t first_slot;
  Span scalars;  // kNumbers: of structs, the scalar of each number
  Span shape;    // kNumbers
};

// A kernel's code for one level of processor.
struct Variant {
  static constexpr TableKind kTable = TableKind::kVariants;
  uint32_t level;  // of x86-64
  uint32_t reserved;
  Span tasks;  // kTasks
};

// runtime/kernel_info.h explains the fields. Code is a distance from the header; 0: none.
struct Task {
  static constexpr TableKind kTable = TableKind::kTasks;
  uint32_t kind;
  int32_t run, bounds, alone, finish;
  enum Flags : uint32_t { kConstantBounds = 1, kSlices = 2 };
  uint32_t flags;
  int64_t begin, end;
  uint32_t max_threads, cost;
  uint32_t tree, node;
  uint64_t iterations;
  uint32_t partial_bytes, reserved;
  uint64_t grain;
};

// A kernel's code for a CUDA device, beside that for CPUs.
struct Image {
  static constexpr TableKind kTable = TableKind::kImages;
  uint32_t arch;  // 90 for sm_90
  enum Flags : uint32_t { kPtxOnly = 1 };
  uint32_t flags;         // of the image
  uint32_t kernel_flags;  // Kernel::Flags, but kApart
  uint32_t temporary_bytes;
  Span tasks;    // kImageTasks
  Span payload;  // kBytes (common/artifact/cuda_payload.h). Kernels may share it.
};

// runtime/kernel_info.h explains the fields.
struct ImageTask {
  static constexpr TableKind kTable = TableKind::kImageTasks;
  uint32_t kind;
  enum Flags : uint32_t { kConstantBounds = 1, kSlices = 2, kJoined = 4, kRecurses = 8 };
  uint32_t flags;
  Text symbol;  // of the task's entry in the image
  int64_t begin, end;
  uint32_t tree, node;
  uint64_t iterations;
  uint32_t block_dim, items_per_thread;
  // The most blocks that pay, as a multiple of those that the device runs at once; 0: any number.
  uint32_t waves, reserved;
  uint64_t length_factor;
  Span length_slots;  // kNumbers
};

// The text of a print or a failed assert: its pieces, in order.
struct Format {
  static constexpr TableKind kTable = TableKind::kFormats;
  uint32_t node;
  uint32_t reserved;
  Span pieces;  // kPieces
};

// A text, then a number unless `scalar` is 0.
struct Piece {
  static constexpr TableKind kTable = TableKind::kPieces;
  Text text;
  Text spec;  // for printf, without '%'
  uint32_t scalar;
  uint32_t reserved;
};

// The source position of a node that may fail or warn.
struct Place {
  static constexpr TableKind kTable = TableKind::kPlaces;
  uint32_t node;
  uint32_t line;
  Text file;
};

// A tree of SNodes, of which each world has its own data.
struct Tree {
  static constexpr TableKind kTable = TableKind::kTrees;
  Span nodes;  // kNodes; parents come before their children
  enum Flags : uint32_t { kSparse = 1 };
  uint32_t flags;
  uint32_t reserved;
  // kBytes: of the root container of a tree without sparse levels, from its first byte; the rest is
  // zeros. Since minor version 3.
  Span contents;
};

// common/layout/tree_shape.h explains the fields.
struct Node {
  static constexpr TableKind kTable = TableKind::kNodes;
  Text name;              // in messages; "": none
  uint32_t kind, parent;  // the root's parent is kNone
  uint64_t num_cells, cell_bytes, container_bytes, alignment, offset, mask_offset;
  uint32_t chunk_cells, bit_offset, exponent_offset, reserved;
  Span levels;  // kLevels
};

struct Level {
  static constexpr TableKind kTable = TableKind::kLevels;
  uint32_t axis, reserved;
  uint64_t extent, multiplier;
};

// A field that programs may read and write by name.
struct Field {
  static constexpr TableKind kTable = TableKind::kFields;
  Text name;
  uint32_t tree;  // kNone: of several trees
  uint32_t scalar;
  Span shape;       // kNumbers
  Span element;     // kNumbers: the shape of an element
  Span offsets;     // kNumbers, as int64_t: the first index of each axis; none: zeros
  Span components;  // kComponents, in element order
  // kReordered: an element's cell does not follow from its index; kernels of the module know it.
  // Since minor version 3.
  enum Flags : uint32_t { kSparse = 1, kQuantised = 2, kReordered = 4 };
  uint32_t flags;
  uint32_t gradient;  // the field of gradients, or kNone
};

// One scalar of a field's elements.
struct Component {
  static constexpr TableKind kTable = TableKind::kComponents;
  uint32_t tree, place;  // the place is a node
  Span axes;             // kNumbers: the tree's axis of each index; kNone: none
};

// Launches in order, with names in place of arguments.
struct Graph {
  static constexpr TableKind kTable = TableKind::kGraphs;
  Text name;
  Span args;        // kGraphArgs
  Span dispatches;  // kDispatches
};

struct GraphArg {
  static constexpr TableKind kTable = TableKind::kGraphArgs;
  Text name;
  Param::Kind kind;
  uint32_t scalar;
  Span shape;  // kNumbers: of a tensor, or of an array's elements
  uint32_t rank;
  uint32_t flags;  // Param::kTexture, kFractions
};

// A launch of a graph. For each parameter of the kernel, `args` has the number of the graph's
// argument, or kNone and then the value of each of its slots in `constants`.
struct Dispatch {
  static constexpr TableKind kTable = TableKind::kDispatches;
  uint32_t kernel;
  uint32_t reserved;
  Span args;       // kNumbers
  Span constants;  // kNumbers
};

// What people and tools ask about a module: ("compiler", id), ("needs.libmvec.so.1", "GLIBC_2.22").
struct Fact {
  static constexpr TableKind kTable = TableKind::kFacts;
  Text name, value;
};

// The end of a module's file.
struct Trailer {
  uint64_t object_bytes;   // of what comes before the trailer
  uint64_t tables_offset;  // of .kiln.meta in the file
  uint64_t checksum[2];    // XXH3-128 of the object and of the 16 bytes before
  uint32_t version;        // kMajor
  uint32_t magic;          // kTrailerMagic
};
inline constexpr uint32_t kTrailerMagic = 0x4d4e4c4b;  // "KLNM"
static_assert(sizeof(Trailer) == 40);

}  // namespace kiln::module

#endif  // KILN_COMMON_MODULE_FORMAT_H_
