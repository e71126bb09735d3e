"""A robot of masses and springs learns to walk: a neural network contracts its springs.

    ./kiln run examples/gradients/walker.py [steps] [attempts]

Each attempt simulates the robot, with cells of their own for each step, and prints how far it did
not come. A tape computes the gradient by the network's weights.
"""

import sys

import numpy as np

DT = 0.004
GRAVITY, GROUND = -4.8, 0.1
STIFFNESS, DAMPING = 3.0e3, 15.0
WAVES, HIDDEN = 6, 16  # inputs of the network besides the masses; units between
RATE = 4.0


def robot():
    """Two legs below a body of three squares: positions, springs (a, b), and which of those are
    muscles."""
    places = [(column, row) for row in (1, 2) for column in range(4)] + [(0, 0), (1, 0)]
    places += [(2, 0), (3, 0)]
    masses = 0.1 * np.array(places) + [0.1, GROUND]
    squares = [(0, 1), (1, 1), (2, 1), (0, 0), (2, 0)]
    number = {place: at for at, place in enumerate(places)}
    springs, muscles = {}, set()
    for x, y in squares:
        corners = [number[x + i, y + j] for i in (0, 1) for j in (0, 1)]
        for i in range(4):
            for j in range(i):
                pair = tuple(sorted((corners[i], corners[j])))
                springs[pair] = True
                if y == 0 and abs(masses[pair[0]] - masses[pair[1]])[1] > 0:
                    muscles.add(pair)
    springs = list(springs)
    return masses, np.array(springs), [float(pair in muscles) for pair in springs]


def losses(ti, steps=1000, attempts=10):
    """What is left of the way after each attempt."""
    masses, springs, muscles = robot()
    n, m = len(masses), len(springs)
    inputs = WAVES + 4 * n
    make = {"dtype": ti.f64, "needs_grad": True}
    x = ti.Vector.field(2, shape=(steps + 1, n), **make)
    v = ti.Vector.field(2, shape=(steps + 1, n), **make)
    force = ti.Vector.field(2, shape=(steps, n), **make)
    hidden = ti.field(shape=(steps, HIDDEN), **make)
    drive = ti.field(shape=(steps, m), **make)
    weights1, bias1 = ti.field(shape=(HIDDEN, inputs), **make), ti.field(shape=HIDDEN, **make)
    weights2, bias2 = ti.field(shape=(m, HIDDEN), **make), ti.field(shape=m, **make)
    center = ti.Vector.field(2, shape=steps + 1, **make)
    loss = ti.field(shape=(), **make)
    ends = ti.Vector.field(2, ti.i32, shape=m)
    length, strength = ti.field(ti.f64, shape=m), ti.field(ti.f64, shape=m)

    @ti.kernel
    def find_center(t: ti.i32):
        for i in range(n):
            center[t] += x[t, i] / n

    @ti.kernel
    def think(t: ti.i32):
        for i in range(HIDDEN):
            total = bias1[i]
            for j in ti.static(range(WAVES)):
                total += weights1[i, j] * ti.sin(20.0 * t * DT + 2 * np.pi / WAVES * j)
            for j in ti.static(range(n)):
                offset = x[t, j] - center[t]
                total += weights1[i, WAVES + 4 * j] * offset[0] * 5
                total += weights1[i, WAVES + 4 * j + 1] * offset[1] * 5
                total += weights1[i, WAVES + 4 * j + 2] * v[t, j][0] * 0.5
                total += weights1[i, WAVES + 4 * j + 3] * v[t, j][1] * 0.5
            hidden[t, i] = ti.tanh(total)

    @ti.kernel
    def act(t: ti.i32):
        for i in range(m):
            total = bias2[i]
            for j in ti.static(range(HIDDEN)):
                total += weights2[i, j] * hidden[t, j]
            drive[t, i] = ti.tanh(total)

    @ti.kernel
    def pull(t: ti.i32):
        for i in range(m):
            a, b = ends[i][0], ends[i][1]
            offset = x[t, a] - x[t, b]
            distance = offset.norm() + 1e-8
            wanted = length[i] * (1.0 + 0.25 * strength[i] * drive[t, i])
            impulse = STIFFNESS * (distance - wanted) / length[i] * 0.1 * offset / distance
            force[t, a] += -impulse
            force[t, b] += impulse

    @ti.kernel
    def move(t: ti.i32):
        for i in range(n):
            moved = ti.exp(-DT * DAMPING) * v[t, i]
            moved += DT * (force[t, i] + ti.Vector([0.0, GRAVITY]))
            if x[t, i][1] + DT * moved[1] < GROUND and moved[1] < 0:
                moved = ti.Vector([0.0, 0.0])  # it sticks to the ground
            v[t + 1, i] = moved
            x[t + 1, i] = x[t, i] + DT * moved

    @ti.kernel
    def measure():
        for i in range(n):
            loss[None] += (1.0 - x[steps, i][0]) / n

    random = np.random.RandomState(2)
    weights1.from_numpy(random.normal(size=(HIDDEN, inputs)) * (2 / (HIDDEN + inputs)) ** 0.5)
    weights2.from_numpy(random.normal(size=(m, HIDDEN)) * (2 / (HIDDEN + m)) ** 0.5)
    for i, (a, b) in enumerate(springs):
        ends[i], length[i] = [int(a), int(b)], float(np.linalg.norm(masses[a] - masses[b]))
        strength[i] = muscles[i]
    for i in range(n):
        x[0, i] = masses[i].tolist()

    found = []
    trained = (weights1, bias1, weights2, bias2)
    for _ in range(attempts):
        force.fill(0)
        center.fill(0)
        with ti.ad.Tape(loss):
            for t in range(steps):
                find_center(t)
                think(t)
                act(t)
                pull(t)
                move(t)
            measure()
        found.append(loss[None])
        gradients = [one.grad.to_numpy() for one in trained]
        size = sum((one**2).sum() for one in gradients) ** 0.5
        for one, gradient in zip(trained, gradients):
            one.from_numpy(one.to_numpy() - RATE / 100 * gradient / (size + 1e-9))
    return found


if __name__ == "__main__":
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64)
    for loss in losses(ti, *map(int, sys.argv[1:])):
        print(f"{loss:.6f}")
