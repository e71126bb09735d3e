"""`ti.ad.FwdMode` and products with Jacobians."""

import numpy as np
from harness import case, ti


def duals(*shapes):
    return [ti.field(ti.f32, shape, needs_dual=True) for shape in shapes]


@case()
def forward_mode(show):
    x, y = duals(3, 3)

    @ti.kernel
    def k(scale: ti.f32):
        for i in x:
            y[i] = scale * x[i] ** 2

    x.from_numpy(np.array([1, 2, 3], np.float32))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 2.0]):
        k(2.0)
    show(y, y.dual, x.dual)
    p, q, r = duals((), (), ())

    @ti.kernel
    def two():
        q[None] = ti.sin(p[None])
        r[None] = p[None] * p[None]

    p[None] = 2
    with ti.ad.FwdMode(loss=[q, r], param=p):
        two()
    show(q.dual[None], r.dual[None], p.dual[None])


@case()
def forward_mode_misused(show):
    x, y = duals(3, 3)

    def enter(*arguments, **keywords):
        with ti.ad.FwdMode(*arguments, **keywords):
            pass

    show.error(enter, y, x)
    mode = ti.ad.FwdMode(y, x, [1, 1, 1])
    with mode:
        pass
    show.error(mode.__enter__)


@case(differs="mistakes with `FwdMode`")
def forward_mode_refuses(show):
    x, y = duals(3, 3)

    def enter(*arguments, **keywords):
        with ti.ad.FwdMode(*arguments, **keywords):
            pass

    show.error(enter, y, x, seed=[1])
    show.error(enter, y, 3)
    show.error(enter, y, [x, y], seed=[[1, 1, 1]])
    show.error(enter, y, [x, y], seed=[[1, 1, 1], [1]])
    show.error(enter, y, [x, y])
    show.error(enter, ti.field(ti.f32, 3), x, seed=[1, 1, 1])
    show.error(ti.ad.FwdMode(y, x).recover_kernels)


@case(differs="derivatives of Python functions")
def products_with_jacobians(show):
    if not hasattr(ti.ad, "vjp"):
        return
    x, y = (ti.field(ti.f32, 2, needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[1 - i]

    x.from_numpy(np.array([2, 3], np.float32))
    show(ti.ad.vjp(k, y, x, np.array([1, 10], np.float32)))
    show(ti.ad.vjp(k, y, [x], np.array([1, 10], np.float32)))
    show(ti.ad.jacobian(k, y, x))
    show.error(ti.ad.jacobian, k, y, ti.field(ti.f32, 2))
