// TreeLayout::DescribeDense: the descriptor of a field all of whose ancestors are
// dense, from the layout of its tree.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/layout.h"

namespace kiln {
namespace {

// The digits of the path to one node's cells, and the offset of the first cell.
struct Chain {
  int cell;             // the node (dense or root) whose cells hold the places
  uint64_t offset = 0;  // of the cell at all indices 0, from the root
  std::vector<proto::Digit> digits;
};

// Physical axis -> index of the field; -1: the field does not use it.
std::vector<int> InverseAxes(const std::vector<int32_t>& virtual_axes) {
  std::vector<int> inverse(kMaxIndices, -1);
  for (size_t i = 0; i < virtual_axes.size(); ++i) {
    if (virtual_axes[i] >= 0) inverse[virtual_axes[i]] = static_cast<int>(i);
  }
  return inverse;
}

absl::StatusOr<Chain> DescribeChain(const TreeLayout& layout, int cell,
                                    const std::vector<int>& index_of_axis) {
  std::vector<int> path;
  for (int node = cell; node >= 0; node = layout[node].parent) path.push_back(node);
  Chain chain;
  chain.cell = cell;
  // From the root inwards: digits are outermost first.
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    chain.offset += layout[*node].offset;
    for (const NodeLayout::Level& level : layout[*node].levels) {
      const int index = index_of_axis[level.axis];
      if (index < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", level.axis, " of SNode ", *node, " has no index in the field"));
      }
      proto::Digit digit;
      digit.set_axis(static_cast<uint32_t>(index));
      digit.set_extent(level.extent);
      digit.set_stride(level.multiplier * layout[*node].cell_bytes);
      chain.digits.push_back(digit);
    }
  }
  return chain;
}

bool SameDigits(const Chain& a, const Chain& b) {
  return std::equal(a.digits.begin(), a.digits.end(), b.digits.begin(), b.digits.end(),
                    [](const proto::Digit& x, const proto::Digit& y) {
                      return x.axis() == y.axis() && x.extent() == y.extent();
                    });
}

// Joins two neighbouring digits of one axis if, in every chain, one step of the outer digit is as
// long as the whole range of the inner one.
void MergeDigits(std::vector<Chain>* chains) {
  // From the inside outwards, so that a merged digit can merge again. Fewer digits mean fewer
  // divisions in kernels, and plain fields get one digit for each axis.
  for (size_t i = chains->front().digits.size(); i-- > 1;) {
    // In all chains or in none: the components of an element share one set of digits.
    const bool merge = std::all_of(chains->begin(), chains->end(), [i](const Chain& chain) {
      const proto::Digit& outer = chain.digits[i - 1];
      const proto::Digit& inner = chain.digits[i];
      return outer.axis() == inner.axis() && outer.stride() == inner.extent() * inner.stride();
    });
    if (!merge) continue;
    for (Chain& chain : *chains) {
      proto::Digit& outer = chain.digits[i - 1];
      const proto::Digit& inner = chain.digits[i];
      outer.set_extent(outer.extent() * inner.extent());
      outer.set_stride(inner.stride());
      chain.digits.erase(chain.digits.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

bool SameStrides(const Chain& a, const Chain& b) {
  return std::equal(a.digits.begin(), a.digits.end(), b.digits.begin(), b.digits.end(),
                    [](const auto& x, const auto& y) { return x.stride() == y.stride(); });
}

// The bases of a field: one for each node whose cells hold components.
struct Bases {
  std::vector<Chain> chains;
  std::vector<uint64_t> first_bit;                        // of the components in each cell
  std::vector<std::pair<uint32_t, uint64_t>> components;  // base, bit in its cell
};

absl::StatusOr<Bases> BasesOf(const TreeLayout& layout, const std::vector<int>& places) {
  Bases bases;
  for (const int place : places) {
    const auto [cell, offset] = layout.shape().CellOf(place);
    auto chain = std::find_if(bases.chains.begin(), bases.chains.end(),
                              [cell = cell](const Chain& c) { return c.cell == cell; });
    const auto base = static_cast<uint32_t>(chain - bases.chains.begin());
    if (chain == bases.chains.end()) {
      ASSIGN_OR_RETURN(Chain made,
                       DescribeChain(layout, cell, InverseAxes(layout.VirtualAxes(place))));
      if (!bases.chains.empty() && !SameDigits(bases.chains[0], made)) {
        return absl::InvalidArgumentError(
            "components of one field are in arrays of different shapes");
      }
      bases.chains.push_back(std::move(made));
      // Larger than any offset; the minimum below replaces it.
      bases.first_bit.push_back(~uint64_t{0});
    }
    bases.components.emplace_back(base, 8 * offset);
    bases.first_bit[base] = std::min(bases.first_bit[base], 8 * offset);
  }
  MergeDigits(&bases.chains);
  return bases;
}

void WriteBases(const Bases& bases, proto::DenseStorage* dense) {
  const std::vector<Chain>& chains = bases.chains;
  dense->set_num_bases(static_cast<uint32_t>(chains.size()));
  dense->mutable_digits()->Assign(chains[0].digits.begin(), chains[0].digits.end());
  // Strides of each base only if they differ: the usual field has one set, and a shorter key.
  if (!std::all_of(chains.begin(), chains.end(),
                   [&](const Chain& c) { return SameStrides(c, chains[0]); })) {
    for (const Chain& chain : chains) {
      proto::Strides* strides = dense->add_base_strides();
      for (const proto::Digit& digit : chain.digits) strides->add_stride(digit.stride());
    }
  }
  for (const auto& [base, bit] : bases.components) {
    proto::Component* component = dense->add_components();
    component->set_base(base);
    component->set_bit_offset(bit - bases.first_bit[base]);
  }
}

// Checks that quantised places are in one word, whose axes all have an index in the field.
absl::Status CheckWordOf(const TreeLayout& layout, const std::vector<int>& places,
                         const std::vector<int>& index_of_axis) {
  const int word = layout[places[0]].parent;
  for (const int place : places) {
    if (layout[place].parent != word) {
      return absl::InvalidArgumentError("components of one quantised field are in several words");
    }
  }
  for (const NodeLayout::Level& level : layout[word].levels) {
    if (index_of_axis[level.axis] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", level.axis, " of the quant array has no index in the field"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

proto::Word TreeLayout::DescribeWord(const std::vector<int>& places,
                                     const std::vector<int>& inverse_axes) const {
  proto::Word word;
  const int parent = shape_[places[0]].parent;
  const proto::SNode& container = tree_.nodes(parent);
  word.set_bits(container.physical_bits());
  const auto describe = [&](int place, proto::QuantNumber* number) {
    *number->mutable_quant() = tree_.nodes(place).type().quant();
    number->set_bit_offset(shape_[place].bit_offset);
    number->set_exponent_offset(shape_[place].exponent_offset);
    number->set_shared_exponent(tree_.nodes(place).exponent() > 0);
  };
  for (const int place : places) describe(place, word.add_components());
  for (const uint32_t sibling : container.children()) {
    const uint32_t exponent = tree_.nodes(static_cast<int>(sibling)).exponent();
    const bool shares = exponent > 0 && std::any_of(places.begin(), places.end(), [&](int place) {
                          return tree_.nodes(place).exponent() == exponent;
                        });
    // A store to one number changes the exponent that the others have too, so all of them are
    // rewritten.
    if (shares) describe(static_cast<int>(sibling), word.add_sharers());
  }
  for (const NodeLayout::Level& level : shape_[parent].levels) {
    proto::Digit* digit = word.add_digits();
    digit->set_axis(static_cast<uint32_t>(inverse_axes[level.axis]));
    digit->set_extent(level.extent);
    digit->set_stride(level.multiplier * word.components(0).quant().bits());
  }
  return word;
}

absl::StatusOr<TreeLayout::DenseField> TreeLayout::DescribeDense(const std::vector<int>& places,
                                                                 const proto::Type& element) const {
  uint64_t elements = 1;
  for (const uint32_t extent : element.shape()) elements *= extent;
  if (places.empty() || places.size() != elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an element of ", elements, " scalars takes as many places, not ", places.size()));
  }
  for (const int place : places) {
    if (place <= 0 || place >= tree_.nodes_size() || !shape_[place].kind->is_place() ||
        !IsAllDense(place)) {
      return absl::InvalidArgumentError(absl::StrCat("SNode ", place, " is not a dense place"));
    }
  }
  const std::vector<int32_t> virtual_axes = VirtualAxes(places[0]);
  ASSIGN_OR_RETURN(const Bases bases, BasesOf(*this, places));

  DenseField field;
  *field.storage.mutable_element() = element;
  proto::DenseStorage* dense = field.storage.mutable_dense();
  dense->set_num_axes(static_cast<uint32_t>(virtual_axes.size()));
  WriteBases(bases, dense);
  for (size_t b = 0; b < bases.chains.size(); ++b) {
    // The base points to the first component, so that fields at other places of a cell share their
    // kernels.
    field.base_offsets.push_back(bases.chains[b].offset + bases.first_bit[b] / 8);
  }
  if (tree_.nodes(places[0]).type().has_quant()) {
    const std::vector<int> index_of_axis = InverseAxes(virtual_axes);
    RETURN_IF_ERROR(CheckWordOf(*this, places, index_of_axis));
    *field.storage.mutable_word() = DescribeWord(places, index_of_axis);
  }
  const auto& offsets = tree_.nodes(places[0]).index_offset();
  if (std::any_of(offsets.begin(), offsets.end(), [](int64_t o) { return o != 0; })) {
    if (offsets.size() != static_cast<int>(virtual_axes.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(offsets.size(), " index offsets for ", virtual_axes.size(), " indices"));
    }
    *dense->mutable_index_offset() = offsets;
  }
  for (const int32_t axis : virtual_axes) {
    field.shape.push_back(axis < 0 ? 1 : AxisExtent(places[0], static_cast<uint32_t>(axis)));
  }
  field.outer_extent = 1;
  if (dense->digits_size() > 0) {
    // The outermost extent is an argument of the launch: fields that differ in it only share their
    // kernels.
    field.outer_extent = dense->digits(0).extent();
    dense->mutable_digits(0)->set_extent(0);
  }
  return field;
}

}  // namespace kiln
