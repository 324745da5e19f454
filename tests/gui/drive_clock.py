# SPDX-License-Identifier: MIT
"""The preview is what OK gives, however GIMP's process converts pixels: drive_clock.py WORK, with a clock that lies"""
import os
import pathlib
import sys

import desktop
from desktop import click, find_all, wait_for
from drive_live import Live
from session import Session
from steps import main as run

WIDTH, HEIGHT = 700, 520
STARTS = 2  # of GIMP: each one measures anew


def shows_what_ok_gives(session, precision):
    """Then undoing leads back to the very pixels of before."""
    session.ask("open_layer", WIDTH, HEIGHT, precision, 12)
    session.ask("select_feathered", 150, 90, 400, 300, 30)
    before = session.ask("state")["pixels"]
    Live(session).compare_with_ok()
    click(wait_for("Undo", lambda: next(iter(find_all(desktop.application("gimp"), "menu item",
                                                      lambda name: name.startswith("Undo Grainless"))), None)))
    wait_for("the pixels of before", lambda: session.ask("state")["pixels"] == before, 20)


def steps(session, start):
    session.ask("load", str(pathlib.Path(__file__).with_name("serve_live.py")))
    for precision in ("u8", "u8-linear", "u16"):
        yield f"{precision} with a selection, start {start}", lambda p=precision: shows_what_ok_gives(session, p)


def main():
    assert os.environ.get("GRAINLESS_PAUSE_LIBRARY", "").endswith("grainless-clock.so"), "the clock is right"
    work, failed = pathlib.Path(sys.argv[1]), 0
    for start in range(1, STARTS + 1):
        os.environ["GRAINLESS_CLOCK"] = str(start)
        session = Session(work)
        failed |= run(session, steps(session, start))
    return failed


if __name__ == "__main__":
    sys.exit(main())
