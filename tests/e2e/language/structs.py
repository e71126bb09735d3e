"""Structs: types, dataclasses, members, methods, fields of structs."""

import numpy as np
from harness import case, ti, type_of


@case()
def struct_types(show):
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32, id=ti.i32)
    p = particle(pos=[1, 2], mass=3.5, id=7)
    show(p, p.pos, p.mass, p.id, list(p.keys), sorted(k for k, v in p.items))
    q = particle([1, 2], 2.5)
    show(q, particle(), particle(id=2))
    p.mass = 9.5
    p.pos = [5, 6]
    p.pos.x = 100
    show(p, p.to_dict())


@case()
def members_called_like_methods(show):
    s = ti.Struct(items=3, field=4.5, to_dict=5)
    s.items = 9
    show(s.items, s.field, s.to_dict, s["items"], len(s))
    kind = ti.types.struct(entries=ti.i32, methods=ti.math.vec2, items=ti.f32)
    t = kind(1, [2, 3], 4)
    t.methods.x = 7
    show(t.entries, t.methods, t.items, t.keys, t.to_dict())

    @ti.kernel
    def k(t: kind) -> kind:
        t.entries += 1
        return kind(t.entries, t.methods * 2, t.items + s["items"])

    show(k(t).items, k(t).entries)
    f = ti.types.struct(parent=ti.i32, grad=ti.f32, copy_from=ti.f32, members=ti.i32).field(shape=2)
    f.parent[1], f.grad[0], f.copy_from[1], f.members[1] = 3, 4, 5, 6
    f[0].parent = 8
    show(f.parent.to_numpy(), f.grad.to_numpy(), f.copy_from.to_numpy(), f.members.to_numpy())
    show(f.to_numpy()["parent"], f[1].members)


@case(differs="forms of structs")
def members_of_members_called_like_methods(show):
    inner = ti.types.struct(fill=ti.f32, to_numpy=ti.i32, from_numpy=ti.i32, copy_from=ti.i32)
    outer = ti.types.struct(items=inner, shape=ti.i32)
    f, g, h = (outer.field(shape=2) for _ in range(3))
    f.fill(2)
    f.items.fill[1] = 5
    f[0].shape = 3
    g.copy_from(f)
    h.from_numpy(g.to_numpy())
    show(h.to_numpy()["items"]["fill"], h.to_numpy()["shape"], h.shape, h[1])


@case(differs="forms of structs")
def gradients_of_members_called_like_methods(show):
    kind = ti.types.struct(fill=ti.types.struct(grad=ti.f32, copy_from=ti.f32), dual=ti.f32)
    f = kind.field(shape=2, needs_grad=True)
    total = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k():
        for i in f:
            total[None] += f[i].fill.grad * f[i].fill.copy_from * f[i].dual

    for i in range(2):
        f[i] = kind({"grad": 2, "copy_from": 3}, 4 + i)
    with ti.ad.Tape(total):
        k()
    show(f.grad.fill.grad.to_numpy(), f.grad.dual.to_numpy(), f.fill.copy_from.grad.to_numpy())


@case()
def conversion_of_members(show):
    small = ti.types.struct(a=ti.i32, b=ti.f32, c=ti.u8)
    show(small(a=1.9, b=1, c=3))


@case(differs="members assigned in Python scope")
def conversion_of_assigned_members(show):
    small = ti.types.struct(a=ti.i32, b=ti.f32, c=ti.u8)
    s = small(a=1, b=2, c=3)
    s.a = 5.7
    s.b = 0.1
    show(s)


@case(differs="a dictionary given to `ti.Struct`")
def untyped_structs(show):
    s = ti.Struct(a=1, b=2.5)
    show(s, s.a, s.b, len(s), list(s.keys))
    t = ti.Struct({"x": 1, "y": [1, 2]})
    show(t.x, t.to_dict(), t.y + 1)
    given = {"a": 1, "b": {"m": [[1, 2], [3, 4]], "v": (5, 6)}}
    u = ti.Struct(given)
    show(u, u.b.m @ u.b.v, given)
    show(ti.Struct(a={"b": {"c": 3}}).a.b.c)

    @ti.kernel
    def k(x: ti.f32) -> ti.f32:
        s = ti.Struct(a={"v": [x, 2.0], "n": 3})
        s.a.v[0] += 1
        return s.a.v.sum() * s.a.n + u.b.m[1, 0] + u.b.v[1]

    show(k(1))
    try:
        ti.Struct(3)
    except ti.TaichiSyntaxError as error:
        show(error)
    s.a = 10
    show(s["a"], s.a)
    s["b"] = 7
    show(s.b)


