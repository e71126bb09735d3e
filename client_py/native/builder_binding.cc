#include "client_py/native/builder_binding.h"

#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "client_cpp/kernel_builder.h"
#include "client_py/native/id_caster.h"
#include "client_py/native/status_error.h"
#include "client_py/native/tree_object.h"

namespace kiln {

namespace py = pybind11;

namespace {

using Numbers = std::vector<uint32_t>;
using Nodes = std::vector<NodeNumber>;
using Types = std::vector<TypeId>;
using Pieces = std::vector<std::tuple<std::string, uint32_t, std::string>>;

// A subclass of ValueError, by which the front end distinguishes errors of the user's program,
// which the builder reports, from its own mistakes.
PyObject* builder_error = nullptr;

[[noreturn]] void RaiseBuilder(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) RaiseStatus(status);
  PyErr_SetString(builder_error, std::string(status.message()).c_str());
  throw py::error_already_set();
}

template <typename Kind>
Id<Kind> Get(const absl::StatusOr<Id<Kind>>& id) {
  if (!id.ok()) RaiseBuilder(id.status());
  return *id;
}

void Get(const absl::Status& status) {
  if (!status.ok()) RaiseBuilder(status);
}

proto::Op OpOf(int op) { return static_cast<proto::Op>(op); }
Scalar ScalarOf(int scalar) { return static_cast<Scalar>(scalar); }

proto::LoopConfig Config(bool serialize, uint32_t block_dim, uint32_t parallelize,
                         bool bit_vectorize, bool block_dim_adaptive) {
  proto::LoopConfig config;
  config.set_serialize(serialize);
  config.set_block_dim(block_dim);
  config.set_parallelize(parallelize);
  config.set_bit_vectorize(bit_vectorize);
  config.set_block_dim_adaptive(block_dim_adaptive);
  return config;
}

proto::Format MakeFormat(const Pieces& pieces, const std::string& end) {
  proto::Format format;
  for (const auto& [text, type, spec] : pieces) {
    proto::Format::Piece* piece = format.add_pieces();
    piece->set_text(text);
    piece->set_type(type);
    piece->set_spec(spec);
  }
  format.set_end(end);
  return format;
}

// The low 64 bits of any Python int.
uint64_t Wrapped(const py::int_& value) {
  const unsigned long long bits = PyLong_AsUnsignedLongLongMask(value.ptr());
  if (bits == ~0ull && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return bits;
}

py::tuple TypeInfo(KernelBuilder& b, TypeId id) {
  const Type& type = b.types()[id];
  py::list members;
  for (const auto& [name, member] : type.members) members.append(py::make_tuple(name, member));
  return py::make_tuple(static_cast<int>(type.scalar), py::tuple(py::cast(type.shape)),
                        py::tuple(members));
}

TypeId StructType(KernelBuilder& b, const std::vector<std::pair<std::string, TypeId>>& members) {
  Type type;
  type.members = members;
  return b.types().Get(type);
}

NodeNumber AppendNode(KernelBuilder& b, int kind, TypeId type, int op, const Nodes& operands,
                      uint64_t index, const std::vector<int64_t>& attributes) {
  proto::Node node;
  node.set_kind(static_cast<proto::NodeKind>(kind));
  node.set_type(type.number());
  node.set_op(OpOf(op));
  for (NodeNumber operand : operands) node.add_operands(operand.number());
  node.set_index(index);
  for (int64_t attribute : attributes) node.add_attributes(attribute);
  return Get(b.Append(std::move(node)));
}

uint32_t AddSpan(KernelBuilder& b, uint32_t file, uint32_t line, uint32_t column, uint32_t end_line,
                 uint32_t end_column, uint32_t inlined_at, uint32_t function) {
  proto::Span span;
  span.set_file(file);
  span.set_line(line);
  span.set_column(column);
  span.set_end_line(end_line);
  span.set_end_column(end_column);
  span.set_inlined_at(inlined_at);
  span.set_function(function);
  return b.AddSpan(span);
}

void BindTypesAndParameters(py::class_<KernelBuilder>& c) {
  c.def(py::init([](int default_int, int default_float) {
    DefaultTypes defaults;
    defaults.int_type = ScalarOf(default_int);
    defaults.float_type = ScalarOf(default_float);
    return std::make_unique<KernelBuilder>(defaults);
  }));
  c.def("scalar_type", [](KernelBuilder& b, int s) { return b.ScalarType(ScalarOf(s)); });
  c.def("tensor_type", [](KernelBuilder& b, int s, const Numbers& shape) {
    return b.types().GetTensor(ScalarOf(s), shape);
  });
  c.def("struct_type", &StructType);
  c.def("type_info", &TypeInfo);
  c.def("type_name", [](KernelBuilder& b, TypeId t) { return b.types().Name(t); });
  c.def("type_of", &KernelBuilder::TypeOf);
  c.def("is_address", &KernelBuilder::IsAddress);
  c.def("num_nodes", &KernelBuilder::NumNodes);
  c.def("add_value_param", &KernelBuilder::AddValueParam);
  c.def(
      "add_storage_param",
      [](KernelBuilder& b, const py::bytes& bytes, const Numbers& trees) {
        proto::Storage storage;
        if (!storage.ParseFromString(std::string(bytes))) {
          throw py::value_error("not a storage descriptor");
        }
        if (storage.has_tree()) RenumberTrees(trees, storage.mutable_tree());
        return b.AddStorageParam(storage);
      },
      py::arg("storage"), py::arg("trees") = Numbers());
  c.def("differentiate", [](KernelBuilder& b, int mode) {
    if (!proto::AutodiffMode_IsValid(mode)) throw py::value_error("not a way to differentiate");
    b.Differentiate(static_cast<proto::AutodiffMode>(mode));
  });
  c.def("set_gradient",
        [](KernelBuilder& b, ParamId of, ParamId gradient) { Get(b.SetGradient(of, gradient)); });
  c.def("set_dual", [](KernelBuilder& b, ParamId of, ParamId dual) { Get(b.SetDual(of, dual)); });
  c.def("check_overwrites",
        [](KernelBuilder& b, ParamId of, ParamId marks, const std::string& text) {
          Get(b.CheckOverwrites(of, marks, text));
        });
  c.def("add_tree", [](KernelBuilder& b, const TreeObject& tree) {
    return b.AddTree(tree.layout().DescribeTree());
  });
  c.def("set_return_types", [](KernelBuilder& b, const Types& types) { b.SetReturnTypes(types); });
}

void BindValues(py::class_<KernelBuilder>& c) {
  c.def("const_int", [](KernelBuilder& b, const py::int_& value, int s) {
    return b.ConstUInt(Wrapped(value), ScalarOf(s));
  });
  c.def("const_float",
        [](KernelBuilder& b, double value, int s) { return b.ConstFloat(value, ScalarOf(s)); });
  c.def("const_bool", &KernelBuilder::ConstBool);
  c.def("param", [](KernelBuilder& b, ParamId p) { return Get(b.Param(p)); });
  c.def("unary", [](KernelBuilder& b, int op, NodeNumber x) { return Get(b.Unary(OpOf(op), x)); });
  c.def("binary", [](KernelBuilder& b, int op, NodeNumber x, NodeNumber y) {
    return Get(b.Binary(OpOf(op), x, y));
  });
  c.def("ternary", [](KernelBuilder& b, int op, NodeNumber x, NodeNumber y, NodeNumber z) {
    return Get(b.Ternary(OpOf(op), x, y, z));
  });
  c.def("cast", [](KernelBuilder& b, NodeNumber x, TypeId t) { return Get(b.Cast(x, t)); });
  c.def("bit_cast", [](KernelBuilder& b, NodeNumber x, TypeId t) { return Get(b.BitCast(x, t)); });
  c.def("make_tensor", [](KernelBuilder& b, const Nodes& elements, const Numbers& shape) {
    return Get(b.MakeTensor(elements, shape));
  });
  c.def("extract", [](KernelBuilder& b, NodeNumber tensor, const Nodes& indices) {
    return Get(b.Extract(tensor, indices));
  });
  c.def("pick", [](KernelBuilder& b, NodeNumber tensor, const Numbers& shape, uint32_t first,
                   const std::vector<int32_t>& strides) {
    return Get(b.Pick(tensor, shape, first, strides));
  });
  c.def("reduce",
        [](KernelBuilder& b, int op, NodeNumber x) { return Get(b.Reduce(OpOf(op), x)); });
  c.def("make_struct", [](KernelBuilder& b, TypeId type, const Nodes& members) {
    return Get(b.MakeStruct(type, members));
  });
  c.def("get_member", [](KernelBuilder& b, NodeNumber value, int member) {
    return Get(b.GetMember(value, member));
  });
  c.def("random", &KernelBuilder::Random);
  c.def("shape", [](KernelBuilder& b, ParamId p, int axis) { return Get(b.Shape(p, axis)); });
}

void BindMemory(py::class_<KernelBuilder>& c) {
  c.def(
      "local", [](KernelBuilder& b, TypeId t, NodeNumber init) { return Get(b.Local(t, init)); },
      py::arg("type"), py::arg("init") = NodeNumber());
  c.def("global_", [](KernelBuilder& b, ParamId p, const Nodes& indices) {
    return Get(b.Global(p, indices));
  });
  c.def("element", [](KernelBuilder& b, NodeNumber address, const Nodes& indices) {
    return Get(b.Element(address, indices));
  });
  c.def("join", [](KernelBuilder& b, const Nodes& addresses, const Numbers& shape) {
    return Get(b.Join(addresses, shape));
  });
  c.def("member_address", [](KernelBuilder& b, NodeNumber address, int member) {
    return Get(b.MemberAddress(address, member));
  });
  c.def("stop_gradient",
        [](KernelBuilder& b, NodeNumber value) { return Get(b.StopGradient(value)); });
  c.def("stop_gradients_of", [](KernelBuilder& b, const std::vector<ParamId>& storages) {
    b.StopGradientsOf(storages);
  });
  c.def("load", [](KernelBuilder& b, NodeNumber address) { return Get(b.Load(address)); });
  c.def("store", [](KernelBuilder& b, NodeNumber address, NodeNumber value) {
    Get(b.Store(address, value));
  });
  c.def("atomic", [](KernelBuilder& b, int op, NodeNumber address, NodeNumber value) {
    return Get(b.Atomic(OpOf(op), address, value));
  });
}

void BindControl(py::class_<KernelBuilder>& c) {
  c.def(
      "begin_range_for",
      [](KernelBuilder& b, const Nodes& bounds, bool serialize, uint32_t block_dim,
         uint32_t parallelize, bool bit_vectorize, bool block_dim_adaptive) {
        return Get(b.BeginRangeFor(
            bounds, Config(serialize, block_dim, parallelize, bit_vectorize, block_dim_adaptive)));
      },
      py::arg("bounds"), py::arg("serialize") = false, py::arg("block_dim") = 0,
      py::arg("parallelize") = 0, py::arg("bit_vectorize") = false,
      py::arg("block_dim_adaptive") = false);
  c.def(
      "begin_struct_for",
      [](KernelBuilder& b, ParamId param, bool serialize, uint32_t block_dim, uint32_t parallelize,
         bool bit_vectorize, bool block_dim_adaptive) {
        return Get(b.BeginStructFor(
            param, Config(serialize, block_dim, parallelize, bit_vectorize, block_dim_adaptive)));
      },
      py::arg("param"), py::arg("serialize") = false, py::arg("block_dim") = 0,
      py::arg("parallelize") = 0, py::arg("bit_vectorize") = false,
      py::arg("block_dim_adaptive") = false);
  c.def("loop_index",
        [](KernelBuilder& b, NodeNumber loop, int d) { return Get(b.LoopIndex(loop, d)); });
  c.def("begin_while", [](KernelBuilder& b) { return Get(b.BeginWhile()); });
  c.def("begin_if", [](KernelBuilder& b, NodeNumber x) { return Get(b.BeginIf(x)); });
  c.def("begin_choose", [](KernelBuilder& b, NodeNumber x) { return Get(b.BeginChoose(x)); });
  c.def("else_", [](KernelBuilder& b) { Get(b.Else()); });
  c.def("yield_", [](KernelBuilder& b, NodeNumber x) { Get(b.Yield(x)); });
  c.def("end", [](KernelBuilder& b) { Get(b.End()); });
  c.def("break_", [](KernelBuilder& b) { Get(b.Break()); });
  c.def("continue_", [](KernelBuilder& b) { Get(b.Continue()); });
  c.def("return_", [](KernelBuilder& b, const Nodes& values) { Get(b.Return(values)); });
  c.def("begin_function", [](KernelBuilder& b, const std::vector<std::pair<TypeId, bool>>& given,
                             const Types& returns) {
    std::vector<FunctionParam> params;
    params.reserve(given.size());
    for (const auto& [type, by_reference] : given) params.push_back({type, by_reference});
    return Get(b.BeginFunction(params, returns));
  });
  c.def("end_function", [](KernelBuilder& b) { Get(b.EndFunction()); });
  c.def("reference", [](KernelBuilder& b, ParamId p) { return Get(b.Reference(p)); });
  c.def("call", [](KernelBuilder& b, FunctionId f, const Nodes& arguments) {
    return Get(b.Call(f, arguments));
  });
  c.def("print_", [](KernelBuilder& b, const Nodes& values, const Pieces& pieces,
                     const std::string& end) { return b.Print(values, MakeFormat(pieces, end)); });
  c.def("assert_",
        [](KernelBuilder& b, NodeNumber condition, const Nodes& values, const Pieces& pieces) {
          return Get(b.Assert(condition, values, MakeFormat(pieces, "")));
        });
  c.def("append", &AppendNode, py::arg("kind"), py::arg("type") = TypeId(), py::arg("op") = 0,
        py::arg("operands") = Nodes(), py::arg("index") = 0,
        py::arg("attributes") = std::vector<int64_t>());
}

}  // namespace

void BindBuilder(py::module_& m) {
  static py::exception<KernelBuilder> error(m, "BuilderError", PyExc_ValueError);
  builder_error = error.ptr();
  py::class_<KernelBuilder> builder(m, "Builder");
  BindTypesAndParameters(builder);
  BindValues(builder);
  BindMemory(builder);
  BindControl(builder);
  builder.def("add_file", &KernelBuilder::AddFile);
  builder.def("add_name", &KernelBuilder::AddName);
  builder.def("add_span", &AddSpan);
  builder.def("set_span", &KernelBuilder::SetSpan);
}

}  // namespace kiln
