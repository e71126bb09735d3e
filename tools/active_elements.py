"""Saves and restores fields of which only some elements are active.

tools/compare_with_taichi.py imports it during a run, where `taichi` is either implementation.
"""

import numpy as np
import taichi as ti


@ti.kernel
def _mark(field: ti.template(), marks: ti.types.ndarray()):
    for i in ti.grouped(field):
        marks[i] = 1


def active(field):
    """An array of the field's shape, 1 for elements that a loop visits; None if it visits all."""
    while hasattr(field, "get_member_field"):  # for a struct, any member will do
        field = field.get_member_field(field.keys[0])
    marks = np.zeros(field.shape, np.int32)
    if not marks.shape:
        return None
    _mark(field, marks)
    return None if marks.all() else marks


def restore(field, marks, value):
    """Writes only the elements in `marks` (None: all), because a write activates an element."""
    if isinstance(value, dict):
        for member in field.keys:
            restore(field.get_member_field(member), marks, value[member])
        return
    marks = np.ones(field.shape) if marks is None else marks
    for index in zip(*(axis.tolist() for axis in np.nonzero(marks))):
        element = value[index]
        field[index] = element.tolist() if element.ndim else element.item()
