"""What windows draw: checks of fields, ndarrays and arrays, and views of their memory.

Errors name the call and the argument, such as "Canvas.circles: `centers` …".
"""


def view(value, call, name):
    """A NumPy array over the memory of a field, ndarray, array or tensor on the CPU. It copies only
    what has no constant distance between elements."""
    import numpy as np

    if isinstance(value, np.ndarray):
        found = value
    elif hasattr(value, "to_numpy"):
        found = _of_field(value)
    elif hasattr(type(value), "__dlpack__"):  # a tensor of another library
        try:
            found = np.from_dlpack(value.detach() if hasattr(value, "detach") else value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise TypeError(f"{call}: `{name}` is not on the CPU: {error}") from None
    else:
        raise TypeError(
            f"{call}: `{name}` must be a field, an ndarray or an array, not {type(value).__name__}"
        )
    if found.dtype.kind not in "iufb":
        raise TypeError(f"{call}: `{name}` must hold numbers, not {found.dtype}")
    return found


def _of_field(field):
    import numpy as np

    # Fields in several SNodes, sparse and quantised ones have no single stride for each axis.
    # Those on a CUDA device are copied.
    on_cpu = hasattr(type(field), "__dlpack__") and field.__dlpack_device__() == (1, 0)
    if on_cpu and hasattr(np, "from_dlpack"):
        try:
            return np.from_dlpack(field)
        except (BufferError, ValueError):
            pass
    return field.to_numpy()


def vectors(value, call, name, sizes, count=None):
    """An array (n, k) of vectors from a field of any shape.

    sizes: the possible k. count: the required n.
    """
    found = view(value, call, name)
    if found.ndim < 2 or found.shape[-1] not in sizes:
        wanted = " or ".join(map(str, sizes))
        raise ValueError(
            f"{call}: `{name}` must hold vectors of {wanted} numbers; its shape is {found.shape}"
        )
    found = found.reshape(-1, found.shape[-1])
    _check_count(len(found), count, call, name)
    return found


def numbers(value, call, name, count=None):
    """An array (n,) of the numbers of a field of any shape."""
    found = view(value, call, name).reshape(-1)
    _check_count(len(found), count, call, name)
    return found


def _check_count(n, count, call, name):
    if count is not None and n != count:
        raise ValueError(f"{call}: `{name}` has {n} elements, and there are {count} vertices")


def indices(value, call, name, corners):
    """An array (k,) or (k, corners) of indices of vertices."""
    found = view(value, call, name)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{call}: `{name}` must hold integers, not {found.dtype}")
    found = found.reshape(-1)
    if len(found) % corners:
        raise ValueError(
            f"{call}: `{name}` has {len(found)} elements, which is not a multiple of {corners}"
        )
    return found


def color(value, call, name="color"):
    """Three floats."""
    try:
        parts = tuple(float(value[i]) for i in range(3))
    except (TypeError, IndexError, ValueError):
        raise ValueError(f"{call}: `{name}` must be three numbers in 0..1, not {value!r}") from None
    return parts


def number(value, call, name):
    """A float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{call}: `{name}` must be a number, not {value!r}") from None


def positive(value, call, name):
    """A float that is not negative and not NaN."""
    found = number(value, call, name)
    if not found >= 0:
        raise ValueError(f"{call}: `{name}` must not be negative, and is {found}")
    return found


def image(value, call, name):
    """An array (width, height[, 1 to 4]) of floats or unsigned integers."""
    # A texture of red alone is red, while a field of numbers is grey.
    colors = getattr(value, "_colors", None)
    found = view(value, call, name) if colors is None else colors()
    if found.dtype.kind not in "ufb":
        raise TypeError(
            f"{call}: `{name}` must hold floats or unsigned integers, not {found.dtype}"
        )
    components = found.shape[2] if found.ndim == 3 else 1
    if found.ndim not in (2, 3) or not 1 <= components <= 4 or not found.size:
        raise ValueError(
            f"{call}: `{name}` must have the shape (width, height) and 1 to 4 components; its "
            f"shape is {found.shape}"
        )
    return found


def part(first, count):
    """(first, count), with -1 for a count that is None."""
    return int(first), -1 if count is None else int(count)
