#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/performance.md from tools/bench/results: performance.py ROOT [--check]

processor.json is what './dev bench --page' writes, processor-*.json that of other computers, card-*.json what
tools/card/page.sh prints on a computer with a card. --check only says whether the page is what they give."""

import json
import pathlib
import sys

from steps import fail

RESULTS, PAGE = "tools/bench/results", "docs/performance.md"

HEAD = """# Performance: what to expect, and how it compares

<!-- Made by tools/dev/performance.py from tools/bench/results: measure again rather than edit. -->

Seconds for a whole photograph on a processor and on a graphics card, and the same small pictures through other programs. All
details, and what was tried, are in [tools/bench/RESULTS.md](../tools/bench/RESULTS.md).
"""

FOOT = """## Measure it yourself

    ./dev bench --peers           # the table of programs on this computer
    ./dev bench --page            # that, the 24 megapixels, and this page

On a computer with a card, with `grainless-bench` on PATH, then `tools/dev/performance.py .` for the page:

    tools/card/page.sh > tools/bench/results/card-NAME.json

The first two install G'MIC from Debian, and OpenCV and bm3d from PyPI into an environment of their own under `build/bench`;
Grainless contains nothing of them. The licence of bm3d allows non-commercial use alone, so run it for that.
"""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def seconds(value):
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def measured(result):
    text = f"{result['date']}, {result['machine']}, {result['version']}. Command: `{result['command']}`."
    if "source" in result:
        text += f" Source: {result['source']}."
    if "load" in result:
        text += f" The machine's load was {result['load']:.1f}."
    return text + "\n"


def programs(result):
    """The table of programs, a picture a part."""
    parts = [
        "## Beside other programs\n",
        measured(result),
        f"""Pictures of 512×512 pixels (scikit-image's), Gaussian noise of σ = {result["sigma"]}, rounded to 8 bits: the same file
for all. Seconds are the processor's, of all cores together, medians of {result["runs"]} runs in turns; those of Grainless and
G'MIC are of whole processes with their files, those of OpenCV and bm3d of the call. Grainless and bm3d were told how strong the
noise is; OpenCV and G'MIC got the best of several strengths, by PSNR.
""",
    ]
    for name in dict.fromkeys(row["picture"] for row in result["peers"]):
        rows = [row for row in result["peers"] if row["picture"] == name]
        kind = "grey" if rows[0]["channels"] == 1 else "RGB"
        keys = ("program", "method")
        cells = [[*(row[key] for key in keys), seconds(row["processor_seconds"]), f"{row['psnr']:.2f} dB"] for row in rows]
        parts.append(table([f"{name}, {kind}", "method", "processor s", "PSNR"], cells))
    return parts


def large(result):
    rows = [[row["task"], seconds(row["processor_seconds"]), f"{row['peak_bytes'] / 2**20:.0f} MiB"] for row in result["large"]]
    return [
        f"### On a processor: {result['machine']}\n",
        measured(result),
        f"""Whole processes that read and write the file. Seconds are those of all {result["cores"]} cores together: on n idle
cores, wait for about an n-th of them.
""",
        table(["24 megapixels RGB, 8 bits", "processor s", "memory"], rows),
    ]


def card(result):
    rows = []
    for run in result["runs"]:
        for case in run["cases"]:
            bits = 8 * case["bytes_a_component"]
            parameters = case["parameters"]
            name = f"{parameters['method'].upper()}, {parameters['quality']}, {bits} bits a channel"
            rows.append([name, f"{case['kernels_ms']:.1f} ms", f"{case['total_ms']:.1f} ms"])
    return [
        f"### On {result['name']}\n",
        measured(result),
        "From pixels in memory to pixels in memory, medians of seven.\n",
        table(["24 megapixels RGB", "kernels", "with transfers"], rows),
    ]


def read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")


def page(root):
    results = root / RESULTS
    processor = read(results / "processor.json")
    parts = [HEAD, "## A photograph of 24 megapixels\n", *large(processor)]
    for path in sorted(results.glob("processor-*.json")):
        parts += large(read(path))
    for path in sorted(results.glob("card-*.json")):
        parts += card(read(path))
    return "\n".join([*parts, *programs(processor), FOOT])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        fail("performance.py takes the sources' folder and perhaps --check")
    root = pathlib.Path(sys.argv[1])
    path, text = root / PAGE, page(root)
    if sys.argv[2:]:
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            fail(f"{PAGE} isn't what {RESULTS} give: tools/dev/performance.py . makes it")
        return
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
