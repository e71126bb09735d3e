"""Programs with several threads and processes, interrupts, and ends, each run by itself."""

import os
import pathlib
import signal
import subprocess
import sys
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
    with context.Pool(2) as pool:
        print(pool.map(work, range(4)))
    queue = context.Queue()
    process = context.Process(target=put, args=(queue, 21))
    process.start()
    print(queue.get(timeout=60))
    process.join()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(list(executor.map(work, range(2))))
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

UNFINISHED = """
import threading
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, 1 << 22)

@ti.kernel
def work():
    for i in x:
        x[i] = ti.sin(x[i]) + 1

def forever():
    while True:
        work()

work()
threading.Thread(target=forever, daemon=True).start()
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
    """They find the language under the name that the program has for it, and pools end."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    text = CHILDREN.replace("IMPORTED", "taichi" if "run" in way else "kiln")
    (package / "app.py").write_text(text.replace("PACKAGE", "package"))
    what = "package.app" if "-m" in way else "package/app.py"
    done = kiln(*way.split(), what, how, cwd=tmp_path)
    assert done.stdout.splitlines()[:3] == ["[0, 2, 4, 6]", "42", "[0, 2]"], done.stderr
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


def test_kernels_at_exit(program):
    out = run(program(AT_EXIT))
    assert out.splitlines() == ["[7, 7, 7, 7]", "late 7"]


def test_the_end_while_a_thread_runs_kernels(program):
    assert run(program(UNFINISHED)) == "ends\n"
