# SPDX-License-Identifier: MIT
"""The dialog for stacks of layers: its preview, a layer at a time, stopping, OK, and one undo step: drive_stack.py WORK"""
import hashlib
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

import desktop
from desktop import click, find_all, is_sensitive, wait_for
from drive_view import HEIGHT, MARKS, WIDTH, View, everything_has_a_name, xdotool
from session import Session, items, keys
from steps import main as run

TITLE, PROCEDURE = "Grainless Denoise Layer Stack", "plug-in-grainless-denoise-stack"
# What works only by BM3D.
BM3D_ONLY = [("combo box", "Quality"), ("spin button", "Group size"), ("combo box", "Number of scales")]
FRAMES = 4
DEMO = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev"
# Control, value that must change the picture, value that comes next.
CONTROLS = [("Adjacent layers", 1, 3), ("Strength", 160, 100), ("Lightness noise", 20, 100), ("Colour noise", 20, 100),
            ("Detail given back", 80, 0), ("Search window", 5, 9), ("Patch size", 4, 0)]


def open_dialog(session):
    return View(session, TITLE, PROCEDURE)


def undo_item():
    found = find_all(desktop.application("gimp"), "menu item",
                     lambda name: name.startswith("Undo") and "History" not in name)
    return found[0] if found else None


def fingerprint(pixels):
    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()


def show_layer(window, name, before):
    window.pick("Layer", name)
    return window.changed(before, name)


def offers_what_it_has(session):
    frames = session.ask("open_stack", WIDTH, HEIGHT, FRAMES)
    window = open_dialog(session)
    window.settled()
    everything_has_a_name(window)
    assert window.label("The 4 selected layers are denoised together."), window.labels()
    names = items(window.widget("combo box", "Layer"))
    assert names == [f"frame {number}" for number in range(FRAMES, 0, -1)], names
    assert window.selected("Layer") == "frame 1"
    assert window.number("Adjacent layers") == 3
    assert window.selected("Method") == "BM3D (best quality)"
    assert not is_sensitive(window.widget("spin button", "Noise level"))
    for role, name in BM3D_ONLY:
        assert is_sensitive(window.widget(role, name)), name
    picture = window.picture()
    window.pick("Method", "Non-Local Means")
    window.changed(picture, "Non-Local Means")
    for role, name in BM3D_ONLY:
        assert not is_sensitive(window.widget(role, name)), name
    return window, frames


def layers_show_their_own(window, frames):
    """The original and the result of whichever layer is chosen; the others' never."""
    seen = {}
    picture = window.picture()
    for number in (3, 1, 4, 2):
        picture = show_layer(window, f"frame {number}", picture)
        seen[number] = picture
        window.pick("View", "Original")
        wait_for(f"the original of frame {number}",
                 lambda: fingerprint(window.picture()) == frames["all"][number - 1], 20)
        original = window.picture().astype(int)
        window.pick("View", "Removed noise")
        times = int(wait_for("the factor", lambda: window.label("Removed noise ×")).split("×")[1])
        expected = np.clip(128 + times * (original - seen[number]), 0, 255)
        wait_for(f"{times} times the difference", lambda: np.array_equal(window.picture(), expected), 20)
        window.pick("View", "Result")
        wait_for("the result again", lambda: np.array_equal(window.picture(), seen[number]), 20)
    assert len({fingerprint(one) for one in seen.values()}) == FRAMES
    window.pick("View", "Split")
    half = WIDTH // 2 - 12  # beside the line and its knob
    wait_for("both halves", lambda: fingerprint(window.picture()[:, -half:]) == fingerprint(seen[2][:, -half:])
             and not np.array_equal(window.picture()[:, :half], seen[2][:, :half]), 20)
    window.pick("View", "Result")
    wait_for("the result", lambda: np.array_equal(window.picture(), seen[2]), 20)


