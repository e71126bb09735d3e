// Trees of SNodes: fields whose cells have memory once they are written, or are in memory in
// another order than C's.
//
//   Tree tree;
//   SNode block = tree.root().pointer("ij", {64, 64});
//   TreeField<float, 2> x(block.dense("ij", {16, 16}));   // 1024 by 1024
//   x.set(1.5f, 3, 4);                                    // in the program; activates a block
//   Kernel grow("grow", [&] { ForEach(x, [&](Int i, Int j) { x(i + 1, j) += x(i, j); }); });
//
// The tree grows until a kernel or the program uses one of its fields.
#ifndef KILN_DSL_TREE_HPP_
#define KILN_DSL_TREE_HPP_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/dsl/data.hpp"
#include "kiln/dsl/error.hpp"
#include "kiln/dsl/statements.hpp"

namespace kiln::dsl {

// A level of a tree. Copies are the same SNode, and keep the tree.
class SNode {
 public:
  // Each is a new SNode below this one, whose `axes` are letters from 'i' on, with an extent for
  // each. What is wrong with it is thrown when the tree is first used.
  SNode dense(const std::string& axes, std::initializer_list<std::uint64_t> extents) const {
    return Add("dense", axes, extents, 0);
  }
  // Cells have memory once they are active.
  SNode pointer(const std::string& axes, std::initializer_list<std::uint64_t> extents) const {
    return Add("pointer", axes, extents, 0);
  }
  // All cells have memory, and a bit says which are active.
  SNode bitmasked(const std::string& axes, std::initializer_list<std::uint64_t> extents) const {
    return Add("bitmasked", axes, extents, 0);
  }
  // A list of at most `extent` cells, which kernels append; `chunk` of them get memory at once.
  SNode dynamic(const std::string& axis, std::uint64_t extent, std::uint32_t chunk = 0) const {
    return Add("dynamic", axis, {extent}, chunk);
  }

  // --- In the program; both throw Error for an SNode in a tree without sparse ones.
  std::uint64_t CountActive() const {
    std::uint64_t cells = 0;
    Check(kiln_tree_count(tree_.get(), snode_, &cells));
    return cells;
  }
  // Makes all cells inactive, with all below them.
  void DeactivateAll() const { Check(kiln_tree_deactivate(tree_.get(), snode_)); }

  // --- In kernels
  ParamId param() const { return source_of(snode_).Use(); }
  // Of an SNode or field of the same tree.
  detail::Source source_of(::kiln_snode snode) const { return detail::Source(tree_, snode); }
  // Where the index that counts the cells of a list is among those of the fields in it.
  std::size_t OwnPosition() const {
    return static_cast<std::size_t>(
        std::count_if(path_.begin(), path_.end(), [&](char axis) { return axis < own_[0]; }));
  }

  ::kiln_tree* tree() const { return tree_.get(); }
  ::kiln_snode number() const { return snode_; }

 private:
  friend class Tree;
  explicit SNode(std::shared_ptr<::kiln_tree> tree)
      : tree_(std::move(tree)), snode_(kiln_tree_root(tree_.get())) {}

  SNode Add(const char* kind, const std::string& axes, std::initializer_list<std::uint64_t> extents,
            std::uint32_t chunk) const {
    // The library reads an extent for each letter.
    if (axes.size() != extents.size() || axes.empty()) {
      throw Error(KILN_INVALID_ARGUMENT, std::string(kind) + ": axes '" + axes + "' with " +
                                             std::to_string(extents.size()) + " extents");
    }
    SNode made(tree_);
    made.snode_ = kiln_tree_add(tree_.get(), snode_, kind, axes.c_str(), extents.begin(), chunk);
    made.path_ = path_;
    for (const char axis : axes) {
      if (made.path_.find(axis) == std::string::npos) made.path_ += axis;
    }
    made.own_ = axes;
    return made;
  }

  std::shared_ptr<::kiln_tree> tree_;
  ::kiln_snode snode_;
  std::string path_, own_;  // the axes from the root to here; of this SNode
};

class Tree {
 public:
  Tree() : tree_(kiln_tree_new(), &kiln_tree_free) {
    if (tree_ == nullptr) throw Error(KILN_RESOURCE_EXHAUSTED, "no memory for a tree");
  }
  SNode root() const { return SNode(tree_); }
  // Lays the tree out and allocates its root, as its first use does. Throws Error, which names the
  // SNode that is wrong.
  void Finish() const { Check(kiln_tree_finish(tree_.get())); }

 private:
  std::shared_ptr<::kiln_tree> tree_;
};

// A field in the cells of an SNode, zeroed. N: the axes of the SNodes from the root to it. Kernels
// that use it have it among their arguments; copies share its memory. Reading a cell that is not
// active gives zeros; writing activates it.
template <typename T, std::size_t N, typename = void>
class TreeField : public Elements<T, N, TreeField<T, N>> {
 public:
  static constexpr std::size_t kAxes = N;

