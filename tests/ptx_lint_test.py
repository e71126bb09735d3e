"""The lint of golden PTX (tests/golden/ptx_lint.py) finds what it is for: each golden text is free
of faults, and has one when a fence is taken out, a barrier is guarded or an atomic gets an order.
tests/golden/ptx.py takes each fence out of the runtime's own PTX.
"""

import pathlib
import re
import sys

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
sys.path.insert(0, str(GOLDEN))
import ptx_lint  # noqa: E402


def texts():
    """The PTX of all golden kernels."""
    for path in sorted(GOLDEN.glob("ptx_*.mlir")):
        for number, part in enumerate(re.split(r"(?m)^// -----\n", path.read_text())):
            lines = re.findall(r"(?m)^// CHECK(?:-NEXT)?: (.*)$", part)
            yield f"{path.stem} {number}", lines


TEXTS = dict(texts())


def faults(lines):
    return ptx_lint.problems("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", TEXTS)
def test_golden_texts_are_free_of_faults(name):
    assert faults(TEXTS[name]) == []


def test_each_fence_of_the_device_library_is_needed():
    found = 0
    for name, lines in TEXTS.items():
        # Those of programs (grid.memfence) order what only the program knows of.
        if name.startswith("ptx_simt"):
            continue
        for number, line in enumerate(lines):
            if "membar" in line:
                found += 1
                assert faults(lines[:number] + lines[number + 1 :]), f"{name}: {number}: {line}"
    assert found >= 10


def test_orders_are_named():
    lines = TEXTS["ptx_atomics 0"]
    for order in ("acquire.gpu", "release.gpu", "acq_rel.gpu", "relaxed.sys"):
        changed = [line.replace("atom.global.add", f"atom.{order}.global.add") for line in lines]
        assert changed != lines
        assert "order" in faults(changed)[0]
    assert "order" in faults([*lines[:-2], "fence.acq_rel.gpu;", *lines[-2:]])[0]


def test_guarded_barriers_are_named():
    for name, text in (("ptx_simt 0", "bar.sync"), ("ptx_simt 1", "vote.sync.ballot")):
        changed = [line.replace(text, f"@%p1 {text}") for line in TEXTS[name]]
        assert changed != TEXTS[name]
        assert "guarded" in faults(changed)[0]


def loop(condition):
    """A barrier that threads come to if %r1 is not 0, in a loop whose rounds are the grid's."""
    return f"""
.visible .entry k(
)
{{
    mov.u32 %r9, %tid.x;
$L__round:
    setp.ge.s32 %p1, %r9, 1000;
    @%p1 bra $L__end;
    {condition}
    setp.eq.s32 %p2, %r1, 0;
    @%p2 bra $L__next;
    bar.sync 0;
$L__next:
    add.s32 %r9, %r9, 128;
    bra.uni $L__round;
$L__end:
    ret;
}}
""".splitlines()


def test_barriers_that_some_threads_come_to_are_named():
    assert ptx_lint.problems("\n".join(loop("ld.u32 %r1, [%rd1];")), is_runtime=True) == []
    for condition in (
        "ld.global.u32 %r1, [%rd1];",
        "mov.u32 %r1, %laneid;",
        "add.s32 %r1, %r9, 1;",
    ):
        assert "threads part at @%p2" in faults(loop(condition))[0]
    for condition in ("ld.param.u32 %r1, [k_param_0];", "vote.sync.any.pred %r1, %p3, -1;"):
        assert faults(loop(condition)) == []


def test_functions_with_a_fence_are_fences():
    lines = """
.func wait(
)
{
    membar.gl;
    ret;
}
.visible .entry k(
)
{
    st.global.u32 [%rd1], %r1;
    call.uni
    wait,
    (
    );
    st.volatile.u32 [%rd2], %r2;
    ret;
}
""".splitlines()
    assert faults(lines) == []
    assert "no membar between" in faults([line for line in lines if "membar" not in line])[0]


WAITING = """
.func wait_for_blocks(
)
{
    ld.volatile.u32 %r1, [%rd1+8];
    membar.gl;
    atom.add.u32 %r3, [%rd1], 1;
    setp.eq.s32 %p2, %r3, %r5;
    @%p2 bra $L__last;
$L__wait:
    nanosleep.u32 32;
    ld.volatile.u32 %r7, [%rd1+8];
    setp.eq.s32 %p4, %r7, %r1;
    @%p4 bra $L__wait;
    bra.uni $L__end;
$L__last:
    atom.exch.b32 %r8, [%rd1], 0;
    membar.gl;
    add.s32 %r9, %r1, 1;
    st.volatile.u32 [%rd1+8], %r9;
$L__end:
    membar.gl;
    ret;
}
"""
MARKS = """
.func clears(
)
{
    ld.volatile.u32 %r1, [%rd1+16];
    st.volatile.u64 [%rd1+192], %rd2;
    membar.gl;
    st.volatile.u32 [%rd1+16], 0;
    ret;
}
.func looks(
)
{
    ld.volatile.u32 %r1, [%rd3+16];
    membar.gl;
    ld.volatile.u64 %rd4, [%rd5+192];
    ret;
}
"""
HANDED_OVER = """
.func clears_what_others_retired(
)
{
    st.shared.u64 [%rd1], %rd2;
    membar.gl;
    bar.sync 0;
    ld.shared.u64 %rd3, [%rd4];
    add.s64 %rd5, %rd3, %rd6;
    st.u64 [%rd5], %rd7;
    membar.gl;
    bar.sync 0;
    ret;
}
"""


@pytest.mark.parametrize("text", [WAITING, MARKS, HANDED_OVER])
def test_each_fence_of_the_runtimes_patterns_is_needed(text):
    lines = text.splitlines()
    assert faults(lines) == []
    fences = [number for number, line in enumerate(lines) if "membar" in line]
    for number in fences:
        assert len(faults(lines[:number] + lines[number + 1 :])) == 1, number
    assert len(fences) >= 2


def test_missing_functions_are_named():
    lines = [line for line in TEXTS["ptx_activation 0"] if "kiln_cuda_activate" in line]
    assert lines
    text = "\n".join(TEXTS["ptx_activation 0"]).replace(
        ".func  (.param .b64 func_retval0) kiln_cuda_activate(", ".func  (.param .b64 f) other("
    )
    assert "kiln_cuda_activate is called and not defined" in ptx_lint.problems(text)
