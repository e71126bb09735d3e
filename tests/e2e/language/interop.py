"""Memory shared with other libraries: DLPack in both directions."""

import gc

import numpy as np
from harness import case, ti


class Tensor:
    """The interface that Kiln needs of a tensor library, over a NumPy array."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def is_contiguous(self):
        return self.array.flags.c_contiguous


@case(differs="DLPack")
def fields_and_ndarrays_are_given_without_a_copy(show):
    x = ti.ndarray(ti.f32, (2, 3))
    f = ti.field(ti.i32, (2, 3), order="ji")
    v = ti.Vector.field(3, ti.f64, (2, 2), layout=ti.Layout.SOA)
    views = [np.from_dlpack(one) for one in (x, f, v)]
    x[1, 2], f[1, 2], v[1, 0] = 5, 3, [1, 2, 3]
    for one in views:
        show(one, one.strides)
    for name in "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split():
        show(str(np.from_dlpack(ti.ndarray(getattr(ti, name), 2)).dtype))


@case(differs="DLPack")
def what_was_given_outlives_its_field(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.f64)
    builder.dense(ti.i, 1 << 18).place(x)
    tree = builder.finalize()
    x.fill(4)
    view = np.from_dlpack(x)
    tree.destroy()
    ti.reset()
    ti.init(arch=ti.cpu)
    del x, tree
    gc.collect()
    show(float(view.sum()))


@case(differs="DLPack")
def layouts_without_regular_distances(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).dense(ti.j, 4).dense(ti.i, 2).place(x)
    show.error(np.from_dlpack, x)


@case(differs="DLPack")
def copies_for_other_libraries(show):
    x = ti.field(ti.i32, 4)
    show.error(x.__dlpack__, copy=True)


@case(differs="DLPack")
def ndarrays_over_the_memory_of_others(show):
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    x = ti.from_dlpack(array)
    y = ti.from_dlpack(array, dtype=ti.math.vec2)
    y[1] = [8, 9]
    x[0, 1] = 7
    show(x.shape, y.shape, array)
    del array
    gc.collect()
    show(x.to_numpy(), y[1].to_numpy())

    @ti.kernel
    def double(z: ti.types.ndarray(dtype=ti.math.vec2)):
        for i in z:
            z[i] *= 2

    double(y)
    show(x.to_numpy())


@case(differs="DLPack")
def tensors_as_arguments(show):
    array = np.arange(6, dtype=np.float32).reshape(3, 2)

    @ti.kernel
    def double(z: ti.types.ndarray(dtype=ti.math.vec2)):
        for i in z:
            z[i] *= 2

    double(Tensor(array))
    show(array)
    show.error(double, Tensor(array.T))
    show.error(double, Tensor(np.zeros(3, np.float32)))
    show.error(double, Tensor(np.zeros((3, 2), np.complex64)))


@case(differs="DLPack")
def tensors_that_do_not_fit(show):
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    show.error(ti.from_dlpack, array.T)
    show.error(ti.from_dlpack, np.zeros(3, np.complex64))
    show.error(ti.from_dlpack, array, dtype=ti.math.vec3)
    show.error(ti.from_dlpack, array, dtype=ti.f64)
    show.error(ti.from_dlpack, 3)


class CudaArray:
    """What has the interface of CUDA's arrays, at an address that no kernel may use."""

    def __init__(self, **changes):
        made = {"version": 3, "shape": (3, 4), "typestr": "<f4", "data": (4096, False)}
        self.__cuda_array_interface__ = {**made, **changes}


@case(differs="DLPack")
def cuda_arrays_that_do_not_fit(show):
    @ti.kernel
    def double(a: ti.types.ndarray()):
        for I in ti.grouped(a):  # noqa: E741
            a[I] *= 2

    show.error(double, CudaArray(typestr="<c8"))
    show.error(double, CudaArray(strides=(4, 12)))
    show.error(double, CudaArray(mask=3))
    show.error(ti.from_dlpack, CudaArray(typestr=">i4"))
    show.error(ti.from_dlpack, CudaArray(shape=3))
    show.error(ti.from_dlpack, CudaArray(data=4096))
    show.error(lambda: ti.ndarray(ti.f32, 3).__dlpack__(stream=0))
    show.error(lambda: ti.ndarray(ti.f32, 3).__dlpack__(stream=True))


@case(differs="DLPack")
def memory_of_the_cpu_is_not_on_a_device(show):
    show.error(lambda: ti.ndarray(ti.f32, 3).__cuda_array_interface__)
    show.error(lambda: ti.field(ti.f32, 3).__cuda_array_interface__)
    show.error(ti.from_dlpack, CudaArray())


@case(differs="CUDA streams")
def what_is_no_cuda_stream(show):
    class Newer:
        def __cuda_stream__(self):
            return 1, 5

    for stream in ("a", None, True, -1, Newer()):
        show.error(ti.cuda.stream, stream)


@case(differs="CUDA streams")
def cuda_streams_on_the_cpu(show):
    show.error(ti.cuda.stream(1).__enter__)
