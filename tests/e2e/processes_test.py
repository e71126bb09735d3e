"""Programs with several threads and processes, interrupts and exits; each runs in its own
process."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

THREADS = """
import threading
import numpy as np
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.i32, 1000)
kernels = []
for n in range(8):
    @ti.kernel
    def k(a: ti.types.ndarray(), n: ti.template()) -> ti.i32:
        s = 0
        for i in a:
            s += a[i] + n
        return s
    kernels.append(k)

failed = []
def work(t):
    try:
        array = np.full(1000, t, np.int32)
        for r in range(20):
            for n, k in enumerate(kernels):
                if k(array, n) != 1000 * (t + n):
                    failed.append((t, n))
            x[t] = r
            x.to_numpy()
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=work, args=(t,)) for t in range(6)]
for t in threads: t.start()
for t in threads: t.join()
ti.sync()
print("failed", failed)
"""

PROCESSES = """
import multiprocessing
import sys
import kiln as ti

@ti.kernel
def double(x: ti.i32) -> ti.i32:
    return x * 2

def work(n):
    return double(n)

if __name__ == "__main__":
    how = sys.argv[1]
    if how == "fork":
        ti.init(arch=ti.cpu)
        double(1)
    with multiprocessing.get_context(how).Pool(2, ti.init) as pool:
        print(pool.map(work, range(8)))
"""

# Prints the process that imports it, and makes children by every start method of Python.
CHILDREN = """
import concurrent.futures
import multiprocessing
import subprocess
import sys
import IMPORTED as ti
import IMPORTED.math

@ti.kernel
def double(x: ti.i32) -> ti.i32:
    return x * 2

def work(n):
    ti.init(arch=ti.cpu)
    return double(n)

def put(queue, n):
    queue.put(work(n))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2, ti.init) as pool:
        print(pool.map(work, range(4)), pool.map(double, range(4)))
    queue = context.Queue()
    process = context.Process(target=put, args=(queue, 21))
    process.start()
    print(queue.get(timeout=60))
    process.join()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(list(executor.map(work, range(2))), flush=True)
    code = "import IMPORTED as ti, IMPORTED.math; print(ti.__name__, IMPORTED.math.__name__)"
    subprocess.run([sys.executable, "-c", code], check=True)
else:
    assert __name__ in ("__mp_main__", "PACKAGE.app"), __name__
"""

# Forks 20 times while four threads run their first kernels. The number makes the kernels new.
FORKS = """
import os, sys, threading, time
import kiln as ti

ti.init(arch=ti.cpu)
number = int(sys.argv[1])
x = ti.field(ti.f32, 100)

def make(n):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        s = 0
        for i in range(10):
            s += a + ti.static(n)
        for i in x:
            x[i] = ti.math.fract(x[i]) + n
        return s
    return k

def outcome(status):
    return "hangs" if status is None else os.waitstatus_to_exitcode(status)

kernels = [make(4 * number + n) for n in range(4)]
start = threading.Barrier(5)
def first(kernel):
    start.wait()
    kernel(1)
for kernel in kernels:
    threading.Thread(target=first, args=(kernel,), daemon=True).start()
start.wait()
children = {}
for i in range(20):
    child = os.fork()
    if child == 0:
        try:
            found = [kernel(i) for kernel in kernels]
            os._exit(0 if found == [10 * (i + 4 * number + n) for n in range(4)] else 3)
        finally:
            os._exit(4)
    children[child] = None
    time.sleep(0.002 * (number % 4))
end = time.monotonic() + 60
while None in children.values() and time.monotonic() < end:
    time.sleep(0.01)
    for child in [c for c, status in children.items() if status is None]:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            children[child] = status
for child in [c for c, status in children.items() if status is None]:
    os.kill(child, 9)
print(sorted(map(str, map(outcome, children.values()))), flush=True)
os._exit(0)
"""

INTERRUPTED = """
import signal
import kiln as ti

# Shells start jobs in the background with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

ti.init(arch=ti.cpu, offline_cache=False)

@ti.kernel
def slow(n: ti.template()) -> ti.f64:
    s = 0.0
    for i in ti.static(range(20000)):
        s = s * 1.0001 + n * i
    return s

@ti.kernel
def quick() -> ti.i32:
    return 5

