"""Warm records: what the front end read for an instance of a kernel, and the resulting artifact.

One file contains the records of one function text in one environment (settings, compiler, Python,
Kiln's own files); its name is a digest of both. Kernels with the same text share the file. A record
is valid in this process if each of its reads gives the same description as when it was made. Then
front end and compiler would produce the same artifact here. Any doubt makes a record invalid.

The files are notes (warm/notes.py) with a checksum. Several processes may write them; a torn or
damaged file counts as missing and is replaced. Kiln writes nothing to a read-only home, and does
not trust a home that other users can write to.
"""

import marshal
import os
import sys

from .. import _native, originals, own_files, runtime, stat
from ..arguments import ArrayGradient, has_grad
from ..data.field import overlapping
from ..handlers import raised_by_handler
from . import describe, notes, program, reads, units
from .describe import MISSING, Describer, Refused
from .reads import ATTRIBUTE, INSTANCE_OF, NAME, PARAMETER, PROPERTY

_MAGIC = b"kiln warm records 4\n"
_MANY = 64  # records in one file: the kernel's instances, current and earlier
_AT_ONCE = 8  # a file with more records is written only at the end of the process
_LARGE = 8 << 20  # bytes of one file
_KEPT_FILES = 8192  # files of records and recorded kernels
# Settings that affect neither the front end nor the code.
_WITHOUT_EFFECT = frozenset(
    "ad_tape_GB cpu_max_num_threads random_seed verbose log_level kernel_profiler offline_cache "
    "offline_cache_cleaning_factor offline_cache_cleaning_policy offline_cache_file_path "
    "offline_cache_max_size_of_files num_compile_threads timeline cuda_device device_memory_GB "
    "device_memory_fraction gdb_trigger print_full_traceback print_ir print_accessor_ir "
    "print_ir_dbg_info print_kernel_amdgcn print_kernel_asm print_kernel_llvm_ir "
    "print_kernel_llvm_ir_optimized print_preprocessed_ir print_struct_llvm_ir "
    "snode_memory_GB verbose_kernel_launches".split()
)

_families = {}  # (home, note) -> records, as this process knows them
_unwritten = set()  # (home, note)


def find(kernel, args, specs):
    """Finds a valid record. Returns the instance of `kernel` for these arguments, and what else it
    is bound to (fields, SNodes, gradients of arrays), in order of the parameters. None without a
    valid record."""
    session = runtime.session()
    path = _path(kernel, session)
    if path is None or originals.replaced():
        return None
    describe.add_imported_types()
    program.prefetch(session)
    for record in _load(path):
        holds = _check(record, kernel.source, args, specs)
        if holds is None:
            continue
        instance = session.fetch(*record["artifact"])
        if instance is None:
            continue
        objects = holds.objects
        instance.relocate = _relocation(record["files"], objects)
        if not is_checking():
            _show_again(record["events"], objects)
        program.add(session, instance.digest, path, kernel.__name__, record["recorded"])
        return instance, _bound(record, objects)
    return None


def is_checking():
    """Whether KILN_WARM=check, which runs the front end even for kernels with a record."""
    return os.environ.get("KILN_WARM") == "check"


def compare(kernel, found, made):
    """Raises unless a record's result equals the front end's; both in the form that `find`
    returns."""
    same = found[0].digest == made[0].digest and len(found[1]) == len(made[1])
    if not same or any(one is not other for one, other in zip(found[1], made[1])):
        raise AssertionError(f"the warm record of kernel '{kernel.__name__}' is wrong")


def keep(kernel, trace, bound, sources, instance, recorded):
    """Stores a record of the front end's reads. bound: see `find`. recorded: the bytes that the
    instance can be compiled from again. A failure is not an error."""
    session = runtime.session()
    if trace is not None and trace.refused and runtime.is_logging_effective("debug"):
        text = f"kernel '{kernel.__name__}' has no warm record, because of {trace.refused}"
        print(f"[Kiln] debug: {text}", file=sys.stderr)
    recorded = units.keep(session.home, recorded)
    path = None if trace is None or trace.refused else _path(kernel, session)
    if path is not None:
        files, lines = trace.files(sources)
        numbers = [_number(one, trace.describe) for one in bound]
        if None in numbers:
            trace.refuse("a field that was reached by unknown ways")
        if not trace.refused:
            record = {
                "reads": tuple(trace.reads),
                "bound": tuple(numbers),
                "aliases": _alias_groups(bound),
                "trees": _trees(bound),
                "files": files,
                "events": tuple(trace.events),
                "artifact": instance.pack(lines),
                "recorded": recorded,
            }
            _store(path, record)
    program.add(session, instance.digest, path, kernel.__name__, recorded)


