"""Classes of kernels and functions."""

# ruff: noqa: E741, F821, F841
import copy
import functools
import pickle
import warnings

from harness import case, ti


@case()
def data_oriented_classes(show):
    @ti.data_oriented
    class Base:
        scale = 3

        def __init__(self, n):
            self.n = n
            self.x = ti.field(ti.i32, n)

        @ti.func
        def value(self, i):
            return i * self.scale

        @ti.kernel
        def run(self):
            for i in self.x:
                self.x[i] = self.value(i)

        @property
        def half(self):
            return self.n // 2

        @staticmethod
        @ti.func
        def twice(a):
            return a * 2

        @ti.kernel
        def count(self, a: ti.i32) -> ti.i32:
            return self.twice(a) + self.half

    @ti.data_oriented
    class Derived(Base):
        scale = 5

        @ti.func
        def value(self, i):
            return i * self.scale + 1

    a, b = Base(3), Derived(4)
    a.run()
    b.run()
    show(a.x, b.x, a.count(4), b.count(4))


@case(differs="plain Python")
def classmethods_and_static_kernels(show):
    @ti.data_oriented
    class Tools:
        factor = 4

        @staticmethod
        @ti.kernel
        def add(a: ti.i32, b: ti.i32) -> ti.i32:
            return a + b

        @classmethod
        def make(cls):
            return cls()

        @ti.kernel
        def times(self, a: ti.i32) -> ti.i32:
            return a * self.factor

    show(Tools.add(1, 2), Tools().add(3, 4), Tools.make().times(2))


@case()
def super_and_methods_of_the_base(show):
    @ti.data_oriented
    class Base:
        @ti.func
        def f(self, a):
            return a + 1

        @ti.kernel
        def run(self, a: ti.i32) -> ti.i32:
            return self.f(a)

    @ti.data_oriented
    class Derived(Base):
        @ti.func
        def g(self, a):
            return self.f(a) * 10

        @ti.kernel
        def both(self, a: ti.i32) -> ti.i32:
            return self.g(a) + self.run_twice(a)

        @ti.func
        def run_twice(self, a):
            return self.f(self.f(a))

    show(Derived().run(1), Derived().both(1))


@case()
def kernel_member_without_data_oriented(show):
    class Plain:
        @ti.kernel
        def run(self) -> ti.i32:
            return 1

    show.error(lambda: Plain().run())


@case()
def attributes_read_by_kernels_are_bound_once(show):
    @ti.data_oriented
    class Thing:
        def __init__(self):
            self.n = 1

        @ti.kernel
        def read(self) -> ti.i32:
            return self.n

    thing = Thing()
    first = thing.read()
    thing.n = 5
    show(first, thing.read(), Thing().read())


@case()
def swapping_fields_of_an_object(show):
    @ti.data_oriented
    class Pair:
        def __init__(self):
            self.a = ti.field(ti.i32, ())
            self.b = ti.field(ti.i32, ())

        @ti.kernel
        def step(self):
            self.a[None] += 1

        def swap(self):
            self.a, self.b = self.b, self.a

    p = Pair()
    p.step()
    p.swap()
    p.step()
    show(p.a[None], p.b[None])


@case()
def missing_attribute_of_self(show):
    @ti.data_oriented
    class Thing:
        def __init__(self):
            self.velocity = 3

        @ti.kernel
        def read(self) -> ti.i32:
            return self.velocty

    show.error(Thing().read)


@ti.func
def doubled(x):
    return x * 2


@ti.kernel
def double(x: ti.i32) -> ti.i32:
    return doubled(x)


@ti.data_oriented
class Scaled:
    def __init__(self, scale):
        self.scale = scale
        self.kernel, self.func = double, doubled

    @ti.kernel
    def of(self, x: ti.i32) -> ti.i32:
        return self.func(x) * self.scale


@case()
def copies_and_pickles_of_kernels_and_functions(show):
    for value in (double, doubled, Scaled.of):
        found = copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))
        show([other is value for other in found])
    show(pickle.loads(pickle.dumps(functools.partial(double, 3)))())
    scaled = Scaled(5)
    deep, pickled = copy.deepcopy(scaled), pickle.loads(pickle.dumps(scaled))
    deep.scale = 7
    show(scaled.of(1), deep.of(1), pickled.of(1), deep.kernel is double)


@case(differs="calls that trip over Taichi's own code")
def copies_and_pickles_of_bound_kernels(show):
    scaled = Scaled(5)
    first, second = copy.copy(scaled.of), copy.deepcopy(scaled.of)
    second.__self__.scale = 7
    third = pickle.loads(pickle.dumps(scaled.of))
    show(first == scaled.of, first(1), second(1), third(1))


@ti.dataclass
class Cell:
    x: ti.f32

    @ti.func
    def twice(self):
        return self.x * 2

    def thrice(self):
        return self.x * 3


@ti.kernel
def twice(cell: Cell) -> ti.f32:
    return cell.twice()


@case(differs="calls that trip over Taichi's own code")
def copies_and_pickles_of_structs_with_methods(show):
    show(pickle.loads(pickle.dumps(Cell)) is Cell)
    cell = Cell(4.0)
    for other in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
        cell.x += 1
        show(other, twice(other), other.thrice())


@case()
def making_structs_warns_of_nothing(show):
    @ti.kernel
    def k() -> ti.f32:
        return Cell(3.0).twice()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        show(k(), said)
