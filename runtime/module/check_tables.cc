// Checks tables of a module from a file, which may be damaged or made by others (tables.h): all
// that the readers rely on, so that they check nothing again.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "common/layout/snode_kinds.h"
#include "common/layout/tree_shape.h"
#include "runtime/kernel_info.h"
#include "runtime/module/tables.h"
#include "runtime/scalar.h"

namespace kiln {

using module::kNone;
using module::Span;
using module::Text;

namespace {

// Of a parameter or an array's element: a struct of matrices has some hundreds.
constexpr uint64_t kMostScalars = uint64_t{1} << 20;
constexpr uint32_t kMostBitsOfWord = 64;

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

// Checks every record once, so that readers need not.
class ModuleTables::Checker {
 public:
  explicit Checker(const ModuleTables& tables) : tables_(tables) {}

  Result<> Check() {
    CheckText(tables_.header_.name);
    All<module::Piece>("piece", [this](const module::Piece& one) {
      CheckText(one.text);
      CheckText(one.spec);
      Expect(one.scalar == 0 || FindScalar(one.scalar) != nullptr, "number type");
    });
    All<module::Fact>("fact", [this](const module::Fact& one) {
      CheckText(one.name);
      CheckText(one.value);
    });
    // Trees first: kernels and fields refer to their nodes.
    All<module::Tree>("tree", [this](const module::Tree& tree) { CheckTree(tree); });
    All<module::Kernel>("kernel", [this](const module::Kernel& kernel) { CheckKernel(kernel); });
    All<module::Field>("field", [this](const module::Field& field) { CheckField(field); });
    All<module::Graph>("graph", [this](const module::Graph& graph) { CheckGraph(graph); });
    CheckLast();
    if (wrong_ == nullptr) return {};
    return Error{ErrorCode::kDataLoss,
                 std::string("the module is damaged: wrong ") + wrong_ + " of " + where_};
  }

 private:
  // Stops at the first record with something wrong.
  template <typename Record, typename Visit>
  void All(const char* what, const Visit& visit) {
    for (uint32_t i = 0; wrong_ == nullptr && i < tables_.Count<Record>(); ++i) {
      where_ = std::string(what) + ' ' + std::to_string(i);
      visit(tables_.Get<Record>(i));
    }
  }
  template <typename Record, typename Visit>
  void Each(Span span, const Visit& visit) {
    CheckSpan<Record>(span);
    if (wrong_ == nullptr) tables_.ForEach<Record>(span, visit);
  }

  void Expect(bool holds, const char* what) {
    if (!holds && wrong_ == nullptr) wrong_ = what;
  }
  void Within(Span span, uint32_t count, const char* what) {
    Expect(span.first <= count && span.count <= count - span.first, what);
  }
  template <typename Record>
  void CheckSpan(Span span) {
    CheckSpan(span, Record::kTable);
  }
  // Records belong to one span each, in the spans' order: no kernel runs another one's code.
  void CheckSpan(Span span, module::TableKind kind) {
    Within(span, tables_.At(kind).count, "record span");
    uint32_t& next = next_[static_cast<size_t>(kind)];
    Expect(span.count == 0 || span.first == next, "record span");
    next += span.count;
  }
  // A kernel that lost its last task or result would do too little, or write beyond the results.
  void CheckLast() {
    if (wrong_ == nullptr) where_ = "the module";
    for (const auto kind :
         {module::TableKind::kVariants, module::TableKind::kTasks, module::TableKind::kResults}) {
      Expect(next_[static_cast<size_t>(kind)] == tables_.At(kind).count, "number of records");
    }
  }
  void CheckNumbers(Span span) {
    Within(span, tables_.At(module::TableKind::kNumbers).count, "number span");
  }
  void CheckText(Text text) {
    Within({text.offset, text.size}, tables_.At(module::TableKind::kStrings).count, "text");
  }
  // The checked name of a record, for messages.
  void CheckName(const char* what, Text name) {
    CheckText(name);
    if (wrong_ != nullptr) return;
    where_ = std::string(what) + " '" + std::string(tables_.TextOf(name)) + '\'';
  }

