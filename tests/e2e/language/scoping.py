"""Scopes of names: of blocks, loops, functions and kernels, and static names."""

# ruff: noqa: A001, E741, F821, F823, F841
from harness import case, numbers, ti


@case()
def locals_are_mutable_in_loops(show):
    x = ti.field(ti.i32, 5)

    @ti.kernel
    def k():
        for _ in range(1):
            s = 0
            for i in range(5):
                s += i
                x[i] = s

    k()
    show(numbers(x))


@case()
def walrus(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        b = 2 + (a := 5)
        b += a
        return ti.Vector([b, a])

    show(list(k()))


@case()
def loop_variable_names_return(show):
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(2):
            v = 1
            x[i] = v + i
        for i in range(2):
            v = 6
            x[i] += v + i - i
        if x[0] == 7:
            i = 1
            x[i] += i

    k()
    show(numbers(x))


@case()
def name_that_is_nowhere(show):
    @ti.kernel
    def k():
        a = undefined_name  # noqa: F821

    show.error(k)


@case()
def loop_variable_is_taken(show):
    @ti.kernel
    def k():
        i = 3
        for i in range(10):
            pass

    show.error(k)


# --- scopes of names


@case()
def name_of_a_block_used_after_it(show):
    @ti.kernel
    def branch(a: ti.i32) -> ti.i32:
        if a > 0:
            b = 1
        return b

    @ti.kernel
    def loop() -> ti.i32:
        for i in range(3):
            b = i
        return b

    @ti.kernel
    def loop_variable() -> ti.i32:
        for i in range(3):
            pass
        return i

    @ti.kernel
    def while_body() -> ti.i32:
        n = 3
        while n > 0:
            b = n
            n -= 1
        return b

    @ti.kernel
    def other_branch(a: ti.i32) -> ti.i32:
        if a > 0:
            b = 1
        else:
            c = b
        return 0

    show.error(branch, 1)
    show.error(loop)
    show.error(loop_variable)
    show.error(while_body)
    show.error(other_branch, 1)


@case()
def name_of_a_static_branch_used_after_it(show):
    @ti.kernel
    def k() -> ti.i32:
        if ti.static(True):
            b = 7
        return b

    show.error(k)


@case()
def name_of_a_static_loop_used_after_it(show):
    @ti.kernel
    def k() -> ti.i32:
        for i in ti.static(range(2)):
            b = i
        return b

    show.error(k)


@case()
def use_before_definition(show):
    @ti.kernel
    def k() -> ti.i32:
        a = b
        b = 1
        return a

    show.error(k)


@case()
def augmented_name_that_is_nowhere(show):
    @ti.kernel
    def k():
        nowhere += 1

    show.error(k)


@case()
def augmented_global(show):
    counter = 3

    @ti.kernel
    def k():
        counter += 1

    show.error(k)


@case()
def both_branches_define(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        r = 0
        if a > 0:
            b = 1
            r = b
        else:
            b = 2.5
            r = int(b * 2)
        return r

    show(k(1), k(-1))


@case()
def inner_names_shadow_nothing(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 1
        for i in range(3):
            a = i + 10
        for i in range(2):
            b = a
            b += 1
        return a

    show.error(k)


@case()
def shadowing_of_globals(show):
    a = 5

    @ti.kernel
    def k() -> ti.i32:
        a = 1
        a += 1
        return a

    show(k(), a)


@case()
def shadowing_of_builtins(show):
    @ti.kernel
    def k() -> ti.i32:
        max = 3
        sum = max + 1
        return sum

    show(k())


@case()
def loop_variable_of_two_loops(show):
    f = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        for i in range(4):
            f[i] = i
        for i in range(2):
            f[i] += 10

    k()
    show(f)


@case()
def loop_variable_of_an_inner_loop(show):
    @ti.kernel
    def k():
        for i in range(3):
            for i in range(2):
                pass

    show.error(k)


@case()
def loop_variable_that_is_an_argument(show):
    @ti.kernel
    def k(i: ti.i32):
        for i in range(3):
            pass

    show.error(k, 1)


@case()
def loop_variable_that_is_a_name_before(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def struct():
        i = 1
        for i in f:
            pass

    @ti.kernel
    def grouped():
        I = 1
        for I in ti.grouped(f):
            pass

    @ti.kernel
    def static():
        i = 1
        for i in ti.static(range(2)):
            pass

    for kernel in (struct, grouped, static):
        show.error(kernel)


@case(differs="mistakes let pass")
def ndrange_variable_that_is_a_name_before(show):
    @ti.kernel
    def k():
        j = 1
        for i, j in ti.ndrange(2, 2):
            pass

    show.error(k)


@case(differs="assigning to a loop variable")
def loop_variables_can_be_assigned(show):
    f = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        for i in range(4):
            i = i * 2
            if i < 4:
                f[i] = i + 1

    show.error(k)
    show(f)


@case()
def static_names(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def k() -> ti.i32:
        g = ti.static(f)
        g[1] = 3
        n = ti.static(4)
        s = 0
        for i in ti.static(range(n)):
            s += i
        a, b = ti.static(1, 2)
        for i in ti.static(range(a, b)):
            s += 100
        return s

    show(k(), f)


@case()
def static_names_of_elements(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def element():
        f[0] = ti.static(1)

    @ti.kernel
    def annotated():
        a: ti.i32 = ti.static(1)

    @ti.kernel
    def count():
        a, b = ti.static(1, 2, 3)

    @ti.kernel
    def twice():
        a = ti.static(1)
        a = ti.static(2)

    for kernel in (element, annotated, count, twice):
        show.error(kernel)


@case()
def static_of_a_run_time_value(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        b = ti.static(a)
        return b

    show.error(k, 3)


@case()
def static_condition_at_run_time(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        b = 0
        if ti.static(a > 0):
            b = 1
        return b

    show.error(k, 3)


@case()
def names_of_a_func_are_its_own(show):
    @ti.func
    def f():
        a = 5
        a += 1
        return a

    @ti.kernel
    def k() -> ti.i32:
        a = 1
        b = f()
        return a * 10 + b

    show(k())


@case()
def names_of_the_kernel_are_not_the_functions(show):
    @ti.func
    def f():
        return secret

    @ti.kernel
    def k() -> ti.i32:
        secret = 1
        return f()

    show.error(k)


@case(differs="mistakes without a message")
def empty_cell_of_a_closure(show):
    def make():
        @ti.kernel
        def k() -> ti.i32:
            return later

        show.error(k)
        later = 3
        return k

    make()


@case()
def names_near_a_misspelling(show):
    velocity = 2
    f = ti.Struct.field({"position": ti.f32, "mass": ti.f32}, shape=2)
    Pair = ti.types.struct(first=ti.i32, second=ti.i32)

    @ti.kernel
    def name() -> ti.i32:
        return velocty

    @ti.kernel
    def local() -> ti.i32:
        particle_count = velocity
        return particle_cuont

    @ti.kernel
    def function() -> ti.f32:
        return ti.sqtr(2.0)

    @ti.kernel
    def member() -> ti.f32:
        return f[0].positon

    @ti.kernel
    def of_value() -> ti.i32:
        p = Pair(first=1, second=2)
        return p.secnd

    @ti.kernel
    def method() -> ti.f32:
        return ti.Vector([1.0, 2.0]).normalised()

    @ti.kernel
    def swizzle() -> ti.f32:
        return ti.Vector([1.0, 2.0]).xz

    for kernel in (name, local, function, member, of_value, method):
        show.error(kernel)
    show.error(swizzle)
    show.error(lambda: ti.init(arch=ti.cpu, kernel_profilr=True))
    show.error(lambda: ti.sqtr)
