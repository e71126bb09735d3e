"""Modules: kernels exported to a file, and loaded from it."""

import contextlib
import os
import tempfile
import warnings

from harness import case, numbers, ti

AHEAD = "modules of compiled kernels"


@contextlib.contextmanager
def folder():
    """A temporary current folder, so that messages have short paths."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        try:
            yield
        finally:
            os.chdir(before)


def loaded(module, name="m.kiln"):
    module.export(name)
    return ti.aot.load(name)


def new_module():
    on_cuda = ti.lang.impl.current_cfg().arch == ti.cuda
    return ti.aot.Module(targets=["sm_90" if on_cuda else "x86-64-v2"])


def module_of(*kernels, **fields):
    made = new_module()
    for name, field in fields.items():
        made.add_field(name, field)
    for kernel in kernels:
        made.add_kernel(kernel)
    return made


@case(differs=AHEAD)
def fields_and_scalars(show):
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def fill(a: ti.f32, b: ti.i32):
        for i in x:
            x[i] = a * i + b

    with folder():
        m = loaded(module_of(fill, x=x))
        show(m.fill(0.5, 2))
        show(numbers(m.x), m.x.shape, str(m.x.dtype))
        show(x.to_numpy().tolist())
        other = m.world()
        other.fill(2.0, 0)
        show(numbers(other.x), numbers(m.x))
        m.x.from_numpy(numbers(other.x))
        show(numbers(m.x))


@case(differs=AHEAD)
def results(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f64)

    @ti.kernel
    def one(k: ti.f64) -> ti.f64:
        return k / 3

    @ti.kernel
    def vector(k: ti.math.vec3) -> ti.math.vec2:
        return k.xy + k.z

    @ti.kernel
    def matrix(k: ti.types.matrix(2, 2, ti.i32)) -> ti.types.matrix(2, 2, ti.i32):
        return k.transpose()

    @ti.kernel
    def several(p: pair) -> pair:
        return pair(a=p.a + 1, b=p.b * 2)

    with folder():
        m = loaded(module_of(one, vector, matrix, several))
        show(m.one(1.0), m.one(1))
        show(m.vector([1, 2, 3.5]).to_list())
        show(m.matrix([[1, 2], [3, 4]]).to_list())
        show(m.several({"a": 3, "b": 0.25}), m.several(pair(a=1, b=2.5)))
        show(m.one.signature, m.vector.signature, m.matrix.signature, m.several.signature)


@case(differs=AHEAD)
def arrays(show):
    @ti.kernel
    def scale(a: ti.types.ndarray(dtype=ti.f32, ndim=2), k: ti.f32):
        for i, j in a:
            a[i, j] *= k

    @ti.kernel
    def sums(v: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)) -> ti.f32:
        s = 0.0
        for i in v:
            s += v[i].sum()
        return s

    with folder():
        m = loaded(module_of(scale, sums))
        a = ti.ndarray(ti.f32, (2, 2))
        a.fill(1.5)
        m.scale(a, 2.0)
        show(a.to_numpy().tolist())
        v = ti.Vector.ndarray(2, ti.f32, 3)
        v.fill(2.0)
        show(m.sums(v), m.sums(v.to_numpy()))


@case(differs=AHEAD)
def sparse_and_quantised(show):
    s, q = ti.field(ti.i32), ti.field(ti.types.quant.int(5))
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 4).place(s)
    packed = ti.BitpackedFields(max_num_bits=32)
    packed.place(q)
    ti.root.dense(ti.i, 4).place(packed)

    @ti.kernel
    def activate(n: ti.i32):
        for i in range(n):
            s[i * 5] = i + 1

    @ti.kernel
    def total() -> ti.i32:
        t = 0
        for i in s:
            t += s[i] + 100
        return t

    @ti.kernel
    def pack() -> ti.i32:
        for i in q:
            q[i] = i * 7
        return q[3] + q[1]

    with folder():
        m = loaded(module_of(activate, total, pack, s=s, q=q))
        show(m.total())
        m.activate(3)
        show(m.total(), m.world().total(), numbers(m.s))
        show(m.pack())
        show(numbers(m.q), sorted(m.kernels))
        m.q.from_numpy([-3, 7, 0, 15])
        show(numbers(m.q), numbers(m.world().q))


@case(differs=AHEAD)
def gradients(show):
    x = ti.field(ti.f32, shape=3, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    with folder():
        module = module_of(square, x=x, loss=loss)
        module.add_kernel(square.grad, name="square_grad")
        m = loaded(module)
        m.x.from_numpy([1, 2, 3])
        m["loss.grad"].from_numpy(1)
        m.square_grad()
        show(numbers(m["x.grad"]))


@case(differs=AHEAD)
def graphs(show):
    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.i32, ndim=1), k: ti.i32):
        for i in a:
            a[i] += k

    @ti.kernel
    def double(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in a:
            a[i] *= 2

    a = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.i32, ndim=1)
    k = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "k", ti.i32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, a, k)
    builder.dispatch(double, a)
    builder.dispatch(add, a, 100)
    module = new_module()
    module.add_graph("steps", builder.compile())
    with folder():
        m = loaded(module)
        values = ti.ndarray(ti.i32, 3)
        m.steps.run({"a": values, "k": 5})
        show(values.to_numpy().tolist())
        show.error(lambda: m.steps.run({"a": values}))
        show.error(lambda: m.steps.run({"a": values, "k": 2.5}))


@case(differs=AHEAD)
def templates_and_methods(show):
    x, y = ti.field(ti.i32, shape=2), ti.field(ti.i32, shape=3)

    @ti.kernel
    def fill(target: ti.template(), n: ti.template()):
        for i in target:
            target[i] = n

    @ti.data_oriented
    class Counter:
        def __init__(self):
            self.count = ti.field(ti.i32, shape=())

        @ti.kernel
        def step(self, by: ti.i32):
            self.count[None] += by

    counter = Counter()
    module = new_module()
    for name, field in (("x", x), ("y", y), ("count", counter.count)):
        module.add_field(name, field)
    with module.add_kernel_template(fill) as template:
        template.instantiate(target=x, n=4)
        template.instantiate(target=y, n=5)
        show.error(lambda: template.instantiate(target=counter.count.grad, n=5))
    module.add_kernel(counter.step)
    module.add_kernel(fill, {"target": y, "n": 9}, name="nine")
    with folder():
        m = loaded(module)
        m["fill[target=x,n=4]"]()
        show(numbers(m.x), numbers(m.y))
        m.nine()
        m.step(3)
        m.step(4)
        show(numbers(m.y), numbers(m.count))
        show(sorted(m.kernels))


@case(differs=AHEAD)
def prints_and_failures(show):
    @ti.kernel
    def speak(v: ti.math.vec2, n: ti.i32):
        print("v is", v, f"{v.x:.2f}", n)
        assert n < 3, f"n is {n}"

    with folder():
        module = new_module()
        module.add_kernel(speak)
        m = loaded(module)
        m.speak([1, 2.5], 2)

    ti.init(arch=ti.cpu, debug=True)
    with folder():
        module = new_module()
        module.add_kernel(speak)
        m = loaded(module)
        m.speak([1, 2.5], 2)
        try:
            m.speak([1, 2.5], 7)
        except AssertionError as error:
            show(type(error).__name__, str(error).partition(" at ")[0])


@case(differs=AHEAD)
def random_numbers(show):
    @ti.kernel
    def draw() -> ti.f64:
        return ti.random(ti.f64)

    with folder():
        m = loaded(module_of(draw))
        a = [m.draw() for _ in range(3)]
        m.seed(0)
        show(a == [m.draw() for _ in range(3)], len(set(a)))
        show(a == [m.world(seed=1).draw() for _ in range(3)])


@case(differs=AHEAD)
def what_cannot_be_exported(show):
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def vague(a: ti.types.ndarray()):
        for i in a:
            a[i] = 1

    @ti.kernel
    def template(a: ti.template()):
        a[0] = 1

    @ti.kernel
    def plain():
        x[0] = 1

    module = new_module()
    show.error(lambda: module.add_kernel(vague))
    show.error(lambda: module.add_kernel(vague, {"b": 3}))
    show.error(lambda: module.add_kernel(template))
    show.error(lambda: module.add_kernel(3))
    show.error(lambda: module.add_field("x", 3))
    show.error(lambda: module.add_graph("x", 3))
    show.error(lambda: module.export("m.kiln"))
    module.add_kernel(vague, {"a": ti.types.ndarray(dtype=ti.f32, ndim=1)})
    module.add_kernel(plain)
    show.error(lambda: module.add_kernel(plain))
    show.error(lambda: module.archive("m.zip"))
    show.error(lambda: module.export("1+1.kiln"))
    show.error(lambda: ti.aot.export(3))
    other = ti.aot.Module(targets=["sm_999"])
    other.add_kernel(plain)
    show.error(lambda: other.export("m.kiln"))

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ti.aot.Module(ti.vulkan)
    show(str(told[0].message))

    builder = ti.graph.GraphBuilder()
    builder.dispatch(vague, ti.ndarray(ti.f32, 2))
    show.error(lambda: module.add_graph("constant", builder.compile()))

    pack = ti.types.argpack(k=ti.i32)

    @ti.kernel
    def packed(p: pack):
        x[0] = p.k

    builder = ti.graph.GraphBuilder()
    builder.dispatch(packed, pack(k=3))
    show.error(lambda: module.add_graph("packed", builder.compile()))


@case(differs=AHEAD)
def misused_modules(show):
    x = ti.field(ti.f32, shape=2)

    @ti.kernel
    def scale(a: ti.types.ndarray(dtype=ti.f32, ndim=1), k: ti.i8) -> ti.f32:
        for i in a:
            a[i] *= k
        return x[0]

    with folder():
        m = loaded(module_of(scale, x=x))
        a = ti.ndarray(ti.f32, 2)
        show.error(lambda: m.scale(a))
        show.error(lambda: m.scale(a, 2.5))
        show.error(lambda: m.scale(a, 300))
        show.error(lambda: m.scale(3, 2))
        show.error(lambda: m.scale(ti.ndarray(ti.f64, 2), 2))
        show.error(lambda: m.scale(ti.ndarray(ti.f32, (2, 2)), 2))
        show.error(lambda: m.scale(ti.Vector.ndarray(2, ti.f32, 2), 2))
        show.error(lambda: m.scalf)
        show.error(lambda: m.x.from_numpy([1, 2, 3]))
        show.error(lambda: ti.aot.load("none.kiln"))
        show.error(lambda: ti.aot.load("m.kiln", arch=ti.vulkan))
        with open("m.kiln", "rb") as file:
            whole = file.read()
        for name, data in (
            ("empty", b""),
            ("short", whole[:100]),
            ("cut", whole[:-1]),
            ("flipped", whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:]),
        ):
            with open(f"{name}.kiln", "wb") as file:
                file.write(data)
            show.error(lambda name=name: ti.aot.load(f"{name}.kiln"))
        with open("keys", "w") as file:
            file.write(f"builders:{'A' * 43}=\n")
        os.chmod("keys", 0o600)
        show.error(lambda: ti.aot.load("m.kiln", trusted="keys"))
        show.error(lambda: ti.aot.load("m.kiln", trusted=[]))


# The system's loader takes a path that it knows for the same library.
@case(differs=AHEAD)
def files_at_one_path(show):
    x = ti.field(ti.i32, shape=())

    @ti.kernel
    def one():
        x[None] = 1

    @ti.kernel
    def two():
        x[None] = 2

    with folder():
        first = new_module()
        second = new_module()
        for module, kernel in ((first, one), (second, two)):
            module.add_field("x", x)
            module.add_kernel(kernel, name="set")
        a = loaded(first)
        b = loaded(second)
        a.set()
        b.set()
        show(numbers(a.x), numbers(b.x))


@case(differs=AHEAD)
def directories_and_archives(show):
    @ti.kernel
    def double(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in a:
            a[i] *= 2

    import zipfile

    with folder():
        module = module_of(double)
        module.save("made")
        module.archive("made.tcm")
        show(sorted(os.listdir("made")), sorted(zipfile.ZipFile("made.tcm").namelist()))
        show(open("made/__content__").read(), open("made/__version__").read())
        a = ti.ndarray(ti.i32, 2)
        a.fill(4)
        ti.aot.load("made").double(a)
        show(a.to_numpy().tolist())
        module.export("a.kiln", name="m")
        module.export("b.kiln", name="m")
        show(open("a.kiln", "rb").read() == open("b.kiln", "rb").read())


@case(differs=AHEAD)
def shared_memory(show):
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def loss_of(a: array, b: array):
        for i in a:
            b[i] += a[i] ** 2

    module = new_module()
    module.add_kernel(loss_of.grad, name="gradient")
    with folder():
        m = loaded(module)
        show(m.gradient.signature)
        a, da, b, db = (ti.ndarray(ti.f32, 3) for _ in range(4))
        a.fill(2)
        db.fill(1)
        m.gradient(a, b, da, db)
        show(da.to_numpy().tolist())
        show.error(lambda: m.gradient(a, b, da, da))
