"""Makes fields and places them: `ti.field`, and the fields of vector, matrix and struct types."""

from .. import provided, runtime
from .. import types as ti_types
from ..active import python_scope
from ..diagnostics import near, say
from . import declared, snode, trees
from .axes import as_offset, as_tuple
from .field import ScalarField
from .matrix_field import MatrixField


@python_scope
def field(
    dtype,
    shape=None,
    order=None,
    name="",
    offset=None,
    needs_grad=False,
    needs_dual=False,
    **kwargs,
):
    """Makes a field: elements, initially zero, that kernels and Python read and write by index.

    dtype: the type of the elements: a scalar type such as ti.f32, float, int, or a vector, matrix,
    struct or quantised type. shape: an integer, or one for each axis; () makes a single element. A
    field without a shape must be placed below ti.root. order: the axes in memory, the outermost
    first; "ji" is column-major. name: the field's name in messages. offset: the first index of each
    axis. needs_grad, needs_dual: whether to make fields of gradients, which only floats have.
    kwargs: `layout` of vectors, matrices and structs: ti.Layout.AOS stores the components of an
    element together, ti.Layout.SOA stores each component in a separate array.

    Raises TaichiRuntimeError before `ti.init` and for extents that are not positive. Raises
    TypeError for extents that are not integers, ValueError for a `dtype` that is not a type, and
    TaichiSyntaxError for an order or offset that does not fit the shape.

        x = ti.field(ti.f32, shape=(2, 3))
        v = ti.field(ti.math.vec3, shape=4, offset=-2, layout=ti.Layout.SOA)
        x[1, 2] = 5.0
        v[-2] = [1, 2, 3]
        print(x[1, 2], v[-2].y)  # prints: 5.0 2.0
    """
    args = shape, order, name, offset, needs_grad, needs_dual
    is_compound = isinstance(dtype, ti_types.CompoundType)
    check_options("ti.field", kwargs, ("layout",) if is_compound else ())
    if isinstance(dtype, ti_types.MatrixType):
        if dtype.ndim == 1:
            return make_vector_field(dtype.n, dtype.dtype, *args, **kwargs)
        return make_matrix_field(dtype.n, dtype.m, dtype.dtype, *args, **kwargs)
    if isinstance(dtype, ti_types.StructType):
        return provided.make_struct_field(dtype, *args, **kwargs)
    return _make_scalar_field(dtype, *args, **kwargs)


_OPTIONS = ("shape", "order", "name", "offset", "needs_grad", "needs_dual")


def check_options(what, given, allowed):
    """Raises for unknown keyword arguments of the function `what`, which makes fields."""
    for name in given:
        if name not in allowed:
            hint = near(name, (*_OPTIONS, *allowed))
            raise say.field_has_no_option(what=what, name=name, hint=hint)


def check_matrix_options(what, given):
    """Like `check_options`, for functions that make fields of matrices."""
    check_options(what, given, (*_OPTIONS, "layout", "ndim"))


def _make_scalar_field(
    dtype, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False
):
    dtype = check_dtype(dtype, needs_grad or needs_dual)
    made = ScalarField(dtype, name)
    place(made, shape, order, offset, needs_grad, needs_dual, ti_types.Layout.AOS)
    return made


def make_vector_field(n, dtype, *args, **kwargs):
    return make_matrix_field(n, 1, dtype, *args, ndim=1, **kwargs)


@python_scope
def make_matrix_field(
    n,
    m,
    dtype,
    shape=None,
    order=None,
    name="",
    offset=None,
    needs_grad=False,
    needs_dual=False,
    layout=ti_types.Layout.AOS,
    ndim=2,
):
    made = _matrix_field(n, m, dtype, ndim, name, needs_grad or needs_dual)
    place(made, shape, order, offset, needs_grad, needs_dual, layout)
    return made


