"""The source of a decorated function. Its text is bound at the decoration and parsed at the first
use; names that the function does not define are resolved here."""

import builtins
import sys
from _ast import (
    AST,
    Assign,
    AsyncFunctionDef,
    Attribute,
    AugAssign,
    Call,
    For,
    FunctionDef,
    If,
    Name,
    PyCF_ONLY_AST,
    Starred,
    Store,
    Subscript,
    Tuple,
    While,
    comprehension,
)

from .. import _native
from ..diagnostics import near, say
from ..errors import TaichiNameError
from ..own_files import FOLDER, is_own
from .text import file_lines

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
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self._lines = file_lines(self.file, fn.__globals__)
        if not self._lines:
            from .history import typed_lines

            self._lines = typed_lines(code)
        self._block = MISSING
        self._text = None
        self._tree = None
        _check_parameters(code, kind)
        self._mutable = None
        self._asked = []  # the values on which `_mutable` depends: (node, its value)
        self._ctx = None  # set while `_find_mutable` runs
        self.is_own = is_own(self.file)  # a part of Kiln
        self._parameters = None

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
            scope = {n: c.cell_contents for n, c in self._cells()}
            found = {k: self._meaning(a, scope) for k, a in found.items()}
        return found

    def _meaning(self, annotation, scope):
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, self.fn.__globals__, scope)
        except Exception:  # a wrong text may raise anything; the caller rejects it
            return annotation

    @property
    def can_read_annotations(self):
        """Whether the annotations can be evaluated already. If they are texts, they may name
        objects that the module defines later."""
        texts = any(isinstance(a, str) for a in self.fn.__annotations__.values())
        return not texts or not self.fn.__code__.co_flags & _FUTURE_ANNOTATIONS

    def at_parameter(self, position, error):
        """The error with the position of a parameter; unchanged without source text."""
        from . import report

        try:
            node = self.tree.args.args[position]
        except SyntaxError:  # not a statement of its own, such as a lambda
            return error
        return type(error)("\n" + report.position(self, node) + str(error))

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
                raise say.name_not_defined(name=name, hint=self._hint(name, local))
        return found

    def _hint(self, name, local):
        for node in _blocks_that_bind(self.tree, name):
            return say.name_bound_in_a_block(
                statement=_STATEMENTS[node.__class__], line=node.lineno
            )
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

    def mutable(self, ctx):
        """The names that need memory, because they are assigned more than once, changed in place,
        or passed to a function that may change them. All others stay values.

        The answer depends on which functions are called; `ctx`, the kernel's, resolves them."""
        if self._mutable is not None:
            # Names may have another meaning than in an earlier instance.
            for node, value in self._asked:
                if self.static_value(node, ctx) is not value:
                    break
            else:
                return self._mutable
        self._asked = []
        self._mutable = self._find_mutable(ctx)
        return self._mutable

    def _find_mutable(self, ctx):
        tree = self.tree
        changed = set()
        self._ctx = ctx
        self._scan_block(tree.body, {a.arg for a in tree.args.args}, changed)
        self._ctx = None
        changed.discard(None)
        return frozenset(changed)

    def _scan_block(self, statements, outer, changed):
        """Adds the names that a block changes to `changed`; `outer` are the names declared around
        it. A store to any other name declares that name, in this block only."""
        declared = set(outer)
        for node in statements:
            kind = node.__class__
            if kind is For:
                self._scan(node.iter, declared, changed)
                self._scan_block(node.body, declared | set(target_names(node.target)), changed)
            elif kind is If or kind is While:
                self._scan(node.test, declared, changed)
                self._scan_block(node.body, declared, changed)
                self._scan_block(node.orelse, declared, changed)
            else:
                self._scan(node, declared, changed)

    def _scan(self, root, declared, changed):
        pending = [root]
        while pending:
            node = pending.pop()
            kind = node.__class__
            if kind is Name:
                if node.ctx.__class__ is Store:
                    if node.id in declared:
                        changed.add(node.id)
                    declared.add(node.id)
                continue
            if kind is comprehension:  # binds its targets without storing to them
                pending.append(node.iter)
                pending.extend(node.ifs)
                continue
            if kind is AugAssign:
                changed.add(base_name(node.target))
            elif kind is Assign:
                for target in node.targets:
                    _changed_by_store(target, changed)
            elif kind is Call and self._may_change(node):
                for arg in node.args:
                    changed.add(base_name(arg.value if arg.__class__ is Starred else arg))
                for keyword in node.keywords:
                    changed.add(base_name(keyword.value))
                if node.func.__class__ is Attribute:
                    changed.add(base_name(node.func.value))
            for field in node._fields:
                value = getattr(node, field)
                if value.__class__ is list:
                    pending.extend([v for v in value if isinstance(v, AST)])
                elif isinstance(value, AST):
                    pending.append(value)

    def _may_change(self, call):
        """Whether the callee may write to its arguments; True in doubt."""
        func = call.func
        if func.__class__ is Attribute and func.attr in _PURE_METHODS:
            return False
        target = self.static_value(func, self._ctx)
        self._asked.append((func, target))
        if target is MISSING:
            return True
        if isinstance(target, type):
            return False
        by_reference = getattr(target, "_takes_references", None)
        if by_reference is not None:
            return by_reference()
        if getattr(target, "_kiln_writes", False):
            return True
        module = getattr(target, "__module__", None) or ""
        return not (module == "builtins" or module.startswith("kiln."))

    def static_value(self, node, ctx):
        """The value of a name, or of an attribute of a module or class, outside of the function;
        MISSING if it is not known before the kernel is transformed."""
        if node.__class__ is Name:
            ident = node.id
            if ident in self.fn.__code__.co_varnames:
                return MISSING
            found = ctx.outside_of(self).get(ident, EMPTY)
            if found is EMPTY:
                try:
                    found = ctx.resolve(self, ident)
                except TaichiNameError:
                    found = MISSING
                    if ctx.trace is not None:
                        ctx.trace.name(self, ident, found)
            return found
        if node.__class__ is Attribute:
            base = self.static_value(node.value, ctx)
            if base is MISSING:
                return MISSING
            # Only modules and class attributes: reading these runs no code of the user's.
            if isinstance(base, (type(sys), type)):
                found = getattr(base, node.attr, MISSING)
                if ctx.trace is not None:
                    ctx.trace.attribute(base, node.attr, found, self)
                return found
        return MISSING


