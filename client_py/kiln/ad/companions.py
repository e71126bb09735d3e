"""Gradients and duals of fields, ndarrays and tensors: which there are, and filling them."""

from ..active import python_scope
from ..compat.misc import SNodeGradType
from ..data import trees
from ..data.field import AnyField
from ..data.recorded import companion

_NAMES = {SNodeGradType.ADJOINT: "grad", SNodeGradType.DUAL: "dual"}


@python_scope
def clear_all_gradients(gradient_type=SNodeGradType.ADJOINT):
    """Sets the gradients of all fields to zero; of sparse fields, those of active elements.

    gradient_type: ADJOINT for gradients, DUAL for duals (members of lang.enums.SNodeGradType).

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        x.grad.fill(1.0)
        ti.ad.clear_all_gradients()
        print(x.grad)  # prints: [0. 0.]
    """
    kind = _NAMES.get(gradient_type)
    trees.materialize()
    if kind is not None:
        _clear(kind)


def clear_marks():
    """Forgets what validated kernels have read."""
    trees.materialize()
    _clear("_marks")


def _clear(kind):
    for field in placed_fields():
        found = companion(field, kind)
        if found is not None:
            found.fill(0.0)


def placed_fields():
    """All fields in trees that are alive, without gradients and duals."""
    found = {}
    for root in trees.FieldsBuilder._finalized_roots():
        for node in root._walk():
            field = node._field if node._kind.is_place else None
            if field is not None and not field._is_companion:
                whole = getattr(field, "_shares", field)
                found[id(whole)] = whole
    return list(found.values())


def is_field(value):
    return isinstance(value, AnyField)
