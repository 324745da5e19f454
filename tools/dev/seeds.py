#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The papers this project grew from, beside ours: seeds.py OUT_DIR [IMAGES] [--device DEVICE]
[--sigmas NUMBERS] [--radii NUMBERS] [--patch-radii NUMBERS]

Times: grainless-bench --suite seeds. Marques & Pardo: milliseconds of colour Non-Local Means by
grainless-bench against the picture's size, the window's and the patch's. Honzatko: BM3D in the
Fourier basis on lena (IMAGES/Standard) at sigma 20. Van der Vuurst (2023): his eight pictures of 512 x 512 (IMAGES
/Standard) with Gaussian noise added in float, its seed the picture's number, by Non-Local Means and
by Shapiro-Wilk NLM; PSNR a picture at sigma 40 with search radius 10 and patch radius 3, and the
means of the eight over radii and noise. Wahid et al.: Non-Local Means with the centre's weight the
largest other, 21 x 21 / 7 x 7, on a natural picture and on a slice of a head (IMAGES/Volume) of 128
to 1024 pixels: PSNR, SSIM and FSIM before and after, and the seconds of all pictures up to a size.

Tables go to stdout, all numbers to OUT_DIR/seeds.json.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess

import numpy
from PIL import Image

from steps import fail, step

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]

# PSNR in dB of his CNLM and SWNLM at sigma 40, radius 10, patch radius 3.
VUURST = {
    "boat.png": (24.67, 25.47),
    "cameraman.tif": (25.99, 25.10),
    "house.tif": (26.77, 29.72),
    "lake.tif": (24.82, 25.03),
    "livingroom.tif": (24.21, 24.91),
    "mandril_gray.tif": (23.41, 23.58),
    "peppers_gray.tif": (25.70, 27.11),
    "jetplane.tif": (25.95, 26.70),
}
# Means of the eight: (method, sigma, radius, patch radius).
VUURST_MEANS = {("nlm", 20, 10, 3): 29.33, ("sw-nlm", 20, 10, 2): 29.82}
# Marques & Pardo: pictures of their tables, and the one time that is known of them (GTX 680).
MARQUES_SIZES = ("128x128", "256x256", "512x512", "720x480", "1024x1024")
MARQUES_WINDOWS = (5, 7, 11, 21)
MARQUES_PATCHES = (3, 5, 7, 9, 11)
MARQUES_MS = {("720x480", 21, 9): 88}
# Honzatko: lena, sigma 20, the first stage with the DFT.
HONZATKO_DB = 32.27
WAHID_SIGMAS = (10, 20, 30, 40)
WAHID_SIZES = (128, 256, 512, 1024)