  // ---- Trees

  Span NodesOf(uint32_t tree) const {
    return tree < tables_.Count<module::Tree>() ? tables_.Get<module::Tree>(tree).nodes : Span{};
  }
  // Requires: the tree and its node exist.
  module::Node NodeOf(uint32_t tree, uint64_t node) const {
    return tables_.Get<module::Node>(NodesOf(tree).first + static_cast<uint32_t>(node));
  }
  static const SNodeFacts& KindOf(const module::Node& node) {
    return *FindSNodeKind(static_cast<int>(node.kind));
  }

  void CheckTree(const module::Tree& tree) {
    CheckSpan<module::Node>(tree.nodes);
    Expect(tree.nodes.count > 0, "number of nodes");
    if (wrong_ != nullptr) return;
    std::vector<int> depth(tree.nodes.count);
    std::vector<Taken> places;
    for (uint32_t i = 0; wrong_ == nullptr && i < tree.nodes.count; ++i) {
      const auto node = tables_.Get<module::Node>(tree.nodes.first + i);
      CheckText(node.name);
      Expect(i == 0 ? node.parent == kNone : node.parent < i, "node parent");
      Expect(FindSNodeKind(static_cast<int>(node.kind)) != nullptr &&
                 (KindOf(node).kind == SNodeKind::kRoot) == (i == 0),
             "node kind");
      CheckCells(node);
      if (i == 0 || wrong_ != nullptr) continue;
      depth[i] = depth[node.parent] + 1;
      Expect(depth[i] <= kMaxTreeDepth, "node depth");
      CheckNesting(tables_.Get<module::Node>(tree.nodes.first + node.parent), node, &places);
    }
    // Nodes in a cell must not overlap: what the host writes to one would be another's pointers.
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); ++i) {
      const Taken &before = places[i - 1], &after = places[i];
      Expect(before.parent != after.parent || before.end <= after.begin, "node offset");
    }
    if (wrong_ == nullptr) CheckContents(tree);
  }

  // They fill containers whose bytes are numbers alone.
  void CheckContents(const module::Tree& tree) {
    Within(tree.contents, tables_.At(module::TableKind::kBytes).count, "contents");
    bool holds_pointers = false;
    tables_.ForEach<module::Node>(
        tree.nodes, [&](const module::Node& node) { holds_pointers |= KindOf(node).is_sparse; });
    const uint64_t bytes = tables_.Get<module::Node>(tree.nodes.first).container_bytes;
    Expect(tree.contents.count <= (holds_pointers ? 0 : bytes), "contents");
  }

  // Bytes of the parent's cells that a node takes.
  struct Taken {
    uint32_t parent;
    uint64_t begin, end;
    bool operator<(const Taken& other) const {
      return std::tie(parent, begin, end) < std::tie(other.parent, other.begin, other.end);
    }
  };

  // What a node says of itself.
  void CheckCells(const module::Node& node) {
    if (wrong_ != nullptr) return;
    const SNodeFacts& kind = KindOf(node);
    CheckLevels(node, kind);
    if (wrong_ != nullptr) return;
    const auto is_size = [](uint64_t bytes) { return bytes <= kMaxTreeBytes; };
    Expect(is_size(node.cell_bytes) && is_size(node.num_cells), "cell size");
    Expect(!kind.has_mask || (node.mask_offset % 4 == 0 && is_size(node.mask_offset) &&
                              node.mask_offset / node.num_cells >= node.cell_bytes),
           "mask offset");
    Expect(is_size(node.container_bytes) &&
               node.container_bytes >=
                   ContainerBytes(kind, node.num_cells, node.cell_bytes, node.mask_offset),
           "container size");
    Expect(IsPowerOfTwo(node.alignment), "alignment");
    Expect(!kind.is_sparse || node.num_cells <= kMaxContainerCells, "number of cells");
    Expect(!kind.is_list || (node.levels.count == 1 && node.chunk_cells > 0 &&
                             node.chunk_cells <= kMaxContainerCells &&
                             node.cell_bytes <= kMaxTreeBytes / node.chunk_cells),
           "chunk size");
    Expect(std::max(node.bit_offset, node.exponent_offset) < kMostBitsOfWord, "bit offset");
  }

