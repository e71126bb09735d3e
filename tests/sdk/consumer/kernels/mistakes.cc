// What the header cannot refuse when it is compiled: prints each error, and numbers that are right.
#include <cstdint>
#include <cstdio>
#include <kiln/dsl.hpp>
#include <memory>
#include <vector>

using namespace kiln::dsl;

namespace {

template <typename Function>
void Say(const char* what, const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    const char* const text = error.what();
    std::printf("%s: %s\n", what, text);
  }
}

void Constants() {
  Say("range", [] {
    Kernel k("k", [](Array<int, 1> x) { ForEach(Range(5000000000), [&](Int) { x[0] += 1; }); });
  });
  Say("store", [] { Kernel k("k", [](Array<std::uint8_t, 1> x) { x[0] = 300; }); });
  Say("index", [] { Kernel k("k", [](Array<int, 1> x) { x[std::int64_t{1} << 32] = 1; }); });
  Say("variable", [] { Kernel k("k", [](Array<int, 1>) { Var<std::int8_t> small = 128; }); });
  Say("infinite", [] { Kernel k("k", [](Array<float, 1> x) { x[0] = 1e300; }); });
  Say("sum", [] { Kernel k("k", [](Value<int> n) { return n + 4000000000u; }); });
  Kernel wide("wide", [](Value<std::int64_t> n) { return n + 4000000000u; });
  Kernel real("real", [](Value<float> n) { return n * 4000000000u; });
  Kernel less("less", [](Value<int> n) { return n < 4000000000u; });
  Kernel mask("mask", [](Value<std::uint32_t> n) { return n & 0xf0000000u; });
  std::printf("%lld %g %d %x\n", static_cast<long long>(wide(1)), static_cast<double>(real(2)),
              less(1) ? 1 : 0, mask(0xffffffffu));
}

void Escapes() {
  std::unique_ptr<Expr<int>> value;
  std::unique_ptr<Array<int, 1>> array;
  Kernel first("first", [&](Value<int> n, Array<int, 1> x) {
    value = std::make_unique<Expr<int>>(n + 1);
    array = std::make_unique<Array<int, 1>>(x);
    return n;
  });
  Say("value", [&] { Kernel k("k", [&](Value<int> n) { return n + *value; }); });
  Say("array", [&] { Kernel k("k", [&](Array<float, 1> x) { x[0] = (*array)[0]; }); });
}

void Debug() {
  std::vector<int> numbers = {1, 2, 3};
  const auto make = [] {
    return Kernel("k", [](Array<int, 1> x, Value<int> most) {
      ForEach(x, [&](Int i) { Assert(x[i] <= most, "x[{}] is {}", i, x[i]); });
    });
  };
  auto released = make();
  released(numbers, 2);
  Service service;
  service.debug = true;
  Use(service);
  auto checked = make();
  Say("assert", [&] { checked(numbers, 2); });
  checked(numbers, 3);
  Kernel at("at", [](Array<int, 2> x, Value<int> i) { x(i, 0) = 1; });
  Say("bounds", [&] { at(Memory<int, 2>(numbers.data(), {1, 3}), 1); });
  Use({});
}

void Overlaps() {
  const Field<int, 1> field({10});
  Kernel fill("fill", [&](Array<int, 1> x) {
    For(Range({1, 5}), [&](Int i) { x[i] = field[i - 1] + 1; });
  });
  Say("overlap", [&] { fill(Memory<int, 1>(field.data() + 2, {5})); });
  std::vector<int> own(5);
  fill(own);
  Kernel read("read", [&](Array<int, 1> x) { return x[0] + field[0]; });
  field.at(0) = 3;
  std::printf("%d\n", read(Memory<int, 1>(field.data(), {10})));
}

void SNodes() {
  Tree tree;
  const SNode cells = tree.root().dense("i", {3});
  const TreeField<int, 1> field(cells);
  Say("cells", [&] { Kernel k("k", [&] { Activate(cells, 1); }); });
}

}  // namespace

int main() {
  Constants();
  Escapes();
  Debug();
  Overlaps();
  SNodes();
  return 0;
}
