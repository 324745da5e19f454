#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints 'N passed, N failed[, N skipped]' for the last 'meson test': count_tests.py MESON_LOGS…

Test cases count one by one where the program reports them (GoogleTest, TAP), other programs count
as one. A program that fails without naming a failed case (a crash, a time-out, a bad exit status)
counts as one failure more, and so does a folder without results. The status is 0 only when
something passed and nothing failed.

On stderr stand the failed programs, what they printed about it, and which programs took longest:
of a long CI run often only the end is kept.
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

GOOD = {"OK", "EXPECTEDFAIL"}
# What a test prints where a case fails: TAP's, GoogleTest's, unittest's and the sanitizers' lines.
FAILED_LINE = re.compile(
    r"^\s*not ok|^\[  FAILED  \]|: Failure$|^(FAIL|ERROR): |ERROR: \w*Sanitizer|runtime error: "
)
LINES_AFTER_FAILURE = 24
LINES_OF_A_PROGRAM = 60
LONGEST = 8


def case_result(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def reported_cases(junit):
    """Program → results of its cases.

    A suite is named 'project.program[.suite]'; programs without cases stand in the suite 'project'.
    """
    cases = collections.defaultdict(collections.Counter)
    for suite in ElementTree.parse(junit).getroot().iter("testsuite"):
        parts = suite.get("name").split(".")
        for case in suite.iter("testcase"):
            cases[parts[1] if len(parts) > 1 else case.get("name")][case_result(case)] += 1
    return cases


def failed(program):
    return program["result"] not in GOOD | {"SKIP"}


def telling_lines(program):
    """What a failed program printed around its failures; its last lines where it named none."""
    lines = (program.get("stdout", "") + "\n" + program.get("stderr", "")).splitlines()
    starts = [number for number, line in enumerate(lines) if FAILED_LINE.search(line)]
    if not starts:
        return lines[-LINES_AFTER_FAILURE:]
    wanted = sorted({n for start in starts for n in range(start, start + LINES_AFTER_FAILURE)})
    return [lines[n] for n in wanted if n < len(lines)][:LINES_OF_A_PROGRAM]


def tell(programs):
    for program in filter(failed, programs):
        print(f"{program['name']}: {program['result']}", file=sys.stderr)
        for line in telling_lines(program):
            print("  | " + line[:300], file=sys.stderr)
    longest = sorted(programs, key=lambda program: -program["duration"])[:LONGEST]
    times = ", ".join(f"{p['name'].split(' / ')[-1]} {p['duration']:.0f} s" for p in longest)
    print(f"longest: {times}", file=sys.stderr)


def count(logs):
    cases = reported_cases(logs / "testlog.junit.xml")
    with open(logs / "testlog.json", encoding="utf-8") as log:
        programs = [json.loads(line) for line in log]
    tell(programs)
    total = collections.Counter()
    for program in programs:
        results = cases[program["name"]]
        total += results
        if failed(program) and not results["failed"]:
            total["failed"] += 1
    return total


def main():
    total = collections.Counter()
    for logs in sys.argv[1:]:
        try:
            total += count(pathlib.Path(logs))
        except (OSError, ElementTree.ParseError, json.JSONDecodeError) as error:
            print(f"count_tests: no complete test results: {error}", file=sys.stderr)
            total["failed"] += 1
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}")
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
