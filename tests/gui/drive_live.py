# SPDX-License-Identifier: MIT
"""The preview tells the truth about the image as it is now: selections, other pixels and sizes, several layers, and the end
of all that: drive_live.py WORK"""
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import desktop
from desktop import click, find, find_all, wait_for
from drive_view import View, xdotool
from session import PICTURE, Session, choose_in, items, keys, settings_file
from steps import main as run

TITLE = "Grainless Denoise"
LIMIT = 4  # seconds for a coarse answer of 24 megapixels, of one that two free cores give
WIDTH, HEIGHT = 240, 160  # of a layer that the preview shows whole


def menu_item(session, title):
    """The dialog's; found once, since there are thousands."""
    known = session.__dict__.setdefault("menu_items", {})
    if title not in known:
        known[title] = wait_for("the menu", lambda: next(iter(find_all(
            desktop.application("gimp"), "menu item", lambda name: name.startswith(title + "…"))), None))
    return known[title]


class Live:
    """The dialog, opened from the menu, so that the session goes on changing the image meanwhile."""

    def __init__(self, session, settle=True, title=TITLE):
        self.session = session
        menu = menu_item(session, title)
        wait_for("its sensitivity", lambda: desktop.is_sensitive(menu), 20)
        click(menu)
        self.window = View.already_open(session, title)
        if settle:
            self.window.settled()

    def ask(self, *call):
        return self.session.ask(*call)

    def picture(self):
        return self.window.picture(*self.ask("size"))

    def pixels(self):
        """Those that GIMP has."""
        width, height = self.ask("size")
        path = self.session.work / "pixels"
        self.ask("write_pixels", 0, str(path))
        return np.frombuffer(path.read_bytes(), np.uint8).reshape(height, width, 3)

    def outline(self):
        """The pixels that the selection's outline may cover."""
        width, height = self.ask("size")
        path = self.session.work / "selection"
        self.ask("write_selection", str(path))
        inside = np.frombuffer(path.read_bytes(), np.float32).reshape(height, width) >= 0.5
        if inside.all():
            return np.zeros_like(inside)
        framed = np.pad(inside, ((1, 0), (1, 0)))  # it goes along the layer's borders, too
        return (inside != framed[:-1, 1:]) | (inside != framed[1:, :-1])

    def ok_possible(self):
        return desktop.is_sensitive(self.window.widget("button", "OK"))

    def leave(self, button):
        self.window.press(button)
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)

    def compare_with_ok(self, rounding=0):
        """What is on the screen is what OK makes of the layer; `rounding`: the share of pixels that may be a level off."""
        self.window.settled()
        shown, outline, before = self.picture(), self.outline(), self.pixels()
        self.leave("OK")
        after = self.pixels()
        assert not np.array_equal(before, after), "OK changed nothing"
        off = np.where(outline, 0, np.abs(shown.astype(int) - after).max(axis=-1))
        assert off.max() <= (rounding > 0) and (off > 0).mean() <= rounding, \
            f"{(off > 0).sum()} of {off.size} pixels differ, by up to {off.max()}"
        return before, shown, after, outline


def selections_are_previewed(session):
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    session.ask("select_feathered", 60, 40, 110, 70, 30)
    live = Live(session)
    corner = live.window.shot()[-3, 3]
    assert (corner == 119).all(), f"the picture is surrounded by {corner} and not by mid-grey"
    before, shown, after, outline = live.compare_with_ok()
    changed = (before != after).any(axis=-1)
    assert 0.1 < changed.mean() < 0.9, "not a part of the layer"
    drawn = (shown[outline] != after[outline]).any(axis=-1)
    assert outline.sum() > 100 and drawn.mean() > 0.9, "no outline of the selection"


