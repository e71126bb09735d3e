#include "common/layout/layout.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/check_form.h"
#include "common/layout/quant_limits.h"

namespace kiln {
namespace {

// Every value of proto SNodeKind has a row, at its number.
constexpr bool HasEveryKind() {
  int number = 1;
  for (const SNodeFacts& kind : kSNodeKinds) {
    if (static_cast<int>(kind.kind) != number++) return false;
  }
  return number == proto::SNodeKind_ARRAYSIZE;
}
static_assert(HasEveryKind(), "kSNodeKinds lacks a kind of proto/layout.proto");

template <typename... Parts>
absl::Status Bad(int node, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("SNode ", node, ": ", parts...));
}

constexpr uint64_t kLine = 64, kLarge = 256;  // bytes of a cache line, of a large array

// Cannot overflow: sizes are bounded by kMaxTreeBytes at each step.
uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Lays out one tree, depth first; makes what TreeLayout holds.
class Maker {
 public:
  explicit Maker(const proto::Tree& tree) : tree_(tree), nodes_(tree.nodes_size()) {}

  absl::Status Run() {
    if (tree_.nodes_size() == 0) return absl::InvalidArgumentError("SNode tree without nodes");
    if (tree_.nodes_size() > kMaxTreeNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("SNode tree of ", tree_.nodes_size(), " nodes; at most ", kMaxTreeNodes));
    }
    if (node(0).kind() != proto::SNODE_ROOT) return Bad(0, "must be the root");
    visited_.assign(nodes_.size(), false);
    RETURN_IF_ERROR(Visit(0, 0));
    for (size_t n = 0; n < nodes_.size(); ++n) {
      // Cells of such a node would exist nowhere, but kernels could name it.
      if (!visited_[n]) return Bad(static_cast<int>(n), "has no parent");
      RETURN_IF_ERROR(CheckIndices(static_cast<int>(n)));
    }
    return absl::OkStatus();
  }

  std::vector<NodeLayout> Finish() { return std::move(nodes_); }

 private:
  const proto::SNode& node(int n) const { return tree_.nodes(n); }
  // Requires that CheckForm has passed the node.
  const SNodeFacts& kind(int n) const { return *nodes_[n].kind; }

  absl::Status Visit(int n, int depth) {
    // Bounds this recursion: a tree may come from another machine.
    if (depth > kMaxTreeDepth) return Bad(n, "nested over ", kMaxTreeDepth, " deep");
    visited_[n] = true;
    RETURN_IF_ERROR(CheckForm(n));
    RETURN_IF_ERROR(LayOutAxes(n));
    for (const uint32_t child : node(n).children()) {
      // 0 is the root, which has no parent: so the walk cannot go round.
      if (child == 0 || child >= nodes_.size()) return Bad(n, "child ", child, " does not exist");
      const int c = static_cast<int>(child);
      if (visited_[c]) return Bad(c, "is a child twice");
      // Before the child is visited: its own checks look at its parent.
      nodes_[c].parent = n;
      RETURN_IF_ERROR(CheckNesting(n, c));
      RETURN_IF_ERROR(Visit(c, depth + 1));
    }
    // After the children, whose sizes make up this node's cell.
    return kind(n).is_word() ? LayOutWord(n) : LayOutCells(n);
  }

  // What a node of its kind must and must not state.
  absl::Status CheckForm(int n) {
    const proto::SNode& s = node(n);
    nodes_[n].kind = FindSNodeKind(s.kind());
    if (nodes_[n].kind == nullptr) return Bad(n, "kind ", s.kind(), " is unknown");
    if (n != 0 && kind(n).kind == SNodeKind::kRoot) return Bad(n, "a second root");
    const absl::Status form = CheckSNodeForm(kind(n), s.axes_size(), s.chunk_size());
    if (!form.ok()) return Bad(n, form.message());
    if (kind(n).is_place()) {
      if (s.children_size() > 0) return Bad(n, "a place has no children");
      const proto::Type& type = s.type();
      if (!proto::Scalar_IsValid(type.scalar()) || type.scalar() == proto::SCALAR_NONE ||
          type.shape_size() > 0 || type.members_size() > 0) {
        return Bad(n, "a place holds one scalar");
      }
    } else if (n != 0 && s.children_size() == 0) {
      return Bad(n, "has no children");
    }
    if (kind(n).is_word()) {
      const uint32_t bits = s.physical_bits();
      if (!IsWordBits(bits)) {
        return Bad(n, "a word of ", bits, " bits; 8, 16, 32 or 64 are possible");
      }
    }
    return absl::OkStatus();
  }

