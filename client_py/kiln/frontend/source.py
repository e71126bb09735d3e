"""The source of a decorated function. Its text is bound at the decoration and parsed at the first
use; names that the function does not define are resolved here."""

import builtins
import os
import sys
import time

from .. import _native, program_text
from ..diagnostics import near, say
from ..handlers import raised_by_handler
from ..own_files import FOLDER, is_own, shown

# The result of a read that finds nothing.
MISSING = type("MISSING", (), {"__repr__": lambda self: "<missing>"})()
_NESTED_FSTRINGS = sys.version_info >= (3, 12)
EMPTY = type("EMPTY", (), {"__repr__": lambda self: "<no default>"})()

# Of code.co_flags.
_VAR_POSITIONAL, _VAR_KEYWORD = 4, 8
_FUTURE_ANNOTATIONS = 0x1000000


class Parameter:
    """One parameter of a function. `str(parameter)` is its text in error messages."""

    __slots__ = ("annotation", "default", "name")

    def __init__(self, name, annotation, default):
        self.name = name
        self.annotation = annotation
        self.default = default

    def __str__(self):
        if self.annotation is EMPTY:
            return self.name
        of = self.annotation
        to_string = getattr(of, "to_string", None)
        shown = to_string() if to_string else getattr(of, "__name__", None) or str(of)
        return f"{self.name} : {shown}"


