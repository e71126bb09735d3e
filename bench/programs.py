"""The kernels that bench/kernels.py times, in the language itself.

Run as `python programs.py kiln|taichi [rounds] [threads] [row,row,…]`: prints one JSON object,
kernel -> seconds per call (median). Both implementations run the same text, so that the
comparison depends on nothing else. kernels_peer.cc has the same rows in C++.
"""

import json
import sys
import time

IMPLEMENTATION = sys.argv[1]
if IMPLEMENTATION == "kiln":
    import kiln as ti
else:
    import taichi as ti

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 0
SHORTEST = 0.03  # seconds that the calls of a row take together
WANTED = sys.argv[4].split(",") if len(sys.argv) > 4 else None

options = {"cpu_max_num_threads": THREADS} if THREADS else {}
if IMPLEMENTATION == "taichi":
    options["offline_cache"] = False
ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)

N = 16 * 1024 * 1024
M = 2048
BODIES = 4096
SIZE = 1024
BINS = 256
CUBE = 192
PRODUCTS = 1 << 16
ROW_COUNT, PER_ROW = 1 << 17, 16
PARTICLES = 1 << 18
GRID = 512
SIDE = 512
CELLS, PER_CELL = 32, 2  # cells along each side of a cube, points in each

ROWS = {}  # name -> kernel


def row(name, *arguments):
    """Adds the kernel to the table, called with these arguments."""

    def add(kernel):
        ROWS[name] = lambda: kernel(*arguments)
        return kernel

    return add


x = ti.field(ti.f32, shape=N)
y = ti.field(ti.f32, shape=N)
total = ti.field(ti.f32, shape=())
best = ti.field(ti.i32, shape=())


# ---- streams


@row("fill", 1.5)
@ti.kernel
def fill(value: ti.f32):
    for i in x:
        x[i] = value


@row("scale", 0.5)
@ti.kernel
def scale(a: ti.f32):
    for i in x:
        y[i] = a * x[i]


