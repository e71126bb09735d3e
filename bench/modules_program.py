"""The module of bench/modules.py: `modules_program.py kiln|taichi PATH`."""

import sys

package, path = sys.argv[1:]
if package == "kiln":
    import kiln as ti
else:
    import taichi as ti

KERNELS = 20

ti.init(arch=ti.cpu)
module = ti.aot.Module()
for number in range(KERNELS):

    @ti.kernel
    def scale(a: ti.types.ndarray(dtype=ti.f32, ndim=1), k: ti.f32):
        for i in a:
            a[i] = a[i] * k + number

    module.add_kernel(scale, name=f"scale{number}")
if package == "kiln":
    module.export(path)
else:
    module.save(path)