# --- checking


def _check(record, source, args, specs):
    """Checks a record. Returns the Describer that met its objects in this process; None if the
    record is not valid."""
    describer = Describer()
    objects = describer.objects
    describer.start(source)
    try:
        for kind, number, argument, wanted in record["reads"]:
            if kind == ATTRIBUTE:
                value = reads.attribute(objects[number], argument)
            elif kind == PROPERTY:
                value = reads.of_property(objects[number], argument)
            elif kind == NAME:
                value = reads.name(objects[number].fn, argument)
            elif kind == PARAMETER:
                value = template_of(args[argument], specs[argument])
            elif kind == INSTANCE_OF:
                value = isinstance(objects[number], objects[argument])
            elif describer.source(source) == wanted:
                continue
            else:
                return None
            if describer(value) != wanted:
                return None
        bound = _bound(record, objects)
        for one in bound:
            if one.__class__ is ArrayGradient and not has_grad(args[one.position]):
                return None
        same = _alias_groups(bound) == record["aliases"] and _trees(bound) == record["trees"]
    except Exception as error:  # anything may fail; the front end then makes the instance
        if raised_by_handler(error):
            raise
        return None
    return describer if same else None


def _number(bound, describer):
    """The number of a field or SNode; -1 - position for the gradient of an argument."""
    return -1 - bound.position if bound.__class__ is ArrayGradient else describer.number(bound)


def _bound(record, objects):
    """What the record's instance is bound to, by the numbers of `_number`."""
    return [ArrayGradient.of(-1 - n) if n < 0 else objects[n] for n in record["bound"]]


def template_of(value, spec):
    """The part of an argument on which the compilation depends; MISSING if there is none."""
    if spec.source is None:
        return value
    return MISSING if spec.matcher == ("any",) else list(spec.matcher)


def _alias_groups(bound):
    return tuple(map(tuple, overlapping(enumerate(bound))))


def _trees(bound):
    """A digest of those parts of the trees of fields and SNodes that the kernel depends on."""
    fields = [one for one in bound if one.__class__ is not ArrayGradient]
    storages = [getattr(f, "_bound_storage", None) or f._storage for f in fields]
    return _native.digest_of_trees(storages)


def _lines_of(source):
    return source.file, source.code_lines


def _relocation(files, objects):
    """Returns a function that translates a record's positions to those of the present files. In a
    record, files are numbers, and line numbers count lines of code."""
    # The instance keeps this function, which must not refer to the program's objects or functions:
    # an instance of a method is freed together with its object, and the globals of a function that
    # an instance keeps would never be freed, with files that the program left open.
    sources = [file if file.__class__ is str else _lines_of(objects[file]) for file in files]

    def relocate(positions):
        found = []
        for file, line, column, end_line, end_column, function in positions:
            source = sources[int(file)]
            if source.__class__ is str:  # a file of Kiln, which cannot have changed
                found.append((source, line, column, end_line, end_column, function))
                continue
            path, lines = source
            found.append((path, lines[line], column, lines[end_line], end_column, function))
        return found

    return relocate


def _show_again(events, objects):
    for kind, *rest in events:
        if kind == "print":
            print(rest[0], end="")
        elif kind == "say":
            runtime._warn(rest[0])
        else:
            import builtins

            from ..frontend import report

            number, rank, text, category = rest
            source = objects[number]
            line = source.code_lines[rank]
            report.show_warning(text, getattr(builtins, category), source.file, line)


# --- storage


