"""`taichi.lang.impl`: the current settings and what the runtime counts."""

from .. import runtime


def current_cfg():
    """The settings of the latest `init`."""
    return runtime.cfg


class _Runtime:
    """What programs ask of the reference's runtime object."""

    @property
    def prog(self):
        """Something after `init`, None before: all that callers compare it with."""
        return self if runtime.initialized else None

    @property
    def default_fp(self):
        return runtime.cfg.default_fp

    @property
    def default_ip(self):
        return runtime.cfg.default_ip

    def config(self):
        return runtime.cfg

    def get_num_compiled_functions(self):
        """How many kernel instances this process has compiled or fetched."""
        return int(runtime.session_stats()["kernels"])

    def sync(self):
        runtime.sync()

    def materialize(self):
        from .. import snode

        snode.materialize()


_runtime = _Runtime()
pytaichi = _runtime


def get_runtime():
    return _runtime


def ti_float(x):
    """`float` in kernels: the default floating point type."""
    from ..ops import cast

    return cast(x, runtime.cfg.default_fp)


def ti_int(x):
    """`int` in kernels: the default integer type."""
    from ..ops import cast

    return cast(x, runtime.cfg.default_ip)


def subscript(value, *indices):
    """An element, in Python or in a kernel's compile-time code."""
    return value[indices if len(indices) != 1 else indices[0]]


def call_internal(name, *_args, **_options):
    """Internal calls are the reference's own; none is supported."""
    raise NotImplementedError(f"internal function '{name}' is not supported by Kiln")


def __getattr__(name):
    from ..compat import find

    return find("lang.impl", name)
