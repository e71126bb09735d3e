import kiln as ti

ti.init(arch=ti.cpu)


@ti.aot.export
@ti.kernel
def twice(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in a:
        a[i] *= 2
