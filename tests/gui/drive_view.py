# SPDX-License-Identifier: MIT
"""What the preview shows, controls, measuring, the keyboard, and stopping the work: drive_view.py WORK"""
import hashlib
import pathlib
import subprocess
import sys
import time

import numpy as np

import desktop
from desktop import click, find, find_all, wait_for
from session import Session, Window, active_title, keys
from steps import main as run

WIDTH, HEIGHT = 160, 120  # of the small layer: four times as large it still fits into the preview
MARKS = 40 * desktop.SCALE  # rows at the top of the preview where words stand
# Control, kind, value that must change the picture, value that comes next.
CONTROLS = [("Strength", "number", 160, 100), ("Lightness noise", "number", 20, 100), ("Colour noise", "number", 20, 100),
            ("Detail given back", "number", 80, 0), ("Quality", "choice", "High", "Fast"), ("Search window", "number", 7, 0),
            ("Patch size", "number", 4, 0), ("Reference step", "number", 8, 0), ("Group size", "number", 2, 0),
            ("Transform", "choice", "Cosine", None), ("Number of scales", "choice", "2", "1"),
            ("Method", "choice", "Non-Local Means", None), ("Weight of the centre pixel", "choice", "Zero", None)]


def xdotool(*arguments):
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


class View(Window):
    @property
    def preview(self):
        return self.area("Preview")

    def area(self, name):
        return wait_for(name, lambda: next(iter(find_all(self.root, "drawing area", lambda text: text == name)
                                                + find_all(self.root, "unknown", lambda text: text == name)), None))

    def settled(self):
        return wait_for("the exact preview", lambda: self.label("Preview by"), 60)

    def shot(self):
        return desktop.screenshot(self.preview)

    def picture(self, width=WIDTH, height=HEIGHT):
        """The layer in the middle of the preview."""
        pixels = self.shot()
        left, top = (pixels.shape[1] - width) // 2, (pixels.shape[0] - height) // 2
        return pixels[top:top + height, left:left + width]

    def changed(self, before, what):
        """The exact picture after a change that shows."""
        wait_for(f"{what} in the preview",
                 lambda: not np.array_equal(self.picture(), before) and self.label("Preview by"), 60)
        return self.picture()

    def pick(self, combo, item):
        """Chooses the first entry that begins so."""
        box = self.widget("combo box", combo)
        menu = box.get_child_at_index(0)
        names = [menu.get_child_at_index(i).get_name() for i in range(menu.get_child_count())]
        assert box.get_selection_iface().select_child([name.startswith(item) for name in names].index(True))

    def middle(self):
        x, y, width, height = desktop.extents(self.preview)
        return x + width // 2, y + height // 2

    def tone(self):
        """The mean brightness of the rows in the middle."""
        pixels = self.shot()
        return pixels[len(pixels) // 3:len(pixels) * 2 // 3].mean()

    def focus_preview(self):
        wait_for("the keyboard", lambda: active_title() == self.title, 20)
        assert self.preview.get_component_iface().grab_focus()
        time.sleep(0.1)

    def zoom_is(self, start):
        wait_for(f"a zoom of {start}", lambda: (self.selected("Zoom") or "").startswith(start), 10)


def everything_has_a_name(window):
    """What a screen reader would say."""
    for role in ("spin button", "combo box", "check box", "button", "toggle button", "drawing area", "progress bar"):
        nameless = find_all(window.root, role, lambda text: not text.strip())
        assert not nameless, f"{len(nameless)} times {role} without a name"


def every_control_shows(session):
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    window = View(session)
    window.settled()
    everything_has_a_name(window)
    click(window.widget("toggle button", "Advanced tweaks"))
    picture = window.picture()
    for name, kind, value, after in CONTROLS:
        if kind == "number":
            window.set_number(name, value)
        else:
            window.pick(name, value)
        picture = window.changed(picture, f"{name} = {value}")
        if after is None:
            continue
        if kind == "number":
            window.set_number(name, after)
        else:
            window.pick(name, after)
        picture = window.changed(picture, f"{name} = {after}")
    click(window.widget("check box", "Measure the noise automatically"))
    window.set_number("Noise level", 33)
    window.changed(picture, "the noise level")
    return window


def views_show_before_and_after(window):
    result = window.picture()
    window.pick("View", "Original")
    original = window.changed(result, "the original")
    window.pick("View", "Removed noise")
    removed = window.changed(original, "the removed noise")
    times = int(wait_for("the factor", lambda: window.label("Removed noise ×")).split("×")[1])
    assert times == 1, f"{times} times of a noise level of 33"
    expected = np.clip(128 + times * (original.astype(int) - result), 0, 255)
    assert np.array_equal(removed, expected), "not so many times the difference"
    window.pick("View", "Split")
    split = window.changed(removed, "both halves")
    half = WIDTH // 2 - 12 * desktop.SCALE  # beside the line and its knob
    assert np.array_equal(split[:, :half], original[:, :half]) and np.array_equal(split[:, -half:], result[:, -half:])
    x, y = window.middle()
    xdotool("mousemove", x, y + 50, "mousedown", 1, "mousemove", x + 20, y + 50, "mousemove", x + 60, y + 50, "mouseup", 1)
    wait_for("the line further right",
             lambda: np.array_equal(window.picture()[:, :WIDTH // 2 + 40], original[:, :WIDTH // 2 + 40]), 10)
    window.pick("View", "Side by side")
    def both():
        pixels = window.shot()
        half, top = (pixels.shape[1] - 4) // 2, (pixels.shape[0] - HEIGHT) // 2
        left = (half - WIDTH) // 2
        panes = [pixels[top:top + HEIGHT, x:x + WIDTH] for x in (left, half + 4 + left)]
        return np.array_equal(panes[0], original) and np.array_equal(panes[1], result)
    wait_for("both side by side", both, 20)
    window.pick("View", "Result")
    wait_for("the result", lambda: np.array_equal(window.picture(), result), 20)


def zoom_enlarges(window):
    result = window.picture()
    window.pick("Zoom", "400")
    large = np.repeat(np.repeat(result, 4, axis=0), 4, axis=1)
    wait_for("each pixel as 4 × 4",
             lambda: np.array_equal(window.picture(4 * WIDTH, 4 * HEIGHT)[MARKS:], large[MARKS:]), 20)
    window.focus_preview()
    for key, zoom in (("minus", "300"), ("1", "100"), ("plus", "200"), ("0", "Fit (100"), ("minus", "67")):
        keys(key)
        window.zoom_is(zoom)
    window.pick("Zoom", "25")
    small = result.reshape(HEIGHT // 4, 4, WIDTH // 4, 4, 3).mean(axis=(1, 3))
    wait_for("each 4 × 4 as a pixel",
             lambda: np.abs(window.picture(WIDTH // 4, HEIGHT // 4) - small).max() <= 1.5, 20)
    xdotool("mousemove", *window.middle(), "click", "--repeat", 4, 4)
    window.zoom_is("100")
    wait_for("the picture at 100 %", lambda: np.array_equal(window.picture(), result), 20)


def ok_gives_what_was_shown(window):
    window.settled()
    shown = hashlib.sha256(window.picture().tobytes()).hexdigest()
    answer = window.end("OK")
    assert answer["status"] == "success" and answer["pixels"] == shown, answer


def the_preview_moves(session):
    """By drag, wheel, keys, and on the overview, over a ramp from dark to bright."""
    session.ask("open_layer", 2400, 1600)
    window = View(session)
    window.pick("View", "Original")
    tone = window.tone
    centre = tone()
    assert abs(centre - 125) < 5, centre
    x, y, width, height = desktop.extents(window.area("Overview"))
    xdotool("mousemove", x + 3, y + height // 2, "click", 1)
    wait_for("the left end", lambda: tone() < centre - 25, 20)
    xdotool("mousedown", 1, "mousemove", x + width // 2, y + height // 2, "mousemove", x + width - 3, y + height // 2,
            "mouseup", 1)
    wait_for("the right end", lambda: tone() > centre + 25, 20)
    bright = tone()
    x, y = window.middle()
    xdotool("mousemove", x, y, "mousedown", 1, "mousemove", x + 100, y, "mousemove", x + 300, y, "mouseup", 1)
    wait_for("darker parts after a drag", lambda: bright - 25 < tone() < bright - 10, 20)
    dragged = tone()
    window.focus_preview()
    keys("Left", "Left", "Left")
    wait_for("darker parts after the keys", lambda: tone() < dragged - 5, 20)
    window.pick("Zoom", "Fit")
    wait_for("both ends", lambda: abs(tone() - 125) < 5 and window.selected("Zoom").startswith("Fit ("), 20)
    return window


def resizing_keeps_the_picture(window):
    window.pick("View", "Result")
    window.settled()
    before = desktop.extents(window.preview)
    found = subprocess.run(["xdotool", "search", "--name", "^Grainless Denoise$"],
                           capture_output=True, text=True, check=True)
    xdotool("windowsize", found.stdout.split()[-1], 980, 700)
    wait_for("a smaller preview", lambda: desktop.extents(window.preview)[2] < before[2] - 100, 20)
    window.settled()
    assert abs(window.tone() - 125) < 30
    assert window.end("Cancel")["dirty"] is False


def measuring_sets_sigma(session):
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    session.ask("select", 20, 20, 100, 80)
    window = View(session)
    window.settled()
    plot = window.area("Noise over brightness")
    wait_for("the diagram's points", lambda: "at brightness" in plot.get_description(), 30)
    button = window.widget("button", "Measure the selection")
    wait_for("a layer to measure", lambda: desktop.is_sensitive(button), 20)
    click(button)
    wait_for("the noise of the selection", lambda: window.label("Noise there"), 20)
    wait_for("a noise level of 15", lambda: abs(window.number("Noise level") - 15) < 1.5, 10)
    assert desktop.is_sensitive(window.widget("spin button", "Noise level")), "the noise is still measured automatically"
    wait_for("the diagram's cross", lambda: "measured at brightness" in plot.get_description(), 10)
    return window


def the_keyboard_is_enough(window):
    """Mnemonics reach the controls; a double click takes a slider back."""
    wait_for("the keyboard", lambda: active_title() == "Grainless Denoise", 20)
    keys("alt+t")
    keys("ctrl+a", "6", "5", "Return")
    wait_for("the strength that was typed", lambda: window.number("Strength") == 65, 10)
    x, y, width, height = desktop.extents(window.widget("spin button", "Strength"))
    xdotool("mousemove", x + 30, y + height // 2, "click", "--repeat", 2, "--delay", 60, 1)
    wait_for("the default after a double click", lambda: window.number("Strength") == 100, 10)
    xdotool("mousemove", x + width - 12, y + height // 2, "click", "--repeat", 2, "--delay", 60, 1)
    wait_for("two steps up, and no reset", lambda: window.number("Strength") == 110, 10)
    window.set_number("Strength", 100)
    window.settled()
    window.focus_preview()
    result = window.picture()
    xdotool("keydown", "space")
    wait_for("the original while Space is held", lambda: not np.array_equal(window.picture(), result), 20)
    xdotool("keyup", "space")
    wait_for("the result after Space", lambda: np.array_equal(window.picture(), result), 20)
    xdotool("keydown", "space")
    wait_for("the original while Space is held", lambda: not np.array_equal(window.picture(), result), 20)
    keys("Tab")  # Space is let go of where the keyboard is then
    wait_for("the result without the keyboard", lambda: np.array_equal(window.picture(), result), 20)
    xdotool("keyup", "space")
    keys("Escape")
    answer = window.gone()
    assert answer["status"] == "cancel" and not answer["dirty"], answer


def stopping_changes_nothing(session):
    """Cancel at the second of three layers leads back to the dialog, and all layers stay as they were."""
    before = session.ask("open_layer", 2400, 1600, "u8", 15, 3)
    window = View(session)
    window.settled()
    # Seconds of work a layer: a graphics card, or the settings of an earlier step, would be done before anybody sees it.
    window.pick("Device", "Processor")
    window.pick("Method", "BM3D (best quality)")
    window.pick("Quality", "High")
    cancel, strength = window.widget("button", "Cancel"), window.widget("spin button", "Strength")  # searching takes seconds
    click(window.widget("button", "OK"))
    bar = wait_for("the progress", lambda: find(window.root, "progress bar", "Progress"))
    wait_for("the second layer", lambda: (bar.get_description() or "").startswith("Layer 2 of 3: layer 2"), 180)
    assert not desktop.is_sensitive(strength)
    click(cancel)
    wait_for("the dialog", lambda: desktop.is_sensitive(window.widget("button", "OK")), 20)
    answer = window.end("Cancel")
    assert answer["status"] == "cancel" and not answer["dirty"] and answer["all"] == before["all"], answer


def several_layers_change_together(session):
    before = session.ask("open_layer", WIDTH, HEIGHT, "u8", 15, 3)
    answer = View(session).end("OK")
    assert answer["status"] == "success" and answer["dirty"], answer
    assert len(set(answer["all"])) == 1 and answer["all"][0] != before["all"][0], answer


def steps(session):
    window = None

    def remember(body):
        nonlocal window
        window = body() or window

    for name, body in (("every control changes the preview", lambda: every_control_shows(session)),
                       ("views", lambda: views_show_before_and_after(window)),
                       ("zoom", lambda: zoom_enlarges(window)),
                       ("OK gives what was shown", lambda: ok_gives_what_was_shown(window)),
                       ("the preview moves", lambda: the_preview_moves(session)),
                       ("the dialog is resized", lambda: resizing_keeps_the_picture(window)),
                       ("the selection is measured", lambda: measuring_sets_sigma(session)),
                       ("the keyboard is enough", lambda: the_keyboard_is_enough(window)),
                       ("stopped at the second of three layers", lambda: stopping_changes_nothing(session)),
                       ("three layers change together", lambda: several_layers_change_together(session))):
        yield name, lambda body=body: remember(body)


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
