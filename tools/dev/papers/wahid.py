# SPDX-License-Identifier: MIT
"""Wahid et al.: Non-Local Means with the centre's weight the largest other, 21 x 21 / 7 x 7, on
natural and medical pictures of 128 to 1024 pixels at sigma 10 to 40: PSNR, SSIM and FSIM, which on
their GPU equal their processor's, and times with their cumulative average, the mean of the times
up to a size."""

import statistics

import numpy
from PIL import Image
from steps import step

from .palma import head
from .runs import grey, print_table, save, short, windows

SIGMAS = (10, 20, 30, 40)
SIZES = (128, 256, 512, 1024)
THEIR_SECONDS = {512: 117}  # 940M; twice as fast as their processor
METRICS = ("psnr", "ssim", "fsim")
SYSTEM = {**windows(10, 3), "centre": "max"}


def pictures(session, images, sizes):
    slices = head(images)
    sources = {
        "natural": grey(images / "Standard" / "boat.png"),
        "medical": numpy.ascontiguousarray(slices[len(slices) // 2]),
    }
    for kind, pixels in sources.items():
        for size in sizes:
            scaled = Image.fromarray(pixels).resize((size, size), Image.Resampling.LANCZOS)
            yield kind, size, save(numpy.asarray(scaled), session.folder / f"{kind}-{size}.png")


def run(session, images, options):
    sizes = SIZES[:1] if options.quick else SIZES
    sigmas = SIGMAS[1:2] if options.quick else SIGMAS
    made = list(pictures(session, images, sizes))
    results = quality(session, made, sigmas)
    if session.device.startswith("cuda"):
        results["difference"] = compare_with_processor(session, made, sigmas, results["quality"])
    results["times"] = times(session, sizes)
    return results


def reports_of(session, made, sigma):
    """One process denoises all pictures."""
    folder = session.folder / "wahid"
    folder.mkdir(exist_ok=True)
    noise = {"add-noise": sigma, "seed": 1, "metrics": "all"}
    files = [path for _, _, path in made]
    reports = session.denoise(files, folder, "nlm", sigma, **SYSTEM, **noise)
    return {f"{kind} {size} {sigma}": r for (kind, size, _), r in zip(made, reports, strict=True)}


def quality(session, made, sigmas):
    results = {}
    for sigma in sigmas:
        step(f"Wahid et al.: sigma {sigma}")
        results.update(reports_of(session, made, sigma))
    rows = []
    for kind, size, _ in made:
        for sigma in sigmas:
            report = results[f"{kind} {size} {sigma}"]
            rows.append([f"{kind} {size}", sigma,
                         *(f"{report[m + '_before']:.4g} → {report[m + '_after']:.4g}"
                           for m in METRICS)])
    print_table("Wahid et al.: NLM 21 × 21 / 7 × 7, the centre's weight the largest other",
                ["picture", "σ", "PSNR dB", "SSIM", "FSIM"], rows)
    return {"quality": results}


def compare_with_processor(session, made, sigmas, ours):
    differences = dict.fromkeys(METRICS, 0.0)
    asked, session.device = session.device, "cpu"
    for sigma in sigmas:
        step(f"Wahid et al.: sigma {sigma}, on the processor")
        for key, report in reports_of(session, made, sigma).items():
            for metric in METRICS:
                apart = abs(report[metric + "_after"] - ours[key][metric + "_after"])
                differences[metric] = max(differences[metric], apart)
    session.device = asked
    rows = [[metric, f"{differences[metric]:.2g}"] for metric in METRICS]
    print_table(f"Wahid et al.: {asked} and the processor (theirs: equal)",
                ["metric", "largest difference"], rows)
    return differences


def times(session, sizes):
    results, rows = {}, []
    for size in sizes:
        step(f"Wahid et al.: time of {size}")
        ours = session.milliseconds(f"Wahid {size}", "grey nlm", size * size, f"{size}x{size}",
                                    method="nlm", sigma=20, **SYSTEM)
        if ours is None:
            continue
        results[size] = ours
        rows.append([size, THEIR_SECONDS.get(size, ""), short(ours / 1000),
                     short(statistics.fmean(results.values()) / 1000)])
    print_table("Wahid et al.: seconds of a grey picture (theirs: 940M)",
                ["pixels a side", "theirs", "ours", "our cumulative average"], rows)
    return results
