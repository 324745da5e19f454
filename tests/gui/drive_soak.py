# SPDX-License-Identifier: MIT
"""Random previews and applications in one GIMP: drive_soak.py WORK; GRAINLESS_SOAK=N of them (20), GRAINLESS_SEED.

A third are applied without a dialog, a third in a dialog of their own, and a third are changes in one dialog that stays
open. Memory of GIMP and of that dialog's process has to stay within 5 % after a warm-up, no process and no file may be left.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gimp"))
import desktop
from desktop import click, wait_for
from session import PICTURE, STACK, Session, Window, settings_file
from steps import main as run

HERE = pathlib.Path(__file__).resolve().parent
PRECISIONS = [f"{kind}_{curve}" for kind in ("U8", "U16", "HALF", "FLOAT")
              for curve in ("LINEAR", "NON_LINEAR", "PERCEPTUAL")]
TOLERANCE = 1.05


def resident(process):
    """Kilobytes of its own, without what it shares with others."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError(f"no RssAnon of {process}")


def draw_settings(subject):
    """Any that go together."""
    patch = random.choice([0, 0, 2, 3, 4, 5, 7, 8, 10])
    settings = {"auto-sigma": random.random() < 0.4, "sigma": round(random.uniform(0, 40), 2),
                "strength": float(random.choice([0, 1, 50, 100, 150, 200])), "luma": float(random.choice([0, 60, 100, 200])),
                "chroma": float(random.choice([0, 60, 100, 200])),
                "shadows": float(random.choice([0, 100, 100, 160])), "highlights": float(random.choice([20, 100, 100, 200])),
                "detail": float(random.choice([0, 0, 30, 100])),
                "search": random.choice([0, 3, 5, 9, 15]), "patch": patch, "centre": random.choice(["max", "one", "zero"]),
                "weights": random.choice(["less-noise", "classic"])}
    if subject == STACK:
        return settings | {"depth": random.randint(1, 3)}
    return settings | {"method": random.choice(["bm3d", "nlm", "sw-nlm", "dct"]),
                       "quality": random.choice(["fast", "fast", "normal", "high"]),
                       "impulse": random.choice(["off", "auto", "auto", "weak", "normal", "strong"]),
                       "step": random.randint(0, patch or 2), "group": random.choice([0, 1, 2, 8, 16]),
                       "transform": random.choice(["bior1.5", "dct", "haar", "hadamard"]),
                       "stages": random.choice(["all", "first"]), "scales": random.choice(["auto", "1", "2", "3"])}


def as_config(settings):
    """The text of GIMP's file for the last values."""
    def value(one):
        if isinstance(one, bool):
            return "yes" if one else "no"
        return json.dumps(one)
    return "".join(f"({key} {value(one)})\n" for key, one in settings.items())


def open_random(session, subject):
    width, height = random.randint(1, 260), random.randint(1, 200)
    count = random.randint(2, 4) if subject == STACK else random.choice([1, 1, 1, 2])
    selection = [random.randint(-9, width), random.randint(-9, height), random.randint(1, width), random.randint(1, height)]
    session.ask("soak_open", width, height, random.choice(["RGB", "GRAY"]), random.choice(PRECISIONS),
                random.random() < 0.4, count, random.choice(["layer", "layer", "mask"]) if subject == PICTURE else "layer",
                random.choice([None, selection]), random.randint(0, 10**6))


def expect_fair(answer, *fair):
    """Done, or refused with a sentence."""
    assert answer["status"] in fair or (answer["status"] == "calling-error" and answer["message"]), answer


def apply_once(session):
    subject = random.choice([PICTURE, PICTURE, STACK])
    open_random(session, subject)
    expect_fair(session.ask("soak_apply", subject[1], draw_settings(subject)), "success")
    session.ask("soak_close")


def dialog_once(session):
    subject = random.choice([PICTURE, PICTURE, STACK])
    open_random(session, subject)
    settings_file(subject).write_text(as_config(draw_settings(subject)), encoding="utf-8")
    window = Window(session, *subject)
    for _ in range(random.randint(0, 3)):
        window.set_number("Strength", random.choice([20, 70, 100, 130]))
        time.sleep(random.uniform(0, 0.4))
    ok = window.widget("button", "OK")
    if desktop.is_sensitive(ok) and random.random() < 0.6:
        click(ok)
        expect_fair(window.gone(), "success")
    else:
        window.press("Cancel")
        expect_fair(window.gone(), "cancel")
    session.ask("soak_close")


