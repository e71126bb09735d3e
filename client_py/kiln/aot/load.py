"""Loading modules: kernels and fields of a file, without the front end and the compiler."""

import os

from .. import _native, provided
from .. import types as ti_types
from ..arch import cpu, cuda
from ..diagnostics import say

_DEVICES = {None: "best", cpu: "cpu", cuda: "cuda"}  # kiln_context_options.device

# kiln_status (libkiln/include/kiln/kiln.h) -> the exception with that text.
_EXCEPTIONS = {
    3: lambda text: say.module_argument(text=text),
    9: lambda text: say.module_does_not_fit(text=text),
    10: lambda text: say.module_kernel_failed(text=text),
    14: lambda text: say.module_unavailable(text=text),
    15: lambda text: say.module_is_damaged(text=text),
}


def load(path, seed=0, trusted=None, arch=None):
    """Loads a module that `kiln export` or ti.aot.Module wrote.

    path: the file, or the directory that Module.save made. seed: of the random numbers of its
    kernels. trusted: a file of public keys (`kiln key`), or several: the module must be signed by
    one of them (`kiln export --sign`). arch: ti.cpu or ti.cuda, on which its kernels run; None:
    CUDA, if the module has code for a device that is there, else the CPU. Needs neither ti.init nor
    a daemon. Raises OSError if the file cannot be read, and ValueError if it is damaged or not a
    module. Raises RuntimeError if it does not fit this machine, and PermissionError if no trusted
    key signed it.

        @ti.kernel
        def double(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
            for i in a:
                a[i] *= 2

        module = ti.aot.Module()
        module.add_kernel(double)
        module.export("/tmp/double.kiln")
        numbers = ti.ndarray(ti.i32, 2)
        numbers.fill(4)
        ti.aot.load("/tmp/double.kiln").double(numbers)
        print(numbers.to_numpy())  # prints: [8 8]
    """
    path = os.fspath(path)
    if arch not in _DEVICES:
        raise say.module_for_other_arch(arch=arch)
    device = _DEVICES[arch]
    if os.path.isdir(path):
        path = os.path.join(path, "module.kiln")
    if trusted is not None:
        from .signed import trusted_bytes

        # What was checked is what is loaded, whatever happens to the file meanwhile.
        data = trusted_bytes(path, trusted)
        return LoadedModule(_checked(_native.LoadedModule, data, device), seed)
    return LoadedModule(_checked(_native.LoadedModule, path, device), seed)


def _checked(call, *args):
    """The call's result; errors of the module as exceptions of ours."""
    try:
        return call(*args)
    except _native.ModuleError as error:
        code, text = error.args
    raise _EXCEPTIONS.get(code, RuntimeError)(text)


class LoadedModule:
    """A module with memory for its fields: what `load` returns. `module.NAME` is a kernel, a field
    or a graph; `module["NAME"]` one whose name is no Python name.

    Example::

        x = ti.field(ti.i32, shape=())

        @ti.kernel
        def step():
            x[None] += 1

        made = ti.aot.Module()
        made.add_field("x", x)
        made.add_kernel(step)
        made.export("/tmp/step.kiln")
        module = ti.aot.load("/tmp/step.kiln")
        module.step()
        other = module.world()
        print(module.x.to_numpy(), other.x.to_numpy())  # prints: 1 0
    """

    def __init__(self, module, seed):
        self._module = module
        self._world = _checked(_native.LoadedWorld, module, seed)

    @property
    def name(self):
        """The module's name."""
        return self._module.name

    @property
    def target(self):
        """The target of the loaded code, as "x86-64-v3" or "sm_90"."""
        return self._module.target

    @property
    def kernels(self):
        """{name: kernel}."""
        return {name: getattr(self, name) for name in self._module.kernels()}

    @property
    def fields(self):
        """{name: field}."""
        return {name: getattr(self, name) for name in self._module.fields()}

    @property
    def graphs(self):
        """{name: graph}."""
        return {name: getattr(self, name) for name in self._module.graphs()}

    def world(self, seed=0):
        """The same module with other memory: all fields are zero.

        seed: of random numbers.
        """
        return LoadedModule(self._module, seed)

    def seed(self, seed):
        """Restarts the random numbers of kernels.

        seed: an integer from 0 to 2**64 - 1.
        """
        _checked(self._world.seed, seed)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        module = self.__dict__["_module"]
        if name in module.kernels():
            made = ModuleKernel(self._world, name)
        elif name in module.fields():
            made = ModuleField(module, self._world, name)
        elif name in module.graphs():
            made = ModuleGraph(self._world, name)
        else:
            names = [*module.kernels(), *module.fields(), *module.graphs()]
            raise say.loaded_module_has_no_attribute(module=module.name, name=name, known=names)
        self.__dict__[name] = made  # the next use finds it without this function
        return made

    def __getitem__(self, name):
        return getattr(self, name)

    def __dir__(self):
        module = self._module
        return [*super().__dir__(), *module.kernels(), *module.fields(), *module.graphs()]

    def __repr__(self):
        kernels = ", ".join(self._module.kernels())
        return f"<module {self.name} for {self.target}: {kernels}>"


class ModuleKernel:
    """A kernel of a loaded module; calling it launches it."""

    def __init__(self, world, name):
        self.__name__ = name
        self._kernel = _checked(world.kernel, name)
        self._shapes = self._kernel.result_shapes()

    @property
    def signature(self):
        """Its parameters and results, as "fill(a: f32)"."""
        return self._kernel.signature

    def __call__(self, *args):
        results = [
            _tensor(result, shape)
            for result, shape in zip(_checked(self._kernel, *args), self._shapes)
        ]
        if len(results) < 2:
            return results[0] if results else None
        return tuple(results)

    def __repr__(self):
        return f"<kernel {self.signature}>"


def _tensor(numbers, shape):
    if shape is None:
        return numbers
    if len(shape) == 1:
        return provided.Vector(list(numbers))
    rows, columns = shape
    return provided.Matrix([list(numbers[r * columns : (r + 1) * columns]) for r in range(rows)])


class ModuleField:
    """A field of a loaded module: its elements are copied as NumPy arrays."""

    def __init__(self, module, world, name):
        self.name = name
        self._world = world
        scalar, self.shape, self.element_shape, self.first, _, self.is_sparse = module.field(name)
        self.dtype = ti_types.BY_SCALAR[scalar]

    def to_numpy(self):
        """A copy of all elements; inactive cells are zeros."""
        import numpy as np

        array = np.empty(self.shape + self.element_shape, self.dtype.numpy_name)
        _checked(self._world.read, self.name, array)
        return array

    def from_numpy(self, array):
        """Sets all elements; skips inactive cells.

        array: of the field's shape, then that of its elements; converted to the field's dtype.
        Raises ValueError for other shapes.
        """
        import numpy as np

        array = np.asarray(array, self.dtype.numpy_name, order="C")
        if array.shape != self.shape + self.element_shape:
            raise say.module_field_of_other_shape(
                name=self.name, shape=self.shape + self.element_shape, got=array.shape
            )
        _checked(self._world.write, self.name, array)

    def __repr__(self):
        return f"<field {self.name}: {self.dtype}, {self.shape}>"


class ModuleGraph:
    """A graph of a loaded module."""

    def __init__(self, world, name):
        self.name = name
        self._world = world

    def run(self, args):
        """Runs the launches.

        args: {name: value} of all arguments; values of other names are ignored.
        """
        _checked(self._world.run_graph, self.name, dict(args))

    def __repr__(self):
        return f"<graph {self.name}>"
