# SPDX-License-Identifier: MIT
"""Opens the dialog from GIMP's menu, tunes, looks at the preview, presses OK, undoes, and cancels: drive.py WORK"""
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
from PIL import Image

import desktop
from desktop import click, find, find_all, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gimp"))
from faults import judge
from steps import main as run

WIDTH, HEIGHT = 300, 220  # smaller than the preview, so that all of it shows


def make_picture(path):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    base = 128 + 50 * np.sin(x / 25) * np.cos(y / 19) + np.where(x + y > 260, 25, -25)
    clean = np.stack([base, base * 0.9 + 10, 255 - base], axis=-1)
    noisy = clean + np.random.default_rng(5).normal(0, 15, clean.shape)
    Image.fromarray(np.clip(np.rint(noisy), 0, 255).astype(np.uint8)).save(path)


class Dialog:
    def __init__(self, gimp):
        click(gimp.menu_item(lambda name: name.startswith("Grainless Denoise…")))
        self.root = wait_for("the dialog", lambda: desktop.application("grainless"))
        self.preview = wait_for("the preview", lambda: find_all(self.root, "drawing area", lambda name: name == "Preview")
                                or find_all(self.root, "unknown", lambda name: name == "Preview"))[0]

    def widget(self, role, name):
        return wait_for(f"{role} {name}", lambda: find(self.root, role, name))

    def label(self, start):
        found = find_all(self.root, "label", lambda text: text.startswith(start))
        return found[0].get_name() if found else None

    def settled(self):
        """Waits until the preview shows the newest settings."""
        time.sleep(0.3)  # longer than the preview's own delay after a change
        return wait_for("a finished preview", lambda: self.label("Preview by"))

    def picture(self):
        """The image as the preview shows it."""
        pixels = desktop.screenshot(self.preview)
        left, top = (pixels.shape[1] - WIDTH) // 2, (pixels.shape[0] - HEIGHT) // 2
        return pixels[top:top + HEIGHT, left:left + WIDTH]

    def set_number(self, name, value):
        assert self.widget("spin button", name).get_value_iface().set_current_value(value)

    def press(self, button):
        click(self.widget("button", button))
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


def check_preview(dialog, original):
    """Moving sigma changes the picture; holding the button shows the original."""
    dialog.settled()
    x, y, width, height = desktop.extents(dialog.preview)
    assert width >= 480, width
    assert dialog.label("Measured noise"), "no estimate is shown"
    assert not desktop.is_sensitive(dialog.widget("spin button", "Noise level"))
    automatic = dialog.picture()
    assert not np.array_equal(automatic, original), "the preview shows the original"
    click(dialog.widget("check box", "Measure the noise automatically"))
    dialog.set_number("Noise level", 5)
    dialog.settled()
    light = dialog.picture()
    dialog.set_number("Noise level", 30)
    dialog.settled()
    strong = dialog.picture()
    assert not np.array_equal(light, strong), "sigma changes nothing in the preview"
    assert np.var(np.diff(strong.astype(float), axis=1)) < np.var(np.diff(light.astype(float), axis=1))
    subprocess.run(["xdotool", "mousemove", str(x + width // 2), str(y + height // 2), "mousedown", "1"], check=True)
    wait_for("the original while the button is held",
             lambda: np.array_equal(dialog.picture()[40:], original[40:]), 20)
    subprocess.run(["xdotool", "mouseup", "1"], check=True)
    wait_for("the result after the button", lambda: np.array_equal(dialog.picture(), strong), 20)
    return strong


def check_sensitivity(dialog):
    """What a method doesn't use is grey, and 0 reads as what it means."""
    assert desktop.is_sensitive(dialog.widget("combo box", "Transform"))
    assert not desktop.is_sensitive(dialog.widget("combo box", "Weight of the centre pixel"))
    spin = dialog.widget("spin button", "Search window")
    assert desktop.text(spin) == "Automatic"
    spin.get_value_iface().set_current_value(4)
    wait_for("an odd search window", lambda: spin.get_value_iface().get_current_value() == 5, 10)
    spin.get_value_iface().set_current_value(0)


def is_undo(name):
    return name.startswith("Undo") and "History" not in name


def check_result(gimp, original, shown):
    """The layer holds what the preview showed, to the bit, and one undo step takes it back."""
    pixels, dirty = wait_for("the result", lambda: (lambda answer: answer if answer[1] else None)(gimp.ask()))
    assert dirty and not np.array_equal(pixels, original)
    assert np.array_equal(pixels, shown), f"{np.abs(pixels.astype(int) - shown).max()} levels off the preview"
    undo = gimp.menu_item(is_undo)
    wait_for("an undo step", lambda: desktop.is_sensitive(undo))
    click(undo)
    wait_for("the original pixels", lambda: np.array_equal(gimp.ask()[0], original), 20)
    wait_for("no second undo step", lambda: not desktop.is_sensitive(undo), 20)


def check_cancel(gimp, original):
    """Cancel, in the middle of a preview, leaves no trace."""
    dialog = Dialog(gimp)
    dialog.widget("spin button", "Strength")
    dialog.set_number("Strength", 150)
    time.sleep(0.15)
    dialog.press("Cancel")
    pixels, dirty = gimp.ask()
    assert np.array_equal(pixels, original) and not dirty
    assert not desktop.is_sensitive(gimp.menu_item(is_undo))


def check_cancel_in_gimp(gimp, original):
    """The Cancel beside GIMP's own progress bar ends the filter in mid-work, without a trace."""
    dialog = Dialog(gimp)
    combo = dialog.widget("combo box", "Device")
    assert combo.get_selection_iface().select_child(1)  # the processor, which takes its time
    for name, slowest in ("Search window", 63), ("Reference step", 1), ("Patch size", 16), ("Group size", 32):
        dialog.set_number(name, slowest)
    click(dialog.widget("button", "OK"))

    def cancel():
        buttons = find_all(desktop.application("gimp"), "button", lambda name: name == "Cancel")
        return next((button for button in buttons if desktop.is_showing(button)), None)
    click(wait_for("GIMP's Cancel", cancel, 20))
    wait_for("the filter's end", lambda: desktop.application("grainless") is None)
    pixels, dirty = gimp.ask()
    same = np.array_equal(pixels, original) and not dirty and not desktop.is_sensitive(gimp.menu_item(is_undo))
    judge("cancel beside GIMP's progress bar", "middle", "dialog", "the filter ends, no pixel changes",
          "as before" if same else "changed", "" if same else "the image or its undo steps changed")


def steps(gimp):
    original = shown = dialog = None

    def opens():
        nonlocal original, shown, dialog
        original, dirty = gimp.ask()
        assert not dirty
        dialog = Dialog(gimp)
        shown = check_preview(dialog, original)

    def presses_ok():
        dialog.settled()
        dialog.press("OK")
        check_result(gimp, original, shown)

    yield "the dialog opens from the menu; the preview follows sigma; holding the button shows the original", opens
    yield "controls without effect are grey", lambda: check_sensitivity(dialog)
    yield "OK gives what the preview showed, in one undo step", presses_ok
    yield "cancel leaves the image untouched", lambda: check_cancel(gimp, original)
    yield "Cancel in GIMP ends the work and leaves the image untouched", lambda: check_cancel_in_gimp(gimp, original)


def main():
    work = pathlib.Path(sys.argv[1])
    picture = work / "picture.png"
    make_picture(picture)
    shutil.copy(pathlib.Path(__file__).with_name("answer.py"), work)
    gimp = desktop.Gimp(work, picture)
    return run(gimp, steps(gimp))


if __name__ == "__main__":
    sys.exit(main())