class LongDialog:
    """One dialog, whose settings change again and again."""

    CHANGES = (("Strength", (20, 50, 80, 100, 140)), ("Lightness noise", (0, 50, 100)), ("Colour noise", (0, 50, 100)),
               ("Detail given back", (0, 25, 50)), ("Search window", (0, 5, 9, 13)), ("Patch size", (0, 4, 6, 8)))

    def __init__(self, session):
        settings_file(PICTURE).unlink(missing_ok=True)
        session.ask("soak_open", 420, 300, "RGB", "U8_NON_LINEAR", False, 1, "layer", None, 1)
        self.session = session
        self.window = Window(session, *PICTURE)
        click(self.window.widget("toggle button", "Advanced tweaks"))
        found = subprocess.run(["pgrep", "-P", str(session.process.pid), "-x", "grainless"], capture_output=True, text=True,
                               check=True).stdout.split()
        self.process = int(found[-1])

    def change(self):
        name, values = random.choice(self.CHANGES)
        self.window.set_number(name, random.choice(values))
        if random.random() < 0.3:
            self.window.choose("View", random.choice(["Result", "Original", "Split", "Side by side"]))
        if random.random() < 0.5:
            time.sleep(random.uniform(0, 0.3))
        else:
            self.wait_for_preview()

    def wait_for_preview(self):
        """Without any strength left there is nothing to compute, and the dialog says that instead."""
        wait_for("the exact preview", lambda: self.window.label("Preview by", "These settings remove nothing"))

    def close(self):
        self.wait_for_preview()
        self.window.press("Cancel")
        expect_fair(self.window.gone(), "cancel")
        self.session.ask("soak_close")


class Growth:
    """What a process holds, measured again and again."""

    def __init__(self, name):
        self.name, self.values = name, []

    def measure(self, process):
        self.values.append(resident(process))

    def judge(self):
        """The last quarter beside the second: the first is the warm-up."""
        quarter = len(self.values) // 4
        early, late = (sorted(part)[len(part) // 2] for part in (self.values[quarter:2 * quarter], self.values[-quarter:]))
        print(f"# {self.name}: {early} KiB after a quarter of {len(self.values)}, {late} KiB at the end, "
              f"{100 * late / early - 100:+.1f} %", flush=True)
        return late <= TOLERANCE * early


def files_of_ours():
    """Temporary files with our name, but for the display's folder of this run."""
    own = pathlib.Path(os.environ["XDG_RUNTIME_DIR"]).name
    return {path for path in pathlib.Path(os.environ.get("TMPDIR", "/tmp")).glob("*grainless*") if path.name != own}


def soak(session, number):
    session.ask("load", str(HERE / "serve_soak.py"))
    gimp, filter_growth = Growth("GIMP"), Growth("the open dialog's process")
    files = files_of_ours()
    for i in range(number * 2 // 3):
        (apply_once if i % 2 else dialog_once)(session)
        gimp.measure(session.process.pid)
    dialog = LongDialog(session)
    for _ in range(number - number * 2 // 3):
        dialog.change()
        filter_growth.measure(dialog.process)
    dialog.close()
    time.sleep(1)
    left = subprocess.run(["pgrep", "-P", str(session.process.pid), "-x", "grainless"], capture_output=True, text=True,
                          check=False).stdout.split()
    yield "every preview and application ends well", True
    yield "no process is left", not left
    yield "no temporary file is left", files_of_ours() <= files
    for growth in (gimp, filter_growth):
        flat = growth.judge()
        if number >= 100:  # a short run is all warm-up
            yield f"memory of {growth.name} stays within 5 %", flat


def steps(session):
    number, seed = int(os.environ.get("GRAINLESS_SOAK", "20")), int(os.environ.get("GRAINLESS_SEED", time.time()))
    print(f"# {number} previews and applications, GRAINLESS_SEED={seed}", flush=True)
    random.seed(seed)
    for what, well in soak(session, number):
        yield what, lambda well=well: expect(well)


def expect(well):
    assert well


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
