"""`ti.aot.Module`: what a program exports, and the files that it becomes."""

import io
import os
import sys
import warnings

from .. import __version__, _native, runtime, whole_file
from ..arch import cpu, cuda
from ..arguments import ScalarParameter, TemplateParameter, TensorParameter
from ..data.field import Field
from ..data.texture import texels_of
from ..diagnostics import say
from ..graph.argument import Argument, NdarrayArgument, RWTextureArgument, TextureArgument
from ..graph.builder import Graph
from ..kernel import Kernel
from .described import DescribedKernel, stand_ins, type_of

OLDEST_GLIBC = 28  # N of 2.N: every kernel runs there; newer ones have more vector functions
_CPU_TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
# PTX for every device, and machine code for the most common ones.
_PTX, _CUDA_TARGETS = "compute_75", ("sm_80", "sm_90")


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

    def __init__(self, arch=None, caps=None, targets=None, glibc=OLDEST_GLIBC):
        runtime.require_init("make a ti.aot.Module")
        if arch not in (None, cpu, cuda):
            warnings.warn(say.export_for_other_arch(arch=arch), stacklevel=2)
            arch = None
        self._targets = list(targets or _targets_of(arch or runtime.cfg.arch))
        self._glibc = glibc if glibc > OLDEST_GLIBC else 0
        self._kernels = {}  # name -> DescribedKernel
        self._fields = {}  # name -> field
        self._graphs = {}  # name -> (arguments, launches), as ModuleWriter.add_graph takes them
        self._content = []

    def add_field(self, name, field):
        """Adds a field, which programs then access by its name. Kernels find the fields that they
        use without this.

        name: in the module. field: the field; also of vectors, matrices or structs, sparse, or with
        a gradient, which gets the name `name.grad`. A mesh adds its attributes, as `name.verts.x`.
        Raises RuntimeError if the name is taken, TypeError for anything but a field or mesh.
        """
        if hasattr(type(field), "_parts_by_name"):  # of structs and meshes
            for part, of in field._parts_by_name().items():
                self.add_field(f"{name}.{part}", of)
            return
        if not isinstance(field, Field):
            raise say.export_of_no_field(name=name, kind=type(field).__name__)
        self._check_free(name, self._fields)
        field._materialize()
        self._fields[name] = field
        grad = None if field._is_companion else field.grad
        if grad is not None and None not in grad._places:
            self.add_field(f"{name}.grad", grad)

    def add_kernel(self, kernel_fn, template_args=None, name=None):
        """Adds a kernel, compiled when the module is written.

        kernel_fn: the kernel, a method that is one, or a gradient (`kernel.grad`). template_args:
        {parameter: the value or array for which it is compiled}, for parameters whose annotation
        does not say it. name: in the module; by default the kernel's own. Raises RuntimeError if
        the name is taken, TaichiCompilationError for a parameter without a type or value.
        """
        kernel, given = _kernel_of(kernel_fn), dict(template_args or {})
        name = name or kernel.__name__
        if kernel is not kernel_fn and hasattr(kernel_fn, "__self__"):
            given[kernel.parameters[0].name] = kernel_fn.__self__
        self._check_free(name, self._kernels)
        self._kernels[name] = DescribedKernel(kernel, stand_ins(kernel, given, name))
        self._content.append(f"kernel:{name}")

    def _add_called(self, called):
        """Adds kernels for the arguments of calls, given as instance.noted has them; returns their
        names. Other calls of a kernel of the same name are NAME[2], NAME[3], …"""
        names = []
        for kernel, args in called:
            base = f"{kernel.__name__}_grad" if kernel.autodiff else kernel.__name__
            name, number = base, 1
            while name in self._kernels:
                number += 1
                name = f"{base}[{number}]"
            self._kernels[name] = DescribedKernel(kernel, args, are_leaves=True)
            self._content.append(f"kernel:{name}")
            names.append(name)
        return names

    def add_kernel_template(self, kernel_fn):
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
        return _KernelTemplate(self, kernel_fn)

    def add_graph(self, name, graph):
        """Adds a graph, with the kernels that it launches.

        name: in the module. graph: what GraphBuilder.compile returned. Raises RuntimeError if the
        name is taken, TaichiCompilationError for a launch with an ndarray in place of an argument.
        """
        if not isinstance(graph, Graph):
            raise say.export_of_no_graph(name=name, kind=type(graph).__name__)
        self._check_free(name, self._graphs)
        arguments = list(graph._arguments.values())
        launches = []
        for number, (kernel, places) in enumerate(graph._calls):
            args = [_at(graph, arguments, place) for place in places]
            launches.append(
                self._add_launch(f"{name}.{number}.{kernel.__name__}", kernel, args, arguments)
            )
        self._graphs[name] = [_param_of(one) for one in arguments], launches
        self._content.append(f"cgraph:{name}")

    def _add_launch(self, name, kernel, args, arguments):
        """Adds the kernel of a graph's launch; returns (its name, argument numbers, constants)."""
        if kernel._leaves is not kernel._parameters:
            raise say.export_of_graph_with_pack(name=name)
        values = []
        for parameter, arg in zip(kernel.parameters, args):
            is_texture = isinstance(arg, TextureArgument)
            if is_texture and not isinstance(arg, RWTextureArgument):
                raise say.export_of_graph_with_texture_of_any_format(name=name, argument=arg.name)
            values.append(arg.stand_in(parameter) if isinstance(arg, Argument) else arg)
        self._kernels[name] = DescribedKernel(kernel, values)
        numbers, constants = [], []
        for parameter, arg in zip(kernel.parameters, args):
            if issubclass(parameter.kind, TemplateParameter):
                continue
            if isinstance(arg, Argument):
                numbers.append(arguments.index(arg))
                continue
            numbers.append(-1)
            if parameter.kind not in (ScalarParameter, TensorParameter):
                raise say.export_of_graph_with_constant(name=name, parameter=parameter.name)
            constants += _slots(parameter, arg)
        return name, numbers, constants

    def _check_free(self, name, taken):
        if name in taken:
            raise say.export_of_taken_name(name=name)

    # --- writing

    def export(self, path, name=None, is_static=False):
        """Writes the module as one file.

        path: of the file. name: of the module; by default the file's, without its end. is_static:
        whether to write an archive to be linked into programs (libNAME.a). The same content makes
        the same bytes. Raises RuntimeError if the module is empty, the errors of the compiler, and
        OSError.
        """
        path = os.fspath(path)
        name = name or _module_name(path)
        data = self._bytes(name, is_static)
        if is_static:
            data = _archive(f"{name}.o", f"kiln_module_v1_{name}", data)
        whole_file.write(path, data)

    def save(self, filepath):
        """Writes the module into a directory: `module.kiln`, `__content__` and `__version__`.

        filepath: the directory, which is made.
        """
        filepath = os.fspath(filepath)
        files = self._files()
        os.makedirs(filepath, exist_ok=True)
        for name, data in files.items():
            whole_file.write(os.path.join(filepath, name), data)

    def archive(self, filepath):
        """Writes what `save` writes into one archive.

        filepath: of the archive, ending in `.tcm`; raises ValueError for other names.
        """
        import zipfile

        filepath = os.fspath(filepath)
        if not filepath.endswith(".tcm"):
            raise say.export_archive_name(path=filepath)
        files = self._files()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name, (2000, 12, 1, 0, 0, 0)), data)
        whole_file.write(filepath, packed.getvalue())

    def _files(self):
        return {
            "module.kiln": self._bytes("module", is_static=False),
            "__content__": "\n".join(self._content).encode(),
            "__version__": ".".join(map(str, __version__)).encode(),
        }

    def _bytes(self, name, is_static):
        if not self._kernels:
            raise say.export_of_nothing()
        session = runtime.session()
        writer = _native.ModuleWriter(name)
        kernels = {**self._kernels, **self._access_kernels()}
        used = [field for one in kernels.values() for field in one.bound]
        for field in dict.fromkeys([*self._fields.values(), *used]):
            _add_trees(writer, field)
        for key, field in self._fields.items():
            gradient = f"{key}.grad" if f"{key}.grad" in self._fields else ""
            places = [(place._builder._tree, place._index) for place in field._places]
            is_reordered = field._order is not None
            writer.add_field(key, field._storage, places, gradient, is_reordered)
        for key, one in sorted(kernels.items()):
            writer.add_kernel(key, one.unit, one.params, one.results, one.sources)
        try:
            writer.compile(session, self._targets, self._glibc)
        except _native.CompileFailed as failed:
            diagnostics = failed.args[0] if len(failed.args) == 1 else list(failed.args)
        else:
            diagnostics = None
        if diagnostics is not None:
            from ..frontend.report import raise_diagnostics

            raise_diagnostics(diagnostics, kernels[writer.failed].context)
        for key, (params, launches) in self._graphs.items():
            writer.add_graph(key, params, launches)
        writer.add_fact("kiln", _native.version())
        writer.add_fact("compiler", session.compiler.hex())
        writer.add_fact("program", os.path.basename(sys.argv[0] or ""))
        return writer.link(session, is_static)

    def _access_kernels(self):
        """For fields whose elements only kernels find: quantised numbers have no address, and
        reordered attributes of meshes are elsewhere than their numbers say."""
        made = {}
        for name, field in self._fields.items():
            if field._is_quantised() or field._order is not None:
                from .access import access_kernels

                made.update(access_kernels(name, field))
        return made


