#include "client_cpp/dsl/trace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client_cpp/dsl/trace_state.h"
#include "common/base/check.h"
#include "common/language/op_table.h"

namespace kiln::dsl {

namespace {

thread_local Trace* current = nullptr;

proto::Scalar ScalarOf(SlotScalar scalar) { return static_cast<proto::Scalar>(scalar); }

proto::Op OpNamed(absl::string_view name) {
  static const auto* const ops = [] {
    auto* made = new std::map<absl::string_view, proto::Op>;
    for (int op = 0; op < proto::Op_ARRAYSIZE; ++op) {
      if (const OpInfo* info = FindOp(op); info != nullptr) (*made)[info->spelling] = info->op;
    }
    return made;
  }();
  const auto found = ops->find(name);
  KILN_CHECK(found != ops->end());
  return found->second;
}

// The text of the message around the values, whose {} they replace.
absl::StatusOr<proto::Format> FormatOf(const std::string& text, const KernelBuilder& builder,
                                       const std::vector<NodeNumber>& values) {
  const std::vector<std::string> texts = absl::StrSplit(text, "{}");
  if (texts.size() != values.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat("the text '", text, "' has ", texts.size() - 1,
                                                   " {} for ", values.size(), " values"));
  }
  proto::Format format;
  for (size_t i = 0; i < texts.size(); ++i) {
    proto::Format::Piece* piece = format.add_pieces();
    piece->set_text(texts[i]);
    if (i < values.size()) piece->set_type(builder.TypeOf(values[i]).number());
  }
  return format;
}

}  // namespace

TypeId Trace::Impl::TypeFor(ValueType type) {
  std::vector<uint32_t> shape;
  if (type.rows > 0) shape.push_back(type.rows);
  if (type.columns > 0) shape.push_back(type.columns);
  return shape.empty() ? builder.ScalarType(ScalarOf(type.scalar))
                       : builder.types().GetTensor(ScalarOf(type.scalar), shape);
}

void Trace::Impl::Fail(const absl::Status& status) {
  if (status.ok() || failed()) return;
  failure.code = static_cast<int>(status.code());
  failure.text = std::string(status.message());
  if (place.file != nullptr) {
    failure.text = absl::StrCat(place.file, ":", place.line, ": ", failure.text);
  }
}

Trace& Trace::Current() {
  KILN_CHECK(current != nullptr);
  return *current;
}

Trace::Trace() : impl_(std::make_unique<Impl>()), outer_(current) { current = this; }
Trace::~Trace() { current = outer_; }

void Trace::SetPlace(Place place) {
  impl_->place = place;
  const auto [file, is_new] = impl_->files.try_emplace(place.file, 0);
  if (is_new) file->second = impl_->builder.AddFile(place.file);
  proto::Span span;
  span.set_file(file->second);
  span.set_line(static_cast<uint32_t>(place.line));
  span.set_end_line(static_cast<uint32_t>(place.line));
  impl_->builder.SetSpan(impl_->builder.AddSpan(span));
}

// --- Parameters

ParamId Trace::AddValue(ValueType type) {
  return impl_->builder.AddValueParam(impl_->TypeFor(type));
}

ParamId Trace::AddArray(ValueType element, int axes) {
  proto::Storage storage = ArrayStorage(ScalarOf(element.scalar), axes);
  for (uint32_t extent : {element.rows, element.columns}) {
    if (extent > 0) storage.mutable_element()->add_shape(extent);
  }
  storage.set_alias_set(1);  // arguments may overlap, as in Python
  return impl_->builder.AddStorageParam(storage);
}

ParamId Trace::UseField(const std::shared_ptr<DenseField>& field) {
  for (const auto& [used, param] : impl_->fields) {
    if (used == field) return param;
  }
  const ParamId param = impl_->builder.AddStorageParam(field->storage());
  impl_->fields.emplace_back(field, param);
  return param;
}

// --- Values

NodeNumber Trace::Float(double value, SlotScalar scalar) {
  return impl_->builder.ConstFloat(value, ScalarOf(scalar));
}

NodeNumber Trace::Integer(int64_t value, SlotScalar scalar) {
  if (scalar == SlotScalar::kU1) return impl_->builder.ConstBool(value != 0);
  return impl_->builder.ConstInt(value, ScalarOf(scalar));
}

NodeNumber Trace::Param(ParamId param) {
  return impl_->Try([&] { return impl_->builder.Param(param); });
}

NodeNumber Trace::Unary(const char* op, NodeNumber x, ValueType result) {
  return Cast(impl_->Try([&] { return impl_->builder.Unary(OpNamed(op), x); }), result);
}

NodeNumber Trace::Binary(const char* op, NodeNumber a, NodeNumber b, ValueType result) {
  return Cast(impl_->Try([&] { return impl_->builder.Binary(OpNamed(op), a, b); }), result);
}

