"""Textures in kernels: what the parameters of `ti.types.texture` and `ti.types.rw_texture` are."""

from .. import types as ti_types
from ..diagnostics import say
from ..static import NDRange


class TextureArgument:
    """A texture parameter inside the kernel.

    array: the array of its stored texels, an ArrayArgument. fmt: its format. most: the stored
    integer that means 1.0, or 0 if stored numbers mean themselves.
    """

    __slots__ = ("array", "fmt", "most")

    def __init__(self, array, fmt, most):
        self.array = array
        self.fmt = fmt
        self.most = most

    @property
    def shape(self):
        return self.array.shape

    @property
    def cells(self):
        """The range of a loop over the texels."""
        return NDRange(*self.shape)

    def __getitem__(self, index):
        raise say.texture_has_no_subscripts()

    def _refuse(self, method, needed):
        raise say.texture_needs_other_annotation(method=method, needed=needed)

    def _index(self, method, value):
        return self._vector(method, value, "an integer", lambda dtype: dtype.is_int)

    def _vector(self, method, value, needed, fits):
        """The components of `value`, of which there is one for each axis."""
        ctx = self.array.ctx
        found = ctx.expr(value)
        info, ndim = found.type, self.array.ndim
        dimensions = info.shape or (1,)
        if dimensions != (ndim,) or info.dtype is None:
            raise say.texture_index_count(method=method, ndim=ndim, got=info.name)
        if not fits(info.dtype):
            raise say.texture_index_type(method=method, needed=needed, got=info.name)
        return found if info.shape else ctx.tensor([found])


class SampledTexture(TextureArgument):
    """A parameter that kernels read."""

    __slots__ = ()

    def sample_lod(self, uv, lod):
        """The texture between its texels: a vector of four f32.

        uv: a float for each axis; 0 to 1 is the whole texture, which repeats beyond. lod: without
        effect, since textures have one level of detail.
        """
        place = self._vector("sample_lod", uv, "a float", lambda dtype: dtype.is_float)
        return _texels().sample(self.array, place, self.most)

    def fetch(self, index, lod):
        """The texel at `index`, a vector of four f32; outside of the texture, that of zeros.

        index: an integer for each axis. lod: without effect.
        """
        return _texels().fetch(self.array, self._index("fetch", index), self.most)

    def load(self, *_args):
        """Raises TaichiCompilationError."""
        self._refuse("load", "ti.types.rw_texture")

    def store(self, *_args):
        """Raises TaichiCompilationError."""
        self._refuse("store", "ti.types.rw_texture")


class StoredTexture(TextureArgument):
    """A parameter that kernels read and write, by texels."""

    __slots__ = ()

    def load(self, index):
        """The texel at `index`, a vector of four f32; outside of the texture, that of zeros."""
        return _texels().fetch(self.array, self._index("load", index), self.most)

    def store(self, index, value):
        """Sets the texel at `index`, to a vector of four floats; outside of the texture it does
        nothing."""
        index = self._index("store", index)
        texel = self.array.ctx.expr(value)
        info = texel.type
        if info.shape != (4,) or info.dtype is None or not info.dtype.is_float:
            raise say.texture_stores_other_value(got=info.name)
        _texels().store(self.array, index, texel, self.most)

    def fetch(self, *_args):
        """Raises TaichiCompilationError."""
        self._refuse("fetch", "ti.types.texture")

    def sample_lod(self, *_args):
        """Raises TaichiCompilationError."""
        self._refuse("sample_lod", "ti.types.texture")


def _texels():
    """The functions of the language that access texels; few kernels need them."""
    from ..values import texels

    return texels


def check_fits(name, annotation, argument):
    """Raises unless `argument` is a texture for parameter `name` of a function."""
    is_stored = isinstance(annotation, ti_types.RWTextureType)
    if argument.__class__ is not (StoredTexture if is_stored else SampledTexture):
        raise say.func_argument_is_no_texture(name=name, needed=annotation)
    check_form(name, annotation, argument.array.ndim, argument.fmt)


def check_form(name, annotation, ndim, fmt):
    """Raises unless a parameter takes textures with so many axes, and of that format."""
    needed = annotation.num_dimensions
    if ndim != needed:
        kind = type(annotation).__name__
        raise say.texture_argument_ndim(kind=kind, name=name, needed=needed, got=ndim)
    if isinstance(annotation, ti_types.RWTextureType) and fmt is not annotation.fmt:
        raise say.texture_argument_format(name=name, needed=annotation.fmt, got=fmt)