  // Cells are in row-major order of the axes.
  void CheckLevels(const module::Node& node, const SNodeFacts& kind) {
    CheckSpan<module::Level>(node.levels);
    Expect(kind.has_axes == (node.levels.count > 0), "node axes");
    uint64_t cells = 1;
    uint32_t below = kMaxIndices;
    for (uint32_t i = node.levels.count; wrong_ == nullptr && i-- > 0;) {
      const auto level = tables_.Get<module::Level>(node.levels.first + i);
      Expect(level.axis < below && level.extent > 0 && level.multiplier == cells &&
                 !__builtin_mul_overflow(cells, level.extent, &cells),
             "node axes");
      below = level.axis;
    }
    Expect(node.num_cells == cells, "number of cells");
  }

  void CheckNesting(const module::Node& parent, const module::Node& node,
                    std::vector<Taken>* places) {
    const SNodeFacts& above = KindOf(parent);
    const bool in_word = above.is_word();
    Expect(above.hold != CellsHold::kScalar && (!in_word || KindOf(node).is_place()),
           "node parent");
    // Numbers of a word have bits of it, and no bytes.
    if (in_word) return Expect(node.offset == 0, "node offset");
    Expect(node.offset <= parent.cell_bytes && node.offset % node.alignment == 0 &&
               node.container_bytes <= parent.cell_bytes - node.offset,
           "node offset");
    places->push_back({node.parent, node.offset, node.offset + node.container_bytes});
  }

  // ---- Kernels

  void CheckKernel(const module::Kernel& kernel) {
    CheckName("kernel", kernel.name);
    std::vector<bool> filled(CheckSlots(kernel));
    Each<module::Param>(kernel.params,
                        [&](const module::Param& param) { CheckParam(kernel, param, &filled); });
    Each<module::Binding>(kernel.bindings, [&](const module::Binding& binding) {
      CheckBinding(kernel, binding, &filled);
    });
    Expect(std::find(filled.begin(), filled.end(), false) == filled.end(), "argument slots");
    if (wrong_ == nullptr) CheckPairs(kernel);
    CheckResults(kernel);
    uint32_t below = 0;
    Each<module::Variant>(kernel.variants, [&](const module::Variant& variant) {
      Expect(variant.level > below, "code level");
      below = variant.level;
      Each<module::Task>(variant.tasks, [&](const module::Task& task) { CheckTask(kernel, task); });
    });
    Each<module::Image>(kernel.images,
                        [&](const module::Image& image) { CheckImage(kernel, image); });
    Each<module::Format>(kernel.formats,
                         [&](const module::Format& one) { CheckSpan<module::Piece>(one.pieces); });
    Each<module::Place>(kernel.places, [&](const module::Place& one) { CheckText(one.file); });
  }

  // A mark for each slot: whether something fills it.
  std::vector<bool> CheckSlots(const module::Kernel& kernel) {
    Each<module::Slot>(kernel.slots, [&](const module::Slot& slot) {
      Expect(slot.kind <= static_cast<uint32_t>(ArgumentSlot::Kind::kTree), "slot kind");
      Expect(!Is(slot, ArgumentSlot::Kind::kValue) || FindScalar(slot.scalar) != nullptr,
             "slot type");
    });
    return std::vector<bool>(wrong_ == nullptr ? kernel.slots.count : 0);
  }
  static bool Is(const module::Slot& slot, ArgumentSlot::Kind kind) {
    return slot.kind == static_cast<uint32_t>(kind);
  }
  module::Slot SlotOf(const module::Kernel& kernel, uint32_t number) const {
    return tables_.Get<module::Slot>(kernel.slots.first + number);
  }
  // Exactly one thing fills a slot.
  void Fill(uint32_t slot, std::vector<bool>* filled) {
    Expect(slot < filled->size() && !(*filled)[slot], "argument slots");
    if (wrong_ == nullptr) (*filled)[slot] = true;
  }

