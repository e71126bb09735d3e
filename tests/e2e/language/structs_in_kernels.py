"""Structs inside kernels and as elements of fields."""

# ruff: noqa: E741, F821, F841
import warnings

from harness import case, ti


@case()
def fields_of_structs(show):
    vec3 = ti.types.vector(3, ti.f32)

    @ti.dataclass
    class Ball:
        pos: vec3
        r: ti.f32

        @ti.func
        def area(self):
            return 4 * self.r * self.r

        @ti.func
        def grow(self, k):
            self.r += k

    pair = ti.types.struct(ball=Ball, n=ti.i32)
    f = Ball.field(shape=4)
    g = pair.field(shape=(2, 2))
    h = ti.Struct.field({"v": vec3}, shape=1)

    @ti.kernel
    def k():
        for i in f:
            f[i].pos = [i, 1, 2]
            f[i].pos.x += 1
            f[i].r = i
            f[i].grow(0.5)
            if i == 3:
                f[i].r = f[i].area()
        for i, j in g:
            g[i, j].ball = f[i]
            g[i, j].n = i * 2 + j
            b = g[i, j].ball
            b.grow(5)
            g[i, j].ball.r = b.r
        h[0].v.xy = [3, 4]

    k()
    answers = [list(f[1].pos), g[1, 1].ball.r, [g[1, 1].n, int(f[3].r) // 4], list(h[0].v)]
    f[2] = Ball(pos=[7, 8, 9], r=5)
    f[2].pos.y = 1
    show([*answers, list(f[2].pos)])


@case()
def struct_locals_and_arguments(show):
    pair = ti.types.struct(a=ti.f32, v=ti.types.vector(2, ti.f32))

    @ti.func
    def swapped(s):
        s.v = s.v.yx
        return s

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        s = pair(a=4, v=[8, 1])
        t = s
        t.a += 5
        u = swapped(t)
        return ti.Vector([u.a, s.a + u.v.x, t.v.x])

    show(list(k()))


@case()
def members_by_name(show):
    pair = ti.types.struct(f=ti.f32, d=ti.f32)

    @ti.dataclass
    class Modes:
        scale: ti.f32
        at: ti.math.vec2

        @ti.func
        def double(self, name: ti.template()):
            self[name] *= 2
            self["at"][1] = 9

    # Names that are no identifiers can be written in no other way.
    numbered = ti.types.struct(**{"21": pair, "33": pair, "k": ti.i32})
    f = numbered.field(shape=2)
    g = Modes.field(shape=2)

    @ti.kernel
    def k(given: pair) -> ti.f32:
        for i in range(2):
            f[i]["21"].f = 3 + i
            f[i]["33"] = pair(f=1, d=4)
            f[i]["k"] = 7
            f[i]["k"] += i
            g[i].double("scale")
            g[i]["at"].x -= 5
        local = f[1]
        local["21"]["d"] = 100
        local["33"].f += local["21"].d
        f[0]["33"] = local["33"]
        result = 0.0
        for name in ti.static(given.keys):
            result = 10 * result + given[name]
        for name in ti.static(f[0].keys[:2]):
            result += f[0][name].f
        return result

    g[0] = Modes(scale=4, at=[1, 2])
    show(k(pair(f=2, d=3)))
    whole = f.to_numpy()
    show(whole["21"]["f"], whole["21"]["d"], whole["33"]["f"], whole["33"]["d"], whole["k"])
    show(g.to_numpy()["scale"], g.to_numpy()["at"])


@case()
def members_that_are_none(show):
    pair = ti.types.struct(left=ti.f32, right=ti.f32)
    f = pair.field(shape=2)

    @ti.kernel
    def misspelt(p: pair) -> ti.f32:
        return p["lefd"]

    @ti.kernel
    def numbered() -> ti.f32:
        return f[0][1]

    @ti.kernel
    def unknown(i: ti.i32):
        f[0][i] = 1

    @ti.kernel
    def assigned():
        f[0]["up"] = 1

    show.error(misspelt, pair(1, 2))
    show.error(numbered)
    show.error(unknown, 1)
    show.error(assigned)


@case()
def members_called_like_methods(show):
    tree = ti.types.struct(parent=ti.i32, fill=ti.f32)
    mesh = ti.types.struct(field=ti.i32, nodes=ti.i32, ctx=ti.i32, member=ti.i32, assign=ti.i32)
    t = tree.field(shape=7)
    m = mesh.field(shape=2)

    @ti.kernel
    def k() -> ti.i32:
        for i in t:
            t[i].parent = (i - 1) // 2
        for i in t.fill:
            t.fill[i] = i + 0.5
        for i in m:
            m[i].field = 1
            m[i].nodes = m[i].field + 1
            m[i].ctx = m[i].nodes + 1
            m[i].member = m[i].ctx + 1
            m[i].assign += m[i].member + i
        return t.parent[5] * 100 + m[1].assign * 10 + m[0].nodes

    show(k(), t.parent.to_numpy(), t.fill.to_numpy())
    # Where no member has its name, a method is what it was.
    u = ti.types.struct(a=ti.i32).field(shape=3)

    @ti.kernel
    def count() -> ti.i32:
        n = 0
        for _ in u.a.parent():
            n += 1
        return n

    show(count())


@case()
def elements_of_struct_fields_as_constants(show):
    """Kernels have their numbers as these are when the kernel is compiled."""

    @ti.dataclass
    class Ball:
        r: ti.f32
        c: ti.math.vec2

        @ti.func
        def size(self):
            return self.r + self.c.y

    f = Ball.field(shape=3)
    f[1] = Ball(r=4, c=[1, 2])
    kept = f[1]

    @ti.kernel
    def sums(ball: ti.template()) -> ti.f32:
        return ball.r * 2 + ball.c.y

    @ti.kernel
    def captured() -> ti.f32:
        return kept.r + kept.c.x

    @ti.kernel
    def method() -> ti.f32:
        return kept.size()

    @ti.kernel
    def copied(ball: ti.template()) -> ti.f32:
        other = ball.c
        other.x += 10
        return other.x

    show(sums(kept), captured(), method(), copied(kept))
    f[1].r = 7
    show(sums(kept), captured(), sums(f[1]), sums(f[2]))


@case(differs="forms of structs")
def elements_of_fields_of_nested_structs_as_constants(show):
    inner = ti.types.struct(a=ti.f32, m=ti.types.matrix(2, 3, ti.i32))
    outer = ti.types.struct(p=inner, k=ti.u8)
    f = outer.field(shape=(2, 2), layout=ti.Layout.SOA)
    f[1, 0] = outer(p=inner(a=3, m=[[1, 2, 3], [4, 5, 6]]), k=200)

    @ti.kernel
    def copy(element: ti.template()) -> ti.f32:
        f[0, 1] = element
        f[0, 0].p = element.p
        return element.p.m[1, 2] + element.p.m.sum() + element.k

    show(copy(f[1, 0]))
    show(f.p.m.to_numpy(), f.p.a.to_numpy(), f.k.to_numpy())

    @ti.kernel
    def assigned(element: ti.template()):
        element.k = 1

    show.error(assigned, f[1, 0])


@case(differs="mistakes let pass")
def structs_are_never_equal_to_numbers(show):
    pair = ti.types.struct(a=ti.f32, b=ti.i32)
    f = pair.field(shape=2)

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        c = ti.Vector([0, 0, 0])
        for i in range(2):
            if f[i] == 0.0:
                c[0] += 1
            if i != f[i]:
                c[1] += 1
            c[2] += 1
        return c

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(list(k()))
    show(*[str(w.message) for w in caught])

    @ti.kernel
    def two_structs() -> ti.i32:
        return f[0] == f[1]

    show.error(two_structs)


@case()
def member_of_a_struct_field_that_is_another_field(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)
    f = pair.field(shape=2)
    x = ti.field(ti.i32, 2)
    old = f.a
    f.a = x

    @ti.kernel
    def k():
        for i in range(2):
            f.a[i] = 5 + i
            f[i].a = 1

    k()
    show(f.a is x, x.to_numpy().tolist(), old.to_numpy().tolist())