print("ready", flush=True)
try:
    while True:
        for n in range(1000):
            slow(n)
except KeyboardInterrupt:
    print("interrupted", quick())
"""

AT_EXIT = """
import atexit
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.i32, 4)

@ti.kernel
def fill(n: ti.i32):
    for i in x:
        x[i] = n

fill(1)

@atexit.register
def last():
    fill(7)
    print(x.to_numpy().tolist())

class Late:
    def __del__(self):
        print("late", x[0])

late = Late()
"""

# Kernels that end immediately if go[0] is 8, and otherwise take hours or never end.
ENDLESS = """
import os, signal, sys, threading
import kiln as ti

# Shells start jobs in the background with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

ti.init(arch=ti.cpu)
x = ti.field(ti.i32, 8)
go = ti.field(ti.i32, 1)
cell = ti.field(ti.i32)
ti.root.pointer(ti.i, 64).dense(ti.i, 64).place(cell)

@ti.func
def work(i):
    for j in range(1000):
        x[i % 8] += ti.sin(float(j)) > 2

@ti.kernel
def parallel():
    for i in range(go[0]):
        work(i)

@ti.kernel
def parallel_with_few_iterations():
    for i in range(2):
        for j, k in ti.ndrange(go[0], 1000):
            x[i] ^= j * k

@ti.kernel
def parallel_in_two_dimensions():
    for i, j in ti.ndrange(go[0], go[0]):
        x[i % 8] = j

@ti.kernel
def parallel_without_bounds():
    for i in range(4):
        while go[0] > 9:
            x[i] += 1

@ti.kernel
def reduction() -> ti.f32:
    s = 0.0
    for i, j in ti.ndrange(go[0], go[0]):
        s += ti.sin(float(i * j))
    return s

@ti.kernel
def histogram():
    for i, j in ti.ndrange(go[0], go[0]):
        x[(i * j) % 8] += 1

@ti.kernel
def over_cells():
    for i in cell:
        for j in range(go[0]):
            for k in range(1000):
                cell[i] += j ^ k * go[0]

@ti.kernel
def one_thread():
    ti.loop_config(parallelize=1)
    for i, j in ti.ndrange(go[0], go[0]):
        x[j % 8] ^= i

@ti.kernel
def in_order():
    ti.loop_config(serialize=True)
    for i in range(go[0]):
        work(i)

@ti.kernel
def in_order_and_nested() -> ti.f32:
    s = 0.0
    ti.loop_config(serialize=True)
    for i in range(4):
        for j in range(go[0]):
            for k in range(1000):
                s = ti.sin(s + x[k % 8])
    return s

@ti.kernel
def without_end():
    while go[0] > 9:
        x[1] += 1

@ti.kernel
def with_prints():
    while go[0] > 9:
        x[1] += 1
        if x[1] < 0 and go[0] < 0:
            print(x[1])

@ti.kernel
def with_asserts():
    for i, j in ti.ndrange(go[0], go[0]):
        assert go[0] > 0, "never"
        x[i % 8] = j

@ti.real_func
def wait(n: ti.i32) -> ti.i32:
    while go[0] > 9:
        x[n] += 1
    return 3

@ti.kernel
def in_a_function() -> ti.i32:
    r = wait(1)
    x[r] = 1
    return r

@ti.kernel
def total(n: ti.i32) -> ti.i64:
    s = ti.i64(0)
    for i in range(n):
        s += i
    return s

@ti.kernel
def activate():
    for i in range(64):
        cell[i * 64] = 1

activate()
"""

# A signal ends the first call of each of 60 instances, which the program's argument makes new.
RAISING_HANDLERS = """
import signal
import sys
import time
import kiln as ti

class Alarm(RAISED):
    pass

def ring(number, frame):
    raise Alarm

@ti.kernel
def k(a: ti.template()) -> ti.i64:
    s = ti.i64(1)
    for n in ti.static(range(30)):
        s += ti.sin(ti.f32(s)) > a + n
    return s * 0 + 6

ti.init(arch=ti.cpu)
signal.signal(signal.SIGALRM, ring)
raised = set()
numbers = [int(sys.argv[1]) % 1000000007 + n for n in range(60)]
for wait, n in enumerate(numbers):
    signal.setitimer(signal.ITIMER_REAL, 0.002 + wait / 4000)
    try:
        k(n)
        time.sleep(1)  # unlike signal.pause(), ends if the signal came just before it
    except BaseException as error:
        raised.add(type(error).__name__)
