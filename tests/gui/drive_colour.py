# SPDX-License-Identifier: MIT
"""The preview's colours are those of GIMP's canvas, pixel by pixel on the screen: drive_colour.py WORK

With a monitor that nobody has (red and green swapped, a gamma of its own for each channel), with a soft proof, and without
colour management; for images with profiles of all kinds.
"""
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import desktop
import icc
from desktop import wait_for
from drive_live import TITLE, Live
from drive_view import View
from places import distance, places
from session import Session
from steps import run_steps

WIDTH, HEIGHT = 240, 160  # of a layer that both show whole
BESIDE = 1300  # where GIMP's window ends at the latest and the dialog begins
SCREEN_HEIGHT = int(os.environ["GRAINLESS_SCREEN"].split("x")[1])
GIMPRC = pathlib.Path(os.environ["GIMP3_DIRECTORY"]) / "gimprc"


def make_profiles(folder):
    red, green, blue = icc.SRGB
    profiles = {"monitor": icc.colour("swapped", (green, red, blue), (1.5, 2.6, 2.0)),
                "proof": icc.colour("small gamut", tuple(tuple(0.5 * a + 0.5 * w / 3 for a, w in zip(c, icc.WHITE))
                                                         for c in icc.SRGB), (1.8, 1.8, 1.8)),
                "adobe": icc.colour("wide", icc.ADOBE, (2.19921875,) * 3), "linear": icc.colour("linear", icc.ADOBE, (1, 1, 1)),
                "grey": icc.grey("grey 1.6", 1.6)}
    for name, data in profiles.items():
        (folder / f"{name}.icc").write_bytes(data)
    return {name: str(folder / f"{name}.icc") for name in profiles}


def beside_gimp(window):
    """The dialog stands where GIMP's window is not, and the pointer over neither: GIMP draws the brush under it."""
    subprocess.run(["xdotool", "search", "--onlyvisible", "--name", f"^{TITLE}$", "windowmove", str(BESIDE), "0",
                    "mousemove", str(BESIDE - 2), str(SCREEN_HEIGHT - 2)], check=True)
    wait_for("the dialog beside GIMP", lambda: desktop.extents(window.preview)[0] >= BESIDE, 20)


class OnCanvas:
    """The dialog on an image, and where GIMP's canvas shows that image."""

    def __init__(self, session, exact, *how, proof=None):
        self.most = EXACT if exact else ROUNDED
        session.ask("open_coloured", WIDTH, HEIGHT, *how)
        if proof:
            session.ask("simulate", proof, "RELATIVE_COLORIMETRIC", True)
        self.live = Live(session, settle=False)
        beside_gimp(self.live.window)
        self.live.window.pick("Zoom", "100")  # whatever it was the last time
        self.place = None
        self.original = self.shown("original")
        self.live.window.pick("View", "Result")
        self.live.window.settled()
        self.result = self.live.picture()
        assert np.abs(self.result.astype(int) - self.original).mean() > 3 * self.most[0], "hardly anything was denoised"

    def shown(self, what):
        """The picture in the dialog, as soon as the canvas shows the same."""
        self.live.window.pick("View", "Original")
        return self.same(what, self.live.picture)

    def same(self, what, picture):
        """Until the canvas shows it; it is drawn bit by bit."""
        seen = []

        def look():
            wanted = picture().astype(np.int16)
            seen.append(self.compare(wanted))
            return [wanted] if seen[-1] is not None and all(a <= b for a, b in zip(seen[-1], self.most)) else None
        try:
            found = wait_for(f"the {what} on the canvas", look, 30)[0]
        finally:
            print(f"# {what}: " + ("nowhere on the canvas" if seen[-1] is None else f"{seen[-1][0]:.4f} levels off on average, "
                                   f"{100 * seen[-1][1]:.2f} % of the pixels by more than one"))
        return found

    def compare(self, wanted):
        pixels = desktop.screen()[:, :BESIDE].astype(np.int16)
        if self.place is not None:
            return distance(pixels, self.place, wanted)
        found = [(distance(pixels, place, wanted), tuple(map(int, place))) for place in places(pixels, wanted, 4)]
        if not found:
            return None
        off, place = min(found)
        if off[0] <= self.most[0]:
            self.place = place
        return off

    def finish(self):
        result = self.live.picture()
        self.live.leave("OK")
        self.same("result", lambda: result)


def same_as_canvas(session, exact, *how, proof=None):
    """The dialog's original, and the result that OK gives."""
    OnCanvas(session, exact, *how, proof=proof).finish()


def a_proof_shows(session, profile):
    """What the image wants to be simulated while the dialog is open, and not only the monitor."""
    on_canvas = OnCanvas(session, True, "u8")
    session.ask("simulate", profile, "RELATIVE_COLORIMETRIC", True)
    on_canvas.live.window.pick("View", "Original")
    wait_for("what is simulated", lambda: np.abs(on_canvas.live.picture() - on_canvas.original).mean() > 2, 20)
    on_canvas.shown("simulated original")
    on_canvas.live.leave("Cancel")


