"""Kiln in continuous integration: manifests, `kiln warm`, required hits, read-only homes, reports,
CPU levels."""

import hashlib
import json
import platform
import xml.etree.ElementTree

import pytest

from tests.conftest import PROGRAM

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def manifests(kiln):
    return list((kiln.home / "warm" / "programs").iterdir())


def snapshot(folder):
    """A folder's content: {path: (kind, mode, size, time of change, digest)}."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, digest)
    return found


# --- manifests


def test_a_run_records_the_kernels_that_it_used(kiln, program):
    assert kiln("run", program).stdout == "56.0\n"
    (path,) = manifests(kiln)
    lines = path.read_text().splitlines()
    assert lines[0] == "kiln-manifest 3"
    assert lines[1] == f"program {hashlib.sha256(program.read_bytes()).hexdigest()} {program}"
    units = [line.split(" ") for line in lines[3:]]
    assert [unit[0] for unit in units] == ["unit", "unit"]
    assert [unit[5] for unit in units] == ["fill", "total"] and {u[3] for u in units} == {"-"}
    before = snapshot(kiln.home / "warm")
    kiln("run", program)  # from warm records: uses the same kernels
    assert snapshot(kiln.home / "warm") == before


def test_warm_compiles_a_manifest_without_the_program(kiln, other, program, tmp_path):
    carried = tmp_path / "app.manifest"
    kiln("run", "--manifest", carried, program)
    program.rename(tmp_path / "moved.py")
    done = other("warm", "--jobs", 2, "--json", carried)
    report = json.loads(done.stdout)
    assert (report["hits"], report["misses"], report["failed"]) == (0, 2, 0)
    assert done.stderr.splitlines()[-1].startswith("kernels 2  hits 0  compiled 2  ")
    again = json.loads(other("warm", "-q", "--json", carried).stdout)
    assert (again["hits"], again["misses"]) == (2, 0)
    ran = other("run", "--require-hit", tmp_path / "moved.py")
    assert ran.stdout == "56.0\n" and "hits 2  misses 0" in ran.stderr
    assert {k["key"] for k in report["kernels"]} == {
        line.split(" ")[1] for line in manifests(other)[0].read_text().splitlines()[3:]
    }


def test_warm_works_without_a_daemon(kiln, other, program, tmp_path):
    carried = tmp_path / "app.manifest"
    off = {"KILN_SERVER": "off"}
    kiln("run", "--manifest", carried, program, env=off)
    report = json.loads(other("warm", "-j2", "--json", carried, env=off).stdout)
    assert (report["hits"], report["misses"]) == (0, 2)
    assert "misses 0" in other("run", "--require-hit", program, env=off).stderr


def test_warm_compiles_for_cuda_devices(kiln, other, program, tmp_path):
    carried = tmp_path / "app.manifest"
    kiln("run", "--manifest", carried, program)
    targets = ["sm_80", "sm_90", "compute_80"]
    for server in ("", "off"):
        made = other if server else kiln
        done = made(
            "warm", "--json", "--target", ",".join(targets), carried, env={"KILN_SERVER": server}
        )
        report = json.loads(done.stdout)
        assert (report["hits"], report["misses"], report["failed"]) == (0, 6, 0)
        assert sorted(k["level"] for k in report["kernels"]) == sorted(2 * targets)
        again = made("warm", "--json", "--target", "sm_90", carried, env={"KILN_SERVER": server})
        assert json.loads(again.stdout)["hits"] == 2
    wrong = kiln("warm", "--target", "sm_9", carried, check=False)
    assert wrong.returncode == 2 and "--target=sm_9: one of " in wrong.stderr
    assert "compute_80" in wrong.stderr


LEARNS = """
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f64, shape=4, needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def energy():
    for i in x:
        loss[None] += x[i] ** 2


x.fill(1.5)
with ti.ad.Tape(loss):
    energy()
