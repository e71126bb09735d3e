# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Kiln: the Taichi language, compiled by a server and cached. `import kiln as ti`.

To keep the import cheap, each public name's module is imported when the name is first used. Only
modules that share their name with a function (`ti.func`, `ti.kernel`, `ti.static`) are imported
here: a later import would replace the function by the module.
"""

from typing import Any
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload
_P = ParamSpec('_P')
_Q = ParamSpec('_Q')
_R = TypeVar('_R', covariant=True)
_F = TypeVar('_F')
__version__: tuple[int, int, int]
_lib: Any
class _Function(Generic[_P, _R]):

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...

    @overload
    def __get__(self, instance: None, owner: Any) -> _Function[_P, _R]: ...

    @overload
    def __get__(self: _Function[Concatenate[Any, _Q], _R], instance: Any, owner: Any) -> _Function[_Q, _R]: ...

    def __getattr__(self, name: str) -> Any: ...
class _Kernel(_Function[_P, _R]):

    @property
    def grad(self) -> _Kernel[_P, _R]: ...

    @overload
    def __get__(self, instance: None, owner: Any) -> _Kernel[_P, _R]: ...

    @overload
    def __get__(self: _Kernel[Concatenate[Any, _Q], _R], instance: Any, owner: Any) -> _Kernel[_Q, _R]: ...
class _Value:

    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...

    def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __index__(self) -> int: ...

    def __float__(self) -> float: ...

    def __add__(self, other: Any) -> Any: ...

    def __radd__(self, other: Any) -> Any: ...

    def __sub__(self, other: Any) -> Any: ...

    def __rsub__(self, other: Any) -> Any: ...

    def __mul__(self, other: Any) -> Any: ...

    def __rmul__(self, other: Any) -> Any: ...

    def __truediv__(self, other: Any) -> Any: ...

    def __rtruediv__(self, other: Any) -> Any: ...

    def __floordiv__(self, other: Any) -> Any: ...

    def __rfloordiv__(self, other: Any) -> Any: ...

    def __mod__(self, other: Any) -> Any: ...

    def __rmod__(self, other: Any) -> Any: ...

    def __pow__(self, other: Any) -> Any: ...

    def __rpow__(self, other: Any) -> Any: ...

    def __matmul__(self, other: Any) -> Any: ...

    def __rmatmul__(self, other: Any) -> Any: ...

    def __and__(self, other: Any) -> Any: ...

    def __rand__(self, other: Any) -> Any: ...

    def __or__(self, other: Any) -> Any: ...

    def __ror__(self, other: Any) -> Any: ...

    def __xor__(self, other: Any) -> Any: ...

    def __rxor__(self, other: Any) -> Any: ...

    def __lshift__(self, other: Any) -> Any: ...

    def __rlshift__(self, other: Any) -> Any: ...

    def __rshift__(self, other: Any) -> Any: ...

    def __rrshift__(self, other: Any) -> Any: ...

    def __eq__(self, other: Any) -> Any: ...

    def __ne__(self, other: Any) -> Any: ...

    def __lt__(self, other: Any) -> Any: ...

    def __le__(self, other: Any) -> Any: ...

    def __gt__(self, other: Any) -> Any: ...

    def __ge__(self, other: Any) -> Any: ...

    def __neg__(self) -> Any: ...

    def __invert__(self) -> Any: ...

    def __abs__(self) -> Any: ...

    def __getitem__(self, key: Any) -> Any: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...
class ArgPack(_Value):
    """A pack of arguments, made by calling a type of `ti.types.argpack`. Its members are attributes
    and items; programs may assign to them.

    args, kwargs: raise TaichiSyntaxError: programs call the pack's type instead.

        Params = ti.types.argpack(dt=ti.f32, n=ti.i32)
        p = Params(dt=0.5, n=3)
        p.dt = 0.25
        print(p)  # prints: {'dt': 0.25, 'n': 3}
    """
    @property
    def items(self) -> Any:
        """(name, value) of the members, in order."""
    @property
    def keys(self) -> Any:
        """The names of the members, in order."""
    def to_dict(self) -> Any:
        """The pack as a dictionary. Nested packs become dictionaries, matrices become lists."""
class BitpackedFields:
    """Fields whose elements with equal indices share one word.

    max_num_bits: the number of bits of the word: 8, 16, 32 or 64.

        position = ti.field(ti.types.quant.fixed(bits=20, max_value=2.0))
        color = ti.field(ti.types.quant.int(bits=12, signed=False))
        both = ti.BitpackedFields(max_num_bits=32)
        both.place(position, color)
        ti.root.dense(ti.i, 1024).place(both)
        color[3] = 100
        print(color[3])  # prints: 100
    """
    def __init__(self, max_num_bits: Any) -> None: ...
    def place(self, *args: Any, shared_exponent: Any = False) -> Any:
        """Adds fields, in the order of their bits.

        args: fields of quantised types. shared_exponent: whether the floats among them share one
        exponent, that of the largest. Raises TaichiTypeError for an argument that is not a field.
        Raises TaichiRuntimeError for other types of elements, or if the word has too few bits.
        """
CRITICAL: str
DEBUG: str
DeviceCapability: Any
ERROR: str
class Field:
    """A field: elements that kernels and Python read and write by index. Made by `ti.field`.

    Example::

        x = ti.field(ti.f32, shape=(2, 3))
        x[1, 2] = 5.0
        print(x.shape, x[1, 2])  # prints: (2, 3) 5.0
    """
    grad: Any
    dual: Any
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getattr__(self, name: str) -> Any: ...
    def __init__(self, dtype: Any, element_shape: Any, name: Any = "") -> None: ...
    def copy_from(self, other: Any) -> Any:
        """Copies all elements of another field. All elements of this field become active.

        other: a field of the same shape. Raises TypeError if it is not a field, and ValueError for
        another shape.
        """
    dtype: Any
    def fill(self, val: Any) -> Any:
        """Sets all elements.

        val: a number; for a matrix field also a vector or matrix of the elements' shape.
        """
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
    def from_paddle(self, arr: Any) -> Any:
        """Sets all elements from a paddle tensor.

        arr: a tensor of the same shape as `to_numpy`; raises ValueError for others.
        """
    def from_torch(self, arr: Any) -> Any:
        """Sets all elements from a torch tensor.

        arr: a tensor of the same shape as `to_numpy`; raises ValueError for others.
        """
    def parent(self, n: Any = 1) -> Any:
        """The SNode `n` levels above the field; None above the root.

        n: the number of levels.
        """
    @property
    def shape(self) -> Any:
        """The extents of the axes, as a tuple; () for a field with one element."""
    @property
    def snode(self) -> Any:
        """The SNode of the first component."""
    def to_numpy(self, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements.

        dtype: the type of its elements; by default the field's.
        """
    def to_paddle(self, place: Any = None) -> Any:
        """A paddle tensor with a copy of the elements, of the same shape as `to_numpy`.

        place: the tensor's place.
        """
    def to_torch(self, device: Any = None) -> Any:
        """A torch tensor with a copy of the elements, of the same shape as `to_numpy`.

        device: the device of the tensor, as "cpu".
        """