  // Requires that the parent has passed CheckForm; the child's kind may be unknown.
  absl::Status CheckNesting(int parent, int child) const {
    const bool word = kind(parent).hold == CellsHold::kQuantised;
    const bool place = node(child).kind() == proto::SNODE_PLACE;
    if (word && !place) return Bad(child, "only places fit into a word of bits");
    // A quantised number has no byte of its own, and an ordinary one does not fit into bits.
    if (place && word != node(child).type().has_quant()) {
      return Bad(child, word ? "is not quantised but is in a word of bits"
                             : "is quantised but is not in a word of bits");
    }
    return absl::OkStatus();
  }

  // Mappings refer to the axes on the path, so they come last.
  absl::Status CheckIndices(int n) const {
    const proto::SNode& s = node(n);
    if (s.virtual_to_physical_size() > kMaxIndices) {
      return Bad(n, s.virtual_to_physical_size(), " indices; at most ", kMaxIndices);
    }
    std::set<int32_t> seen;
    // -1 is an index of the program that no level divides.
    for (const int32_t axis : s.virtual_to_physical()) {
      if (axis < -1 || axis >= kMaxIndices) return Bad(n, "physical axis ", axis);
      // Two indices of one axis would let a program name cells that do not exist.
      if (axis >= 0 && !seen.insert(axis).second) return Bad(n, "physical axis ", axis, " twice");
    }
    if (s.index_offset_size() > kMaxIndices) return Bad(n, "too many index offsets");
    if (s.exponent() > 0 &&
        (s.exponent() > nodes_.size() ||
         node(static_cast<int>(s.exponent() - 1)).kind() != proto::SNODE_PLACE)) {
      return Bad(n, "shared exponent ", s.exponent() - 1, " is not a place");
    }
    if (s.grad_of() > nodes_.size()) return Bad(n, "gradient of ", s.grad_of() - 1);
    return absl::OkStatus();
  }

  absl::Status LayOutAxes(int n) {
    NodeLayout& layout = nodes_[n];
    layout.chunk_cells = node(n).chunk_size();
    layout.children.assign(node(n).children().begin(), node(n).children().end());
    for (const proto::Axis& axis : node(n).axes()) {
      if (axis.axis() >= kMaxIndices) return Bad(n, "axis ", axis.axis());
      if (axis.extent() == 0) return Bad(n, "extent of zero");
      layout.levels.push_back({axis.axis(), axis.extent(), 1});
    }
    // Cells are in row-major order of the physical axes, whatever the order in which the program
    // named them.
    std::sort(layout.levels.begin(), layout.levels.end(),
              [](const auto& a, const auto& b) { return a.axis < b.axis; });
    // From the last axis, which varies fastest, so that `num_cells` is the product of the inner
    // ones.
    for (size_t i = layout.levels.size(); i-- > 0;) {
      if (i > 0 && layout.levels[i].axis == layout.levels[i - 1].axis) {
        return Bad(n, "axis ", layout.levels[i].axis, " twice");
      }
      layout.levels[i].multiplier = layout.num_cells;
      RETURN_IF_ERROR(Multiply(n, layout.levels[i].extent, &layout.num_cells));
    }
    return absl::OkStatus();
  }

  // Takes the next bits of the word for one place; a float's exponent comes before its digits.
  absl::Status TakeBits(int word, int place, uint64_t* bits) {
    const proto::SNode& s = node(place);
    const proto::QuantType& quant = s.type().quant();
    RETURN_IF_ERROR(CheckQuant(place, quant));
    NodeLayout& layout = nodes_[place];
    // The first place of those that share an exponent owns its bits; -1: none is shared.
    const int first = static_cast<int>(s.exponent()) - 1;
    if (quant.kind() != proto::QuantType::QUANT_FLOAT) {
      if (first >= 0) return Bad(place, "shares an exponent but has none");
    } else if (first < 0 || first == place) {
      layout.exponent_offset = static_cast<uint32_t>(*bits);
      *bits += quant.exponent_bits();
    } else {
      // The exponent must be laid out already, in this word, and for all sharers alike.
      if (nodes_[first].parent != word || first > place || node(first).exponent() != s.exponent() ||
          node(first).type().quant().exponent_bits() != quant.exponent_bits()) {
        return Bad(place, "shares an exponent with SNode ", first, ", whose exponent differs");
      }
      layout.exponent_offset = nodes_[first].exponent_offset;
    }
    layout.bit_offset = static_cast<uint32_t>(*bits);
    // A quant array repeats its place; a bit struct has one cell.
    *bits += quant.bits() * nodes_[word].num_cells;
    if (*bits <= node(word).physical_bits()) return absl::OkStatus();
    return Bad(word, "its places do not fit into ", node(word).physical_bits(), " bits");
  }