@case()
def nested_structs(show):
    point = ti.types.struct(x=ti.f32, y=ti.f32)
    line = ti.types.struct(a=point, b=point, w=ti.i32)
    l1 = line(a=point(1, 2), b=point(3, 4), w=5)
    show(l1, l1.a, l1.b.y)
    l1.a.x = 100.5
    l1.b = point(7, 8)
    show(l1)

    @ti.kernel
    def k(x: ti.f32) -> ti.f32:
        p = line(a=point(x, 2), b=point(3, x), w=1)
        p.a.y += 10
        q = p
        q.a.y = 0
        return p.a.y * 100 + p.b.y + q.a.y

    show(k(1.5))


@case(differs="an unknown member that is assigned, or given to the type")
def members_that_do_not_exist(show):
    particle = ti.types.struct(mass=ti.f32)
    p = particle(mass=1)
    show.error(lambda: p.size)
    show.error(lambda: particle(size=1))

    @ti.kernel
    def read() -> ti.f32:
        q = particle(mass=1)
        return q.size

    @ti.kernel
    def write():
        q = particle(mass=1)
        q.size = 2

    show.error(read)
    show.error(write)


@case()
def numbers_for_members_that_are_structs(show):
    point = ti.types.struct(x=ti.i32, v=ti.types.vector(2, ti.f32))
    body = ti.types.struct(p=point, n=ti.f32)
    f = body.field(shape=2)
    show(point(1), body(2), body(p=3, n=4), body.filled_with_scalar(5).p)

    @ti.kernel
    def one() -> point:
        return point(1)

    @ti.kernel
    def nested() -> body:
        return body(2)

    @ti.kernel
    def named() -> body:
        return body(p=3, n=4)

    @ti.kernel
    def elements():
        for i in f:
            f[i] = body(5 + i)

    elements()
    show(one(), nested(), named(), f.p.x.to_numpy(), f.p.v.to_numpy(), f.n.to_numpy())


@case()
def structs_for_the_first_member(show):
    point = ti.types.struct(x=ti.i32, v=ti.types.vector(2, ti.f32))

    @ti.dataclass
    class Body:
        p: point
        n: ti.i32

    a = point(x=3, v=[4, 5])
    show(Body(a), Body(a, 5), Body(p=a), Body({"x": 1, "v": [2, 3]}))
    show.error(lambda: Body(point))
    show.error(lambda: Body({"x": 1}))
    show.error(lambda: Body(p={"x": 1}))

    @ti.kernel
    def k() -> Body:
        b = point(3, 5)
        return Body(b)

    show(k())


@case()
def members_are_copies(show):
    point = ti.types.struct(x=ti.i32, y=ti.i32)
    line = ti.types.struct(a=point, b=point)
    p = point(1, 2)
    l1 = line(p, p)
    l1.b = p
    p.x = 100
    l1.a.y = 7
    show(l1, p)


@case(differs="forms of structs")
def structs_made_of_structs(show):
    point = ti.types.struct(x=ti.i32, y=ti.f32)
    other = ti.types.struct(y=ti.f32, x=ti.i32)
    line = ti.types.struct(a=point, b=point)

    @ti.kernel
    def k() -> point:
        o = other(1.5, 2)
        return point(o)

    show(point(other(1.5, 2)), point({"x": 1}), line(line(1, 2)), k())
    f = line.field(shape=1)

    @ti.kernel
    def fill(n: ti.i32):
        f.fill(n)

    fill(3)
    show(f.to_numpy())


@case()
def default_values_in_dataclasses(show):
    def annotated():
        @ti.dataclass
        class Body:
            n: ti.i32 = 3

    show.error(annotated)

    @ti.dataclass
    class Plain:
        n: ti.i32
        m = 3

    show(Plain(1))


