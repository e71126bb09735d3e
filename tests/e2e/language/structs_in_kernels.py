"""Structs inside kernels and as elements of fields."""

# ruff: noqa: E741, F821, F841
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