def _targets_of(arch):
    """The default targets of modules for ti.cpu or ti.cuda."""
    if arch != cuda:
        return _CPU_TARGETS
    own = runtime.target() if runtime.cfg.arch == cuda else ""
    return [*([own] if own else _CUDA_TARGETS), _PTX]


class _KernelTemplate:
    """What `Module.add_kernel_template` returns."""

    def __init__(self, module, kernel_fn):
        self._module, self._kernel = module, kernel_fn

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def instantiate(self, **values):
        """Adds the kernel for these values: numbers, or fields that were added to the module."""
        shown = []
        for key, value in values.items():
            if isinstance(value, (bool, int, float)):
                shown.append(f"{key}={value}")
                continue
            known = [name for name, field in self._module._fields.items() if field is value]
            if not known:
                raise say.export_of_unknown_template_value(parameter=key, kind=type(value).__name__)
            shown.append(f"{key}={known[0]}")
        name = f"{_kernel_of(self._kernel).__name__}[{','.join(shown)}]"
        self._module.add_kernel(self._kernel, values, name)


def _kernel_of(given):
    kernel = getattr(given, "__func__", given)
    if not isinstance(kernel, Kernel):
        raise say.export_of_no_kernel(kind=type(given).__name__)
    return kernel


def _param_of(argument):
    """A graph's argument as ModuleWriter.add_graph takes it."""
    if isinstance(argument, TextureArgument):
        texture = argument.stand_in(None)
        of = type_of(texture.dtype.scalar, [texture.channels], texels_of(type(texture)))
        return argument.name, True, of, argument.field_dim
    of = type_of(argument.dtype().scalar, argument.element_shape)
    return argument.name, isinstance(argument, NdarrayArgument), of, argument.field_dim


