"""Values that are known at compile time."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def static_loops_and_branches(show):
    flag = True

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(10)):
            if ti.static(i == 2):
                continue
            if ti.static(i == 6):
                break
            s += i
        for i, j in ti.static(ti.ndrange(2, 3)):
            s += i * j
        if ti.static(flag):
            s += 14
        else:
            s += 1000
        return s

    show(k())


@case()
def comprehension_and_lists(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(3, ti.i32):
        a = [i * p for i in range(4) if i > 0]
        return ti.Vector(a)

    show(list(k(2)))


@case()
def python_values_stay_python(show):
    table = [1, 4, 9]
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        for i in ti.static(range(len(table))):
            x[i] = table[i]

    k()
    show(numbers(x))


@case()
def template_recursion(show):
    @ti.func
    def product(n: ti.template()):
        result = 1
        if ti.static(n > 1):
            result = n * product(n - 1)
        return result

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        return ti.Vector([product(3), product(4)])

    show(list(k()))


@case()
def global_tables_and_enumerate(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        v = ti.Vector([0, 0, 0])
        for i, c in ti.static(enumerate([3, 1, 2])):
            v[i] = c
        return v

    show(list(k()))


@case()
def fields_in_a_python_list(show):
    fields = [ti.field(ti.i32, ()) for _ in range(2)]

    @ti.kernel
    def k():
        for n in ti.static(range(2)):
            fields[n][None] = n + 1

    k()
    show([f[None] for f in fields])


@case()
def static_if_returns(show):
    @ti.func
    def f(a, flag: ti.template()):
        if ti.static(flag):
            return a + 1
        else:
            return a - 3

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        return ti.Vector([f(4, True), f(4, False)])

    show(list(k()))


@case()
def break_of_static_loop_in_dynamic_if(show):
    @ti.kernel
    def k(a: ti.i32):
        for i in ti.static(range(4)):
            if a == i:
                break

    show.error(k, 1)


@case()
def nested_static(show):
    @ti.kernel
    def k():
        for i in ti.static(ti.static(range(4))):
            pass

    show.error(k)


@case()
def static_assert_on_value(show):
    @ti.kernel
    def k(a: ti.i32):
        ti.static_assert(a > 0)

    show.error(k, 1)
