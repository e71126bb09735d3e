"""`kiln run` runs programs as `python` does, with Kiln as their taichi."""

import json
import os
import subprocess
import sys
import zipapp

PROGRAM = """
import sys
import taichi as ti
from taichi.lang.impl import current_cfg
import taichi.math as tm

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=8)

@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i

fill(2.0)
print(__name__, sys.argv, __file__, x[3], ti.__name__, tm.__name__)
"""


def test_a_program_runs_as_main_and_is_cached(kiln, tmp_path):
    program = tmp_path / "my program.py"
    program.write_text(PROGRAM)
    first = kiln("run", "-v", program, "a", "-b")
    assert first.stdout == f"__main__ {[str(program), 'a', '-b']} {program} 6.0 kiln kiln.math\n"
    lines = first.stderr.splitlines()
    assert any(line.startswith("fill  compiled ") and line.endswith(" ms") for line in lines)
    assert lines[-1].startswith("kernels 1  hits 0  misses 1  ")

    second = kiln("run", "--verbose", program)
    lines = second.stderr.splitlines()
    assert any(line.startswith("fill  cached ") for line in lines)
    assert lines[-1].startswith("kernels 1  hits 1  misses 0  ")
    (summary,) = kiln("run", program).stderr.splitlines()
    assert summary.startswith("kernels 1  hits 1  misses 0  ")
    assert kiln("run", "-q", program).stderr == ""

    stats = kiln.stats()
    assert stats["compiles"] == 1 and stats["misses"] == 1 and stats["entries"] == 1
    assert stats["hits"] == 3 and stats["bytes"] > 1000 and stats["seconds_saved"] > 0
    assert "cleared 1 entries" in kiln("cache", "clear", "-y").stdout
    assert kiln.stats()["entries"] == 0
    assert "misses 1" in kiln("run", program).stderr


EDITED = """
import os
import kiln as ti

ti.init()
text = open(__file__).read()
CHANGE


def make(k):
    @ti.kernel
    def add(a: ti.i32) -> ti.i32:
        return 12 + a + k

    return add


print(make(0)(1), os.path.isabs(__file__))
"""


def test_a_program_runs_as_it_was_loaded(kiln, tmp_path):
    for change in (
        "open(__file__, 'w').write(text.replace('12 +', '1000 +'))",
        "open(__file__, 'w').write('# another line' + text)",
        "os.remove(__file__)",
        "os.chdir('/')",
    ):
        program = tmp_path / "edited.py"
        for _ in range(2):  # the second time with the kernel's record
            program.write_text(EDITED.replace("CHANGE", change))
            done = kiln("run", "edited.py", cwd=tmp_path)
            assert done.stdout == "13 True\n", change
    program.write_text(EDITED.replace("CHANGE", "pass").replace("__file__", repr(str(program))))
    done = kiln("run", "/dev/stdin", input=program.read_text())
    assert done.stdout == "13 True\n"


def test_an_edited_module_is_reported(kiln, tmp_path):
    program = tmp_path / "edited.py"
    change = "open(__file__, 'w').write(text.replace('12 +', '1000 +'))"
    program.write_text(EDITED.replace("CHANGE", change))
    said = f"{program} has changed since Python loaded it: 'add' is compiled from the new text"
    assert said in kiln("python", program).stderr
    # Written by the process itself, and loaded afterwards; changed elsewhere than in the kernel.
    program.write_text(EDITED.replace("CHANGE", "open(__file__, 'w').write(text + '# more')"))
    assert "has changed" not in kiln("python", program).stderr
    program.write_text(EDITED.replace("CHANGE", ""))
    (tmp_path / "loads.py").write_text(
        f"import os; os.utime({str(program)!r}, (4e9, 4e9))\nimport edited\n"
    )
    done = kiln("python", tmp_path / "loads.py")
    assert done.stdout == "13 True\n" and "has changed" not in done.stderr


