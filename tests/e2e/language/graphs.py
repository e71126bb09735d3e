"""Graphs: launches recorded with names in place of arguments."""

from harness import case, numbers, ti


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


def numbers_of(*fields):
    return [numbers(field) for field in fields]


@case(differs="captured graphs")
def captured_launches(show):
    x, y = ti.field(ti.i32, 3), ti.ndarray(ti.i32, 3)

    @ti.kernel
    def add(f: ti.template(), k: ti.i32):
        for i in f:
            f[i] += k

    @ti.kernel
    def total(f: ti.template(), to: ti.types.ndarray()):
        for i in f:
            to[0] += f[i]

    amount = 1
    with ti.graph() as graph:
        add(x, amount)
        amount = 10
        add(x, k=amount)
        total(x, y)
    show(len(graph), numbers_of(x, y))
    graph.launch()
    x[1] = 100
    graph.launch()
    add(x, 1)
    show(numbers_of(x, y))
    with ti.graph.capture() as empty:
        pass
    empty.launch()
    show(len(empty), repr(graph))


@case(differs="captured graphs", random_seed=3)
def captured_random_numbers(show):
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.random()

    with ti.graph() as graph:
        draw()
    seen = []
    for _ in range(3):
        graph.launch()
        seen.append(x.to_numpy().tolist())
    ti.init(arch=ti.cpu, random_seed=3)
    x = ti.field(ti.f32, 4)
    for one in seen:
        draw()
        show(x.to_numpy().tolist() == one, len(set(one)))
    show(seen[0] != seen[1] != seen[2])


@case(differs="captured graphs")
def captured_methods_matrices_and_trees(show):
    cells, last = ti.field(ti.i32), ti.field(ti.i32, ())
    ti.root.pointer(ti.i, 8).place(cells)

    @ti.data_oriented
    class Thing:
        def __init__(self):
            self.v = ti.Vector.field(2, ti.f32, 2)

        @ti.kernel
        def turn(self, m: ti.types.matrix(2, 2, ti.f32)):
            for i in self.v:
                self.v[i] = m @ self.v[i]

    @ti.kernel
    def grow():
        for i in cells:
            cells[i] += 1
        for _ in range(1):
            last[None] += 3
            cells[last[None]] = 1

    thing = Thing()
    thing.v[0] = [1, 2]
    cells[0] = 1
    m = ti.Matrix([[0.0, 1.0], [2.0, 0.0]])
    with ti.graph() as graph:
        thing.turn(m)
        grow()
        show.error(cells.parent().deactivate_all)
    m[0, 0] = 100
    for _ in range(2):
        graph.launch()
    show(numbers(thing.v), numbers(cells))


@case(differs="captured graphs")
def captured_gradients(show):
    x = ti.field(ti.f32, 3, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def compute():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def descend():
        for i in x:
            x[i] -= 0.25 * x.grad[i]
            x.grad[i] = 0
        loss[None] = 0
        loss.grad[None] = 1

    x.fill(1)
    loss.grad[None] = 1
    with ti.graph() as graph:
        compute()
        compute.grad()
        descend()
    graph.launch()
    graph.launch()
    show(numbers(x), loss[None])


@case(differs="captured graphs")
def what_a_graph_cannot_have(show):
    x = ti.field(ti.f32, 3, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    add = add_kernel()

    @ti.kernel
    def result() -> ti.f32:
        return x[0]

    @ti.kernel
    def prints():
        print(x[0])

    @ti.kernel
    def total():
        loss[None] += x[0]

    @ti.kernel
    def first(a: ti.types.ndarray(dtype=ti.i32)):
        a[0] = 1

    def captured(function, *args):
        with ti.graph():
            function(*args)

    import numpy as np

    for function in (result, prints, ti.sync, ti.reset, x.to_numpy, x.grad.to_numpy):
        show.error(captured, function)
    show.error(captured, lambda: x[0])
    show.error(captured, x.fill, 1)
    show.error(captured, ti.field, ti.f32, 3)
    show.error(captured, ti.ndarray, ti.f32, 3)
    show.error(captured, first, np.ones((2, 3), np.int32, order="F"))
    show.error(captured, lambda: ti.ad.Tape(loss).__enter__())
    show.error(captured, captured, total)
    show.error(captured, add, 3)
    total()
    show(x[0], loss[None])
    with ti.graph() as graph:
        total()
    show.error(captured, graph.launch)
    show.error(graph.__enter__)
    with ti.ad.Tape(loss):
        total()
        show.error(captured, total)
        show.error(graph.launch)
    show(x.grad[0])


@case(differs="captured graphs")
def misused_captures(show):
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def step():
        x[0] += 1

    @ti.kernel
    def result() -> ti.f32:
        return x[0]

    def swallow():
        with ti.graph():
            step()
            try:
                result()
            except ti.TaichiRuntimeError:
                pass

    def launch_inside():
        with ti.graph() as graph:
            graph.launch()

    show.error(ti.graph().launch)
    show.error(swallow)
    show.error(launch_inside)
    builder = ti.FieldsBuilder()
    y = ti.field(ti.f32)
    builder.dense(ti.i, 4).place(y)
    tree = builder.finalize()

    @ti.kernel
    def fill():
        for i in y:
            y[i] = 1

    with ti.graph() as graph:
        step()
    with ti.graph() as other:
        step()
        fill()
    graph.launch()
    other.launch()
    show(x[0])
    tree.destroy()
    show.error(other.launch)
    graph.launch()
    show(x[0])
    ti.init(arch=ti.cpu)
    show.error(graph.launch)
