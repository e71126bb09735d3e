"""The table of example programs: how it finds requirements and decides about agreement."""

import importlib
import pathlib
import sys
import types

import numpy as np
import pytest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module("compatibility")


def result(**changes):
    """A result of compare_with_taichi.compare in which everything agrees."""
    agreed = {"exit": (0, 0), "wrong": [], "output": True, "noise": 0.0}
    return {**agreed, "fields": 1, "images": 0, "files": 0, "lines": 0, **changes}


@pytest.mark.parametrize(
    "source, needs",
    [("import wget", "a downloaded model")],
)
def test_programs_with_missing_requirements_are_not_run(tool, tmp_path, source, needs):
    path = tmp_path / "program.py"
    path.write_text(source)
    row = tool.row_of("program", path, None)
    assert row == ("program", needs, "no", "–", "–", f"not there yet: {needs}")


def test_verdicts(tool):
    assert tool.verdict(result(), {}) == "yes"
    assert tool.verdict(result(exit=(0, 1)), {}) == "no"
    assert tool.verdict(result(wrong=["field/x: shape"]), {}) == "no"
    assert tool.verdict(result(output=False), {}) == "no"
    assert tool.verdict(result(output=False), {"output": False}) == "yes"
    assert tool.verdict(result(exit=(-11, 0)), {}) == "–"
    assert tool.verdict(result(fields=0), {}).startswith("–")
    assert tool.verdict(result(fields=0, lines=3), {}) == "yes"
    wrong = ["gui/0000/0002/image/image[0]: 1, 2; 50% differ"]
    assert tool.verdict(result(wrong=wrong), {"images": ("0000", "0001")}) == "yes"
    assert tool.verdict(result(wrong=wrong), {"images": ("0002",)}) == "no"


def test_reasons_name_what_differs(tool):
    wrong = ["field/x[0]: 1, 2; 5% differ", "field/x: only one has it", "file a.ply: differs"]
    assert tool.reasons(result(wrong=wrong)) == ["differs: field/x, file a.ply"]
    assert tool.reasons(result(exit=(0, 1))) == ["Kiln ends with status 1"]
    assert tool.reasons(result(exit=(3, 0))) == ["Taichi ends with status 3"]


def test_document_counts(tool):
    rows = [
        ("a", "–", "yes", "yes", "no", "on CUDA: differs: x"),
        ("b", "–", "yes", "no", "no", "output differs"),
        ("c", "graphs", "no", "–", "–", "not there yet: graphs"),
    ]
    text = tool.document(rows)
    assert "3 programs: 2 run, 1 of them agree, 0 on CUDA; 1 wait" in text
    assert "| b | – | yes | no | no | output differs |" in text


def test_files_are_compared(tool, tmp_path):
    for side, text in (("taichi", b"1"), ("kiln", b"2")):
        folder = tmp_path / f"{side}_files"
        folder.mkdir()
        for name in ("same.ply", "other.ply", "picture.png"):
            (folder / name).write_bytes(b"0" if name == "same.ply" else text)
    (tmp_path / "kiln_files" / "more.txt").write_bytes(b"")
    count, wrong = tool.compare_with_taichi.compare_files(tmp_path)
    assert count == 3
    assert wrong == ["file more.txt: only one run wrote it", "file other.ply: differs"]


def test_struct_fields_are_flattened_and_back(tool):
    compare = tool.compare_with_taichi
    value = {"a": np.arange(3), "b": {"c": np.ones(2)}}
    flat = {}
    compare._flatten("field", value, flat)
    assert sorted(flat) == ["field.a", "field.b.c"]
    back = compare._unflatten("field", flat)
    np.testing.assert_array_equal(back["b"]["c"], value["b"]["c"])
    assert compare._unflatten("other", flat) is None


def test_ignored_fields_are_not_read(tool, tmp_path, monkeypatch):
    compare = tool.compare_with_taichi
    program = tmp_path / "program.py"
    program.write_text("")
    options = types.SimpleNamespace(programs=[program], ignore=["r"])
    fields = {name: types.SimpleNamespace(to_numpy=lambda: np.zeros(3)) for name in "rx"}
    monkeypatch.setattr(compare, "fields_of", dict)
    assert list(compare._States(options, None).read(fields)) == ["field/x"]
