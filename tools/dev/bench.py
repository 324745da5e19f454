#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark on the CPU, beside OpenCV, Tampere's bm3d and G'MIC: bench.py OUT_DIR [--peers |
--large] [--runs N] [--page]

Peers: the same noisy 512×512 pictures (python3-skimage's camera and astronaut, Gaussian noise of
sigma 25, seeded, rounded to 8 bits) go to each program, in turns, and each runs on all cores.
Seconds are the processor's and those of the clock, medians of N runs: of whole processes, or of the
call of a library. Peers get the best of a few filter strengths.

Large: a 24-megapixel RGB picture (6000×4000), once a method: seconds, and the process's peak of
resident memory.

The table goes to stdout, all numbers to OUT_DIR/bench.json; with --page, which does both, to
tools/bench/results/processor.json, too, of which docs/performance.md is made.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy
from PIL import Image
from skimage import data

import bench_peers
from steps import fail, step

NLM = ["--method", "nlm", "--search", "21", "--patch", "7"]
BM3D = ["--method", "bm3d", "--quality", "normal"]
FAST = ["--method", "bm3d", "--quality", "fast"]
HIGH = ["--method", "bm3d", "--quality", "high"]
DCT = ["--method", "dct"]
LARGE_WIDTH, LARGE_HEIGHT, LARGE_SIGMA = 6000, 4000, 10
LARGE_LIMIT = 2 << 30


class Grainless:
    def __init__(self, folder, noisy, sigma, options):
        suffix = "pgm" if noisy.ndim == 2 else "ppm"
        self.input, self.output = folder / f"noisy.{suffix}", folder / f"denoised.{suffix}"
        self.usage = folder / "usage"
        Image.fromarray(noisy).save(self.input)
        # A child of this process would start with this process's own peak: time(1) stands between.
        self.command = [
            "/usr/bin/time",
            "--format=%M %U %S",
            f"--output={self.usage}",
            "grainless",
            "--device",
            "cpu",
            "--auto-sigma",
            "no",
            "--sigma",
            str(sigma),
            *options,
            str(self.input),
            "-o",
            str(self.output),
            "--json",
        ]
        self.report = {}

    def run(self):
        """Seconds from memory to memory."""
        self.output.unlink(missing_ok=True)
        answer = subprocess.run(self.command, capture_output=True, text=True, check=False)
        if answer.returncode:
            fail(f"{' '.join(self.command[3:])} failed: {answer.stderr.strip()}")
        self.report = json.loads(answer.stdout)
        seconds = self.report["seconds"]
        return seconds["upload"] + seconds["kernels"] + seconds["download"]

    def peak_bytes(self):
        return int(self.usage.read_text(encoding="utf-8").split()[0]) * 1024

    def processor_seconds(self):
        return sum(map(float, self.usage.read_text(encoding="utf-8").split()[1:]))


def large_picture():
    tile = data.astronaut()
    repeats = (-(-LARGE_HEIGHT // tile.shape[0]), -(-LARGE_WIDTH // tile.shape[1]), 1)
    return bench_peers.add_noise(numpy.tile(tile, repeats)[:LARGE_HEIGHT, :LARGE_WIDTH], LARGE_SIGMA)


def run_large(folder):
    step(f"making a picture of {LARGE_WIDTH}×{LARGE_HEIGHT}")
    noisy = large_picture()
    rows = []
    title = "24 megapixels RGB, 8 bits"
    print(f"\n{title:32}{'compute s':>11}{'total s':>9}{'processor s':>13}{'peak MiB':>10}   within 2 GiB")
    for name, options in (
        ("BM3D, normal", BM3D),
        ("BM3D, fast", FAST),
        ("BM3D, high", HIGH),
        ("NLM 21×21 / 7×7", NLM),
        ("DCT", DCT),
    ):
        step(f"{name} on it, once: this can take minutes")
        ours = Grainless(folder, noisy, LARGE_SIGMA, options)
        seconds = ours.run()
        peak = ours.peak_bytes()
        fits = peak <= LARGE_LIMIT
        rows.append(
            {
                "task": name,
                "compute_seconds": seconds,
                "processor_seconds": ours.processor_seconds(),
                "peak_bytes": peak,
                "fits": fits,
                "grainless_report": ours.report,
            }
        )
        print(
            f"{name:32}{seconds:11.1f}{ours.report['seconds']['total']:9.1f}"
            f"{ours.processor_seconds():13.1f}{peak / 2**20:10.0f}"
            f"   {'yes' if fits else 'NO'}",
            flush=True,
        )
    return rows


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def write_page(result):
    """The results file of docs/performance.md, and the page."""
    sources = pathlib.Path(__file__).parents[2]
    results = sources / "tools/bench/results"
    results.mkdir(exist_ok=True)
    for row in result["large"]:
        del row["grainless_report"]
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (results / "processor.json").write_text(text + "\n", encoding="utf-8")
    subprocess.run([sources / "tools/dev/performance.py", sources], check=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--peers", action="store_true", help="only the comparison with other programs")
    parser.add_argument("--large", action="store_true", help="only the 24-megapixel picture")
    parser.add_argument("--page", action="store_true", help="both, for docs/performance.md")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each in the comparison (5)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    both = arguments.page or arguments.peers == arguments.large
    result = {
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "cores": os.cpu_count(),
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["./dev bench", *sys.argv[2:]]),
        "version": bench_peers.version().capitalize(),
        "load": os.getloadavg()[1],
        "sigma": bench_peers.SIGMA,
        "runs": arguments.runs,
    }
    print(result["machine"])
    if both or arguments.peers:
        result["peers"] = bench_peers.compare(arguments.folder, arguments.runs)
        bench_peers.print_rows(result["peers"])
    if both or arguments.large:
        result["large"] = run_large(arguments.folder)
    report = arguments.folder / "bench.json"
    report.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    step(f"all numbers: {report}")
    if arguments.page:
        write_page(result)


if __name__ == "__main__":
    main()