def every_control_shows(window):
    click(window.widget("toggle button", "Advanced tweaks"))
    picture = window.picture()
    for name, value, after in CONTROLS:
        window.set_number(name, value)
        picture = window.changed(picture, f"{name} = {value}")
        window.set_number(name, after)
        picture = window.changed(picture, f"{name} = {after}")
    window.pick("Weight of the centre pixel", "Zero")
    picture = window.changed(picture, "the centre's weight")
    click(window.widget("check box", "Measure the noise automatically"))
    wait_for("the noise level", lambda: is_sensitive(window.widget("spin button", "Noise level")), 10)
    window.set_number("Noise level", 33)
    picture = window.changed(picture, "the noise level")
    button = window.widget("button", "Measure the visible part")
    wait_for("a layer to measure", lambda: is_sensitive(button), 20)
    click(button)
    wait_for("the noise of the layer", lambda: window.label("Noise there"), 20)
    wait_for("another noise level", lambda: window.number("Noise level") != 33, 10)
    window.changed(picture, "the measured noise level")


def presets_set_what_applies(window):
    names = items(window.widget("combo box", "Preset"))
    assert "Light" in names and "Maximum quality" in names, names
    adjacent = window.number("Adjacent layers")
    window.choose("Preset", "Light")
    wait_for("detail", lambda: window.number("Detail given back") == 40, 10)
    assert window.number("Search window") == 0 and window.number("Adjacent layers") == adjacent
    assert window.selected("Preset") == "Light"
    window.choose("Preset", "Standard")
    wait_for("no detail", lambda: window.number("Detail given back") == 0, 10)
    assert window.selected("Preset") == "Standard"
    window.set_number("Strength", 110)
    wait_for("own settings", lambda: window.selected("Preset") == "Your own settings", 10)


def the_keyboard_is_enough(window):
    """Mnemonics reach the list of layers, Page Up and Page Down step through it, Space shows the original."""
    window.settled()
    window.focus_preview()
    picture = window.picture()
    assert window.selected("Layer") == "frame 2"
    for key, name in (("Page_Up", "frame 3"), ("Page_Up", "frame 4"), ("Page_Down", "frame 3")):
        keys(key)
        wait_for(name, lambda: window.selected("Layer") == name, 10)
        picture = window.changed(picture, name)
    keys("Page_Up", "Page_Up", "Page_Up")  # there is none above
    wait_for("the top one", lambda: window.selected("Layer") == "frame 4", 10)
    picture = window.changed(picture, "frame 4")
    xdotool("keydown", "space")
    wait_for("the original while Space is held", lambda: not np.array_equal(window.picture(), picture), 20)
    xdotool("keyup", "space")
    wait_for("the result after Space", lambda: np.array_equal(window.picture(), picture), 20)
    keys("alt+e")
    time.sleep(0.3)
    keys("Down")  # opens the list where the theme's lists are menus
    time.sleep(0.3)
    keys("Down", "Return")
    wait_for("another layer", lambda: window.selected("Layer") != "frame 4", 10)
    window.settled()


def ok_gives_what_was_shown(window, frames):
    """Every layer gets exactly the pixels that the preview has shown of it."""
    shown, picture = [], window.picture()
    for number in range(1, FRAMES + 1):
        if window.selected("Layer") != f"frame {number}":
            picture = show_layer(window, f"frame {number}", picture)
        window.settled()
        shown.append(fingerprint(picture))
    answer = window.end("OK")
    assert answer["status"] == "success" and answer["dirty"], answer
    assert answer["all"] == shown and not set(shown) & set(frames["all"]), (answer, shown)