@case()
def inherited_methods(show):
    class Shape:
        @ti.func
        def twice(self):
            return self.area() * 2

    @ti.dataclass
    class Square(Shape):
        r: ti.f32

        @ti.func
        def area(self):
            return self.r * self.r

    @ti.kernel
    def k() -> ti.f32:
        s = Square(3.0)
        return s.twice()

    show(k())


@case(differs="more members than a struct has")
def too_many_members(show):
    particle = ti.types.struct(mass=ti.f32)
    show.error(lambda: particle(1, 2))


@case()
def dataclasses(show):
    @ti.dataclass
    class Sphere:
        center: ti.math.vec3
        radius: ti.f32

        @ti.func
        def area(self):
            return 4 * 3.0 * self.radius * self.radius

        @ti.func
        def grow(self, by):
            self.radius += by

        @ti.pyfunc
        def diameter(self):
            return 2 * self.radius

    s = Sphere(center=ti.math.vec3(0, 1, 2), radius=2)
    show(s.center, s.radius, s.diameter())

    @ti.kernel
    def k(r: ti.f32) -> ti.f32:
        t = Sphere(center=ti.math.vec3(0), radius=r)
        before = t.area()
        t.grow(1.0)
        return before * 1000 + t.area() + t.diameter()

    show(k(2.0))
    x = Sphere.field(shape=2)
    x[0].radius = 3
    x[1] = s

    @ti.kernel
    def m() -> ti.f32:
        x[0].grow(1.0)
        return x[0].area() + x[1].radius

    show(m(), x[0].radius, x[1].center)


@case()
def methods_in_python_scope(show):
    @ti.dataclass
    class Square:
        side: ti.f32

        @ti.func
        def area(self):
            return self.side * self.side

    s = Square(side=3)
    show.error(s.area)


@case()
def fields_of_structs(show):
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    x = particle.field(shape=3)
    y = ti.Struct.field({"a": ti.i32, "b": ti.math.vec3}, shape=(2, 2))
    x[0] = particle(pos=[1, 2], mass=3)
    x[1].mass = 5
    x[1].pos = [7, 8]
    x[2].pos[1] = 9
    y[0, 1].a = 4
    y[1, 1].b = [1, 2, 3]
    show(x[0].pos, x[0].mass, x[1].pos, x[2].pos, y[0, 1].a, y[1, 1].b, x.shape, y.shape)
    show(x.mass.to_numpy(), x.pos.to_numpy(), sorted(x.keys), y.a.shape)

    @ti.kernel
    def k():
        for i in x:
            x[i].mass += i
            x[i].pos *= 2
            x[i].pos.x -= 1
        for i, j in y:
            y[i, j].a = i * 10 + j
            y[i, j].b[2] = 7

    k()
    show(x.to_numpy(), y.to_numpy())


@case()
def filling_and_copying_fields(show):
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    x, y = particle.field(shape=2), particle.field(shape=2)
    x.mass.fill(2)
    x.pos.fill(3)
    y.copy_from(x)
    show(y.to_numpy())
    y.from_numpy({"pos": np.ones((2, 2), np.float32), "mass": np.array([5, 6], np.float32)})
    show(y.to_numpy())
    y.fill(4)
    show(y.to_numpy())


@case()
def layouts(show):
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        x = particle.field(shape=4, layout=layout)

        @ti.kernel
        def k():
            for i in x:
                x[i].mass = i
                x[i].pos = [i, -i]

        k()
        show(x.to_numpy())


@case()
def placed_by_hand(show):
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    x = particle.field()
    ti.root.dense(ti.i, 4).place(x)
    x[3].mass = 2
    show(x.shape, x.mass.to_numpy())


@case()
def matrices_in_structs(show):
    body = ti.types.struct(m=ti.types.matrix(2, 2, ti.f32), v=ti.types.vector(3, ti.i32))
    x = body.field(shape=())

    @ti.kernel
    def k() -> ti.f32:
        x[None].m = [[1, 2], [3, 4]]
        x[None].v = [1, 2, 3]
        x[None].m[0, 1] += 5
        b = body(m=ti.Matrix([[1, 0], [0, 1]]), v=[1, 1, 1])
        b.v[1] = 9
        c = b.m @ x[None].m
        return c[0, 1] + b.v.sum()

    show(k(), x[None].m, x[None].v)