print(x.grad)
"""


def test_gradients_are_warmed_and_carried_as_kernels_are(kiln, other, tmp_path):
    program, carried, bundle = (tmp_path / n for n in ("learns.py", "a.manifest", "a.bundle"))
    program.write_text(LEARNS)
    assert kiln("run", "--manifest", carried, program).stdout == "[3. 3. 3. 3.]\n"
    assert kiln("run", "--require-hit", program).stdout == "[3. 3. 3. 3.]\n"
    done = other("warm", "--json", carried)
    report = json.loads(done.stdout)
    assert (report["hits"], report["misses"]) == (0, 2), "the kernel and its gradient"
    assert other("run", "--require-hit", program).stdout == "[3. 3. 3. 3.]\n"
    other("cache", "clear", "-y")
    kiln("cache", "export", bundle, "--manifest", carried)
    other("cache", "import", bundle, "--accept-unsigned")
    off = {"KILN_SERVER": "off"}
    assert other("run", "--require-hit", program, env=off).stdout == "[3. 3. 3. 3.]\n"


def test_a_manifest_does_not_depend_on_where_it_is_made(kiln, other, program, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    kiln("run", "--manifest", first, program)
    kiln("run", "--manifest", second, program)  # from warm records
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "app.py").write_text(PROGRAM)
    third = tmp_path / "third"
    other("run", "--manifest", third, folder / "app.py", env={"KILN_SERVER": "off"})
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    assert str(tmp_path).encode() not in first.read_bytes()


def test_warm_runs_a_program_that_has_no_manifest(kiln, program, tmp_path):
    done = kiln("warm", "--json", "--output", tmp_path / "m", program)
    assert "56.0" in done.stderr and json.loads(done.stdout)["hits"] == 2
    done = kiln("warm", "--json", program)
    assert "56.0" not in done.stderr, "its manifest says enough"
    program.write_text(PROGRAM.replace("2.0", "3.0"))
    assert "84.0" in kiln("warm", program).stderr
    assert "84.0" in kiln("warm", "--record", program).stderr
    for path in (kiln.home / "warm" / "units").rglob("*"):
        if path.is_file():
            path.unlink()
    assert "84.0" in kiln("warm", program).stderr
    assert "kernels 2" in kiln("warm", tmp_path / "m").stderr


def test_warm_runs_a_program_whose_modules_have_changed(kiln, program, tmp_path):
    (tmp_path / "kernels").mkdir()
    size = tmp_path / "kernels" / "sizes.py"
    (tmp_path / "kernels" / "__init__.py").write_text("from .sizes import FACTOR\n")
    size.write_text("FACTOR = 2.0\n")
    program.write_text(PROGRAM.replace("fill(2.0)", "from kernels import FACTOR\nfill(FACTOR)"))
    assert "56.0" in kiln("warm", program).stderr
    (lines,) = [m.read_text().splitlines() for m in manifests(kiln)]
    modules = [line.split(" ", 2)[2] for line in lines if line.startswith("module ")]
    assert modules == [str(tmp_path / "kernels" / "__init__.py"), str(size)]
    assert "56.0" not in kiln("warm", program).stderr
    size.touch()
    assert "56.0" not in kiln("warm", program).stderr, "the same text"
    size.write_text("FACTOR = 3.0\n")
    assert "84.0" in kiln("warm", program).stderr
    assert "84.0" not in kiln("warm", program).stderr
    carried = tmp_path / "carried"
    kiln("warm", "--output", carried, program)
    assert b"\nmodule " not in carried.read_bytes(), "their paths differ on other machines"
    size.unlink()
    done = kiln("warm", program, check=False)
    assert done.returncode == 1 and "No module named 'kernels.sizes'" in done.stderr


def test_a_program_that_fails_fails_warm(kiln, program):
    program.write_text(PROGRAM + "raise SystemExit(7)\n")
    done = kiln("warm", program, check=False)
    assert done.returncode == 1 and "ended with 7" in done.stderr and "kernels 2" in done.stderr
    program.write_text("print(1)")
    done = kiln("warm", program, check=False)
    assert done.returncode == 1 and "it used no kernels" in done.stderr


def test_manifests_are_read_with_care(kiln, program, tmp_path):
    carried = tmp_path / "app.manifest"
    kiln("run", "--manifest", carried, program)
    whole = carried.read_bytes()
    head, mark, packed = whole.partition(b"\nrecorded ")
    cases = {
        "cut off": (whole[:-1], "damaged or cut off"),
        "flipped": (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "damaged or cut off"),
        "version": (whole.replace(b"manifest 3", b"manifest 9", 1), "of another version"),
        "unit": (whole.replace(b"\nunit ", b"\nunit x", 1), "line 4: 'unit KEY"),
        "word": (head + b"\nnonsense 1" + mark + packed, "'nonsense' is not expected here"),
        "bomb": (head + b"\nrecorded 99999999999 3 00\nabc", "may be"),
        "size": (head + "\nrecorded ² 3 00\nabc".encode(), "'recorded BYTES COMPRESSED SHA256'"),
        "digits": (head + b"\nrecorded 3 " + b"9" * 5000 + b" 00\nabc", "'recorded BYTES"),
        "empty": (b"kiln-manifest 3\n", "ends before the line 'compiler'"),
    }
    for data, text in cases.values():
        carried.write_bytes(data)
        done = kiln("warm", carried, check=False)
        assert done.returncode == 1 and text in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_the_worker_checks_the_kernels_of_a_manifest(kiln, program, tmp_path):
    carried = tmp_path / "app.manifest"
    kiln("run", "--manifest", carried, program)
    code = f"""
