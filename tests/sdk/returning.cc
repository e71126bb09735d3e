// Uses kiln.hpp without exceptions.
#include <cstdio>
#include <kiln/kiln.hpp>

int ReturnErrors();

namespace {

kiln::Expected<float> Launch(kiln::World& world, const kiln::Module& module) {
  kiln::Expected<kiln::Kernel> kernel = module.kernel("step");
  if (!kernel) return kernel.error();
  std::vector<float> x(8);
  if (kiln::Expected<void> done = (*kernel)(world, x, 2.0f); !done) return done.error();
  kiln::Expected<kiln::Graph> graph = module.graph("update");
  if (!graph) return graph.error();
  if (auto done = graph->run(world, {{"x", x}, {"dt", 1e-4f}}); !done) return done.error();
  return kernel->call<float>(world);
}

kiln::Expected<void> Access(kiln::World& world) {
  kiln::Expected<kiln::field<float, 2>> x = world.field<float, 2>("x");
  if (!x) return x.error();
  kiln::Expected<float&> element = x->at(1, 2);
  if (!element) return element.error();
  *element = 3;
  kiln::Expected<std::vector<float>> all = world.read<float>("x");
  if (!all) return all.error();
  if (auto done = world.write("x", *all); !done) return done;
  kiln::Expected<float*> address = world.locate<float>("x", {1, 2});
  if (!address) return address.error();
  **address = 1;
  return x->write(*all);
}

}  // namespace

int ReturnErrors() {
  kiln::Expected<kiln::Context> context = kiln::Context::create();
  if (!context) return 1;
  kiln::Expected<kiln::Module> module = kiln::Module::open(*context, "/nowhere.kiln");
  if (module) {
    kiln::Expected<kiln::World> world = kiln::World::create(*module);
    return world && Access(*world) && Launch(*world, *module) ? 0 : 1;
  }
  std::printf("returned: %d %s\n", module.error().code(), module.error().what());
  return 0;
}