  // The scalars of a value; 0 for impossible ones.
  uint64_t CountOf(uint32_t scalar, Span scalars, Span shape) {
    CheckNumbers(scalars);
    CheckNumbers(shape);
    if (wrong_ != nullptr) return 0;
    uint64_t count = 1;
    if (scalars.count > 0) {
      for (const uint64_t one : tables_.Numbers(scalars)) {
        Expect(one <= kNone && FindScalar(static_cast<uint32_t>(one)) != nullptr, "type");
      }
      Expect(scalar == 0 && shape.count == 0, "type");
      count = scalars.count;
    } else {
      Expect(FindScalar(scalar) != nullptr, "type");
    }
    for (const uint64_t extent : tables_.Numbers(shape)) {
      Expect(extent > 0 && extent <= kMostScalars / count, "tensor shape");
      if (wrong_ != nullptr) return 0;
      count *= extent;
    }
    return count <= kMostScalars ? count : 0;
  }

  // Texels are vectors of at most four numbers.
  void CheckTexels(uint32_t flags, bool is_array, uint32_t scalar, module::Span shape) {
    if ((flags & (module::Param::kTexture | module::Param::kFractions)) == 0) return;
    Expect(is_array && scalar != 0 && shape.count == 1 && tables_.Number(shape.first) <= 4,
           "texels");
  }

  void CheckParam(const module::Kernel& kernel, const module::Param& param,
                  std::vector<bool>* filled) {
    CheckText(param.name);
    const bool is_array = param.kind == module::Param::kArray;
    Expect(is_array || param.kind == module::Param::kValue, "parameter kind");
    const uint64_t scalars = CountOf(param.scalar, param.scalars, param.shape);
    Expect(scalars > 0, "parameter type");
    CheckTexels(param.flags, is_array, param.scalar, param.shape);
    const uint64_t slots = is_array ? uint64_t{1} + param.rank : scalars;
    Expect(slots <= kNone, "parameter slots");
    if (wrong_ != nullptr) return;
    Within({param.first_slot, static_cast<uint32_t>(slots)}, kernel.slots.count, "parameter slots");
    for (uint32_t i = 0; wrong_ == nullptr && i < slots; ++i) {
      const module::Slot slot = SlotOf(kernel, param.first_slot + i);
      Fill(param.first_slot + i, filled);
      if (is_array) {
        Expect(Is(slot, i == 0 ? ArgumentSlot::Kind::kBase : ArgumentSlot::Kind::kExtent),
               "parameter slots");
      } else {
        const uint64_t scalar =
            param.scalars.count > 0 ? tables_.Number(param.scalars.first + i) : param.scalar;
        Expect(Is(slot, ArgumentSlot::Kind::kValue) && slot.scalar == scalar, "parameter slots");
      }
    }
  }

  void CheckResults(const module::Kernel& kernel) {
    uint64_t slots = 0;
    Each<module::Result>(kernel.results, [&](const module::Result& result) {
      const uint64_t scalars = CountOf(result.scalar, result.scalars, result.shape);
      Expect(scalars > 0, "result type");
      Expect(result.first_slot == slots, "result slots");
      slots += scalars;
    });
    Expect(slots <= kMostScalars, "result slots");
  }

