"""`taichi.lang.util`: conversions between types of libraries, and queries of the current scope."""

import functools

from ...active import context, python_scope
from ...diagnostics import say
from ...types import BY_NAME, BY_NUMPY, DType, cook_dtype


def has_pytorch():
    """Whether PyTorch can be imported."""
    return _has("torch")


def has_paddle():
    """Whether Paddle can be imported."""
    return _has("paddle")


def _has(module):
    from importlib.util import find_spec

    return find_spec(module) is not None


def is_taichi_class(value):
    """Whether `value` is a matrix, vector or struct of the language."""
    return getattr(value, "_is_taichi_class", False)


def is_matrix_class(value):
    """Whether `value` is a matrix or vector."""
    from ...values.matrix import Matrix

    return isinstance(value, Matrix)


def to_numpy_type(dt):
    """The NumPy type of a scalar type of the language: np.float32 of ti.f32."""
    import numpy as np

    return getattr(np, "bool_" if dt is BY_NAME["u1"] else cook_dtype(dt).numpy_name)


def to_pytorch_type(dt):
    """The PyTorch type of a scalar type of the language: torch.float32 of ti.f32."""
    import torch

    return getattr(torch, cook_dtype(dt).numpy_name)


def to_paddle_type(dt):
    """The Paddle type of a scalar type of the language."""
    import paddle

    return getattr(paddle, cook_dtype(dt).numpy_name)


def to_taichi_type(dt):
    """The scalar type of the language for one of NumPy, PyTorch or Paddle: ti.f32 of np.float32.

    Types of the language are returned unchanged. Raises ValueError for types without a counterpart.
    """
    if isinstance(dt, DType):
        return dt
    name = getattr(dt, "__name__", None) or str(dt)
    found = BY_NUMPY.get(name.rpartition(".")[2].rstrip("_"))
    return cook_dtype(dt) if found is None else found


def in_taichi_scope():
    """Whether a kernel is being compiled in this thread."""
    return context() is not None


def in_python_scope():
    """Whether no kernel is being compiled in this thread."""
    return context() is None


def taichi_scope(function):
    """Decorator for functions that only kernels may call."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if context() is None:
            raise say.only_in_kernels(name=function.__name__)
        return function(*args, **kwargs)

    return checked


def warning(msg, warning_type=UserWarning, stacklevel=1, print_stack=True):
    """Shows a Python warning about the caller's line."""
    import warnings

    warnings.warn(msg, warning_type, stacklevel=stacklevel + 1)


def __getattr__(name):
    from .. import find

    return find("lang.util", name)


__all__ = [
    "cook_dtype",
    "has_paddle",
    "has_pytorch",
    "in_python_scope",
    "in_taichi_scope",
    "is_matrix_class",
    "is_taichi_class",
    "python_scope",
    "taichi_scope",
    "to_numpy_type",
    "to_paddle_type",
    "to_pytorch_type",
    "to_taichi_type",
    "warning",
]