  static absl::Status CheckQuant(int place, const proto::QuantType& quant) {
    if (quant.bits() == 0 || quant.bits() > kMaxQuantBits) {
      return Bad(place, quant.bits(), " bits wide");
    }
    if (quant.kind() != proto::QuantType::QUANT_FLOAT) return absl::OkStatus();
    if (quant.exponent_bits() == 0 || quant.exponent_bits() > kMaxExponentBits) {
      return Bad(place, "exponent of ", quant.exponent_bits(), " bits");
    }
    return absl::OkStatus();
  }

  // One scalar word that holds all its places.
  absl::Status LayOutWord(int n) {
    NodeLayout& layout = nodes_[n];
    const proto::SNode& s = node(n);
    if (kind(n).has_axes &&
        (s.children_size() != 1 || node(static_cast<int>(s.children(0))).type().quant().kind() ==
                                       proto::QuantType::QUANT_FLOAT)) {
      return Bad(n, "a quant array holds one place, of integers or fixed-point numbers");
    }
    uint64_t bits = 0;
    for (const uint32_t c : s.children()) {
      RETURN_IF_ERROR(TakeBits(n, static_cast<int>(c), &bits));
    }
    // A word is read and written as one number, so it is aligned to its size.
    layout.container_bytes = layout.cell_bytes = layout.alignment = s.physical_bits() / 8;
    return absl::OkStatus();
  }

  absl::Status LayOutCells(int n) {
    NodeLayout& layout = nodes_[n];
    const proto::SNode& s = node(n);
    uint64_t cell = 0;
    uint64_t alignment = 1;
    if (kind(n).is_place()) {
      cell = alignment = static_cast<uint64_t>(ScalarBytes(s.type().scalar()));
    }
    const bool has_lines = HasLines(n);
    for (const uint32_t c : s.children()) {
      NodeLayout& child = nodes_[c];
      // In the order of declaration, as C lays out a struct.
      const bool is_large = child.container_bytes >= kLarge;
      child.offset = AlignUp(cell, has_lines && is_large ? kLine : child.alignment);
      cell = child.offset + child.container_bytes;
      alignment = std::max(alignment, child.alignment);
      // At each child, so that the sum cannot overflow.
      RETURN_IF_ERROR(CheckSize(n, cell));
    }
    // A multiple of the alignment, so that all cells of a container are aligned.
    layout.cell_bytes = AlignUp(cell, alignment);
    const ContainerShape container =
        ShapeOfContainer(kind(n), layout.num_cells, layout.cell_bytes, alignment);
    layout.container_bytes = container.bytes;
    layout.alignment = container.alignment;
    layout.mask_offset = container.mask_offset;
    return CheckSize(n, container.bytes);
  }

  // Whether large arrays of the root's begin cache lines: CUDA devices then access them by 16
  // bytes, wherever other fields end. Not beside sparse SNodes, since keys tell where things are
  // there.
  bool HasLines(int parent) const {
    return parent == 0 && std::none_of(nodes_.begin(), nodes_.end(), [](const NodeLayout& one) {
             return one.kind != nullptr && one.kind->is_sparse;
           });
  }

  static absl::Status CheckSize(int n, uint64_t bytes) {
    if (bytes <= kMaxTreeBytes) return absl::OkStatus();
    return Bad(n, "larger than ", kMaxTreeBytes, " bytes");
  }

  static absl::Status Multiply(int n, uint64_t factor, uint64_t* value) {
    // The largest number fails the check below, and its message is that of any size too large.
    if (__builtin_mul_overflow(*value, factor, value)) *value = ~uint64_t{0};
    return CheckSize(n, *value);
  }

  const proto::Tree& tree_;
  std::vector<NodeLayout> nodes_;
  std::vector<bool> visited_;
};

}  // namespace

absl::StatusOr<TreeLayout> TreeLayout::Make(const proto::Tree& tree) {
  Maker maker(tree);
  RETURN_IF_ERROR(maker.Run());
  TreeLayout layout;
  layout.tree_ = tree;
  layout.shape_.nodes = maker.Finish();
  return layout;
}

bool TreeLayout::IsAllDense(int node) const {
  for (; node >= 0; node = shape_[node].parent) {
    if (shape_[node].kind->is_sparse) return false;
  }
  return true;
}

// Sorted, as a field without a mapping has its axes in this order.
std::vector<uint32_t> TreeLayout::PathAxes(int node) const {
  std::set<uint32_t> axes;
  for (; node >= 0; node = shape_[node].parent) {
    for (const NodeLayout::Level& level : shape_[node].levels) axes.insert(level.axis);
  }
  return {axes.begin(), axes.end()};
}

std::vector<int32_t> TreeLayout::VirtualAxes(int node) const {
  const auto& given = tree_.nodes(node).virtual_to_physical();
  if (!given.empty()) return {given.begin(), given.end()};
  const std::vector<uint32_t> axes = PathAxes(node);
  return {axes.begin(), axes.end()};
}

}  // namespace kiln
