#!/usr/bin/python3
"""Builds the documentation as a site of HTML pages, for reading without a network.

    tools/make_site.py FOLDER

Writes README.md, the pages beside it, docs/, the files to which they link, and the API reference.
Needs mkdocs (Debian's). Ends with status 1 if a link leads nowhere.
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import api_reference
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
API = "docs/api"  # made, not written: see api_reference.py
# The menu. Pages that are not in it are reached by links.
MENU = {
    "Kiln": "index.md",
    "Packages": "docs/install.md",
    "Language": "docs/language",
    "Gradients": "docs/gradients.md",
    "Modules": "docs/modules.md",
    "C++": "docs/cpp.md",
    "API": API,
    "Servers": "docs/operations.md",
    "Taichi's programs": ["docs/gallery.md", "docs/compatibility.md", "docs/differences.md"],
    "Performance": "docs/performance.md",
    "Inside": ["docs/architecture.md", "docs/how_to.md", "CONTRIBUTING.md"],
    "Versions": ["docs/support.md", "CHANGELOG.md", "SECURITY.md"],
}
_LINK = re.compile(r"\[([^]]*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


class Collector:
    """Copies pages and what they link to into a folder that mkdocs takes."""

    def __init__(self, folder):
        self._folder = folder
        self._done = set()

    def add(self, page):
        """Adds a page by its path below the root, and all that it links to."""
        if page in self._done:
            return
        self._done.add(page)
        text = (ROOT / page).read_text()
        to = self._folder / ("index.md" if page == "README.md" else page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(_LINK.sub(lambda link: self._link(page, link), text))

    def _link(self, page, link):
        text, target, anchor = link[1], link[2], link[3] or ""
        if not target:
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        file = ROOT / path
        if file.is_dir():
            inside = f"{path}/README.md"
            if not (ROOT / inside).exists():
                return text  # there is no page of a folder
            path, target = inside, os.path.join(target, "README.md")
        if path.endswith(".md"):
            self.add(path)
            if path == "README.md":
                target = os.path.join(os.path.dirname(target), "index.md")
            return f"[{text}]({target}{anchor})"
        # Browsers show text files; they would download sources.
        is_text = file.suffix not in (".png", ".svg")
        copy = self._folder / (path + ".txt" if is_text else path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        return f"[{text}]({target}{'.txt' if is_text else ''}{anchor})"


def menu():
    found = []
    for title, pages in MENU.items():
        if pages == API:
            pages = list(api_reference.pages())
        if isinstance(pages, str) and (ROOT / pages).is_dir():
            names = sorted(file.name for file in (ROOT / pages).glob("*.md"))
            names.sort(key=lambda name: name != "README.md")
            pages = [f"{pages}/{name}" for name in names]
        found.append({title: pages})
    return found


def build(folder, out):
    """Builds the site from pages in `folder`."""
    config = {
        "site_name": "Kiln",
        "docs_dir": str(folder),
        "site_dir": str(out),
        "theme": {"name": "mkdocs", "highlightjs": False},
        "use_directory_urls": False,
        "nav": menu(),
        "markdown_extensions": [{"toc": {"slugify": slug}}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        # mkdocs imports the function from this file.
        file.write(yaml.dump(config).replace("__main__.slug", "make_site.slug"))
        file.flush()
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", file.name]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
        return subprocess.run(command, env=environment).returncode == 0


def slug(text, separator):
    """The anchor of a heading, as GitHub makes it."""
    kept = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return kept.replace(" ", separator)


class _Page(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.add(attributes.get("id"))
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])


def broken_links(out):
    """(page, link) of all links to files or headings that do not exist."""
    pages = {file: _Page(file) for file in out.rglob("*.html")}
    for file, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve()
            target = target if parts.path else file
            if not target.is_file() or (
                parts.fragment and target in pages and parts.fragment not in pages[target].anchors
            ):
                yield str(file.relative_to(out)), link


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(pathlib.Path(folder))
        for page in PAGES:
            collector.add(page)
        for file in sorted((ROOT / "docs").rglob("*.md")):
            collector.add(str(file.relative_to(ROOT)))
        for page, text in api_reference.pages().items():
            (pathlib.Path(folder) / page).parent.mkdir(parents=True, exist_ok=True)
            (pathlib.Path(folder) / page).write_text(text)
        if not build(pathlib.Path(folder), out):
            sys.exit(1)
    (out / "404.html").unlink()  # for servers; its links need a site at the root of one
    broken = sorted(set(broken_links(out)))
    for page, link in broken:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
