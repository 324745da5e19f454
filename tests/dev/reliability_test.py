#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page that tools/dev/reliability.py makes of a log, and what it answers."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "reliability.py"


def case(fault="device lost", stage="begin", front_end="cli", seen="done", ok=True):
    return {"fault": fault, "stage": stage, "front_end": front_end, "expected": "done", "seen": seen, "ok": ok}


class Page(unittest.TestCase):
    def make(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            log, page = pathlib.Path(folder, "log"), pathlib.Path(folder, "page.md")
            log.write_text("".join(json.dumps(c) + "\n" for c in cases), encoding="utf-8")
            done = subprocess.run([sys.executable, PROGRAM, log, page], capture_output=True, text=True, check=False)
            return done, page.read_text(encoding="utf-8")

    def test_every_front_end_has_its_table(self):
        done, page = self.make(case(), case(front_end="dialog"), case(front_end="batch", stage="end"))
        self.assertEqual(done.returncode, 0, done.stdout)
        for words in ("## The command line", "## The dialog in GIMP", "| device lost | end | done | done |"):
            self.assertIn(words, page)

    def test_a_failed_case_is_marked_and_fails(self):
        done, page = self.make(case(), case(stage="middle", seen="HANGS", ok=False))
        self.assertEqual(done.returncode, 1)
        self.assertIn("**HANGS**", page)
        self.assertIn("1 of 2 as expected", page)

    def test_a_case_that_fails_once_is_failed(self):
        for cases in ((case(ok=False), case()), (case(), case(ok=False))):
            self.assertIn("0 of 1 as expected", self.make(*cases)[1])

    def test_an_empty_log_is_a_failure(self):
        self.assertEqual(self.make()[0].returncode, 1)

    def test_folders_of_this_computer_are_left_out(self):
        page = self.make(case(seen="/home/x/build/y.so is old, /tmp/ab12 too, 24/32"))[1]
        self.assertIn("| …/y.so is old, … too, 24/32 |", page)

    def test_words_do_not_break_the_table(self):
        self.assertIn("a \\| b &lt;c", self.make(case(seen="a | b\n<c"))[1])


if __name__ == "__main__":
    unittest.main()
