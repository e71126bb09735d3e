# ruff: noqa: E741, F841
"""Programs that must not compile, and what their errors say: class, and pieces of
text in this order. ERRORS is checked against the reference as language_cases is."""

import os

if os.environ.get("KILN_TEST_REFERENCE"):
    import taichi as ti
else:
    import kiln as ti

ERRORS = []


def error(kind, *pieces):
    def register(function):
        ERRORS.append((function, kind, pieces))
        return function

    return register


@error(ti.TaichiNameError, "line", "in k:", "^", 'Name "undefined_name" is not defined')
def undefined_name_():
    @ti.kernel
    def k():
        a = undefined_name  # noqa: F821

    k()


@error(
    ti.TaichiCompilationError,
    "in k:",
    "outer()",
    "^^^^^^^",
    "in outer:",
    "inner()",
    "in inner:",
    "1 + 2j",
)
def through_inlined_functions():
    @ti.func
    def inner():
        a = 1 + 2j

    @ti.func
    def outer():
        inner()

    @ti.kernel
    def k():
        outer()

    k()


@error(ti.TaichiSyntaxError, "Return inside non-static if/for is not supported")
def return_in_branch():
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        if a > 0:
            return 1
        return 0

    k(1)


@error(ti.TaichiSyntaxError, 'Kernel argument "a" is immutable in the kernel.')
def argument_is_immutable():
    @ti.kernel
    def k(a: ti.i32):
        a = 1

    k(1)


@error(ti.TaichiSyntaxError, 'Kernel argument "a" is immutable in the kernel.')
def argument_is_immutable_augmented():
    @ti.kernel
    def k(a: ti.i32):
        a += 1

    k(1)


@error(ti.TaichiSyntaxError, "Variable 'i' is already declared in the outer scope")
def loop_variable_is_taken():
    @ti.kernel
    def k():
        i = 3
        for i in range(10):
            pass

    k()


@error(ti.TaichiSyntaxError, "'else' clause for 'for' not supported in Taichi kernels")
def for_else():
    @ti.kernel
    def k():
        for i in range(10):
            pass
        else:
            pass

    k()


@error(ti.TaichiSyntaxError, "'else' clause for 'while' not supported in Taichi kernels")
def while_else():
    @ti.kernel
    def k():
        while True:
            break
        else:
            pass

    k()


@error(ti.TaichiSyntaxError, "break", "non-static `if`")
def break_of_static_loop_in_dynamic_if():
    @ti.kernel
    def k(a: ti.i32):
        for i in ti.static(range(4)):
            if a == i:
                break

    k(1)


@error(ti.TaichiSyntaxError, "'ti.static' cannot be nested")
def nested_static():
    @ti.kernel
    def k():
        for i in ti.static(ti.static(range(4))):
            pass

    k()


@error(IndexError, "Field with dim 2 accessed with indices of dim 1")
def wrong_number_of_indices():
    x = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        x[0] = 1

    k()


@error(ti.TaichiSyntaxError, 'Operator "is" in Taichi scope is not supported.')
def is_operator():
    b = 3

    @ti.kernel
    def k(a: ti.i32):
        c = a is b

    k(1)


@error(ti.TaichiSyntaxError, "only supported inside `ti.static`")
def membership():
    @ti.kernel
    def k():
        c = 1 in [1, 2]

    k()


@error(ti.TaichiSyntaxError, "Function definition is not allowed in 'ti.kernel'.")
def nested_function():
    @ti.kernel
    def k():
        def f():
            pass

    k()


@error(ti.TaichiSyntaxError, 'Unsupported node "Try"')
def unsupported_statement():
    @ti.kernel
    def k():
        try:
            pass
        except ValueError:
            pass

    k()


@error(ti.TaichiSyntaxError, "The number of targets is not equal to value length")
def unpack_mismatch():
    @ti.kernel
    def k():
        a, b = 1, 2, 3

    k()


@error(ti.TaichiSyntaxError, "Ndrange for loop with number of the loop variables not equal to")
def ndrange_mismatch():
    @ti.kernel
    def k():
        for i in ti.ndrange(2, 3):
            pass

    k()


@error(ti.TaichiSyntaxError, "Range should have 1 or 2 arguments, found 3")
def range_with_step():
    @ti.kernel
    def k():
        for i in range(0, 10, 2):
            pass

    k()


@error(ti.TaichiCompilationError, "`transpose()` cannot apply to a vector")
def transpose_of_a_vector():
    @ti.kernel
    def k():
        a = ti.Vector([1, 2]).transpose()

    k()


@error(ti.TaichiSyntaxError, "Negative indices are not supported in Taichi kernels.")
def negative_index():
    @ti.kernel
    def k():
        a = ti.Vector([1, 2])
        b = a[-1]

    k()


@error(ti.TaichiTypeError, "exceeded the range of default_ip: i32")
def literal_out_of_range():
    @ti.kernel
    def k():
        a = 2147483648

    k()


@error(ti.TaichiSyntaxError, "must be annotated", "return type")
def return_without_annotation():
    @ti.kernel
    def k():
        return 1

    k()


@error(ti.TaichiCompilationError, "Kernels cannot call other kernels")
def kernel_in_kernel():
    @ti.kernel
    def a():
        pass

    @ti.kernel
    def k():
        a()

    k()


@error(ti.TaichiCompilationError, "Only Taichi fields (via template) or dense arrays")
def loop_over_a_list():
    @ti.kernel
    def k():
        for i in [1, 2]:
            pass

    k()


@error(ti.TaichiTypeError, "unsupported operand", "i32")
def shift_of_floats():
    @ti.kernel
    def k(a: ti.f32):
        b = a << 1

    k(1.0)


@error(ti.TaichiSyntaxError, "Cannot break in the outermost loop")
def break_in_parallel_loop():
    @ti.kernel
    def k():
        for i in range(10):
            break

    k()


@error(ti.TaichiCompilationError, "Static assert with non-static condition")
def static_assert_on_value():
    @ti.kernel
    def k(a: ti.i32):
        ti.static_assert(a > 0)

    k(1)


@error(ti.TaichiSyntaxError, "cannot be assigned. Maybe it is not a Taichi object?")
def write_to_a_python_object():
    table = [1, 2]

    @ti.kernel
    def k():
        table[0] = 1

    k()
