"""What the checks of interop.py share: PyTorch or its stand-in, kernels, and comparisons."""

import ctypes
import json
import os
import sys

import numpy as np

IS_STAND_IN = "--stand-in" in sys.argv
if IS_STAND_IN:
    import stand_in

    torch = stand_in.install()
else:
    try:
        import torch
    except ImportError as error:
        print(json.dumps({"name": "PyTorch", "passed": None, "why": str(error)}))
        sys.exit()
import kiln as ti  # noqa: E402
from checks import OPTIONS, Missing  # noqa: E402

DTYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bool"),
)


# ---- kernels


@ti.kernel
def double(a: ti.types.ndarray()):
    for I in ti.grouped(a):  # noqa: E741
        a[I] = a[I] * 2


@ti.kernel
def copy(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for I in ti.grouped(a):  # noqa: E741
        b[I] = a[I]


@ti.kernel
def saxpy(s: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = s * x[i] + y[i]


@ti.kernel
def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = x[i] ** 2


@ti.kernel
def total(a: ti.types.ndarray()) -> ti.f64:
    s = ti.f64(0.0)
    for i in a:
        s += a[i]
    return s


@ti.kernel
def steps(a: ti.types.ndarray(dtype=ti.u32, ndim=1), count: ti.i32):
    """A long one: `count` steps of a generator of random numbers for each element."""
    for i in a:
        s = a[i]
        for _ in range(count):
            s = s * ti.u32(1664525) + ti.u32(1013904223)
        a[i] = s


def after_steps(numbers, count):
    """What `steps` gives: each step is x -> a x + c, and so are many."""
    a, c, by, plus = 1, 0, 1664525, 1013904223
    while count:
        if count % 2:
            a, c = a * by % 2**32, (c * by + plus) % 2**32
        by, plus, count = by * by % 2**32, (by * plus + plus) % 2**32, count // 2
    return numbers * np.uint32(a) + np.uint32(c)


@ti.kernel
def norms(points: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), out: ti.types.ndarray()):
    for i in points:
        out[i] = points[i].norm_sqr()


@ti.kernel
def poke(a: ti.types.ndarray(), at: ti.i32):
    for _ in range(1):
        a[at] = 1


@ti.kernel
def up(x: ti.template()):
    for I in ti.grouped(x):  # noqa: E741
        x[I] += 1


# ---- for checks


def given(array):
    """A tensor on the device."""
    return torch.from_numpy(np.array(array, order="C")).to("cuda")


def read(tensor):
    return tensor.detach().cpu().numpy()


def same(found, wanted, about=""):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{about}: shape {found.shape} instead of {wanted.shape}"
    wrong = np.argwhere(found != wanted)
    assert len(wrong) == 0, (
        f"{about}: wrong at {wrong[:3].tolist()} and so on, {len(wrong)} elements of {found.size}: "
        f"{found.ravel()[:8]} instead of {wanted.ravel()[:8]}"
    )


def refused(text, call, *args):
    """Expects an error whose message has the text."""
    try:
        call(*args)
    except Exception as error:
        assert text in str(error), f"{type(error).__name__}: {error} (expected: {text})"
        return str(error)
    raise AssertionError(f"no error (expected: {text})")


def turns(number):
    return 3 if IS_STAND_IN and not OPTIONS.long else number


def cupy():
    if IS_STAND_IN:
        raise Missing("CuPy")
    try:
        import cupy
    except ImportError as error:
        raise Missing(str(error)) from None
    return cupy


def driver():
    return ctypes.CDLL(os.environ.get("KILN_CUDA_DRIVER", "libcuda.so.1"))


def slow():
    """Something that keeps PyTorch's current stream busy for up to a millisecond."""
    torch.cuda._sleep(int(np.random.default_rng().integers(1_500_000)))
