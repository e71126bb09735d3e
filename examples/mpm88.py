"""Three blobs of liquid fall into a box: a material point simulation in 88 lines.

    ./kiln run examples/mpm88.py [frames] [picture.png]

Each particle has a velocity, its local gradient and the change of its volume. A step scatters mass
and momentum to the nodes of a grid, moves the nodes, and gathers their motion back to the
particles.
"""

import sys

import kiln as ti
from kiln.events import frames

ti.init(arch=ti.cpu)

particles, nodes = 9000, 128  # particles; nodes along each side of the grid
h = 1 / nodes  # distance between two nodes
dt = 2e-4
volume = (h / 2) ** 2  # of one particle; with density 1, its mass is the same number
stiffness = 400.0
wall = 3  # nodes between the edge and the wall that stops the liquid

position = ti.Vector.field(2, float, particles)
velocity = ti.Vector.field(2, float, particles)
gradient = ti.Matrix.field(2, 2, float, particles)
expansion = ti.field(float, particles)
momentum = ti.Vector.field(2, float, (nodes, nodes))  # after `move`: the node's velocity
mass = ti.field(float, (nodes, nodes))


@ti.kernel
def fill():
    for p in position:
        blob = p * 3 // particles
        corner = ti.Vector([0.12 + 0.28 * blob, 0.15 + 0.22 * (blob % 2) + 0.1 * blob])
        position[p] = corner + 0.2 * ti.Vector([ti.random(), ti.random()])
        velocity[p] = [0.6 - 0.6 * blob, 0.0]
        expansion[p] = 1.0


@ti.kernel
def step():
    for node in ti.grouped(mass):
        momentum[node] = [0.0, 0.0]
        mass[node] = 0.0
    for p in position:  # particles to nodes
        corner = ti.cast(position[p] / h - 0.5, ti.i32)
        f = position[p] / h - corner
        weight = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        push = -4 * dt * volume * stiffness * (expansion[p] - 1) / h**2
        affine = ti.Matrix([[push, 0.0], [0.0, push]]) + volume * gradient[p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            share = weight[i].x * weight[j].y
            away = (ti.Vector([i, j]) - f) * h
            node = corner + ti.Vector([i, j])
            momentum[node] += share * (volume * velocity[p] + affine @ away)
            mass[node] += share * volume
    for i, j in mass:  # nodes: gravity, walls
        if mass[i, j] > 0:
            v = momentum[i, j] / mass[i, j] - ti.Vector([0.0, 9.8 * dt])
            if (i < wall and v.x < 0) or (i > nodes - wall and v.x > 0):
                v.x = 0.0
            if (j < wall and v.y < 0) or (j > nodes - wall and v.y > 0):
                v.y = 0.0
            momentum[i, j] = v
    for p in position:  # nodes to particles
        corner = ti.cast(position[p] / h - 0.5, ti.i32)
        f = position[p] / h - corner
        weight = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        v, spread = ti.Vector.zero(float, 2), ti.Matrix.zero(float, 2, 2)
        for i, j in ti.static(ti.ndrange(3, 3)):
            pull = weight[i].x * weight[j].y * momentum[corner + ti.Vector([i, j])]
            v += pull
            spread += 4 * pull.outer_product((ti.Vector([i, j]) - f) * h) / h**2
        velocity[p], gradient[p] = v, spread
        position[p] += dt * v
        expansion[p] *= 1 + dt * spread.trace()


fill()
gui = ti.GUI("three blobs", res=512, background_color=0x10222E)
palette, blob_of = [0x2E9CCA, 0xF2B134, 0xED553B], [p * 3 // particles for p in range(particles)]
total = int(sys.argv[1]) if len(sys.argv) > 1 else 100
for frame in frames(total):
    for _ in range(25):
        step()
    gui.circles(position.to_numpy(), radius=1.5, palette=palette, palette_indices=blob_of)
    gui.show((sys.argv[2:] or ["mpm88.png"])[0] if frame == total - 1 else None)