  void CheckBinding(const module::Kernel& kernel, const module::Binding& binding,
                    std::vector<bool>* filled) {
    Fill(binding.slot, filled);
    if (wrong_ != nullptr) return;
    const module::Slot slot = SlotOf(kernel, binding.slot);
    if (binding.kind == module::Binding::kNumber) {
      return Expect(Is(slot, ArgumentSlot::Kind::kExtent), "binding kind");
    }
    const Span nodes = NodesOf(binding.tree);
    Expect(nodes.count > 0, "binding tree");
    CheckNumbers(binding.nodes);
    if (wrong_ != nullptr) return;
    const bool is_tree = Is(slot, ArgumentSlot::Kind::kTree);
    if (binding.kind == module::Binding::kAddress) {
      Expect(is_tree ? slot.element == 0 : Is(slot, ArgumentSlot::Kind::kBase), "binding kind");
      const uint64_t bytes = NodeOf(binding.tree, 0).container_bytes;
      Expect(binding.value <= bytes && binding.bytes <= bytes - binding.value, "binding address");
      if (wrong_ == nullptr && !is_tree) CheckArray(binding);
      return;
    }
    Expect(binding.kind == module::Binding::kNodes && is_tree && slot.element == 1, "binding kind");
    for (const uint64_t node : tables_.Numbers(binding.nodes)) {
      Expect(node < nodes.count, "binding nodes");
    }
  }

  // What a kernel uses as an array holds no pointers, lists or masks.
  void CheckArray(const module::Binding& array) {
    for (uint32_t n = 1; n < NodesOf(array.tree).count; ++n) {
      module::Node node = NodeOf(array.tree, n);
      if (!KindOf(node).is_sparse) continue;
      // What is below the root is in a container of the root's cell.
      while (node.parent != 0) node = NodeOf(array.tree, node.parent);
      Expect(array.value + array.bytes <= node.offset ||
                 array.value >= node.offset + node.container_bytes,
             "binding address");
    }
  }

  // The bindings of one field or tree fit each other: each has one that says where it is.
  void CheckPairs(const module::Kernel& kernel) {
    tables_.ForEach<module::Binding>(kernel.bindings, [&](const module::Binding& binding) {
      if (binding.kind == module::Binding::kAddress) return;
      const module::Slot slot = SlotOf(kernel, binding.slot);
      const bool is_tree = Is(slot, ArgumentSlot::Kind::kTree);
      bool fits = false;
      tables_.ForEach<module::Binding>(kernel.bindings, [&](const module::Binding& address) {
        const module::Slot of = SlotOf(kernel, address.slot);
        if (address.kind != module::Binding::kAddress || of.param != slot.param ||
            Is(of, ArgumentSlot::Kind::kTree) != is_tree) {
          return;
        }
        fits |= is_tree ? Begins(address, binding) : IsOuterExtent(address, binding.value);
      });
      Expect(fits, is_tree ? "binding nodes" : "binding number");
    });
  }

  // Whether the nodes are a part of a tree that begins at the address: nodes with those above them,
  // and what is used of the root's cell (common/layout/prune_trees.h).
  bool Begins(const module::Binding& address, const module::Binding& part) const {
    constexpr uint64_t kAlignment = 8;
    const uint64_t begin = address.value / kAlignment * kAlignment;
    if (address.tree != part.tree || begin != address.value) return false;
    std::vector<bool> listed(NodesOf(part.tree).count);
    bool is_first = false;  // something begins there
    for (const uint64_t number : tables_.Numbers(part.nodes)) {
      const module::Node node = NodeOf(part.tree, number);
      const bool is_root = node.parent == kNone;
      if (listed[number] || !(is_root || listed[node.parent])) return false;
      listed[number] = true;
      if (is_root || node.parent != 0) continue;
      if (node.offset < begin) return false;
      is_first |= node.offset - begin < kAlignment;
    }
    // The numbers in the root's cell are no nodes of a part.
    tables_.ForEach<module::Node>(NodesOf(part.tree), [&](const module::Node& node) {
      is_first |= node.parent == 0 && KindOf(node).is_place() && node.offset - begin < kAlignment;
    });
    return is_first && listed[0];
  }

  // Whether the array at the address may have so many rows: those of its outermost level, or of
  // several of one axis.
  bool IsOuterExtent(const module::Binding& address, uint64_t extent) const {
    uint64_t at = address.value, rows = 1;
    uint32_t above = 0, axis = kNone;
    for (uint32_t n = 1; n < NodesOf(address.tree).count; ++n) {
      const module::Node node = NodeOf(address.tree, n);
      // Numbers of a word are no rows.
      if (node.parent != above || at - node.offset >= node.container_bytes ||
          KindOf(node).is_word()) {
        continue;
      }
      above = n;
      at -= node.offset;
      for (uint32_t i = 0; i < node.levels.count; ++i) {
        const auto level = tables_.Get<module::Level>(node.levels.first + i);
        if (axis == kNone) axis = level.axis;
        if (axis != level.axis) return false;
        rows *= level.extent;
        if (rows == extent) return true;
      }
    }
    return rows == extent;
  }