def unplaced(of, name):
    """A field of numbers or matrices, for a caller that places or declares it. If that fails,
    nothing is left of it."""
    if not isinstance(of, ti_types.MatrixType):
        return ScalarField(check_dtype(of, needs_companion=False), name)
    columns = 1 if of.ndim == 1 else of.m
    return _matrix_field(of.n, columns, of.dtype, of.ndim, name, needs_companion=False)


def _matrix_field(n, m, dtype, ndim, name, needs_companion):
    types = None
    if isinstance(dtype, (list, tuple)):
        types = _component_types(dtype, n * m)
        dtype = types[0]
    dtype = check_dtype(dtype, needs_companion)
    made = MatrixField(n, m, dtype, ndim, name)
    if types is not None and any(of is not dtype for of in types):
        made._component_types = types
    return made


def _component_types(rows, count):
    """The types of the components of a matrix, row-major."""
    rows = [row if isinstance(row, (list, tuple)) else [row] for row in rows]
    types = [ti_types.cook_element(of) for row in rows for of in row]
    if len(types) != count:
        raise say.types_of_other_number(got=len(types), count=count)
    if len({of.scalar for of in types}) != 1:
        raise say.components_of_other_compute_types()
    return types


class Together(snode.Placeable):
    """Several fields that are placed in the same cells."""

    def __init__(self, leaves):
        self.leaves = leaves

    def _place_in(self, node, offset):
        node.place(*self.leaves, offset=offset)

    @property
    def grad(self):
        return [f.grad for f in self.leaves if f.grad is not None]

    @property
    def dual(self):
        return [f.dual for f in self.leaves if f.dual is not None]


def check_dtype(dtype, needs_companion):
    """The type of a field's elements; raises if a field cannot have it, or cannot be made now."""
    runtime.require_init("create field")
    dtype = ti_types.cook_element(dtype)
    if needs_companion and not dtype.is_float:
        raise say.not_supported_for_field_with_needs_grad(dtype=dtype)
    return dtype


def place(made, shape, order, offset, needs_grad, needs_dual, layout):
    """Places a new field and its companions by the options of `ti.field`."""
    if shape is None:
        if offset is not None:
            raise say.shape_cannot_none_when_offset_set()
        if order is not None:
            raise say.shape_cannot_none_when_order_set()
        kinds = [kind for kind, needed in (("grad", needs_grad), ("dual", needs_dual)) if needed]
        for one in made.leaves if isinstance(made, Together) else [made]:
            declared.add(one, kinds)
        return
    shape = as_tuple(shape)
    if offset is not None:
        offset = as_offset(offset)
    dim = len(shape)
    if offset is not None and dim != len(offset):
        raise say.dimensionality_shape_and_offset_must_same(dim=dim, got=len(offset))
    axes = list(range(dim))
    if order is not None:
        axes = _axes_of_order(order, dim)
    fields = [made]
    fields += [made.grad] if needs_grad else []
    fields += [made.dual] if needs_dual else []
    for one in fields:
        if layout is ti_types.Layout.SOA:
            for component in range(one._num_components):
                _parent_for(axes, shape, order)._place_component(one, component, offset or ())
        else:
            _parent_for(axes, shape, order).place(one, offset=offset)


def _parent_for(axes, shape, order):
    """Makes a dense node of `shape` below ti.root; with an order, one level per axis."""
    node = trees._current_root().root
    if order is None:
        return node.dense(axes, [shape[a] for a in axes]) if axes else node
    for axis in axes:
        node = node.dense([axis], [shape[axis]])
    return node


def _axes_of_order(order, dim):
    if len(order) != dim:
        raise say.dimensionality_shape_and_order_must_same(dim=dim, got=len(order))
    if len(set(order)) != dim:
        raise say.axes_order_must_different()
    axes = [ord(letter) - ord("i") for letter in order]
    for letter, axis in zip(order, axes):
        if not 0 <= axis < dim:
            raise say.invalid_axis(letter=letter)
    return axes


__all__ = ["field"]
