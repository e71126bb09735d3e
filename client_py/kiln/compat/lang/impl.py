"""`taichi.lang.impl`: the current settings and the runtime's counters."""

from ... import runtime


def current_cfg():
    """The settings of the latest `init`."""
    return runtime.cfg


class _Runtime:
    """The attributes of the reference's runtime object that programs use."""

    @property
    def prog(self):
        """None before `init`, otherwise another object. Programs only compare it with None."""
        return self if runtime.initialized else None

    @property
    def default_fp(self):
        return runtime.cfg.default_fp

    @default_fp.setter
    def default_fp(self, dtype):
        runtime.cfg.default_fp = runtime._default_type("default_fp", dtype, {})

    @property
    def default_ip(self):
        return runtime.cfg.default_ip

    @default_ip.setter
    def default_ip(self, dtype):
        runtime.cfg.default_ip = runtime._default_type("default_ip", dtype, {})

    @property
    def default_up(self):
        return runtime.cfg.default_up

    def set_default_fp(self, dtype):
        """Sets the default float type of kernels that are compiled from now on."""
        self.default_fp = dtype

    def set_default_ip(self, dtype):
        """Sets the default integer type, ti.i32 or ti.i64, of kernels compiled from now on."""
        self.default_ip = dtype

    def config(self):
        return runtime.cfg

    def get_num_compiled_functions(self):
        """The number of instances of kernels made since the latest `init`."""
        return runtime.instances_made

    def sync(self):
        runtime.sync()

    def materialize_root_fb(self, is_first_call):
        """Allocates all placed fields."""
        self.materialize()

    def materialize(self):
        from ...data import trees

        trees.materialize()


_runtime = _Runtime()
pytaichi = _runtime


def get_runtime():
    return _runtime


def ti_float(x):
    """`float` in kernels: the default floating point type."""
    from ...ops import cast

    return cast(x, runtime.cfg.default_fp)


def ti_int(x):
    """`int` in kernels: the default integer type."""
    from ...ops import cast

    return cast(x, runtime.cfg.default_ip)


def subscript(value, *indices):
    """`value[indices]`, in Python or in code that a kernel runs at compile time."""
    return value[indices if len(indices) != 1 else indices[0]]


def call_internal(name, *_args, **_options):
    """Raises for all of the reference's internal calls but `test_stack`, which does nothing."""
    if name == "test_stack":
        return
    raise NotImplementedError(f"internal function '{name}' is not supported by Kiln")


def __getattr__(name):
    from .. import find

    return find("lang.impl", name)
