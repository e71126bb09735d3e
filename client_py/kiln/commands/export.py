"""`kiln export`: runs a program and writes the kernels that it marks as one module."""

import os
import sys

from .common import failure, print_json, session
from .options import BadOption, parse

_OPTIONS = {
    "--output": "",
    "--target": [],
    "--glibc": "",
    "--name": "",
    "--static": "",
    "--header": "",
    "--sign": "",
    "--called": False,
    "--json": False,
}


def main(argv):
    options, argv = parse(argv, _OPTIONS, {"-o": "--output"})
    if not argv:
        raise BadOption("export which program?")
    glibc = _glibc(options["glibc"])
    session()  # a wrong variable ends the command here, with status 2

    from .run import Script

    try:
        program = Script(argv.pop(0))
    except OSError as error:
        print(f"kiln: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    _set_paths(options, program)
    status = _run(program, argv, options["called"])
    if status:
        return status
    try:
        made = _Export(options["target"] or None, glibc)
        made.add_all(sys.modules["__main__"].__dict__)
        paths = _write(made.module, options)
    except BrokenPipeError:
        raise
    except Exception as error:  # the errors of the compiler and of the program's kernels, too
        return failure(error)
    return made.say(paths, options["json"])


def _set_paths(options, program):
    """Names the module after the program if the options do not, and makes all paths absolute, since
    the program may change the current folder."""
    if not options["output"] and not options["static"]:
        options["output"] = os.path.splitext(os.path.basename(program.name))[0] + ".kiln"
    for name in ("output", "static", "header", "sign"):
        options[name] = options[name] and os.path.abspath(options[name])
    if options["sign"] and not options["output"]:
        raise BadOption("--sign signs the module of --output: name both")
    if options["header"] and not options["output"]:
        raise BadOption("--header describes the module of --output: name both")


def _run(program, argv, notes_calls):
    """Runs the program; returns its exit status. notes_calls: notes the instances that it calls."""
    from .. import compat
    from .run import execute

    compat.install()
    if notes_calls:
        from .. import instance

        instance.noted = []
    return execute(program, argv)


def _write(module, options):
    """Writes the files that the options name; returns their paths."""
    paths = []
    for kind in filter(options.get, ("output", "static")):
        module.export(options[kind], options["name"] or None, is_static=kind == "static")
        paths.append(options[kind])
    if options["header"]:
        _write_header(options["output"], options["header"])
        paths.append(options["header"])
    if options["sign"]:
        from ..aot.signed import sign

        paths.append(sign(options["output"], options["sign"]))
    return paths


def _write_header(module, path):
    """Of C for a name that ends in `.h`, of C++ for others."""
    from ..aot.c_header import write_c_header
    from ..aot.header import write_header

    write = write_c_header if path.endswith(".h") else write_header
    write(module, path, os.path.basename(module).partition(".")[0])


def _glibc(text):
    """N of "2.N"; without a text, that of the oldest glibc on which modules run."""
    if not text:
        from ..aot.module import OLDEST_GLIBC

        return OLDEST_GLIBC
    major, _, minor = text.partition(".")
    if major != "2" or not minor.isdigit():
        raise BadOption(f"--glibc {text}: a version as 2.35 expected")
    return int(minor)


def _is_of_program(call):
    """Whether a kernel is the program's, and not one of ours, which fills fields and the like."""
    kernel, _ = call
    return not kernel.__module__.startswith("kiln.")


class _Export:
    """The module of a program that ran."""

    def __init__(self, targets, glibc):
        from ..aot import Module

        self.module = Module(targets=targets, glibc=glibc)
        self.names = []

    def add_all(self, variables):
        """Adds the marked kernels, and the fields and graphs that variables of the program name.
        Fields of an earlier `ti.init` are none of the program's any more."""
        from .. import instance
        from ..aot.marked import marked
        from ..data.field import AnyField
        from ..data.mesh import MeshInstance
        from ..graph import Graph

        for name, value in variables.items():
            if isinstance(value, AnyField) and value._is_gone():
                continue
            if isinstance(value, (AnyField, MeshInstance)) and name.isidentifier():
                self.module.add_field(name, value)
            elif isinstance(value, Graph):
                self.module.add_graph(name, value)
                self.names.append(name)
        if instance.noted is not None:
            called, instance.noted = instance.noted, None
            self.names += self.module._add_called(filter(_is_of_program, called))
        for name, kernel, template_types in marked:
            self.module.add_kernel(kernel, template_types, name)
            self.names.append(name)

    def say(self, paths, as_json):
        sizes = {path: os.path.getsize(path) for path in paths}
        if as_json:
            print_json({"files": sizes, "exported": self.names})
        else:
            for path, size in sizes.items():
                print(f"{path}: {size} bytes, {', '.join(self.names)}")
        return 0
