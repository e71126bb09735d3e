# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.aot`: modules, files with compiled kernels that run without compiler, daemon and source."""

from typing import Any
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
    def __init__(self, module: Any, seed: Any) -> None: ...
    def __getattr__(self, name: Any) -> Any: ...
    def __getitem__(self, name: Any) -> Any: ...
    @property
    def fields(self) -> Any:
        """{name: field}."""
    @property
    def graphs(self) -> Any:
        """{name: graph}."""
    @property
    def kernels(self) -> Any:
        """{name: kernel}."""
    @property
    def name(self) -> Any:
        """The module's name."""
    def seed(self, seed: Any) -> Any:
        """Restarts the random numbers of kernels.

        seed: an integer from 0 to 2**64 - 1.
        """
    @property
    def target(self) -> Any:
        """The target of the loaded code, as "x86-64-v3" or "sm_90"."""
    def world(self, seed: Any = 0) -> Any:
        """The same module with other memory: all fields are zero.

        seed: of random numbers.
        """
class Module:
    """Kernels and graphs to be exported, with the fields that they use.

    arch: ti.cpu or ti.cuda, or None for the arch of ti.init. caps: ignored. targets: those for
    which kernels are compiled, in place of the arch's default. They are levels of x86-64, and CUDA
    devices as "sm_90" (machine code) or "compute_80" (PTX). A program that loads the module gets
    the best that its machine runs. glibc: the oldest glibc 2.N on which the module has to run, as
    the number N.

    Example::

        x = ti.field(ti.f32, shape=8)

        @ti.kernel
        def fill(a: ti.f32):
            for i in x:
                x[i] = a * i

        module = ti.aot.Module()
        module.add_field("x", x)
        module.add_kernel(fill)
        module.export("/tmp/fill.kiln")
        loaded = ti.aot.load("/tmp/fill.kiln")
        loaded.fill(2.0)
        print(loaded.x.to_numpy()[3])  # prints: 6.0
    """
    def __init__(self, arch: Any = None, caps: Any = None, targets: Any = None, glibc: Any = 28) -> None: ...
    def add_field(self, name: Any, field: Any) -> Any:
        """Adds a field, which programs then access by its name. Kernels find the fields that they
        use without this.

        name: in the module. field: the field; also of vectors, matrices or structs, sparse, or with
        a gradient, which gets the name `name.grad`. A mesh adds its attributes, as `name.verts.x`.
        Raises RuntimeError if the name is taken, TypeError for anything but a field or mesh.
        """
    def add_graph(self, name: Any, graph: Any) -> Any:
        """Adds a graph, with the kernels that it launches.

        name: in the module. graph: what GraphBuilder.compile returned. Raises RuntimeError if the
        name is taken, TaichiCompilationError for a launch with an ndarray in place of an argument.
        """
    def add_kernel(self, kernel_fn: Any, template_args: Any = None, name: Any = None) -> Any:
        """Adds a kernel, compiled when the module is written.

        kernel_fn: the kernel, a method that is one, or a gradient (`kernel.grad`). template_args:
        {parameter: the value or array for which it is compiled}, for parameters whose annotation
        does not say it. name: in the module; by default the kernel's own. Raises RuntimeError if
        the name is taken, TaichiCompilationError for a parameter without a type or value.
        """
    def add_kernel_template(self, kernel_fn: Any) -> Any:
        """A context in which `instantiate(parameter=value, …)` adds a kernel for values of its
        ti.template() parameters, as NAME[parameter=value].

        kernel_fn: the kernel.

            x = ti.field(ti.i32, shape=4)

            @ti.kernel
            def fill(target: ti.template()):
                for i in target:
                    target[i] = 1

            module = ti.aot.Module()
            module.add_field("x", x)
            with module.add_kernel_template(fill) as template:
                template.instantiate(target=x)
        """
    def archive(self, filepath: Any) -> Any:
        """Writes what `save` writes into one archive.

        filepath: of the archive, ending in `.tcm`; raises ValueError for other names.
        """
    def export(self, path: Any, name: Any = None, is_static: Any = False) -> Any:
        """Writes the module as one file.

        path: of the file. name: of the module; by default the file's, without its end. is_static:
        whether to write an archive to be linked into programs (libNAME.a). The same content makes
        the same bytes. Raises RuntimeError if the module is empty, the errors of the compiler, and
        OSError.
        """
    def save(self, filepath: Any) -> Any:
        """Writes the module into a directory: `module.kiln`, `__content__` and `__version__`.

        filepath: the directory, which is made.
        """
def export(kernel: Any) -> Any:
    """The decorator `export_as` with the kernel's own name.

    kernel: the kernel. Raises TypeError for anything else.

        @ti.aot.export
        @ti.kernel
        def double(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
            for i in x:
                x[i] *= 2.0
    """
def export_as(name: Any, *, template_types: Any = None) -> Any:
    """A decorator of kernels that `kiln export` is to put into a module.

    name: of the kernel in the module. template_types: {parameter: the value or type for which the
    kernel is compiled}, for parameters whose annotation does not say it. ti.template() takes
    values, numbers and fields. ti.types.ndarray() without dtype and ndim takes a type that has
    both. Raises TypeError for anything but a kernel.

        @ti.aot.export_as("fill_all")
        @ti.kernel
        def fill(a: ti.types.ndarray(dtype=ti.f32, ndim=1), k: ti.f32):
            for i in a:
                a[i] = k
    """
def load(path: Any, seed: Any = 0, trusted: Any = None, arch: Any = None) -> Any:
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
