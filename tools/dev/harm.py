#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether automatic mode makes pictures worse: harm.py OUT_DIR [IMAGES] [--methods NAMES]
[--quality PROFILE] [--few] [--estimate] [--device DEVICE] [--jobs N]

Clean pictures of all kinds (harm_pictures.py: text, line art, screens of prints, dithers, cartoons,
JPEG, enlarged, sharpened, denoised, grain, sky, paper…) and clean photographs (Kodak24 in colour and
grey, Set12, Standard) are filtered with everything automatic: PSNR of the result to its input, at
least 40 dB, and 42 for untouched photographs. White noise is added to the photographs in float, and
PolyU's pairs have their own: no result may be farther from the clean picture than the noisy one, by
more than 0.05 dB.

Prints the losers first, then each kind's worst, and leaves every number in OUT_DIR/harm.json. Exit
status 1 when anything was harmed. --estimate only measures: minutes instead of hours. --few takes
every sixth photograph and two strengths of noise.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

import numpy
from PIL import Image

import harm_pictures
from quality import as_png, denoise, image_folder, pictures, print_table
from steps import fail, step

ROUNDING = 0.05  # dB
CLEAN, PHOTOGRAPH = 40.0, 42.0  # dB, of a clean picture's result to its input
SIGMAS = (1, 2, 3, 5, 10, 15, 25)
CAMERA = "PolyU"


def load(path):
    try:
        image = Image.open(path)
    except OSError:  # TIFF files of grey and another channel
        import tifffile

        return numpy.ascontiguousarray(tifffile.imread(path)[..., 0])
    return numpy.array(image.convert("L" if image.mode in ("L", "LA") else "RGB"))


def photographs(folder, few):
    """Clean ones by set: {set: {name: pixels}}."""
    sets = {}
    for name in ("Kodak24", "Set12", "Standard"):
        if not (folder / name).is_dir():
            step(f"{folder} has no {name}: left out")
            continue
        paths = pictures(folder / name)[:: 6 if few else 1]
        sets[name] = {path.stem: load(path) for path in paths}
    if "Kodak24" in sets:
        grey = {name: harm_pictures.grey(pixels) for name, pixels in sets["Kodak24"].items()}
        sets["Kodak24 grey"] = grey
    return sets


def write(pixels, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, compress_level=1)
    return path


