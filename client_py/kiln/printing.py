"""Messages of asserts and checks that failed while a kernel ran."""

from . import _native, autodiff
from .diagnostics import say
from .errors import TaichiAssertionError


def raise_failure(kernel, instance, node, text, values):
    """Raises for the node that failed: an assert with its rendered message, or a check."""
    kind = instance.node_kind(node)
    is_assert = kind == _native.NODES["assert"]
    if kernel.autodiff in (autodiff.REVERSE, autodiff.SECOND):
        # A gradient repeats no checks of its kernel; what fails is its own.
        what = say.tape_is_full(count=values[0], size=values[1])
    elif is_assert or text:
        what = text
    else:
        what = _check_text(kind, values, *_accessed(instance, node))
    place = _place(instance, node)
    head = f"(kernel={kernel.__name__})"
    lines = [head, *([what] if what else []), *([place] if place else [])]
    raise TaichiAssertionError("\n" + "\n".join(lines))


def overflow_text(instance, node, op):
    """The warning about a node whose result overflowed."""
    what = _OVERFLOWING[_spelling(op)]
    return f"{what} overflow detected in {_place(instance, node, innermost=True)}\n\n"


def _spelling(number):
    return next(name for name, op in _native.OPS.items() if op == number)


def _check_text(kind, values, of, offset):
    """of: " of field 'x'" or nothing; offset: its first index, or None."""
    if kind in (_native.NODES["extract"], _native.NODES["element"]):
        half = len(values) // 2
        index = _signed(values[:half])
        return say.out_of_bound_access_to_matrix(shape=values[half:], what=of, index=index)
    if kind == _native.NODES["struct_for"]:
        # No index: which inactive cell is found first depends on the threads.
        return say.loop_visits_inactive_cells(what=of)
    if kind == _native.NODES["append"] and len(values) % 2 == 1:
        # The indices above the list, twice, and its size.
        *index, cells = _signed(values)
        return say.append_to_full_list(
            what=of, index=_listed(index[len(index) // 2 :]), cells=cells
        )
    if kind in _BOUNDED:
        return _bounds_text(_signed(values), of, offset)
    if kind == _native.NODES["binary"]:
        left, right, number = values
        return _FAILED_OPS[_spelling(number)](left=left, right=right)
    return say.check_failed(values=_listed(values))


def _bounds_text(numbers, of, offset):
    """numbers: the indices, then the extents."""
    half = len(numbers) // 2
    index, shape = numbers[:half], numbers[half:]
    if not offset or len(offset) != half or not any(offset):
        offset = None
    first = offset or (0,) * half
    axes = [a for a in range(half) if not 0 <= index[a] - first[a] < shape[a]]
    return say.out_of_bound_access(
        what=f" on {'axis' if len(axes) == 1 else 'axes'} {_listed(axes)}{of}",
        index=_listed(index),
        shape=_listed(shape),
        offset=f", offset ({_listed(offset)})" if offset else "",
    )


def _listed(numbers):
    return ", ".join(map(str, numbers))


# Nodes with checked indices.
_BOUNDED = {
    _native.NODES[name]
    for name in ("global", "get_addr", "activate", "deactivate", "is_active", "length", "append")
}

_FAILED_OPS = {
    "add": say.addition_overflows,
    "sub": say.subtraction_overflows,
    "mul": say.multiplication_overflows,
    "shl": say.shift_out_of_range,
    "shr": say.shift_out_of_range,
    "bit_shr": say.shift_out_of_range,
    "pow": say.negative_exponent,
    "floordiv": say.division_by_zero,
    "mod": say.division_by_zero,
    "raw_div": say.division_by_zero,
    "raw_mod": say.division_by_zero,
}


_OVERFLOWING = {
    "add": "Addition",
    "sub": "Subtraction",
    "mul": "Multiplication",
    "shl": "Shift left",
}


def _signed(values):
    """Numbers of i32 in the low halves of slots."""
    return [(value + 2**31) % 2**32 - 2**31 for value in values]


def _accessed(instance, node):
    """The name, in words, of the field or array that a node accesses, and its first index."""
    param = instance.node_param(node)
    accessed = getattr(instance, "accessed", ())
    if param is None or param >= len(accessed):
        return "", None
    title, offset = accessed[param]
    return f" of {title}", offset


def positions_of(instance, node):
    """Tuples (file, line, column, end line, end column, function), the innermost call first."""
    positions = instance.positions(node)
    relocate = getattr(instance, "relocate", None)  # only instances from warm records have it
    return positions if relocate is None else relocate(positions)


def _place(instance, node, innermost=False):
    positions = positions_of(instance, node)
    if not positions:
        return ""
    from .frontend.report import lines_of

    return lines_of(positions[:1] if innermost else positions).rstrip("\n")
