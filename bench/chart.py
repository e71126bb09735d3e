"""Draws docs/images/start.svg, the chart of the README, from bench/results.

    ./kiln python bench/chart.py [--check]

--check only says, by the status, whether the chart is that of the results.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHART = ROOT / "docs" / "images" / "start.svg"

# What the chart says, and where it is: (text, file of bench/results, figure).
ROWS = (
    ("import and init", "startup", "import + init"),
    ("a first kernel, compiled before", "startup", "first tiny kernel, warm"),
    ("a program of 100 kernels, compiled before", "warm100", "warm"),
    ("a launch", "launch", "serial, scalar argument"),
)
SIDES = (("kiln", "Kiln", "#ed553b"), ("taichi", "Taichi", "#8a97a5"))
LEFT, WIDTH, ROW, BAR = 300, 300, 46, 14


def seconds_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            break
    number = seconds / size
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"


def chart():
    """The text of the SVG file. Each row has a scale of its own: Taichi's bar is the longest."""
    lines = []
    for number, (text, file, figure) in enumerate(ROWS):
        figures = json.loads((ROOT / "bench" / "results" / f"{file}.json").read_text())["figures"]
        most = max(figures[side][figure] for side, _, _ in SIDES)
        top = 34 + ROW * number
        lines.append(f'<text x="{LEFT - 12}" y="{top + BAR + 5}" text-anchor="end">{text}</text>')
        for place, (side, name, color) in enumerate(SIDES):
            seconds = figures[side][figure]
            width = max(WIDTH * seconds / most, 1)
            y = top + place * (BAR + 2)
            lines.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'
                f'<text x="{LEFT + width + 6:.1f}" y="{y + BAR - 3}">{seconds_text(seconds)}</text>'
            )
    for place, (_, name, color) in enumerate(SIDES):
        x = LEFT + 80 * place
        lines.append(
            f'<rect x="{x}" y="8" width="12" height="12" fill="{color}"/>'
            f'<text x="{x + 18}" y="19">{name}</text>'
        )
    height = 40 + ROW * len(ROWS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{height}" '
        'font-family="sans-serif" font-size="13" fill="#6e7781">\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def main():
    made = chart()
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if CHART.exists() and CHART.read_text() == made else 1)
    CHART.write_text(made)


if __name__ == "__main__":
    main()
