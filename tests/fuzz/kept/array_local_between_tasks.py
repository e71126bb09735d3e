# {"fast_math": false}, cold, gave
# RuntimeError: the passes left a broken kernel: 'kiln.store' op operand #0 must be signless integer
# or floating-point, but got '!kiln.addr<i32>'
import kiln as ti


@ti.kernel
def kernel(a: ti.i32) -> ti.i32:
    v = ti.Vector([6, 1], ti.i32)
    v[a % 2] = 7
    for i, j in ti.ndrange(2, 3):
        pass
    return v[0] * 10 + v[1]


ARGUMENTS = [1]
