"""Dynamic SNodes: append, length, growth by writing, deactivation."""

from harness import case, ti


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


def pixels(dtype=None, chunk_size=4):
    """Lists of up to 20 numbers for 4 pixels."""
    x = ti.field(dtype or ti.i32)
    pixel = ti.root.dense(ti.i, 4)
    items = pixel.dynamic(ti.j, 20, chunk_size=chunk_size)
    items.place(x)
    return x, pixel, items


@case()
def append_and_length(show):
    x, pixel, items = pixels()

    @ti.kernel
    def push(i: ti.i32, v: ti.i32):
        ti.append(items, i, v)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    show([length(i) for i in range(4)])
    for v in range(7):
        push(1, v * v)
    push(3, 5)
    show([length(i) for i in range(4)], x.to_numpy())


@case()
def append_gives_the_place(show):
    x, pixel, items = pixels()

    @ti.kernel
    def push(i: ti.i32, v: ti.i32) -> ti.i32:
        return ti.append(items, [i], v)

    show([push(2, v) for v in (5, 6, 7)], x[2, 0], x[2, 2], x[2, 3])


@case()
def append_in_parallel(show):
    x, pixel, items = pixels(chunk_size=8)
    y = ti.field(ti.i32)
    all_of_them = ti.root.dynamic(ti.i, 100000, chunk_size=64)
    all_of_them.place(y)

    @ti.kernel
    def k():
        for i in range(50000):
            ti.append(all_of_them, [], i)
        for i in range(60):
            ti.append(items, i % 3, i)

    @ti.kernel
    def sums() -> ti.types.vector(2, ti.i64):
        s, n = ti.i64(0), ti.i64(0)
        for i in y:
            s += y[i]
            n += 1
        return ti.Vector([s, n])

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(all_of_them, [])

    k()
    show(sums(), length(), x.to_numpy().sum(axis=1))
    numbers = y.to_numpy()[:50000]
    show(sorted(numbers.tolist()) == list(range(50000)))


@case()
def writing_raises_the_length(show):
    x, pixel, items = pixels()

    @ti.kernel
    def write(i: ti.i32, j: ti.i32):
        x[i, j] = 7

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    write(2, 9)
    show([length(i) for i in range(4)], x.to_numpy()[2], count(x))
    write(2, 3)
    show(length(2))
    x[0, 4] = 1
    show(length(0), count(x))


@case()
def reading_does_not(show):
    x, pixel, items = pixels()

    @ti.kernel
    def read() -> ti.i32:
        return x[1, 15] + ti.length(items, 1)

    show(read(), x[1, 19], count(x))


@case()
def is_active_is_not_for_lists(show):
    x, pixel, items = pixels()
    x[1, 2] = 5

    @ti.kernel
    def active(i: ti.i32, j: ti.i32) -> ti.i32:
        return ti.is_active(items, [i, j])

    show.error(active, 1, 1)


@case()
def activating_with_indices_of_the_items(show):
    x, pixel, items = pixels()

    @ti.kernel
    def activate(i: ti.i32, j: ti.i32):
        ti.activate(items, [i, j])

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    show.error(activate, 0, 6)
    show(length(0), count(x))


@case()
def deactivate_empties(show):
    x, pixel, items = pixels()

    @ti.kernel
    def push(n: ti.i32):
        for i in range(4):
            for j in range(n):
                ti.append(items, i, j + 1)

    @ti.kernel
    def clear(i: ti.i32):
        ti.deactivate(items, [i])

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    push(10)
    clear(2)
    show([length(i) for i in range(4)], x.to_numpy().sum(axis=1), count(x))
    push(3)
    show([length(i) for i in range(4)], x.to_numpy()[2])
    for i in range(4):
        clear(i)
    show(count(x), x.to_numpy().sum())


@case()
def deactivate_all_empties(show):
    x, pixel, items = pixels()

    @ti.kernel
    def push():
        for i in range(4):
            for j in range(i * 3):
                ti.append(items, i, j)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    push()
    show([length(i) for i in range(4)])
    items.deactivate_all()
    show([length(i) for i in range(4)])
    push()
    show([length(i) for i in range(4)], count(x))
    pixel.deactivate_all()
    show([length(i) for i in range(4)])


@case()
def lists_below_pointers(show):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 8)
    items = block.dynamic(ti.j, 32, chunk_size=8)
    items.place(x)

    @ti.kernel
    def push():
        for i in range(3):
            for j in range(12):
                ti.append(items, i * 2, j * 0.5)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    @ti.kernel
    def drop(i: ti.i32):
        ti.deactivate(block, i)

    show([length(i) for i in range(8)])
    push()
    show([length(i) for i in range(8)], count(block), count(x))
    drop(2)
    show([length(i) for i in range(8)], count(block), count(x))
    push()
    show([length(i) for i in range(8)], x.to_numpy().sum(axis=1))


@case()
def lists_below_bitmasked(show):
    x = ti.field(ti.i32)
    block = ti.root.bitmasked(ti.i, 6)
    items = block.dynamic(ti.j, 16)
    items.place(x)

    @ti.kernel
    def push(i: ti.i32):
        ti.append(items, i, 4)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    push(3)
    push(3)
    push(5)
    show([length(i) for i in range(6)], count(block), count(x))