@case()
def assignment_copies(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)
    x = pair.field(shape=2)

    @ti.kernel
    def k():
        p = pair(a=1, b=2)
        q = p
        q.a = 10
        x[0] = p
        x[1] = x[0]
        x[1].a = 20
        r = x[0]
        r.b = 50
        print(p.a, q.a, x[0].a, x[0].b, x[1].a, r.b)

    k()


@case()
def assignment_in_python_scope(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)
    p = pair(a=1, b=2)
    q = p
    q.a = 10
    show(p.a)
    x = pair.field(shape=2)
    x[0] = p
    p.a = 99
    show(x[0].a)
    y = x[0]
    y.a = 5
    show(x[0].a)


@case()
def functions_take_and_return_structs(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.func
    def double(p):
        p.a *= 2
        return pair(a=p.a, b=p.b * 2)

    @ti.func
    def bump(p: ti.template()):
        p.a += 100

    @ti.func
    def typed(p: pair) -> pair:
        return pair(a=p.a + 1, b=0.5)

    @ti.kernel
    def k():
        p = pair(a=1, b=2)
        q = double(p)
        bump(p)
        r = typed(q)
        print(p.a, p.b, q.a, q.b, r.a, r.b)

    k()


@case()
def kernels_take_and_return_structs(show):
    point = ti.types.struct(x=ti.f32, y=ti.f32)
    shape = ti.types.struct(center=point, axes=ti.math.mat2, n=ti.i32)

    @ti.kernel
    def k(s: shape, p: point) -> shape:
        s2 = s
        s2.center.x += p.x
        s2.axes = s.axes * 2
        s2.n = s.n + 1
        return s2

    s = shape(center=point(1, 2), axes=ti.math.mat2(1, 2, 3, 4), n=5)
    show(k(s, point(10, 20)), s)


@case()
def arguments_of_the_wrong_type(show):
    point = ti.types.struct(x=ti.f32, y=ti.f32)

    @ti.kernel
    def k(p: point) -> ti.f32:
        return p.x

    show.error(k, 1.0)
    show.error(k, [1, 2])


@case()
def vectors_of_members(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    mixed = ti.types.struct(a=ti.i8, b=ti.f64, c=ti.math.vec3, d=ti.u1)

    @ti.kernel
    def k():
        m = mixed(a=1, b=2, c=3, d=True)
        ti.static(note(m.a), note(m.b), note(m.c), note(m.d), note(m.a + m.b))

    k()
    show(seen)


@case()
def structs_of_structs_in_fields(show):
    point = ti.types.struct(x=ti.f32, y=ti.f32)
    line = ti.types.struct(a=point, b=point)
    x = line.field(shape=2)

    @ti.kernel
    def k():
        for i in x:
            x[i].a.x = i
            x[i].b = point(i + 1, 5)
        x[0].a = x[1].b

    k()
    show(x[0].a.x, x[0].b.y, x[1].a.x, x[0].a.y, x.a.x.to_numpy())
    x[0].a.y = 77
    show(x[0].a.y)


@case()
def lists_of_structs(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def k() -> ti.i32:
        ps = [pair(a=i, b=0.5) for i in range(3)]
        total = 0
        for i in ti.static(range(3)):
            total += ps[i].a
        return total

    show(k())


@case(differs="printing a struct in a kernel")
def printing_in_a_kernel(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def k():
        p = pair(a=1, b=2)
        print(p)

    k()


@case()
def printing_in_python_scope(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)
    print(pair(a=1, b=2), ti.Struct(a=1))


@case()
def arithmetic_is_not_defined(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def k():
        p = pair(a=1, b=2)
        print((p + p).a)

    show.error(k)


@case()
def bad_member_types(show):
    show.error(lambda: ti.types.struct(a="no_such_type"))
    show.error(lambda: ti.types.struct(a=5))


@case()
def dataclasses_with_methods_that_return_self(show):
    @ti.dataclass
    class Ray:
        origin: ti.math.vec2
        direction: ti.math.vec2

        @ti.func
        def at(self, t):
            return self.origin + t * self.direction

        @ti.func
        def moved(self, by):
            return Ray(origin=self.origin + by, direction=self.direction)

    @ti.kernel
    def k() -> ti.math.vec2:
        r = Ray(origin=[0, 1], direction=[1, 0])
        return r.moved(ti.Vector([1.0, 1.0])).at(2.0)

    show(k())
