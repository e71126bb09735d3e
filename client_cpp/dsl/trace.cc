// Traces: kiln_trace_... over KernelBuilder.
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "client_cpp/dsl/handles.h"
#include "common/base/first_use.h"
#include "common/language/op_table.h"

namespace kiln::dsl {
namespace {

proto::Scalar ScalarOf(kiln_dtype dtype) { return static_cast<proto::Scalar>(dtype); }
NodeNumber Of(kiln_node node) { return NodeNumber(node.number); }
ParamId Of(kiln_input input) { return ParamId(input.number); }
kiln_node Told(NodeNumber node) { return {node.number()}; }
kiln_input Told(ParamId param) { return {param.number()}; }

std::vector<NodeNumber> All(const kiln_node* nodes, size_t count) {
  std::vector<NodeNumber> all;
  all.reserve(count);
  for (size_t i = 0; i < count; ++i) all.push_back(Of(nodes[i]));
  return all;
}

std::vector<uint32_t> ShapeOf(kiln_value_type type) {
  std::vector<uint32_t> shape;
  if (type.rows > 0) shape.push_back(type.rows);
  if (type.columns > 0) shape.push_back(type.columns);
  return shape;
}

absl::StatusOr<proto::Op> OpNamed(const char* name) {
  using Ops = std::map<absl::string_view, proto::Op>;
  static FirstUse<const Ops> by_name;
  const Ops& ops = by_name.Get([] {
    Ops made;
    for (int op = 0; op < proto::Op_ARRAYSIZE; ++op) {
      if (const OpInfo* info = FindOp(op); info != nullptr) made[info->spelling] = info->op;
    }
    return made;
  });
  const auto found = ops.find(absl::NullSafeStringView(name));
  if (found != ops.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("no op '", absl::NullSafeStringView(name), "' in the language"));
}

// The text of the message around the values, whose {} they replace.
absl::StatusOr<proto::Format> FormatOf(const char* format, const KernelBuilder& builder,
                                       const std::vector<NodeNumber>& values) {
  const absl::string_view text = absl::NullSafeStringView(format);
  const std::vector<std::string> texts = absl::StrSplit(text, "{}");
  if (texts.size() != values.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat("the text '", text, "' has ", texts.size() - 1,
                                                   " {} for ", values.size(), " values"));
  }
  proto::Format made;
  for (size_t i = 0; i < texts.size(); ++i) {
    proto::Format::Piece* piece = made.add_pieces();
    piece->set_text(texts[i]);
    if (i < values.size()) piece->set_type(builder.TypeOf(values[i]).number());
  }
  return made;
}

}  // namespace
}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

kiln::TypeId kiln_trace::TypeFor(kiln_value_type type) {
  if (type.scalar == KILN_NO_DTYPE || type.scalar > KILN_F64) {
    Fail(absl::InvalidArgumentError(absl::StrCat("no type of the language: dtype ", type.scalar)));
    type.scalar = KILN_I32;
  }
  const std::vector<uint32_t> shape = ShapeOf(type);
  return shape.empty() ? builder.ScalarType(ScalarOf(type.scalar))
                       : builder.types().GetTensor(ScalarOf(type.scalar), shape);
}

std::vector<kiln::TypeId> kiln_trace::TypesFor(const kiln_value_type* types, size_t count) {
  std::vector<kiln::TypeId> ids;
  ids.reserve(count);
  for (size_t i = 0; i < count; ++i) ids.push_back(TypeFor(types[i]));
  return ids;
}

absl::Status kiln_trace::CheckDevice(const kiln::Device& of_data) const {
  if (&of_data == device) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the kernel is for ", NameOf(*device),
                                                 ", and uses a field on ", NameOf(of_data)));
}

void kiln_trace::Fail(const absl::Status& status) {
  if (status.ok() || !failure.ok()) return;
  failure = file.empty() ? status
                         : absl::Status(status.code(),
                                        absl::StrCat(file, ":", line, ": ", status.message()));
}

