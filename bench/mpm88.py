"""mpm88, for the benchmarks: a material point method of 88 lines."""


def make(ti, n, size=128):
    """Its fields and kernels: (positions, `init`, `substep`); `ti` is kiln or taichi."""
    dt = 2e-4
    dx, inv_dx = 1 / size, float(size)
    volume = (dx * 0.5) ** 2
    mass, bulk = volume * 1.0, 400
    x = ti.Vector.field(2, ti.f32, n)
    v = ti.Vector.field(2, ti.f32, n)
    c = ti.Matrix.field(2, 2, ti.f32, n)
    j = ti.field(ti.f32, n)
    grid_v = ti.Vector.field(2, ti.f32, (size, size))
    grid_m = ti.field(ti.f32, (size, size))

    @ti.kernel
    def init():
        for i in range(n):
            x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
            v[i] = [0, -1]
            j[i] = 1

    @ti.kernel
    def substep():
        for i, k in grid_m:
            grid_v[i, k] = [0, 0]
            grid_m[i, k] = 0
        for p in x:
            base = (x[p] * inv_dx - 0.5).cast(int)
            fx = x[p] * inv_dx - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * bulk * volume * (j[p] - 1) / dx**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + mass * c[p]
            for a, b in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([a, b])
                dpos = (offset.cast(float) - fx) * dx
                weight = w[a].x * w[b].y
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass
        for i, k in grid_m:
            if grid_m[i, k] > 0:
                grid_v[i, k] /= grid_m[i, k]
            grid_v[i, k].y -= dt * 9.8
            if i < 3 and grid_v[i, k].x < 0:
                grid_v[i, k].x = 0
            if i > size - 3 and grid_v[i, k].x > 0:
                grid_v[i, k].x = 0
            if k < 3 and grid_v[i, k].y < 0:
                grid_v[i, k].y = 0
            if k > size - 3 and grid_v[i, k].y > 0:
                grid_v[i, k].y = 0
        for p in x:
            base = (x[p] * inv_dx - 0.5).cast(int)
            fx = x[p] * inv_dx - base.cast(float)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(float, 2)
            new_c = ti.Matrix.zero(float, 2, 2)
            for a, b in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([a, b])
                dpos = (offset.cast(float) - fx) * dx
                weight = w[a].x * w[b].y
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_c += 4 * weight * g_v.outer_product(dpos) / dx**2
            v[p] = new_v
            x[p] += dt * v[p]
            j[p] *= 1 + dt * new_c.trace()
            c[p] = new_c

    return x, init, substep
