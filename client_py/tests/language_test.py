"""Runs the tables of language_cases and error_cases, and what needs more than a row."""

import error_cases
import kiln as ti
import language_cases
import pytest


@pytest.fixture(autouse=True)
def fresh_runtime():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@pytest.mark.parametrize(
    "function, expected", [pytest.param(f, e, id=f.__name__) for f, e in language_cases.CASES]
)
def test_answers_as_the_reference(function, expected):
    assert function() == expected


@pytest.mark.parametrize(
    "function, kind, pieces", [pytest.param(*row, id=row[0].__name__) for row in error_cases.ERRORS]
)
def test_refuses_with_place_and_reason(function, kind, pieces):
    with pytest.raises(kind) as raised:
        function()
    text, at = str(raised.value), 0
    for piece in pieces:
        at = text.find(piece, at)
        assert at >= 0, f"{piece!r} is missing, or out of order, in:\n{text}"


def test_error_names_file_line_source_and_caret():
    @ti.kernel
    def k():
        a = 1
        a[0] = 2

    with pytest.raises(ti.TaichiSyntaxError) as raised:
        k()
    line = k.source.first_line + 3
    assert str(raised.value).splitlines()[1:4] == [
        f'File "{__file__}", line {line}, in k:',
        "        a[0] = 2",
        "        ^^^^^^^^",
    ]


# Deliberate differences from the reference (docs/differences.md).


def test_operands_are_evaluated_left_to_right():
    x = ti.field(ti.i32, ())

    @ti.func
    def bump(a: ti.template(), by):
        a += by
        return a

    @ti.kernel
    def k() -> ti.i32:
        a = 1
        return a + bump(a, 1)

    @ti.kernel
    def m() -> ti.i32:
        return x[None] * 1000 + bump(x[None], 5) * 10 + x[None]

    x[None] = 1
    assert k() == 3
    assert m() == 1066


def test_operands_of_choices_run_only_when_chosen():
    x = ti.field(ti.i32, ())

    @ti.func
    def count():
        x[None] += 1
        return 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        r = count() if a > 0 else 0
        if a > 0 and count() == 1:
            r += 1
        if a == 0 or count() == 1:
            r += 1
        return r

    assert [k(0), x[None]] == [1, 0]
    assert [k(1), x[None]] == [3, 3]


def test_bools_add_as_integers():
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return (a > 0) + (b > 0)

    assert k(1, 1) == 2


def test_functions_with_comments_at_column_zero():
    class Thing:
        @ti.kernel
        def run(self) -> ti.i32:
            a = 1
            # a comment at column 0, as some editors leave it
            text = """
no indent here
"""
            ti.static_assert(text == "\nno indent here\n")
            return a + 1

    assert ti.data_oriented(Thing)().run() == 2


def test_dynamic_break_in_static_loop_of_an_inner_loop():
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for _ in range(1):
            for i in ti.static(range(3)):
                for j in range(10):
                    if j > i:
                        break
                    s += 1
        return s

    assert k() == 6