def meaning_of(annotation, names, local_names):
    """The object that an annotation names. Annotations are texts in quotes and under
    `from __future__ import annotations`; a text that does not evaluate stays one."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names, local_names)
    except Exception as error:  # a wrong text may raise anything; the caller rejects it
        if raised_by_handler(error):
            raise
        return annotation


def _named_around(fn):
    """{name: object} of the local names that texts among a function's annotations contain, where
    the function is decorated. Its closure has only those that its body uses."""
    texts = [a for a in fn.__annotations__.values() if isinstance(a, str)]
    frame = sys._getframe() if texts else None
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_locals is frame.f_globals:
        return {}
    found = {}
    for text in texts:
        try:
            names = compile(text, "<annotation>", "eval").co_names
        except (SyntaxError, ValueError):  # the caller rejects it
            continue
        found.update({name: frame.f_locals[name] for name in names if name in frame.f_locals})
    return found


def function_of(decorated, decorator):
    """The Python function of what a decorator of this name gets, which another one of the language
    may have decorated before. Of a wrapper with any arguments, as decorators make by
    `functools.wraps`, it is the function within, which a warning says: the wrapper will not run.
    Raises TypeError for anything else."""
    if getattr(decorated, "_is_decorated", False):
        return decorated.__wrapped__
    if _is_wrapper(decorated):
        import warnings

        within = decorated.__wrapped__
        while _is_wrapper(within):
            within = within.__wrapped__
        fn = function_of(within, decorator)
        code = fn.__code__
        text = say.wrapper_left_out(decorator=decorator, name=fn.__name__)
        warnings.warn_explicit(text, SyntaxWarning, shown(code.co_filename), code.co_firstlineno)
        return fn
    if hasattr(decorated, "__code__"):
        return decorated
    advice = ""
    if isinstance(decorated, (staticmethod, classmethod)):
        advice = f"; write @{type(decorated).__name__} above it"
    raise say.decorated_no_function(decorator=decorator, value=decorated, advice=advice)


def _is_wrapper(decorated):
    if isinstance(decorated, (type, staticmethod, classmethod)) or not hasattr(
        decorated, "__wrapped__"
    ):
        return False
    code = getattr(decorated, "__code__", None)
    return code is None or bool(code.co_flags & (_VAR_POSITIONAL | _VAR_KEYWORD))


class FunctionSource:
    """A Python function as the front end reads it.

    file, first_line: its position; first_line is that of the first decorator.
    parameters: in order, with annotation (EMPTY if none) and default.
    returns: the return annotation, EMPTY if none.
    """

    def __init__(self, fn, kind="function"):
        self.fn = fn
        self.name = fn.__name__
        code = fn.__code__
        self.file = shown(code.co_filename)
        self.first_line = code.co_firstlineno
        self._lines = file_lines(code.co_filename, fn.__globals__)
        if not self._lines:
            from .history import typed_lines

            self._lines = typed_lines(code)
        self._block = MISSING
        self._text = None
        self._tree = None
        _check_parameters(code, kind)
        self.changed = None  # the last result of names.changed_names
        self.is_own = is_own(self.file)  # a part of Kiln
        self._warn_of_other_text(code)
        self._around = _named_around(fn)
        self._parameters = None

    def _warn_of_other_text(self, code):
        """An editor may save a file while the program runs. Python then runs the code that it has
        loaded, while Kiln compiles the kernel from the file's new text."""
        path = code.co_filename
        # None: a text that no file has, or that of `kiln run`.
        stamp, _ = _files.get(path, (None, None))
        if not self._lines or self.is_own or stamp is None or stamp[1] <= process_start():
            return
        if not is_text_of(self._lines, path, code):
            from .. import runtime

            runtime._warn(say.source_changed_since_loaded(file=self.file, name=self.name))

    # --- signature

    @property
    def parameters(self):
        if self._parameters is None:
            self._parameters = self._read_parameters()
        return self._parameters

    def _read_parameters(self):
        fn, code = self.fn, self.fn.__code__
        names = code.co_varnames[: code.co_argcount]
        annotations = self.annotations()
        defaults = fn.__defaults__ or ()
        first = len(names) - len(defaults)
        return [
            Parameter(
                name,
                annotations.get(name, EMPTY),
                defaults[i - first] if i >= first else EMPTY,
            )
            for i, name in enumerate(names)
        ]

    @property
    def returns(self):
        return self.annotations().get("return", EMPTY)

    def annotations(self):
        """Annotations as objects, also under `from __future__ import annotations`. A text that does
        not evaluate stays a text."""
        found = self.fn.__annotations__
        if any(isinstance(a, str) for a in found.values()):
            scope = {**self._around, **{n: c.cell_contents for n, c in self._cells()}}
            names = self.fn.__globals__
            found = {k: meaning_of(a, names, scope) for k, a in found.items()}
        return found

    @property
    def can_read_annotations(self):
        """Whether the annotations can be evaluated already. If they are texts, they may name
        objects that the module defines later."""
        texts = any(isinstance(a, str) for a in self.fn.__annotations__.values())
        return not texts or not self.fn.__code__.co_flags & _FUTURE_ANNOTATIONS

    # --- names

    def _cells(self):
        closure = self.fn.__closure__ or ()
        for name, cell in zip(self.fn.__code__.co_freevars, closure):
            try:
                cell.cell_contents  # noqa: B018  (raises when still empty)
            except ValueError:
                continue
            yield name, cell

    def resolve(self, name, local=()):
        """The current value of a name that the function does not define. local: the names that it
        defines, for a hint."""
        fn = self.fn
        code = fn.__code__
        if name in code.co_freevars:
            cell = fn.__closure__[code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise say.name_not_bound_yet_enclosing_function(name=name) from None
        found = fn.__globals__.get(name, MISSING)
        if found is MISSING:
            found = getattr(builtins, name, MISSING)
            if found is MISSING:
                hint = self._hint(name, local)
                if hint:
                    raise say.name_not_defined_here(name=name, hint=hint)
                raise say.name_not_defined(name=name)
        return found

    def _hint(self, name, local):
        block = _block_that_binds(self.tree, name)
        if block is not None:
            return say.name_bound_in_a_block(statement=block[0], line=block[1])
        known = [*local, *self.fn.__code__.co_freevars, *self.fn.__globals__, *dir(builtins)]
        return near(name, known)

    # --- identity, which warm starts compare

    @property
    def fingerprint(self):
        """A digest of the function's text that is independent of comments, blank lines and
        position; None if there is no text."""
        if self.is_own:
            # The package's files, which records also depend on, determine the text.
            place = f"{self.file[len(FOLDER) :]}:{self.first_line}:{self.name}"
            return place.encode()
        block = self._read_block()
        return block and block[0]

    @property
    def code_lines(self):
        """The numbers of the file's lines that contain code of the function."""
        return self._read_block()[1]

    def rank(self, line):
        """The position of `line` among the code lines."""
        return self.code_lines.index(line)

    def has_line(self, line):
        block = self._read_block()
        return block is not None and line in block[1]

    def _read_block(self):
        if self._block is MISSING:
            self._block = None
            if self._lines:
                self._block = _native.read_function(self._lines, self.first_line, _NESTED_FSTRINGS)
        return self._block

    # --- text and tree

    @property
    def text(self):
        """The function's own lines, including decorators."""
        self.tree  # noqa: B018
        return self._text

    def line(self, number):
        """Line `number` of the file (1-based), without its end."""
        lines = self._lines
        return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""

    @property
    def tree(self):
        """The FunctionDef, with the line and column numbers of the file."""
        if self._tree is None:
            self._tree = self._parse()
        return self._tree

    def _parse(self):
        from _ast import AsyncFunctionDef, FunctionDef, PyCF_ONLY_AST

        lines = self._lines
        start = self.first_line - 1
        if not lines or start >= len(lines):
            raise say.source_cannot_read_kernels_and_functions(name=self.name, file=self.file)
        indent = _indent(lines[start])
        # Skip the decorators: the block starts after the line of `def`.
        at = start
        while at < len(lines) and not lines[at].lstrip().startswith(("def ", "async def ")):
            at += 1
        block = self._read_block()
        end = at + 1 if block is None else block[2] - 1
        while True:
            # The next line with the function's own indentation ends the block, unless it is
            # inside a string or brackets; in that case the text before it does not parse.
            while end < len(lines) and not _may_end(lines[end], indent):
                end += 1
            text = "".join(lines[start:end])
            # Padding keeps the file's line numbers; an `if` makes an indented block valid.
            pad = "\n" * (start - 1) + "if 1:\n" if indent and start else "\n" * start
            try:
                module = compile(pad + text, self.file, "exec", PyCF_ONLY_AST, True)
                break
            except SyntaxError:
                if end >= len(lines):
                    raise
                end += 1
        self._text = text
        node = module.body[0]
        while not isinstance(node, (FunctionDef, AsyncFunctionDef)):
            body = getattr(node, "body", None)
            if body.__class__ is not list:
                raise say.no_function_definition(name=self.name)
            node = body[0]
        return node


def _check_parameters(code, kind):
    if code.co_flags & _VAR_KEYWORD:
        raise say.parameters_variable_keyword(kind=kind)
    if code.co_flags & _VAR_POSITIONAL:
        raise say.parameters_variable_positional(kind=kind)
    if code.co_kwonlyargcount:
        raise say.parameters_keyword_only(kind=kind)
    if code.co_posonlyargcount:
        raise say.parameters_positional_only(kind=kind)


def _indent(line):
    return len(line) - len(line.lstrip())


def _may_end(line, indent):
    stripped = line.strip()
    return bool(stripped) and stripped[0] != "#" and _indent(line) <= indent


def _block_that_binds(tree, name):
    """(keyword, line) of the innermost compound statement that stores to the name in one of its
    blocks; None without one."""
    from _ast import AST, For, If, Name, Store, While

    statements = {For: "for", If: "if", While: "while"}
    pending = [(tree, None)]
    while pending:
        node, block = pending.pop()
        if node.__class__ is Name and node.id == name and node.ctx.__class__ is Store and block:
            return statements[block.__class__], block.lineno
        if node.__class__ in statements:
            block = node
        children = [getattr(node, field) for field in node._fields]
        for child in children:
            items = child if child.__class__ is list else [child]
            pending.extend((item, block) for item in items if isinstance(item, AST))
    return None


# --- the text of files

_files = {}  # path -> (size and time, lines)


def file_lines(path, module_globals=None):
    """The current lines of a file, with their line ends; [] or None if there is no text. Of the
    program of `kiln run`: the lines that it was compiled from.

    module_globals: the globals of the file's module, for linecache.
    """
    if path == program_text.path:
        if path not in _files:
            _files[path] = None, _split(program_text.text)
        return _files[path][1]
    try:
        stat = os.stat(path)
        stamp = stat.st_size, stat.st_mtime_ns
    except OSError:
        stamp = None
    # Programs made on the fly (notebooks, exec) register their text in linecache without a time.
    # An entry with a time is the text of a file as an earlier traceback read it, and may be stale.
    cached = "linecache" in sys.modules and sys.modules["linecache"].cache.get(path)
    if cached and len(cached) > 2 and (stamp is None or cached[1] is None):
        return list(cached[2])
    known, lines = _files.get(path, (None, None))
    if lines is None or known != stamp:  # the file may have been edited since
        try:
            with open(path, "rb") as file:
                raw = file.read()
            text = raw.decode("utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8")
            lines = _split(text)
        except (OSError, UnicodeDecodeError):
            import linecache

            linecache.checkcache(path)
            lines = linecache.getlines(path, module_globals)
        if lines:
            _files[path] = stamp, lines
    return lines


def _split(text):
    # Split as Python does: str.splitlines would split at more characters.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines]


_loaded_codes = {}  # path -> (lines, what identifies each function that they define)


def is_text_of(lines, path, code):
    """Whether `code` was compiled from these lines of the file."""
    known, codes = _loaded_codes.get(path, (None, None))
    if known is not lines:
        codes = set()
        try:
            pending = [compile("".join(lines), path, "exec", dont_inherit=True)]
        except (SyntaxError, ValueError):
            pending = []  # saved half-way, or not Python
        while pending:
            inner = pending.pop()
            codes.add(_identity(inner))
            pending.extend(c for c in inner.co_consts if c.__class__ is inner.__class__)
        _loaded_codes[path] = lines, codes
    return _identity(code) in codes


def _identity(code):
    # Not the code itself, since names of files differ.
    constants = tuple(
        _identity(c) if c.__class__ is code.__class__ else repr(c) for c in code.co_consts
    )
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_name, code.co_firstlineno, code.co_code, names, constants


_start = None  # of this process


def process_start():
    """When this process began, in nanoseconds since the epoch; where the system does not say, after
    all times of files."""
    global _start
    if _start is None:
        try:
            with open("/proc/self/stat", "rb") as file:
                ticks = int(file.read().rpartition(b")")[2].split()[19])
        except OSError:
            _start = sys.maxsize
        else:
            since_boot = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
            age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - since_boot
            _start = time.time_ns() - age
    return _start
