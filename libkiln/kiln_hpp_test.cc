// The C++ face over a stand-in for the C interface, which has one module and keeps what it is
// given.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kiln/kiln.hpp"

namespace {

struct Given {
  kiln_arg arg{};
  std::vector<int64_t> shape;
};

std::string last_error;
std::vector<std::string> events;
std::vector<Given> given;
std::map<std::string, Given> named;
const uint64_t kVec3[] = {3}, kExtents[] = {2, 3};
const int64_t kFirst[] = {10, 0}, kZeros[] = {0, 0};
float memory[6];

Given Copied(const kiln_arg& arg) {
  Given copy{arg, {}};
  if (arg.kind == KILN_ARG_ARRAY) {
    copy.shape.assign(arg.value.array->shape, arg.value.array->shape + arg.value.array->ndim);
  }
  return copy;
}

kiln_status Fail(kiln_status code, const char* text) {
  last_error = text;
  return code;
}

kiln_context* const kContext = reinterpret_cast<kiln_context*>(8);
kiln_module* const kModule = reinterpret_cast<kiln_module*>(16);
kiln_world* const kWorld = reinterpret_cast<kiln_world*>(24);
const kiln_kernel* const kKernel = reinterpret_cast<const kiln_kernel*>(32);
const kiln_graph* const kGraph = reinterpret_cast<const kiln_graph*>(40);
kiln_context_options context_options;
kiln_executor executor;

kiln_param Param(const char* name, uint32_t kind, bool writes) {
  kiln_param param{};
  param.name = name;
  param.kind = kind;
  param.writes = writes ? 1 : 0;
  return param;
}
// k(out: array, in: array, v: vec3)
const kiln_param kParams[] = {Param("out", KILN_PARAM_ARRAY, true),
                              Param("in", KILN_PARAM_ARRAY, false),
                              Param("v", KILN_PARAM_VALUE, false)};

}  // namespace

