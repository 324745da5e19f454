# SPDX-License-Identifier: MIT
"""The dialog on a Wayland display: drive_wayland.py WORK; GRAINLESS_WAYLAND says the display's scale.

At 100 % an image pixel is a device pixel; GIMP's canvas calls it 100 % where it is as many as the scale says. OK gives what
the preview shows; the mouse hits what it points at.
"""
import pathlib
import sys
import time

import numpy as np

import desktop
from desktop import wait_for
from drive_live import Live
from places import expect_same, place_of, resting_screen
from pointer import Pointer
from session import Session
from steps import main as run

WIDTH, HEIGHT = 240, 160


def is_wayland(session):
    """Nothing here has fallen back to X."""
    session.ask("open_coloured", WIDTH, HEIGHT, "u8")
    nodes, found = [desktop.sway("-t", "get_tree")], []
    while nodes:
        node = nodes.pop()
        found += [node["shell"]] if node.get("shell") else []
        nodes += node["nodes"] + node["floating_nodes"]
    assert found and set(found) == {"xdg_shell"}, found


def enlarged(picture):
    return picture.repeat(desktop.SCALE, axis=0).repeat(desktop.SCALE, axis=1)


def pixels_are_pixels(session):
    """Of canvas and dialog, before and after."""
    Pointer().move(5, 5)  # on the canvas it would have a brush's outline
    before = resting_screen()
    live = Live(session)
    live.window.pick("View", "Original")
    time.sleep(0.5)
    original = live.picture()
    place = place_of(before, enlarged(original))
    expect_same("original", before, place, enlarged(original))
    live.window.pick("Zoom", f"{100 * desktop.SCALE}")
    wait_for("the canvas's size", lambda: np.array_equal(
        live.window.picture(WIDTH * desktop.SCALE, HEIGHT * desktop.SCALE), enlarged(original)), 20)
    live.window.pick("Zoom", "100")
    live.window.pick("View", "Split")
    time.sleep(0.5)
    split = live.picture()
    live.window.pick("View", "Result")
    _, shown, after, _ = live.compare_with_ok()
    half = WIDTH // 2 - 12 * desktop.SCALE
    assert np.array_equal(split[:, -half:], shown[:, -half:]), "the split view's right half is no result"
    expect_same("result", resting_screen(), place, enlarged(after))


def inner(pixels, left=0, top=0):
    """Without what stands at the borders: words, and the sign of work."""
    edge = 80 * desktop.SCALE
    return pixels[edge + top:-edge + top, edge + left:-edge + left]


def alike(a, b):
    """But for the pointer, which the screen shows."""
    return a.shape == b.shape and (a != b).any(axis=-1).mean() < 0.004


def the_mouse_hits(session):
    """Holding shows the original, dragging moves by as many pixels, the line follows."""
    session.ask("open_coloured", 2400, 1600, "u8")
    live, pointer = Live(session, settle=False), Pointer()
    window = live.window
    button = window.widget("button", "Measure the visible part")
    wait_for("all of the layer", lambda: desktop.is_sensitive(button), 90)
    window.pick("View", "Original")
    time.sleep(1)
    original = window.shot()
    window.pick("View", "Result")
    wait_for("a result", lambda: not alike(inner(window.shot()), inner(original)), 60)
    x, y = window.middle()
    pointer.move(x, y)
    pointer.press()
    wait_for("the original while the button is held", lambda: alike(inner(window.shot()), inner(original)), 20)
    pointer.release()
    wait_for("the result after the button", lambda: not alike(inner(window.shot()), inner(original)), 20)
    window.pick("View", "Original")
    wait_for("the original", lambda: alike(inner(window.shot()), inner(original)), 20)
    pointer.move(x, y)
    pointer.press()
    for step in (20, 40, 60):
        pointer.move(x - step, y - step // 2)
    pointer.release()
    wait_for("the part 60 pixels further right and 30 further down",
             lambda: alike(inner(window.shot()), inner(original, 60, 30)), 20)
    moved = window.shot()
    window.pick("View", "Split")
    line = moved.shape[1] // 2
    beside = (slice(100, -100), slice(line + 40, line + 90))
    wait_for("the result right of the line", lambda: not alike(window.shot()[beside], moved[beside]), 20)
    pointer.move(x, y + 100)
    pointer.press()
    for step in (20, 60, 120):
        pointer.move(x + step, y + 100)
    pointer.release()
    wait_for("the line further right", lambda: alike(window.shot()[beside], moved[beside]), 20)
    live.leave("Cancel")


def steps(session):
    for part in ("serve_live.py", "serve_colour.py"):
        session.ask("load", str(pathlib.Path(__file__).with_name(part)))
    yield "the windows are Wayland's", lambda: is_wayland(session)
    yield "a pixel is a pixel", lambda: pixels_are_pixels(session)
    yield "the mouse hits", lambda: the_mouse_hits(session)


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
