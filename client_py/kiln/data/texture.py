"""Textures: pictures that kernels read by texel or interpolated, and write by texel."""

from .. import _native, runtime
from ..active import python_scope
from ..diagnostics import say
from ..errors import TaichiRuntimeError
from ..own_files import caller
from ..public import Public
from ..types.texture_format import FORMAT2TY_CH, largest_of
from .axes import as_tuple
from .elements import check_source
from .field import AnyArray, AnyField
from .recorded import FROM_NUMPY, note, note_change


class Texture(_native.FieldBase, metaclass=Public):
    """A picture of one to three axes, whose texels have one to four channels.

    Kernels read it through parameters annotated `ti.types.texture`, and write it through
    `ti.types.rw_texture`. For them a texel is a vector of four f32; channels that the format lacks
    are 0, and alpha is 1. Formats such as `rgba8` store fractions: 255 means 1.0. Other formats
    store the numbers themselves. All texels are zero at first.

    fmt: the format, as ti.Format.rgba8. arr_shape: the number of texels along each axis. Raises
    TypeError for formats that textures cannot have, RuntimeError for other shapes.

    Example::

        tex = ti.Texture(ti.Format.r32f, (2, 2))

        @ti.kernel
        def draw(tex: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)):
            for i, j in tex:
                tex.store(ti.Vector([i, j]), ti.Vector([i + 0.5 * j, 0.0, 0.0, 0.0]))

        @ti.kernel
        def middle(tex: ti.types.texture(num_dimensions=2)) -> ti.f32:
            return tex.sample_lod(ti.Vector([0.5, 0.5]), 0.0).x

        draw(tex)
        print(middle(tex))  # prints: 0.75
    """

    def __init__(self, fmt, arr_shape):
        runtime.require_init("create texture")
        if fmt not in FORMAT2TY_CH:
            raise say.texture_of_other_format(fmt=fmt)
        shape = as_tuple(arr_shape)
        if not 1 <= len(shape) <= 3 or not all(map(_is_extent, shape)):
            raise say.texture_of_other_shape(shape=shape)
        self.fmt = fmt
        self.shape = tuple(int(extent) for extent in shape)
        self.num_dims = len(shape)
        self.dtype, self.channels = FORMAT2TY_CH[fmt]
        self.largest = largest_of(fmt)  # the stored integer that means 1.0, or 0
        if self.largest:
            # Kernels are compiled for the class, the type and the number of channels. What these
            # leave open is whether texels are fractions, so the class says it.
            self.__class__ = _class_of_fractions(type(self))
        self._made_at = caller()
        try:
            kind = texels_of(type(self))
            self._bind(
                _native.make_ndarray(self.dtype.scalar, [self.channels], list(self.shape), kind)
            )
        except MemoryError as error:
            raise TaichiRuntimeError(str(error)) from None

    # --- whole textures

    @python_scope
    def from_ndarray(self, ndarray):
        """Copies the memory of an ndarray, whose order is another one: in a texture, the first axis
        varies fastest. Texel (x, y) of one of width w is element number y * w + x.

        ndarray: one of the texture's shape, whose elements are what the format stores: numbers, or
        vectors of as many as there are channels. Raises ValueError for others.
        """
        if not isinstance(ndarray, AnyArray):
            raise say.texture_from_no_ndarray(kind=type(ndarray))
        self._store_memory_of(ndarray, "from_ndarray")

    @python_scope
    def from_field(self, field):
        """Copies a field, as `from_ndarray` copies an ndarray.

        field: one of the texture's shape, whose elements are what the format stores; raises
        ValueError for others.
        """
        if not isinstance(field, AnyField):
            raise say.texture_from_no_field(kind=type(field))
        self._store_memory_of(field, "from_field")

    def _store_memory_of(self, source, call):
        shapes = [(self.channels,), ()] if self.channels == 1 else [(self.channels,)]
        is_struct = not hasattr(source, "element_shape")
        fits = not is_struct and source.element_shape in shapes and source.dtype is self.dtype
        if not fits or source.shape != self.shape:
            raise say.texture_from_other_elements(
                fmt=self.fmt,
                shape=self.shape,
                needed=f"{self.dtype} {(self.channels,)}",
                got="structs" if is_struct else f"{source.dtype} {source.element_shape}",
                got_shape=source.shape,
            )
        texels = source.to_numpy().reshape(*reversed(self.shape), self.channels)
        axes = reversed(range(self.num_dims))
        self._store(texels.transpose(*axes, self.num_dims), call)

    def _store(self, texels, call):
        """Stores an array of the shape of `to_numpy`, for the method `call`."""
        import numpy as np

        note_change(self, call)
        self._copy_from(np.ascontiguousarray(texels, self.dtype.numpy_name))
        note(FROM_NUMPY, self, texels)

    @python_scope
    def to_numpy(self):
        """A NumPy array with a copy of what is stored, of the texture's shape followed by the
        number of channels."""
        import numpy as np

        found = np.empty((*self.shape, self.channels), self.dtype.numpy_name)
        self._copy_to(found)
        return found

    @python_scope
    def from_numpy(self, arr):
        """Stores the numbers of an array.

        arr: a NumPy array of the shape of `to_numpy`; raises ValueError for others.
        """
        check_source(arr)
        full = (*self.shape, self.channels)
        if arr.shape != full:
            raise say.mismatch_shape_expected_but_provided(full=full, got=arr.shape)
        self._store(arr, "from_numpy")

    @python_scope
    def from_image(self, image):
        """Sets all texels from a picture, turned by a quarter to the left. The texture's first axis
        runs along the rows of the picture, from right to left. Alpha, if there is any, becomes 0.

        image: a PIL image as wide and high as the texture; raises AssertionError for others. The
        texture has two axes, and stores fractions or floats.
        """
        import numpy as np

        self._check_is_picture("from_image")
        if not hasattr(image, "convert"):
            raise say.texture_from_no_image(kind=type(image))
        if tuple(image.size) != self.shape:
            raise say.texture_from_image_of_other_size(shape=self.shape, size=tuple(image.size))
        colors = np.rot90(np.asarray(image.convert("RGB"))) / 255.0
        texels = np.zeros((*self.shape, 4))
        texels[..., :3] = colors
        most = self.largest
        if most:
            texels = np.rint(texels * most)
        self._store(texels[..., : self.channels], "from_image")

    @python_scope
    def to_image(self):
        """The texture as a PIL image in RGB mode, turned as in `from_image`. It has two axes, and
        stores fractions or floats in 0..1."""
        import numpy as np
        from PIL import Image

        self._check_is_picture("to_image")
        colors = np.rint(np.clip(self._colors(), 0, 1) * 255).astype(np.uint8)
        return Image.fromarray(np.ascontiguousarray(np.rot90(colors, -1)))

    def _colors(self):
        """The red, green and blue of all texels, as kernels read them."""
        import numpy as np

        texels = self.to_numpy()
        found = np.zeros((*self.shape, 3), np.float32)
        shown = min(self.channels, 3)
        found[..., :shown] = texels[..., :shown]
        return found / np.float32(self.largest or 1)

    def _check_is_picture(self, call):
        if self.num_dims != 2 or self.dtype.is_int and not self.largest:
            raise say.texture_is_no_picture(call=call, fmt=self.fmt, shape=self.shape)

    def __copy__(self):
        """Returns a texture that shares the texels."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._bind(self._storage)
        return made

    def __deepcopy__(self, memo=None):
        made = Texture(self.fmt, self.shape)
        made._copy_from(self.to_numpy())
        return made

    def __getitem__(self, index):
        raise say.texture_has_no_elements()

    def __setitem__(self, index, value):
        raise say.texture_has_no_elements()

    # --- of kernels

    def fetch(self, *_args):
        """Raises TaichiRuntimeTypeError: kernels call it, on a parameter."""
        raise say.texture_is_no_parameter()

    load = store = sample_lod = fetch

    # --- errors

    def _title(self):
        return f"the texture created at {self._made_at[0]}:{self._made_at[1]}"

    def _materialize(self):
        raise say.has_no_memory(title=self._title())

    def _stale_error(self):
        raise say.gone_memory_was_given_back(title=self._title())


class FractionTexture(Texture):
    """A texture of integers that stand for fractions: the largest one is 1.0."""


_of_fractions = {Texture: FractionTexture}


def _class_of_fractions(kind):
    """The class of fractions of Texture, or of a program's subclass of it."""
    if kind in _of_fractions.values():
        return kind
    if kind not in _of_fractions:
        _of_fractions[kind] = type(kind)(kind.__name__, (kind,), {"__module__": kind.__module__})
    return _of_fractions[kind]


def texels_of(kind):
    """What the texels of a class of textures are, as kiln_param.texels has it: 2 for fractions, 1
    for the stored numbers."""
    return 2 if kind in _of_fractions.values() else 1


def _is_extent(extent):
    return hasattr(extent, "__index__") and 0 < extent <= 2**31 - 1


__all__ = ["Texture"]