class FieldsBuilder:
    """Builds a separate tree, which can be destroyed.

    Example::

        x = ti.field(ti.f32)
        builder = ti.FieldsBuilder()
        builder.dense(ti.i, 8).place(x)
        tree = builder.finalize()
        x[3] = 1.0
        tree.destroy()
    """

    def bitmasked(self, indices: Any, dimensions: Any) -> Any:
        """Adds cells with a bit per cell that says whether it is active; see SNode.bitmasked.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
    def deactivate_all(self) -> Any:
        """Makes all cells of the tree inactive. Before `finalize` it only warns."""
    def dense(self, indices: Any, dimensions: Any) -> Any:
        """Adds an array of cells to the root of the tree; see SNode.dense.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
    def dynamic(self, index: Any, dimension: Any, chunk_size: Any = None) -> Any:
        """Adds a growing list; see SNode.dynamic.

        index: the axis. dimension: the most cells. chunk_size: the number of cells allocated
        together.
        """
    def finalize(self, raise_warning: Any = True) -> Any:
        """Allocates the tree, so that its fields can be used. The result has a method `destroy()`.

        raise_warning: whether to warn if the tree has no nodes. Raises TaichiRuntimeError for a
        tree that is finalized already, or that has levels without fields.
        """
    def lazy_dual(self) -> Any:
        """Places the dual of every field of the tree in the same cells as the field."""
    def lazy_grad(self) -> Any:
        """Places the gradient of every field of the tree in the same cells as the field."""
    def place(self, *args: Any, offset: Any = None) -> Any:
        """Places fields with a single element.

        args: the fields. offset: as for SNode.place.
        """
    def pointer(self, indices: Any, dimensions: Any) -> Any:
        """Adds cells that the first write allocates; see SNode.pointer.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
    def quant_array(self, indices: Any, dimensions: Any, max_num_bits: Any) -> Any:
        """Adds cells in one word; see SNode.quant_array.

        indices: the axes. dimensions: the number of cells along each. max_num_bits: the word's
        bits.
        """
Format: Any
class GUI:
    """A canvas, in a window if there is a display. The origin is at the lower left; positions are
    in [0, 1] x [0, 1].

    name: the title. res: the width and height in pixels, or one number for both. background_color:
    0xRRGGBB. show_gui: whether to open a window. fullscreen: whether it covers the screen.
    fast_gui: see `img`. KILN_GUI_FRAMES is the number of frames after which the program ends;
    KILN_GUI_SAVE is where frames are saved.

        gui = ti.GUI("disc", res=(64, 32), background_color=0x112233)
        gui.circle((0.5, 0.5), color=0xFFFFFF, radius=10)
        print(gui.get_image().shape)  # prints: (64, 32, 4)
        gui.show("disc.png")
    """
    def __init__(self, name: Any = "Taichi", res: Any = 512, background_color: Any = 0, show_gui: Any = True, fullscreen: Any = False, fast_gui: Any = False) -> None: ...
    ALT: Any
    BACKSPACE: Any
    CAPSLOCK: Any
    CTRL: Any
    DOWN: Any
    ESCAPE: Any
    EXIT: Any
    Event: Any
    EventFilter: Any
    LEFT: Any
    LMB: Any
    MMB: Any
    MOTION: Any
    MOVE: Any
    PRESS: Any
    RELEASE: Any
    RETURN: Any
    RIGHT: Any
    RMB: Any
    SHIFT: Any
    SPACE: Any
    TAB: Any
    UP: Any
    WHEEL: Any
    WidgetValue: Any
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def arrow(self, orig: Any, direction: Any, radius: Any = 1, color: Any = 16777215, **tip: Any) -> Any:
        """Draws one arrow.

        orig: its start. direction: the vector from its start to its end. radius: half the width of
        its lines. color: 0xRRGGBB. tip: `tip_scale` and `angle` (degrees) shape its head.
        """
    def arrow_field(self, direction: Any, radius: Any = 1, color: Any = 16777215, bound: Any = 0.5, **tip: Any) -> Any:
        """Draws a grid of arrows.

        direction: the direction of each arrow, (w, h, 2). radius: half the width of the lines.
        color: 0xRRGGBB. bound: the distance of the grid from the edge, in cells. tip: `tip_scale`
        and `angle` (degrees) shape the heads.
        """
    def arrows(self, orig: Any, direction: Any, radius: Any = 1, color: Any = 16777215, tip_scale: Any = 0.2, angle: Any = 45) -> Any:
        """Draws arrows.

        orig: their starts, (n, 2). direction: the vectors from their starts to their ends, (n, 2).
        radius: half the width of their lines. color: 0xRRGGBB; a number or (n,). tip_scale: the
        length of a head as a fraction of its arrow. angle: the angle of a head in degrees.
        """
    background_color: Any
    def button(self, text: Any, event_name: Any = None) -> Any:
        """Makes a button. Returns the name of the event for pressing it: a PRESS whose key it is.

        text: its caption. event_name: the name of the event; by default derived from `text`.
        """
    def circle(self, pos: Any, color: Any = 16777215, radius: Any = 1) -> Any:
        """Draws one disc.

        pos: its centre. color: 0xRRGGBB. radius: in pixels.
        """
    def circles(self, pos: Any, radius: Any = 1, color: Any = 16777215, palette: Any = None, palette_indices: Any = None) -> Any:
        """Draws discs.

        pos: their centres, (n, 2). radius: in pixels; a number or (n,). color: 0xRRGGBB; a number
        or (n,). palette: colours; `palette_indices` (n,) selects one for each disc.
        """
    def clear(self, color: Any = None) -> Any:
        """Fills the canvas with one colour.

        color: 0xRRGGBB; by default the background's. With `fast_gui`, the picture of `img` stays.
        """
    def close(self) -> Any:
        """Closes the window. Later drawing calls have no visible effect."""
    def contour(self, scalar_field: Any, normalize: Any = False) -> Any:
        """Shows a field in colours, scaled to the canvas.

        scalar_field: a field or array of two axes. normalize: whether to map its smallest and
        largest numbers to the first and last colour.
        """
    def cook_image(self, img: Any) -> Any:
        """Converts an array to the form that `set_image` shows: float32 (width, height, 4).

        img: an array (width, height[, 1 to 4]).
        """
    event: Any
    fast_gui: Any
    fps_limit: Any
    frame: Any
    @staticmethod
    def get_bool_environ(key: Any, default: Any) -> Any:
        """An environment variable of 0 or 1.

        key: its name. default: the value if the variable is not set.
        """
    def get_cursor_pos(self) -> Any:
        """The position of the mouse in [0, 1] x [0, 1]; (0.0, 0.0) without a display."""
    def get_event(self, *wanted: Any) -> Any:
        """Whether a matching event happened; if so, `self.event` is that event.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
    def get_events(self, *wanted: Any) -> Any:
        """The events that match; others are dropped, except the Escape that ends a program.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
    def get_image(self) -> Any:
        """The picture on the canvas: float32 (width, height, 4)."""
    def get_key_event(self) -> Any:
        """The next event; waits for one. Without a display it ends the program instead of waiting,
        because no key can be pressed.
        """
    def has_key_event(self) -> Any:
        """Whether `get_key_event` has an event to return."""
    img: Any
    def is_pressed(self, *keys: Any) -> Any:
        """Whether any of the keys or buttons of the mouse is held down; "Shift" means either shift
        key.

        keys: names such as "a", `GUI.UP` or `GUI.LMB`.
        """
    key_pressed: Any
    def label(self, text: Any) -> Any:
        """Makes a label that shows the number `.value`.

        text: its caption.
        """
    def line(self, begin: Any, end: Any, radius: Any = 1, color: Any = 16777215) -> Any:
        """Draws one line.

        begin, end: its ends. radius: half its width, in pixels. color: 0xRRGGBB.
        """
    def lines(self, begin: Any, end: Any, radius: Any = 1, color: Any = 16777215) -> Any:
        """Draws lines.

        begin, end: their ends, each (n, 2). radius: half their width, in pixels; a number or (n,).
        color: 0xRRGGBB; a number or (n,).
        """
    name: Any
    def point_field(self, radius: Any, color: Any = 16777215, bound: Any = 0.5) -> Any:
        """Draws a grid of discs.

        radius: the radius of each disc in pixels, (w, h). color: 0xRRGGBB. bound: the distance of
        the grid from the edge, in cells.
        """
    def rect(self, topleft: Any, bottomright: Any, radius: Any = 1, color: Any = 16777215) -> Any:
        """Draws the outline of a rectangle.

        topleft, bottomright: two of its corners. radius: half the width of its lines. color:
        0xRRGGBB.
        """
    res: Any
    running: Any
    def set_image(self, img: Any) -> Any:
        """Shows an image on the whole canvas.

        img: a field or array (width, height[, 1 to 4]) of the canvas's size: unsigned integers, or
        floats in 0..1.
        """
    def show(self, file: Any = None) -> Any:
        """Ends a frame: counts it, saves it if requested, and clears the canvas.

        file: the path under which to save the frame.
        """
    def slider(self, text: Any, minimum: Any, maximum: Any, step: Any = 1) -> Any:
        """Makes a slider. Its `.value` changes if the user moves it, or if the program sets it.

        text: its caption. minimum, maximum: the range; the initial value is `minimum`. step: the
        distance between values.
        """
    def text(self, content: Any, pos: Any, font_size: Any = 15, color: Any = 16777215) -> Any:
        """Draws a text.

        content: the text. pos: its upper left corner. font_size: in pixels. color: 0xRRGGBB.
        """
    def triangle(self, a: Any, b: Any, c: Any, color: Any = 16777215) -> Any:
        """Draws one filled triangle.

        a, b, c: its corners. color: 0xRRGGBB.
        """
    def triangles(self, a: Any, b: Any, c: Any, color: Any = 16777215) -> Any:
        """Draws filled triangles.

        a, b, c: their corners, each (n, 2). color: 0xRRGGBB; a number or (n,).
        """
    def vector_field(self, vector_field: Any, arrow_spacing: Any = 5, color: Any = 16777215) -> Any:
        """Draws vectors of a field as arrows; the longest spans a tenth of the canvas.

        vector_field: a field of vectors with two axes. arrow_spacing: draws every n-th arrow along
        each axis. color: 0xRRGGBB.
        """
INFO: str
class Layout:
    """The arrangement of the components of elements in memory. AOS stores the components of an
    element together; SOA stores each component in a separate array.

        v = ti.Vector.field(3, ti.f32, shape=8, layout=ti.Layout.SOA)
        print(ti.Layout.SOA)  # prints: Layout.SOA
    """
    def __init__(self, name: Any, value: Any) -> None: ...
    AOS: Any
    NULL: Any
    SOA: Any
    name: Any
    value: Any
class Matrix(_Value):
    """A matrix of numbers: a value in kernels, a wrapper of a NumPy array in Python.

    arr: rows of numbers, or a NumPy array; in kernels the rows may contain values of the kernel.
    dt: the type of the elements; by default the common type of all elements. Operators work element
    by element; `@` multiplies matrices. The reference's other arguments (args, kwargs) are accepted
    without effect.

        m = ti.Matrix([[1, 2], [3, 4]])
        print(m @ ti.Vector([1, 1]))  # prints: [3 7]
        print(m[1, 0], m.n, m.m)  # prints: 3 2 2
    """
    def __new__(cls, arr: Any, dt: Any=None, **kwargs: Any) -> Any: ...
    a: Any
    def all(x) -> Any:
        """Whether all elements are not 0.

        x: a vector or matrix.
        """
    def any(x) -> Any:
        """Whether any element is not 0.

        x: a vector or matrix.
        """
    b: Any
    def cast(self, dtype: Any) -> Any:
        """The matrix with its elements converted to another type.

        dtype: a scalar type, as ti.i32.
        """
    @staticmethod
    def cols(vectors: Any) -> Any:
        """The matrix with these vectors as its columns.

        vectors: a list of vectors, or lists, of one length.
        """
    def cross(x, y: Any) -> Any:
        """The cross product: a vector for vectors of three elements, a number for vectors of two.

        x, y: vectors of equal length, 2 or 3; raises TaichiCompilationError for others.

            print(ti.math.cross(ti.Vector([1, 0, 0]), ti.Vector([0, 1, 0])))  # prints: [0 0 1]
        """
    def determinant(x) -> Any:
        """The determinant of a square matrix.

        x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

            print(ti.math.determinant(ti.Matrix([[1, 2], [3, 4]])))  # prints: -2
        """
    @staticmethod
    def diag(dim: Any, val: Any, dtype: Any = None) -> Any:
        """The `dim` x `dim` matrix with `val` on its diagonal and zeros elsewhere.

        dtype: the type of the elements; by default the type of `val`.
        """
    def dot(x, y: Any) -> Any:
        """The dot product of two vectors: the sum of the products of their elements.

        x, y: vectors of equal length. Others raise TaichiCompilationError in kernels, ValueError in
        Python.

            print(ti.math.dot(ti.Vector([1, 2]), ti.Vector([3, 4])))  # prints: 11
        """
    @classmethod
    def field(cls, n: Any, m: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A field of `n` x `m` matrices.

        dtype: the type of the elements. args, kwargs: as for `ti.field`, including `layout`:
        ti.Layout.AOS stores the components of an element together, ti.Layout.SOA stores each
        component in a separate array. Raises ValueError if the type comes before the numbers.
        """
    def fill(self, value: Any) -> Any:
        """Sets all elements to `value`."""
    g: Any
    def get_shape(self) -> Any:
        """The numbers of rows and columns; for a vector only its length."""
    @staticmethod
    def identity(dt: Any, n: Any) -> Any:
        """The n x n matrix with ones on its diagonal.

        dt: the type of the elements. n: the number of rows.
        """
    def inverse(x) -> Any:
        """The inverse of a square matrix; infinities and NaNs for a singular matrix.

        x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

            print(ti.math.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]))[1, 1])  # prints: 0.25
        """
    def max(x) -> Any:
        """The largest element.

        x: a vector or matrix.
        """
    def min(x) -> Any:
        """The smallest element.

        x: a vector or matrix.
        """
    @classmethod
    def ndarray(cls, n: Any, m: Any, dtype: Any, shape: Any) -> Any:
        """An ndarray of `n` x `m` matrices, zeroed.

        dtype: the type of the elements. shape: the extents of the ndarray.
        """
    def norm(x, eps: Any = 0.0) -> Any:
        """The square root of the sum of the squares of all elements; for a vector, its length.

        x: a vector or matrix. eps: added to the sum, so that the root has a derivative at 0.
        """
    def norm_inv(x, eps: Any = 0.0) -> Any:
        """One over `norm`.

        x: a vector or matrix. eps: added to the sum of the squares, so that it is not 0.
        """
    def norm_sqr(x) -> Any:
        """The sum of the squares of all elements.

        x: a vector or matrix.
        """
    def normalized(x, eps: Any = 0.0) -> Any:
        """The vector divided by its length.

        x: a vector. eps: added to the length, so that a vector of zeros stays zero.
        """
    @staticmethod
    def one(dt: Any, n: Any, m: Any = None) -> Any:
        """A matrix, or without `m` a vector, of ones.

        dt: the type of the elements. n: the number of rows. m: the number of columns.
        """
    def outer_product(x, y: Any) -> Any:
        """The matrix of the products x[i] * y[j].

        x, y: vectors. The result has a row for each element of `x` and a column for each of `y`.
        """
    p: Any
    q: Any
    r: Any
    @staticmethod
    def rows(vectors: Any) -> Any:
        """The matrix with these vectors as its rows.

        vectors: a list of vectors, or lists, of one length.
        """
    s: Any
    def sum(x) -> Any:
        """The sum of all elements.

        x: a vector or matrix.
        """
    t: Any
    def to_list(self) -> Any:
        """The elements as a list; for a matrix, a list of rows."""
    def to_numpy(self) -> Any:
        """The NumPy array of the elements, not a copy."""
    def trace(x) -> Any:
        """The sum of the diagonal elements.

        x: a square matrix.
        """
    def transpose(x) -> Any:
        """The matrix with rows and columns exchanged.

        x: a matrix. Raises TaichiCompilationError for a vector; the product of a column and a row is
        `a.outer_product(b)`.
        """
    @staticmethod
    def unit(n: Any, i: Any, dt: Any = None) -> Any:
        """The vector of `n` elements with element `i` equal to 1 and the others 0.

        dt: the type of the elements; by default the default integer. Raises ValueError if `i` is
        out of range.
        """
    w: Any
    x: Any
    y: Any
    z: Any
    @staticmethod
    def zero(dt: Any, n: Any, m: Any = None) -> Any:
        """A matrix, or without `m` a vector, of zeros.

        dt: the type of the elements. n: the number of rows. m: the number of columns.
        """
