"""Machine-readable reports on each kernel, as JSON or as JUnit's XML.

--report=FILE.json   one object: see `as_json`
--report=FILE.xml    a test case for each kernel, which fails if the kernel did: see `as_junit`
"""

import dataclasses
import json
from xml.sax.saxutils import escape, quoteattr

from .. import whole_file
from .options import BadOption, check_folder


@dataclasses.dataclass
class Outcome:
    """The outcome of one instance of a kernel."""

    kernel: str
    key: str = ""
    target: str = ""  # such as x86-64-v3; "" is the machine's
    tier: str = ""  # the source of the code; "" if there is no code
    wait_seconds: float = 0.0
    compile_seconds: float = 0.0
    error: str = ""  # why it counts as failed
    why: tuple = ()  # after a miss: lines that compare its key with that of the nearest entry

    @property
    def is_hit(self):
        from ..events import is_hit

        return bool(self.tier) and is_hit(self.tier)


@dataclasses.dataclass
class Report:
    """The report of a command; `status` is its exit status."""

    command: str  # "run", "warm"
    subject: str  # the program or manifest
    outcomes: list
    seconds: float = 0.0
    status: int = 0

    @property
    def hits(self):
        return sum(outcome.is_hit for outcome in self.outcomes)

    @property
    def misses(self):
        return sum(bool(o.tier) and not o.is_hit for o in self.outcomes)

    @property
    def failed(self):
        return sum(bool(outcome.error) for outcome in self.outcomes)

    def write(self, paths):
        """Writes each file of `paths`, which `check_paths` has accepted. Raises OSError."""
        for path in paths:
            text = as_junit(self) if path.endswith(".xml") else json.dumps(as_json(self), indent=1)
            whole_file.write(path, (text + "\n").encode())


def check_paths(paths):
    """Raises BadOption unless each path has a known ending and an existing folder."""
    for path in paths:
        if not path.endswith((".json", ".xml")):
            raise BadOption(f"--report={path}: a file that ends with .json or .xml expected")
        check_folder("--report", path)


def as_json(report):
    """The report as {"command", "subject", "status", "seconds", "hits", "misses", "failed",
    "kernels": [{ "kernel", "key", "level", "tier", "hit", "wait_seconds", "compile_seconds",
    "error", "why"}]}"""
    return {
        "command": report.command,
        "subject": report.subject,
        "status": report.status,
        "seconds": round(report.seconds, 6),
        "hits": report.hits,
        "misses": report.misses,
        "failed": report.failed,
        "kernels": [
            {
                "kernel": o.kernel,
                "key": o.key,
                "level": o.target,
                "tier": o.tier,
                "hit": o.is_hit,
                "wait_seconds": round(o.wait_seconds, 6),
                "compile_seconds": round(o.compile_seconds, 6),
                "error": o.error,
                "why": list(o.why),
            }
            for o in report.outcomes
        ],
    }


def as_junit(report):
    """The report as a test suite with a case for each kernel. The case's name contains kernel,
    target and key; its time is the waiting time; its output is the source of the code."""
    name = quoteattr(f"kiln {report.command} {report.subject}")
    totals = f'tests="{len(report.outcomes)}" failures="{report.failed}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="kiln" {totals} time="{report.seconds:.6f}">',
        f'<testsuite name={name} {totals} skipped="0" time="{report.seconds:.6f}">',
    ]
    for outcome in report.outcomes:
        words = (outcome.kernel, outcome.target, outcome.key[:12])
        title = quoteattr(_plain(" ".join(word for word in words if word)))
        suite = quoteattr(_plain(report.subject))
        lines.append(f'<testcase classname={suite} name={title} time="{outcome.wait_seconds:.6f}">')
        if outcome.error:
            body = escape(_plain("\n".join([outcome.error, *outcome.why])))
            lines.append(f"<failure message={quoteattr(_plain(outcome.error))}>{body}</failure>")
        if outcome.tier:
            found = "hit" if outcome.is_hit else "miss"
            lines.append(f"<system-out>{found}: {escape(outcome.tier)}</system-out>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>"])


def _plain(text):
    """Removes the control characters that XML does not allow."""
    return "".join(c if c in "\n\t" or ord(c) >= 32 else "?" for c in text)