kiln_trace* kiln_trace_new() { return new (std::nothrow) kiln_trace; }
void kiln_trace_free(kiln_trace* trace) { delete trace; }

void kiln_trace_place(kiln_trace* trace, const char* file, int line) {
  if (file == nullptr) return;
  trace->file = file;
  trace->line = line;
  const auto [known, is_new] = trace->files.try_emplace(file, 0);
  if (is_new) known->second = trace->builder.AddFile(file);
  kiln::proto::Span span;
  span.set_file(known->second);
  span.set_line(static_cast<uint32_t>(line));
  span.set_end_line(static_cast<uint32_t>(line));
  trace->builder.SetSpan(trace->builder.AddSpan(span));
}

// --- Parameters

kiln_input kiln_trace_value(kiln_trace* trace, kiln_value_type type) {
  return Told(trace->builder.AddValueParam(trace->TypeFor(type)));
}

kiln_input kiln_trace_array(kiln_trace* trace, kiln_value_type element, int axes) {
  trace->TypeFor(element);  // fails for no type
  if (axes < 0 || axes > KILN_MAX_NDIM) {
    trace->Fail(absl::InvalidArgumentError(absl::StrCat("an array of ", axes, " axes")));
    axes = 1;
  }
  kiln::proto::Storage storage = kiln::ArrayStorage(ScalarOf(element.scalar), axes);
  for (uint32_t extent : {element.rows, element.columns}) {
    if (extent > 0) storage.mutable_element()->add_shape(extent);
  }
  storage.set_alias_set(1);  // arguments may overlap, as in Python
  const kiln::ParamId param = trace->builder.AddStorageParam(storage);
  trace->arrays.emplace_back(param, storage.element());
  return Told(param);
}

kiln_input kiln_trace_field(kiln_trace* trace, const kiln_dense* field) {
  for (const auto& [used, param] : trace->fields) {
    if (used == field->field) return Told(param);
  }
  trace->Fail(trace->CheckDevice(*field->field->device()));
  const kiln::ParamId param = trace->builder.AddStorageParam(field->field->storage());
  trace->fields.emplace_back(field->field, param);
  return Told(param);
}

// --- Values

kiln_node kiln_trace_float(kiln_trace* trace, double value, kiln_dtype dtype) {
  trace->TypeFor({dtype, 0, 0});
  return Told(trace->builder.ConstFloat(value, ScalarOf(dtype)));
}

kiln_node kiln_trace_int(kiln_trace* trace, int64_t value, kiln_dtype dtype) {
  trace->TypeFor({dtype, 0, 0});
  if (dtype == KILN_U1) return Told(trace->builder.ConstBool(value != 0));
  return Told(trace->builder.ConstInt(value, ScalarOf(dtype)));
}

kiln_node kiln_trace_param(kiln_trace* trace, kiln_input value) {
  return Told(trace->Try([&] { return trace->builder.Param(Of(value)); }));
}

kiln_node kiln_trace_unary(kiln_trace* trace, const char* op, kiln_node x, kiln_value_type result) {
  const kiln::NodeNumber made = trace->Try([&]() -> absl::StatusOr<kiln::NodeNumber> {
    const auto named = OpNamed(op);
    if (!named.ok()) return named.status();
    return trace->builder.Unary(*named, Of(x));
  });
  return kiln_trace_cast(trace, Told(made), result);
}

kiln_node kiln_trace_binary(kiln_trace* trace, const char* op, kiln_node a, kiln_node b,
                            kiln_value_type result) {
  const kiln::NodeNumber made = trace->Try([&]() -> absl::StatusOr<kiln::NodeNumber> {
    const auto named = OpNamed(op);
    if (!named.ok()) return named.status();
    return trace->builder.Binary(*named, Of(a), Of(b));
  });
  return kiln_trace_cast(trace, Told(made), result);
}

kiln_node kiln_trace_select(kiln_trace* trace, kiln_node condition, kiln_node a, kiln_node b,
                            kiln_value_type result) {
  const kiln::NodeNumber made = trace->Try(
      [&] { return trace->builder.Ternary(kiln::proto::OP_SELECT, Of(condition), Of(a), Of(b)); });
  return kiln_trace_cast(trace, Told(made), result);
}