print({k(n) for n in numbers}, raised)
"""

# Signals arrive while the front end runs code of the program.
HANDLERS_DURING_TRANSFORMATION = """
import functools
import os
import signal
import kiln as ti

class Watch:
    def ring(self, number, frame):
        raise TimeoutError(number)

    def __call__(self, *arguments):
        self.ring(*arguments)

def twice(extra, number, frame):
    signal.signal(number, signal.SIG_DFL)
    raise TimeoutError(extra)

def send():
    os.kill(os.getpid(), signal.SIGALRM)
    return 2

@ti.func
def inner():
    return ti.static(send())

@ti.kernel
def k() -> ti.i32:
    return inner() + ti.static(3)

@ti.kernel
def wrong() -> ti.i32:
    return ti.static(Watch().ring(1, 2))

ti.init(arch=ti.cpu)
for handler in (Watch().ring, Watch(), functools.partial(twice, "twice"), lambda *_: 1 / 0):
    signal.signal(signal.SIGALRM, handler)
    try:
        k()
    except Exception as error:
        print(repr(error))
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print(k())
try:
    wrong()
except ti.TaichiCompilationError as error:
    print(str(error).splitlines()[-1])

class Sender:
    def __add__(self, other):
        return send()

    def __iter__(self):
        return iter((send(), 1))

def late(number, frame):
    raise TypeError("late")

sender = Sender()

@ti.kernel
def adds() -> ti.i32:
    return sender + 1

@ti.kernel
def calls() -> ti.i32:
    return send()

@ti.kernel
def lists() -> ti.i32:
    sum = 0
    for a in ti.static(sender):
        sum += a
    return sum

signal.signal(signal.SIGALRM, late)
for kernel in (adds, calls, lists):
    try:
        kernel()
    except Exception as error:
        print(repr(error))
"""

# Python writes the rest of a file that is left open when it frees the program's globals.
FILE_LEFT_OPEN = """
import sys
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.i32, 4)

@ti.func
def twice(a):
    return a + a

@ti.kernel
def fill(a: ti.i32):
    for i in x:
        x[i] = twice(a)

fill(3)
results = open(sys.argv[1], "w")
results.write(str(x))
"""

# Each kernel prints its name; the test interrupts it after that.
INTERRUPTED_KERNELS = """
for name in sys.argv[1:]:
    kernel = globals()[name]
    go[0] = 8
    kernel()
    go[0] = 2**31 - 1
    print(name, flush=True)
    try:
        kernel()
    except KeyboardInterrupt:
        print("interrupted", total(100000), flush=True)
"""

# Jupyter resets Python's handler before it announces a cell; programs may do so, too.
INTERRUPTED_CELL = """
import builtins

class Shell:
    events = property(lambda self: self)
    def register(self, event, callback):
        self.tell = callback

shell = Shell()
builtins.get_ipython = lambda: shell
ti.init(arch=ti.cpu)
x = ti.field(ti.i32, 8)
go = ti.field(ti.i32, 1)
without_end()
signal.signal(signal.SIGINT, signal.default_int_handler)
shell.tell(None)
go[0] = 10
print("cell", flush=True)
try:
    without_end()
except KeyboardInterrupt:
    print("interrupted", total(100000), flush=True)
"""

# The parent waits.
INTERRUPTED_CHILD = """
def child():
    go[0] = 10
    print("child", os.getpid(), flush=True)
    try:
        without_end()
    except KeyboardInterrupt:
        print("interrupted", total(100000), flush=True)
        os._exit(0)
    os._exit(1)

without_end()
process = os.fork()
if process == 0:
    child()
print(os.waitpid(process, 0)[1], flush=True)
"""

# Takes a few seconds, and the program's handler counts.
HANDLED = """
@ti.kernel
def some(n: ti.i32) -> ti.i32:
    s = 1
    ti.loop_config(serialize=True)
    for i in range(n):
        s = s * 1664525 + 1013904223
        if s == x[0]:
            s += 1
    return s

