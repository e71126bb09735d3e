"""A chain of rigid bars is thrown so that its end hits a point, bouncing off the ground.

    ./kiln run examples/gradients/chain.py [steps] [attempts]

An end that reaches the ground within a step bounces at that time, the time of impact, and not at
the end of the step. Without that, the gradient of a bounce would be wrong.
"""

import sys

BARS, LENGTH = 4, 0.2
DT, GRAVITY = 0.002, -9.8
STIFFNESS, DAMPING = 400.0, 4.0  # of the joints
RESTITUTION, FRICTION = 0.6, 0.3
INERTIA = LENGTH**2 / 12  # the mass is 1
TARGET = (1.1, 0.3)


def losses(ti, steps=180, attempts=10):
    """The squared distance from the target after each attempt."""
    make = {"dtype": ti.f64, "needs_grad": True}
    x = ti.Vector.field(2, shape=(steps + 1, BARS), **make)
    v = ti.Vector.field(2, shape=(steps + 1, BARS), **make)
    angle = ti.field(shape=(steps + 1, BARS), **make)
    spin = ti.field(shape=(steps + 1, BARS), **make)
    force = ti.Vector.field(2, shape=(steps, BARS), **make)
    torque = ti.field(shape=(steps, BARS), **make)
    thrown = ti.Vector.field(2, shape=(), **make)
    loss = ti.field(shape=(), **make)

    @ti.func
    def arm(t, i, side):
        return 0.5 * side * LENGTH * ti.Vector([ti.cos(angle[t, i]), ti.sin(angle[t, i])])

    @ti.func
    def speed_at(velocity, rate, offset):
        return velocity + rate * ti.Vector([-offset[1], offset[0]])

    @ti.kernel
    def throw():
        for i in range(BARS):
            x[0, i] = ti.Vector([(i + 0.5) * LENGTH, 0.35])
            angle[0, i] = 0.0
            v[0, i] = thrown[None] * (i + 1) / BARS
            spin[0, i] = 0.0

    @ti.kernel
    def join(t: ti.i32):
        for i in range(BARS - 1):
            a, b = arm(t, i, 1.0), arm(t, i + 1, -1.0)
            gap = x[t, i + 1] + b - x[t, i] - a
            rate = speed_at(v[t, i + 1], spin[t, i + 1], b) - speed_at(v[t, i], spin[t, i], a)
            pull = STIFFNESS * gap + DAMPING * rate
            force[t, i] += pull
            force[t, i + 1] += -pull
            torque[t, i] += a[0] * pull[1] - a[1] * pull[0]
            torque[t, i + 1] += -(b[0] * pull[1] - b[1] * pull[0])

    @ti.kernel
    def move(t: ti.i32):
        for i in range(BARS):
            velocity = v[t, i] + DT * (force[t, i] + ti.Vector([0.0, GRAVITY]))
            rate = spin[t, i] + DT * torque[t, i] / INERTIA
            before, rate_before = velocity, rate
            rest = 0.0  # of the step, after the impact
            for end in ti.static((-1.0, 1.0)):
                offset = arm(t, i, end)
                speed = speed_at(velocity, rate, offset)
                height = x[t, i][1] + offset[1]
                if speed[1] < 0.0 and height + DT * speed[1] < 0.0:
                    impact = ti.max(-height / speed[1], 0.0)
                    mass = 1.0 / (1.0 + offset[0] ** 2 / INERTIA)
                    up = -(1.0 + RESTITUTION) * speed[1] * mass
                    sideways = -FRICTION * ti.tanh(speed[0] * 20.0) * up
                    push = ti.Vector([sideways, up])
                    velocity += push
                    rate += (offset[0] * push[1] - offset[1] * push[0]) / INERTIA
                    rest = DT - impact
            v[t + 1, i] = velocity
            spin[t + 1, i] = rate
            x[t + 1, i] = x[t, i] + (DT - rest) * before + rest * velocity
            angle[t + 1, i] = angle[t, i] + (DT - rest) * rate_before + rest * rate

    @ti.kernel
    def measure():
        for _ in range(1):
            tip = x[steps, BARS - 1] + arm(steps, BARS - 1, 1.0)
            loss[None] += (tip - ti.Vector(TARGET)).norm_sqr()

    found = []
    thrown[None] = [1.0, 1.0]
    for _ in range(attempts):
        force.fill(0)
        torque.fill(0)
        with ti.ad.Tape(loss):
            throw()
            for t in range(steps):
                join(t)
                move(t)
            measure()
        found.append(loss[None])
        for axis in range(2):
            thrown[None][axis] -= 0.1 * thrown.grad[None][axis]
    return found


if __name__ == "__main__":
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64)
    for loss in losses(ti, *map(int, sys.argv[1:])):
        print(f"{loss:.6f}")
