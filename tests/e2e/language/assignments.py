"""Variables: what is assigned to them, their types, and all kinds of assignment."""

# ruff: noqa: A001, E741, F821, F823, F841
from harness import case, numbers, ti


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


@case()
def assignment_converts_to_the_first_type(show):
    @ti.kernel
    def k() -> ti.f32:
        a = 1
        a = 2.9
        b = 1.5
        b = 3
        return a * 100 + b

    show(k())


@case()
def assignment_of_another_shape(show):
    @ti.kernel
    def vector():
        a = ti.Vector([1, 2])
        a = ti.Vector([1, 2, 3])

    @ti.kernel
    def matrix():
        a = ti.Vector([1, 2])
        a = ti.Matrix([[1, 2], [3, 4]])

    for kernel in (vector, matrix):
        show.error(kernel)


@case(differs="mistakes let pass")
def number_assigned_a_vector(show):
    @ti.kernel
    def k():
        a = 1
        a = ti.Vector([1, 2])

    show.error(k)


@case()
def vector_assigned_a_number(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = ti.Vector([1, 2])
        a = 5
        return a

    show.error(k)


@case()
def vector_assigned_a_list(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = ti.Vector([1, 2])
        a = [3, 4]
        return a

    show.error(k)


@case(differs="plain Python")
def list_assigned_a_list(show):
    @ti.kernel
    def k() -> ti.i32:
        a = [1, 2]
        a = [3, 4]
        return a[0] * 10 + a[1]

    show.error(k)


@case()
def second_annotation_of_a_name(show):
    @ti.kernel
    def same() -> ti.i32:
        a: ti.i32 = 1
        a: ti.i32 = 2
        return a

    @ti.kernel
    def other() -> ti.i32:
        a: ti.i32 = 1
        a: ti.f32 = 2
        return a

    show.error(same)
    show.error(other)


@case()
def assignment_to_what_is_no_variable(show):
    f = ti.field(ti.i32, 2)

    class Space:
        n = 1

    table = {"a": 1}

    @ti.kernel
    def field():
        f = 1

    @ti.kernel
    def whole_field():
        f[None] = 1

    @ti.kernel
    def attribute():
        Space.n = 2

    @ti.kernel
    def entry():
        table["a"] = 2

    @ti.kernel
    def function():
        ti.sin = 3

    for kernel in (field, whole_field, attribute, entry, function):
        show.error(kernel)


@case(differs="mistakes let pass")
def elements_of_an_argument(show):
    pack = ti.types.argpack(v=ti.math.vec2)

    @ti.kernel
    def element(v: ti.types.vector(2, ti.i32)) -> ti.i32:
        v[0] = 5
        return v.sum()

    @ti.kernel
    def swizzle(v: ti.types.vector(2, ti.i32)) -> ti.i32:
        v.x = 5
        return v.sum()

    @ti.kernel
    def augmented(m: ti.math.mat2) -> ti.f32:
        m[0, 1] += 5
        return m.sum()

    @ti.kernel
    def filled(v: ti.types.vector(2, ti.i32)) -> ti.i32:
        v.fill(5)
        return v.sum()

    @ti.kernel
    def of_a_pack(p: pack) -> ti.f32:
        p.v[0] = 5
        return p.v[0]

    @ti.real_func
    def real(v: ti.types.vector(2, ti.i32)) -> ti.i32:
        v[0] = 5
        return v.sum()

    @ti.kernel
    def of_a_real_function() -> ti.i32:
        return real(ti.Vector([1, 2]))

    show.error(element, ti.Vector([1, 2]))
    show.error(swizzle, ti.Vector([1, 2]))
    show.error(augmented, ti.math.mat2(1))
    show.error(filled, ti.Vector([1, 2]))
    show.error(of_a_pack, pack(v=[1, 2]))
    show.error(of_a_real_function)


@case()
def objects_given_a_name(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def field():
        g = f
        g[0] = 1

    @ti.kernel
    def text():
        a = "abc"

    @ti.kernel
    def module():
        a = ti

    @ti.kernel
    def dtype() -> ti.i32:
        t = ti.i32
        return ti.cast(3.7, t)

    @ti.kernel
    def function():
        s = ti.sin

    for kernel in (field, text, module, dtype, function):
        show.error(kernel)
