"""Operations of cooperating GPU threads, used on the CPU."""

from harness import case, ti


@case()
def fences_and_shared_arrays(show):
    @ti.kernel
    def k() -> ti.i32:
        shared = ti.simt.block.SharedArray(4, ti.i32)
        shared[1] = 5
        ti.simt.grid.memfence()
        return shared[1] + 2

    show(k())


@case(differs="operations of GPU threads, on the CPU")
def operations_without_a_gpu(show):
    @ti.kernel
    def barrier():
        ti.simt.block.sync()

    @ti.kernel
    def ballot() -> ti.i32:
        return ti.simt.warp.ballot(1)

    show.error(barrier)
    show.error(ballot)


@case(differs="operations of GPU threads, on the CPU")
def shared_arrays_of_any_shape(show):
    mat = ti.types.matrix(2, 2, ti.f32)

    @ti.func
    def moved(pad, i):
        pad[i, 1] *= 2
        return pad[i, 1] @ pad[i, 0]

    @ti.kernel
    def k() -> ti.i32:
        deep = ti.simt.block.SharedArray((2, 3, 4), ti.i32)
        pairs = ti.simt.block.SharedArray(3, ti.math.vec2)
        squares = ti.simt.block.SharedArray((2, 2), mat)
        for i, j, k in ti.ndrange(2, 3, 4):
            deep[i, j, k] = 100 * i + 10 * j + k
        deep[ti.Vector([1, 2, 3])] += 1000
        for i in range(3):
            pairs[i].y = i
            pairs[i] += 5
            pairs[i][0] -= 1
        squares[1, 0] = mat(1, 2, 3, 4)
        squares[1, 1] = squares[1, 0] + 1
        print(deep[1, 2, 3], deep[0, 1, 2], pairs[0], pairs[2].yx, squares[0, 1])
        print(moved(squares, 1), squares[1, 1][1, 0])
        return deep[1, 2, 2]

    show(k())


@case(differs="operations of GPU threads, on the CPU")
def mistakes_with_shared_arrays(show):
    @ti.kernel
    def shape(n: ti.i32):
        for _ in range(1):
            shared = ti.simt.block.SharedArray(n, ti.f32)
            shared[0] = 1.0

    @ti.kernel
    def few():
        for _ in range(1):
            shared = ti.simt.block.SharedArray((2, 2), ti.math.vec2)
            shared[0] = 1.0

    @ti.kernel
    def beyond():
        for _ in range(1):
            shared = ti.simt.block.SharedArray((2, 2, 2), ti.f32)
            shared[0, 2, 0] = 1.0

    show.error(shape, 3)
    show.error(few)
    show.error(beyond)
    show.error(ti.simt.block.SharedArray, 4, ti.f32)
