"""The documentation as a site: it builds, and its links lead to pages and headings that exist."""

import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "make_site.py"


def tool():
    sys.path.insert(0, str(TOOL.parent))  # for its own imports
    spec = importlib.util.spec_from_file_location("make_site", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_builds(tmp_path):
    done = subprocess.run([TOOL, tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {str(page.relative_to(tmp_path / "site")) for page in tmp_path.rglob("*.html")}
    assert {"index.html", "docs/language/data.html", "SECURITY.html"} <= pages
    api = tmp_path / "site" / "docs" / "api"
    assert "ti.graph.GraphBuilder" in (api / "ti.graph.html").read_text()
    assert "kiln_context_new" in (api / "kiln.h.html").read_text()
    # Sources are shown as text.
    assert (tmp_path / "site" / "examples" / "cpp" / "throw.cc.txt").exists()


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="one"></h1><a href="b.html"><a href="a.html#one"><a href="#two">'
        '<a href="https://example.org/"><img src="c.png">'
    )
    found = tool().broken_links(tmp_path)
    assert sorted(found) == [("a.html", "#two"), ("a.html", "b.html"), ("a.html", "c.png")]


def test_anchors_are_those_of_github():
    slug = tool().slug
    assert slug("What a gradient kernel does", "-") == "what-a-gradient-kernel-does"
    assert slug("`ti.static`: loops, ifs", "-") == "tistatic-loops-ifs"