def jobs(folder, out, few):
    """(kind, path, noise that is added, clean picture or None, least dB) of all that is tried."""
    sets = photographs(folder, few)
    for name, found in sets.items():
        for number, (stem, pixels) in enumerate(found.items(), 1):
            path = write(pixels, out / "clean" / name / f"{stem}.png")
            yield name, path, 0, None, PHOTOGRAPH
            if pixels.ndim == 2:
                equal = write(harm_pictures.rgb(pixels), out / "clean" / f"{name} as RGB" / f"{stem}.png")
                yield f"{name} as RGB", equal, 0, None, PHOTOGRAPH
            for sigma in (3, 10) if few else SIGMAS:
                yield f"{name} + {sigma}", path, sigma, number, None
    base = {f"{name} {stem}": pixels for name, found in sets.items() for stem, pixels in found.items()}
    chosen = dict(list(base.items())[:: max(1, len(base) // (2 if few else 8))])
    for path in harm_pictures.make(chosen, out / "made"):
        yield path.parent.name, path, 0, None, CLEAN
    for noisy in pictures(folder / CAMERA) if (folder / CAMERA).is_dir() else []:
        clean = noisy.with_name(noisy.name.replace("_real", "_mean"))
        if noisy.stem.endswith("_real"):
            yield CAMERA, as_png(noisy, out / "polyu"), 0, as_png(clean, out / "polyu"), None


def measured(path, sigma, seed):
    command = ["grainless", "estimate", "--json", str(path)]
    if sigma:
        command += ["--add-noise", str(sigma), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def filtered(job, method, arguments, scratch):
    """What one picture gained in dB: over what it must have, or over the noisy one."""
    kind, path, sigma, clean, least = job
    options = ["--method", method, "--quality", arguments.quality, "--device", arguments.device]
    options += ["--metrics", "psnr"]
    if arguments.jobs > 1:
        options += ["--threads", "1"]
    if sigma:
        options += ["--add-noise", sigma, "--seed", clean]
    else:
        options += ["--reference", clean or path]
    report = denoise(path, scratch, options)
    after = report["psnr_after"]
    if least is None:
        before = report["psnr_before"]
        margin = after - before + ROUNDING
    else:
        before = None
        margin = 99.0 if after is None else after - least
    return {
        "kind": kind,
        "picture": path.stem,
        "method": method,
        "sigma": report["sigma"],
        "confidence": report["confidence"],
        "before": before,
        "after": after,
        "margin": margin,
    }


def all_filtered(todo, method, arguments, out):
    def one(numbered):
        number, job = numbered
        if number % 50 == 0:
            step(f"{method}: {number} of {len(todo)}")
        result = out / f"result-{method}-{number}.png"
        try:
            return filtered(job, method, arguments, result)
        finally:
            result.unlink(missing_ok=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        return list(pool.map(one, enumerate(todo)))


def decibel(value):
    return "-" if value is None else f"{value:.2f}"


def row(result):
    sigma = " ".join(f"{value:.1f}" for value in result["sigma"])
    return [
        result["kind"], result["picture"], result["method"], sigma, result["confidence"],
        decibel(result["before"]), decibel(result["after"]),
    ]


def tell(results):
    columns = ["kind", "picture", "method", "sigma found", "sure?", "before, dB", "after, dB"]
    losers = sorted((r for r in results if r["margin"] < 0), key=lambda r: r["margin"])
    print_table(f"Harmed: {len(losers)} of {len(results)}", columns, map(row, losers))
    worst = {}
    for result in sorted(results, key=lambda r: -r["margin"]):
        worst[result["kind"], result["method"]] = result
    ordered = sorted(worst.values(), key=lambda r: r["margin"])
    print_table("The worst of each kind", columns, map(row, ordered))
    return not losers


def tell_estimates(found):
    columns = ["kind", "picture", "added", "sigma found", "sure?"]
    rows = []
    for kind, path, sigma, report in sorted(found, key=lambda f: -(f[3]["sigma"][0] - f[2])):
        values = " ".join(f"{value:.2f}" for value in report["sigma"])
        rows.append([kind, path.stem, f"{sigma}", values, report["confidence"]])
    print_table("Measured, what exceeds the added noise most first", columns, rows)


def main():
    parser = argparse.ArgumentParser(prog="./dev quality --harm")
    parser.add_argument("out", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("images", nargs="?", metavar="FOLDER", help="folder of the test pictures")
    parser.add_argument("--methods", nargs="+", choices=("bm3d", "dct", "nlm", "sw-nlm"), default=["bm3d"])
    parser.add_argument("--quality", choices=("fast", "normal", "high"), default="normal")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--few", action="store_true", help="every sixth photograph")
    parser.add_argument("--estimate", action="store_true", help="measure, don't filter")
    parser.add_argument("--jobs", type=int, default=1, help="pictures at a time, a thread each")
    arguments = parser.parse_args()
    out = arguments.out / "harm"
    all_jobs = list(jobs(image_folder(arguments.images), out, arguments.few))
    step(f"{len(all_jobs)} pictures")
    if arguments.estimate:
        tell_estimates([(j[0], j[1], j[2], measured(j[1], j[2], j[3])) for j in all_jobs])
        return 0
    results = []
    for method in arguments.methods:
        results += all_filtered(all_jobs, method, arguments, out)
    target = arguments.out / "harm.json"
    target.write_text(json.dumps(results, indent=1), encoding="utf-8")
    step(f"all numbers: {target}")
    return 0 if tell(results) else 1


if __name__ == "__main__":
    sys.exit(main())