some(1)
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
if sys.argv[1:] == ["ignored"]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
other = []
if sys.argv[1:] == ["thread"]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    total(1)
    thread = threading.Thread(target=lambda: other.append(some(2**31 - 1)))
print("some", flush=True)
if sys.argv[1:] == ["thread"]:
    try:
        thread.start()
        thread.join()
    except KeyboardInterrupt:
        seen.append(2)
    thread.join()
else:
    other.append(some(2**31 - 1))
print(other, len(seen), flush=True)
"""

UNFINISHED = """
import sys, threading, time
import kiln as ti

ti.init(arch=ti.cpu, debug=True)
x = ti.field(ti.f32, 1 << 22)

@ti.kernel
def work():
    for i in x:
        x[i] = ti.sin(x[i]) + 1

@ti.kernel
def check():
    for i in x:
        assert x[i] > -1

def compile(number):
    @ti.kernel
    def k() -> ti.f64:
        return number
    k()

def forever(thread):
    number = time.time() + thread
    while True:
        number += 1 / 128
        if sys.argv[1] == "compile":
            compile(number)
        else:
            {"work": work, "check": check, "copy": x.to_numpy}[sys.argv[1]]()

# Python ends the threads that want its lock from here on.
class AtEnd:
    def __del__(self, wait=time.sleep):
        wait(0.1)

at_end = AtEnd()
work()
check()
for thread in range(3):
    threading.Thread(target=forever, args=(thread,), daemon=True).start()
time.sleep(0.1)
print("ends", flush=True)
"""


def run(program, *arguments, server=""):
    """(output, exit status) of a program."""
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(server),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(server=""):
    path = os.pathsep.join([str(ROOT / "client_py"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "KILN_SERVER": server}


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("server", ["", "off"])
def test_threads_that_share_kernels(program, server):
    assert run(program(THREADS), server=server) == "failed []\n"


@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.parametrize("server", ["", "off"])
def test_processes_of_multiprocessing(program, how, server):
    assert run(program(PROCESSES), how, server=server) == f"{[2 * n for n in range(8)]}\n"


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("way", ["run", "run -m", "python", "python -m"])
def test_children_of_programs_that_kiln_starts(kiln, tmp_path, how, way):
    """Children find the language under the program's name for it, and pools finish."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    text = CHILDREN.replace("IMPORTED", "taichi" if "run" in way else "kiln")
    (package / "app.py").write_text(text.replace("PACKAGE", "package"))
    what = "package.app" if "-m" in way else "package/app.py"
    done = kiln(*way.split(), what, how, cwd=tmp_path)
    doubled = "[0, 2, 4, 6]"
    assert done.stdout.splitlines()[:3] == [f"{doubled} {doubled}", "42", "[0, 2]"], done.stderr
    assert "kiln kiln.math" in done.stdout and "Traceback" not in done.stderr


def test_children_find_kiln_though_taichi_is_installed(kiln, tmp_path):
    installed = tmp_path / "site" / "taichi"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("raise RuntimeError('not Kiln')\n")
    (tmp_path / "app.py").write_text(CHILDREN.replace("IMPORTED", "taichi"))
    path = {"PYTHONPATH": str(tmp_path / "site")}
    done = kiln("run", tmp_path / "app.py", "spawn", env=path)
    assert "kiln kiln.math" in done.stdout, done.stderr


def test_a_child_that_the_program_forks_leaves_the_summary_to_its_parent(kiln, tmp_path):
    (tmp_path / "app.py").write_text("import os\nif os.fork():\n    os.wait()\n")
    assert kiln("run", tmp_path / "app.py").stderr.count("kernels 0") <= 1


@pytest.mark.parametrize("server", ["", "off"])
def test_forks_while_threads_run_their_first_kernels(program, server):
    path = program(FORKS)
    for number in range(5):
        assert run(path, str(number), server=server) == f"{['0'] * 20}\n"


