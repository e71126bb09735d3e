"""Variables: where they live, what types them, assignment of every kind."""

# ruff: noqa: E741, F821, F841
from harness import case, ti


def numbers(array):
    return array.to_numpy().tolist()


@case()
def first_assignment_types_the_variable(show):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        a = 1
        x[0] = a
        a = 2.9
        x[1] = a
        b = 3.7
        b = 3
        x[2] = b
        c: ti.i32 = 4.9
        x[3] = c

    k()
    show(numbers(x))


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
def unpacking_and_swap(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a, b = 1, 2
        a, b = b, a
        v = ti.Vector([3, 4])
        c, _ = v
        return ti.Vector([a, b, c])

    show(list(k()))


@case()
def augmented_operators(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a = 7
        a //= 2
        a **= 2
        a %= 8
        b = 1
        b <<= 3
        b >>= 1
        b |= 1
        c = 13
        c &= 11
        c ^= 0
        return ti.Vector([a, b, c])

    show(list(k()))


@case()
def augmented_value_is_cast_first(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = 3
        a += 0.7
        b = 3
        b *= 0.9
        return ti.Vector([a, b])

    show(list(k()))


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
def argument_is_immutable(show):
    @ti.kernel
    def k(a: ti.i32):
        a = 1

    show.error(k, 1)


@case()
def argument_is_immutable_augmented(show):
    @ti.kernel
    def k(a: ti.i32):
        a += 1

    show.error(k, 1)


@case()
def loop_variable_is_taken(show):
    @ti.kernel
    def k():
        i = 3
        for i in range(10):
            pass

    show.error(k)


@case()
def unpack_mismatch(show):
    @ti.kernel
    def k():
        a, b = 1, 2, 3

    show.error(k)


@case()
def write_to_a_python_object(show):
    table = [1, 2]

    @ti.kernel
    def k():
        table[0] = 1

    show.error(k)
