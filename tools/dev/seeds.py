#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The five papers this project grew from, their tables beside ours: seeds.py OUT_DIR [IMAGES]
[--device DEVICE] [--parts NAMES] [--budget SECONDS] [--jobs COUNT] [--quick] [--sigmas NUMBERS]
[--radii NUMBERS] [--patch-radii NUMBERS]

The tables are in papers/, a module a paper. IMAGES is a folder with the folders Standard and
Volume (GRAINLESS_IMAGES, or ../shared/images beside the checkout). Noise is Gaussian, added in
float without clipping unless a table says otherwise. A timed row that is going to take more than
--budget seconds, judged by the ones before it, is left out, and a table at the end names all such
rows; so is work that another device than the one asked for did. --quick runs the smallest case of
every table. Times are of the computing alone, on a card without transfers, the fastest of five or,
beyond a second, of one.

Tables go to stdout, all numbers to OUT_DIR/seeds.json.
"""

import argparse
import json
import os
import pathlib
import time

from papers import honzatko, marques, palma, runs, vuurst, wahid
from steps import fail, step

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
PARTS = {
    "marques": marques.run,
    "wahid": wahid.run,
    "honzatko": honzatko.run,
    "vuurst": vuurst.run,
    "palma": palma.run,
}


def numbers(text):
    return [int(part) for part in text.split(",")]


def options_of_vuurst(known):
    """Numbers among those of his tables."""
    def chosen(text):
        found = numbers(text)
        if not set(found) <= set(known):
            raise argparse.ArgumentTypeError(f"his tables have {', '.join(map(str, known))}")
        return found

    return chosen


def names(text):
    found = text.split(",")
    unknown = [name for name in found if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(PARTS)}")
    return found


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench --seeds")
    parser.add_argument("folder", type=pathlib.Path, help=argparse.SUPPRESS)
    default = os.environ.get("GRAINLESS_IMAGES", CHECKOUT.parent / "shared" / "images")
    parser.add_argument("images", type=pathlib.Path, nargs="?", default=default)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--parts", type=names, default=list(PARTS))
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sigmas", type=options_of_vuurst(vuurst.SIGMAS), default=vuurst.SIGMAS)
    parser.add_argument("--radii", type=options_of_vuurst(vuurst.RADII), default=vuurst.RADII)
    parser.add_argument("--patch-radii", type=options_of_vuurst(vuurst.PATCH_RADII),
                        default=vuurst.PATCH_RADII)
    options = parser.parse_args()
    options.pictures = list(vuurst.PICTURES)
    if options.quick:
        options.sigmas, options.radii, options.patch_radii = (40,), (5,), (1,)
        options.pictures = options.pictures[:2]
    return options


def main():
    options = arguments()
    for name in ("Standard", "Volume"):
        if not (options.images / name).is_dir():
            fail(f"{options.images / name} holds pictures of the tables, and is not there")
    options.folder.mkdir(parents=True, exist_ok=True)
    session = runs.Session(options.folder, options.device, options.budget, options.jobs,
                           repeats=1 if options.quick else 5)
    report = options.folder / "seeds.json"
    result, began = {}, time.monotonic()
    for part in options.parts:
        result[part] = PARTS[part](session, options.images, options)
        result["left out"], result["fell back"] = session.left_out, sorted(session.fell_back)
        report.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")  # so far
    session.print_shortfalls()
    step(f"{time.monotonic() - began:.0f} s; all numbers: {report}")


if __name__ == "__main__":
    main()
