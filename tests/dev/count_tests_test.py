#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/dev/count_tests.py against Meson itself: a project of small scripts that end in every way a
test can end."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT_TESTS = pathlib.Path(__file__).parents[2] / "tools/dev/count_tests.py"

GTEST_REPORT = """<testsuites><testsuite name="Suite" tests="3" failures="1" skipped="1">
<testcase name="good" status="run" result="completed"/>
<testcase name="bad" status="run" result="completed"><failure message="no"/></testcase>
<testcase name="left-out" status="run" result="skipped"><skipped message="no"/></testcase>
</testsuite></testsuites>"""

# Name → protocol, script, and what it counts as: passed, failed, skipped.
ENDINGS = {
    "exit-good": ("exitcode", "exit 0", (1, 0, 0)),
    "exit-bad": ("exitcode", "exit 1", (0, 1, 0)),
    "exit-skip": ("exitcode", "exit 77", (0, 0, 1)),
    "exit-hang": ("exitcode", "sleep 30", (0, 1, 0)),
    "tap-good": ("tap", "printf 'ok 1 a\\nok 2 b # SKIP no\\n1..2\\n'", (1, 0, 1)),
    "tap-bad": ("tap", "printf 'ok 1 a\\nnot ok 2 b\\n1..2\\n'", (1, 1, 0)),
    "tap-crash": ("tap", "printf 'ok 1 a\\n1..1\\n'; exit 3", (1, 1, 0)),
    "gtest-bad": ("gtest", f"cat >gtest-bad.xml <<'X'\n{GTEST_REPORT}\nX\nexit 1", (1, 1, 1)),
    "gtest-crash": ("gtest", "kill -SEGV $$", (0, 1, 0)),
}


class CountTests(unittest.TestCase):
    def run_project(self, names, *more_logs):
        """What count_tests.py prints, and its status, for a Meson project of the named endings."""
        with tempfile.TemporaryDirectory() as folder:
            source, build = pathlib.Path(folder, "source"), pathlib.Path(folder, "build")
            source.mkdir()
            lines = ["project('sample', version: '1')"]
            for name in names:
                protocol, script, _ = ENDINGS[name]
                pathlib.Path(source, name).write_text(
                    "#!/bin/sh\n" + script + "\n", encoding="utf-8"
                )
                pathlib.Path(source, name).chmod(0o755)
                lines.append(
                    f"test('{name}', find_program('./{name}'), protocol: '{protocol}',"
                    f" suite: 's', timeout: {1 if name == 'exit-hang' else 60})"
                )
            pathlib.Path(source, "meson.build").write_text(
                "\n".join(lines) + "\n", encoding="utf-8"
            )
            subprocess.run(["meson", "setup", build, source], check=True, capture_output=True)
            subprocess.run(["meson", "test", "-C", build], check=False, capture_output=True)
            counted = subprocess.run(
                [sys.executable, COUNT_TESTS, build / "meson-logs", *more_logs],
                check=False,
                capture_output=True,
                text=True,
            )
            self.told = counted.stderr
            return counted.stdout.strip(), counted.returncode

    def test_every_ending_alone(self):
        for name, (_, _, (passed, failed, skipped)) in ENDINGS.items():
            with self.subTest(name):
                expected = f"{passed} passed, {failed} failed" + (
                    f", {skipped} skipped" if skipped else ""
                )
                self.assertEqual(
                    self.run_project([name]), (expected, 0 if passed and not failed else 1)
                )

    def test_all_endings_together(self):
        totals = [sum(counts) for counts in zip(*(counts for _, _, counts in ENDINGS.values()))]
        expected = "{} passed, {} failed, {} skipped".format(*totals)
        self.assertEqual(self.run_project(ENDINGS), (expected, 1))

    def test_failures_are_told_with_what_they_printed(self):
        self.run_project(["tap-bad", "exit-good"])
        self.assertIn("tap-bad: FAIL\n  | not ok 2 b\n", self.told)
        self.assertNotIn("exit-good: ", self.told)
        self.assertRegex(self.told, r"longest: .*exit-good \d+ s")

    def test_several_folders_are_summed(self):
        self.assertEqual(self.run_project(["exit-good"], "nowhere"), ("1 passed, 1 failed", 1))

    def test_no_log_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            counted = subprocess.run(
                [sys.executable, COUNT_TESTS, folder], check=False, capture_output=True, text=True
            )
        self.assertEqual((counted.stdout.strip(), counted.returncode), ("0 passed, 1 failed", 1))


if __name__ == "__main__":
    unittest.main()