# Forks while another thread makes its first instance, which takes half a second.
FORK_WAITS = """
import os, threading, time
import kiln as ti
from kiln import instance

ti.init(arch=ti.cpu)
begun, made = threading.Event(), []

def slowly(*arguments, compile=instance._compile):
    begun.set()
    time.sleep(0.5)
    made.append(compile(*arguments))
    return made[0]

instance._compile = slowly

@ti.kernel
def k() -> ti.i32:
    return 3

thread = threading.Thread(target=k)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(0 if made and k() == 3 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""


def test_a_fork_waits_for_the_instance_that_another_thread_makes(program):
    assert run(program(FORK_WAITS)) == "0\n"


@pytest.mark.parametrize("server", ["", "off"])
def test_an_interrupt_while_compiling(program, server):
    child = subprocess.Popen(
        [sys.executable, str(program(INTERRUPTED))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(server),
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    try:
        out, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (out, child.returncode) == ("interrupted 5\n", 0), errors


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", ["BaseException", "Exception", "TypeError"])
@pytest.mark.parametrize("server", ["", "off"])
def test_exceptions_of_signal_handlers(program, server, kind):
    """They end the call of a kernel wherever it is."""
    text = RAISING_HANDLERS.replace("RAISED", kind)
    done = run(program(text), str(time.time_ns()), server=server)
    assert done == "{6} {'Alarm'}\n"


def test_files_that_programs_leave_open_are_written(program, tmp_path):
    """The second process has a warm record."""
    path = program(FILE_LEFT_OPEN)
    for number in range(2):
        results = tmp_path / f"results{number}"
        run(path, str(results))
        assert results.read_text() == "[6 6 6 6]"


def test_exceptions_of_signal_handlers_in_the_front_end(program):
    """They reach the program as they are, unlike those of functions that the kernel calls."""
    done = run(program(HANDLERS_DURING_TRANSFORMATION))
    assert done.splitlines() == [
        "TimeoutError(14)",
        "TimeoutError(14)",
        "TimeoutError('twice')",
        "ZeroDivisionError('division by zero')",
        "5",
        "TimeoutError: 1",
        *["TypeError('late')"] * 3,
    ]


def interrupted(path, names, *arguments):
    """The output of a program that is interrupted whenever it has printed one of the names and then
    computed for a while. The name may be followed by the id of the process that computes."""
    child = subprocess.Popen(
        [sys.executable, str(path), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(""),
    )
    ender = threading.Timer(100, child.kill)
    ender.start()
    lines = []
    try:
        for line in child.stdout:
            lines.append(line.rstrip())
            name, *processes = lines[-1].split()
            if name not in names:
                continue
            process = int(processes[0]) if processes else child.pid
            begin = processor_seconds(process)
            while child.poll() is None and processor_seconds(process) < begin + 0.3:
                time.sleep(0.02)
            os.kill(process, signal.SIGINT)
        child.wait()
    finally:
        child.kill()
        ender.cancel()
    assert child.returncode == 0, (lines, child.stderr.read())
    return lines


KERNELS = re.findall(r"@ti.kernel\ndef (?!total|activate)(\w+)", ENDLESS)


@pytest.mark.parametrize("some", [KERNELS[::2], KERNELS[1::2]], ids=["even", "odd"])
def test_an_interrupt_while_a_kernel_runs(program, some):
    lines = interrupted(program(ENDLESS + INTERRUPTED_KERNELS), some, *some)
    assert lines == [line for name in some for line in (name, "interrupted 4999950000")]


def test_an_interrupt_while_a_cell_runs(program):
    lines = interrupted(program(ENDLESS + INTERRUPTED_CELL), ["cell"])
    assert lines == ["cell", "interrupted 4999950000"]


def test_an_interrupt_while_a_forked_child_runs(program):
    lines = interrupted(program(ENDLESS + INTERRUPTED_CHILD), ["child"])
    assert lines[1:] == ["interrupted 4999950000", "0"]


@pytest.mark.parametrize("how, seen", [("handled", 1), ("ignored", 0), ("thread", 1)])
def test_kernels_that_interrupts_do_not_end(program, how, seen):
    """The program handles SIGINT, ignores it, or runs the kernel in another thread."""
    lines = interrupted(program(ENDLESS + HANDLED), ["some"], how)
    assert lines[0] == "some" and lines[1].endswith(f" {seen}"), lines


def test_kernels_at_exit(program):
    out = run(program(AT_EXIT))
    assert out.splitlines() == ["[7, 7, 7, 7]", "late 7"]


@pytest.mark.parametrize("what", ["work", "check", "compile", "copy"])
def test_the_end_while_threads_use_kernels(program, what):
    assert run(program(UNFINISHED), what) == "ends\n"