  // The SNode of a task that lists its cells or frees their memory is a sparse one of the kernel's
  // tree.
  template <typename Task>
  void CheckTask(const module::Kernel& kernel, const Task& task) {
    const auto kind = static_cast<TaskKind>(task.kind);
    if (kind != TaskKind::kListgen && kind != TaskKind::kGc) return;
    bool found = false;
    tables_.ForEach<module::Binding>(kernel.bindings, [&](const module::Binding& binding) {
      if (binding.kind != module::Binding::kNodes || task.node >= binding.nodes.count) return;
      if (SlotOf(kernel, binding.slot).param != task.tree) return;
      const uint64_t node = tables_.Number(binding.nodes.first + task.node);
      const SNodeFacts& facts = KindOf(NodeOf(binding.tree, node));
      found |= kind == TaskKind::kGc ? facts.keeps_memory() : facts.is_sparse;
    });
    Expect(found, "task SNode");
  }

  void CheckImage(const module::Kernel& kernel, const module::Image& image) {
    // Messages name it as "sm_90".
    Expect(image.arch >= 10 && image.arch < 1000, "image device");
    Within(image.payload, tables_.At(module::TableKind::kBytes).count, "image");
    Each<module::ImageTask>(image.tasks, [&](const module::ImageTask& task) {
      CheckText(task.symbol);
      CheckTask(kernel, task);
      CheckNumbers(task.length_slots);
      if (wrong_ != nullptr) return;
      for (const uint64_t slot : tables_.Numbers(task.length_slots)) {
        Expect(slot < kernel.slots.count, "task slots");
      }
    });
  }

  // ---- Fields

  void CheckField(const module::Field& field) {
    CheckName("field", field.name);
    Expect(FindScalar(field.scalar) != nullptr, "type");
    Expect(field.tree == kNone || field.tree < tables_.Count<module::Tree>(), "tree");
    Expect(field.gradient == kNone || field.gradient < tables_.Count<module::Field>(), "gradient");
    const uint64_t scalars = CountOf(field.scalar, {}, field.element);
    Expect(scalars > 0 && scalars == field.components.count, "number of components");
    CheckNumbers(field.shape);
    if (wrong_ != nullptr) return;
    uint64_t bytes = scalars * ScalarBytesOf(field.scalar);
    for (const uint64_t extent : tables_.Numbers(field.shape)) {
      Expect(!__builtin_mul_overflow(bytes, extent, &bytes) && bytes < kMaxTreeBytes << 8, "shape");
    }
    CheckOffsets(field);
    Each<module::Component>(field.components,
                            [&](const module::Component& one) { CheckComponent(field, one); });
  }

  void CheckOffsets(const module::Field& field) {
    CheckNumbers(field.offsets);
    Expect(field.offsets.count == 0 || field.offsets.count == field.shape.count, "first indices");
    if (wrong_ != nullptr) return;
    for (const uint64_t one : tables_.Numbers(field.offsets)) {
      const auto offset = static_cast<int64_t>(one);
      Expect(offset >= -kMaxIndexOffset && offset <= kMaxIndexOffset, "first indices");
    }
  }

