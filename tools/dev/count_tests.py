#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints 'N passed, N failed[, N skipped]' for the last 'meson test': count_tests.py MESON_LOGS…

Test cases count one by one where the program reports them (GoogleTest, TAP), other programs count
as one. A program that fails without naming a failed case (a crash, a time-out, a bad exit status)
counts as one failure more, and so does a folder without results. The status is 0 only when
something passed and nothing failed.
"""

import collections
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

GOOD = {"OK", "EXPECTEDFAIL"}


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


def count(logs):
    cases = reported_cases(logs / "testlog.junit.xml")
    total = collections.Counter()
    with open(logs / "testlog.json", encoding="utf-8") as log:
        for line in log:
            program = json.loads(line)
            results = cases[program["name"]]
            total += results
            if program["result"] not in GOOD | {"SKIP"} and not results["failed"]:
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
