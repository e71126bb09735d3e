"""Restricts `dir()` of public classes to the reference's names.

It hides Kiln's own helpers, which cannot be private because other modules use them.
"""

_FIELD = (
    "copy_from dtype fill from_numpy from_paddle from_torch parent shape snode to_numpy to_paddle "
    "to_torch"
)
_SNODE = "bitmasked deactivate_all dense dynamic lazy_dual lazy_grad place pointer quant_array"
_NDARRAY = "copy_from element_shape fill get_type"

SHOWN = {
    "Field": _FIELD,
    "FieldsBuilder": f"{_SNODE} finalize",
    "MatrixField": f"{_FIELD} get_scalar_field",
    "MatrixNdarray": f"{_NDARRAY} from_numpy to_numpy",
    "Ndarray": _NDARRAY,
    "SNode": f"{_SNODE} parent shape",
    "ScalarField": _FIELD,
    "ScalarNdarray": f"{_NDARRAY} from_numpy to_numpy",
    "Struct": "entries field items keys methods to_dict",
    "StructField": f"{_FIELD} get_member_field keys",
    "Texture": "from_field from_image from_ndarray to_image",
    "VectorNdarray": f"{_NDARRAY} from_numpy to_numpy",
}


class Public(type):
    """Metaclass of these classes. A class without a row in the table shows the names of its
    base."""

    def __dir__(cls):
        shown = next(SHOWN[base.__name__] for base in cls.__mro__ if base.__name__ in SHOWN)
        hidden = [name for name in super().__dir__() if name[0] == "_"]
        return [*hidden, *shown.split()]