def test_a_text_of_another_encoding(kiln, tmp_path):
    program = tmp_path / "encoded.py"
    text = "import kiln as ti\nti.init()\n\n@ti.kernel\ndef f():\n    print('\xe9')\n\n\nf()\n"
    program.write_bytes(b"# coding: latin-1\n" + text.encode("latin-1"))
    assert kiln("run", program).stdout == "\xe9\n"
    program.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert kiln("run", program).stdout == "\xe9\n"
    program.write_bytes(text.encode("latin-1"))
    done = kiln("run", program, check=False)
    assert done.returncode == 1
    assert f"SyntaxError: {program}, line 6: this is not utf-8" in done.stderr


PACKED = """
import sys
import taichi as ti
from other import add

ti.init(arch=ti.cpu)

@ti.kernel
def k(a: ti.i32) -> ti.i32:
    return add(a)

print(k(3), __name__, sys.argv[1:], sys.argv[0] == sys.path[0])
"""


def test_folders_and_zip_files(kiln, tmp_path):
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "other.py").write_text(
        "import taichi as ti\n\n@ti.func\ndef add(a):\n    return a + 4\n"
    )
    assert "no module __main__" in kiln("run", folder, check=False).stderr
    (folder / "__main__.py").write_text(PACKED)
    zipapp.create_archive(folder, tmp_path / "plain.zip")
    zipapp.create_archive(folder, tmp_path / "app.pyz", interpreter="/usr/bin/python3")
    for program in ("app", "plain.zip", "app.pyz"):
        for _ in range(2):  # the second time with the kernel's record
            done = kiln("run", program, "x", cwd=tmp_path)
            assert done.stdout == "7 __main__ ['x'] True\n", program


def test_clearing_asks(kiln):
    done = kiln("cache", "clear", input="n\n", check=False)
    assert done.returncode == 1 and "[y/N]" in done.stdout


def test_statistics_have_every_name_even_before_the_first_run(kiln):
    stats = json.loads(kiln("cache", "stats", "--json").stdout)
    for name in ("hits", "misses", "compiles", "entries", "bytes", "seconds_saved"):
        assert stats[name] == 0
    assert "entries" in kiln("cache", "stats").stdout


def test_exit_status_and_errors_are_the_programs(kiln, tmp_path):
    program = tmp_path / "p.py"
    for source, code, error in (
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('gone')", 1, "gone"),
        ("def f():\n    1 / 0\nf()", 1, "ZeroDivisionError"),
        ("x = (", 1, "SyntaxError"),
    ):
        program.write_text(source)
        done = kiln("run", program, check=False)
        assert done.returncode == code and error in done.stderr
        assert "kiln/c" not in done.stderr
        assert "kernels" not in done.stderr


def test_streams_may_be_closed(kiln, tmp_path):
    program = tmp_path / "p.py"
    program.write_text(
        PROGRAM
        + "import os\nfiles = [os.readlink(f'/proc/self/fd/{n}') for n in range(3)]\n"
        + "open(sys.argv[1], 'w').write(str(x[3]) + str(any('socket' in f for f in files)))\n"
    )
    for number, redirections in enumerate(("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-")):
        written = tmp_path / str(number)
        for run in ([sys.executable, "-m", "kiln.cli"], [kiln.root / "kiln"]):
            run += ["run", program, written]
            shell = ["-c", f'exec "$@" {redirections}', "sh"]
            done = kiln(*shell, *run, command="sh", stdin=subprocess.DEVNULL)
            assert written.read_text() == "6.0False", redirections
            assert "Traceback" not in done.stderr
            written.unlink()