def denoise(path, scratch, *options):
    command = ["grainless", "--json", *map(str, options), str(path), "-o", str(scratch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def noisy_run(path, out, arguments, method, sigma, seed, *options):
    settings = ["--method", method, "--sigma", sigma, "--add-noise", sigma, "--seed", seed]
    return denoise(path, out / f"denoised{path.suffix}", *settings, "--device", arguments.device,
                   *options)


def windows(radius, patch_radius):
    return ["--search", 2 * radius + 1, "--patch", 2 * patch_radius + 1]


def print_table(title, columns, rows):
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def seconds(report):
    return sum(report["seconds"][part] for part in ("upload", "kernels", "download"))


def run_times(arguments):
    step("times: grainless-bench --suite seeds")
    command = ["grainless-bench", "--suite", "seeds", "--repeat", "3", "--device", arguments.device]
    print(flush=True)
    if subprocess.run(command, check=False).returncode != 0:
        fail("grainless-bench failed")


def nlm_milliseconds(size, window, patch, arguments):
    command = ["grainless-bench", "--json", "--method", "nlm", "--channels", "3", "--size", size,
               "--search", str(window), "--patch", str(patch), "--sigma", "20", "--repeat", "5",
               "--device", arguments.device]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    (case,) = json.loads(done.stdout)["cases"]
    return case["kernels_ms"]


def run_marques(arguments):
    cases = [(size, 21, 9) for size in MARQUES_SIZES]
    cases += [(size, window, 9) for size in ("512x512", "720x480") for window in MARQUES_WINDOWS]
    cases += [("720x480", 21, patch) for patch in MARQUES_PATCHES]
    results, rows = {}, []
    for case in dict.fromkeys(cases):
        size, window, patch = case
        step(f"Marques & Pardo: {size}, {window}/{patch}")
        ours = nlm_milliseconds(size, window, patch, arguments)
        results[f"{size} {window}/{patch}"] = ours
        width, height = map(int, size.split("x"))
        theirs = MARQUES_MS.get(case)
        rows.append([
            size, f"{window} × {window}", f"{patch} × {patch}", f"{theirs}" if theirs else "",
            f"{ours:.3f}", f"{1e9 * ours / (width * height * window * window):.1f}",
        ])
    columns = ["colour picture", "window", "patch", "their ms", "our ms", "ps a pixel and place"]
    print_table("Marques & Pardo: NLM against picture, window and patch size", columns, rows)
    return results


def run_honzatko(folder, out, arguments):
    results, rows = {}, []
    for name, options in {
        "first stage, DFT": ["--transform", "dft", "--stages", "first"],
        "both stages, DFT, then DCT": ["--transform", "dft"],
        "first stage, bior1.5": ["--stages", "first"],
        "both stages, bior1.5, then DCT": [],
    }.items():
        step(f"Honzatko: {name}")
        report = noisy_run(folder / "lena_gray_512.tif", out, arguments, "bm3d", 20, 1, *options)
        results[name] = report
        theirs = f"{HONZATKO_DB:.2f}" if name == "first stage, DFT" else ""
        rows.append([name, theirs, f"{report['psnr_after']:.2f}", f"{seconds(report):.3f}"])
    print_table("Honzatko: BM3D, lena, sigma 20", ["system", "his dB", "our dB", "s"], rows)
    return results


def run_pictures(folder, out, arguments):
    results, rows = {}, []
    for seed, (name, theirs) in enumerate(VUURST.items(), 1):
        step(f"van der Vuurst's pictures: {name}")
        ours = [
            noisy_run(folder / name, out, arguments, method, 40, seed, *windows(10, 3))
            for method in ("nlm", "sw-nlm")
        ]
        results[name] = ours
        cells = [name]
        for published, report in zip(theirs, ours):
            cells += [f"{published:.2f}", f"{report['psnr_after']:.2f}"]
        rows.append(cells)
    middle = ["mean"]
    for i in range(2):
        middle.append(f"{statistics.fmean(theirs[i] for theirs in VUURST.values()):.2f}")
        middle.append(f"{statistics.fmean(r[i]['psnr_after'] for r in results.values()):.2f}")
    columns = ["PSNR dB", "his CNLM", "our NLM", "his SWNLM", "our SW-NLM"]
    print_table("van der Vuurst: sigma 40, radius 10, patch radius 3", columns, rows + [middle])
    return results


def run_means(folder, out, arguments):
    results, rows = {}, []
    for method in ("nlm", "sw-nlm"):
        for radius in arguments.radii:
            for patch in arguments.patch_radii:
                cells = [f"{method} {radius}/{patch}"]
                for sigma in arguments.sigmas:
                    step(f"means of the eight: {cells[0]}, sigma {sigma}")
                    reports = [
                        noisy_run(folder / name, out, arguments, method, sigma, seed,
                                  *windows(radius, patch))
                        for seed, name in enumerate(VUURST, 1)
                    ]
                    found = [
                        statistics.fmean(values)
                        for values in zip(*((r["psnr_after"], r["ssim_after"], seconds(r))
                                            for r in reports))
                    ]
                    results[f"{cells[0]} {sigma}"] = found
                    published = VUURST_MEANS.get((method, sigma, radius, patch))
                    theirs = f" ({published:.2f})" if published else ""
                    cells.append(f"{found[0]:.2f}{theirs} / {found[1]:.4f}")
                rows.append(cells)
    columns = ["radius/patch radius", *(f"σ={s}: PSNR (his) / SSIM" for s in arguments.sigmas)]
    print_table("van der Vuurst: means of the eight pictures", columns, rows)
    return results


def head_slice(path):
    """The middle axial slice of the volume: a 352-byte header, then 197 x 233 x 189 voxels."""
    voxels = numpy.frombuffer(gzip.decompress(path.read_bytes())[352:], numpy.uint8)
    return Image.fromarray(voxels.reshape(189, 233, 197)[94, ::-1])


def run_wahid(images, out, arguments):
    sources = {
        "natural": Image.open(images / "Standard" / "boat.png").convert("L"),
        "medical": head_slice(images / "Volume" / "mni152_t1.nii.gz"),
    }
    results, rows, total = {}, [], 0
    for kind, source in sources.items():
        for size in WAHID_SIZES:
            path = out / f"{kind}-{size}.png"
            source.resize((size, size), Image.Resampling.LANCZOS).save(path)
            for sigma in WAHID_SIGMAS:
                step(f"Wahid's table: {kind}, {size} pixels, sigma {sigma}")
                report = noisy_run(path, out, arguments, "nlm", sigma, 1, *windows(10, 3),
                                   "--centre", "max")
                results[f"{kind} {size} {sigma}"] = report
                total += seconds(report)
                rows.append([
                    f"{kind} {size}", str(sigma),
                    *(f"{report[m + '_before']:.4g} → {report[m + '_after']:.4g}"
                      for m in ("psnr", "ssim", "fsim")),
                    f"{seconds(report):.3f}", f"{total / len(results):.3f}",
                ])
    columns = ["picture", "σ", "PSNR dB", "SSIM", "FSIM", "s", "average s so far"]
    print_table("Wahid et al.: NLM 21 × 21 / 7 × 7, centre weight the largest other "
                "(theirs: 117 s at 512)", columns, rows)
    return results


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --seeds")
    parser.add_argument("folder", type=pathlib.Path, help=argparse.SUPPRESS)
    default = os.environ.get("GRAINLESS_IMAGES", CHECKOUT.parent / "shared" / "images")
    parser.add_argument("images", type=pathlib.Path, nargs="?", default=default)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sigmas", type=numbers, default=[10, 20, 30, 40, 50, 60])
    parser.add_argument("--radii", type=numbers, default=[5, 8, 10])
    parser.add_argument("--patch-radii", type=numbers, default=[1, 2, 3])
    arguments = parser.parse_args()
    standard = arguments.images / "Standard"
    if not standard.is_dir():
        fail(f"{standard} holds the pictures of the tables, and is not there")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    run_times(arguments)
    result = {
        "marques": run_marques(arguments),
        "honzatko": run_honzatko(standard, arguments.folder, arguments),
        "pictures": run_pictures(standard, arguments.folder, arguments),
        "means": run_means(standard, arguments.folder, arguments),
        "wahid": run_wahid(arguments.images, arguments.folder, arguments),
    }
    report = arguments.folder / "seeds.json"
    report.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    step(f"all numbers: {report}")


if __name__ == "__main__":
    main()
