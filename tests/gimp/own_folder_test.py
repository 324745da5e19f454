#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two runs of one test at a time don't work in one folder."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import own_folder


def main():
    with tempfile.TemporaryDirectory() as parent:
        wanted = pathlib.Path(parent) / "gui"
        first, lock = own_folder(wanted)
        second, _other = own_folder(wanted)
        assert (first, second) == (wanted, wanted.with_name("gui-2")), (first, second)
        lock.close()
        third, _again = own_folder(wanted)
        assert third == wanted, third


main()
