"""All 1,020 swizzles, read and written, in both scopes."""

from itertools import product

from harness import case, ti

GROUPS = ("xyzw", "rgba", "stpq")


def _names(group, lengths=(1, 2, 3, 4)):
    for length in lengths:
        for word in product(group, repeat=length):
            yield "".join(word)


def _checksum(values):
    total = 0
    for value in values:
        total = (total * 31 + int(value)) % 1000003
    return total


@case()
def there_are_1020(show):
    v = ti.math.vec4(1, 2, 3, 4)
    names = [name for group in GROUPS for name in _names(group)]
    show(len(names), len(set(names) & set(dir(ti.Matrix))), len(set(names) & set(dir(v))))


def _read_in_python(show, group):
    v = ti.Vector([1, 2, 3, 4])
    values = []
    for name in _names(group):
        part = getattr(v, name)
        values += [part] if len(name) == 1 else list(part)
    show(len(values), _checksum(values))


def _write_in_python(show, group):
    values = []
    for name in _names(group, (2, 3, 4)):
        v = ti.Vector([0, 0, 0, 0])
        setattr(v, name, ti.Vector(list(range(1, len(name) + 1))))
        values += list(v)
    show(_checksum(values))


def _weighed(v, name):
    value = getattr(v, name)
    if len(name) == 1:
        return value
    return sum([value[i] * (i + 2) for i in range(len(name))], 0)


def _read_in_a_kernel(show, group):
    # Kernels of moderate size: each reads the swizzles that begin with one letter.
    for letter in group:
        names = [name for name in _names(group) if name[0] == letter]

        @ti.kernel
        def k(x: ti.i32) -> ti.i32:
            v = ti.Vector([x, 2, 3, 4])
            total = 0
            for i in ti.static(range(len(names))):
                total += ti.static(_weighed(v, names[i])) * (i % 7 + 1)
            return total

        show(k(1))


for _group in GROUPS:
    for _function in (_read_in_python, _write_in_python, _read_in_a_kernel):

        def _one(show, function=_function, group=_group):
            function(show, group)

        _one.__name__ = f"{_function.__name__[1:]}_{_group}"
        case()(_one)


@case()
def written_in_a_kernel(show):
    @ti.kernel
    def k():
        v = ti.Vector([0, 0, 0, 0])
        v.x = 1
        v.wz = [2, 3]
        print(v)
        v.yxw = ti.Vector([7, 8, 9])
        print(v)
        v.xyzw = v.wzyx
        print(v)
        v.rg = v.gr
        v.stp += 10
        v.q *= 2
        print(v)
        v.xy -= [1, 2]
        v.zw = v.xy * 2
        print(v, v.xxxx, v.bgr, v.ts, v.w)

    k()


@case()
def written_to_fields(show):
    x = ti.Vector.field(4, ti.f32, 2)

    @ti.kernel
    def k():
        x[0].xy = [1, 2]
        x[0].wz = x[0].xy
        x[1].rgb = x[0].xyz + 1
        x[1].a += 5
        x[1].rg += [0.5, 0.25]

    k()
    show(x)
    x[0].zyx = [5, 6, 7]
    x[0].w = 9
    show(x[0], x[0].wx, x[0].rgba)


@case()
def wrong_lengths_in_python(show):
    v = ti.Vector([1, 2, 3])

    def long():
        v.xy = [1, 2, 3]

    def missing():
        v.w = 1

    show.error(long)
    show.error(missing)
    show.error(lambda: v.w)
    show.error(lambda: v.xw)


@case()
def mixed_groups_in_python(show):
    v = ti.Vector([1, 2, 3])
    show.error(lambda: v.xg)
    show.error(lambda: v.xyzxy)


@case()
def wrong_names_in_kernels(show):
    @ti.kernel
    def missing() -> ti.i32:
        v = ti.Vector([1, 2])
        return v.z

    @ti.kernel
    def missing_pair() -> ti.i32:
        v = ti.Vector([1, 2])
        return v.xz.sum()

    @ti.kernel
    def mixed() -> ti.i32:
        v = ti.Vector([1, 2])
        return v.xg.sum()

    @ti.kernel
    def long():
        v = ti.Vector([1, 2, 3])
        v.xy = [1, 2, 3]

    @ti.kernel
    def matrix() -> ti.i32:
        m = ti.Matrix([[1, 2], [3, 4]])
        return m.x

    for kernel in (missing, missing_pair, mixed, long, matrix):
        show.error(kernel)