  explicit TreeField(const SNode& parent)
      : parent_(parent), field_(kiln_tree_field(parent.tree(), parent.number(), Facts<T>::kType)) {}
  // With a gradient in the same cells: see Field.
  TreeField(const SNode& parent, WithGradient) : parent_(parent), has_gradient_(true) {
    static_assert(std::is_floating_point_v<ScalarIn<T>>, "only fields of floats have gradients");
    field_ = kiln_tree_field_with_gradient(parent.tree(), parent.number(), Facts<T>::kType, &grad_);
  }
  // Throws Error if the field was made without one.
  TreeField grad() const {
    if (!has_gradient_) {
      throw Error(KILN_FAILED_PRECONDITION,
                  "the field has no gradient: make it as TreeField<T, N>(parent, kGrad)");
    }
    return TreeField(parent_, grad_);
  }
  const SNode& parent() const { return parent_; }

  // --- In the program. All throw Error for indices beyond the shape, for a number of axes other
  // than N, and for what is wrong with the tree.
  std::array<std::uint64_t, N> shape() const {
    std::array<std::uint64_t, N> shape{};
    Check(kiln_tree_shape(tree(), field_, shape.data(), N));
    return shape;
  }
  template <typename... Integers>
  T get(Integers... indices) const {
    static_assert(sizeof...(Integers) == N, "as many indices as axes");
    shape();
    const std::array<std::int64_t, N> at = {static_cast<std::int64_t>(indices)...};
    T element;
    Check(kiln_tree_read(tree(), field_, at.data(), &element));
    return element;
  }
  template <typename... Integers>
  void set(const T& element, Integers... indices) const {
    static_assert(sizeof...(Integers) == N, "as many indices as axes");
    shape();
    const std::array<std::int64_t, N> at = {static_cast<std::int64_t>(indices)...};
    Check(kiln_tree_write(tree(), field_, at.data(), &element));
  }
  // All elements, in C order. CopyFrom activates them.
  void CopyTo(T* elements) const { Check(kiln_tree_read_all(tree(), field_, elements)); }
  void CopyFrom(const T* elements) const { Check(kiln_tree_write_all(tree(), field_, elements)); }

  // --- In kernels: f(i, j), and
  ParamId param() const { return source().Use(); }
  detail::Source source() const { return parent_.source_of(field_); }

 private:
  TreeField(const SNode& parent, ::kiln_snode field) : parent_(parent), field_(field) {}
  ::kiln_tree* tree() const { return parent_.tree(); }

  SNode parent_;
  ::kiln_snode field_, grad_ = {};
  bool has_gradient_ = false;
};

// The cells of an SNode with N axes from the root, to loop over: ForEach(Cells<2>(block), ...).
template <std::size_t N>
class Cells {
 public:
  static constexpr std::size_t kAxes = N;
  explicit Cells(const SNode& snode) : snode_(snode) {}
  ParamId param() const { return snode_.param(); }

 private:
  SNode snode_;
};

namespace detail {

// An SNode, with the line that names it.
struct CellsOf {
  CellsOf(const SNode& of, const char* file = __builtin_FILE(),  // NOLINT: as the SNode
          int line = __builtin_LINE())
      : snode(of), place{file, line} {}
  const SNode& snode;
  Place place;
};

template <typename... Indices>
NodeNumber OnCells(const char* op, const CellsOf& cells, const Indices&... indices) {
  const Place place = cells.place;
  const std::vector<NodeNumber> nodes = {Index(indices, place.file, place.line).node...};
  Trace::Current().SetPlace(place);
  return Trace::Current().Cells(op, cells.snode.param(), nodes);
}

}  // namespace detail

// --- What kernels do with cells. Indices count cells of the SNode.

template <typename... Indices>
void Activate(detail::CellsOf snode, Indices... indices) {
  detail::OnCells("activate", snode, indices...);
}
// Of a list: all its cells, which the indices of the SNodes above name.
template <typename... Indices>
void Deactivate(detail::CellsOf snode, Indices... indices) {
  detail::OnCells("deactivate", snode, indices...);
}
template <typename... Indices>
Expr<bool> IsActive(detail::CellsOf snode, Indices... indices) {
  return Expr<bool>(detail::OnCells("is_active", snode, indices...));
}
// The number of cells of a list.
template <typename... Indices>
Expr<std::int32_t> Length(detail::CellsOf list, Indices... above) {
  return Expr<std::int32_t>(detail::OnCells("length", list, above...));
}
// Appends a cell to the list in which `field` is, and stores `value` to it. Returns the number of
// the cell, -1 if the list is full. Other fields of the cell are zero.
template <typename T, std::size_t N, typename... Indices>
Expr<std::int32_t> Append(const TreeField<T, N>& field, typename Ref<T>::Given value,
                          Indices... above) {
  static_assert(sizeof...(Indices) + 1 == N, "the indices above the list");
  const SNode& list = field.parent();
  const Place place = value.place;
  const Expr<std::int32_t> number(
      detail::OnCells("append", detail::CellsOf(list, place.file, place.line), above...));
  std::vector<NodeNumber> at = {Index(above, place.file, place.line).node...};
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(std::min(list.OwnPosition(), at.size())),
            number.node());
  field.PlaceAt(std::move(at)) = value;
  return number;
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_TREE_HPP_
