// Uses all of kiln.hpp, with exceptions. Linked with returning.cc, which has none.
#include <cstdio>
#include <kiln/kiln.hpp>

struct Vec3 {
  float x, y, z;
};
template <>
struct kiln::element_traits<Vec3> {
  using number = float;
  static constexpr std::array<std::int64_t, 1> shape = {3};
};

int ReturnErrors();
float Launch(kiln::World& world, const kiln::Module& module);
void Access(kiln::World& world);

float Launch(kiln::World& world, const kiln::Module& module) {
  const kiln::Kernel kernel = module.kernel("step");
  std::vector<float> x(8);
  const std::vector<std::array<float, 3>> v(8);
  std::vector<Vec3> w(8);
  std::array<std::array<double, 2>, 2> matrix = {};
  short raw[4] = {};
  kernel(world, x, v, w, matrix, raw, kiln::half(), std::array<float, 3>{1, 2, 3});
  kernel(1, 2u, 3L, 4.0f, 5.0, true, 'c', kiln::members(1, 2.0, std::array<float, 2>()));
  const kiln::array<float, 2> view(x.data(), {2, 4});
  kernel(world, view, kiln::array<const float, 2>(view), view.c_array());
  volatile std::uint32_t stop = 0;
  auto print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  const auto options = kiln::LaunchOptions().max_threads(2).stop_on(stop).print_to(print);
  module.graph("update").with(options).run(world, {{"x", x}, {"dt", 1e-4f}, {"w", w}});
  kernel.with(options).launch_slots(&world, nullptr, nullptr);
  const auto [number, pair] = kernel.call<std::tuple<float, std::array<int, 2>>>(world, 1);
  const kiln::half half = kernel.call<kiln::half>(world);
  return number + static_cast<float>(pair[0] + half.bits) + kernel.call<float>();
}

void Access(kiln::World& world) {
  const kiln::field<float, 2> x = world.field<float, 2>("x");
  x.at(1, 2) = x(0, 0);
  x.write(x.read());
  const kiln::field<const Vec3, 1> v = world.field<const Vec3, 1>("v");
  const std::vector<Vec3> all = v.read();
  world.write("v", all);
  world.write("x", world.read<float>("x"));
  *world.locate<float>("x", {1, 2}, 0, true) = v.at(3).x;
  world.seed(1);
  world.prepare();
}

int main() {
  kiln::ContextOptions options;
  options.max_threads = 2;
  options.log = [](std::string_view) {};
  options.executor =
      kiln::Executor([] { return 2; }, [](std::int64_t count, kiln::Body body) { body(0, count); });
  kiln::Context context = kiln::Context::create(std::move(options));
  context.prepare();
  try {
    kiln::Module module = kiln::Module::open(context, "/nowhere.kiln");
    kiln::World world = kiln::World::create(module);
    Access(world);
    return Launch(world, module) > 0;
  } catch (const kiln::Error& error) {
    std::printf("thrown: %d %s\n", error.code(), error.what());
  }
  return ReturnErrors();
}
