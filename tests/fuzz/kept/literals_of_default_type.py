# {"fast_math": false}, cold, gave
# x1[0] (flat): 0.1, not f64 0.10000000149011612
import kiln as ti

x1 = ti.field(ti.f64, 16)


@ti.func
def f(a: ti.f64):
    return a


@ti.kernel
def kernel():
    c: ti.f64 = 0.1
    x1[0] = c
    x1[1] = f(0.1)
    x1[2] = ti.Vector([0.1, 0.2], ti.f64)[1]
    x1[3] = ti.cast(0.1, ti.f64)
    x1[4] = ti.f64(0.1)  # keeps its precision
    x1[5] = 0.1


ARGUMENTS = []
