"""Functions by which programs control compilation: static, grouped, ndrange, loop_config…"""

from . import active, originals
from .diagnostics import say


def static(x, *xs):
    """Evaluates at compile time: selects a branch, unrolls a loop, or makes a name an alias.

    x: a constant, a Python object, a field, or the range of a loop. Raises TaichiCompilationError
    for a value that is known only at run time. xs: more values; the result is then a list of all.

        @ti.kernel
        def k() -> ti.i32:
            total = 0
            for i in ti.static(range(3)):  # three copies of the body
                total += i
            return total

        print(k())  # prints: 3
    """
    if xs:
        return [static(x), *[static(y) for y in xs]]
    if hasattr(type(x), "parts"):
        raise say.input_ti_static_must_compile_time(x=x)
    return x


def static_print(*args, **kwargs):
    """Prints while the kernel is compiled, not when it runs.

    args, kwargs: the arguments of Python's `print`. Values of the kernel are shown as their types.

        @ti.kernel
        def k(a: ti.f32):
            ti.static_print("compiled for", a.get_shape())

        k(1.0)  # prints: compiled for ()
    """
    ctx = active.context()
    if ctx is not None and ctx.trace is not None:
        ctx.trace.prints(args, kwargs)
    print(*args, **kwargs)


def static_assert(cond, msg=None):
    """Fails the compilation of a kernel if a condition is false.

    cond: a condition known at compile time; raises TaichiTypeError for others. msg: the text of the
    AssertionError.

        @ti.kernel
        def k(n: ti.template()):
            ti.static_assert(n < 10, "too many")

        k(20)  # raises: TaichiCompilationError: too many
    """
    if hasattr(cond, "ctx"):
        raise say.static_assert_with_non_static_condition()
    if not cond:
        raise AssertionError(msg) if msg is not None else AssertionError()


class NDRange:
    """The product of integer ranges; `bounds` are (begin, end) per dimension."""

    def __init__(self, *args):
        bounds = []
        for arg in args:
            if isinstance(arg, (list, tuple, range)):
                if len(arg) != 2:
                    raise say.every_argument_ndrange_should_scalar_or()
                begin, end = arg
            else:
                begin, end = 0, arg
            begin, end = _bound(begin), _bound(end)
            if begin.__class__ is int and end.__class__ is int:
                end = max(begin, end)
            elif len(args) > 1:
                # Clamp to 0: the product of two negative extents would be positive.
                from . import ops

                end = ops.max(begin, end)
            bounds.append((begin, end))
        self.bounds = bounds

    @property
    def dimensions(self):
        return [end - begin for begin, end in self.bounds]

    def __iter__(self):
        from itertools import product

        return product(*[range(begin, end) for begin, end in self.bounds])

    def grouped(self):
        return GroupedNDRange(self)


def _bound(value):
    if value.__class__ is int:
        return value
    if hasattr(value, "ctx"):
        info = value.type
        if not info.shape and info.dtype is not None and not info.dtype.is_float:
            return value.ctx.value(value)
    elif hasattr(value, "__index__"):
        return value.__index__()
    raise say.every_argument_ndrange_should_integer_scalar()


class GroupedNDRange:
    """An ndrange that yields vectors."""

    def __init__(self, ndrange_value):
        self.ndrange = ndrange_value

    def __iter__(self):
        from .values.matrix import Vector

        for index in self.ndrange:
            yield Vector(list(index))


class Grouped:
    """A field or array whose loop yields one index vector."""

    def __init__(self, field):
        self.field = field


def ndrange(*args):
    """The range of a loop over several dimensions: all combinations of their indices.

    args: for each dimension either the end of its range, which then begins at 0, or (begin, end).
    Raises TaichiSyntaxError or TaichiTypeError for values that are not integers.

        @ti.kernel
        def k() -> ti.i32:
            total = 0
            for i, j in ti.ndrange(3, (1, 3)):
                total += i * j
            return total

        print(k())  # prints: 9
    """
    return NDRange(*args)