def formats_are_previewed(session, precision):
    """The screen's pixels are those of the layer's own format, and not finer ones."""
    if precision == "grey":
        session.ask("open_stack", WIDTH, HEIGHT, 1, True)
    else:
        session.ask("open_layer", WIDTH, HEIGHT, precision, 15)
    session.ask("select_feathered", 20, 20, 110, 90, 10)
    Live(session).compare_with_ok(0.001 if precision == "float" else 0)


def channels_are_left_alone(session, precision):
    """What is switched off in the Channels dialog stays, in the preview too; without any OK is off."""
    session.ask("open_layer", WIDTH, HEIGHT, precision, 15)
    session.ask("switch_channels", "RED", "BLUE")
    if precision != "u16":
        session.ask("select_feathered", 20, 20, 110, 90, 10)
    live = Live(session)
    picture = live.picture()
    session.ask("switch_channels", "GREEN")
    wait_for("other channels in the preview",
             lambda: not np.array_equal(live.picture(), picture) and live.window.settled(), 20)
    session.ask("switch_channels")
    wait_for("the reason", lambda: live.window.label("All colours are switched off") and not live.ok_possible(), 20)
    session.ask("switch_channels", "RED", "BLUE")
    wait_for("OK again", live.ok_possible, 20)
    wait_for("the first channels in the preview",
             lambda: np.array_equal(live.picture(), picture) and live.window.settled(), 20)
    before, _, after, _ = live.compare_with_ok(0.001 if precision == "float" else 0)
    changed = (before != after).any(axis=(0, 1))
    assert list(changed) == [True, False, True], f"changed: {changed}"


def a_selection_elsewhere_is_told(session):
    """At once when the dialog opens, and when it comes to be so; and the preview follows back."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    session.ask("offset", -WIDTH // 2, 0)
    session.ask("select", WIDTH // 2 + 20, 0, 40, HEIGHT)
    live = Live(session, settle=False)
    wait_for("the reason", lambda: live.window.label("Nothing is selected on this layer"), 20)
    assert not live.ok_possible(), "OK, although nothing is selected"
    session.ask("select", 0, 0, 60, HEIGHT)
    wait_for("OK", live.ok_possible, 20)
    live.window.settled()
    session.ask("select", WIDTH // 2 + 20, 0, 40, HEIGHT)
    wait_for("no OK", lambda: not live.ok_possible() and live.window.label("Nothing is selected on this layer"), 20)
    session.ask("select", 0, 0, 60, HEIGHT)
    wait_for("OK again", live.ok_possible, 20)
    live.compare_with_ok()


def the_preview_follows(session):
    """A feather that keeps the selection's extent, painting, a lock, another size."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    session.ask("select", 20, 20, 120, 100)
    live = Live(session)
    picture = live.picture()
    for what, change in (("another selection", ("select", 100, 60, 120, 90)), ("a hole in it", ("deselect", 120, 80, 40, 30)),
                         ("a brighter layer", ("brighten",))):
        session.ask(*change)
        wait_for(f"{what} in the preview", lambda: not np.array_equal(live.picture(), picture) and live.window.settled(), 20)
        picture = live.picture()
    session.ask("lock", True)
    wait_for("the lock", lambda: live.window.label("are locked: unlock them first") and not live.ok_possible(), 20)
    session.ask("lock", False)
    wait_for("OK", live.ok_possible, 20)
    session.ask("scale", 300, 210)
    wait_for("the new size", lambda: live.window.settled() and not uniform(live.picture()[:, -20:]), 20)
    time.sleep(1)  # a comparison that is under way
    live.compare_with_ok()


def processor_time(pid):
    """Seconds that the process has taken so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def a_layer_is_moved(session):
    """Without a selection it shows the same pixels elsewhere: there is nothing to do, and painting is still noticed."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    live = Live(session)
    pid = desktop.application("grainless").get_process_id()
    session.ask("offset", 10, 5)
    time.sleep(2)
    begun, seconds = processor_time(pid), 4
    time.sleep(seconds)
    took = (processor_time(pid) - begun) / seconds
    print(f"# the dialog takes {100 * took:.0f} % of a core")
    assert took < 0.15, f"the dialog takes {100 * took:.0f} % of a core, and nothing happens"
    picture = live.picture()
    session.ask("brighten")
    wait_for("a brighter layer in the preview",
             lambda: not np.array_equal(live.picture(), picture) and live.window.settled(), 20)
    time.sleep(1)  # a comparison that is under way
    live.compare_with_ok()