def views_are_managed(session):
    """Both halves; enlarged; the removed noise is the difference of the layer's own values, drawn as it is."""
    on_canvas = OnCanvas(session, True, "u8")
    window, original, result = on_canvas.live.window, on_canvas.original, on_canvas.result
    half = WIDTH // 2 - 12  # beside the line and its knob
    window.pick("View", "Split")
    wait_for("both halves", lambda: np.array_equal(window.picture(WIDTH, HEIGHT)[:, :half], original[:, :half])
             and np.array_equal(window.picture(WIDTH, HEIGHT)[:, -half:], result[:, -half:]), 10)
    window.pick("View", "Removed noise")
    times = int(wait_for("the factor", lambda: window.label("Removed noise ×")).split("×")[1])
    removed = window.picture(WIDTH, HEIGHT)
    before = on_canvas.live.pixels()
    window.pick("View", "Result")
    window.pick("Zoom", "300")
    large = np.repeat(np.repeat(result, 3, axis=0), 3, axis=1)
    wait_for("each pixel as 3 × 3", lambda: np.array_equal(window.picture(3 * WIDTH, 3 * HEIGHT)[40:], large[40:]), 20)
    window.pick("Zoom", "100")
    wait_for("the result", lambda: np.array_equal(window.picture(WIDTH, HEIGHT), result), 20)
    thumbnail = desktop.screenshot(window.area("Overview"))[4:-4, 4:-4].astype(int)
    off = np.abs(thumbnail.mean(axis=(0, 1)) - original.astype(int).mean(axis=(0, 1))).max()
    assert off < 8, f"the overview's colours are {off:.0f} levels off"
    on_canvas.finish()
    expected = np.clip(128 + times * (before.astype(int) - on_canvas.live.pixels()), 0, 255)
    assert np.array_equal(removed, expected), "the removed noise is not the difference of the layer's values"


def reduced_is_managed(session):
    """Fields of one colour have it in a reduced view, too."""
    session.ask("open_coloured", 1500, 1000, "u8")
    live = Live(session, settle=False)
    live.window.pick("View", "Original")
    tones = []
    for zoom in ("100", "25"):
        live.window.pick("Zoom", zoom)
        time.sleep(1)
        shot = live.window.shot()
        middle = shot[shot.shape[0] // 2 - 15:shot.shape[0] // 2 + 15, shot.shape[1] // 2 - 15:shot.shape[1] // 2 + 15]
        tones.append(middle.astype(int).mean(axis=(0, 1)))
    live.leave("Cancel")
    assert np.abs(tones[0] - tones[1]).max() < 4, f"{tones[0]} at 100 %, {tones[1]} reduced"


def a_new_profile_shows(session, profile):
    """One that is assigned while the dialog is open: in the original, and in the result, measured and computed anew."""
    on_canvas = OnCanvas(session, True, "u8")
    session.ask("assign_profile", profile)
    window = on_canvas.live.window
    window.pick("View", "Original")
    wait_for("other colours", lambda: np.abs(on_canvas.live.picture() - on_canvas.original).mean() > 2, 20)
    on_canvas.shown("original with another profile")
    window.pick("View", "Result")
    wait_for("another result", lambda: np.abs(on_canvas.live.picture() - on_canvas.original).mean() > 2
             and window.settled(), 20)
    on_canvas.finish()


def with_config(work, before, mode, profiles):
    """A GIMP with this in its gimprc besides what was in it before; "plain": managed, without a monitor's profile."""
    kind = "display" if mode == "plain" else mode
    monitor = f'(display-profile "{profiles["monitor"]}")' if mode != "plain" else ""
    GIMPRC.write_text(f"{before}\n(color-management (mode {kind}) {monitor})\n", encoding="utf-8")
    return Session(work)


def leave_dialog(session):
    if desktop.application("grainless"):
        View.already_open(session, TITLE).press("Cancel")
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


# The preview keeps 8 bits, in the image's own values where it has no more.
KINDS = (("u8 in Adobe RGB", ("u8", "adobe"), True), ("u8 with a linear profile", ("u8", "linear"), False),
         ("linear u8", ("u8-linear",), False), ("u16 in Adobe RGB", ("u16", "adobe"), False), ("float", ("float",), False),
         ("grey", ("u8", None, True), True), ("grey with a profile", ("u8", "grey", True), True))
# Levels on average, share of pixels off by more than one. babl takes the way that it has measured to be the fastest, and
# another one in another process. Without the monitor's profile, which swaps red and green, pictures are 20 levels off.
EXACT = 0.05, 0
ROUNDED = 2, 0.3


MODES = {"display": [name for name, _, _ in KINDS], "softproof": ["u8 in Adobe RGB", "grey with a profile"],
         "off": ["u16 in Adobe RGB"], "plain": ["u8 in Adobe RGB"]}


def steps_of(session, mode, profiles):
    for part in ("serve_live.py", "serve_colour.py"):
        session.ask("load", str(pathlib.Path(__file__).with_name(part)))
    proof = profiles["proof"] if mode == "softproof" else None
    for name, how, exact in KINDS:
        kind = [profiles.get(one, one) for one in how]
        if name in MODES[mode]:
            yield name, lambda kind=kind, exact=exact: same_as_canvas(session, exact, *kind, proof=proof)
    if mode == "display":
        yield "views", lambda: views_are_managed(session)
        yield "reduced", lambda: reduced_is_managed(session)
        yield "another profile meanwhile", lambda: a_new_profile_shows(session, profiles["adobe"])
    if mode == "softproof":
        yield "what is simulated", lambda: a_proof_shows(session, proof)


def main():
    work = pathlib.Path(sys.argv[1])
    profiles = make_profiles(work)
    failed, before = 0, GIMPRC.read_text(encoding="utf-8")  # GIMP writes its own when it ends
    for mode in MODES:
        session = with_config(work, before, mode, profiles)
        try:
            named = ((f"{mode}: {name}", body) for name, body in steps_of(session, mode, profiles))
            failed += run_steps(session, named, recover=lambda: leave_dialog(session))
        finally:
            session.close()
    if not failed:
        print("# end", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