  void CheckComponent(const module::Field& field, const module::Component& one) {
    CheckNumbers(one.axes);
    Expect(one.place < NodesOf(one.tree).count, "component place");
    Expect(field.tree == kNone || field.tree == one.tree, "tree");
    Expect(one.axes.count == field.shape.count, "component axes");
    if (wrong_ != nullptr) return;
    const module::Node place = NodeOf(one.tree, one.place);
    Expect(KindOf(place).is_place() && place.parent != kNone, "component place");
    if (wrong_ != nullptr) return;
    const bool is_quantised = KindOf(NodeOf(one.tree, place.parent)).is_word();
    Expect(is_quantised == ((field.flags & module::Field::kQuantised) != 0), "quantised flag");
    Expect(is_quantised || place.container_bytes == ScalarBytesOf(field.scalar), "type");
    std::array<uint64_t, kMaxIndices> extents{};  // of the axes on the way to the place; 0: none
    Expect(WayTo(one, &extents) == ((field.flags & module::Field::kSparse) != 0), "sparse flag");
    for (uint32_t i = 0; wrong_ == nullptr && i < one.axes.count; ++i) {
      const uint64_t axis = tables_.Number(one.axes.first + i);
      if (axis == kNone) continue;
      Expect(axis < kMaxIndices && extents[axis] == tables_.Number(field.shape.first + i),
             "component axes");
    }
  }

  // Whether a node on the way to the place is sparse.
  bool WayTo(const module::Component& component, std::array<uint64_t, kMaxIndices>* extents) {
    bool is_sparse = false;
    for (uint32_t n = component.place; n != kNone;) {
      const module::Node node = NodeOf(component.tree, n);
      is_sparse |= KindOf(node).is_sparse;
      tables_.ForEach<module::Level>(node.levels, [&](const module::Level& level) {
        uint64_t& extent = (*extents)[level.axis];
        Expect(!__builtin_mul_overflow(std::max<uint64_t>(extent, 1), level.extent, &extent),
               "component axes");
      });
      n = node.parent;
    }
    return is_sparse;
  }

  // ---- Graphs

  void CheckGraph(const module::Graph& graph) {
    CheckName("graph", graph.name);
    Each<module::GraphArg>(graph.args, [&](const module::GraphArg& arg) {
      CheckText(arg.name);
      Expect(arg.kind == module::Param::kArray || arg.kind == module::Param::kValue,
             "argument kind");
      Expect(CountOf(arg.scalar, {}, arg.shape) > 0, "argument type");
      CheckTexels(arg.flags, arg.kind == module::Param::kArray, arg.scalar, arg.shape);
    });
    Each<module::Dispatch>(graph.dispatches, [&](const module::Dispatch& dispatch) {
      CheckNumbers(dispatch.args);
      CheckNumbers(dispatch.constants);
      Expect(dispatch.kernel < tables_.Count<module::Kernel>(), "launch kernel");
      if (wrong_ == nullptr) CheckDispatch(graph, dispatch);
    });
  }

  void CheckDispatch(const module::Graph& graph, const module::Dispatch& dispatch) {
    const auto kernel = tables_.Get<module::Kernel>(dispatch.kernel);
    Expect(dispatch.args.count == kernel.params.count, "launch arguments");
    uint64_t constants = 0;
    for (uint32_t i = 0; wrong_ == nullptr && i < dispatch.args.count; ++i) {
      const uint64_t number = tables_.Number(dispatch.args.first + i);
      const auto param = tables_.Get<module::Param>(kernel.params.first + i);
      if (number == kNone) {
        constants += CountOf(param.scalar, param.scalars, param.shape);
        // Constants are numbers: a module holds no arrays.
        Expect(param.kind == module::Param::kValue, "launch constants");
        continue;
      }
      Expect(number < graph.args.count, "launch arguments");
      if (wrong_ != nullptr) return;
      const auto arg =
          tables_.Get<module::GraphArg>(graph.args.first + static_cast<uint32_t>(number));
      Expect(arg.kind == param.kind, "launch arguments");
    }
    Expect(constants == dispatch.constants.count, "launch constants");
  }

  const ModuleTables& tables_;
  std::array<uint32_t, kKinds> next_{};  // by kind: the first record that no span has had
  const char* wrong_ = nullptr;          // the first thing that is
  std::string where_ = "the module";     // the record of it
};

Result<> ModuleTables::Check() const { return Checker(*this).Check(); }

}  // namespace kiln
