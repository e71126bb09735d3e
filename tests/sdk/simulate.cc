// Runs the module of sim.py, and prints what it finds.
#include <cstdio>
#include <kiln/kiln.hpp>

namespace {

void PrintFailure(const char* what, const kiln::Error& error) {
  std::printf("%s: %d %s\n", what, error.code(), error.what());
}

template <typename Call>
void ExpectError(const char* what, const Call& call) {
  try {
    call();
    std::printf("%s: no error\n", what);
  } catch (const kiln::Error& error) {
    PrintFailure(what, error);
  }
}

void UseArrays(const kiln::Module& module) {
  const kiln::Kernel saxpy = module.kernel("saxpy");
  std::vector<float> y(100, 1.0f);
  const std::vector<float> x(100, 2.0f);
  saxpy(y, x, 3);
  std::printf("saxpy %g %g\n", y.front(), y.back());
  ExpectError("const", [&] { saxpy(x, y, 3); });
  ExpectError("double", [&] { saxpy(std::vector<double>(100), x, 3); });
  using Vec3 = std::array<float, 3>;
  std::vector<Vec3> image(6);
  module.kernel("shade")(kiln::array<Vec3, 2>(image.data(), {2, 3}), Vec3{1, 2, 3});
  std::printf("shade %g %g %g\n", image[5][0], image[5][1], image[5][2]);
  const Vec3 half = module.kernel("middle").call<Vec3>(std::vector<double>{2, 4, 6});
  std::printf("middle %g %g %g\n", half[0], half[1], half[2]);
  ExpectError("result", [&] { (void)module.kernel("middle").call<std::array<int, 3>>(half); });
}

void UseFields(const kiln::Module& module) {
  kiln::World world = kiln::World::create(module), other = kiln::World::create(module);
  const kiln::Kernel step = module.kernel("step"), energy = module.kernel("energy");
  for (int i = 0; i < 4; ++i) step(world, 0.25f);
  std::printf("energy %g %g\n", energy.call<double>(world), energy.call<float>(other));
  const kiln::field<float, 2> x = world.field<float, 2>("x");
  x.at(7, 3) = 10;
  std::printf("energy %g\n", energy.call<float>(world));
  const kiln::field<std::array<float, 3>, 1> v = world.field<std::array<float, 3>, 1>("v");
  std::printf("v %g %g %g of %zu\n", v.at(4)[0], v(4)[1], v(4)[2], v.read().size());
  const kiln::field<float, 2> numbers = world.field<float, 2>("v");
  std::printf("numbers %g\n", numbers.at(4, 2));
  ExpectError("field", [&] { (void)world.field<float, 2>("smoke"); });
  *world.locate<float>("smoke", {5, 6}, 0, true) = 3;
  const std::vector<float> smoke = world.read<float>("smoke");
  std::printf("smoke %g of %zu, active %d\n", smoke[5 * 16 + 6], smoke.size(),
              module.kernel("count_smoke").call<int>(world));
  std::printf("inactive %p\n", static_cast<void*>(world.locate<float>("smoke", {0, 0})));
  ExpectError("index", [&] { (void)x.at(8, 0); });
  ExpectError("name", [&] { (void)world.read<float>("none"); });
  ExpectError("world", [&] { step(0.25f); });
}

void UseGraph(const kiln::Module& module) {
  kiln::World world = kiln::World::create(module);
  const kiln::Graph update = module.graph("update");
  std::vector<float> x(3, 2.0f), y(3, 1.0f);
  const std::vector<float>& read_only = x;
  update.run(world, {{"x", read_only}, {"y", y}, {"dt", 0.5f}});
  std::printf("graph %g %g\n", y[2], module.kernel("energy").call<float>(world));
  ExpectError("const", [&] { update.run(world, {{"x", x}, {"y", read_only}, {"dt", 1}}); });
  ExpectError("lacks", [&] { update.run(world, {{"x", x}, {"y", y}}); });
}

}  // namespace

int main(int, char** argv) {
  try {
    kiln::ContextOptions options;
    options.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    const kiln::Context context = kiln::Context::create(std::move(options));
    const kiln::Module module = kiln::Module::open(context, argv[1]);
    UseArrays(module);
    UseFields(module);
    UseGraph(module);
    return 0;
  } catch (const kiln::Error& error) {
    PrintFailure("failed", error);
    return 1;
  }
}
