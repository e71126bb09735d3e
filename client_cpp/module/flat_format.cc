#include "client_cpp/module/flat_format.h"

#include <utility>

namespace kiln {
namespace {

class Flattener {
 public:
  explicit Flattener(const TypeTable& types) : types_(types) {}

  void Text(const std::string& text) { text_ += text; }

  void Value(TypeId type_id, const std::string& spec) {
    const Type& type = types_[type_id];
    if (!type.IsStruct()) return Tensor(type, 0, spec);
    text_ += '{';
    for (size_t i = 0; i < type.members.size(); ++i) {
      text_ += (i > 0 ? ", " : "") + type.members[i].first + ": ";
      Value(type.members[i].second, spec);
    }
    text_ += '}';
  }

  std::vector<FlatPiece> Take() {
    if (!text_.empty()) pieces_.push_back({std::move(text_), "", 0});
    return std::move(pieces_);
  }

 private:
  void Tensor(const Type& type, size_t axis, const std::string& spec) {
    if (axis == type.shape.size()) {
      pieces_.push_back({std::exchange(text_, ""), spec, static_cast<uint32_t>(type.scalar)});
      return;
    }
    text_ += '[';
    for (uint32_t i = 0; i < type.shape[axis]; ++i) {
      if (i > 0) text_ += ", ";
      Tensor(type, axis + 1, spec);
    }
    text_ += ']';
  }

  const TypeTable& types_;
  std::string text_;
  std::vector<FlatPiece> pieces_;
};

}  // namespace

std::vector<FlatPiece> FlatPiecesOf(const proto::Format& format, const TypeTable& types) {
  Flattener flattener(types);
  for (const proto::Format::Piece& piece : format.pieces()) {
    flattener.Text(piece.text());
    const TypeId type(piece.type());
    if (type && types.Has(type)) flattener.Value(type, piece.spec());
  }
  flattener.Text(format.end());
  return flattener.Take();
}

}  // namespace kiln
