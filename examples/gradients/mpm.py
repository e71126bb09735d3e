"""A jelly is thrown at a point: a material point simulation that is differentiated in three ways.

    ./kiln run examples/gradients/mpm.py [plain | replaced | automatic] [steps] [attempts]

plain: each step has cells of its own, of particles and of the grid. replaced: all steps share one
grid; the step has a gradient of its own, which computes the grid again. automatic: all steps share
all cells, and `ti.ad.checkpoint` runs steps again. Taichi has the first two.
"""

import sys

import numpy as np

PARTICLES, NODES = 256, 20
H, DT = 1 / NODES, 2e-3
MASS = 1.0
VOLUME = 0.2**2 / PARTICLES
STIFFNESS = 20.0
WALL = 3
TARGET = (0.7, 0.4)


def losses(ti, way="plain", steps=80, attempts=10):
    """The squared distance from the target after each attempt."""
    times = 2 if way == "automatic" else steps + 1  # cells of each particle
    grids = steps if way == "plain" else 1
    make = {"dtype": ti.f64, "needs_grad": True}
    x = ti.Vector.field(2, shape=(times, PARTICLES), **make)
    v = ti.Vector.field(2, shape=(times, PARTICLES), **make)
    affine = ti.Matrix.field(2, 2, shape=(times, PARTICLES), **make)
    strain = ti.Matrix.field(2, 2, shape=(times, PARTICLES), **make)
    momentum = ti.Vector.field(2, shape=(grids, NODES, NODES), **make)
    mass = ti.field(shape=(grids, NODES, NODES), **make)
    velocity = ti.Vector.field(2, shape=(grids, NODES, NODES), **make)
    thrown = ti.Vector.field(2, shape=(), **make)
    middle = ti.Vector.field(2, shape=(), **make)
    loss = ti.field(shape=(), **make)

    @ti.func
    def weights(place):
        base = ti.cast(place / H - 0.5, ti.i32)
        f = place / H - ti.cast(base, ti.f64)
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.kernel
    def start():
        for p in range(PARTICLES):
            v[0, p] = thrown[None]

    @ti.kernel
    def clear_grid():
        for g, i, j in mass:
            mass[g, i, j] = 0.0
            momentum[g, i, j] = ti.Vector([0.0, 0.0])
            velocity[g, i, j] = ti.Vector([0.0, 0.0])
            mass.grad[g, i, j] = 0.0
            momentum.grad[g, i, j] = ti.Vector([0.0, 0.0])
            velocity.grad[g, i, j] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def scatter(t: ti.i32, g: ti.i32):
        for p in range(PARTICLES):
            base, f, w = weights(x[t, p])
            new = (ti.Matrix.identity(ti.f64, 2) + DT * affine[t, p]) @ strain[t, p]
            strain[t + 1, p] = new
            volume = new.determinant()
            stress = STIFFNESS * (new @ new.transpose() - ti.Matrix.identity(ti.f64, 2))
            stress += ti.Matrix.identity(ti.f64, 2) * (STIFFNESS * volume * (volume - 1.0))
            stress = (-DT * VOLUME * 4.0 / H / H) * stress
            moved = stress + MASS * VOLUME * affine[t, p]
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    offset = (ti.Vector([i, j]) - f) * H
                    weight = w[i][0] * w[j][1]
                    node = base + ti.Vector([i, j])
                    momentum[g, node[0], node[1]] += weight * (
                        MASS * VOLUME * v[t, p] + moved @ offset
                    )
                    mass[g, node[0], node[1]] += weight * MASS * VOLUME

    @ti.kernel
    def move_grid(g: ti.i32):
        for i, j in ti.ndrange(NODES, NODES):
            moved = momentum[g, i, j] / (mass[g, i, j] + 1e-12)
            moved[1] -= DT * 9.8
            if i < WALL and moved[0] < 0:
                moved[0] = 0.0
            if i > NODES - WALL and moved[0] > 0:
                moved[0] = 0.0
            if j < WALL and moved[1] < 0:
                moved = ti.Vector([0.0, 0.0])
            if j > NODES - WALL and moved[1] > 0:
                moved[1] = 0.0
            velocity[g, i, j] = moved

    @ti.kernel
    def gather(t: ti.i32, g: ti.i32):
        for p in range(PARTICLES):
            base, f, w = weights(x[t, p])
            speed = ti.Vector([0.0, 0.0])
            local = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    node = base + ti.Vector([i, j])
                    here = velocity[g, node[0], node[1]]
                    weight = w[i][0] * w[j][1]
                    speed += weight * here
                    local += 4.0 / H * weight * here.outer_product(ti.Vector([i, j]) - f)
            v[t + 1, p] = speed
            x[t + 1, p] = x[t, p] + DT * speed
            affine[t + 1, p] = local

    @ti.kernel
    def turn_over():
        for p in range(PARTICLES):
            x[0, p] = x[1, p]
            v[0, p] = v[1, p]
            affine[0, p] = affine[1, p]
            strain[0, p] = strain[1, p]

    @ti.kernel
    def find_middle(t: ti.i32):
        for p in range(PARTICLES):
            middle[None] += x[t, p] / PARTICLES

    @ti.kernel
    def measure():
        for _ in range(1):
            loss[None] += (middle[None] - ti.Vector(TARGET)).norm_sqr()

    def run_grid(t, g):
        scatter(t, g)
        move_grid(g)
        gather(t, g)

    @ti.ad.grad_replaced
    def replaced(t):
        clear_grid()
        run_grid(t, 0)

    @ti.ad.grad_for(replaced)
    def gradient_of_replaced(t):
        clear_grid()
        scatter(t, 0)
        move_grid(0)
        gather.grad(t, 0)
        move_grid.grad(0)
        scatter.grad(t, 0)

    def automatic(_):
        momentum.fill(0)
        mass.fill(0)
        run_grid(0, 0)
        turn_over()

    random = np.random.RandomState(0)
    places = 0.2 * random.random_sample((PARTICLES, 2)) + [0.2, 0.3]
    thrown[None] = [0.5, 0.5]
    found = []
    for _ in range(attempts):
        for p in range(PARTICLES):
            x[0, p] = places[p].tolist()
            affine[0, p] = [[0, 0], [0, 0]]
            strain[0, p] = [[1, 0], [0, 1]]
        clear_grid()
        middle[None] = [0, 0]
        with ti.ad.Tape(loss):
            start()
            if way == "automatic":
                ti.ad.checkpoint(automatic, steps, state=[x, v, affine, strain])
            for t in range(0 if way == "automatic" else steps):
                if way == "plain":
                    run_grid(t, t)
                else:
                    replaced(t)
            find_middle(0 if way == "automatic" else steps)
            measure()
        found.append(loss[None])
        for axis in range(2):
            thrown[None][axis] -= 4.0 * thrown.grad[None][axis]
    return found


if __name__ == "__main__":
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64)
    for loss in losses(ti, *sys.argv[1:2], *map(int, sys.argv[2:])):
        print(f"{loss:.6f}")