class MatrixField(Field):
    """A field of vectors or matrices; `ti.field` and `ti.Vector.field` make one.

    Example::

        v = ti.Vector.field(2, ti.f32, shape=3)
        v[0] = [1, 2]
        print(v[0].y, v.to_numpy().shape)  # prints: 2.0 (3, 2)
    """
    def __init__(self, n: Any, m: Any, dtype: Any, ndim: Any = 2, name: Any = "") -> None: ...
    def fill(self, val: Any) -> Any:
        """Sets all elements.

        val: a number for all components, or a vector or matrix of the elements' shape.
        """
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the field's shape followed by that of an element; raises ValueError
        for others.
        """
    def get_scalar_field(self, *indices: Any) -> Any:
        """The field of one component, which shares this field's memory and can be placed
        separately.

        indices: the row of the component; for a matrix also its column.
        """
    def to_numpy(self, keep_dims: Any = False, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements. Its shape is the field's shape followed by
        that of an element.

        keep_dims: whether to keep the axis of a single column. dtype: the type of the array's
        elements, as np.float64; by default the field's.
        """
class MatrixNdarray(Ndarray):
    """An ndarray of matrices; `ti.ndarray` of a matrix type makes one.

    Example::

        a = ti.ndarray(ti.math.mat2, shape=3)
        print(a.to_numpy().shape)  # prints: (3, 2, 2)
    """
    def __init__(self, n: Any, m: Any, dtype: Any, shape: Any) -> None: ...
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
    def to_numpy(self, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements. Its shape is the ndarray's shape followed by
        that of an element.

        dtype: the type of the NumPy array's elements, as np.float64; by default the ndarray's.
        """
class Mesh:
    """Makes meshes of triangles or tetrahedra. Programs load them by the package
    `meshtaichi_patcher`, which divides meshes into patches and calls this class.

        both = [0, 1]
        verts = {"order": 0, "num": 2, "max_num_per_patch": 2}
        verts |= {"owned_offsets": [0, 2], "total_offsets": [0, 2]}
        verts |= {"l2g_mapping": both, "l2r_mapping": both, "g2r_mapping": both}
        data = {"num_patches": 1, "elements": [verts], "relations": [], "attrs": {}}
        print(ti.Mesh.generate_meta(data).num_patches)  # prints: 1
    """

    @staticmethod
    def generate_meta(data: Any) -> Any:
        """Checks metadata and makes the tables that kernels use.

        data: a dictionary as the patcher makes it: "num_patches", "elements", "relations" and
        "attrs". Raises ValueError for entries that are missing or contradict others.
        """
    @staticmethod
    def load_meta(filename: Any) -> Any:
        """Reads metadata from a file.

        filename: a file of JSON with what `generate_meta` takes. Raises ValueError for others.
        """
class MeshInstance:
    """A mesh: its elements are `verts`, `edges`, `faces` and `cells`. `mesh.verts.place` gives the
    vertices attributes. In kernels, `for v in mesh.verts` runs over all of them in parallel. `v.x`
    is an attribute of a vertex and `v.id` its number. `v.faces` are the faces around it. They have
    a `size` and subscripts, and loops can run over them.

        @ti.kernel
        def areas():
            for f in mesh.faces:
                a, b, c = f.verts[0].x, f.verts[1].x, f.verts[2].x
                f.area = (b - a).cross(c - a).norm() / 2
    """

    def add_mesh_attribute(self, element_type: Any, snode: Any, reorder_type: Any) -> Any:
        """Does nothing: `mesh.verts.place` gives elements attributes.

        element_type, snode, reorder_type: accepted without effect.
        """
    cells: Any
    edges: Any
    faces: Any
    fields: Any
    def get_position_as_numpy(self) -> Any:
        """The positions of the vertices that the file of the mesh has: a NumPy array of three
        columns. Raises TaichiSyntaxError if it has none.
        """
    def get_relation_access(self, from_index: Any, to_element_type: Any, neighbor_idx_ptr: Any) -> Any:
        """Within a kernel, an element around another one.

        from_index: the element. to_element_type: the kind. neighbor_idx_ptr: its place among
        those around.
        """
    def get_relation_size(self, from_index: Any, to_element_type: Any) -> Any:
        """Within a kernel, the number of elements of a kind around an element.

        from_index: the element. to_element_type: the kind.
        """
    patcher: Any
    relation_set: Any
    def set_index_mapping(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_num_patches(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_owned_offset(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_patch_max_element_num(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_relation_dynamic(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_relation_fixed(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    def set_total_offset(self, *_arguments: Any) -> Any:
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
    verts: Any
class Ndarray:
    """An array in C order. Compiled code does not depend on its shape. Made by `ti.ndarray`.

    Example::

        a = ti.ndarray(ti.f32, shape=(2, 3))
        a[1, 2] = 5.0
        print(a.shape, a[1, 2])  # prints: (2, 3) 5.0
    """
    grad: Any
    dtype: Any
    shape: Any
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getattr__(self, name: str) -> Any: ...
    def __init__(self, dtype: Any, element_shape: Any, shape: Any) -> None: ...
    def copy_from(self, other: Any) -> Any:
        """Copies all elements of another ndarray.

        other: an ndarray of the same shape and element shape; raises AssertionError for others.
        """
    element_shape: Any
    def fill(self, val: Any) -> Any:
        """Sets all elements.

        val: a number for all components, or a vector or matrix of the elements' shape.
        """
    def get_type(self) -> Any:
        """The annotation of parameters that accept this array."""
class SNode:
    """A node of a tree. Its cells contain other nodes or the elements of fields. `ti.root` is the
    first node; its methods add others.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.ij, 4)
        block.dense(ti.ij, 8).place(x)
        x[20, 3] = 1.0
        print(x.shape, block.shape)  # prints: (32, 32) (4, 4)
    """
    def __init__(self, builder: Any, kind: Any, levels: Any = ..., parent: Any = None, chunk_size: Any = 0) -> None: ...
    def bitmasked(self, axes: Any, dimensions: Any) -> Any:
        """Adds an array of cells, all of which have memory, and a bit per cell that says whether it
        is active. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all.
        """
    def deactivate_all(self) -> Any:
        """Makes all cells of this node, and of the nodes below it, inactive. Their memory is zeroed
        and reused.
        """
    def dense(self, axes: Any, dimensions: Any) -> Any:
        """Adds an array of cells, all of which have memory. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all. Raises TaichiRuntimeError for invalid extents.
        """
    def dynamic(self, axis: Any, dimension: Any, chunk_size: Any = None) -> Any:
        """Adds a growing list of cells. Returns the new SNode.

        axis: an axis that no level above divides, as ti.k. dimension: the most cells. chunk_size:
        the number of cells that are allocated together; by default all.
        """
    def lazy_dual(self) -> Any:
        """Places the dual of every field below this node in the same cells as the field."""
    def lazy_grad(self) -> Any:
        """Places the gradient of every field below this node in the same cells as the field."""
    def parent(self, n: Any = 1) -> Any:
        """The node `n` levels above this one; None above the root.

        n: the number of levels.
        """
    def place(self, *args: Any, offset: Any = None) -> Any:
        """Places fields in the cells of this node. Returns the node.

        args: fields, lists of fields, ti.BitpackedFields. offset: the first index along each axis.
        Raises TaichiRuntimeError for a field that has a place already, and ValueError for an
        argument that is not a field.
        """
    def pointer(self, axes: Any, dimensions: Any) -> Any:
        """Adds an array of cells; the first write to a cell allocates its memory. Returns the new
        SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all.
        """
    def quant_array(self, axes: Any, dimensions: Any, max_num_bits: Any) -> Any:
        """Adds an array of cells in one word, for one field of quantised integers or fixed-point
        numbers. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all. max_num_bits: the bits of the word: 8, 16, 32 or 64; raises TaichiRuntimeError for
        others.
        """
    @property
    def shape(self) -> Any:
        """The extents of the index space of this node's cells, counted from the root, as a
        tuple.
        """
class ScalarField(Field):
    """A field of numbers; `ti.field` makes one.

    Example::

        x = ti.field(ti.i32, shape=3)
        x.fill(7)
        print(x.to_numpy())  # prints: [7 7 7]
    """
    def __init__(self, dtype: Any, name: Any = "") -> None: ...
    def fill(self, val: Any) -> Any:
        """Sets all elements.

        val: a number, converted to the field's type.
        """
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the field's shape, whose numbers are converted to the field's type.
        Raises ValueError for other shapes.
        """
    def to_numpy(self, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements, of the field's shape.

        dtype: the type of its elements, as np.float64; by default the field's.
        """
class ScalarNdarray(Ndarray):
    """An ndarray of numbers; `ti.ndarray` makes one.

    Example::

        a = ti.ndarray(ti.i32, shape=3)
        a.fill(7)
        print(a.to_numpy())  # prints: [7 7 7]
    """
    def __init__(self, dtype: Any, arr_shape: Any) -> None: ...
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
    def to_numpy(self, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements. Its shape is the ndarray's shape followed by
        that of an element.

        dtype: the type of the NumPy array's elements, as np.float64; by default the ndarray's.
        """
class Struct(_Value):
    """A struct in Python, whose members are attributes.

    args: a dictionary of the members. kwargs: the members by name. A dictionary as a member becomes
    a struct, a list a vector or matrix. Calling a type made by `ti.dataclass` or `ti.types.struct`
    makes a struct whose members have types.

        s = ti.Struct(a=1, v=ti.Vector([1.0, 2.0]))
        s.a = 3
        print(s.to_dict())  # prints: {'a': 3, 'v': [1.0, 2.0]}
    """
    @property
    def entries(self) -> Any:
        """The members' values by name."""
    @classmethod
    def field(cls, members: Any, methods: Any = None, **kwargs: Any) -> Any:
        """A field of structs.

        members: the type of each member by its name. methods: functions by their names. kwargs: as
        for `ti.field`.
        """
    @property
    def items(self) -> Any:
        """(name, value) of the members, in order."""
    @property
    def keys(self) -> Any:
        """The names of the members, in order."""
    @property
    def methods(self) -> Any:
        """The functions of the struct's type by name."""
    def to_dict(self, include_methods: Any = False, include_ndim: Any = False) -> Any:
        """The members as a dictionary. Nested structs become dictionaries, matrices become lists.

        include_methods, include_ndim: accepted without effect.
        """
class StructField:
    """A field whose elements are structs. `field.member` is the field of one member. Made by
    `ti.Struct.field`.

        Ball = ti.types.struct(center=ti.math.vec2, radius=ti.f32)
        balls = Ball.field(shape=3)
        balls[1] = Ball(radius=2.0)
        balls[1].center = [3, 4]
        print(balls[1].radius, balls.center[1])  # prints: 2.0 [3. 4.]
    """
    def __init__(self, struct_type: Any, members: Any) -> None: ...
    def __getattr__(self, name: Any) -> Any: ...
    def __getitem__(self, indices: Any) -> Any: ...
    def __iter__(self) -> Any: ...
    def __setitem__(self, indices: Any, value: Any) -> None: ...
    def copy_from(self, other: Any) -> Any:
        """Copies all elements of another struct field.

        other: a struct field with the same members and shape; raises TypeError for other objects.
        """
    @property
    def dtype(self) -> Any:
        """The scalar type of the first member."""
    def fill(self, val: Any) -> Any:
        """Sets all elements.

        val: a number for all members, or a struct or dictionary with a value for each.
        """
    def from_numpy(self, array_dict: Any) -> Any:
        """Sets all elements.

        array_dict: a NumPy array for each member, of its field's shape.
        """
    def from_paddle(self, array_dict: Any) -> Any:
        """Not supported: Kiln has no part for Paddle."""
    def from_torch(self, array_dict: Any) -> Any:
        """Sets all elements.

        array_dict: a torch tensor for each member, of its field's shape.
        """
    def get_member_field(self, key: Any) -> Any:
        """The field of one member.

        key: its name.
        """
    @property
    def keys(self) -> Any:
        """The names of the members, in order."""
    def parent(self, n: Any = 1) -> Any:
        """The SNode `n` levels above the members; None above the root.

        n: the number of levels.
        """
    @property
    def shape(self) -> Any:
        """The extents of the axes, as a tuple."""
    @property
    def snode(self) -> Any:
        """The SNode of the first member."""
    def to_numpy(self) -> Any:
        """Copies of the members' elements: a dictionary of NumPy arrays by name."""
    def to_paddle(self, place: Any = None) -> Any:
        """Not supported: Kiln has no part for Paddle."""
    def to_torch(self, device: Any = None) -> Any:
        """Copies of the members' elements: a dictionary of torch tensors by name.

        device: the device of the tensors, as "cpu".
        """
TRACE: str
class TaichiAssertionError(TaichiRuntimeError):
    """An assert failed while the kernel ran."""
class TaichiCompilationError(Exception):
    """Base class of all errors that compiling a kernel raises."""
class TaichiNameError(TaichiCompilationError):
    """A name that is not defined."""
    name: Any
class TaichiRuntimeError(RuntimeError):
    """An operation failed while the program ran."""
class TaichiRuntimeTypeError(TaichiRuntimeError):
    """An argument or result that cannot be converted."""
    @staticmethod
    def get(pos: Any, needed: Any, provided: Any) -> Any:
        """The error for an argument of the wrong type.

        pos: its position. needed: the type of the parameter. provided: the type of the argument.
        """
    @staticmethod
    def get_ret(needed: Any, provided: Any) -> Any:
        """The error for a result of the wrong type.

        needed: the annotated type. provided: the type of the returned value.
        """
class TaichiSyntaxError(TaichiCompilationError):
    """The kernel uses Python that the language does not have."""
    end_lineno: Any
    end_offset: Any
    filename: Any
    lineno: Any
    msg: Any
    offset: Any
    print_file_and_line: Any
    text: Any
class TaichiTypeError(TaichiCompilationError):
    """Operands of incompatible types."""
class Texture:
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
    fmt: Any
    shape: Any
    num_dims: int
    dtype: Any
    channels: int
    def to_numpy(self) -> Any: ...
    def from_numpy(self, arr: Any) -> None: ...
    def __init__(self, fmt: Any, arr_shape: Any) -> None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def from_field(self, field: Any) -> Any:
        """Copies a field, as `from_ndarray` copies an ndarray.

        field: one of the texture's shape, whose elements are what the format stores; raises
        ValueError for others.
        """
    def from_image(self, image: Any) -> Any:
        """Sets all texels from a picture, turned by a quarter to the left. The texture's first axis
        runs along the rows of the picture, from right to left. Alpha, if there is any, becomes 0.

        image: a PIL image as wide and high as the texture; raises AssertionError for others. The
        texture has two axes, and stores fractions or floats.
        """
    def from_ndarray(self, ndarray: Any) -> Any:
        """Copies the memory of an ndarray, whose order is another one: in a texture, the first axis
        varies fastest. Texel (x, y) of one of width w is element number y * w + x.

        ndarray: one of the texture's shape, whose elements are what the format stores: numbers, or
        vectors of as many as there are channels. Raises ValueError for others.
        """
    def to_image(self) -> Any:
        """The texture as a PIL image in RGB mode, turned as in `from_image`. It has two axes, and
        stores fractions or floats in 0..1.
        """
class Vector(Matrix):
    """A vector of numbers: a value in kernels, a wrapper of a NumPy array in Python.

    arr: a list of numbers or a one-dimensional NumPy array. dt: the type of the elements; by
    default their common type. Programs access elements as `v[0]`, `v.x`, or by swizzles such as
    `v.xy`, in three spellings: xyzw, rgba and stpq. The reference's other arguments (kwargs) are
    accepted without effect.

        v = ti.Vector([1.0, 2.0, 3.0])
        print(v.zx, v.norm_sqr())  # prints: [3. 1.] 14.0
    """
    def __new__(cls, arr: Any, dt: Any=None, **kwargs: Any) -> Any: ...
    @classmethod
    def field(cls, n: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A field of vectors of `n` elements.

        dtype: the type of the elements. args, kwargs: as for `ti.field`, including `layout`:
        ti.Layout.AOS stores the components of an element together, ti.Layout.SOA stores each
        component in a separate array. Raises ValueError if the type comes before the number.
        """
    @classmethod
    def ndarray(cls, n: Any, dtype: Any, shape: Any) -> Any:
        """An ndarray of vectors of `n` elements, zeroed.

        dtype: the type of the elements. shape: the extents of the ndarray.
        """
class VectorNdarray(Ndarray):
    """An ndarray of vectors; `ti.ndarray` of a vector type makes one.

    Example::

        a = ti.ndarray(ti.math.vec2, shape=3)
        print(a.to_numpy().shape)  # prints: (3, 2)
    """
    def __init__(self, n: Any, dtype: Any, shape: Any) -> None: ...
    def from_numpy(self, arr: Any) -> Any:
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
    def to_numpy(self, dtype: Any = None) -> Any:
        """A NumPy array with a copy of the elements. Its shape is the ndarray's shape followed by
        that of an element.

        dtype: the type of the NumPy array's elements, as np.float64; by default the ndarray's.
        """
WARN: str
def abs(x: Any) -> Any:
    """The absolute value, element by element.

    x: a number, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.abs(-3))  # prints: 3
    """
def acos(x: Any) -> Any:
    """The angle in [0, pi] with that cosine, in radians, element by element.

    x: a number in [-1, 1], or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.acos(1.0))  # prints: 0.0
    """
def activate(node: Any, indices: Any) -> Any:
    """Makes a cell of an SNode active, zeroed if it is new. Only in kernels.

    node: a pointer, bitmasked or dynamic SNode; raises TaichiRuntimeError for others. indices:
    integers, or a vector of them, in cells of `node`. The cells above become active, too.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.i, 4)
        block.dense(ti.i, 8).place(x)

        @ti.kernel
        def k() -> ti.i32:
            ti.activate(block, 2)
            return ti.is_active(block, 2)

        print(k())  # prints: 1
    """
from . import ad as ad
from . import algorithms as algorithms
amdgpu: Any
from . import aot as aot
def append(node: Any, indices: Any, val: Any) -> Any:
    """Activates the next cell of a container of a dynamic SNode and writes the fields in it. Only
    in kernels.

    node: the dynamic SNode. indices: the indices of the levels above it. val: a number, vector,
    matrix or struct, whose numbers are stored to the fields in order. Returns the number of the
    cell, or -1 if the container is full, which is an error in debug mode. Raises
    TaichiCompilationError if `val` has another size than the cell.

        x = ti.field(ti.i32)
        lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 16)
        lists.place(x)

        @ti.kernel
        def k() -> ti.i32:
            return ti.append(lists, 2, 7)

        print(k(), x[2, 0])  # prints: 0 7
    """
argpack: Any
arm64: Any
def asin(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] with that sine, in radians, element by element.

    x: a number in [-1, 1], or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.asin(0.0))  # prints: 0.0
    """
