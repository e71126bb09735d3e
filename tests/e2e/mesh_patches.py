"""Small meshes divided into patches, as the metadata that `ti.Mesh.generate_meta` takes."""

import itertools

import numpy as np

LETTERS = "VEFC"
ALL_OF_TRIANGLES = "VV VE VF EV EE EF FV FE FF".split()
ALL_OF_TETRAHEDRA = [a + b for a in LETTERS for b in LETTERS]


def grid(n):
    """(positions, triangles) of n x n vertices."""
    points = [(i, j, (i * j) % 3) for i in range(n) for j in range(n)]
    corners = [i * n + j for i in range(n - 1) for j in range(n - 1)]
    halves = [((a, a + 1, a + n), (a + 1, a + n + 1, a + n)) for a in corners]
    return points, list(itertools.chain(*halves))


def tetrahedra(n):
    """(positions, tetrahedra) of n x n x n vertices: six fill each cube."""
    points = list(itertools.product(range(n), repeat=3))
    cells = []
    for corner in itertools.product(range(n - 1), repeat=3):
        for axes in itertools.permutations(range(3)):
            at, cell = list(corner), [points.index(corner)]
            for axis in axes:
                at[axis] += 1
                cell.append(points.index(tuple(at)))
            cells.append(tuple(cell))
    return points, cells


def metadata(mesh, num_patches=1, relations=ALL_OF_TRIANGLES):
    """The metadata of a mesh with so many patches. Each lists all elements that its relations
    need."""
    points, tops = mesh
    kinds = kinds_of(points, tops)
    ends = [(LETTERS.index(a), LETTERS.index(b)) for a, b in relations]
    around = {pair: elements_around(kinds, *pair) for pair in {*ends, *_of_tops(kinds)}}
    owned = _owned(kinds, around, num_patches)
    total = [_listed(owned, around, ends, patch) for patch in range(num_patches)]
    return {
        "num_patches": num_patches,
        "elements": [_element(kinds, owned, total, order) for order in range(len(kinds))],
        "relations": [_relation(owned, total, around, pair) for pair in ends],
        "attrs": {"x": np.array(points, np.float32).reshape(-1)},
    }


def kinds_of(points, tops):
    """The elements of each order, as tuples of their vertices."""
    kinds = [[(v,) for v in range(len(points))]]
    for size in range(2, len(tops[0])):
        found = {c: None for top in tops for c in itertools.combinations(sorted(top), size)}
        kinds.append(list(found))
    return [*kinds, list(tops)]


def _of_tops(kinds):
    top = len(kinds) - 1
    return [(top, order) for order in range(top)]


def elements_around(kinds, start, end):
    """For each element of a kind, the numbers of those of another one around it."""
    number = {tuple(sorted(e)): n for n, e in enumerate(kinds[end])}
    if start > end:
        parts = [itertools.combinations(e, end + 1) for e in kinds[start]]
        return [[number[tuple(sorted(part))] for part in of] for of in parts]
    if start < end:
        found = [[] for _ in kinds[start]]
        for n, of in enumerate(elements_around(kinds, end, start)):
            for one in of:
                found[one].append(n)
        return found
    # Vertices are around each other if they share an edge; others, if they share a part.
    through = 1 if start == 0 else start - 1
    there, back = elements_around(kinds, start, through), elements_around(kinds, through, start)
    found = [dict.fromkeys(b for a in of for b in back[a]) for of in there]
    return [[b for b in of if b != n] for n, of in enumerate(found)]


def _owned(kinds, around, num_patches):
    """For each order and patch, the elements that it owns: those of its last owner."""
    top = len(kinds) - 1
    patch_of = [n // 2 % num_patches for n in range(len(kinds[top]))]
    owners = [[0] * len(kind) for kind in kinds[:top]] + [patch_of]
    for order in range(top):
        for n, of in enumerate(around[top, order]):
            for one in of:
                owners[order][one] = patch_of[n]
    patches = range(num_patches)
    return [[[n for n, p in enumerate(of) if p == patch] for patch in patches] for of in owners]


def _listed(owned, around, ends, patch):
    """For each order, the elements in a patch's list: first its own."""
    listed = [dict.fromkeys(of[patch]) for of in owned]
    for start, end in sorted(ends):
        if start <= end:
            for one in owned[start][patch]:
                listed[end].update(dict.fromkeys(around[start, end][one]))
    for start, end in sorted({*ends, *((3, 0) for _ in owned[3:])}, reverse=True):
        if start > end:
            for one in list(listed[start]):
                listed[end].update(dict.fromkeys(around[start, end][one]))
    return [list(of) for of in listed]


def _element(kinds, owned, total, order):
    order_of_owners = list(itertools.chain(*owned[order]))
    place = {one: n for n, one in enumerate(order_of_owners)}
    lists = [listed[order] for listed in total]
    l2g = list(itertools.chain(*lists))
    return {
        "order": order,
        "num": len(kinds[order]),
        "max_num_per_patch": max(map(len, lists)),
        "owned_offsets": np.cumsum([0, *map(len, owned[order])]),
        "total_offsets": np.cumsum([0, *map(len, lists)]),
        "l2g_mapping": np.array(l2g),
        "l2r_mapping": np.array([place[one] for one in l2g]),
        "g2r_mapping": np.array([place[one] for one in range(len(place))]),
    }


def _relation(owned, total, around, ends):
    start, end = ends
    value, offset, patch_offset = [], [], []
    for patch, listed in enumerate(total):
        local = {one: n for n, one in enumerate(listed[end])}
        patch_offset.append(len(value))
        offset.append(0)
        for one in listed[start] if start > end else owned[start][patch]:
            value += [local[other] for other in around[ends][one]]
            offset.append(len(value) - patch_offset[-1])
    made = {"from_order": start, "to_order": end, "value": np.array(value, np.uint16)}
    if start <= end:
        made["patch_offset"] = np.array(patch_offset)
        made["offset"] = np.array(offset, np.uint16)
    return made
