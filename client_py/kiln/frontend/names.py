"""The names of a function: which of them need memory in a kernel, and the values of names defined
outside that are known before the kernel is transformed."""

import sys
from _ast import (
    AST,
    Assign,
    Attribute,
    AugAssign,
    Call,
    For,
    If,
    Name,
    Starred,
    Store,
    Subscript,
    Tuple,
    While,
    comprehension,
)

from ..errors import TaichiNameError
from .source import EMPTY, MISSING


def changed_names(source, ctx):
    """The names of a function that need memory, because they are assigned more than once, changed
    in place, or passed to a function that may change them. All others stay values.

    The answer depends on which functions are called; `ctx`, the kernel's, resolves them."""
    # Cached with the function, not with the kernel: the walk is a large part of transforming a
    # short kernel.
    if source.changed is not None:
        found, asked = source.changed
        # Names may have another meaning than in an earlier instance.
        for node, value in asked:
            if static_value(source, node, ctx) is not value:
                break
        else:
            return found
    scan = _Scan(source, ctx)
    tree = source.tree
    scan.block(tree.body, {a.arg for a in tree.args.args})
    scan.changed.discard(None)
    found = frozenset(scan.changed)
    # The answers on which the result rests are kept with it, for the check above.
    source.changed = found, scan.asked
    return found


class _Scan:
    """One walk over a function's statements. `changed` collects the names, `asked` the values on
    which the result depends: (node, its value)."""

    def __init__(self, source, ctx):
        self._source = source
        self._ctx = ctx
        self.changed = set()
        self.asked = []

    def block(self, statements, outer):
        """Adds the names that a block changes; `outer` are the names declared around it. A store to
        any other name declares that name, in this block only."""
        declared = set(outer)
        for node in statements:
            kind = node.__class__
            if kind is For:
                self._scan(node.iter, declared)
                # A loop has a scope of its own: its index is another variable after the loop.
                self.block(node.body, declared | set(target_names(node.target)))
            elif kind is If or kind is While:
                self._scan(node.test, declared)
                self.block(node.body, declared)
                # Either branch may run, so a name declared in one is not declared in the other.
                self.block(node.orelse, declared)
            else:
                self._scan(node, declared)

    def _scan(self, root, declared):
        changed = self.changed
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
            # `a += 1` changes `a` even if it is the only assignment to it: the name existed before.
            if kind is AugAssign:
                changed.add(base_name(node.target))
            elif kind is Assign:
                for target in node.targets:
                    _changed_by_store(target, changed)
            # Objects passed by reference: a function that writes to its parameter writes to the
            # variable.
            elif kind is Call and self._may_change(node):
                for arg in node.args:
                    changed.add(base_name(arg.value if arg.__class__ is Starred else arg))
                for keyword in node.keywords:
                    changed.add(base_name(keyword.value))
                # A method may write to the object itself.
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
        target = static_value(self._source, func, self._ctx)
        # Also when the answer is "unknown": a later instance may know it.
        self.asked.append((func, target))
        if target is MISSING:
            return True
        # Classes make a new object from the values of their arguments.
        if isinstance(target, type):
            return False
        by_reference = getattr(target, "_takes_references", None)
        if by_reference is not None:
            return by_reference()
        if getattr(target, "_kiln_writes", False):
            return True
        # Plain functions of the user may be transformed like a func and write to their arguments.
        module = getattr(target, "__module__", None) or ""
        return not (module == "builtins" or module.startswith("kiln."))


def static_value(source, node, ctx):
    """The value of a name, or of an attribute of a module or class, outside of the function;
    MISSING if it is not known before the kernel is transformed."""
    if node.__class__ is Name:
        ident = node.id
        # A local name hides one outside, even before its first assignment.
        if ident in source.fn.__code__.co_varnames:
            return MISSING
        found = ctx.outside_of(source).get(ident, EMPTY)
        if found is EMPTY:
            try:
                found = ctx.resolve(source, ident)
            # Not an error yet: Python too complains only when the name is read.
            except TaichiNameError:
                found = MISSING
                if ctx.trace is not None:
                    ctx.trace.name(source, ident, found)
        return found
    if node.__class__ is Attribute:
        base = static_value(source, node.value, ctx)
        if base is MISSING:
            return MISSING
        # Only modules and class attributes: reading these runs no code of the user's.
        if isinstance(base, (type(sys), type)):
            found = getattr(base, node.attr, MISSING)
            if ctx.trace is not None:
                ctx.trace.attribute(base, node.attr, found, source)
            return found
    return MISSING


# Methods of vectors and matrices that only read. A user's class may have a method of the same name
# that writes, but kernels never pass its objects by value.
_PURE_METHODS = frozenset(
    "all any cast cols cross determinant diag dot get_shape identity inverse max min norm "
    "norm_inv norm_sqr normalized one outer_product rows sum to_list trace transpose unit zero "
    "format".split()
)


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


def _changed_by_store(target, changed):
    if target.__class__ in (Subscript, Attribute):
        changed.add(base_name(target))
    elif target.__class__ is Tuple or hasattr(target, "elts"):
        for element in target.elts:
            _changed_by_store(element, changed)