# Methods of vectors and matrices that only read. A user's class may have a method of the same name
# that writes, but kernels never pass its objects by value.
_PURE_METHODS = frozenset(
    "all any cast cols cross determinant diag dot get_shape identity inverse max min norm "
    "norm_inv norm_sqr normalized one outer_product rows sum to_list trace transpose unit zero "
    "format".split()
)


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


def base_name(node):
    """The name at the start of a chain of subscripts and attributes; None if the chain starts with
    another expression."""
    while node.__class__ in (Subscript, Attribute):
        node = node.value
    return node.id if node.__class__ is Name else None


def target_names(target):
    """All names that a loop binds, including those in nested tuples."""
    if target.__class__ is Name:
        return [target.id]
    return [name for element in getattr(target, "elts", ()) for name in target_names(element)]


_STATEMENTS = {For: "for", If: "if", While: "while"}


def _blocks_that_bind(tree, name):
    """The innermost compound statements that store to the name in one of their blocks."""
    pending = [(tree, None)]
    while pending:
        node, block = pending.pop()
        if node.__class__ is Name and node.id == name and node.ctx.__class__ is Store and block:
            yield block
        if node.__class__ in _STATEMENTS:
            block = node
        children = [getattr(node, field) for field in node._fields]
        for child in children:
            items = child if child.__class__ is list else [child]
            pending.extend((item, block) for item in items if isinstance(item, AST))


def _changed_by_store(target, changed):
    if target.__class__ in (Subscript, Attribute):
        changed.add(base_name(target))
    elif target.__class__ is Tuple or hasattr(target, "elts"):
        for element in target.elts:
            _changed_by_store(element, changed)