def grouped(x):
    """Makes a loop yield all its indices in one vector.

    x: the range of the loop: a field, an ndarray or an ndrange.

        x = ti.field(ti.i32, shape=(2, 3))

        @ti.kernel
        def k():
            for I in ti.grouped(x):
                x[I] = I.sum()

        k()
        print(x[1, 2])  # prints: 3
    """
    return GroupedNDRange(x) if isinstance(x, NDRange) else Grouped(x)


def loop_config(
    *,
    block_dim=None,
    serialize=False,
    parallelize=None,
    block_dim_adaptive=True,
    bit_vectorize=False,
):
    """Sets options of the next loop in the kernel.

    serialize: runs an outermost loop in order on one thread. parallelize: the number of threads on
    the CPU. block_dim: the number of iterations that a thread takes at a time. bit_vectorize:
    processes a loop over a quant_array word by word. block_dim_adaptive: accepted without effect.
    Raises TaichiTypeError for options that are known only at run time, and TaichiSyntaxError
    outside of kernels.

        @ti.kernel
        def k() -> ti.i32:
            last = 0
            ti.loop_config(serialize=True)
            for i in range(100):
                last = i
            return last

        print(k())  # prints: 99
    """
    ctx = active.context()
    if ctx is None:
        raise say.loop_config_outside_of_a_kernel()
    for name, value in (("block_dim", block_dim), ("parallelize", parallelize)):
        if value is not None and not isinstance(value, int):
            from .frontend.expr import kind_of

            raise say.loop_config_of_a_value(kind=kind_of(value))
        if value is not None and not 0 <= value < 2**31:
            raise say.loop_config_out_of_range(name=name, value=value)
    config = {}
    if serialize:
        config["serialize"] = True
    if block_dim is not None:
        config["block_dim"] = block_dim
    if parallelize is not None:
        config["parallelize"] = parallelize
    if bit_vectorize:
        config["bit_vectorize"] = True
    ctx.loop_config = config


def _hint(*args):
    """Advice about caches, which Kiln accepts and ignores.

    args: fields.

        x = ti.field(ti.f32, shape=8)

        @ti.kernel
        def k():
            ti.cache_read_only(x)
            for i in x:
                x[i] = 1.0

        k()
    """


def block_local(*args):
    """Advice for the next loop over sparse SNodes: threads that run neighbouring cells read these
    fields around them.

    On CUDA, the threads of a block load the cells around a dense block once, into shared memory.
    The loop has to read them at constant distances (`x[i - 1, j]`) and write to none of them. It
    must not make cells inactive, or have a sum for code outside. All else is read and written as
    without the hint; so is all on the CPU.

    args: fields.

        x, y = ti.field(ti.f32), ti.field(ti.f32)
        ti.root.pointer(ti.i, 4).dense(ti.i, 8).place(x, y)

        @ti.kernel
        def k():
            ti.block_local(x)
            for i in y:
                y[i] = x[i - 1] + x[i + 1]

        k()
    """
    ctx = active.context()
    if ctx is not None:
        ctx.keep_near(args)


cache_read_only = _hint
mesh_local = _hint


def assume_in_range(val, base, low, high):
    """`val`; a promise that base + low <= val < base + high, which nothing depends on on the CPU.

    val, base: integers of a kernel. low, high: constants.

        @ti.kernel
        def k(i: ti.i32) -> ti.i32:
            return ti.assume_in_range(i, 0, 0, 8)

        print(k(3))  # prints: 3
    """
    return val


def loop_unique(val, covers=None):
    return val


# An alias made by static() may be written through.
static._kiln_writes = True

__all__ = [
    "assume_in_range",
    "block_local",
    "cache_read_only",
    "grouped",
    "loop_config",
    "mesh_local",
    "ndrange",
    "static",
    "static_assert",
    "static_print",
]

originals.keep(globals())