// ---- The stand-in
const char* kiln_error() { return last_error.c_str(); }
kiln_status kiln_context_new(const kiln_context_options* options, kiln_context** context) {
  context_options = *options;
  if (options->executor != nullptr) executor = *options->executor;
  *context = kContext;
  return KILN_OK;
}
kiln_status kiln_context_free(kiln_context* context) {
  if (context != nullptr) events.emplace_back("context freed");
  return KILN_OK;
}
kiln_status kiln_module_open(kiln_context* context, const char* path, const kiln_open_options*,
                             kiln_module** module) {
  if (context == nullptr) return Fail(KILN_INVALID_ARGUMENT, "no context");
  if (std::string(path) != "sim.kiln") return Fail(KILN_UNAVAILABLE, "no such file");
  *module = kModule;
  return KILN_OK;
}
kiln_status kiln_module_free(kiln_module* module) {
  if (module != nullptr) events.emplace_back("module freed");
  return KILN_OK;
}
const kiln_kernel* kiln_module_kernel(const kiln_module*, const char* name) {
  if (std::string(name) == "k") return kKernel;
  Fail(KILN_NOT_FOUND, "it has k");
  return nullptr;
}
const kiln_graph* kiln_module_graph(const kiln_module*, const char*) { return kGraph; }
const char* kiln_dtype_name(kiln_dtype dtype) { return dtype == KILN_F32 ? "f32" : "other"; }
kiln_array kiln_array_of(void* data, kiln_dtype dtype, int32_t ndim, const int64_t* shape) {
  kiln_array array{};
  array.data = data;
  array.ndim = ndim;
  array.bits = static_cast<uint8_t>(dtype);  // enough for these tests
  array.shape = const_cast<int64_t*>(shape);
  return array;
}
kiln_status kiln_kernel_signature(const kiln_kernel*, kiln_signature* signature) {
  signature->params = 3;
  signature->results = 2;
  signature->result_slots = 4;
  signature->name = "k";
  signature->text = "k(…) -> f32, vec3<i32>";
  return KILN_OK;
}
kiln_status kiln_kernel_param(const kiln_kernel*, size_t number, kiln_param* param) {
  if (number >= std::size(kParams)) return Fail(KILN_INVALID_ARGUMENT, "no such parameter");
  *param = kParams[number];
  return KILN_OK;
}
kiln_status kiln_kernel_result(const kiln_kernel*, size_t number, kiln_param* result) {
  if (number >= 2) return Fail(KILN_INVALID_ARGUMENT, "no such result");
  *result = kiln_param{};
  result->dtype = number == 0 ? KILN_F32 : KILN_I32;
  result->count = number == 0 ? 1 : 3;
  result->first_slot = number == 0 ? 0 : 1;
  return KILN_OK;
}
kiln_status kiln_graph_param(const kiln_graph* graph, size_t number, kiln_param* param) {
  EXPECT_EQ(graph, kGraph);
  return kiln_kernel_param(kKernel, number, param);
}
kiln_status kiln_world_new(kiln_module* module, const kiln_world_options*, kiln_world** world) {
  if (module == nullptr) return Fail(KILN_INVALID_ARGUMENT, "no module");
  *world = kWorld;
  return KILN_OK;
}
kiln_status kiln_world_free(kiln_world* world) {
  if (world != nullptr) events.emplace_back("world freed");
  return KILN_OK;
}
kiln_status kiln_module_field(const kiln_module*, const char* name, kiln_field* field) {
  // "x" is f32 along two axes, the first from 10; "v" vec3 of f32 along one, its numbers apart.
  const bool is_x = std::string(name) == "x";
  field->dtype = KILN_F32;
  field->ndim = is_x ? 2 : 1;
  field->element_ndim = is_x ? 0 : 1;
  field->shape = kExtents;
  field->element_shape = kVec3;
  field->first = is_x ? kFirst : kZeros;
  field->bytes = sizeof memory;
  field->name = is_x ? "x" : "v";
  return KILN_OK;
}
kiln_status kiln_field_view(kiln_world*, const char* name, kiln_view* view) {
  const bool is_x = std::string(name) == "x";
  view->shape[0] = 2;
  view->shape[1] = 3;
  view->strides[0] = is_x ? 3 : 1;
  view->strides[1] = is_x ? 1 : 2;
  view->array = kiln_array_of(memory, KILN_F32, 2, view->shape);
  return KILN_OK;
}
kiln_status kiln_field_device_view(kiln_world* world, const char* name, kiln_view* view) {
  const kiln_status viewed = kiln_field_view(world, name, view);
  view->array.device_type = 2;
  view->array.device_id = 1;
  return viewed;
}
kiln_status kiln_field_get(kiln_world*, const char*, const int64_t* indices, void* element,
                           size_t bytes) {
  std::memcpy(element, memory + *indices, bytes);
  return KILN_OK;
}
kiln_status kiln_field_set(kiln_world*, const char*, const int64_t* indices, const void* element,
                           size_t bytes) {
  std::memcpy(memory + *indices, element, bytes);
  return KILN_OK;
}
kiln_status kiln_field_read(kiln_world*, const char*, void* array, size_t bytes) {
  EXPECT_EQ(bytes, sizeof memory);
  std::memcpy(array, memory, bytes);
  return KILN_OK;
}
kiln_status kiln_field_write(kiln_world*, const char*, const void* array, size_t bytes) {
  if (bytes != sizeof memory) return Fail(KILN_INVALID_ARGUMENT, "bytes");
  std::memcpy(memory, array, bytes);
  return KILN_OK;
}
kiln_status kiln_launch(const kiln_kernel*, kiln_world*, const kiln_arg* args, size_t count,
                        uint64_t* results, const kiln_launch_options*) {
  given.clear();
  for (size_t i = 0; i < count; ++i) given.push_back(Copied(args[i]));
  const uint64_t made[] = {0x3fc00000, 1, 2, 0xffffffff};
  if (results != nullptr) std::memcpy(results, made, sizeof made);
  return KILN_OK;
}
kiln_status kiln_graph_run(const kiln_graph*, kiln_world*, const kiln_named_arg* args, size_t count,
                           const kiln_launch_options*) {
  named.clear();
  for (size_t i = 0; i < count; ++i) named[args[i].name] = Copied(args[i].arg);
  return KILN_OK;
}
const char* kiln_graph_name(const kiln_graph*) { return "g"; }
double kiln_slot_float(kiln_dtype, uint64_t slot) {
  float value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}
int64_t kiln_slot_int(kiln_dtype, uint64_t slot) { return static_cast<int32_t>(slot); }

// ---- Tests
struct Vec3 {
  float x, y, z;
};
template <>
struct kiln::element_traits<Vec3> {
  using number = float;
  static constexpr std::array<std::int64_t, 1> shape = {3};
};

namespace {

template <typename Call>
kiln_status CodeOf(const Call& call) {
  try {
    call();
  } catch (const kiln::Error& error) {
    return error.code();
  }
  return KILN_OK;
}

class KilnHppTest : public testing::Test {
 protected:
  kiln::Context context_ = kiln::Context::create();
  kiln::Module module_ = kiln::Module::open(context_, "sim.kiln");
  kiln::World world_ = kiln::World::create(module_);
  kiln::Kernel kernel_ = module_.kernel("k");
};

TEST_F(KilnHppTest, ErrorsHaveCodeAndText) {
  try {
    (void)kiln::Module::open(context_, "other");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "no such file");
  }
  EXPECT_EQ(CodeOf([&] { (void)module_.kernel("none"); }), KILN_NOT_FOUND);
  EXPECT_EQ(CodeOf([&] { (void)kiln::Module::open(kiln::Context(), "sim.kiln"); }),
            KILN_INVALID_ARGUMENT);
}

