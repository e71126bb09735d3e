"""Calls of kernels: signatures, conversions, instances, results, prints, threads, fork."""

import os
import threading

import numpy as np
import pytest


def make_kernels(ti):
    @ti.kernel
    def identity(a: ti.i32) -> ti.i32:
        return a

    @ti.kernel
    def narrow(a: ti.u8) -> ti.i32:
        return a

    @ti.kernel
    def real(a: ti.f32) -> ti.f32:
        return a

    return identity, narrow, real


def test_scalar_arguments_convert_as_the_reference(ti):
    identity, narrow, real = make_kernels(ti)
    assert identity(7) == 7 and identity(True) == 1 and identity(np.int64(-3)) == -3
    assert real(0.1) == np.float32(0.1) and real(3) == 3.0 and real(np.float64(2.5)) == 2.5
    assert narrow(255) == 255
    for value in (1.5, np.float32(2.5), "a", None, [1]):
        with pytest.raises(TypeError, match="cannot be converted into required type i32"):
            identity(value)
    for kernel, value in ((identity, 2**31), (identity, -(2**31) - 1), (narrow, -1), (narrow, 256)):
        with pytest.raises(TypeError, match="out of range for 'a : "):
            kernel(value)
    with pytest.raises(TypeError, match="required type f32"):
        real("1")