def _path(kernel, session):
    """The (home, note) of a kernel's records; None if it cannot have any."""
    cfg = runtime.cfg
    if not cfg.offline_cache or cfg.print_ir or stat.wanted or os.environ.get("KILN_WARM") == "off":
        return None
    if not session.own_home:
        return None  # another user who writes records could choose the code
    fingerprint = kernel.source.fingerprint
    environment = _environment(session)
    if fingerprint is None or environment is None:
        return None
    kind = b"method" if kernel.in_class else b"function"
    if kernel.autodiff:
        kind += bytes([kernel.autodiff])
    if kernel.is_validated:
        kind += b"validated"
    name = _native.sha256(environment + fingerprint + kind).hex()
    return session.home, f"warm/{name[:2]}/{name[2:]}"


_settings = None  # (the settings, their description)
_fixed = {}  # compiler -> the rest of the environment


def _environment(session):
    """A digest of everything outside of the program that affects the code of its kernels."""
    global _settings
    compiler = session.cuda_compiler if runtime.cfg.arch == runtime.cuda else session.compiler
    if not compiler:
        return None  # unknown before the first compilation in this home
    settings = {k: v for k, v in runtime.cfg.__dict__.items() if k not in _WITHOUT_EFFECT}
    if _settings is None or _settings[0] != settings:
        try:
            _settings = settings, marshal.dumps(Describer()(settings))
        except Refused:
            return None
    fixed = _fixed.get(compiler)
    if fixed is None:
        parts = (_own_files(), sys.version, sys.flags.optimize, _native.runtime_abi())
        fixed = _fixed[compiler] = _MAGIC + compiler + repr(parts).encode()
    target = f"{runtime.target() or _native.host_target()} {session.glibc}"
    return _native.sha256(fixed + target.encode() + _settings[1])


def _own_files():
    """(path, size, time) of Kiln's own files; a change of any invalidates all records."""
    found = []
    pending = [own_files.FOLDER[:-1]]
    root = len(pending[0])
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".py"):
                    stat = entry.stat()
                    found.append((entry.path[root:], stat.st_size, stat.st_mtime_ns))
                elif "." not in name and name != "__pycache__" and entry.is_dir():
                    pending.append(entry.path)
    stat = os.stat(_native.__file__)
    found.append(("", stat.st_size, stat.st_mtime_ns))
    return sorted(found)


def _load(path):
    records = _families.get(path)
    if records is None:
        records = _families[path] = _read(path)
    return records


def _read(path):
    data = notes.read(*path) or b""
    start = len(_MAGIC) + 32
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or _native.sha256(body) != data[len(_MAGIC) : start]:
        return []
    try:
        return marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return []


def _store(path, record):
    known = _load(path)
    known[:] = [record, *[r for r in known if r["reads"] != record["reads"]]][:_MANY]
    if len(known) <= _AT_ONCE:
        _write(path)
        return
    # A program may make many instances of one kernel: do not rewrite the file for each.
    if not _unwritten:
        import atexit

        atexit.register(_write_rest, os.getpid())
    _unwritten.add(path)


def _write_rest(process):
    if process == os.getpid():
        for path in list(_unwritten):  # other threads may still compile
            _write(path)


def _write(path):
    records = list(_families[path])
    # Another process may have added records since this one read the file.
    known = {r["reads"] for r in records}
    records += [r for r in _read(path) if r["reads"] not in known]
    del records[_MANY:]
    body = marshal.dumps(records)
    while len(body) > _LARGE and len(records) > 1:
        del records[len(records) // 2 :]
        body = marshal.dumps(records)
    try:
        notes.write(*path, _MAGIC + _native.sha256(body) + body)
    except OSError:
        return
    home, name = path
    if name[-2:] == "00":  # for one name in 256, so tidying happens occasionally
        _tidy(f"{home}/warm")


def _tidy(folder):
    """Deletes the least recently written files if there are too many."""
    found = []
    for directory, _, names in os.walk(folder):
        for name in filter(notes.is_name, names):
            path = os.path.join(directory, name)
            try:
                found.append((os.stat(path).st_mtime, path))
            except OSError:
                continue
    for _, path in sorted(found)[: max(len(found) - _KEPT_FILES, 0)]:
        try:
            os.unlink(path)
        except OSError:
            continue
