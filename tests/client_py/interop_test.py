"""PyTorch and Paddle, replaced by stand-ins if they are not installed; DLPack."""

import sys
import types

import numpy as np
import pytest
from torch_stand_in import Tensor


def test_tensors_of_fields(ti, torch):
    x = ti.field(ti.f32, (2, 3), order="ji")
    x[1, 2] = 4
    tensor = x.to_torch()
    assert tensor.numpy().tolist() == [[0, 0, 0], [0, 0, 4]]
    y = ti.field(ti.f32, (2, 3))
    y.from_torch(tensor)
    assert y[1, 2] == 4
    v = ti.Vector.field(2, ti.i32, 3)
    v.from_torch(torch.from_numpy(np.arange(6, dtype=np.int32).reshape(3, 2)))
    assert v[2].to_list() == [4, 5] and v.to_torch().numpy().shape == (3, 2)
    s = ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=2)
    s.a[1] = 5
    tensors = s.to_torch()
    tensors["b"].numpy()[0] = 2
    s.from_torch(tensors)
    assert s[1].a == 5 and s[0].b == 2


def test_tensors_as_arguments(ti, torch):
    @ti.kernel
    def add(a: ti.types.ndarray(), b: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in b:
            b[i, j] += a[j]

    a, b = torch.arange(3), torch.zeros(2, 3)
    add(a, b)
    add(a, b)
    assert b.numpy().tolist() == [[0, 2, 4], [0, 2, 4]]
    assert add.num_instances == 1
    with pytest.raises(ValueError, match="Non contiguous tensors"):
        add(a, torch.from_numpy(np.zeros((3, 2), np.float32).T))


def test_tensors_as_arguments_of_modules(ti, tmp_path):
    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in a:
            a[i, j] += b[i, j]

    module = ti.aot.Module()
    module.add_kernel(add)
    module.export(tmp_path / "add.kiln")
    loaded = ti.aot.load(tmp_path / "add.kiln")
    a, b = np.zeros((3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    loaded.add(Tensor(a), Tensor(b))
    loaded.add(Tensor(a, grad=True), b)
    assert (a == 2 * b).all()
    with pytest.raises(ValueError, match="Non contiguous tensors"):
        loaded.add(Tensor(a[:, ::-1]), b)
    with pytest.raises(ti.TaichiRuntimeError, match="argument 'b' takes .* 64-bit"):
        loaded.add(a, Tensor(b.astype(np.float64)))
    with pytest.raises(ti.TaichiRuntimeError, match="argument 'b' takes .* got something else"):
        loaded.add(a, object())
    b.flags.writeable = False
    loaded.add(a, b)
    with pytest.raises(ValueError, match="argument 'a': the array is read-only, and the kernel"):
        loaded.add(b, a)


def test_axes_that_indices_cannot_count(ti, tmp_path):
    """A kernel would take the lower 32 bits of the number for the length."""

    @ti.kernel
    def count(a: ti.types.ndarray(dtype=ti.i8, ndim=1)) -> ti.i32:
        n = 0
        for i in a:
            n += 1
        return n

    module = ti.aot.Module()
    module.add_kernel(count)
    module.export(tmp_path / "m.kiln")
    loaded = ti.aot.load(tmp_path / "m.kiln", arch=ti.cpu)
    long = np.zeros(2**32 + 4, np.int8)  # of pages that nothing touches
    of = rf"{long.size} indices, but indices are 32-bit integers"
    with pytest.raises(ValueError, match=f"for argument a - axis 0 of the array has {of}"):
        count(long)
    with pytest.raises(ValueError, match=f"its axis 0 has {of}"):
        count(Tensor(long))
    with pytest.raises(ValueError, match=f"its axis 0 has {of}"):
        ti.from_dlpack(long)
    with pytest.raises(ti.TaichiRuntimeError, match=r"\(4294967300\), but indices are 32-bit"):
        loaded.count(long)
    assert count(long[:5]) == loaded.count(long[:5]) == 5


def test_later_launches_look_at_no_tensor_in_python(ti, monkeypatch):
    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1), b: ti.types.ndarray()):
        for i in a:
            b[i] += a[i].sum()

    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    b = np.zeros(3, np.float32)
    add(Tensor(a), Tensor(b))
    references = sys.getrefcount(a), sys.getrefcount(b)
    monkeypatch.setattr(sys.modules["kiln.kernel"], "array_view", None)
    add(Tensor(a), Tensor(b))
    add(a, Tensor(b))
    assert b.tolist() == [3, 15, 27]
    assert references == (sys.getrefcount(a), sys.getrefcount(b))
    monkeypatch.undo()
    unaligned = np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float32).reshape(3, 2)
    unaligned[:] = a
    add(Tensor(unaligned), Tensor(b))  # copied
    add(Tensor(a, grad=True), Tensor(b))
    assert b.tolist() == [5, 25, 45]
    wide = np.zeros(3)
    add(Tensor(a), Tensor(wide))  # another instance
    add(Tensor(a), Tensor(wide))
    assert wide.tolist() == [2, 10, 18]
    for wrong, message in ((Tensor(a[:, ::-1]), "Non contiguous"), (Tensor(a[:, :1].copy()), "")):
        with pytest.raises(ValueError, match=message):
            add(wrong, Tensor(b))
    with pytest.raises(Exception, match="b"):
        add(Tensor(a), object())


def ones(torch, shape):
    """A tensor that requires a gradient."""
    if hasattr(torch, "ones"):
        return torch.ones(shape, requires_grad=True)
    return Tensor(np.ones(shape, np.float32), grad=True)