def parts_are_the_wholes(session):
    """What is computed for the visible part of larger layers, here grey ones, is what OK gives there."""
    width, height, count = 1300, 1000, 3
    session.ask("open_stack", width, height, count, True)
    window = open_dialog(session)
    window.set_number("Search window", 7)
    shown = []
    for number in range(1, count + 1):
        window.pick("Layer", f"frame {number}")
        time.sleep(0.5)  # longer than the preview's own delay after a change
        window.settled()
        shown.append(window.shot()[MARKS:])
    assert window.end("OK")["status"] == "success"
    for index, picture in enumerate(shown):
        path = session.work / f"layer{index}.raw"
        session.ask("write_pixels", index, str(path))
        whole = np.frombuffer(path.read_bytes(), np.uint8).reshape(height, width, 3)
        rows, columns = picture.shape[:2]
        assert rows < height - MARKS and columns < width
        places = [((height - rows - MARKS) // 2 + MARKS + y, (width - columns) // 2 + x)
                  for y in range(-1, 2) for x in range(-1, 2)]  # the middle, wherever halves are rounded to
        assert any(np.array_equal(whole[y:y + rows, x:x + columns], picture) for y, x in places), index


def the_diagram_shows_the_means_noise(session):
    """Still layers are averaged, and their mean is filtered by the noise of each brightness."""
    make = "import demo, pathlib, sys; print(*demo.make_burst(pathlib.Path(sys.argv[1]), 4), sep='\\n')"
    made = subprocess.run([sys.executable, "-c", make, session.work], cwd=DEMO, capture_output=True, text=True, check=True)
    session.ask("open_file", *made.stdout.split())
    window = open_dialog(session)
    plot = window.area("Noise over brightness")
    wait_for("the diagram's points", lambda: "at brightness" in plot.get_description(), 60)
    text = plot.get_description()
    removed = [float(value) for value in re.findall(r"removed at brightness \d+: ([\d.]+)", text)]
    assert removed and removed[0] > 1.2 * removed[-1] > 0, text
    assert window.end("Cancel")["status"] == "cancel"


def cancel_changes_nothing(session):
    """While the preview of a large stack is being read and computed."""
    before = session.ask("open_stack", 2400, 1600, 3)
    window = open_dialog(session)
    window.pick("Layer", "frame 3")
    start = time.monotonic()
    window.press("Cancel")
    answer = window.gone()
    assert time.monotonic() - start < 20
    assert answer["status"] == "cancel" and answer["all"] == before["all"] and not answer["dirty"], answer
    # Large enough to be stopped: three layers of 700 x 500 are done in a second.
    return session.ask("open_layer", 2000, 1500, "u8", 12, 3)


def stops(session, before):
    """Cancel during the work leads back to the dialog, and no layer has changed."""
    window = open_dialog(session)
    window.set_number("Search window", 63)
    window.set_number("Adjacent layers", 15)
    ok = window.widget("button", "OK")
    click(ok)
    wait_for("the work", lambda: not is_sensitive(ok), 20)
    window.press("Cancel")
    wait_for("the dialog after the work", lambda: is_sensitive(ok))
    answer = window.end("Cancel")
    assert answer["all"] == before["all"] and not answer["dirty"], answer


def works(session, before):
    """OK changes all layers, and one undo step takes all of it back."""
    window = open_dialog(session)
    window.set_number("Adjacent layers", 1)
    window.set_number("Search window", 5)
    answer = window.end("OK")
    assert answer["status"] == "success" and answer["dirty"], answer
    assert all(new != old for new, old in zip(answer["all"], before["all"], strict=True))
    click(wait_for("an undo step", lambda: (lambda item: item if item and is_sensitive(item) else None)(undo_item())))
    wait_for("the original pixels", lambda: session.ask("state")["all"] == before["all"], 20)


def steps(session):
    known = {}

    def opens():
        known["window"], known["frames"] = offers_what_it_has(session)

    def cancels():
        known["before"] = cancel_changes_nothing(session)

    return [("the diagram shows what is removed of still layers", lambda: the_diagram_shows_the_means_noise(session)),
            ("the dialog says which layers, and offers what the method has", opens),
            ("each layer shows its own original and result",
             lambda: layers_show_their_own(known["window"], known["frames"])),
            ("every control changes the preview", lambda: every_control_shows(known["window"])),
            ("presets set what applies", lambda: presets_set_what_applies(known["window"])),
            ("the keyboard is enough", lambda: the_keyboard_is_enough(known["window"])),
            ("OK gives what was shown", lambda: ok_gives_what_was_shown(known["window"], known["frames"])),
            ("the visible part of larger layers is OK's", lambda: parts_are_the_wholes(session)),
            ("Cancel during the preview's work changes nothing", cancels),
            ("a run can be stopped, and nothing has changed", lambda: stops(session, known["before"])),
            ("OK changes all layers in one undo step", lambda: works(session, known["before"]))]


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
