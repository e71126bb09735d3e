"""Errors and warnings that other sections do not show, with their positions."""

# ruff: noqa: F507, F841
import contextlib
import io
import os
import re
import warnings

from harness import case, ti


def stderr_of(function, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stderr(out):
        function(*arguments)
    return out.getvalue().strip()


# --- hints


@case()
def functions_of_numpy_and_math(show):
    import math

    import numpy as np

    x = ti.field(ti.f32, 4)

    @ti.kernel
    def root():
        x[0] = np.sqrt(x[1])

    @ti.kernel
    def other_name():
        x[0] = np.arctan2(x[1], x[2])

    @ti.kernel
    def of_math():
        x[0] = math.radians(x[1])

    @ti.kernel
    def cast():
        x[0] = np.float32(x[1])

    for kernel in (root, other_name, of_math, cast):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            show.error(kernel)


@case(differs="mistakes let pass")
def sum_of_numpy(show):
    import numpy as np

    x = ti.field(ti.f32, 4)

    @ti.kernel
    def k():
        x[0] = np.sum(x[1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show.error(k)


@case()
def fields_and_arrays_for_scalars(show):
    import numpy as np

    @ti.kernel
    def subscripted(a: ti.f32):
        print(a[0])

    @ti.kernel
    def used(a: ti.f32):
        print(a)

    x = ti.field(ti.f32, 4)
    for kernel in (subscripted, used):
        show.error(kernel, x)
    show.error(used, np.ones(3, np.float32))
    show.error(used, ti.ndarray(ti.f32, 4))
    show.error(used, ti.types.struct(a=ti.f32).field(shape=3))
    used(2.0)
    show.error(used, x)  # of a kernel that has run before


@case(differs="calls that trip over Taichi's own code")
def components_after_their_type(show):
    show.error(ti.Vector.field, ti.f32, 3)
    show.error(ti.Matrix.field, ti.f32, 3, 3)
    show.error(ti.Matrix.field, 3, ti.f32, 3)


@case()
def component_types_after_their_type(show):
    show.error(ti.Vector.ndarray, ti.f32, 3, 4)
    show.error(ti.types.vector, ti.f32, 3)
    show.error(ti.types.matrix, 3, ti.f32, 3)


@case()
def types_by_other_names(show):
    import numpy as np

    show.error(ti.field, "f32", 4)
    show.error(ti.field, np.float32, 4)
    show.error(ti.field, 4, ti.f32)


@case()
def vector_of_several_arguments(show):
    @ti.kernel
    def k():
        print(ti.Vector(1.0, 2.0, 3.0))

    show.error(k)


@case()
def parameter_without_annotation(show):
    def make():
        @ti.kernel
        def k(a: ti.i32, b):
            print(a, b)

    show.error(make)


@case()
def values_where_constants_are_wanted(show):
    @ti.kernel
    def config(a: ti.i32):
        ti.loop_config(block_dim=a)
        for i in range(3):
            pass

    @ti.kernel
    def assertion(a: ti.i32):
        assert a > 0, a

    show.error(config, 3)
    show.error(assertion, 3)


@case()
def containers_subscripted_at_run_time(show):
    numbers = (1, 2, 3)

    @ti.kernel
    def of_a_global(i: ti.i32) -> ti.i32:
        return numbers[i]

    @ti.kernel
    def of_the_kernel(i: ti.i32) -> ti.i32:
        own = [1, 2, 3]
        return own[i]

    show.error(of_a_global, 1)
    show.error(of_the_kernel, 1)


@case()
def options_that_fields_do_not_have(show):
    show.error(lambda: ti.field(ti.f32, shap=3))
    show.error(lambda: ti.field(ti.f32, shape=3, layout=ti.Layout.SOA))
    show.error(lambda: ti.Vector.field(3, ti.f32, shape=3, ofset=1))
    show.error(lambda: ti.Matrix.field(3, 3, ti.f32, shape=3, order="i", needs_grads=True))


@case(differs="an unknown member that is assigned, or given to the type")
def misspelt_members_in_python(show):
    S = ti.types.struct(position=ti.f32)
    show.error(lambda: S.field(shape=3).postion)
    show.error(lambda: S(1.0).postion)
    show.error(lambda: setattr(S(1.0), "postion", 3))
    show.error(lambda: S(postion=3))


@case(differs="unknown devices")
def misspelt_devices_and_levels(show):
    show.error(lambda: ti.init(arch="cudda"))
    show.error(lambda: ti.init(arch=ti.cpu, log_level="wran"))


# --- warnings


@case(differs="where warnings go")
def warnings_of_the_runtime(show):
    @ti.kernel
    def k(n: ti.template()):
        pass

    def many():
        for n in range(70):
            k(n)

    show(stderr_of(many))
    show(stderr_of(lambda: ti.init(arch=ti.vulkan)))
    os.environ["TI_DEFAULT_FP"] = "64"
    try:
        show(stderr_of(lambda: ti.init(arch=ti.cpu, default_fp=ti.f32)))
    finally:
        del os.environ["TI_DEFAULT_FP"]


@case()
def empty_builder(show):
    builder = ti.FieldsBuilder()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.finalize()
    # Taichi colours it, and adds where it was called.
    lines = [str(w.message).splitlines()[0] for w in caught]
    show([re.sub(r"\x1b\[\d+m", "", line) for line in lines])


@case()
def wide_loop_bounds(show):
    @ti.kernel
    def k(n: ti.i64):
        for i in range(n):
            pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        k(3)
    show([str(w.message) for w in caught])


# --- errors inside of kernels


@case()
def frames_of_inlined_functions(show):
    @ti.func
    def inner(a):
        return a + nowhere  # noqa: F821

    @ti.func
    def outer(a):
        b = inner(a)
        return b

    @ti.kernel
    def k() -> ti.i32:
        return outer(1)

    show.error(k)


@case()
def frames_of_methods(show):
    @ti.data_oriented
    class Thing:
        @ti.func
        def inner(self, a):
            v = ti.Vector([a, 2])
            return v[a, a]

        @ti.kernel
        def run(self) -> ti.i32:
            return self.inner(1) + 1

    show.error(Thing().run)


@case()
def error_in_a_python_function(show):
    def broken(n):
        return [1, 2][n]

    @ti.kernel
    def k() -> ti.i32:
        return broken(3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show.error(k)


@case(differs="mistakes without a message")
def blocks_nested_too_deep(show):
    @ti.func
    def descend(a, n: ti.template()):
        depth = 0
        if a > n:
            if a > 2 * n:
                if ti.static(n > 0):
                    depth = descend(a, n - 1)
            depth += 1
        return depth

    @ti.kernel
    def k(a: ti.i32, n: ti.template()) -> ti.i32:
        return descend(a, n)

    show(k(200, 100))
    show.error(k, 200, 130)


@case(differs="mistakes without a message")
def functions_that_call_each_other_without_end(show):
    @ti.func
    def f(a):
        return f(a)

    @ti.kernel
    def k() -> ti.i32:
        return f(3)

    try:
        k()
    except ti.TaichiCompilationError as error:
        show(str(error).splitlines()[-1])


@case()
def number_spread_in_a_call(show):
    @ti.func
    def f(a):
        return a

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return f(*n)

    show.error(k, 1)


@case()
def number_taken_apart_by_python(show):
    def length(a):
        return len(a)

    def items(a):
        return list(a)

    @ti.kernel
    def counted(n: ti.i32) -> ti.i32:
        return length(n)

    @ti.kernel
    def listed(n: ti.i32) -> ti.i32:
        return items(n)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show.error(counted, 1)
        show.error(listed, 1)


@case()
def slice_of_a_field(show):
    f = ti.field(ti.i32, 4)

    @ti.kernel
    def k() -> ti.i32:
        return f[0:2]

    show.error(k)


@case(differs="mistakes without a message")
def star_alone(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([*ti.Vector([1, 2]), 3])
        a, *b = v
        return a

    @ti.kernel
    def matching() -> ti.i32:
        a, *b = 1, 2
        return a

    show.error(k)
    show.error(matching)


@case()
def star_as_a_subscript(show):
    f = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k() -> ti.i32:
        index = [0, 1]
        return f[(*index,)]

    show(k())


@case()
def array_parameter_of_a_func(show):
    @ti.func
    def f(a: ti.types.ndarray()):
        return a[0]

    @ti.kernel
    def k() -> ti.i32:
        return f(1)

    show.error(k)


@case()
def texts_as_indices(show):
    @ti.kernel
    def vector() -> ti.i32:
        v = ti.Vector([1, 2])
        return v["x"]

    show.error(vector)


@case()
def vector_of_a_number(show):
    @ti.kernel
    def k(a: ti.i32):
        v = ti.Vector(a)

    show.error(k, 1)


@case()
def break_of_a_kernel_made_of_text(show):
    # Python itself refuses it, before there is a kernel.
    show.error(lambda: compile("def k():\n    break\n", "text", "exec"))


@case()
def percent_formats_that_do_not_fit(show):
    @ti.kernel
    def few(a: ti.i32):
        print("%d %d" % a)

    @ti.kernel
    def fewer(a: ti.i32):
        print("%d %d" % (a,))

    show.error(few, 1)
    show.error(fewer, 1)


@case(differs="mistakes without a message")
def format_with_a_fill_character(show):
    @ti.kernel
    def k(a: ti.i32):
        print(f"{a:*>5}")

    show.error(k, 1)


@case()
def methods_of_numbers(show):
    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        return ti.math.length(a)

    show.error(k, 1.0)


@case(differs="mistakes without a message")
def decompositions_of_other_shapes(show):
    @ti.kernel
    def svd():
        m = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        U, S, V = ti.svd(m)

    @ti.kernel
    def solve():
        m = ti.Matrix([[1.0, 2.0], [4.0, 5.0]])
        x = ti.solve(m, ti.Vector([1.0, 2.0, 3.0]))

    show.error(svd)
    show.error(solve)


@case()
def struct_member_assigned_another_struct(show):
    Pair = ti.types.struct(a=ti.i32, b=ti.i32)
    Other = ti.types.struct(x=ti.i32, y=ti.i32)
    f = Pair.field(shape=2)

    @ti.kernel
    def k():
        f[0] = Other(x=1, y=2)

    show.error(k)


@case(differs="mistakes without a message")
def random_in_python(show):
    show.error(ti.random)
    show.error(ti.randn)


@case(differs="mistakes let pass")
def bits_of_a_python_number(show):
    show.error(ti.bit_cast, 1.0, ti.i32)


# --- values of Python


@case(differs="conversion of arguments")
def argument_out_of_range(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return a

    show.error(k, 1 << 40)


@case()
def struct_arguments(show):
    Pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def k(p: Pair) -> ti.f32:
        return p.a + p.b

    show(k(Pair(a=1, b=2.5)))
    show.error(k, 3)


@case(differs="mistakes let pass")
def too_many_members(show):
    Pair = ti.types.struct(a=ti.i32, b=ti.f32)
    show.error(lambda: Pair(1, 2, 3))


@case(differs="mistakes let pass")
def matrices_of_odd_shapes(show):
    show.error(lambda: ti.Matrix([[[1, 2], [3, 4]]]))
    show.error(lambda: ti.Matrix(3))
    show.error(lambda: ti.Matrix.unit(2, 5))


@case(differs="mistakes let pass")
def vector_of_rows(show):
    show.error(lambda: ti.Vector([[1, 2], [3, 4]]))


@case()
def template_argument_that_cannot_be_compared(show):
    class Odd:
        def __eq__(self, other):
            return self is other

    @ti.kernel
    def k(a: ti.template()):
        pass

    show.error(k, Odd())


@case(differs="mistakes without a message")
def unknown_logging_level(show):
    show.error(ti.set_logging_level, "verbose")


@case()
def shape_of_the_wrong_kind(show):
    show.error(lambda: ti.field(ti.i32, "ab"))
    show.error(lambda: ti.field(ti.i32, (2, 0)))
    show.error(lambda: ti.field(ti.i32, -1))


@case()
def index_of_an_array(show):
    a = ti.ndarray(ti.i32, 4)

    def text():
        return a["x"]

    show.error(text)


@case()
def gradient_array_wanted(show):
    @ti.kernel
    def k(a: ti.types.ndarray(ti.f32, ndim=1, needs_grad=True)):
        pass

    show.error(k, ti.ndarray(ti.f32, 3))


@case()
def element_of_an_array_without_its_axes(show):
    import numpy as np

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.math.vec2)):
        pass

    show.error(k, np.float32(3).reshape(()))


@case(differs="mistakes let pass")
def members_of_a_struct_field_replaced(show):
    f = ti.Struct.field({"a": ti.i32}, shape=2)

    def replace():
        f.a = 3

    show.error(replace)
    show.error(lambda: f.missing)


@case()
def number_that_does_not_fit_an_element(show):
    f = ti.field(ti.i32, 2)

    def store():
        f[0] = 1 << 70

    show.error(store)


@case()
def view_of_no_field(show):
    v = ti.Vector.field(2, ti.f32, 2)
    show.error(lambda: type(v[0])())


# --- features that are missing


@case(differs="what is not there yet")
def sparse_parts(show):
    def pointer():
        f = ti.field(ti.i32)
        ti.root.pointer(ti.i, 4).place(f)
        f[0] = 1

    def dynamic():
        f = ti.field(ti.i32)
        node = ti.root.dynamic(ti.i, 4)
        node.place(f)

        @ti.kernel
        def k():
            f[0] = 1

        k()

    def chunks():
        ti.root.dynamic(ti.i, 1 << 40)

    def axes():
        ti.root.dynamic(ti.ij, 4)

    def below():
        f = ti.field(ti.i32)
        place = ti.root.dense(ti.i, 2).place(f)
        f.snode.dense(ti.i, 2)

    def append():
        f = ti.field(ti.i32)
        node = ti.root.dynamic(ti.i, 4)
        node.place(f)

        @ti.kernel
        def k():
            ti.append(node, 0, 1)

        k()

    def active():
        f = ti.field(ti.i32)
        node = ti.root.pointer(ti.i, 4)
        node.place(f)
        node.deactivate_all()

    def loop():
        f = ti.field(ti.i32)
        node = ti.root.pointer(ti.i, 4)
        node.place(f)

        @ti.kernel
        def k():
            for i in node:
                pass

        k()

    for make in (pointer, dynamic, chunks, axes, below, append, active, loop):
        ti.init(arch=ti.cpu)
        show.error(make)


@case(differs="what is not there yet")
def mixed_matrices(show):
    show.error(lambda: ti.Matrix.field(2, 1, [ti.f32, ti.i32], shape=2))


@case()
def elements_without_components(show):
    show.error(ti.Vector.field, 0, ti.f32, shape=2)
    show.error(ti.ndarray, ti.types.vector(0, ti.f32), 2)