def assume_in_range(val: Any, base: Any, low: Any, high: Any) -> Any:
    """`val`; a promise that base + low <= val < base + high, which nothing depends on on the CPU.

    val, base: integers of a kernel. low, high: constants.

        @ti.kernel
        def k(i: ti.i32) -> ti.i32:
            return ti.assume_in_range(i, 0, 0, 8)

        print(k(3))  # prints: 3
    """
def atan2(a: Any, b: Any) -> Any:
    """The angle of the point (b, a) from the x axis, in radians, in (-pi, pi], element by element.

    a, b: numbers, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
    all elements.

        print(ti.atan2(0.0, 1.0))  # prints: 0.0
    """
def atomic_add(x: Any, y: Any) -> Any:
    """Makes `x` x + y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_add(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_and(x: Any, y: Any) -> Any:
    """Makes `x` x & y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_and(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_max(x: Any, y: Any) -> Any:
    """Makes `x` the larger of both in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_max(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_min(x: Any, y: Any) -> Any:
    """Makes `x` the smaller of both in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_min(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_mul(x: Any, y: Any) -> Any:
    """Makes `x` x * y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_mul(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_or(x: Any, y: Any) -> Any:
    """Makes `x` x | y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_or(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_sub(x: Any, y: Any) -> Any:
    """Makes `x` x - y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_sub(total[None], 3)

        print(k())  # prints: 0
    """
def atomic_xor(x: Any, y: Any) -> Any:
    """Makes `x` x ^ y in one step that no other thread sees half done; answers the old `x`.

    Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
    be written to. y: a number, converted to the type of `x`.

        total = ti.field(ti.i32, shape=())

        @ti.kernel
        def k() -> ti.i32:
            return ti.atomic_xor(total[None], 3)

        print(k())  # prints: 0
    """
def axes(*numbers: Any) -> Any:
    """Axes by their numbers.

    numbers: one or more numbers, counted from 0: `ti.axes(0, 2)` is `ti.ik`.

        print(ti.axes(0, 2) == ti.ik)  # prints: True
    """
def bit_cast(obj: Any, dtype: Any) -> Any:
    """The bits of `obj` as a value of another type of the same width. Only in kernels.

    obj: a number, vector or matrix. dtype: a type of the same width as that of `obj`; raises
    TaichiTypeError for others.

        @ti.kernel
        def bits(x: ti.f32) -> ti.u32:
            return ti.bit_cast(x, ti.u32)

        print(hex(bits(1.0)))  # prints: 0x3f800000
    """
def bit_shr(a: Any, b: Any) -> Any:
    """`a` shifted right by `b` bits, with zeros from the left, element by element.

    a, b: integers, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
    all elements.

        print(ti.bit_shr(-1, 28))  # prints: 15
    """
def block_local(*args: Any) -> Any:
    """Advice for the next loop over sparse SNodes: threads that run neighbouring cells read these
    fields around them.

    On CUDA, the threads of a block load the cells around a dense block once, into shared memory.
    The loop has to read them at constant distances (`x[i - 1, j]`) and write to none of them. It
    must not make cells inactive, or have a sum for code outside. All else is read and written as
    without the hint; so is all on the CPU.

    args: fields.

        x, y = ti.field(ti.f32), ti.field(ti.f32)
        ti.root.pointer(ti.i, 4).dense(ti.i, 8).place(x, y)

        @ti.kernel
        def k():
            ti.block_local(x)
            for i in y:
                y[i] = x[i - 1] + x[i + 1]

        k()
    """
def cache_read_only(*args: Any) -> Any:
    """Advice about caches, which Kiln accepts and ignores.

    args: fields.

        x = ti.field(ti.f32, shape=8)

        @ti.kernel
        def k():
            ti.cache_read_only(x)
            for i in x:
                x[i] = 1.0

        k()
    """
def cast(obj: Any, dtype: Any) -> Any:
    """`obj` converted to another scalar type, element by element.

    Fractions are truncated; a value that does not fit an integer type keeps its low bits. obj: a
    number, vector or matrix. dtype: the type, as ti.i32; float and int mean the default types.
    Raises ValueError for other objects.

        print(ti.cast(3.9, ti.i32))  # prints: 3
    """
def ceil(x: Any, dtype: Any = None) -> Any:
    """The smallest integer not below `x`, as a float, element by element.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.ceil(1.2))  # prints: 2.0
    """
cfg: Any
from . import compat as compat
def cos(x: Any) -> Any:
    """The cosine of an angle, element by element.

    x: a number, in radians, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.cos(0.0))  # prints: 1.0
    """
cpu: Any
cuda: Any
def data_oriented(cls: _F) -> _F:
    """Decorator of a class whose methods may be kernels. Attributes of `self` are compiled in.

    cls: the class.

        @ti.data_oriented
        class Counter:
            def __init__(self, n):
                self.values = ti.field(ti.i32, shape=n)

            @ti.kernel
            def add(self, amount: ti.i32):
                for i in self.values:
                    self.values[i] += amount

        counter = Counter(3)
        counter.add(5)
        print(counter.values)  # prints: [5 5 5]
    """
def dataclass(cls: Any) -> Any:
    """Decorator that makes a struct type of a class. Annotations become members; functions,
    including inherited ones, become methods.

    cls: the class. Decorate methods that kernels call with @ti.func. Raises TaichiSyntaxError for a
    member with a default value.

        @ti.dataclass
        class Ball:
            radius: ti.f32

            @ti.func
            def area(self):
                return 4 * ti.math.pi * self.radius**2

        @ti.kernel
        def k() -> ti.f32:
            return Ball(radius=0.5).area()

        print(round(k(), 4))  # prints: 3.1416
    """
def deactivate(node: Any, indices: Any) -> Any:
    """Makes a cell of an SNode and all cells below it inactive. Only in kernels.

    node: a pointer, bitmasked or dynamic SNode. indices: integers, or a vector of them, in cells of
    `node`. For a dynamic SNode they select a container, all cells of which become inactive. The
    memory is zeroed and can be reused after the task has ended.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.i, 4)
        block.dense(ti.i, 8).place(x)
        x[3] = 1.0

        @ti.kernel
        def k():
            ti.deactivate(block, 0)

        k()
        print(x[3])  # prints: 0.0
    """
def deactivate_all_snodes() -> Any:
    """Makes all cells of all trees inactive; their memory is zeroed and reused.

    Example::

        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).place(x)
        x[3] = 1.0
        ti.deactivate_all_snodes()
        print(x[3])  # prints: 0.0
    """
dx11: Any
dx12: Any
def eig(A: Any, dt: Any = None) -> Any:
    """(values, vectors): the eigenvalues and eigenvectors of a real 2x2 matrix. For kernels.

    values: each row is an eigenvalue (real part, imaginary part). vectors: each column is an
    eigenvector, with a real and an imaginary part for each element. A: a 2x2 matrix; raises
    ValueError for others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.f32:
            values, vectors = ti.eig(ti.Matrix([[2.0, 0.0], [0.0, 1.0]]))
            return values[0, 0]

        print(k())  # prints: 2.0
    """
from . import errors as errors
def exp(x: Any) -> Any:
    """e to the power of `x`, element by element.

    x: a number, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.exp(0.0))  # prints: 1.0
    """
from . import experimental as experimental
extension: Any
f16 = float
f32 = float
f64 = float
def field(dtype: Any, shape: Any=None, order: Any=None, name: Any='', offset: Any=None, needs_grad: Any=False, needs_dual: Any=False, **kwargs: Any) -> Field:
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
float16 = f16
float32 = f32
float64 = f64
def floor(x: Any, dtype: Any = None) -> Any:
    """The largest integer not above `x`, as a float, element by element.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.floor(-1.5))  # prints: -2.0
    """
def frexp(x: Any) -> Any:
    """(mantissa, exponent) with x == mantissa * 2**exponent and the mantissa in [0.5, 1).

    x: a float; in kernels, of type f32 or f64.

        print(ti.frexp(6.0))  # prints: (0.75, 3)
    """
def from_dlpack(external: Any, dtype: Any = None) -> Any:
    """An ndarray that shares the memory of an array or tensor, on the CPU or, where kernels run
    there, on a CUDA device.

    external: a contiguous object with `__dlpack__` (NumPy, torch, …) or `__cuda_array_interface__`
    and elements of a scalar type of the language. The ndarray keeps its memory alive.
    dtype: a vector or matrix type, whose axes are the last ones of `external`.
    Raises ValueError if `external` has another form.

        x = ti.from_dlpack(np.zeros((8, 3), np.float32), dtype=ti.math.vec3)
        print(x.shape)  # prints: (8,)
    """
def func(fn: Callable[_P, _R], is_real_function: Any=False) -> _Function[_P, _R]:
    """Makes a function that only kernels may call; each call is replaced by its body.

    fn: the function. Its parameters may be annotated; ti.template() passes them by reference.
    is_real_function: makes a real function, as `ti.real_func` does. Raises TaichiSyntaxError for
    invalid annotations, and for calls from Python.

        @ti.func
        def square(x):
            return x * x

        @ti.kernel
        def k(a: ti.f32) -> ti.f32:
            return square(a) + 1

        print(k(3.0))  # prints: 10.0
    """
def get_addr(f: Any, indices: Any) -> Any:
    """The address of an element of a field, a u64. Only in kernels.

    f: the field, or its SNode. indices: the indices of the element.

        x = ti.field(ti.f32, shape=4)

        @ti.kernel
        def k() -> ti.u64:
            return ti.get_addr(x, [1]) - ti.get_addr(x, [0])

        print(k())  # prints: 4
    """
gles: Any
def global_thread_idx() -> Any:
    """The number of the thread in its launch, an i32.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.global_thread_idx()
    """
gpu: Any
from . import graph as graph
def grouped(x: Any) -> Iterator[Any]:
    """Makes a loop yield all its indices in one vector.

    x: the range of the loop: a field, an ndarray or an ndrange.

        x = ti.field(ti.i32, shape=(2, 3))

        @ti.kernel
        def k():
            for I in ti.grouped(x):
                x[I] = I.sum()

        k()
        print(x[1, 2])  # prints: 3
    """
def hex_to_rgb(color: Any) -> Any:
    """The components of a colour: red, green and blue in 0..1.

    color: 0xRRGGBB.

        print(ti.hex_to_rgb(0xFF0000))  # prints: (1.0, 0.0, 0.0)
    """
i: Any
i16 = int
i32 = int
i64 = int
i8 = int
ij: Any
ijk: Any
ijkl: Any
ijl: Any
ik: Any
ikl: Any
il: Any
def init(arch: Any = None, default_fp: Any = None, default_ip: Any = None, _test_mode: Any = False, enable_fallback: Any = True, require_version: Any = None, **options: Any) -> Any:
    """Starts the runtime with the given settings. Destroys all fields and compiled kernels.

    arch: a device or a list of devices. Kiln takes the first available one. If there is none, it
    warns and takes the processor, or a CUDA device if only other GPUs are named. With
    `enable_fallback=False` it raises RuntimeError. default_fp, default_ip: the types that `float`
    and `int` mean in kernels and annotations: ti.f32 or ti.f64, ti.i32 or ti.i64. require_version:
    the lowest acceptable version of the language, as "1.7.0"; raises Exception if Kiln's is lower.
    options: further options by name. These are the most important; docs/language/running.md lists
    all.

    - debug: checks asserts, indices, overflow and division by zero.
    - check_out_of_bound: checks only indices.
    - fast_math: False computes each float operation exactly as IEEE 754 specifies.
    - cpu_max_num_threads: the number of threads of parallel loops; 0 means one per core.
    - random_seed: the seed of `ti.random`.
    - kernel_profiler: times launches, for `ti.profiler`.
    - offline_cache: False compiles without looking into the cache.
    - log_level: hides messages below this level, as "error".
    - unrolling_limit: the number of iterations above which a static loop warns; 0 never warns.
    - print_full_traceback: also shows Kiln's own frames in tracebacks.
    - print_ir: shows the compiler's stages.

    Raises KeyError for an unknown option. Each option can also be set by an environment variable,
    KILN_<OPTION> or TI_<OPTION>. An argument overrides the variable, but TI_ARCH overrides `arch`.

        ti.init(arch=ti.cpu, default_fp=ti.f64, debug=True)
    """
int16 = i16
int32 = i32
int64 = i64
int8 = i8
def is_active(node: Any, indices: Any) -> Any:
    """1 if a cell of an SNode is active, else 0. Only in kernels.

    node: a pointer or bitmasked SNode. indices: integers, or a vector of them, in cells of `node`.

        x = ti.field(ti.f32)
        cells = ti.root.bitmasked(ti.i, 4)
        cells.place(x)
        x[3] = 1.0

        @ti.kernel
        def k(i: ti.i32) -> ti.i32:
            return ti.is_active(cells, i)

        print(k(3), k(2))  # prints: 1 0
    """
def is_logging_effective(level: Any) -> Any:
    """Whether messages of a level are shown.

    level: a level, as for `ti.set_logging_level`.

        ti.set_logging_level(ti.INFO)
        print(ti.is_logging_effective(ti.WARN))  # prints: True
    """
j: Any
jk: Any
jkl: Any
jl: Any
k: Any
def kernel(fn: Callable[_P, _R]) -> _Kernel[_P, _R]:
    """Makes a kernel of a function: Python calls it, and its outermost loops run in parallel.

    fn: the function. Its parameters are annotated with scalar, vector, matrix and struct types,
    ti.template() or ti.types.ndarray(). The first call compiles it; calls with other types of
    arrays or other template arguments compile it again. Raises TaichiSyntaxError for parameters
    that kernels cannot have. The first call raises the errors in the body.

        x = ti.field(ti.f32, shape=4)

        @ti.kernel
        def fill(value: ti.f32):
            for i in x:
                x[i] = value * i

        fill(2.0)
        print(x)  # prints: [0. 2. 4. 6.]
    """
kiln_version: str
kl: Any
l: Any
lang: Any
def length(node: Any, indices: Any) -> Any:
    """The number of active cells in a container of a dynamic SNode. Only in kernels.

    node: the dynamic SNode. indices: the indices of the levels above it.

        x = ti.field(ti.i32)
        lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 16)
        lists.place(x)

        @ti.kernel
        def k() -> ti.i32:
            ti.append(lists, 2, 7)
            return ti.length(lists, 2)

        print(k())  # prints: 1
    """
from . import linalg as linalg
def log(x: Any) -> Any:
    """The natural logarithm, element by element.

    x: a number above 0, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.log(1.0))  # prints: 0.0
    """
def loop_config(*, block_dim: Any = None, serialize: Any = False, parallelize: Any = None, block_dim_adaptive: Any = True, bit_vectorize: Any = False) -> Any:
    """Sets options of the next loop in the kernel.

    serialize: runs an outermost loop in order on one thread. parallelize: the number of threads on
    the CPU. block_dim: the number of iterations that a thread takes at a time. bit_vectorize:
    processes a loop over a quant_array word by word. block_dim_adaptive: accepted without effect.
    Raises TaichiTypeError for options that are known only at run time, and TaichiSyntaxError
    outside of kernels.

        @ti.kernel
        def k() -> ti.i32:
            last = 0
            ti.loop_config(serialize=True)
            for i in range(100):
                last = i
            return last

        print(k())  # prints: 99
    """
from . import math as math
def max(*args: Any) -> Any:
    """The largest of its arguments, element by element.

    args: one or more numbers, vectors or matrices; a number applies to all elements. Raises
    TaichiTypeError without arguments.

        print(ti.max(1, 5, 3))  # prints: 5
        print(ti.max(ti.Vector([1, 5]), 3))  # prints: [3 5]
    """
mesh_local = cache_read_only
def mesh_patch_idx() -> Any:
    """The number of the patch that owns the element of the loop over a mesh. Kernels call it in
    such a loop; it raises TaichiRuntimeError elsewhere.

        @ti.kernel
        def count():
            for v in mesh.verts:
                owned[ti.mesh_patch_idx()] += 1
    """
metal: Any
def min(*args: Any) -> Any:
    """The smallest of its arguments, element by element.

    args: one or more numbers, vectors or matrices; a number applies to all elements. Raises
    TaichiTypeError without arguments.

        print(ti.min(1, 5, 3))  # prints: 1
    """
def ndarray(dtype: Any, shape: Any, needs_grad: Any = False) -> Any:
    """Makes an array of zeros. Compiled code does not depend on its shape.

    dtype: the type of the elements: a scalar, vector or matrix type. shape: an integer, or one for
    each axis. needs_grad: whether to make an array of gradients, too. Raises TaichiRuntimeError for
    invalid types and shapes, and before `ti.init`.

        a = ti.ndarray(ti.f32, shape=(2, 3))

        @ti.kernel
        def fill(a: ti.types.ndarray(), value: ti.f32):
            for i, j in a:
                a[i, j] = value + i

        fill(a, 1.0)
        print(a.to_numpy())
        # prints: [[1. 1. 1.]
        # prints:  [2. 2. 2.]]
    """
def ndrange(*args: Any) -> Iterator[Any]:
    """The range of a loop over several dimensions: all combinations of their indices.

    args: for each dimension either the end of its range, which then begins at 0, or (begin, end).
    Raises TaichiSyntaxError or TaichiTypeError for values that are not integers.

        @ti.kernel
        def k() -> ti.i32:
            total = 0
            for i, j in ti.ndrange(3, (1, 3)):
                total += i * j
            return total

        print(k())  # prints: 9
    """
def no_activate(*args: Any) -> Any:
    """Stops accesses to fields or SNodes from activating cells; writes to inactive cells are lost.
    Only in kernels.

    args: the fields or SNodes.

        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).place(x)

        @ti.kernel
        def k():
            ti.no_activate(x)
            for i in range(8):
                x[i] = 1.0

        k()
        print(x[3])  # prints: 0.0
    """
def one(x: Any) -> Any:
    """A one with the type and shape of `x`.

    x: a number, vector or matrix.

        print(ti.one(3.5))  # prints: 1.0
    """
opengl: Any
def polar_decompose(A: Any, dt: Any = None) -> Any:
    """(U, P) with A = U @ P: U is orthogonal, P symmetric. For kernels.

    A: a 2x2 or 3x3 matrix; raises ValueError for others. dt: ti.f32 or ti.f64; by default the
    default float.

        @ti.kernel
        def k() -> ti.f32:
            U, P = ti.polar_decompose(ti.Matrix([[0.0, -2.0], [2.0, 0.0]]))
            return P[0, 0]

        print(k())  # prints: 2.0
    """
def pow(a: Any, b: Any) -> Any:
    """`a` to the power of `b`, element by element.

    a, b: numbers, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
    all elements.

        print(ti.pow(2, 10))  # prints: 1024
    """
from . import profiler as profiler
def pyfunc(fn: Callable[_P, _R]) -> _Function[_P, _R]:
    """Makes a function that both kernels and Python may call.

    fn: the function; in kernels each call is replaced by its body.

        @ti.pyfunc
        def square(x):
            return x * x

        @ti.kernel
        def k(a: ti.i32) -> ti.i32:
            return square(a)

        print(k(3), square(4))  # prints: 9 16
    """
def randn(dt: Any = None) -> Any:
    """A random number with the standard normal distribution. Only in kernels.

    dt: a float type; by default the default float.

        @ti.kernel
        def k() -> ti.f32:
            return ti.randn()

        print(abs(k()) < 10)  # prints: True
    """
def random(dtype: Any = ...) -> Any:
    """A uniformly distributed random number: in [0, 1) for floats, any value for integers. Only in
    kernels.

    dtype: the type, as ti.f32; by default the default float. `ti.init(random_seed=…)` sets the
    seed.

        @ti.kernel
        def k() -> ti.f32:
            return ti.random()

        print(0 <= k() < 1)  # prints: True
    """
def raw_div(a: Any, b: Any) -> Any:
    """The quotient; of two integers in kernels rounded towards 0, as in C, element by element.

    a, b: numbers, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
    all elements.

        print(ti.raw_div(7, 2))  # prints: 3
    """
def raw_mod(a: Any, b: Any) -> Any:
    """The remainder that has the sign of `a`, as in C, element by element.

    a, b: numbers, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
    all elements.

        print(ti.raw_mod(-7, 3))  # prints: -1
    """
def real_func(fn: Callable[_P, _R]) -> _Function[_P, _R]:
    """Makes a function that kernels call at run time instead of inlining it.

    fn: the function, with annotated parameters and results. It may return anywhere and may call
    itself. Its loops are serial. A parameter annotated `ti.ref(ti.f32)` takes a variable or an
    element of a field by reference.

        @ti.real_func
        def gcd(a: ti.i32, b: ti.i32) -> ti.i32:
            if b == 0:
                return a
            return gcd(b, a % b)

        @ti.kernel
        def k() -> ti.i32:
            return gcd(12, 18)

        print(k())  # prints: 6
    """
def ref(dtype: Any) -> Any:
    """Annotation of a real function's parameter that is passed by reference: assignments to it
    change the caller's variable.

    dtype: the scalar type of the variable.

        @ti.real_func
        def increase(x: ti.ref(ti.i32)):
            x += 1

        @ti.kernel
        def k() -> ti.i32:
            n = 1
            increase(n)
            return n

        print(k())  # prints: 2
    """
def rescale_index(a: Any, b: Any, I: Any) -> Any:
    """The grouped index `I` of the field or SNode `a`, scaled to the shape of `b`. Only in kernels.

    a, b: fields or SNodes with equally many axes; raises AssertionError for others. I: a vector of
    integers.

        fine = ti.field(ti.f32, shape=(16, 16))
        coarse = ti.field(ti.f32, shape=(4, 4))

        @ti.kernel
        def k() -> ti.math.ivec2:
            return ti.rescale_index(fine, coarse, ti.Vector([9, 5]))

        print(k())  # prints: [2 1]
    """
def reset() -> Any:
    """Destroys all fields, compiled kernels and settings. Decorated functions can be used again
    after another `ti.init`.

        x = ti.field(ti.f32, shape=3)
        ti.reset()
        print(x[0])  # raises: TaichiRuntimeError: is gone
    """
def rgb_to_hex(c: Any) -> Any:
    """The colour 0xRRGGBB with the given components.

    c: red, green and blue in 0..1: numbers, or arrays of them.

        print(hex(ti.rgb_to_hex((1.0, 0.5, 0.0))))  # prints: 0xff7f00
    """
root: Any
def round(x: Any, dtype: Any = None) -> Any:
    """The integer nearest to `x`, as a float, element by element.

    Halves are rounded away from 0 in kernels, and to the even neighbour in Python.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.round(2.6))  # prints: 3.0
    """
def rsqrt(x: Any) -> Any:
    """One over the square root, element by element.

    x: a number above 0, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.rsqrt(4.0))  # prints: 0.5
    """
def select(cond: Any, x1: Any, x2: Any) -> Any:
    """`x1` where `cond` is true, else `x2`, element by element. Both are evaluated.

    cond: a condition, or a vector or matrix of them; raises TaichiTypeError for a float. x1, x2:
    numbers, vectors or matrices.

        print(ti.select(True, 1, 2))  # prints: 1
    """
def set_logging_level(level: Any) -> Any:
    """Hides messages below a level. `ti.init` replaces it by its option `log_level` or by
    TI_LOG_LEVEL.

    level: ti.TRACE, ti.DEBUG, ti.INFO, ti.WARN, ti.ERROR or ti.CRITICAL; raises ValueError for
    others.

        ti.set_logging_level(ti.ERROR)
        print(ti.is_logging_effective(ti.WARN))  # prints: False
    """
from . import simt as simt
def sin(x: Any) -> Any:
    """The sine of an angle, element by element.

    x: a number, in radians, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.sin(0.0))  # prints: 0.0
    """
def solve(A: Any, b: Any, dt: Any = None) -> Any:
    """The vector `x` with A @ x = b. For kernels.

    A: a 2x2 or 3x3 matrix; raises ValueError for others. In debug mode, a singular matrix fails an
    assert. b: a vector with an element for each row of A. dt: ti.f32 or ti.f64; by default the
    default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            return ti.solve(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]), ti.Vector([2.0, 2.0]))

        print(k())  # prints: [1.  0.5]
    """
from . import sparse as sparse
class sparse_matrix_builder:
    """Annotation of parameters that take a ti.linalg.SparseMatrixBuilder.

    dtype: accepted without effect, because the builder has a type.

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(3):
                A[i, i] += 2.0

        builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=10)
        fill(builder)
        print(builder.build()[1, 1])  # prints: 2.0
    """
    def __init__(self, dtype: Any = None) -> None: ...
    dtype: Any
def sqrt(x: Any) -> Any:
    """The square root, element by element.

    x: a number of at least 0, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.sqrt(4.0))  # prints: 2.0
    """
@overload
def static(x: _F) -> _F:
    """Evaluates at compile time: selects a branch, unrolls a loop, or makes a name an alias.

    x: a constant, a Python object, a field, or the range of a loop. Raises TaichiCompilationError
    for a value that is known only at run time. xs: more values; the result is then a list of all.

        @ti.kernel
        def k() -> ti.i32:
            total = 0
            for i in ti.static(range(3)):  # three copies of the body
                total += i
            return total

        print(k())  # prints: 3
    """
@overload
def static(x: Any, *xs: Any) -> list[Any]: ...
def static_assert(cond: Any, msg: Any = None) -> Any:
    """Fails the compilation of a kernel if a condition is false.

    cond: a condition known at compile time; raises TaichiTypeError for others. msg: the text of the
    AssertionError.

        @ti.kernel
        def k(n: ti.template()):
            ti.static_assert(n < 10, "too many")

        k(20)  # raises: TaichiCompilationError: too many
    """
def static_print(*args: Any, **kwargs: Any) -> Any:
    """Prints while the kernel is compiled, not when it runs.

    args, kwargs: the arguments of Python's `print`. Values of the kernel are shown as their types.

        @ti.kernel
        def k(a: ti.f32):
            ti.static_print("compiled for", a.get_shape())

        k(1.0)  # prints: compiled for ()
    """
def stop_grad(x: Any) -> Any:
    """`x` as a constant for derivatives.

    x: a number, vector or matrix, which the function returns. In a statement of a kernel, it may be
    a field or array. Reads of it in the same block, and in blocks nested in it, are then constants.

        print(ti.stop_grad(2.0))  # prints: 2.0
    """
def svd(A: Any, dt: Any = None) -> Any:
    """(U, S, V) with A = U @ S @ V.transpose(): S is diagonal, U and V are orthogonal. For kernels.

    The elements of S are sorted, the largest first. For a 3x3 matrix, U and V are rotations, and
    the last element of S has the sign of the determinant. A: a 2x2 or 3x3 matrix; raises ValueError
    for others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            U, S, V = ti.svd(ti.Matrix([[3.0, 0.0], [0.0, 4.0]]))
            return ti.Vector([S[0, 0], S[1, 1]])

        print(ti.round(k()))  # prints: [4. 3.]
    """
def sym_eig(A: Any, dt: Any = None) -> Any:
    """(values, vectors): the eigenvalues of a symmetric matrix, and its eigenvectors as columns.
    For kernels.

    The eigenvalues of a 2x2 matrix are sorted from the largest to the smallest, those of a 3x3
    matrix from the smallest to the largest. A: a symmetric 2x2 or 3x3 matrix; raises ValueError for
    others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            values, vectors = ti.sym_eig(ti.Matrix([[1.0, 0.0], [0.0, 2.0]]))
            return values

        print(k())  # prints: [2. 1.]
    """
def sync() -> Any:
    """Waits for all launched kernels. On the CPU, a launch has finished when it returns.

    Raises TaichiRuntimeError before `ti.init`.

        ti.sync()
    """
def tan(x: Any) -> Any:
    """The tangent of an angle, element by element.

    x: a number, in radians, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.tan(0.0))  # prints: 0.0
    """
def tanh(x: Any) -> Any:
    """The hyperbolic tangent, element by element.

    x: a number, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.tanh(0.0))  # prints: 0.0
    """
class template(_Value):
    """Annotation of parameters that are known at compile time: fields, constants, functions.

    Each new argument compiles the kernel again. Parameters of a `ti.func` with this annotation are
    passed by reference. tensor, dtype: accepted without effect. A call with a list or dict raises
    TypeError, because its content may change.

        @ti.kernel
        def fill(x: ti.template(), value: ti.f32):
            for i in x:
                x[i] = value

        x = ti.field(ti.f32, shape=3)
        fill(x, 2.0)
        print(x)  # prints: [2. 2. 2.]
    """
    dtype: Any
    tensor: Any
from . import tools as tools
from . import types as types
u1 = int
u16 = int
u32 = int
u64 = int
u8 = int
from . import ui as ui
uint1 = u1
uint16 = u16
uint32 = u32
uint64 = u64
uint8 = u8
vulkan: Any
x64: Any
x86_64: Any
def zero(x: Any) -> Any:
    """A zero with the type and shape of `x`.

    x: a number, vector or matrix.

        print(ti.zero(3.5))  # prints: 0.0
    """