NodeNumber Trace::Select(NodeNumber condition, NodeNumber a, NodeNumber b, ValueType result) {
  return Cast(impl_->Try([&] { return impl_->builder.Ternary(proto::OP_SELECT, condition, a, b); }),
              result);
}

NodeNumber Trace::Cast(NodeNumber x, ValueType to) {
  return impl_->Try([&] { return impl_->builder.Cast(x, impl_->TypeFor(to)); });
}

NodeNumber Trace::Tensor(const std::vector<NodeNumber>& elements, ValueType type) {
  std::vector<uint32_t> shape = {type.rows};
  if (type.columns > 0) shape.push_back(type.columns);
  return Cast(impl_->Try([&] { return impl_->builder.MakeTensor(elements, shape); }), type);
}

NodeNumber Trace::Extract(NodeNumber tensor, const std::vector<NodeNumber>& indices) {
  return impl_->Try([&] { return impl_->builder.Extract(tensor, indices); });
}

NodeNumber Trace::Random(SlotScalar scalar) {
  return impl_->builder.Random(impl_->TypeFor({scalar}));
}

NodeNumber Trace::Shape(ParamId storage, int axis) {
  return impl_->Try([&] { return impl_->builder.Shape(storage, axis); });
}

// --- Memory

NodeNumber Trace::Local(NodeNumber init, ValueType type) {
  return impl_->Try([&] { return impl_->builder.Local(impl_->TypeFor(type), init); });
}

NodeNumber Trace::Global(ParamId storage, const std::vector<NodeNumber>& indices) {
  return impl_->Try([&] { return impl_->builder.Global(storage, indices); });
}

NodeNumber Trace::Element(NodeNumber address, const std::vector<NodeNumber>& indices) {
  return impl_->Try([&] { return impl_->builder.Element(address, indices); });
}

NodeNumber Trace::Load(NodeNumber address) {
  return impl_->Try([&] { return impl_->builder.Load(address); });
}

void Trace::Store(NodeNumber address, NodeNumber value) {
  impl_->Check([&] { return impl_->builder.Store(address, value); });
}

NodeNumber Trace::Atomic(const char* op, NodeNumber address, NodeNumber value) {
  return impl_->Try([&] { return impl_->builder.Atomic(OpNamed(op), address, value); });
}

// --- Control

NodeNumber Trace::BeginRange(const std::vector<NodeNumber>& bounds, bool serial) {
  proto::LoopConfig config;
  config.set_serialize(serial);
  return impl_->Try([&] { return impl_->builder.BeginRangeFor(bounds, config); });
}

NodeNumber Trace::BeginOver(ParamId storage) {
  return impl_->Try([&] { return impl_->builder.BeginStructFor(storage, {}); });
}

NodeNumber Trace::LoopIndex(NodeNumber loop, int axis) {
  return impl_->Try([&] { return impl_->builder.LoopIndex(loop, axis); });
}

void Trace::BeginWhile() {
  if (!impl_->failed()) impl_->builder.BeginWhile();
}

void Trace::BeginIf(NodeNumber condition) {
  impl_->Try([&] { return impl_->builder.BeginIf(condition); });
}

NodeNumber Trace::BeginChoose(NodeNumber condition) {
  return impl_->Try([&] { return impl_->builder.BeginChoose(condition); });
}

void Trace::Yield(NodeNumber value) {
  impl_->Check([&] { return impl_->builder.Yield(value); });
}

void Trace::Else() {
  impl_->Check([&] { return impl_->builder.Else(); });
}

void Trace::End() {
  impl_->Check([&] { return impl_->builder.End(); });
}

void Trace::Break() {
  impl_->Check([&] { return impl_->builder.Break(); });
}

void Trace::Continue() {
  impl_->Check([&] { return impl_->builder.Continue(); });
}

void Trace::Return(const std::vector<NodeNumber>& values, const std::vector<ValueType>& types) {
  std::vector<TypeId> ids;
  ids.reserve(types.size());
  for (const ValueType& type : types) ids.push_back(impl_->TypeFor(type));
  impl_->builder.SetReturnTypes(ids);
  impl_->Check([&] { return impl_->builder.Return(values); });
}

void Trace::Print(const std::string& format, const std::vector<NodeNumber>& values) {
  impl_->Check([&]() -> absl::Status {
    auto made = FormatOf(format, impl_->builder, values);
    if (!made.ok()) return made.status();
    made->set_end("\n");
    impl_->builder.Print(values, *made);
    return absl::OkStatus();
  });
}

void Trace::Assert(NodeNumber condition, const std::string& format,
                   const std::vector<NodeNumber>& values) {
  impl_->Try([&]() -> absl::StatusOr<NodeNumber> {
    auto made = FormatOf(format, impl_->builder, values);
    if (!made.ok()) return made.status();
    return impl_->builder.Assert(condition, values, *made);
  });
}

}  // namespace kiln::dsl
