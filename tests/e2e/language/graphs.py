"""Graphs: launches recorded with names in place of arguments."""

from harness import case, ti


def kind(name):
    return getattr(ti.graph.ArgKind, name)


def scalar(name, dtype):
    return ti.graph.Arg(kind("SCALAR"), name, dtype)


def array(name, dtype, ndim=1):
    return ti.graph.Arg(kind("NDARRAY"), name, dtype, ndim=ndim)


def matrix(name, dtype):
    return ti.graph.Arg(kind("MATRIX"), name, dtype)


def graph_of(*launches):
    builder = ti.graph.GraphBuilder()
    for launch in launches:
        builder.dispatch(*launch)
    return builder.compile()


def add_kernel():
    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.i32, ndim=1), k: ti.i32):
        for i in a:
            a[i] += k

    return add


def numbers(a):
    return a.to_numpy().tolist()


@case()
def launches_in_order(show):
    add = add_kernel()

    @ti.kernel
    def double(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in a:
            a[i] *= 2

    a = ti.ndarray(ti.i32, 3)
    graph = graph_of((add, array("a", ti.i32), scalar("k", ti.i32)), (double, array("a", ti.i32)))
    graph.run({"a": a, "k": 5})
    graph.run({"a": a, "k": 1, "unused": 3})
    show(numbers(a))
    show(graph_of().run({}))


@case()
def several_arrays_and_shapes(show):
    @ti.kernel
    def copy(to: ti.types.ndarray(), of: ti.types.ndarray()):
        for i in ti.grouped(of):
            to[i] = of[i] + 1

    graph = graph_of((copy, array("to", ti.f32, 2), array("of", ti.f32, 2)))
    for shape in ((2, 3), (4, 1)):
        to, of = ti.ndarray(ti.f32, shape), ti.ndarray(ti.f32, shape)
        of.fill(2.5)
        graph.run({"to": to, "of": of})
        show(numbers(to))


@case()
def matrices(show):
    vec2, mat2 = ti.math.vec2, ti.types.matrix(2, 2, ti.f32)

    @ti.kernel
    def turn(a: ti.types.ndarray(dtype=vec2, ndim=1), m: mat2):
        for i in a:
            a[i] = m @ a[i]

    a = ti.Vector.ndarray(2, ti.f32, 2)
    a.fill(1.0)
    graph = graph_of((turn, array("a", vec2), matrix("m", mat2)))
    graph.run({"a": a, "m": ti.Matrix([[1.0, 2.0], [3.0, 4.0]])})
    show(numbers(a))


@case()
def sequentials(show):
    add = add_kernel()
    a = ti.ndarray(ti.i32, 2)
    builder = ti.graph.GraphBuilder()
    part = builder.create_sequential()
    builder.append(part)
    part.dispatch(add, array("a", ti.i32), scalar("k", ti.i32))
    part.dispatch(add, array("a", ti.i32), scalar("k", ti.i32))
    builder.dispatch(add, array("a", ti.i32), scalar("m", ti.i32))
    builder.append(part)
    graph = builder.compile()
    part.dispatch(add, array("a", ti.i32), scalar("k", ti.i32))
    graph.run({"a": a, "k": 1, "m": 100})
    show(numbers(a))


@case()
def kernels_that_return(show):
    x = ti.field(ti.i32, ())

    @ti.kernel
    def count(k: ti.i32) -> ti.i32:
        x[None] += k
        return x[None]

    graph = graph_of((count, scalar("k", ti.i32)), (count, scalar("k", ti.i32)))
    show(graph.run({"k": 4}), x[None])


@case(differs="graphs")
def values_that_all_runs_use(show):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def add(f: ti.template(), v: ti.types.vector(3, ti.i32), k: ti.i32):
        for i in f:
            f[i] += v[i] * k

    @ti.data_oriented
    class Counter:
        def __init__(self):
            self.x = ti.field(ti.i32, 2)

        @ti.kernel
        def add(self, k: ti.i32):
            for i in self.x:
                self.x[i] += k

    v = ti.Vector([1, 2, 3])
    counter = Counter()
    graph = graph_of((add, x, v, scalar("k", ti.i32)), (counter.add, scalar("k", ti.i32)))
    v[0] = 100
    graph.run({"k": 10})
    show(numbers(x), numbers(counter.x))


@case()
def arguments(show):
    make = ti.graph.Arg
    show(scalar("k", ti.i32).name, array("a", ti.math.vec3, 2).field_dim)
    show(list(array("a", ti.math.vec3, 2).element_shape))
    show.error(lambda: make(kind("SCALAR"), "k", ti.i32, ndim=1))
    show.error(lambda: make(kind("NDARRAY"), "k", ti.i32, ndim=1, element_shape=(2,)))
    show.error(lambda: make(kind("NDARRAY"), "k", ti.i32, ndim=1, field_dim=1))
    show.error(lambda: make(kind("SCALAR"), 3, ti.i32))
    show.error(lambda: make(kind("MATRIX"), "k", ti.i32))


@case(differs="graphs")
def misused_arguments(show):
    make = ti.graph.Arg
    show.error(lambda: make(3, "k", ti.i32))
    show.error(lambda: make(kind("SCALAR"), "k"))
    show.error(lambda: make(kind("NDARRAY"), "k", ti.i32))
    show.error(lambda: make(kind("SCALAR"), "k", ti.math.vec2))
    show.error(lambda: make(kind("TEXTURE"), "k", ndim=2))
    import warnings

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        make(kind("NDARRAY"), "k", ti.i32, field_dim=1)
    show(said[0].category.__name__, str(said[0].message))


@case(differs="graphs")
def misused_dispatches(show):
    add = add_kernel()

    @ti.kernel
    def fill(f: ti.template(), v: ti.types.vector(2, ti.i32)):
        for i in f:
            f[i] = v[0]

    a, k = array("a", ti.i32), scalar("k", ti.i32)
    show.error(lambda: graph_of((add, a)))
    show.error(lambda: graph_of((add, a, k, k)))
    show.error(lambda: graph_of((print, a)))
    show.error(lambda: graph_of((add, array("a", ti.f32), k)))
    show.error(lambda: graph_of((add, array("a", ti.i32, 2), k)))
    show.error(lambda: graph_of((add, a, scalar("k", ti.f32))))
    show.error(lambda: graph_of((add, k, k)))
    show.error(lambda: graph_of((add, a, a)))
    show.error(lambda: graph_of((fill, a, matrix("v", ti.types.vector(2, ti.i32)))))
    show.error(lambda: graph_of((fill, 1, matrix("v", ti.types.vector(3, ti.i32)))))
    show.error(lambda: graph_of((add, a, k), (add, array("a", ti.i32, 2), k)))
    show.error(lambda: ti.graph.GraphBuilder().append(3))


@case(differs="graphs")
def misused_runs(show):
    add = add_kernel()

    @ti.kernel
    def turn(a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), m: ti.types.matrix(2, 2, ti.f32)):
        for i in a:
            a[i] = m @ a[i]

    graph = graph_of((add, array("a", ti.i32), scalar("k", ti.i32)))
    a = ti.ndarray(ti.i32, 2)
    show.error(lambda: graph.run({"a": a}))
    show.error(lambda: graph.run({"a": 3, "k": 2}))
    show.error(lambda: graph.run({"a": a, "k": a}))
    show.error(lambda: graph.run({"a": a, "k": 2.5}))
    show.error(lambda: graph.run({"a": a, "k": "2"}))
    show.error(lambda: graph.run({"a": a.to_numpy(), "k": 2}))
    show.error(lambda: graph.run({"a": ti.ndarray(ti.f32, 2), "k": 2}))
    show.error(lambda: graph.run({"a": ti.ndarray(ti.i32, (2, 2)), "k": 2}))
    show.error(lambda: graph.run({"a": ti.Vector.ndarray(2, ti.i32, 2), "k": 2}))
    show(numbers(a))
    mat2 = ti.types.matrix(2, 2, ti.f32)
    graph = graph_of((turn, array("a", ti.math.vec2), matrix("m", mat2)))
    a = ti.Vector.ndarray(2, ti.f32, 2)
    show.error(lambda: graph.run({"a": a, "m": ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}))
    show.error(lambda: graph.run({"a": a, "m": 1.0}))