def _at(graph, arguments, place):
    """The argument or the value with that number in a graph."""
    return arguments[place] if place < len(arguments) else graph._values[place]


def _slots(parameter, value):
    """(scalar, number) of each slot of a constant."""
    kind, scalar, *rest = parameter.specialise(value).source
    return [(scalar, number) for number in (rest[1](value) if kind == "tensor" else [value])]


def _add_trees(writer, thing):
    """Adds the trees of a field or SNode."""
    contents = thing.to_numpy().tobytes() if getattr(thing, "_is_constant", False) else b""
    places = getattr(thing, "_places", None) or [thing._snode]
    for place in places:
        builder = place._builder
        nodes = sorted(builder.root._walk(), key=lambda node: node._index)
        names = [node._title() if node._kind.is_sparse else "" for node in nodes]
        writer.add_tree(builder._tree, names, contents)


def _module_name(path):
    base = os.path.basename(path)
    stem = base.partition(".")[0]
    if base.endswith(".a") and stem.startswith("lib"):
        stem = stem[3:]
    if not stem.isidentifier():
        raise say.export_to_path_without_name(path=path)
    return stem


def _archive(member, symbol, data):
    """A static library (`ar`) with one object, which defines one symbol."""

    def header(name, size):
        return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}`\n".encode()

    names = symbol.encode() + b"\0"
    index_size = 8 + len(names)
    padded = index_size + index_size % 2
    # The index: how many symbols, where the member begins, the names.
    index = (1).to_bytes(4, "big") + (8 + 60 + padded).to_bytes(4, "big") + names
    whole = b"!<arch>\n" + header("/", padded) + index.ljust(padded, b"\0")
    # Names of up to 15 characters end in "/"; none is needed longer to find the member.
    whole += header(f"{member[:15]}/", len(data)) + data
    return whole + b"\n" * (len(data) % 2)
