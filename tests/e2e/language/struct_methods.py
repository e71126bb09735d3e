"""Methods of structs: a value has those of its own type, even if another has equal members."""

from harness import case, ti


def shapes():
    """Two types of equal members, and one that holds both."""

    @ti.dataclass
    class Sphere:
        r: ti.f32

        @ti.func
        def area(self):
            return self.r * 100

        @ti.func
        def grow(self, by):
            self.r += by

    @ti.dataclass
    class Square:
        r: ti.f32

        @ti.func
        def area(self):
            return self.r

    @ti.dataclass
    class Pair:
        s: Sphere
        q: Square

        @ti.func
        def both(self):
            return self.s.area() * 10 + self.q.area()

    return Sphere, Square, Pair


@case()
def types_of_equal_members(show):
    Sphere, Square, _ = shapes()

    @ti.kernel
    def one_first() -> ti.f32:
        a = Sphere(1.0)
        b = Square(1.0)
        return a.area() * 1000 + b.area()

    @ti.kernel
    def other_first() -> ti.f32:
        b = Square(1.0)
        a = Sphere(1.0)
        return a.area() * 1000 + b.area()

    show(one_first(), other_first())


@case()
def elements_of_fields(show):
    Sphere, Square, Pair = shapes()
    f, g, h = Sphere.field(shape=2), Square.field(shape=2), Pair.field(shape=2)
    f.r.fill(1)
    g.r.fill(2)
    h.s.r.fill(3)
    h.q.r.fill(4)

    @ti.func
    def weighed(one, other):
        return one.area() * 1000 + other.area()

    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        a = f[0]
        b = g[0]
        p = h[1]
        s = p.s
        s.grow(1)
        return ti.Vector(
            [
                a.area() * 1000 + b.area(),
                weighed(h[0].s, h[0].q),
                p.both(),
                weighed(s, p.q),
            ]
        )

    show(k())


@case()
def members(show):
    Sphere, Square, Pair = shapes()

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        p = Pair(Sphere(1.0), Square(2.0))
        s, q = p.s, p.q
        before = p.both()
        p.s = Sphere(3.0)
        p.q.r = 5
        return ti.Vector([before, p.both(), s.area() * 1000 + q.area()])

    show(k())


@case()
def parameters_of_kernels(show):
    Sphere, Square, Pair = shapes()

    @ti.func
    def area(s):
        return s.area()

    @ti.kernel
    def direct(s: Sphere) -> ti.f32:
        return s.area()

    @ti.kernel
    def after_another(s: Sphere) -> ti.f32:
        other = Square(s.r)
        copied = s
        return area(s) * 1000 + copied.area() + other.area()

    @ti.kernel
    def nested(p: Pair) -> ti.f32:
        s = p.s
        return p.both() * 10000 + p.s.area() + s.area()

    show(direct(Sphere(r=3)), after_another(Sphere(r=2)))
    show(nested(Pair(s=Sphere(r=1), q=Square(r=2))))


@case()
def members_of_argument_packs(show):
    Sphere, Square, _ = shapes()
    pack = ti.types.argpack(s=Sphere, q=Square)

    @ti.kernel
    def k(p: pack) -> ti.f32:
        square = p.q
        return p.s.area() * 10 + square.area()

    show(k(pack(s=Sphere(r=1), q=Square(r=2))))


@case()
def what_functions_take_and_return(show):
    Sphere, Square, _ = shapes()

    @ti.func
    def same(s):
        return s

    @ti.func
    def square(of: Sphere):
        of.grow(1)
        return Square(of.r)

    @ti.real_func
    def real(of: Sphere) -> Square:
        return Square(of.area())

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        s = Sphere(1.0)
        q = square(s)
        return ti.Vector(
            [same(s).area() * 1000 + same(q).area(), real(s).area(), real(Sphere(2.0)).area()]
        )

    show(k())


@case()
def variables_that_are_assigned(show):
    Sphere, Square, _ = shapes()
    g = Square.field(shape=3)
    g.r.fill(2)

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(2, ti.f32):
        s = Sphere(1.0)
        q = Square(1.0)
        for i in range(3):
            q = g[i]
            if q.r * n > 2:
                q = Square(7.0)
                s = Sphere(q.r)
        return ti.Vector([s.area(), q.area()])

    show(k(1), k(2))


@case()
def lists_and_constants_of_python(show):
    Sphere, Square, _ = shapes()
    kept = Sphere(r=4)
    loose = ti.Struct({"r": 3.0, "__struct_methods": Square.methods})

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        both = [Sphere(1.0), Square(2.0)]
        return ti.Vector([both[0].area() * 10 + both[1].area(), kept.area(), loose.area()])

    show(k())


@case()
def functions_from_outside_of_classes(show):
    class Grower:
        @ti.func
        def grow(self, by):
            self.r += by
            return self.r

    @ti.func
    def by_value(self, by):
        self.r += by
        return self.r

    @ti.func
    def by_reference(self: ti.template(), by):
        self.r += by
        return self.r

    methods = {"grow": Grower.grow, "by_value": by_value, "by_reference": by_reference}
    ball = ti.types.struct(r=ti.i32, __struct_methods=methods)
    f = ball.field(shape=())

    @ti.kernel
    def k() -> ti.types.vector(5, ti.i32):
        b = ball(1)
        value = b.by_value(2)
        reference = b.by_reference(10)
        grown = b.grow(100)
        f[None].by_value(2)
        f[None].by_reference(10)
        return ti.Vector([value, reference, grown, b.r, f[None].r])

    show(k())


@case()
def methods_that_call_methods(show):
    @ti.dataclass
    class Lambert:
        c: ti.math.vec3

        @ti.func
        def scatter(self, n):
            return self.c.sum() * n

    @ti.dataclass
    class Metal:
        c: ti.math.vec3

        @ti.func
        def scatter(self, n):
            return self.c.sum() * n * 100

    @ti.dataclass
    class Material:
        kind: ti.i32
        lambert: Lambert
        metal: Metal

        @ti.func
        def scatter(self, n):
            result = 0.0
            if self.kind == 0:
                result = self.lambert.scatter(n)
            else:
                result = self.metal.scatter(n)
            return result

    materials = Material.field(shape=2)
    materials[1].kind = 1
    materials.lambert.c.fill(1)
    materials.metal.c.fill(1)

    @ti.kernel
    def k() -> ti.types.vector(2, ti.f32):
        found = ti.Vector([0.0, 0.0])
        for i in ti.static(range(2)):
            m = materials[i]
            found[i] = m.scatter(2.0)
        return found

    show(k())
