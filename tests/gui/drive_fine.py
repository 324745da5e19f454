# SPDX-License-Identifier: MIT
"""Controls, views, zoom and OK on a screen of fine pixels: drive_fine.py WORK, GDK_SCALE=2. Moving is tried on Wayland."""
import pathlib
import sys

import desktop
import drive_view as view
from session import Session
from steps import main as run


def steps(session):
    window = None

    def opens():
        nonlocal window
        window = view.every_control_shows(session)

    yield "every control changes the preview", opens
    yield "views", lambda: view.views_show_before_and_after(window)
    yield "zoom", lambda: view.zoom_enlarges(window)
    yield "OK gives what was shown", lambda: view.ok_gives_what_was_shown(window)


def main():
    assert desktop.SCALE > 1, "a screen like any other"
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
