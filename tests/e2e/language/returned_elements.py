"""Functions and methods that return elements, to which callers write."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def elements_that_functions_return_can_be_written_to(show):
    Ball = ti.types.struct(mass=ti.f32, speed=ti.math.vec2)
    balls = Ball.field(shape=3)
    x = ti.field(ti.i32, 3)

    @ti.func
    def ball(i):
        return balls[i]

    @ti.func
    def number(i):
        return x[i]

    @ti.func
    def same(a: ti.template()):
        return a

    @ti.func
    def add(a: ti.template(), by):
        a += by

    @ti.kernel
    def k() -> ti.f32:
        for i in range(3):
            ball(i).mass = i
            ball(i).speed += 1
            ball(i).speed[1] = 7
            ti.atomic_add(number(i), 10)
            add(number(i), i)
            add(same(same(number(2))), 1)
            value = number(i)
            value = 0
        own = Ball(1, ti.math.vec2(2, 3))
        same(own).mass += 4
        return own.mass

    show(k(), balls.mass.to_numpy().tolist(), balls.speed.to_numpy().tolist(), numbers(x))


@case()
def methods_that_return_elements(show):
    @ti.dataclass
    class Ball:
        mass: ti.f32

        @ti.func
        def grow(self, by):
            self.mass += by

    @ti.data_oriented
    class Balls:
        def __init__(self):
            self.of = Ball.field(shape=3)

        @ti.func
        def at(self, i):
            return self.of[i]

        @ti.kernel
        def run(self):
            for i in self.of:
                self.at(i).grow(i)
                self.at(i).mass *= 2

    balls = Balls()
    balls.run()
    show(balls.of.mass.to_numpy().tolist())


@case(differs="mistakes let pass")
def assignment_to_a_copy_that_a_function_returns(show):
    f = ti.Struct.field({"a": ti.i32}, shape=2)

    @ti.func
    def copy(i):
        element = f[i]
        return element

    @ti.kernel
    def k():
        copy(1).a = 9

    show.error(k)


@case()
def objects_with_elements(show):
    """`o[i]` of an object whose class defines `__getitem__` as a @ti.func."""
    Ball = ti.types.struct(mass=ti.f32, speed=ti.math.vec2)

    @ti.data_oriented
    class Balls:
        def __init__(self):
            self.of = Ball.field(shape=3)

        @ti.func
        def __getitem__(self, i: ti.i32):
            return self.of[i]

    @ti.data_oriented
    class Grid:
        def __init__(self):
            self.x = ti.field(ti.i32, (2, 3))

        @ti.func
        def __getitem__(self, at):
            return self.x[at[0], at[1]]

    balls, grid = Balls(), Grid()

    @ti.kernel
    def k() -> ti.f32:
        for i in range(3):
            balls[i] = Ball(i, ti.math.vec2(i, 1))
            balls[i].mass += 10
            balls[i].speed.x = 5
        for i, j in ti.ndrange(2, 3):
            grid[i, j] = i * 10 + j
            grid[i, j] += grid[i, j]
        for i in range(100):
            grid[0, 0] += 1
        return balls[2].mass + grid[1, 2]

    show(k(), balls.of.mass.to_numpy().tolist(), balls.of.speed.to_numpy().tolist())
    show(grid.x.to_numpy().tolist())