def one_of_them_is_locked(session):
    """Of two layers: neither is denoised, and the dialog says why; unlocked, both are."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15, 2)
    session.ask("select_all_layers")
    live = Live(session)
    session.ask("lock", True)
    wait_for("the reason", lambda: live.window.label("“layer 1” are locked") and not live.ok_possible(), 20)
    session.ask("lock", False)
    wait_for("OK", live.ok_possible, 20)
    before = session.ask("state")["all"]
    live.leave("OK")
    after = session.ask("state")["all"]
    assert all(one != other for one, other in zip(before, after, strict=True)), "a layer is as it was"


def uniform(pixels):
    return (pixels == pixels[0, 0]).all()


def one_of_several(session):
    """Layers of several sizes, the topmost one hidden: the one below it is shown, the list shows the others."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15, 3)
    session.ask("vary_layers")
    live = Live(session)
    assert live.window.label("One of 3 selected layers"), live.window.labels()
    offered = items(live.window.widget("combo box", "Layer"))
    assert offered == ["layer 3", "layer 2", "layer 1"], f"not from the top down: {offered}"
    assert live.window.selected("Layer") == "layer 2", "not the topmost visible layer"
    for name, index in (("layer 1", 0), ("layer 2", 1), ("layer 3", 2)):
        live.window.choose("Layer", name)
        width, height = session.ask("size", index)
        wait_for(f"{name} in the preview", lambda: live.window.settled() and not uniform(live.window.picture(width, height)), 20)
    shown = []
    for index in range(3):
        live.window.choose("Layer", f"layer {index + 1}")
        time.sleep(1)
        live.window.settled()
        shown.append(live.window.picture(*session.ask("size", index)))
    live.leave("OK")
    for index, expected in enumerate(shown):
        path = session.work / "pixels"
        session.ask("write_pixels", index, str(path))
        pixels = np.frombuffer(path.read_bytes(), np.uint8).reshape(expected.shape)
        assert np.array_equal(pixels, expected), f"layer {index + 1}"


def the_layer_shown_stays_during_the_work(session):
    """Of several layers with a measured noise none is chosen then; and whoever does it anyway disturbs nothing."""
    before = session.ask("open_layer", 3600, 2400, "u8", 15, 2)["all"]  # so large that the work outlasts what is done here
    session.ask("select_all_layers")
    live = Live(session)
    window = live.window
    combo = window.widget("combo box", "Layer")
    wait_for("all of the layer", lambda: desktop.is_sensitive(window.widget("button", "Measure the visible part")), 60)
    window.pick("Device", "Processor")
    window.pick("Quality", "High")
    cancel = window.widget("button", "Cancel")  # searching takes seconds during the work
    click(window.widget("button", "OK"))
    bar = wait_for("the progress", lambda: find(window.root, "progress bar", "Progress"))
    wait_for("work on the first layer", lambda: (bar.get_description() or "").startswith("Layer 1 of 2"), 60)
    assert not desktop.is_sensitive(combo), "another layer may be chosen"
    assert window.preview.get_component_iface().grab_focus()
    keys("Page_Down")
    time.sleep(0.5)
    assert window.selected("Layer") == "layer 2", "Page Down chose another layer"
    choose_in(combo, "layer 1")  # takes the preview's pixels away, with which the work has begun
    click(cancel)
    wait_for("the dialog", lambda: desktop.is_sensitive(combo) and live.ok_possible(), 20)
    window.pick("Quality", "Fast")
    window.choose("Layer", "layer 2")
    window.settled()
    click(window.widget("button", "OK"))
    wait_for("work on the first layer", lambda: (bar.get_description() or "").startswith("Layer 1 of 2"), 60)
    choose_in(combo, "layer 1")
    wait_for("the dialog's end", lambda: desktop.application("grainless") is None, 200)
    assert all(one != other for one, other in zip(before, session.ask("state")["all"], strict=True)), "a layer is as it was"
    settings_file(PICTURE).unlink()  # the next dialog is as usual


