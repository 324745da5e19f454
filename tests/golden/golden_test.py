#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Denoises the photographs in data/ with the command line and compares with the results kept there.

usage: golden_test.py GRAINLESS [--regenerate]

A result may differ from the kept one by one 8-bit step at a pixel and 0.02 on average (other processors
round differently), and its PSNR against the clean photograph has a floor of its own, so that results
can't drift as they are regenerated. Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).parent / "data"

# Clean photograph, sigma of the seeded noise, settings, kept result, PSNR floor in dB. Floors lie
# 0.1 dB under what the first release reached, or a better method after it.
CASES = [
    ("camera.pgm", 25, "--method bm3d", "camera-bm3d.pgm", 29.44),
    ("camera.pgm", 25, "--method bm3d --transform dft", "camera-bm3d-dft.pgm", 29.34),
    ("camera.pgm", 25, "--method nlm", "camera-nlm.pgm", 28.73),
    ("camera.pgm", 25, "--method dct", "camera-dct.pgm", 29.29),
    ("coffee.ppm", 25, "--method dct --quality fast", "coffee-dct-fast.ppm", 30.17),
    ("camera.pgm", 25, "--method sw-nlm", "camera-sw-nlm.pgm", 28.00),
    ("coffee.ppm", 25, "--method sw-nlm", "coffee-sw-nlm.ppm", 28.68),
    ("chelsea.pgm", 50, "--method bm3d --quality high", "chelsea-bm3d-high.pgm", 25.96),
    ("astronaut.ppm", 15, "--method bm3d", "astronaut-bm3d.ppm", 32.12),
    ("coffee.ppm", 25, "--method nlm --quality high", "coffee-nlm-high.ppm", 30.53),
    ("coffee.ppm", 10, "--method bm3d --quality fast --detail 20", "coffee-bm3d-fast.ppm", 36.05),
]


def samples(path):
    """The samples of a binary PGM or PPM with a three-line header."""
    return path.read_bytes().split(b"\n", 3)[3]


def denoise(program, case, output):
    clean, sigma, settings, _, _ = case
    done = subprocess.run(
        [program, *settings.split(), "--device", "cpu", "--auto-sigma", "no", "--sigma", str(sigma),
         "--add-noise", str(sigma), "--seed", "1", "--reference", DATA / clean, "--json",
         DATA / clean, "-o", output], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["psnr_after"]


def problem(program, case, folder):
    kept, floor = DATA / case[3], case[4]
    output = pathlib.Path(folder) / case[3]
    psnr = denoise(program, case, output)
    differences = [abs(a - b) for a, b in zip(samples(output), samples(kept), strict=True)]
    mean = sum(differences) / len(differences)
    if max(differences) > 1 or mean > 0.02:
        return f"differs from the kept result by {max(differences)} at most, {mean:.4f} on average"
    if psnr < floor:
        return f"PSNR {psnr:.3f} dB is under {floor} dB"
    return None


def main():
    program = sys.argv[1]
    if "--regenerate" in sys.argv[2:]:
        for case in CASES:
            print(f"{case[3]}: {denoise(program, case, DATA / case[3]):.3f} dB")
        return 0
    print(f"1..{len(CASES)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES, 1):
            why = problem(program, case, folder)
            failed += why is not None
            print(f"{'ok' if why is None else 'not ok'} {number} {case[3]}")
            if why is not None:
                print(f"# {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
