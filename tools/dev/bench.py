#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark on the CPU, next to OpenCV and Tampere's bm3d: bench.py OUT_DIR [--peers | --large]
[--runs N]

Peers: the same noisy 512×512 picture (python3-skimage's camera, Gaussian noise of sigma 25, seeded,
rounded to 8 bits) goes to each program, in turns, and each runs on all cores. Peers are timed
around the call; ours is the program's own count of seconds from pixels in memory to pixels in
memory (upload + kernels + download), so neither side pays for starting a process or reading files.
Medians of N runs. OpenCV gets the best of a few filter strengths, which its speed does not depend
on.

Large: a 24-megapixel RGB picture (6000×4000), once a method: seconds, and the process's peak of
resident memory.

The table goes to stdout, all numbers to OUT_DIR/bench.json.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import time

import numpy
from PIL import Image
from skimage import data, metrics

from steps import fail, step

SIGMA, SEED = 25, 1
NLM = ["--method", "nlm", "--search", "21", "--patch", "7"]
BM3D = ["--method", "bm3d", "--quality", "normal"]
LARGE_WIDTH, LARGE_HEIGHT, LARGE_SIGMA = 6000, 4000, 10
LARGE_LIMIT = 2 << 30


def add_noise(clean, sigma):
    noise = numpy.random.default_rng(SEED).standard_normal(clean.shape, dtype=numpy.float32)
    return numpy.clip(numpy.rint(clean + sigma * noise), 0, 255).astype(numpy.uint8)


class Grainless:
    def __init__(self, folder, noisy, sigma, options):
        suffix = "pgm" if noisy.ndim == 2 else "ppm"
        self.input, self.output = folder / f"noisy.{suffix}", folder / f"denoised.{suffix}"
        self.peak = folder / "peak"
        Image.fromarray(noisy).save(self.input)
        # A child of this process would start with this process's own peak: time(1) stands between.
        self.command = [
            "/usr/bin/time",
            "--format=%M",
            f"--output={self.peak}",
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
        return int(self.peak.read_text(encoding="utf-8")) * 1024

    def picture(self):
        return numpy.asarray(Image.open(self.output))


class Call:
    """A peer: a function from the noisy picture to the denoised one."""

    def __init__(self, function):
        self.function, self.result = function, None

    def run(self):
        started = time.perf_counter()
        self.result = self.function()
        return time.perf_counter() - started

    def picture(self):
        return self.result


def psnr(clean, picture):
    return metrics.peak_signal_noise_ratio(clean, picture, data_range=255)


def opencv(clean, noisy):
    import cv2  # in the benchmark's own environment only

    strengths = [SIGMA * factor for factor in (0.6, 0.8, 1.0, 1.2)]
    best = max(
        strengths, key=lambda h: psnr(clean, cv2.fastNlMeansDenoising(noisy, None, h, 7, 21))
    )
    return f"OpenCV {cv2.__version__}, h {best:g}", Call(
        lambda: cv2.fastNlMeansDenoising(noisy, None, best, 7, 21)
    )


def tampere(noisy):
    import bm3d  # in the benchmark's own environment only
    from importlib.metadata import version

    scaled = noisy / 255.0

    def denoise():
        return numpy.clip(
            numpy.rint(bm3d.bm3d(scaled, SIGMA / 255, profile="np") * 255), 0, 255
        ).astype(numpy.uint8)

    return f"bm3d {version('bm3d')}, np", Call(denoise)


def alternate(contenders, runs):
    """Median seconds of each; every contender runs once to warm up, then all take turns."""
    for contender in contenders:
        contender.run()
    seconds = [[] for _ in contenders]
    for _ in range(runs):
        for times, contender in zip(seconds, contenders):
            times.append(contender.run())
    return [statistics.median(times) for times in seconds]


def compare(task, ours, peer_name, peer, clean, runs):
    step(f"{task}: {runs} runs each, in turns with {peer_name}")
    our_seconds, peer_seconds = alternate([ours, peer], runs)
    return {
        "task": task,
        "peer": peer_name,
        "grainless_seconds": our_seconds,
        "peer_seconds": peer_seconds,
        "ratio": peer_seconds / our_seconds,
        "runs": runs,
        "grainless_psnr": psnr(clean, ours.picture()),
        "peer_psnr": psnr(clean, peer.picture()),
        "grainless_report": ours.report,
    }


def run_peers(folder, runs):
    clean = data.camera()
    noisy = add_noise(clean, SIGMA)
    rows = [
        compare(
            "NLM 512×512 grey, 21×21 / 7×7",
            Grainless(folder, noisy, SIGMA, NLM),
            *opencv(clean, noisy),
            clean,
            runs,
        ),
        compare(
            "BM3D normal 512×512 grey",
            Grainless(folder, noisy, SIGMA, BM3D),
            *tampere(noisy),
            clean,
            runs,
        ),
    ]
    print(f"\n{'':32}{'Grainless':>18}{'peer':>18}{'ratio':>8}   peer")
    print(f"{'':32}{'s':>9}{'dB':>9}{'s':>9}{'dB':>9}")
    for row in rows:
        print(
            f"{row['task']:32}{row['grainless_seconds']:9.3f}{row['grainless_psnr']:9.2f}"
            f"{row['peer_seconds']:9.3f}{row['peer_psnr']:9.2f}{row['ratio']:7.1f}x   {row['peer']}",
            flush=True,
        )
    return rows


def large_picture():
    tile = data.astronaut()
    repeats = (-(-LARGE_HEIGHT // tile.shape[0]), -(-LARGE_WIDTH // tile.shape[1]), 1)
    return add_noise(numpy.tile(tile, repeats)[:LARGE_HEIGHT, :LARGE_WIDTH], LARGE_SIGMA)


def run_large(folder):
    step(f"making a picture of {LARGE_WIDTH}×{LARGE_HEIGHT}")
    noisy = large_picture()
    rows = []
    title = "24 megapixels RGB, 8 bits"
    print(f"\n{title:32}{'compute s':>11}{'total s':>9}{'peak MiB':>10}   within 2 GiB")
    for name, options in (("NLM 21×21 / 7×7", NLM), ("BM3D normal", BM3D)):
        step(f"{name} on it, once: this can take minutes")
        ours = Grainless(folder, noisy, LARGE_SIGMA, options)
        seconds = ours.run()
        peak = ours.peak_bytes()
        fits = peak <= LARGE_LIMIT
        rows.append(
            {
                "task": name,
                "compute_seconds": seconds,
                "peak_bytes": peak,
                "fits": fits,
                "grainless_report": ours.report,
            }
        )
        print(
            f"{name:32}{seconds:11.1f}{ours.report['seconds']['total']:9.1f}{peak / 2**20:10.0f}"
            f"   {'yes' if fits else 'NO'}",
            flush=True,
        )
    return rows


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--peers", action="store_true", help="only the comparison with OpenCV and bm3d"
    )
    parser.add_argument("--large", action="store_true", help="only the 24-megapixel picture")
    parser.add_argument(
        "--runs", type=int, default=5, help="timed runs of each in the comparison (5)"
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    both = arguments.peers == arguments.large
    result = {"processor": processor(), "cores": os.cpu_count()}
    print(f"{result['processor']}, {result['cores']} cores")
    if both or arguments.peers:
        result["peers"] = run_peers(arguments.folder, arguments.runs)
    if both or arguments.large:
        result["large"] = run_large(arguments.folder)
    report = arguments.folder / "bench.json"
    report.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    step(f"all numbers: {report}")


if __name__ == "__main__":
    main()