kiln_node kiln_trace_cast(kiln_trace* trace, kiln_node x, kiln_value_type to) {
  const kiln::TypeId type = trace->TypeFor(to);
  return Told(trace->Try([&] { return trace->builder.Cast(Of(x), type); }));
}

kiln_node kiln_trace_bit_cast(kiln_trace* trace, kiln_node x, kiln_value_type to) {
  const kiln::TypeId type = trace->TypeFor(to);
  return Told(trace->Try([&] { return trace->builder.BitCast(Of(x), type); }));
}

kiln_node kiln_trace_tensor(kiln_trace* trace, const kiln_node* elements, size_t count,
                            kiln_value_type type) {
  const kiln::NodeNumber made =
      trace->Try([&] { return trace->builder.MakeTensor(All(elements, count), ShapeOf(type)); });
  return kiln_trace_cast(trace, Told(made), type);
}

kiln_node kiln_trace_extract(kiln_trace* trace, kiln_node tensor, const kiln_node* indices,
                             size_t count) {
  return Told(trace->Try([&] { return trace->builder.Extract(Of(tensor), All(indices, count)); }));
}

kiln_node kiln_trace_random(kiln_trace* trace, kiln_dtype dtype) {
  return Told(trace->builder.Random(trace->TypeFor({dtype, 0, 0})));
}

kiln_node kiln_trace_shape(kiln_trace* trace, kiln_input storage, int axis) {
  return Told(trace->Try([&] { return trace->builder.Shape(Of(storage), axis); }));
}

// --- Memory

kiln_node kiln_trace_local(kiln_trace* trace, kiln_node init, kiln_value_type type) {
  const kiln::TypeId id = trace->TypeFor(type);
  return Told(trace->Try([&] { return trace->builder.Local(id, Of(init)); }));
}

kiln_node kiln_trace_global(kiln_trace* trace, kiln_input storage, const kiln_node* indices,
                            size_t count) {
  return Told(trace->Try([&] { return trace->builder.Global(Of(storage), All(indices, count)); }));
}

kiln_node kiln_trace_element(kiln_trace* trace, kiln_node address, const kiln_node* indices,
                             size_t count) {
  return Told(trace->Try([&] { return trace->builder.Element(Of(address), All(indices, count)); }));
}

kiln_node kiln_trace_join(kiln_trace* trace, const kiln_node* addresses, size_t count,
                          kiln_value_type type) {
  return Told(
      trace->Try([&] { return trace->builder.Join(All(addresses, count), ShapeOf(type)); }));
}

kiln_node kiln_trace_load(kiln_trace* trace, kiln_node address) {
  return Told(trace->Try([&] { return trace->builder.Load(Of(address)); }));
}

void kiln_trace_store(kiln_trace* trace, kiln_node address, kiln_node value) {
  trace->Check([&] { return trace->builder.Store(Of(address), Of(value)); });
}

kiln_node kiln_trace_atomic(kiln_trace* trace, const char* op, kiln_node address, kiln_node value) {
  return Told(trace->Try([&]() -> absl::StatusOr<kiln::NodeNumber> {
    const auto named = OpNamed(op);
    if (!named.ok()) return named.status();
    return trace->builder.Atomic(*named, Of(address), Of(value));
  }));
}

// --- Control

kiln_node kiln_trace_begin_range(kiln_trace* trace, const kiln_node* bounds, size_t axes,
                                 int serial) {
  kiln::proto::LoopConfig config;
  config.set_serialize(serial != 0);
  return Told(
      trace->Try([&] { return trace->builder.BeginRangeFor(All(bounds, 2 * axes), config); }));
}

kiln_node kiln_trace_begin_over(kiln_trace* trace, kiln_input storage) {
  return Told(trace->Try([&] { return trace->builder.BeginStructFor(Of(storage), {}); }));
}