@pytest.mark.parametrize("name", "u1 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split())
def test_every_scalar_type_round_trips(ti, name):
    dtype = getattr(ti, name)

    @ti.kernel
    def same(a: dtype) -> dtype:
        return a

    values = [0, 1] if name == "u1" else [0, 1, 100, dtype.max() if name[0] in "iu" else -2.5]
    assert [same(v) for v in values] == values
    assert type(same(1)) is (float if name[0] == "f" else int)


def test_wrong_numbers_of_arguments(ti):
    identity, _, _ = make_kernels(ti)
    assert identity(a=3) == 3
    for call, message in (
        (lambda: identity(), "Parameter `a : i32` missing"),
        (lambda: identity(1, 2), r"Too many arguments. Expected \(a : i32\), got \(1, 2\)"),
        (lambda: identity(b=1), "Unexpected argument 'b'"),
        (lambda: identity(1, a=2), "Multiple values for argument 'a'"),
    ):
        with pytest.raises(SyntaxError, match=message):
            call()


def test_bad_declarations(ti):
    with pytest.raises(SyntaxError, match="must be type annotated"):
        ti.kernel(lambda a: a)
    with pytest.raises(SyntaxError, match="default values"):

        @ti.kernel
        def with_default(a: ti.i32 = 3):
            pass

    with pytest.raises(SyntaxError, match="Invalid type annotation"):

        @ti.kernel
        def odd(a: 3):
            pass


def test_matrix_arguments_and_results(ti):
    @ti.kernel
    def scale(v: ti.math.vec3, s: ti.f32) -> ti.math.vec3:
        return v * s

    @ti.kernel
    def corner(m: ti.types.matrix(2, 2, ti.i32)) -> ti.i32:
        return m[1, 0]

    for value in ([1, 2, 3], (1.0, 2, 3), np.array([1, 2, 3]), ti.Vector([1, 2, 3])):
        result = scale(value, 2)
        assert isinstance(result, ti.Vector) and result.to_list() == [2, 4, 6]
    assert corner([[1, 2], [3, 4]]) == 3 and corner(np.array([[1, 2], [5, 4]])) == 5
    for bad in (1, [1, 2], ["a", 2, 3]):
        with pytest.raises(TypeError):
            scale(bad, 1)


def test_results(ti):
    @ti.kernel
    def several() -> (ti.i32, ti.f32):
        return 1, 2.5

    @ti.kernel
    def flag(a: ti.i32) -> bool:
        return a > 3

    assert several() == [1, 2.5]
    assert flag(4) == 1 and type(flag(4)) is int


def test_template_arguments_make_instances(ti):
    @ti.kernel
    def add(a: ti.template(), b: ti.i32) -> ti.i32:
        return a + b

    assert [add(1, 1), add(2, 1), add(1, 5)] == [2, 3, 6]
    assert add.num_instances == 2
    for bad in ([1], {}, np.zeros(3)):
        with pytest.raises(TypeError):
            add(bad, 1)


def test_numbers_of_other_types_and_signs_make_instances(ti):
    @ti.kernel
    def halved(a: ti.template()) -> ti.f32:
        return 7 // 2 * ti.static(a[0] if isinstance(a, tuple) else a)

    @ti.kernel
    def kind(a: ti.template()) -> ti.i32:
        return ti.static(["int", "float", "bool"].index(type(a).__name__))

    @ti.kernel
    def sign(a: ti.template(), b: ti.template()) -> ti.f32:
        return ti.atan2(a, -1.0) + 0 * ti.static(len(b))

    for order in ((1, 1.0, True), (True, 1, 1.0)):
        assert [kind(a) for a in order] == [(int, float, bool).index(type(a)) for a in order]
    assert kind.num_instances == 3
    assert [halved(a) for a in (2.5, (2.5,), 2, (2,))] == [7.5, 7.5, 6, 6]
    for _ in range(2):
        assert sign(0.0, ()) > 3 > -3 > sign(-0.0, ())
        assert sign(np.float32(0), ()) > 3 > -3 > sign(np.float32(-0.0), ())
        assert sign(0.0, ((1, 2), ("a",))) == sign(0.0, ((1.0, 2), ("a",)))
    assert sign.num_instances == 6
    nan = float("nan")
    for value in (nan, -nan, float("nan"), 1 << 80, 1 << 80, b"ab", b"ab", "ab", "".join("ab")):
        sign(0.0, (value,))
    assert sign.num_instances == 11


def test_same_field_twice(ti):
    x, y = ti.field(ti.i32, 4), ti.field(ti.i32, 4)

    @ti.kernel
    def add(a: ti.template(), b: ti.template()):
        for i in a:
            a[i] = b[i] + 1
            b[i] = b[i] + a[i]

    add(x, y)
    assert (x.to_numpy().tolist(), y.to_numpy().tolist()) == ([1] * 4, [1] * 4)
    add(x, x)
    assert x.to_numpy().tolist() == [4] * 4
    assert add.num_instances == 2


def test_globals_freeze_per_instance(ti):
    scope = {"ti": ti, "G": 1, "__name__": __name__}

    @ti.kernel
    def k(a: ti.template()) -> ti.i32:
        return a * 0 + FROZEN

    global FROZEN
    FROZEN = 1
    assert k(1) == 1
    FROZEN = 5
    assert (k(1), k(2)) == (1, 5)
    assert scope


def test_methods_bind_their_objects(ti):
    @ti.data_oriented
    class Solver:
        def __init__(self, n):
            self.n = n
            self.a, self.b = ti.field(ti.i32, n), ti.field(ti.i32, n)

        @ti.kernel
        def step(self, d: ti.i32):
            for i in range(self.n):
                self.a[i] += d

        @classmethod
        @ti.kernel
        def three(cls) -> ti.i32:
            return 3

        @staticmethod
        @ti.kernel
        def double(v: ti.i32) -> ti.i32:
            return v * 2

    s, t = Solver(2), Solver(3)
    first = s.a
    s.step(1)
    t.step(5)
    s.a, s.b = s.b, s.a
    s.step(d=1)  # still uses the bound field
    assert first.to_numpy().tolist() == [2, 2] and t.a.to_numpy().tolist() == [5] * 3
    assert Solver.three() == 3 and s.double(4) == Solver.double(4) == 8
    assert Solver.step.num_instances == 2
    del s, first
    Solver(1).step(1)  # making an instance drops the instances of freed objects
    assert Solver.step.num_instances == 2


def test_kernels_before_init_and_after_reset(run_python):
    program = """
import kiln as ti
@ti.kernel
def half(a: float) -> float:
    return a / 2
try:
    half(1)
except RuntimeError as error:
    print(error)
ti.init(ti.cpu)
print(half(1), half.num_instances)
ti.init(ti.cpu, default_fp=ti.f64)
print(half.num_instances, half(0.2))
"""
    assert run_python(program).splitlines() == [
        "Cannot run kernel 'half', maybe you forgot to call `ti.init()` first?",
        "0.5 1",
        "0 0.1",
    ]


def test_stale_fields_in_kernels(ti):
    x = ti.field(ti.i32, 2, name="gone")

    @ti.kernel
    def k():
        x[0] = 1

    k()
    ti.init(ti.cpu)
    with pytest.raises(Exception, match="(?s)line .*in k:.*field 'gone' .*is gone"):
        k()


def test_prints_keep_their_order(run_python):
    program = """
import kiln as ti
ti.init(ti.cpu)
@ti.kernel
def show(a: ti.i32, b: ti.f32, c: ti.f64, d: ti.u1):
    print(a, b, c, d, ti.Vector([a, 2]), sep='|')
    print(f"{a:05d} {b:.2f}", end='!\\n')
print("before")
show(1, 2.5, 3, True)
print("after")
"""
    assert run_python(program).splitlines() == [
        "before",
        "1|2.500000|3.000000000000|1|[1, 2]",
        "00001 2.50!",
        "after",
    ]


def test_failed_asserts_raise(ti):
    ti.init(ti.cpu, debug=True)

    @ti.kernel
    def check(a: ti.i32):
        assert a < 3, f"bad {a} of {2}"

    check(2)
    with pytest.raises(AssertionError, match=r"(?s)bad 5 of 2.*kernel_call_test.py.*in check"):
        check(5)
    check(1)


def test_many_arguments_and_read_only_state(ti):
    names = [f"a{i}" for i in range(64)]
    scope = {"ti": ti}
    arguments = ", ".join(f"{n}: ti.i32" for n in names)
    import linecache

    text = f"@ti.kernel\ndef total({arguments}) -> ti.i32:\n    return {' + '.join(names)}\n"
    linecache.cache["<many>"] = (len(text), None, text.splitlines(True), "<many>")
    exec(compile(text, "<many>", "exec"), scope)
    assert scope["total"](*range(64)) == sum(range(64))


def test_threads_race_on_the_first_call(ti):
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def bump(d: ti.i32):
        for i in x:
            x[i] += d

    barrier, failures = threading.Barrier(4), []

    def run():
        try:
            barrier.wait()
            for _ in range(50):
                bump(1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures and bump.num_instances == 1
    assert x.to_numpy().tolist() == [200] * 64


def test_fork(ti):
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def bump():
        for i in x:
            x[i] += 1

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    bump()
    pid = os.fork()
    if pid == 0:
        try:
            bump()  # known
            status = total() != 2000  # new: compiled or fetched by the child
        except BaseException:
            status = 3
        os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert total() == 1000  # the child's memory is its own


def digests(run_python, name, **environment):
    program = """
import kiln as ti
from kiln import instance as making
made = []
original = making._compile
def record(kernel, *rest):
    instance, recorded = original(kernel, *rest)
    made.append((kernel.__name__, instance.digest))
    return instance, recorded
making._compile = record
ti.init(ti.cpu)
spare = ti.field(ti.f64, 3)
x, y = ti.field(ti.f32, 8), ti.field(ti.f32, 8)
@ti.kernel
def axpy(a: ti.f32):
    for i in x:
        y[i] += a * x[i] + ti.random()
@ti.kernel
def two(a: ti.template(), b: ti.template()):
    for i in a:
        a[i] += b[i]
axpy(2)
two(x, y)
two(x, x)
print(made)
"""
    return eval(run_python(program, name, **environment))


def test_keys_are_equal_across_processes_paths_and_threads(run_python):
    first = digests(run_python, "a.py")
    # Through the front end, because a warm record yields the artifact without making a key.
    environment = {"TI_CPU_MAX_NUM_THREADS": "1", "TI_RANDOM_SEED": "7", "KILN_WARM": "off"}
    second = digests(run_python, "elsewhere/b.py", **environment)
    assert first == second
    assert len({digest for _, digest in first}) == 3  # two(x, y) and two(x, x) differ


def test_failures_in_functions_show_the_calls(ti):
    ti.init(ti.cpu, debug=True)

    @ti.func
    def positive(v):
        assert v > 0, "not positive"
        return v

    @ti.kernel
    def check(a: ti.i32) -> ti.i32:
        return positive(a)

    with pytest.raises(AssertionError) as caught:
        check(-1)
    text = str(caught.value)
    assert text.count("in check:") == 1 and text.count("in positive:") == 1
    assert text.index("in check:") < text.index("in positive:") and "not positive" in text


def test_out_of_bounds_names_index_and_shape(ti):
    ti.init(ti.cpu, debug=True)
    x = ti.field(ti.i32, (4, 5))

    @ti.kernel
    def write(i: ti.i32, j: ti.i32):
        x[i, j] = 1

    write(3, 4)
    for index in ((4, 0), (0, -1)):
        with pytest.raises(AssertionError, match=r"(?s)index \(.*shape \(4, 5\).*in write:"):
            write(*index)


def test_component_fields_share_memory(ti):
    v = ti.Vector.field(3, ti.f32, shape=8)
    y = v.get_scalar_field(1)

    @ti.kernel
    def step():
        for i in v:
            y[i] = y[i] + 1
            v[i] = v[i] * 2
            y[i] = y[i] + v[i][1]

    step()
    assert v.to_numpy().tolist() == [[0, 4, 0]] * 8


def test_ir_is_shown_even_for_cached_kernels(run_python):
    program = """
import kiln as ti
ti.init(ti.cpu, print_ir=True)
@ti.kernel
def twice(a: ti.i32) -> ti.i32:
    return a * 2
print(twice(2))
"""
    for _ in range(2):
        shown = run_python(program)
        assert "arith.muli" in shown and "twice" in shown and shown.endswith("\n4\n")


def test_profiler_counts_launches(ti):
    ti.init(ti.cpu, kernel_profiler=True)
    ti.profiler.clear_kernel_profiler_info()

    @ti.kernel
    def work():
        pass

    for _ in range(5):
        work()
    assert ti.profiler.query_kernel_profiler_info("work").counter == 5


def test_kernels_of_dead_objects_are_freed(ti):
    import gc
    import weakref

    @ti.data_oriented
    class Tool:
        @ti.kernel
        def run(self) -> ti.i32:
            return 1

    tool = Tool()
    assert tool.run() == 1
    alive = weakref.ref(tool)
    del tool
    gc.collect()
    assert alive() is None


def test_struct_arguments_and_results(ti):
    inner = ti.types.struct(v=ti.math.vec2, n=ti.i32)
    outer = ti.types.struct(a=ti.f64, part=inner)

    @ti.kernel
    def double(s: outer) -> outer:
        return outer(a=s.a * 2, part=inner(v=s.part.v * 2, n=s.part.n + 1))

    result = double(outer(a=1.5, part=inner(v=[1, 2], n=7)))
    assert (result.a, result.part.n) == (3.0, 8) and result.part.v.to_list() == [2, 4]
    for bad in (1, [1, 2], ti.Struct(a=1)):
        with pytest.raises(TypeError, match="cannot be converted into required type"):
            double(bad)
