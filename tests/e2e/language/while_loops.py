"""`while`, and `else` after loops."""

# ruff: noqa: E741, F841, B007, B020, PERF
from harness import case, ti


@case()
def while_loops(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(4, ti.i32):
        a = n
        while a > 1:
            a //= 2
        b = 0
        while True:
            b += 1
            if b > n:
                break
        c = 0
        d = 0
        while c < n and d < 100:
            c += 1
            if c % 2:
                continue
            d += c
        while False:
            d = -1
        return ti.Vector([a, b, c, d])

    show(k(9), k(0))


@case()
def while_one(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 0
        while 1:
            a += 1
            if a == 4:
                break
        return a

    show(k())


@case()
def nested_whiles(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        i = 0
        while i < n:
            j = 0
            while True:
                if j > i:
                    break
                s += 1
                j += 1
            i += 1
        return s

    show(k(4))


@case()
def while_with_a_vector(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        while v:
            v -= 1

    show.error(k)


@case()
def while_with_a_float(show):
    @ti.kernel
    def k(a: ti.f32) -> ti.i32:
        n = 0
        b = a
        while b:
            b -= 1.0
            n += 1
        return n

    show(k(3.0))


@case()
def while_else(show):
    @ti.kernel
    def k():
        a = 1
        while a > 0:
            a -= 1
        else:
            a = 3

    show.error(k)


@case()
def for_else(show):
    @ti.kernel
    def k():
        for i in range(3):
            pass
        else:
            a = 3

    show.error(k)