def a_large_layer_fits_at_once(session):
    """A sharp reduced picture comes first, and says that it is coarse."""
    session.ask("open_large")
    live = Live(session)
    window = live.window
    wait_for("all of the layer", lambda: desktop.is_sensitive(window.widget("button", "Measure the visible part")), 60)
    begun = time.monotonic()
    window.pick("Zoom", "Fit")
    said = wait_for("a coarse answer", lambda: window.label("Coarse preview"), 20)
    took = time.monotonic() - begun
    shown = window.shot()
    window.pick("View", "Original")
    time.sleep(0.5)
    original = window.shot()
    said = said.split("\n")[0]
    print(f"# {said} {took:.2f} s after it was asked for, {np.abs(shown.astype(int) - original).mean():.1f} levels off")
    assert took < LIMIT, f"{took:.1f} s"
    window.pick("Zoom", "100")
    edges = [np.abs(np.diff(picture[picture.shape[0] // 2 - 20:picture.shape[0] // 2 + 20].astype(int).mean(axis=(0, 2)))).max()
             for picture in (shown, original)]
    assert edges[0] > 0.8 * edges[1], f"blurred: edges of {edges[0]:.0f} levels, {edges[1]:.0f} in the original"
    window.pick("View", "Result")
    painting_goes_on_during_the_work(window)
    live.leave("Cancel")


def painting_goes_on_during_the_work(window):
    window.pick("Quality", "High")
    click(window.widget("button", "OK"))
    wait_for("the work", lambda: find_all(window.root, "progress bar", lambda name: name == "Progress"), 20)
    before = window.shot()
    x, y = window.middle()
    xdotool("mousemove", x, y, "mousedown", 1, "mousemove", x - 50, y, "mousemove", x - 130, y, "mouseup", 1)
    wait_for("another part", lambda: np.abs(window.shot().astype(int) - before).mean() > 5, 5)
    window.press("Cancel")
    wait_for("the dialog", lambda: desktop.is_sensitive(window.widget("button", "OK")), 20)


def frame_of(widget):
    """The pixels left of it."""
    x, y, _, height = desktop.extents(widget)
    png = subprocess.run(["import", "-window", "root", "-crop", f"2x{height}+{x - 2}+{y}", "+repage", "rgb:-"], check=True,
                         capture_output=True).stdout
    return np.frombuffer(png, np.uint8)


def nothing_lies_over_the_picture(session):
    """The keyboard's focus is shown around it, and longer or shorter sentences don't move it."""
    session.ask("open_layer", 2400, 1600, "u8", 15)
    live = Live(session)
    place, picture = desktop.extents(live.window.preview), live.window.shot()
    around = frame_of(live.window.preview)
    live.window.focus_preview()
    keys("Right", "Left")
    live.window.settled()
    wait_for("the same picture", lambda: np.array_equal(live.window.shot(), picture), 20)
    assert not np.array_equal(frame_of(live.window.preview), around), "the focus is not shown"
    session.ask("lock", True)
    wait_for("a sentence", lambda: live.window.label("are locked: unlock them first"), 20)
    assert desktop.extents(live.window.preview) == place, "the picture has moved"
    live.leave("Cancel")


def hot_pixels_are_told(session):
    """In words, while they are looked for; and they go from the preview as they go from the layer."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 10)
    hot = np.array(session.ask("add_hot_pixels", 20))
    live = Live(session)
    words = "Found and replaced: a few hot pixels."
    wait_for("what was found", lambda: live.window.label(words), 20)
    click(live.window.widget("toggle button", "Advanced tweaks"))
    live.window.choose("Hot pixels", "Keep them")
    wait_for("no word of them", lambda: live.window.label("Measured noise") and not live.window.label(words), 20)
    live.window.choose("Hot pixels", "Automatic")
    wait_for("what was found", lambda: live.window.label(words), 20)
    _, _, after, _ = live.compare_with_ok()
    assert after[hot[:, 0], hot[:, 1]].max() < 240, "some of them are still there"


def hot_pixels_go_from_a_reduced_view(session):
    """A coarse answer, which says that it is one, has them still."""
    session.ask("open_layer", 1800, 1200, "u8", 10)
    session.ask("add_hot_pixels", 500)
    live = Live(session)
    live.window.pick("Zoom", "50")
    live.window.settled()
    shown = live.window.shot().astype(int)
    live.window.pick("View", "Original")
    time.sleep(0.5)
    marks = (live.window.shot() - shown).min(axis=-1) > 20
    assert marks.sum() > 300, f"{marks.sum()} of 500 are gone"
    live.window.pick("View", "Result")  # the next dialog is as this one was
    live.window.pick("Zoom", "100")
    live.leave("Cancel")


def effects_are_told(session):
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    session.ask("add_effect")
    session.ask("select_feathered", 30, 20, 120, 90, 20)
    live = Live(session)
    wait_for("the remark", lambda: live.window.label("without its layer effects: they come on top"), 20)
    live.compare_with_ok()


def the_end_is_told(session, change, sentence):
    """One sentence, and no crash."""
    session.ask("open_layer", WIDTH, HEIGHT, "u8", 15)
    Live(session)
    session.ask(change)
    wait_for("the dialog's end", lambda: desktop.application("grainless") is None, 20)
    gimp = desktop.application("gimp")
    wait_for("the sentence", lambda: find_all(gimp, "label", lambda text: sentence in text), 20)
    raw = find_all(gimp, "label", lambda text: "crashed" in text or "Calling error" in text)
    assert not raw, [label.get_name() for label in raw]
    if change == "close_image":
        session.ask("forget_display")


def steps(session):
    session.ask("load", str(pathlib.Path(__file__).with_name("serve_live.py")))
    yield "a feathered selection", lambda: selections_are_previewed(session)
    for precision in ("u8-linear", "u16", "float", "grey"):
        yield f"{precision} with a selection", lambda precision=precision: formats_are_previewed(session, precision)
    for precision in ("u8", "u8-linear", "u16", "float"):
        yield f"{precision} with channels switched off", lambda precision=precision: channels_are_left_alone(session, precision)
    yield "a selection elsewhere", lambda: a_selection_elsewhere_is_told(session)
    yield "the preview follows the image", lambda: the_preview_follows(session)
    yield "a layer is moved", lambda: a_layer_is_moved(session)
    yield "one of two layers is locked", lambda: one_of_them_is_locked(session)
    yield "one of several layers", lambda: one_of_several(session)
    yield "the layer shown stays during the work", lambda: the_layer_shown_stays_during_the_work(session)
    yield "a large layer fits at once", lambda: a_large_layer_fits_at_once(session)
    yield "nothing lies over the picture", lambda: nothing_lies_over_the_picture(session)
    yield "hot pixels are told", lambda: hot_pixels_are_told(session)
    yield "hot pixels in a reduced view", lambda: hot_pixels_go_from_a_reduced_view(session)
    yield "layer effects", lambda: effects_are_told(session)
    yield "the layer is deleted", lambda: the_end_is_told(session, "delete_layer", "A layer was deleted")
    yield "the image is closed", lambda: the_end_is_told(session, "close_image", "The image was closed")


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
