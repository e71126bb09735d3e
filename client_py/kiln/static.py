"""What programs steer compilation with: static, grouped, ndrange, loop_config…"""

from . import originals
from .diagnostics import say
from .frontend import active


def static(x, *xs):
    """Evaluates at compile time. Several arguments give a list of them."""
    if xs:
        return [static(x), *[static(y) for y in xs]]
    if hasattr(type(x), "parts"):
        raise say.input_ti_static_must_compile_time(x=x)
    return x


def static_print(*args, **kwargs):
    """Prints while the kernel is compiled."""
    ctx = active.context()
    if ctx is not None and ctx.trace is not None:
        ctx.trace.prints(args, kwargs)
    print(*args, **kwargs)


def static_assert(cond, msg=None):
    """Fails compilation when `cond` is false."""
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
                # An empty dimension must not turn two negative extents into work.
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
        from .matrix import Vector

        for index in self.ndrange:
            yield Vector(list(index))


class Grouped:
    """A field or array whose loop yields one index vector."""

    def __init__(self, field):
        self.field = field


def ndrange(*args):
    return NDRange(*args)


def grouped(x):
    """Loops over `x` with all indices in one vector."""
    return GroupedNDRange(x) if isinstance(x, NDRange) else Grouped(x)


def loop_config(
    *,
    block_dim=None,
    serialize=False,
    parallelize=None,
    block_dim_adaptive=True,
    bit_vectorize=False,
):
    """Directives for the loop that follows in the kernel."""
    ctx = active.context()
    if ctx is None:
        raise say.loop_config_outside_of_a_kernel()
    for value in (block_dim, parallelize):
        if value is not None and not isinstance(value, int):
            from .frontend.expr import kind_of

            raise say.loop_config_of_a_value(kind=kind_of(value))
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
    """Advice on where data should live; nothing depends on it on the CPU."""


block_local = _hint
cache_read_only = _hint
mesh_local = _hint


def assume_in_range(val, base, low, high):
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