kiln_node kiln_trace_loop_index(kiln_trace* trace, kiln_node loop, int axis) {
  return Told(trace->Try([&] { return trace->builder.LoopIndex(Of(loop), axis); }));
}

void kiln_trace_begin_while(kiln_trace* trace) {
  trace->Try([&] { return trace->builder.BeginWhile(); });
}

void kiln_trace_begin_if(kiln_trace* trace, kiln_node condition) {
  trace->Try([&] { return trace->builder.BeginIf(Of(condition)); });
}

kiln_node kiln_trace_begin_choose(kiln_trace* trace, kiln_node condition) {
  return Told(trace->Try([&] { return trace->builder.BeginChoose(Of(condition)); }));
}

void kiln_trace_yield(kiln_trace* trace, kiln_node value) {
  trace->Check([&] { return trace->builder.Yield(Of(value)); });
}

void kiln_trace_else(kiln_trace* trace) {
  trace->Check([&] { return trace->builder.Else(); });
}

void kiln_trace_end(kiln_trace* trace) {
  trace->Check([&] { return trace->builder.End(); });
}

void kiln_trace_break(kiln_trace* trace) {
  trace->Check([&] { return trace->builder.Break(); });
}

void kiln_trace_continue(kiln_trace* trace) {
  trace->Check([&] { return trace->builder.Continue(); });
}

void kiln_trace_return(kiln_trace* trace, const kiln_node* values, const kiln_value_type* types,
                       size_t count) {
  if (trace->open_functions == 0) trace->builder.SetReturnTypes(trace->TypesFor(types, count));
  trace->Check([&] { return trace->builder.Return(All(values, count)); });
}

// --- Functions

kiln_function kiln_trace_begin_function(kiln_trace* trace, const kiln_function_param* params,
                                        size_t count, const kiln_value_type* results,
                                        size_t result_count) {
  std::vector<kiln::FunctionParam> made;
  made.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    made.push_back({trace->TypeFor(params[i].type), params[i].by_reference != 0});
  }
  const std::vector<kiln::TypeId> returns = trace->TypesFor(results, result_count);
  const kiln::FunctionId function =
      trace->Try([&] { return trace->builder.BeginFunction(made, returns); });
  if (trace->failure.ok()) ++trace->open_functions;
  return {function.number()};
}

kiln_node kiln_trace_reference(kiln_trace* trace, kiln_input param) {
  return Told(trace->Try([&] { return trace->builder.Reference(Of(param)); }));
}

void kiln_trace_end_function(kiln_trace* trace) {
  trace->Check([&] { return trace->builder.EndFunction(); });
  if (trace->failure.ok()) --trace->open_functions;
}

kiln_node kiln_trace_call(kiln_trace* trace, kiln_function function, const kiln_node* arguments,
                          size_t count) {
  return Told(trace->Try([&] {
    return trace->builder.Call(kiln::FunctionId(function.number), All(arguments, count));
  }));
}

kiln_node kiln_trace_result(kiln_trace* trace, kiln_node call, uint32_t index) {
  return Told(
      trace->Try([&] { return trace->builder.GetMember(Of(call), static_cast<int>(index)); }));
}

// --- Texts

void kiln_trace_print(kiln_trace* trace, const char* format, const kiln_node* values,
                      size_t count) {
  trace->Check([&]() -> absl::Status {
    const std::vector<kiln::NodeNumber> all = All(values, count);
    auto made = FormatOf(format, trace->builder, all);
    if (!made.ok()) return made.status();
    made->set_end("\n");
    trace->builder.Print(all, *made);
    return absl::OkStatus();
  });
}

void kiln_trace_assert(kiln_trace* trace, kiln_node condition, const char* format,
                       const kiln_node* values, size_t count) {
  trace->Try([&]() -> absl::StatusOr<kiln::NodeNumber> {
    const std::vector<kiln::NodeNumber> all = All(values, count);
    auto made = FormatOf(format, trace->builder, all);
    if (!made.ok()) return made.status();
    return trace->builder.Assert(Of(condition), all, *made);
  });
}
