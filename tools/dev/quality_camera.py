# SPDX-License-Identifier: MIT
"""./dev quality --camera: simulated photographs (camera.py) of Kodak24, filtered automatically. Runs
in an environment of its own that holds colour-demosaicing (build.sh)."""

import statistics

import numpy
from PIL import Image

import camera
from steps import step

# Column, and what it asks of the command line.
WAYS = {"automatic": (), "noise = camera": ("--noise", "camera")}


def photographs(paths, name, iso, out):
    """Pairs of noisy and reference files."""
    folder = out / "camera"
    folder.mkdir(parents=True, exist_ok=True)
    for seed, path in enumerate(paths, 1):
        clean = numpy.array(Image.open(path).convert("RGB"))
        files = [folder / f"{path.stem}-{kind}.png" for kind in ("noisy", "reference")]
        for pixels, file in zip(camera.photograph(clean, camera.CAMERAS[name], iso, seed), files):
            Image.fromarray(pixels).save(file, compress_level=1)
        yield files


def gains_of(pairs, options, denoise, out):
    """For each way of WAYS: (dB gained, whether the curve was used) of each photograph, and the noisy
    ones' mean PSNR."""
    found, before = {way: [] for way in WAYS}, []
    for noisy, reference in pairs:
        for way, more in WAYS.items():
            report = denoise(noisy, out / "denoised.png", [*options, *more, "--reference", reference])
            found[way].append((report["psnr_after"] - report["psnr_before"], "tones" in report))
        before.append(report["psnr_before"])
    return found, statistics.fmean(before)


def row_of(name, iso, found, before):
    row = [name, str(iso), f"{before:.2f}"]
    for measured in found.values():
        gains = [gain for gain, _ in measured]
        row += [f"{statistics.fmean(gains):+.2f}", f"{min(gains):+.2f}"]
    return [*row, str(sum(bent for _, bent in found["automatic"]))]


def measure_cameras(paths, arguments, denoise):
    """(title, columns, rows) of the table, and all numbers."""
    rows, results = [], {}
    options = ["--quality", arguments.quality, "--device", arguments.device]
    for name in arguments.cameras or camera.CAMERAS:
        for iso in camera.LEVELS:
            step(f"{name}, ISO {iso}")
            pairs = photographs(paths, name, iso, arguments.out)
            found, before = gains_of(pairs, options, denoise, arguments.out)
            rows.append(row_of(name, iso, found, before))
            results[f"{name} {iso}"] = {"before": before, "gains": found}
    columns = ["camera", "ISO", "noisy, dB"]
    for way in WAYS:
        columns += [f"{way}: gain", "least"]
    title = f"Simulated cameras: {len(paths)} of Kodak24, BM3D {arguments.quality}"
    return (title, [*columns, "curve used"], rows), results
