"""Loops, branches, break, continue and return."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def sum_over_parallel_loop(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(10):
            s += i
        return s

    show(k())


@case()
def ndrange_and_grouped(show):
    x = ti.field(ti.i32, (2, 3))

    @ti.kernel
    def k():
        for i, j in ti.ndrange(2, (0, 3)):
            x[i, j] = i * 10
        for I in ti.grouped(ti.ndrange(2, 3)):
            x[I] += I[1]

    k()
    show(numbers(x))


@case()
def struct_for(show):
    x = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        for i, j in x:
            x[i, j] = i + j
        for I in ti.grouped(x):
            x[I] += 3

    k()
    show(numbers(x))


@case()
def break_and_continue(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        n = 0
        while True:
            n += 1
            if n == 5:
                break
        m = 0
        s = 0
        for _ in range(1):
            for i in range(10):
                if i % 2 == 0:
                    continue
                if i > 6:
                    break
                s += i
            m += 1
        t = 0
        ti.loop_config(serialize=True)
        for i in range(100):
            if i == 6:
                break
            t += i
        return ti.Vector([n, m, t + s - s])

    show(list(k()))


@case()
def chained_comparison(show):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        for i in range(4):
            x[i] = 0
        a = 3
        if 1 < a < 5:
            x[0] = 1
        if 1 < a < 3:
            x[1] = 1
        if 3 <= a <= 3 != 4:
            x[2] = 1
        if not (a == 3):
            x[3] = 1

    k()
    show(numbers(x))


@case()
def and_or_give_operands(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32, z: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([a and b, a or b, z and b, z or 3])

    show(list(k(4, 6, 0)))


@case()
def guarded_element(show):
    x = ti.field(ti.i32, 3)
    y = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        for i in range(3):
            y[i] = x[i] if i < 1 else -1
        if y[0] > 0 and x[0] == 7:
            y[0] = 7

    x[0] = 7
    k()
    show(numbers(y))


@case()
def ternary_promotes(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(3, ti.f32):
        x = 1.0 if a > 0 else -1
        y = 1 if a < 0 else -1.0
        z = ti.select(a > 0, 3.5, 2)
        return ti.Vector([x, y, z])

    show(list(k(1)))


@case()
def while_with_condition(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(2, ti.i32):
        i = n
        steps = 0
        while i > 2 and steps < 100:
            i -= 1
            steps += 1
        return ti.Vector([i, steps])

    show(list(k(5)))


@case()
def empty_and_negative_ranges(show):
    n = ti.field(ti.i32, 3)

    @ti.kernel
    def k(a: ti.i32, b: ti.i32):
        for i, j in ti.ndrange((0, a), (0, b)):
            n[0] += 1
        for i in range(5, a):
            n[1] += 1
        for i, j in ti.ndrange((a, a + 2), (b, 0)):
            n[2] += 1

    k(-2, -3)
    show(numbers(n))


@case()
def while_in_parallel_loop(show):
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(1, 7):
            n = i
            while n > 0:
                n -= 1
                x[0] += 1
                if n == 2:
                    x[1] += 1
                    continue
                if n > 100:
                    break

    k()
    show([x[0], x[1] - 1])


@case()
def for_else(show):
    @ti.kernel
    def k():
        for i in range(10):
            pass
        else:
            pass

    show.error(k)


@case()
def while_else(show):
    @ti.kernel
    def k():
        while True:
            break
        else:
            pass

    show.error(k)


@case()
def ndrange_mismatch(show):
    @ti.kernel
    def k():
        for i in ti.ndrange(2, 3):
            pass

    show.error(k)


@case()
def range_with_step(show):
    @ti.kernel
    def k():
        for i in range(0, 10, 2):
            pass

    show.error(k)


@case()
def loop_over_a_list(show):
    @ti.kernel
    def k():
        for i in [1, 2]:
            pass

    show.error(k)


@case()
def break_in_parallel_loop(show):
    @ti.kernel
    def k():
        for i in range(10):
            break

    show.error(k)


@case()
def dynamic_break_inside_a_static_loop(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for _ in range(1):
            for i in ti.static(range(3)):
                for j in range(10):
                    if j > i:
                        break
                    s += 1
        return s

    show(k())
