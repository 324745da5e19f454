# SPDX-License-Identifier: MIT
"""What the tables of all papers need: runs of grainless and grainless-bench, a time budget a row,
and tables in Markdown."""

import json
import pathlib
import subprocess
import tempfile

import numpy
from PIL import Image, UnidentifiedImageError

from steps import fail

SHORT = 1.0  # seconds; longer cases are timed once


def print_table(title, columns, rows):
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    print(end="", flush=True)


def windows(radius, patch_radius):
    return {"search": 2 * radius + 1, "patch": 2 * patch_radius + 1}


def seconds(report):
    """Of the computing alone, as in all tables; on a card without the transfers."""
    return report["seconds"]["kernels"]


def psnr(clean, picture):
    """In dB, of arrays in 8-bit steps."""
    error = numpy.mean((numpy.asarray(clean, float) - numpy.asarray(picture, float)) ** 2)
    return float(10 * numpy.log10(255**2 / error))


def add_noise(pixels, sigma, seed):
    """An 8-bit picture with Gaussian noise, rounded and clipped to 8 bits."""
    noise = numpy.random.default_rng(seed).normal(0, sigma, pixels.shape)
    return numpy.clip(numpy.rint(pixels + noise), 0, 255).astype(numpy.uint8)


def grey(path):
    """The 8-bit pixels of a picture, without its alpha channel. Pillow refuses alpha of a kind that
    TIFF doesn't know, as some of the standard pictures have; grainless takes it."""
    try:
        return numpy.asarray(Image.open(path).convert("L"))
    except UnidentifiedImageError:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "copy.png")
            lines_of(["grainless", "--json", "--strength", 0, "--sigma", 1, path, "-o", copy])
            return numpy.asarray(Image.open(copy).convert("L"))


def short(value):
    """Seconds or milliseconds with three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def options_of(parameters):
    return [part for key, value in parameters.items() for part in (f"--{key}", str(value))]


def lines_of(command):
    """The JSON objects that a command prints, a line each."""
    command = list(map(str, command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(clean, picture):
    """PSNR, SSIM and FSIM of a file."""
    (found,) = lines_of(["grainless", "metrics", "--json", clean, picture])
    return found


class Session:
    """Where the tables run: `device` as the command line names it, `folder` for files, `budget`
    seconds for a timed row at most, `jobs` processes at a time where nothing is timed, `repeats` of
    short timed cases."""

    def __init__(self, folder, device, budget, jobs, repeats=5):
        self.folder, self.device, self.budget, self.jobs = folder, device, budget, jobs
        self.repeats = repeats
        self.left_out = []  # (row, predicted seconds)
        self.fell_back = set()  # (work, device, reason)
        self._rates = {}

    def denoise(self, inputs, outputs, method, sigma, **parameters):
        """What grainless reports of each input; `outputs` is a file for one, a folder for more."""
        given = {"method": method, "sigma": sigma, "device": self.device, **parameters}
        reports = lines_of(["grainless", "--json", *options_of(given), *inputs, "-o", outputs])
        self._note_devices(f"{method} of {pathlib.Path(inputs[0]).name}", reports)
        return reports

    def milliseconds(self, name, kind, work, size, layers=1, channels=1, device=None, **parameters):
        """Of computing a synthetic picture or volume, the fastest of its runs. None where they
        would take more than the budget: `kind` names cases whose time grows with `work`, so that
        the slowest one until now tells the next."""
        predicted = self._rates.get(kind, 0) * work
        repeat = self.repeats if predicted < SHORT else 1
        if (repeat + 1) * predicted > self.budget:
            self.left_out.append((name, (repeat + 1) * predicted))
            return None
        given = {"size": size, "layers": layers, "channels": channels, "repeat": repeat,
                 "device": device or self.device, **parameters}
        (report,) = lines_of(["grainless-bench", "--json", *options_of(given)])
        (case,) = report["cases"]
        self._note_devices(name, [case])
        self._rates[kind] = max(self._rates.get(kind, 0), case["total_ms"] / 1000 / work)
        return case["fastest_kernels_ms"]

    def print_shortfalls(self):
        """What the tables lack, and what another device than the one asked for computed."""
        if self.left_out:
            rows = [[name, short(predicted)] for name, predicted in self.left_out]
            print_table(f"Left out: they would take more than {self.budget:g} s (--budget)",
                        ["row", "predicted s, all its runs"], rows)
        if self.fell_back:
            print_table(f"Not computed by {self.device}", ["work", "device", "reason"],
                        sorted(self.fell_back))

    def _note_devices(self, work, reports):
        if self.device == "auto":
            return
        for report in reports:
            if not report["device"].startswith(self.device.split(":")[0]):
                self.fell_back.add((work, report["device"], "; ".join(report["fallback"])))


def cards(device):
    """The numbers of cards that `cuda:0,1` or `cuda` names."""
    if device.startswith("cuda:"):
        return [int(part) for part in device.removeprefix("cuda:").split(",")]
    if device != "cuda":
        return []
    (found,) = lines_of(["grainless", "devices", "--json"])
    names = [d["name"] for d in found["devices"] if d["usable"]]
    return sorted(int(name.removeprefix("cuda:")) for name in names if name.startswith("cuda:"))


def save(pixels, path):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path
