#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/reliability.md from what tests wrote to $GRAINLESS_FAULT_LOG. Usage: reliability.py LOG [PAGE]

Each line of the log is one case: {"fault", "stage", "front_end", "expected", "seen", "ok"}. Cases of one fault, stage and
front end are one row; without a page the log is only judged. Answers 1 if any case is not ok, or there is none."""
import json
import pathlib
import re
import sys

FRONT_ENDS = {"dialog": "The dialog in GIMP", "batch": "GIMP without a window (scripts, Repeat, several layers)",
              "cli": "The command line", "engine": "The engine below them", "card": "The engine on a card"}
HEAD = """# What happens when something breaks

Made by `./dev reliability` from the tests that break it; a row that is not as expected fails them. A run that fails,
is cancelled or killed leaves the layer or file as it was. What a card can't do, another card or the processor does, with
the same picture and the reason told.
"""


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def cell(text):
    """Without the folders of the computer that it was made on."""
    text = re.sub(r"/tmp/[\w-]+", "…", str(text))
    text = re.sub(r"(?<![\w./])/(?:[\w.+-]+/)+", "…/", text)
    return text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def merged(cases):
    """The last answer of each place, the failed one if there are both; in the order of the log."""
    rows = {}
    for case in cases:
        key = (case["front_end"], case["fault"], case["stage"])
        if key not in rows or rows[key]["ok"]:
            rows[key] = case
    return list(rows.values())


def page(cases):
    rows = merged(cases)
    parts = [HEAD]
    names = [*FRONT_ENDS, *sorted({row["front_end"] for row in rows} - set(FRONT_ENDS))]
    for name in names:
        of_front_end = [row for row in rows if row["front_end"] == name]
        if not of_front_end:
            continue
        good = sum(row["ok"] for row in of_front_end)
        parts.append(f"\n## {FRONT_ENDS.get(name, name)}\n\n{good} of {len(of_front_end)} as expected.\n\n"
                     "| fault | when | expected | seen |\n|---|---|---|---|\n")
        for row in of_front_end:
            seen = cell(row["seen"]) if row["ok"] else f"**{cell(row['seen'])}**"
            parts.append(f"| {cell(row['fault'])} | {cell(row['stage'])} | {cell(row['expected'])} | {seen} |\n")
    return "".join(parts)


def main(arguments):
    cases = read(arguments[0])
    if len(arguments) > 1:
        pathlib.Path(arguments[1]).write_text(page(cases), encoding="utf-8")
    bad = [case for case in cases if not case["ok"]]
    for case in bad:
        print(f"not ok: {case['front_end']}, {case['fault']}, {case['stage']}: {case['seen']}")
    print(f"{len(cases) - len(bad)} of {len(cases)} cases as expected")
    return 0 if cases and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
