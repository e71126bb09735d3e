#!/usr/bin/python3
"""Shows what run.py found on a machine with a GPU, and keeps it.

    tools/gpu/report.py RESULTS.json... [--keep [NAME]]

Several files are of the same commit and machine, each with other parts. --keep: writes them as one
to docs/gpu-results/DATE-GPU.json, or DATE-GPU-NAME.json.
"""

import argparse
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--keep", nargs="?", const="")
    options = parser.parse_args()
    results = {}
    for path in options.results:
        found = json.loads(path.read_text())
        if found["commit"] != results.get("commit", found["commit"]):
            parser.error(f"{path} is of another commit")
        results.update(found)
    machine = results["machine"]
    print(f"{machine['gpu']}, {machine['date']}, commit {results['commit'][:12]}")
    sections = results.get("conformance", {})
    cases = sum(one["cases"] for one in sections.values())
    faults = {
        f"{section}.{name}": why
        for section, one in sections.items()
        for name, why in one["faults"].items()
    }
    print(f"{cases} cases, {len(faults)} faults")
    for name, why in faults.items():
        print(f"  {name}")
        print("".join(f"    {line}\n" for line in why.splitlines()[:20]), end="")
    for one in results.get("fuzz", []):
        print(f"{one['command']}: status {one['status']}")
        lines = one["output"].splitlines()
        print("".join(f"    {line}\n" for line in (lines if one["status"] else lines[-1:])), end="")
    show_checks(results.get("interop", {}))
    show_sanitizer(results.get("sanitizer", []))
    show_benchmarks(results.get("benchmarks", {}))
    show_benchmarks(results.get("libraries", {}))
    if options.keep is not None:
        gpu = re.sub(r"\W+", "-", machine["gpu"].split(",")[0]).strip("-").lower()
        name = "-".join(filter(None, (machine["date"], gpu, options.keep)))
        kept = ROOT / "docs" / "gpu-results" / f"{name}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(results, indent=1) + "\n")
        print(f"kept as {kept.relative_to(ROOT)}")


def show_checks(interop):
    """Those beside other libraries: how many passed, and the others with their reasons."""
    rows = interop.get("rows", [])
    if "error" in interop:
        print(f"interop: {interop['error']}")
    passed = sum(row["passed"] is True for row in rows)
    if rows:
        print(f"{passed} of {len(rows)} checks beside other libraries passed")
    for row in rows:
        if not row["passed"]:
            print(f"  {row['name']}: {'failed' if row['passed'] is False else 'not run'}")
            print("".join(f"    {line}\n" for line in row["why"].splitlines()[:20]), end="")


def show_sanitizer(rows):
    """Reports of compute-sanitizer by tool, then the sections that have some or did not end."""
    for tool in dict.fromkeys(row["tool"] for row in rows):
        own = [row for row in rows if row["tool"] == tool]
        ended = sum(row["status"] == "0" for row in own)
        errors = sum(row["errors"] for row in own)
        print(f"{tool}: {errors} reports; {ended} of {len(own)} sections ended")
    for row in rows:
        if row["errors"] or row["status"] != "0":
            kernels = ", ".join(f"{name} ({count})" for name, count in row["kernels"].items())
            print(f"  {row['tool']} {row['section']}: status {row['status']} {kernels}")
            print("".join(f"    {line}\n" for line in row["text"].splitlines()[:30]), end="")


def show_benchmarks(benchmarks):
    """A line for each row, with the ratio to the peers' time of the same name."""
    for implementation, found in benchmarks.items():
        if "error" in found:
            print(f"{implementation}: {found['error']}")
    times = {
        implementation: {row["name"]: time_of(row) for row in found["rows"]}
        for implementation, found in benchmarks.items()
    }
    for row in benchmarks.get("kiln", {}).get("rows", []):
        figures = [f"{key} {value:.4g}" for key, value in row.items() if key != "name"]
        for other in times:
            if other != "kiln" and times[other].get(row["name"]):
                ratio = time_of(row) / times[other][row["name"]]
                figures.append(f"{ratio:.2f} of the time of {other}")
        print(f"  {row['name']}: {', '.join(figures)}")


def time_of(row):
    return row.get("seconds") or row.get("microseconds")


if __name__ == "__main__":
    main()
