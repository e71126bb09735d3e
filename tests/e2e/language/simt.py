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
def shared_arrays_are_small_and_of_scalars(show):
    @ti.kernel
    def shape():
        shared = ti.simt.block.SharedArray((2, 2, 2), ti.f32)
        shared[0, 0, 0] = 1.0

    @ti.kernel
    def element():
        shared = ti.simt.block.SharedArray(2, ti.math.vec2)
        shared[0] = 1.0

    show.error(shape)
    show.error(element)
    show.error(ti.simt.block.SharedArray, 4, ti.f32)
