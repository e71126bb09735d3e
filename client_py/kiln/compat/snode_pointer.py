"""`field.snode.ptr`: the reference's native SNode, of which programs ask what gradients it has."""

from .misc import SNodeGradType

_TYPES = {
    "grad": SNodeGradType.ADJOINT,
    "dual": SNodeGradType.DUAL,
    "_marks": SNodeGradType.ADJOINT_CHECKBIT,
}


class SNodePointer:
    """What programs ask an SNode."""

    def __init__(self, node):
        self._node = node

    def is_place(self):
        """Whether the SNode is a field's component."""
        return self._node._kind.is_place

    def get_snode_grad_type(self):
        """PRIMAL, or what the field of the SNode is of another field: ADJOINT or DUAL."""
        of = self.is_place() and self._node._field._is_companion
        return _TYPES[of] if of else SNodeGradType.PRIMAL

    def is_primal(self):
        """Whether the SNode's field is neither a gradient nor a dual."""
        return self.get_snode_grad_type() is SNodeGradType.PRIMAL

    def has_adjoint(self):
        """Whether the gradient of the SNode's field is placed."""
        return self._has("grad")

    def has_dual(self):
        """Whether the dual of the SNode's field is placed."""
        return self._has("dual")

    def has_adjoint_checkbit(self):
        """Whether a tape with `validation` checks the accesses to the field."""
        return self._has("_marks")

    def _has(self, kind):
        found = getattr(self._node._field, kind) if self.is_place() else None
        return found is not None and found._places[self._node._component] is not None


__all__ = ["SNodePointer"]
