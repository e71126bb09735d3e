"""Writes of neighbouring elements by the threads of a warp, on CUDA's emulator: lanes make them for
each other, and they give what the CPU gives."""

COMPARED = """
import numpy as np
import kiln as ti

# Whole warps, and one that is not. Fields are too large for the memory of blocks, as histograms
# use it.
COUNT, PLACES = 300, 5000


# Several iterations choose the same place.
def places():
    made = ti.ndarray(ti.i32, COUNT)
    made.from_numpy(rng.integers(0, 40, COUNT).astype(np.int32) * 123)
    return made


Places = ti.types.ndarray(dtype=ti.i32, ndim=1)


def vectors():
    results = []
    for dtype in ti.f32, ti.f64, ti.i32, ti.u32, ti.i64:
        # Vectors of 12 elements of f32 are as much as a warp takes, of 13 more than that.
        for length in 1, 2, 3, 4, 7, 12, 13, 20:
            sums = ti.Vector.field(length, dtype, PLACES)
            at = places()

            @ti.kernel
            def add(at: Places):
                for i in at:
                    value = ti.Vector([ti.cast(i + c * 3, dtype) for c in range(length)], dtype)
                    sums[at[i]] += value

            add(at)
            results.append(sums.to_numpy())
    return results


def kinds():
    found = ti.Vector.field(3, ti.i32, PLACES)
    wide = ti.Vector.field(2, ti.u64, PLACES)
    floats = ti.Vector.field(3, ti.f32, PLACES)
    found.fill(-1)
    wide.fill(5)

    @ti.kernel
    def update(at: Places):
        for i in at:
            ti.atomic_and(found[at[i]], ~(1 << (i % 31)))
        for i in at:
            ti.atomic_or(found[at[i]], ti.Vector([1, 2, 4]) << (i % 7))
        for i in at:
            ti.atomic_xor(found[at[i]], ti.Vector([i, 2 * i, 3 * i]))
        for i in at:
            ti.atomic_max(wide[at[i]], ti.Vector([i, i * 7 % 64]))
            ti.atomic_min(floats[at[i]], ti.Vector([-i, -i * 7 % 64, i - 5.0]))
        for i in at:
            ti.atomic_sub(floats[at[i]], ti.Vector([i, 2 * i, 3.0]))

    update(places())
    return found.to_numpy(), wide.to_numpy(), floats.to_numpy()


# As particles do: rows of neighbouring cells, of two fields and of one.
def stencils():
    momentum = ti.Vector.field(3, ti.f32, (12, 12, 12))
    mass = ti.field(ti.f32, (12, 12, 12))
    cell = ti.types.struct(v=ti.math.vec3, m=ti.f32)
    cells = cell.field((12, 12, 12))
    Positions = ti.types.ndarray(dtype=ti.math.ivec3, ndim=1)

    @ti.kernel
    def scatter(x: Positions):
        for p in x:
            base = x[p]
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                weight = 1.0 + offset[0] + 3 * offset[1] + 9 * offset[2]
                momentum[base + offset] += weight * ti.Vector([p, 1.0, base[0]])
                mass[base + offset] += weight

    @ti.kernel
    def scatter_cells(x: Positions):
        for p in x:
            for k, j, i in ti.static(ti.ndrange(3, 3, 3)):
                at = x[p] + ti.Vector([i, j, k])
                cells[at].v += ti.Vector([p, 1.0, k])
                cells[at].m += 1.0 + i

    x = ti.Vector.ndarray(3, ti.i32, COUNT)
    x.from_numpy(rng.integers(0, 10, (COUNT, 3)).astype(np.int32))
    scatter(x)
    scatter_cells(x)
    return momentum.to_numpy(), mass.to_numpy(), cells.v.to_numpy(), cells.m.to_numpy()


# Lanes that make no updates, or other ones.
def branches():
    sums = ti.Vector.field(3, ti.f32, PLACES)
    few = ti.Vector.field(2, ti.f32, PLACES)

    @ti.kernel
    def add(at: Places):
        for i in at:
            if at[i] % 3 != 0 or 64 <= i < 128:
                sums[at[i]] += ti.Vector([i, 2.0, 3.0 * i])
            else:
                few[at[i]] += ti.Vector([i, 1.0])
            for k in range(at[i] % 4):
                few[(at[i] + k) % PLACES] += ti.Vector([1.0, k])
            if i % 32 == 31:
                continue
            sums[(at[i] * 7) % PLACES] += 1.0

    add(places())
    return sums.to_numpy(), few.to_numpy()


# What a thread reads of its own updates, which no other thread makes.
def own_updates():
    own = ti.Vector.field(3, ti.f32, PLACES)
    seen = ti.Vector.field(3, ti.f32, COUNT)
    between = ti.Vector.field(3, ti.f32, COUNT)

    @ti.kernel
    def add(at: Places):
        for i in at:
            own[at[i]] += ti.Vector([1.0, 2.0, 3.0 + i])
            seen[i] = own[at[i]]
            own[at[i]].x += 1.0
            between[i].x = own[at[i]].y
            own[at[i]].y += 4.0
            between[i].y = own[at[i]].y
            own[at[i]].z += 5.0
            ti.atomic_max(own[at[i]].x, 2.5)
            own[at[i]].y += 1.0

    at = ti.ndarray(ti.i32, COUNT)
    at.from_numpy(rng.permutation(COUNT).astype(np.int32))
    add(at)
    return own.to_numpy(), seen.to_numpy(), between.to_numpy()


# Beside other uses of shared memory, and in arrays that may be the same one.
def beside_others():
    total = ti.field(ti.f32, ())
    Vectors = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)

    @ti.kernel
    def add(x: Vectors, y: Vectors, at: Places):
        for i in at:
            x[at[i]] += ti.Vector([i, 2.0, 3.0])
            y[(at[i] + 1) % PLACES] += ti.Vector([i, 2.0, 3.0])
            total[None] += at[i]

    # Has too little shared memory left.
    @ti.kernel
    def fill(x: Vectors, at: Places):
        ti.loop_config(block_dim=128)
        for i in at:
            own = ti.simt.block.SharedArray(11_000, ti.f32)
            own[i % 128] = i
            x[at[i]] += ti.Vector([own[i % 128], 2.0, 3.0])

    @ti.kernel
    def read(x: Vectors, y: Vectors, z: Vectors, at: Places):
        for i in at:
            x[at[i]].x += 1.0
            z[i].x += y[at[i]].x
            x[at[i]].y += 1.0

    x, y = ti.Vector.ndarray(3, ti.f32, PLACES), ti.Vector.ndarray(3, ti.f32, PLACES)
    z = ti.Vector.ndarray(3, ti.f32, COUNT)
    at = places()
    add(x, y, at)
    add(x, x, at)
    fill(x, at)
    read(x, y, z, at)
    return x.to_numpy(), y.to_numpy(), z.to_numpy(), total.to_numpy()


# Cells of sparse trees, blocks of several sizes, and gradients.
def others():
    x = ti.Vector.field(3, ti.f32)
    ti.root.pointer(ti.i, 79).dense(ti.i, 64).place(x)
    y = ti.Vector.field(3, ti.f32, PLACES, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def add(at: Places):
        for i in at:
            x[at[i]] += ti.Vector([i, 2.0, 3.0])
        ti.loop_config(block_dim=48)
        for i in at:
            x[at[i]] += ti.Vector([i, 2.0, 3.0])
        ti.loop_config(block_dim=16)
        for i in at:
            x[at[i]] += ti.Vector([i, 2.0, 3.0])
        ti.loop_config(block_dim=1024)
        for i in at:
            x[at[i]] += ti.Vector([i, 2.0, 3.0])

    @ti.kernel
    def read(at: Places):
        for i in at:
            loss[None] += y[at[i]].dot(ti.Vector([i, 2.0, 3.0]))

    at = places()
    add(at)
    loss.grad[None] = 1.0
    read.grad(at)
    return x.to_numpy(), y.grad.to_numpy()


# Stores of vectors, matrices and structs: of own elements, of rows, and where the data choose.
def stores():
    results = []
    for dtype in ti.f32, ti.f64, ti.i32, ti.i64, ti.f16, ti.i8:
        # Of 2 and 4 elements, LLVM would make one store in an array with a known alignment.
        for length in 2, 3, 4, 6, 9, 13:
            x, y = ti.Vector.ndarray(length, dtype, 301), ti.Vector.field(length, dtype, (9, 77))
            Vectors = ti.types.ndarray(dtype=ti.types.vector(length, dtype), ndim=1)

            @ti.kernel
            def store(x: Vectors):
                for i in x:
                    x[i] = ti.Vector([ti.cast(i % 50 + c, dtype) for c in range(length)], dtype)
                for i, j in y:
                    y[i, j] = x[i * 3 + j] + ti.cast(j, dtype)

            store(x)
            results += [x.to_numpy(), y.to_numpy()]
    return results


def other_stores():
    particle = ti.types.struct(x=ti.math.vec3, v=ti.math.vec2, m=ti.f32, n=ti.i32)
    particles = particle.field(COUNT)
    matrices = ti.Matrix.field(3, 3, ti.f32, (20, 20))
    chosen = ti.Vector.field(3, ti.f32, PLACES)
    rows = ti.field(ti.i32, (70, 48))
    sparse = ti.Vector.field(3, ti.f32)
    ti.root.bitmasked(ti.i, 80).dense(ti.i, 64).place(sparse)

    @ti.kernel
    def store(at: Places, width: ti.i32):
        for p in particles:
            particles[p] = particle(ti.Vector([p, 1.0, 2.0]), ti.Vector([3.0, p]), 5.0, p)
        for i, j in matrices:
            matrices[i, j] = ti.Matrix([[i, 1, 2], [j, 4, 5], [6, i + j, 8]])
            if (i + j) % 3 == 0:
                matrices[i, j] *= 2.0
        for i in at:
            chosen[at[i]] = ti.Vector([at[i], 2.0, 3.0])
            sparse[at[i]] = ti.Vector([at[i], 2.0, 3.0])
        for i in range(width):
            for k in range(48):
                rows[i, k] = i * k

    @ti.kernel
    def change(at: Places):
        for p in particles:
            particles[p].x += particles[p].v.x
            particles[p].v = ti.Vector([particles[p].x.y, particles[p].m])
            particles[p].m = particles[p].v.x
            # Overwrites a part, and reads it.
            particles[p].x.z = 1.0
            particles[p].x.y = 7.0
            particles[p].x.y = particles[p].x.z + p
        for i in sparse:
            sparse[i] = sparse[i].zxy

    at = ti.ndarray(ti.i32, COUNT)
    at.from_numpy(rng.permutation(COUNT).astype(np.int32) * 11)
    store(at, 70)
    change(at)
    found = particles.to_numpy()
    return [
        *(found[key] for key in "xvmn"),
        matrices.to_numpy(),
        chosen.to_numpy(),
        rows.to_numpy(),
        sparse.to_numpy(),
    ]


# Arrays that are one: the stores of an iteration are seen by its later reads.
def one_array():
    Vectors = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)

    @ti.kernel
    def store(x: Vectors, y: Vectors):
        for i in x:
            x[i].x = y[i].z + 1
            x[i].y = y[i].x + 10
            x[i].z = y[i].y + 100
            y[i].x = 3

    results = []
    for same in True, False:
        x, y = ti.Vector.ndarray(3, ti.f32, COUNT), ti.Vector.ndarray(3, ti.f32, COUNT)
        x.fill(1)
        y.fill(2)
        store(x, x if same else y)
        results += [x.to_numpy(), y.to_numpy()]
    return results


STORES = stores, other_stores, one_array
CASES = *STORES, vectors, kinds, stencils, branches, own_updates, beside_others, others
"""


def test_writes_are_those_of_the_cpu(compare_with_cpu):
    compare_with_cpu(COMPARED)