from kiln import _native
from kiln.warm import manifest
m = manifest.read({str(carried)!r})
names = list(m.recorded)
blobs = [m.recorded[n] for n in names]
bad = [blobs[0][:40] + bytes([blobs[0][40] ^ 0x55]) + blobs[0][41:], b"nonsense"]
new = {{_native.sha256(b).hex(): b for b in bad}}
units = [
    manifest.ManifestUnit(u.key, n, u.target, u.record, u.kernel) for u, n in zip(m.units, new)
]
changed = manifest.Manifest(m.program, m.name, m.compiler, units, new)
open({str(carried)!r}, "wb").write(changed.to_bytes())
"""
    kiln("python", "-c", code)
    done = kiln("warm", "--json", carried, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["failed"] == 2
    assert all(kernel["error"] and not kernel["tier"] for kernel in report["kernels"])


# --- command lines


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("warm",), "warm what?"),
        (("warm", "nowhere.py"), "nowhere.py: no such file"),
        (("warm", "--jobs", "0", "APP"), "--jobs=0: a number from 1 on expected"),
        (("warm", "--jbs", "2", "APP"), "no option '--jbs'. Did you mean '--jobs'?"),
        (("warm", "--cpu", "x86-64-v9", "APP"), "--cpu=x86-64-v9: one of x86-64-v2, x86-64-v3"),
        (("warm", "--report", "a.txt", "APP"), "--report=a.txt: a file that ends with .json or"),
        (("warm", "--report", "no/where.xml", "APP"), "there is no folder no"),
        (("warm", "--output", "no/where", "APP"), "--output=no/where: there is no folder no"),
        (("run", "--manifest", "no/where", "APP"), "--manifest=no/where: there is no folder no"),
        (("run", "--cpu", "x86", "APP"), "--cpu=x86: one of x86-64-v2"),
        (("run", "--report", "a.txt", "APP"), "--report=a.txt"),
        (("run", "--requir-hit", "APP"), "no option '--requir-hit'. Did you mean '--require-hit'?"),
        (("run", "--cpu"), "--cpu needs a value"),
        (("run", "--require-hit=2", "APP"), "--require-hit takes no value, got '2'"),
        (("ir",), "ir of which kernel?"),
        (("ir", "fill", "nowhere.py"), "nowhere.py: no such file"),
    ],
)
def test_errors_name_the_argument(kiln, program, tmp_path, arguments, text):
    arguments = [str(program) if a == "APP" else a for a in arguments]
    done = kiln(*arguments, check=False, cwd=tmp_path)
    assert done.returncode == 2 and text in done.stderr.splitlines()[0], done.stderr


# --- hits that are required


def test_require_hit_names_what_missed(kiln, program):
    done = kiln("run", "-q", "--require-hit", program, check=False)
    assert done.returncode == 3 and done.stdout == "56.0\n", "the program runs to its end"
    lines = [line for line in done.stderr.splitlines() if line.startswith("kiln: kernel")]
    assert len(lines) == 2 and lines[0].startswith("kiln: kernel 'fill' missed: ")
    assert kiln("run", "-q", "--require-hit", program).stderr == ""


def test_require_hit_keeps_the_programs_own_status(kiln, program):
    program.write_text(PROGRAM + "raise SystemExit(9)\n")
    done = kiln("run", "-q", "--require-hit", program, check=False)
    assert done.returncode == 9 and "'total' missed" in done.stderr


def test_require_hit_by_the_environment_and_any_python(kiln, program):
    environment = {"KILN_REQUIRE_HIT": "1"}
    done = kiln("python", "-c", PROGRAM.replace("taichi", "kiln"), env=environment, check=False)
    # A kernel needs a file for its source.
    assert done.returncode != 0
    program.write_text(PROGRAM.replace("taichi", "kiln"))
    done = kiln("python", program, env=environment, check=False)
    assert done.returncode == 3 and "kernel 'fill' missed" in done.stderr
    done = kiln("python", program, env=environment)
    assert done.returncode == 0 and done.stderr == ""
    assert kiln("python", program, env={"KILN_REQUIRE_HIT": "0"}).returncode == 0


# --- read-only


@pytest.mark.parametrize("daemon", ["", "off", "running"])
@pytest.mark.parametrize("state", ["absent", "cold", "warm", "damaged"])
def test_a_read_only_home_does_not_change(kiln, program, daemon, state):
    environment = {"KILN_SERVER": "off" if daemon == "off" else ""}
    if state != "absent":
        text = PROGRAM if state != "cold" else PROGRAM.replace("a * i", "a * i + 1")
        program.write_text(text)
        kiln("run", program, env=environment)
        program.write_text(PROGRAM)
    if state == "damaged":
        for entry in (kiln.home / "cache").glob("??/*.so"):
            entry.write_bytes(entry.read_bytes()[:-1])
    if daemon != "running":
        kiln("stop")
    before = snapshot(kiln.home)
    for options in (["--read-only"], []):
        mode = {} if options else {"KILN_CACHE": "read-only"}
        done = kiln("run", *options, program, env={**environment, **mode})
        assert done.stdout == "56.0\n"
        assert ("misses 0" in done.stderr) == (state == "warm"), done.stderr
        assert snapshot(kiln.home) == before
    assert kiln.home.exists() == (state != "absent")


def test_nothing_can_be_stored_in_a_read_only_home(kiln, program, tmp_path):
    carried = tmp_path / "app.manifest"
    mode = {"KILN_CACHE": "read-only"}
    kiln("run", "--manifest", carried, program)
    before = snapshot(kiln.home / "cache"), snapshot(kiln.home / "warm")
    for command in (["warm", carried], ["cache", "clear", "-y"]):
        done = kiln(*command, env=mode, check=False)
        assert done.returncode == 1 and "read-only" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert (snapshot(kiln.home / "cache"), snapshot(kiln.home / "warm")) == before
    done = kiln("run", program, env={"KILN_CACHE": "readonly"}, check=False)
    assert "KILN_CACHE=readonly: expected read-only or read-write" in done.stderr


# --- reports


def test_reports(kiln, program, tmp_path):
    files = [tmp_path / "r.xml", tmp_path / "r.json"]
    options = [f"--report={file}" for file in files]
    done = kiln("run", "--require-hit", *options, program, check=False)
    assert done.returncode == 3
    report = json.loads(files[1].read_text())
    assert (report["status"], report["hits"], report["misses"], report["failed"]) == (3, 0, 2, 2)
    assert [kernel["kernel"] for kernel in report["kernels"]] == ["fill", "total"]
    assert all(len(k["key"]) == 64 and k["wait_seconds"] > 0 for k in report["kernels"])
    (suite,) = xml.etree.ElementTree.parse(files[0]).getroot()
    assert suite.get("tests") == suite.get("failures") == "2"
    assert [case.get("name").split()[0] for case in suite] == ["fill", "total"]
    assert all(case.find("failure") is not None for case in suite)

    kiln("warm", *options, program)
    report = json.loads(files[1].read_text())
    assert (report["command"], report["status"], report["hits"]) == ("warm", 0, 2)
    (suite,) = xml.etree.ElementTree.parse(files[0]).getroot()
    assert suite.get("failures") == "0" and all(c.find("failure") is None for c in suite)


def test_a_program_that_fails_has_its_report(kiln, program, tmp_path):
    program.write_text(PROGRAM + "1 / 0\n")
    done = kiln("run", f"--report={tmp_path / 'r.json'}", program, check=False)
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.returncode == report["status"] == 1 and report["misses"] == 2


# --- levels of the processor


def host_level(kiln):
    return kiln("python", "-c", "from kiln import _native as n; print(n.host_target())").stdout


def test_levels_are_compiled_anywhere_and_run_where_they_can(kiln, program, tmp_path):
    host = LEVELS.index(host_level(kiln).strip())
    carried = tmp_path / "m"
    kiln("run", "--manifest", carried, program)
    report = json.loads(kiln("warm", "--json", "--cpu", ",".join(LEVELS), carried).stdout)
    assert (report["hits"], report["misses"]) == (2, 4)
    assert {kernel["level"] for kernel in report["kernels"]} == set(LEVELS)
    for index, level in enumerate(LEVELS):
        for given in ({}, {"KILN_CPU": level}):
            options = [] if given else ["--cpu", level]
            done = kiln("run", "--require-hit", *options, program, env=given, check=False)
            if index <= host:
                assert done.returncode == 0 and done.stdout == "56.0\n"
            else:
                assert done.returncode == 1
                assert f"KILN_CPU={level}: this machine is {LEVELS[host]}" in done.stderr


def test_a_program_that_requests_a_level_is_warmed_for_it(kiln, program, tmp_path):
    carried = tmp_path / "m"
    kiln("run", "--cpu", "x86-64-v2", "--manifest", carried, program)
    report = json.loads(kiln("warm", "--json", carried).stdout)
    assert report["hits"] == 2 and {k["level"] for k in report["kernels"]} == {"x86-64-v2"}


def test_warm_follows_the_environment_as_programs_do(kiln, other, program, tmp_path):
    """A manifest without levels is used on a machine where all programs request one."""
    carried, level = tmp_path / "m", {"KILN_CPU": "x86-64-v2"}
    kiln("run", "--manifest", carried, program)
    report = json.loads(other("warm", "--json", carried, env=level).stdout)
    assert report["misses"] == 2 and {k["level"] for k in report["kernels"]} == {"x86-64-v2"}
    assert "misses 0" in other("run", "--require-hit", program, env=level).stderr
    done = other("warm", carried, env={"KILN_CPU": "x86-64-v9"}, check=False)
    assert done.returncode == 2 and "KILN_CPU=x86-64-v9: one of" in done.stderr


def test_a_mixed_fleet_shares_the_level_that_all_have(kiln, other, program, tmp_path):
    host = host_level(kiln).strip()
    if host not in LEVELS[1:]:
        pytest.skip(f"this machine is {host}: nothing is below it that programs ask for")
    carried, bundle = tmp_path / "m", tmp_path / "b"
    kiln("run", "--cpu", "x86-64-v2", "--manifest", carried, program)
    assert f" {LEVELS[0]} - fill" in carried.read_bytes().decode(errors="replace")
    kiln("cache", "export", bundle, "--manifest", carried)
    other("cache", "import", bundle, "--accept-unsigned")
    assert "misses 0" in other("run", "--require-hit", "--cpu", LEVELS[0], program).stderr
    # A program that does not request the common level misses, and is told why.
    done = other("run", "--require-hit", program, check=False)
    assert done.returncode == 3 and f"target: {host}, " in done.stderr, done.stderr
    why = json.loads(other("cache", "explain", "--json", "fill").stdout)
    (row,) = why["differing"]
    assert row["part"] == "target" and host in row["this"] and LEVELS[0] in row["nearest"]
    # Both levels from one manifest.
    report = json.loads(other("warm", "--json", "--cpu", f"{LEVELS[0]},{host}", carried).stdout)
    assert (report["hits"], report["misses"], report["failed"]) == (4, 0, 0)


def test_machines_with_an_old_and_a_new_glibc_share_all_other_kernels(kiln, tmp_path):
    if platform.libc_ver()[1] < "2.35":
        pytest.skip("this machine has an old glibc: both keys are one")
    program, carried = tmp_path / "bend.py", tmp_path / "m"
    program.write_text(PROGRAM.replace("s += x[i]", "s += ti.tanh(x[i])"))
    old = {"KILN_GLIBC": "2.31"}
    ran = kiln("run", "--manifest", carried, program)
    # From warm records, too: those of one glibc say nothing about another.
    for shared, env in ((1, old), (2, old), (2, {})):
        again = kiln("run", program, env=env)
        assert float(again.stdout) == pytest.approx(float(ran.stdout), rel=1e-5)
        assert f"hits {shared}  misses {2 - shared}" in again.stderr
    needs = [row["needs"] for row in json.loads(kiln("cache", "list", "--json").stdout)]
    assert [n["libmvec.so.1"] for n in needs if "libmvec.so.1" in n] == ["GLIBC_2.35"]
    why = json.loads(kiln("cache", "explain", "--json", "total").stdout)
    assert [row["part"] for row in why["differing"]] == ["target"]
    assert "glibc 2.35" in why["differing"][0]["this"] + why["differing"][0]["nearest"]
    report = json.loads(kiln("warm", "--json", carried, env=old).stdout)
    assert (report["hits"], report["misses"], report["failed"]) == (2, 0, 0)
    done = kiln("run", program, env={"KILN_GLIBC": "old"}, check=False)
    assert "KILN_GLIBC=old: expected a version such as 2.31" in done.stderr


# --- kiln ir


def test_ir_of_a_kernel_that_ran(kiln, program):
    done = kiln("ir", "fill", check=False)
    assert done.returncode == 1 and "no kernel 'fill'" in done.stderr
    kiln("run", program)
    listed = kiln("ir", "fill").stdout.splitlines()
    stages = [line.split()[0] for line in listed[1:]]
    assert listed[0].startswith("kernel fill  key ") and len(stages) > 5
    done = kiln("ir", "fill", "--stage", "check", check=False)
    assert done.returncode == 1 and "stage 'check' leaves no IR" in done.stderr
    stages.remove("check")
    first = kiln("ir", "fill", "--stage", stages[0]).stdout
    assert "kiln." in first
    assert "\tret" in kiln("ir", "fill", "--stage", "codegen").stdout  # assembly
    key = listed[0].split()[-1]
    assert kiln("ir", key[:8], "--stage", stages[0]).stdout == first
    assert kiln("ir", "fill", program, "--stage", stages[0]).stdout == first
    found = json.loads(kiln("ir", "--json", "total").stdout)
    assert found["kernel"] == "total" and [s["stage"] for s in found["stages"]] != []
    done = kiln("ir", "fill", "--stage", stages[0] + "x", check=False)
    assert done.returncode == 1 and f"Did you mean '{stages[0]}'?" in done.stderr
    done = kiln("ir", "fil", program, check=False)
    assert done.returncode == 1 and "Did you mean 'fill'?" in done.stderr


def test_ir_for_other_targets(kiln, program):
    kiln("run", "--cpu", "x86-64-v2", program)
    # x86-64-v2, which the program requested, does not have these registers.
    assert "%ymm" not in kiln("ir", "fill", "--stage", "codegen").stdout
    assert "%ymm" in kiln("ir", "fill", "--cpu", "x86-64-v3", "--stage", "codegen").stdout
    text = kiln("ir", "fill", "--target", "sm_90", "--stage", "codegen").stdout
    assert ".target sm_90" in text and ".visible .entry" in text
    for wrong, says in (
        (("--target", "sm_9"), "--target=sm_9: one of"),
        (("--target", "sm_90", "--cpu", "x86-64-v2"), "--cpu and --target are two targets"),
    ):
        done = kiln("ir", "fill", *wrong, check=False)
        assert done.returncode == 2 and says in done.stderr


def test_ir_runs_a_program_that_never_ran(kiln, program):
    done = kiln("ir", "total", program)
    assert done.stdout.startswith("kernel total  key ") and "56.0" in done.stderr