@case()
def lists_of_vectors_and_structs(show):
    particle = ti.types.struct(position=ti.math.vec3, mass=ti.f32, id=ti.i32)
    p = particle.field()
    items = ti.root.dynamic(ti.i, 1024, chunk_size=32)
    items.place(p)
    v = ti.Vector.field(2, ti.i32)
    more = ti.root.dynamic(ti.i, 64, chunk_size=8)
    more.place(v)

    @ti.kernel
    def push():
        for i in range(100):
            p.append(particle(ti.math.vec3(i), i * 2.0, i))
        for i in range(3):
            ti.append(more, [], ti.Vector([i, i + 1]))

    @ti.kernel
    def sums() -> ti.types.vector(3, ti.f32):
        s = ti.math.vec3(0)
        for i in p:
            s += ti.math.vec3(p[i].position.x, p[i].mass, p[i].id)
        return s

    @ti.kernel
    def lengths() -> ti.types.vector(2, ti.i32):
        return ti.Vector([p.length(), ti.length(more, [])])

    push()
    show(sums(), lengths(), v.to_numpy()[:4].sum())


@case()
def struct_append_through_the_field(show):
    triangle = ti.types.struct(a=ti.math.vec2, b=ti.i32)
    t = triangle.field()
    ti.root.dense(ti.i, 3).dynamic(ti.j, 10, chunk_size=5).place(t)

    @ti.kernel
    def push(i: ti.i32, n: ti.i32):
        ti.loop_config(serialize=True)
        for k in range(n):
            t[i].append(triangle(ti.math.vec2(k, k * 2), i))

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return t[i].length()

    push(1, 7)
    push(2, 2)
    show([length(i) for i in range(3)], t[1, 6].a, t[2, 1].b, t[0, 0].b)

    @ti.kernel
    def clear(i: ti.i32):
        t[i].deactivate()

    clear(1)
    show([length(i) for i in range(3)], t[1, 6].a)


@case()
def method_forms(show):
    x = ti.field(ti.i32)
    items = ti.root.dense(ti.i, 3).dynamic(ti.j, 10, chunk_size=5)
    items.place(x)

    @ti.kernel
    def push(i: ti.i32, n: ti.i32):
        ti.loop_config(serialize=True)
        for k in range(n):
            x[i].append(k)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return x[i].length()

    @ti.kernel
    def clear(i: ti.i32):
        x[i].deactivate()

    push(0, 4)
    push(2, 7)
    show([length(i) for i in range(3)])
    clear(2)
    show([length(i) for i in range(3)], x.to_numpy())


@case()
def lists_of_zero_indices(show):
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 12, chunk_size=4)
    items.place(x)

    @ti.kernel
    def push(v: ti.i32):
        x.append(v)

    @ti.kernel
    def length() -> ti.i32:
        return x.length()

    @ti.kernel
    def clear():
        x.deactivate()

    for v in (3, 1, 4, 1, 5):
        push(v)
    show(length(), x.to_numpy())
    clear()
    show(length(), x.to_numpy())


@case()
def append_in_a_loop_over_another_list(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    a = ti.root.dynamic(ti.i, 64, chunk_size=4)
    b = ti.root.dynamic(ti.i, 64, chunk_size=4)
    a.place(x)
    b.place(y)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            ti.append(a, [], i)

    @ti.kernel
    def filter():
        for i in x:
            if x[i] % 3 == 0:
                ti.append(b, [], x[i])

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(b, [])

    fill(30)
    filter()
    show(length(), sorted(y.to_numpy()[: length()].tolist()))


@case()
def several_fields_of_one_list(show):
    x, y = ti.field(ti.i32), ti.field(ti.f64)
    items = ti.root.dynamic(ti.i, 16, chunk_size=4)
    items.place(x, y)

    @ti.kernel
    def write():
        for k in range(5):
            x[k] = k
            y[k] = k * 0.5

    @ti.kernel
    def sums() -> ti.f64:
        s = ti.cast(0, ti.f64)
        for k in y:
            s += x[k] + y[k]
        return s

    write()
    show(sums(), count(x), x.to_numpy(), y.to_numpy())


@case()
def atomics_on_lists(show):
    x, pixel, items = pixels()

    @ti.kernel
    def k():
        for i in range(2000):
            x[i % 4, i % 5] += 1

    k()
    show(x.to_numpy(), count(x))


@case()
def appends_of_other_types(show):
    x, pixel, items = pixels(dtype=ti.f32)
    y = ti.field(ti.u8)
    more = ti.root.dynamic(ti.i, 8)
    more.place(y)

    @ti.kernel
    def k():
        ti.append(items, 0, 3)
        ti.append(items, 0, 0.25)
        ti.append(more, [], 200)

    k()
    show(x.to_numpy()[0], y.to_numpy())


@case(differs="`append` to a full list")
def append_to_a_full_list(show):
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 4, chunk_size=2)
    items.place(x)

    @ti.kernel
    def push(v: ti.i32) -> ti.i32:
        return ti.append(items, [], v)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(items, [])

    show([push(v) for v in range(3, 7)], length(), x.to_numpy())
    show(push(9), length(), count(x), x.to_numpy())