TEST(LifetimeTest, OwnersMayEndInAnyOrder) {
  {
    kiln::World world;
    {
      kiln::Kernel kernel;
      {
        kiln::Context context = kiln::Context::create();
        kiln::Module module = kiln::Module::open(context, "sim.kiln");
        kernel = module.kernel("k");
        world = kiln::World::create(module);
        kiln::World other = std::move(world);
        world = std::move(other);
        events.clear();
      }
      EXPECT_TRUE(events.empty());
    }
    EXPECT_TRUE(events.empty());
  }
  EXPECT_EQ(events, (std::vector<std::string>{"world freed", "module freed", "context freed"}));
}

TEST_F(KilnHppTest, ContainersBecomeWhatTheParameterIs) {
  std::vector<Vec3> out(5);
  const std::array<float, 3> three = {1, 2, 3};
  kernel_(world_, out, three, three);
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[0].shape, (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(given[1].shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(given[2].arg.kind, static_cast<uint32_t>(KILN_ARG_NUMBERS));
  EXPECT_EQ(given[2].arg.count, 3u);
  EXPECT_EQ(given[2].arg.dtype, KILN_F32);
  EXPECT_EQ(given[2].arg.value.numbers, three.data());
}

TEST_F(KilnHppTest, NumbersKeepTheirKind) {
  float out[4] = {};
  kernel_(world_, out, std::uint64_t{1} << 63, -1);
  EXPECT_EQ(given[0].shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(given[1].arg.value.u, std::uint64_t{1} << 63);
  EXPECT_EQ(given[2].arg.kind, static_cast<uint32_t>(KILN_ARG_INT));
  EXPECT_EQ(given[2].arg.value.i, -1);
  kernel_(1.5f, true);
  EXPECT_EQ(given[0].arg.value.f, 1.5);
  EXPECT_EQ(given[1].arg.value.u, 1u);
  const auto members = kiln::members(7, std::array<float, 2>{1, 2});
  kernel_(members);
  EXPECT_EQ(given[0].arg.count, 3u);
  EXPECT_EQ(given[0].arg.value.args[0].value.i, 7);
  EXPECT_EQ(given[0].arg.value.args[2].value.f, 2);
}

TEST_F(KilnHppTest, ConstArraysAreOnlyRead) {
  std::vector<float> x(4);
  const std::vector<float>& read_only = x;
  kernel_(world_, x, read_only, 1);
  EXPECT_EQ(CodeOf([&] { kernel_(world_, read_only, x, 1); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { kernel_(world_, std::vector<float>(4), x, 1); }), KILN_INVALID_ARGUMENT);
  const kiln::array<float, 2> view(x.data(), {2, 2});
  kernel_(world_, view, kiln::array<const float, 2>(view), 1);
  EXPECT_EQ(given[1].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(CodeOf([&] { kernel_(world_, kiln::array<const float, 2>(view), x, 1); }),
            KILN_INVALID_ARGUMENT);
  kiln::Graph graph = module_.graph("g");
  EXPECT_EQ(CodeOf([&] { graph.run(world_, {{"out", read_only}}); }), KILN_INVALID_ARGUMENT);
}

TEST_F(KilnHppTest, GraphsTakeArgumentsByName) {
  std::vector<float> x(4);
  module_.graph("g").run(world_, {{"v", std::array<float, 3>{1, 2, 3}},
                                  {"out", kiln::array<Vec3, 1>(nullptr, {9})},
                                  {"in", x}});
  EXPECT_EQ(named["v"].arg.kind, static_cast<uint32_t>(KILN_ARG_NUMBERS));
  EXPECT_EQ(named["out"].shape, (std::vector<int64_t>{9, 3}));
  EXPECT_EQ(named["in"].shape, (std::vector<int64_t>{4}));
}

TEST_F(KilnHppTest, ResultsFitTheirTypes) {
  const auto [number, vector] = kernel_.call<std::tuple<float, std::array<int, 3>>>(world_);
  EXPECT_EQ(number, 1.5f);
  EXPECT_EQ(vector, (std::array<int, 3>{1, 2, -1}));
  const auto refused = [&](auto type) {
    return CodeOf([&] { (void)kernel_.call<decltype(type)>(world_); }) == KILN_INVALID_ARGUMENT;
  };
  EXPECT_TRUE(refused(float{}));                                       // there are two
  EXPECT_TRUE(refused(std::tuple<int, std::array<int, 3>>()));         // a fraction
  EXPECT_TRUE(refused(std::tuple<float, std::array<unsigned, 3>>()));  // a sign
  EXPECT_TRUE(refused(std::tuple<float, std::array<float, 3>>()));     // 32 bits in 24
  EXPECT_TRUE(refused(std::tuple<float, std::array<int, 2>>()));       // three
  EXPECT_FALSE(refused(std::tuple<double, std::array<double, 3>>()));
}

TEST_F(KilnHppTest, FieldsAreStridedArrays) {
  for (int i = 0; i < 6; ++i) memory[i] = static_cast<float>(i);
  const kiln::field<float, 2> x = world_.field<float, 2>("x");
  EXPECT_EQ(x.at(11, 2), 5);
  EXPECT_EQ(x(10, 1), 1);
  EXPECT_EQ(CodeOf([&] { (void)x.at(9, 0); }), KILN_OUT_OF_RANGE);
  EXPECT_EQ(CodeOf([&] { (void)x.at(12, 0); }), KILN_OUT_OF_RANGE);
  x.at(10, 0) = 7;
  EXPECT_EQ(x.read(), (std::vector<float>{7, 1, 2, 3, 4, 5}));
  x.write(std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(world_.read<float>("x").back(), 6);
  EXPECT_EQ(CodeOf([&] { x.write(std::vector<float>(3)); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { (void)world_.field<double, 2>("x"); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { (void)world_.field<float, 1>("x"); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { (void)world_.read<Vec3>("x"); }), KILN_INVALID_ARGUMENT);
}

TEST_F(KilnHppTest, FieldsOnADeviceHaveAddressesThere) {
  for (int i = 0; i < 6; ++i) memory[i] = static_cast<float>(i);
  const kiln::device_field<float, 2> x = world_.device_field<float, 2>("x");
  EXPECT_EQ(x.data(), memory);
  EXPECT_TRUE(x.on_cuda());
  EXPECT_EQ(x.device(), 1);
  EXPECT_EQ(x.strides()[0], 3);
  EXPECT_EQ(x.first()[0], 10);
  EXPECT_EQ(x.read().size(), 6u);
  EXPECT_EQ(CodeOf([&] { (void)world_.device_field<double, 2>("x"); }), KILN_INVALID_ARGUMENT);
  kernel_(world_, x, x, std::array<float, 3>{1, 2, 3});
  EXPECT_EQ(given[0].arg.value.array->device_type, 2);
}

TEST_F(KilnHppTest, ElementsAreCopiedWhole) {
  for (int i = 0; i < 6; ++i) memory[i] = static_cast<float>(i);
  EXPECT_EQ(world_.get<float>("x", {4, 0}), 4);
  EXPECT_EQ(world_.get<Vec3>("v", {1}).z, 3);
  world_.set("v", {0}, Vec3{7, 8, 9});
  EXPECT_EQ(memory[2], 9);
  EXPECT_EQ(CodeOf([&] { (void)world_.get<float>("x", {4}); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { (void)world_.get<float>("v", {0}); }), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { world_.set("x", {0, 0}, 1.0); }), KILN_INVALID_ARGUMENT);
}

TEST_F(KilnHppTest, ElementsWhoseNumbersAreApartAreNumbers) {
  EXPECT_EQ(CodeOf([&] { (void)world_.field<Vec3, 1>("v"); }), KILN_FAILED_PRECONDITION);
  for (int i = 0; i < 6; ++i) memory[i] = static_cast<float>(i);
  const kiln::field<const float, 2> numbers = world_.field<const float, 2>("v");
  EXPECT_EQ(numbers.at(1, 2), 5);
  EXPECT_EQ(world_.read<Vec3>("v").size(), 2u);
}

TEST(ContextTest, PassesFunctionsOn) {
  std::string printed;
  kiln::ContextOptions options;
  options.print = [&](std::string_view text) { printed += text; };
  options.executor = kiln::Executor(3, [](std::int64_t count, kiln::Body body) {
    for (std::int64_t i = 0; i < count; ++i) body(i, i + 1);
  });
  const kiln::Context context = kiln::Context::create(std::move(options));
  context_options.print(context_options.print_self, "abcd", 3);
  EXPECT_EQ(printed, "abc");
  EXPECT_EQ(context_options.log, nullptr);
  EXPECT_EQ(executor.concurrency(executor.self), 3);
  std::int64_t sum = 0;
  executor.parallel_for(
      executor.self, 5,
      [](void* self, std::int64_t begin, std::int64_t) {
        *static_cast<std::int64_t*>(self) += begin;
      },
      &sum);
  EXPECT_EQ(sum, 10);
}

}  // namespace