@row("saxpy", 0.5)
@ti.kernel
def saxpy(a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


# ---- reductions


@row("sum")
@ti.kernel
def reduce_sum():
    for i in x:
        total[None] += x[i]


@row("max")
@ti.kernel
def reduce_max():
    for i in x:
        ti.atomic_max(total[None], x[i])


@row("conditional_sum")
@ti.kernel
def conditional_sum():
    for i in x:
        if x[i] > 0.5:
            total[None] += x[i] * x[i]


@row("argmin")
@ti.kernel
def argmin():
    for i in x:
        if x[i] > 2.0:
            ti.atomic_min(best[None], i)


velocity = ti.Vector.field(2, ti.f32, shape=(SIDE, SIDE))
fastest = ti.field(ti.f32, shape=())


@row("fastest")
@ti.kernel
def find_fastest():
    for i, j in velocity:
        ti.atomic_max(fastest[None], velocity[i, j].norm())


# ---- stencils

grid_in = ti.field(ti.f32, shape=(M, M))
grid_out = ti.field(ti.f32, shape=(M, M))
cube_in = ti.field(ti.f32, shape=(CUBE, CUBE, CUBE))
cube_out = ti.field(ti.f32, shape=(CUBE, CUBE, CUBE))
bytes_in = ti.field(ti.u8, shape=(M, M))
bytes_out = ti.field(ti.u8, shape=(M, M))
cells = ti.field(ti.i32, shape=(M, M))
counts = ti.field(ti.i32, shape=(M, M))


@row("stencil")
@ti.kernel
def stencil():
    for i, j in ti.ndrange((1, M - 1), (1, M - 1)):
        grid_out[i, j] = 0.2 * (
            grid_in[i, j]
            + grid_in[i - 1, j]
            + grid_in[i + 1, j]
            + grid_in[i, j - 1]
            + grid_in[i, j + 1]
        )


@row("guarded_stencil")
@ti.kernel
def guarded_stencil():
    for i, j in grid_out:
        if 0 < i < M - 1 and 0 < j < M - 1:
            grid_out[i, j] = 0.25 * (
                grid_in[i - 1, j] + grid_in[i + 1, j] + grid_in[i, j - 1] + grid_in[i, j + 1]
            )


@row("clamped_stencil")
@ti.kernel
def clamped_stencil():
    for i, j in grid_out:
        grid_out[i, j] = 0.25 * (
            grid_in[max(i - 1, 0), j]
            + grid_in[min(i + 1, M - 1), j]
            + grid_in[i, max(j - 1, 0)]
            + grid_in[i, min(j + 1, M - 1)]
        )


@row("guarded_cube")
@ti.kernel
def guarded_cube():
    for i, j, k in cube_out:
        if 0 < i < CUBE - 1 and 0 < j < CUBE - 1 and 0 < k < CUBE - 1:
            cube_out[i, j, k] = (
                cube_in[i - 1, j, k]
                + cube_in[i + 1, j, k]
                + cube_in[i, j - 1, k]
                + cube_in[i, j + 1, k]
                + cube_in[i, j, k - 1]
                + cube_in[i, j, k + 1]
                - 6.0 * cube_in[i, j, k]
            )


@row("blur_u8")
@ti.kernel
def blur():
    for i, j in bytes_out:
        if 0 < i < M - 1 and 0 < j < M - 1:
            s = 0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                s += ti.cast(bytes_in[i + a, j + b], ti.i32)
            bytes_out[i, j] = ti.cast(s >> 3, ti.u8)


@row("life")
@ti.kernel
def life():
    for i, j in cells:
        c = 0
        for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if ti.static(a != 0 or b != 0):
                c += cells[(i + a + M) % M, (j + b + M) % M]
        s = cells[i, j]
        counts[i, j] = 1 if c == 3 or (s == 1 and c == 2) else 0


# ---- arithmetic

position = ti.Vector.field(3, ti.f32, shape=BODIES)
force = ti.Vector.field(3, ti.f32, shape=BODIES)
image = ti.field(ti.i32, shape=(SIZE, SIZE))


@row("nbody")
@ti.kernel
def nbody():
    for i in range(BODIES):
        p = position[i]
        f = ti.Vector([0.0, 0.0, 0.0])
        for j in range(BODIES):
            d = position[j] - p
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4
            inv = 1.0 / ti.sqrt(r2)
            f += d * (inv * inv * inv)
        force[i] = f


@row("mandelbrot")
@ti.kernel
def mandelbrot():
    for i, j in image:
        cx = -2.0 + 3.0 * i / SIZE
        cy = -1.5 + 3.0 * j / SIZE
        zx = 0.0
        zy = 0.0
        count = 0
        while count < 100 and zx * zx + zy * zy < 4.0:
            t = zx * zx - zy * zy + cx
            zy = 2.0 * zx * zy + cy
            zx = t
            count += 1
        image[i, j] = count


square_left = ti.field(ti.f32, shape=(SIDE, SIDE))
square_right = ti.field(ti.f32, shape=(SIDE, SIDE))
square = ti.field(ti.f32, shape=(SIDE, SIDE))
depth = ti.field(ti.f32, shape=(SIZE, SIZE))


@row("product")
@ti.kernel
def square_product():
    for i, j in square:
        s = 0.0
        for k in range(SIDE):
            s += square_left[i, k] * square_right[k, j]
        square[i, j] = s


# Distances to a torus and a floor, along the ray of each pixel.
@row("rays")
@ti.kernel
def rays():
    for i, j in depth:
        x = (i - SIZE / 2) / SIZE
        y = (j - SIZE / 2) / SIZE
        scale = 1.0 / ti.sqrt(x * x + y * y + 1.0)
        t = 0.0
        for _ in range(100):
            px = x * scale * t
            py = y * scale * t + 0.5
            pz = scale * t - 3.0
            q = ti.sqrt(px * px + pz * pz) - 1.0
            d = ti.min(ti.sqrt(q * q + py * py) - 0.3, py + 1.0)
            if d < 1e-3:
                break
            t += d
            if t > 20.0:
                break
        depth[i, j] = t


@row("powers")
@ti.kernel
def powers():
    for i, j in grid_out:
        grid_out[i, j] = grid_in[i, j] ** 1.5 + (2.5 + grid_in[i, j]) ** 2.2


# ---- small matrices and rows of other lengths

left = ti.Matrix.field(4, 4, ti.f32, shape=PRODUCTS)
right = ti.Matrix.field(4, 4, ti.f32, shape=PRODUCTS)
product = ti.Matrix.field(4, 4, ti.f32, shape=PRODUCTS)
vec3 = ti.types.vector(3, ti.f32)
bodies = ti.types.struct(place=vec3, speed=vec3, mass=ti.f32).field(shape=PARTICLES)
row_start = ti.field(ti.i32, shape=ROW_COUNT + 1)
column = ti.field(ti.i32, shape=ROW_COUNT * PER_ROW)
value = ti.field(ti.f32, shape=ROW_COUNT * PER_ROW)
vector_in = ti.field(ti.f32, shape=ROW_COUNT)
vector_out = ti.field(ti.f32, shape=ROW_COUNT)


@row("products_4x4")
@ti.kernel
def products():
    for i in product:
        product[i] = left[i] @ right[i]


@row("bodies")
@ti.kernel
def move_bodies():
    for i in bodies:
        bodies[i].speed += 1e-4 * ti.Vector([0.0, -9.8, 0.0])
        bodies[i].place += 1e-4 * bodies[i].speed
        bodies[i].mass *= 0.999


@row("sparse_rows")
@ti.kernel
def sparse_rows():
    for i in range(ROW_COUNT):
        s = 0.0
        for k in range(row_start[i], row_start[i + 1]):
            s += value[k] * vector_in[column[k]]
        vector_out[i] = s


# ---- neighbours

cell_start = ti.field(ti.i32, shape=CELLS**3 + 1)
points = ti.Vector.field(3, ti.f32, shape=CELLS**3 * PER_CELL)  # those of a cell in a row
density = ti.field(ti.f32, shape=CELLS**3 * PER_CELL)


@row("neighbours")
@ti.kernel
def neighbours():
    for i in points:
        p = points[i]
        cell = ti.cast(p * CELLS, ti.i32)
        s = 0.0
        for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
            near = cell + offset
            if near.min() >= 0 and near.max() < CELLS:
                at = (near[0] * CELLS + near[1]) * CELLS + near[2]
                for k in range(cell_start[at], cell_start[at + 1]):
                    r = 1.0 - (p - points[k]).norm_sqr() * (CELLS * CELLS)
                    if r > 0.0:
                        s += r * r * r
        density[i] = s


# ---- scatters

keys = ti.field(ti.i32, shape=N)
bins = ti.field(ti.i32, shape=BINS)
few_bins = ti.field(ti.i32, shape=16)
some_bins = ti.field(ti.i32, shape=1024)
many_bins = ti.field(ti.i32, shape=65536)
particles = ti.Vector.field(2, ti.f32, shape=PARTICLES)
shuffled = ti.Vector.field(2, ti.f32, shape=PARTICLES)
mass = ti.field(ti.f32, shape=(GRID, GRID))


@ti.kernel
def set_keys():
    for i in keys:
        keys[i] = (i * 1103515245 + 12345) >> 8 & 65535


@row("histogram")
@ti.kernel
def histogram():
    for i in keys:
        bins[keys[i] & (BINS - 1)] += 1


@row("histogram_16")
@ti.kernel
def histogram_16():
    for i in keys:
        few_bins[keys[i] & 15] += 1


@row("histogram_1024")
@ti.kernel
def histogram_1024():
    for i in keys:
        some_bins[keys[i] & 1023] += 1


@row("histogram_65536")
@ti.kernel
def histogram_65536():
    for i in keys:
        many_bins[keys[i]] += 1


@ti.func
def scatter(p):
    base = ti.cast(p * (GRID - 3), ti.i32)
    f = p * (GRID - 3) - ti.cast(base, ti.f32)
    for a, b in ti.static(ti.ndrange(3, 3)):
        weight = (0.5 + a * f[0]) * (0.25 + b * f[1])
        mass[base[0] + a, base[1] + b] += weight


@row("p2g_sorted")
@ti.kernel
def p2g_sorted():
    for i in particles:
        scatter(particles[i])


@row("p2g_random")
@ti.kernel
def p2g_random():
    for i in shuffled:
        scatter(shuffled[i])


@ti.kernel
def set_up():
    for i in position:
        position[i] = ti.Vector([ti.sin(i * 0.37), ti.cos(i * 0.71), ti.sin(i * 0.13)])
    for i, j in grid_in:
        grid_in[i, j] = 3.0 + ti.sin(i * 0.01) + ti.cos(j * 0.02)
        bytes_in[i, j] = ti.cast((i * 7 + j * 13) & 255, ti.u8)
        cells[i, j] = (i * 31 + j * 17 + i * j) % 3 // 2
    for i, j, k in cube_in:
        cube_in[i, j, k] = ti.sin(i * 0.01 + j * 0.02 + k * 0.03)
    for i, j in square:
        square_left[i, j] = ti.sin(i * 0.01) + ti.cos(j * 0.02)
        square_right[i, j] = ti.cos(i * 0.03) - ti.sin(j * 0.04)
    for i in left:
        for a, b in ti.static(ti.ndrange(4, 4)):
            left[i][a, b] = a + b * 0.5
            right[i][a, b] = a - b * 0.25
    for i in range(ROW_COUNT + 1):
        row_start[i] = i * PER_ROW
    for i in range(ROW_COUNT * PER_ROW):
        column[i] = (i // PER_ROW + (i % PER_ROW) * 37) % ROW_COUNT
        value[i] = 0.5
    for i in vector_in:
        vector_in[i] = 1.0
    for i, j in velocity:
        velocity[i, j] = ti.Vector([ti.sin(i * 0.01), ti.cos(j * 0.02)])
    for i in cell_start:
        cell_start[i] = i * PER_CELL
    for i in points:
        c = i // PER_CELL
        corner = ti.Vector([c // (CELLS * CELLS), c // CELLS % CELLS, c % CELLS])
        inside = ti.Vector([i * 7 % 16, i * 11 % 16, i * 13 % 16]) + 0.5
        points[i] = (corner + inside / 16) / CELLS
    for i in particles:
        k = (ti.cast(i, ti.u32) * ti.u32(2654435761)) & ti.u32(PARTICLES - 1)
        particles[i] = ti.Vector([i // 512 / 512.0, i % 512 / 512.0])
        at = ti.cast(k, ti.i32)
        shuffled[i] = ti.Vector([at // 512 / 512.0, at % 512 / 512.0])


def seconds_per_call(call):
    call()  # compiles
    call()
    times = []
    while len(times) < ROUNDS or sum(times) < SHORTEST:
        start = time.perf_counter()
        call()
        ti.sync()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


set_up()
set_keys()
seconds = {
    name: seconds_per_call(call) for name, call in ROWS.items() if not WANTED or name in WANTED
}
total[None] = 0
fill(1.0)
reduce_sum()
checks = {"sum": total[None] / N}
if not WANTED:
    for added in (bins, many_bins, mass):
        added.fill(0)
    histogram()
    histogram_65536()
    p2g_sorted()
    checks |= {
        "mandelbrot": image[SIZE // 2, SIZE // 2] + image[3, 5],
        "nbody": force[7][1],
        "stencil": grid_out[100, 200],
        "life": counts[0, 0] + counts[77, 99],
        "product": square[7, 11],
        "rays": depth[SIZE // 2, SIZE // 4],
        "products": product[5][1, 2],
        "rows": vector_out[7],
        "fastest": fastest[None],
        "neighbours": density[40000],
        "histogram": bins[17],
        "histogram_65536": many_bins[17],
        "p2g": mass[100, 100],
    }
print(json.dumps({"seconds": seconds, "checks": checks}))