def test_names_of_files_need_not_be_utf8(kiln, tmp_path):
    folder = os.fsencode(tmp_path) + b"/b\xfccher"
    os.mkdir(folder)
    program, library = (os.fsdecode(folder + name) for name in (b"/f\xe4rben.py", b"/lib.py"))
    with open(library, "w") as file:
        file.write("import taichi as ti\n@ti.func\ndef two():\n    return 2\n")
    with open(program, "w") as file:
        file.write(
            "import taichi as ti, lib\n"
            "ti.init(ti.cpu)\n"
            "x = ti.field(ti.i32, 8)\n"
            "@ti.kernel\n"
            "def add(n: ti.i32) -> ti.i32:\n"
            "    return n + lib.two()\n"
            "print(add(3))\n"
            "try:\n    x[9]\nexcept IndexError as error:\n    print(ascii(error))\n"
        )
    for hits in ("hits 0  misses 1", "hits 1  misses 0"):
        done = kiln("run", program)
        assert done.stdout.startswith("5\n") and "rben.py:3: " in done.stdout
        assert hits in done.stderr
    assert "[1/1] add  cached" in kiln("warm", program).stderr
    with open(library, "a") as file:  # a module of the program: its kernels are unknown then
        file.write("print('changed')\n")
    assert "changed" in kiln("warm", program).stderr


def test_modules_run_by_name(kiln, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    text = "import sys, taichi\nprint(__name__, __spec__.name, __package__, *sys.argv)\n"
    (package / "app.py").write_text(text)
    (package / "__main__.py").write_text(text)
    for name, file in (("package.app", "app.py"), ("package", "__main__.py")):
        done = kiln("run", "-m", name, "-q", cwd=tmp_path)
        full = f"package.{file[:-3]}"
        assert done.stdout == f"__main__ {full} package {package / file} -q\n"
    for name in ("package.gone", "gone.package"):
        done = kiln("run", "-m", name, check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"kiln: there is no module {name} to run\n"
    (package / "app.py").write_text("import gone\n")
    done = kiln("run", "-m", "package.app", check=False, cwd=tmp_path)
    assert done.returncode == 1 and "No module named 'gone'" in done.stderr
    assert "kiln/c" not in done.stderr and "importlib" not in done.stderr


def test_headless_gui_ends_after_the_wanted_frames(kiln, tmp_path):
    program = tmp_path / "loop.py"
    program.write_text(
        "import taichi as ti\n"
        "gui = ti.GUI('x', res=64)\n"
        "while gui.running:\n    gui.circle((.5, .5), radius=9)\n    gui.show()\n"
        "print(gui.frame)\n"
    )
    done = kiln("run", program, env={"KILN_GUI_FRAMES": "7", "TI_GUI_SHOW": "0"})
    assert done.stdout == "7\n" and "frames 7" in done.stderr
    program.write_text("import taichi as ti\ngui = ti.GUI()\nwhile True:\n    gui.show()\n")
    assert kiln("run", program, env={"KILN_GUI_FRAMES": "4"}).returncode == 0


def test_the_first_example(kiln, tmp_path):
    picture = tmp_path / "blobs.png"
    example = kiln.root / "examples" / "mpm88.py"
    done = kiln("run", "-v", example, 4, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "step  compiled" in done.stderr and "frame 4/4" in done.stderr
    assert "frames/s" in done.stderr.splitlines()[-1]
    again = kiln("run", "-v", example, 4, picture)
    assert "misses 0" in again.stderr and "compiled" not in again.stderr


def test_a_home_whose_name_is_not_utf8_is_an_error(kiln, tmp_path):
    program = tmp_path / "p.py"
    program.write_text(PROGRAM)
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for command in (["run", program], ["cache", "list"], ["stop"]):
        done = kiln(*command, check=False, env={"KILN_HOME": name})
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr == f"kiln: KILN_HOME={ascii(name)}: expected a name in UTF-8\n"
    code = "import kiln, os; kiln.init(); os.environ.update(KILN_HOME='', HOME='\\udcff')\n"
    code += "try:\n    kiln.runtime.session()\nexcept ValueError as error:\n    print(error)\n"
    said = kiln("python", "-c", code).stdout
    assert "HOME='\\udcff': expected a name in UTF-8: set KILN_HOME to a directory\n" in said
