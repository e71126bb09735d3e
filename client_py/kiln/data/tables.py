"""The tables of meshes (data/mesh_metadata.py) as NumPy arrays, made from metadata in patches."""

import numpy as np

from ..diagnostics import say

GROUPS = ("verts", "edges", "faces", "cells")
LETTERS = tuple(enumerate("VEFC"))
# For elements of one kind, the number of those of a lower kind that belong to each.
_DEGREES = {(1, 0): 2, (2, 0): 3, (2, 1): 3, (3, 0): 4, (3, 1): 6, (3, 2): 4}


class ElementTables:
    """The elements of one kind. `g2r` has the place of each element in the order of owners, `r2g`
    the element at each place, and `patch` the patch that owns it."""

    ARRAYS = ("owned_offsets", "total_offsets", "l2g_mapping", "l2r_mapping", "g2r_mapping")
    IN_KERNELS = ("g2r", "r2g", "patch")

    def __init__(self, order, num, num_patches, **arrays):
        self.order = int(order)
        self.num = int(num)
        self.name = GROUPS[self.order]
        arrays = {name: self._integers(name, array) for name, array in arrays.items()}
        self.owned = self._offsets(arrays["owned_offsets"], "owned_offsets", num_patches, self.num)
        self.l2g = arrays["l2g_mapping"]
        total = len(self.l2g)
        self.total = self._offsets(arrays["total_offsets"], "total_offsets", num_patches, total)
        self.g2r = arrays["g2r_mapping"]
        self._check_mappings(arrays["l2r_mapping"])
        self.r2g = np.empty_like(self.g2r)
        self.r2g[self.g2r] = np.arange(self.num)
        self.patch = np.repeat(np.arange(num_patches), np.diff(self.owned))

    def _integers(self, name, array):
        try:
            found = np.asarray(array).reshape(-1)
            if found.dtype.kind not in "biu" and len(found):
                raise ValueError
        except ValueError:
            raise say.mesh_table_is_wrong(elements=self.name, name=name) from None
        return found.astype(np.int64)

    def _offsets(self, array, name, num_patches, end):
        grows = len(array) == num_patches + 1 and array[0] == 0 and np.all(np.diff(array) >= 0)
        if not grows or array[-1] != end:
            raise say.mesh_table_is_wrong(elements=self.name, name=name)
        return array

    def _check_mappings(self, l2r):
        if not np.array_equal(np.sort(self.g2r), np.arange(self.num)):
            raise say.mesh_table_is_wrong(elements=self.name, name="g2r_mapping")
        if len(self.l2g) and not 0 <= self.l2g.min() <= self.l2g.max() < self.num:
            raise say.mesh_table_is_wrong(elements=self.name, name="l2g_mapping")
        if not np.array_equal(l2r, self.g2r[self.l2g]):
            raise say.mesh_table_is_wrong(elements=self.name, name="l2r_mapping")


class RelationTables:
    """The elements around each element, in the order of owners: those of the element at place i are
    entries offset[i] to offset[i + 1] of `value`, which has their numbers, and of `place`. Where
    all have as many (`degree`), there is no `offset`. Rows in this order are near each other in
    memory when a loop needs them."""

    IN_KERNELS = ("value", "place", "offset")

    def __init__(self, value, place, offset):
        self.value = value
        self.place = place
        self.offset = offset


def degree(start, end):
    """How many elements of kind `end` belong to each of kind `start`; None if that varies."""
    return _DEGREES.get((int(start), int(end)))


def checked_relation(start, end, arrays, patcher):
    """The tables of a relation between two kinds, given by ElementTables.

    arrays: those of the metadata. patcher: the object that made them, or None. Its relations are of
    the whole mesh; those of patches lack elements that are in no list of the owner's patch.
    """
    name = LETTERS[start.order][1] + LETTERS[end.order][1]
    count = degree(start.order, end.order)
    found = _whole(start, end, patcher)
    value, offset = found or _from_patches(start, end, arrays, count, name)
    if len(value) and not 0 <= value.min() <= value.max() < end.num:
        raise say.mesh_relation_is_wrong(relation=name)
    if count is not None and not np.array_equal(offset, np.arange(start.num + 1) * count):
        raise say.mesh_relation_is_wrong(relation=name)
    if found is None and start is end:
        _check_symmetric(start, value, offset, name)
    return RelationTables(value, end.g2r[value], None if count is not None else offset)


def _whole(start, end, patcher):
    """(values, offsets) of a relation that the patcher knows; None without."""
    if not hasattr(patcher, "get_relation"):
        return None
    found = patcher.get_relation(start.order, end.order)
    value, offset = (np.asarray(array).astype(np.int64) for array in (found.value, found.offset))
    if len(offset) != start.num + 1:
        return None
    rows, offset = _rows(offset[start.r2g], np.diff(offset)[start.r2g])
    return value[rows], offset


def _rows(begins, counts):
    """(indices, offsets) of the rows that begin at `begins` and are so long."""
    offset = np.concatenate(([0], np.cumsum(counts)))
    return np.arange(offset[-1]) + np.repeat(begins - offset[:-1], counts), offset


def _from_patches(start, end, arrays, count, name):
    """(values, offsets) of a relation between elements of patches."""
    arrays = [start._integers(f"relation {name}", array) for array in arrays]
    places = np.arange(start.num) - start.owned[start.patch]  # in the lists of their owners
    if count is not None:
        begins = (start.total[start.patch] + places) * count
        counts = np.full(start.num, count)
    else:
        _, patch_offset, offset = arrays
        at = np.arange(start.num) + start.patch
        if len(patch_offset) != len(start.owned) - 1 or at[-1] + 1 >= len(offset):
            raise say.mesh_relation_is_wrong(relation=name)
        begins = patch_offset[start.patch] + offset[at]
        counts = offset[at + 1] - offset[at]
    if counts.min() < 0 or begins.min() < 0 or (begins + counts).max() > len(arrays[0]):
        raise say.mesh_relation_is_wrong(relation=name)
    rows, offset = _rows(begins, counts)
    local, patch = arrays[0][rows], np.repeat(start.patch, counts)
    if np.any(local < 0) or np.any(local >= np.diff(end.total)[patch]):
        raise say.mesh_relation_leaves_patch(relation=name)
    return end.l2g[end.total[patch] + local], offset


def _check_symmetric(kind, value, offset, name):
    """Raises unless each element is around those that are around it."""
    start = np.repeat(kind.r2g, np.diff(offset))
    if not np.array_equal(np.sort(start * kind.num + value), np.sort(value * kind.num + start)):
        raise say.mesh_relation_leaves_patch(relation=name)
