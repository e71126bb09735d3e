"""Sparse matrix builders in kernels, and the matrices and solvers made from them."""

from harness import case, ti


def builder(n=4, **options):
    return ti.linalg.SparseMatrixBuilder(n, n, max_num_triplets=64, **options)


@case()
def triplets_add_up(show):
    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), n: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(n):
            A[i, i] += 2.5
            A[i, (i + 1) % n] -= i
            A[i, i] += 1

    for dtype in (ti.f32, ti.f64):
        A = builder(dtype=dtype)
        fill(A, 4)
        A.print_triplets()
        print(A.build())
        print(A.build())


@case()
def functions_fill_builders(show):
    @ti.func
    def stamp(A: ti.template(), i, k):
        A[i, i] += k
        A[i, i + 1] -= k

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), B: ti.types.sparse_matrix_builder()):
        for i in range(3):
            stamp(A, i, 2.0)
            B[i, 0] += i

    A, B = builder(), builder()
    fill(A, B)
    print(A.build() @ B.build())


@case()
def arithmetic_of_matrices(show):
    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder()):
        for i, j in ti.ndrange(3, 3):
            if i >= j:
                A[i, j] += i + 10 * j + 1

    K = builder(3)
    fill(K)
    A = K.build()
    for matrix in (A + A, A - A.transpose(), A * A, 0.5 * A, A @ A.transpose()):
        print(matrix)
    show(A.shape, A[2, 1], A[0, 2])
    x = ti.field(ti.f32, 3)
    x.fill(2.0)
    show(A @ x)
    show.error(lambda: A @ [1, 2, 3])
    show.error(lambda: A @ ti.linalg.SparseMatrix(2, 2))


@case()
def solvers(show):
    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), b: ti.template()):
        for i in range(6):
            A[i, i] += 4.0
            if i > 0:
                A[i, i - 1] -= 1.0
                A[i - 1, i] -= 1.0
            b[i] = i

    K, b = builder(6, dtype=ti.f64), ti.field(ti.f64, 6)
    fill(K, b)
    A = K.build()
    for kind in ("LLT", "LDLT", "LU"):
        solver = ti.linalg.SparseSolver(dtype=ti.f64, solver_type=kind)
        show.error(solver.solve, b)
        solver.analyze_pattern(A)
        solver.factorize(A)
        show(solver.info(), (solver.solve(b) * 1e6).round())
    show.error(ti.linalg.SparseSolver, ti.f32, "QR")


@case(differs="misused sparse matrix builders")
def what_builders_refuse(show):
    @ti.kernel
    def product(A: ti.types.sparse_matrix_builder()):
        A[0, 0] *= 2.0

    @ti.kernel
    def one_index(A: ti.types.sparse_matrix_builder()):
        A[0] += 2.0

    @ti.kernel
    def index_type(A: ti.types.sparse_matrix_builder()):
        A[0, 1.5] += 2.0

    @ti.kernel
    def read(A: ti.types.sparse_matrix_builder()) -> ti.f32:
        return A[0, 0]

    @ti.kernel
    def vector(A: ti.types.sparse_matrix_builder()):
        A[0, 0] += ti.Vector([1.0, 2.0])

    @ti.kernel
    def nothing(A: ti.types.sparse_matrix_builder()):
        pass

    for kernel in (product, one_index, index_type, read, vector):
        show.error(kernel, builder())
    show.error(nothing, 3)


@case()
def builders_cannot_be_assigned(show):
    @ti.kernel
    def assign(A: ti.types.sparse_matrix_builder()):
        A[0, 0] = 2.0

    show.error(assign, builder())
