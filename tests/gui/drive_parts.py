# SPDX-License-Identifier: MIT
"""The preview of a layer that is held in parts: drive_parts.py WORK, with GRAINLESS_HOST_MEMORY=1."""
import os
import pathlib
import sys
import time

import numpy as np

import desktop
from desktop import wait_for
from drive_live import Live
from drive_view import xdotool
from places import places
from session import Session
from steps import main as run

WIDTH, HEIGHT = 760, 520  # larger than a mebibyte, and yet the preview shows all of it
PLACES = ((0.1, 0.1), (0.9, 0.2), (0.5, 0.5), (0.2, 0.9), (0.9, 0.95), (0.1, 0.1))  # to go to, shares of the layer


def at_full_size(session):
    live = Live(session, settle=False)
    live.window.pick("Zoom", "100")
    live.window.pick("View", "Result")
    wait_for("the exact preview", lambda: live.window.label("Preview by"), 120)
    return live


def shows_what_ok_gives(session, precision, *change):
    session.ask("open_layer", WIDTH, HEIGHT, precision, 12)
    if change:
        session.ask(*change)
    at_full_size(session).compare_with_ok(0.001 if precision == "float" else 0)


def shows_every_place(session, *coarse):
    """Far more than is held: each place that was looked at is what OK gives there. Coarse noise asks for far more around a
    place than white noise does, which is known only when it is measured."""
    session.ask("open_coloured", 1600, 1200, "u8", None, False, *coarse)
    live = at_full_size(session)
    if coarse:
        live.window.pick("Preset", "Camera JPEG")
        wait_for("the exact preview", lambda: live.window.label("Preview by"), 240)
    shots = []
    x, y, width, height = desktop.extents(live.window.area("Overview"))
    for across, down in PLACES:
        xdotool("mousemove", x + round(across * width), y + round(down * height), "click", 1)
        time.sleep(0.5)
        wait_for("the exact preview", lambda: live.window.label("Preview by"), 240)
        shots.append(live.window.shot()[40:-40, 40:-40])
    assert np.array_equal(shots[0], shots[-1]), "the same place shows something else"
    live.window.pick("Zoom", "Fit")
    wait_for("a reduced preview", lambda: live.window.label("Coarse preview", "Preview by"), 60)
    assert len(np.unique(live.window.shot().reshape(-1, 3), axis=0)) > 500, "nothing is shown at Fit"
    live.leave("OK")
    pixels = live.pixels().astype(np.int16)
    for shot in shots:
        picture = shot.astype(np.int16)
        found = [place for place in places(pixels, picture, 0)
                 if np.array_equal(pixels[place[0]:place[0] + len(picture), place[1]:place[1] + picture.shape[1]], picture)]
        assert found, "a place is shown that OK gives nowhere"


def the_original_comes_back(session):
    """Parts that were forgotten are read again, at 100 % and reduced."""
    session.ask("open_coloured", 2400, 1600, "u8")
    live = at_full_size(session)
    live.window.pick("View", "Original")
    x, y, width, height = desktop.extents(live.window.area("Overview"))
    for zoom in ("100", "50"):
        live.window.pick("Zoom", zoom)
        shots = []
        for across, down in PLACES:
            xdotool("mousemove", x + round(across * width), y + round(down * height), "click", 1)
            time.sleep(1)
            shots.append(live.window.shot()[40:-40, 40:-40])
        assert np.array_equal(shots[0], shots[-1]), f"the same place shows something else at {zoom} %"
        greys = (shots[1].max(axis=-1) == shots[1].min(axis=-1)).mean()
        assert greys < 0.3, f"a third of the view at {zoom} % is empty"
    live.leave("Cancel")


def it_follows(session):
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 12)
    live = at_full_size(session)
    picture = live.picture()
    session.ask("brighten")
    wait_for("a brighter layer in the preview",
             lambda: not np.array_equal(live.picture(), picture) and live.window.settled(), 60)
    live.compare_with_ok()


def the_noise_is_measured(session):
    """The visible part, a selection, and the curve."""
    session.ask("open_layer", 2400, 1600, "u8", 15)
    session.ask("select", 100, 100, 1500, 1000)
    live = at_full_size(session)
    plot = live.window.area("Noise over brightness")
    wait_for("the diagram's points", lambda: "at brightness" in plot.get_description(), 60)
    button = live.window.widget("button", "Measure the selection")
    wait_for("a layer to measure", lambda: desktop.is_sensitive(button), 60)
    desktop.click(button)
    wait_for("the noise of the selection", lambda: live.window.label("Noise there"), 60)
    assert abs(live.window.number("Noise level") - 15) < 1.5, live.window.number("Noise level")
    assert "removed at brightness" not in plot.get_description(), plot.get_description()
    live.window.set_number("Shadows", 200)
    live.window.set_number("Highlights", 50)
    level = live.window.number("Noise level")
    wanted = [f"removed at brightness {tone}: {level * share:.1f}" for tone, share in ((0, 2), (255, 0.5))]
    wait_for("the bent curve in the diagram", lambda: all(text in plot.get_description() for text in wanted), 30)
    live.leave("Cancel")


def steps(session):
    for part in ("serve_live.py", "serve_colour.py"):
        session.ask("load", str(pathlib.Path(__file__).with_name(part)))
    for precision in ("u8", "u8-linear", "u16", "float"):
        yield f"{precision} in parts", lambda precision=precision: shows_what_ok_gives(session, precision)
    yield "a selection", lambda: shows_what_ok_gives(session, "u8", "select_feathered", 150, 90, 400, 300, 30)
    yield "every place", lambda: shows_every_place(session)
    yield "every place of coarse noise", lambda: shows_every_place(session, True)
    yield "the original comes back", lambda: the_original_comes_back(session)
    yield "the preview follows", lambda: it_follows(session)
    yield "the noise is measured", lambda: the_noise_is_measured(session)


def main():
    assert os.environ.get("GRAINLESS_HOST_MEMORY") == "1", "everything would be held whole"
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