def test_a_tensor_with_a_gradient(ti, torch):
    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in a:
            s += a[i]
        return s

    assert total(ones(torch, 3)) == 3


def test_a_class_of_tensors_whose_detach_copies(ti, torch):
    class Copying(torch.Tensor):
        def detach(self):
            return torch.Tensor.detach(self).clone()

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i in a:
            a[i] = i + 1

    for needs_gradient in (False, True):
        tensor = ones(torch, 3) if needs_gradient else torch.zeros(3)
        tensor.__class__ = Copying
        fill(tensor)
        assert torch.Tensor.detach(tensor).numpy().tolist() == [1, 2, 3]
    loss = ones(torch, 1)
    loss.__class__ = Copying
    with ti.ad.Tape(loss=loss):  # starts the loss at 0
        pass
    assert torch.Tensor.detach(loss).numpy().tolist() == [0]


def test_tensors_of_booleans(ti, torch):
    @ti.kernel
    def flip(a: ti.types.ndarray()):
        for i in a:
            a[i] = not a[i]

    tensor = torch.from_numpy(np.array([True, False, True]))
    for wanted in ([False, True, False], [True, False, True]):
        flip(tensor)
        assert tensor.numpy().tolist() == wanted


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_tensors_without_elements(ti, torch, shape):
    @ti.kernel
    def count(a: ti.types.ndarray()) -> ti.i32:
        n = a.shape[0] * 10 + a.shape[1] if ti.static(len(a.shape) == 2) else a.shape[0]
        for _ in ti.grouped(a):
            n += 1
        return n

    wanted = {(0,): 0, (0, 3): 3, (2, 0): 20}[shape]
    for _ in range(2):
        assert count(torch.zeros(*shape)) == wanted
        assert count(ones(torch, shape)) == wanted


def test_gradients_of_tensors(ti, torch):
    @ti.kernel
    def square(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            b[0] += a[i] ** 2

    a, b = ones(torch, 3), ones(torch, 1)
    plain = torch.zeros(3)
    for _ in range(2):
        with ti.ad.Tape(loss=b):
            square(a, b)
    assert b.detach().numpy().tolist() == [3]
    assert b.grad.numpy().tolist() == [1]
    assert a.grad.numpy().tolist() == [4, 4, 4]  # of both tapes, which clear those of fields alone
    with ti.ad.Tape(loss=b):
        square(plain, b)
    assert plain.grad is None


def test_a_kernel_reads_the_gradient_of_a_tensor(ti, torch):
    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in a:
            s += a.grad[i]
        return s

    tensor = ones(torch, 3)
    assert total(tensor) == 0
    tensor.grad.fill_(2)
    assert total(tensor) == 6
    with pytest.raises(ti.TaichiSyntaxError, match="has no gradient"):
        total(torch.zeros(3))


def test_mistakes_with_gradients_of_tensors(ti, torch):
    def enter(loss):
        with ti.ad.Tape(loss):
            pass

    with pytest.raises(RuntimeError, match="tensor only contains one element"):
        enter(ones(torch, 3))
    with pytest.raises(RuntimeError, match="please set requires_grad=True"):
        enter(torch.zeros(1))

    @ti.kernel
    def k(a: ti.types.ndarray()):
        pass

    if isinstance(ones(torch, 1), Tensor):  # torch itself refuses such gradients
        tensor = ones(torch, (2, 3))
        tensor.grad = 3
        with pytest.raises(ValueError, match="Expecting torch.Tensor .* getting int"):
            k(tensor)
        tensor.grad = Tensor(np.ones((3, 2), np.float32).T)
        with pytest.raises(ValueError, match="Non contiguous gradient tensors"):
            k(tensor)


def test_paddle(ti, monkeypatch):
    paddle = types.SimpleNamespace(to_tensor=lambda array, place=None: Tensor(array))
    monkeypatch.setitem(sys.modules, "paddle", paddle)
    x = ti.field(ti.i32, 3)
    x[1] = 2
    y = ti.field(ti.i32, 3)
    y.from_paddle(x.to_paddle())
    assert y[1] == 2


def test_missing_libraries(ti, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "paddle", None)
    x = ti.field(ti.i32, 3)
    with pytest.raises(ImportError):
        x.to_torch()
    with pytest.raises(ImportError):
        x.to_paddle()


def test_what_importers_ask_for(ti):
    """Arguments of newer versions of DLPack: the own device, and no copy."""
    x = ti.field(ti.f32, 4)
    x.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=False)
    for asked in {"dl_device": (2, 0)}, {"copy": True}:
        with pytest.raises(BufferError, match="in place, on their own device"):
            x.__dlpack__(**asked)


def test_a_capsule_is_used_once_and_freed(ti):
    x = ti.ndarray(ti.f32, 4)
    capsule = x.__dlpack__()
    del capsule  # an unused capsule frees its tensor
    assert x.__dlpack_device__() == (1, 0)

    class Giver:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self):
            return self.capsule

    giver = Giver(x.__dlpack__())
    shared = ti.from_dlpack(giver)
    shared[1] = 3
    assert x[1] == 3
    with pytest.raises(ValueError, match="has not been used"):
        ti.from_dlpack(giver)


def test_memory_lives_as_long_as_its_users(ti):
    array = np.zeros(1 << 16, np.float64)
    before = sys.getrefcount(array)
    shared = ti.from_dlpack(array)
    again = np.from_dlpack(shared)
    assert sys.getrefcount(array) > before
    del shared
    assert sys.getrefcount(array) > before  # `again` still uses it
    array[5] = 7
    assert again[5] == 7
    del again
    assert sys.getrefcount(array) == before
