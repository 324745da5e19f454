# SPDX-License-Identifier: MIT
"""Other programs on the same noisy files as quality.py's: Tampere's bm3d and OpenCV from PyPI,
scikit-image from the system. Runs in the benchmark's own Python environment (build.sh)."""

import json
import subprocess
import time

import numpy

from steps import fail, step


def read_pfm(path):
    """A float picture, 0..1, rows from top to bottom."""
    with open(path, "rb") as file:
        kind, width, height = file.readline().strip(), *map(int, file.readline().split())
        order = "<f4" if float(file.readline()) < 0 else ">f4"
        values = numpy.frombuffer(file.read(), order).astype(numpy.float32)
    shape = (height, width, 3) if kind == b"PF" else (height, width)
    return values.reshape(shape)[::-1]


def write_pfm(path, picture):
    height, width = picture.shape[:2]
    with open(path, "wb") as file:
        file.write(f"{'PF' if picture.ndim == 3 else 'Pf'}\n{width} {height}\n-1\n".encode())
        file.write(picture[::-1].astype("<f4").tobytes())


def run_grainless(*arguments):
    done = subprocess.run(["grainless", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"grainless {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def tampere(noisy, sigma):
    import bm3d

    return (bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d)(noisy, sigma / 255)


def opencv(noisy, sigma):
    """8-bit, as it takes no floats; patch and window its own defaults."""
    import cv2

    pixels = numpy.clip(numpy.rint(noisy * 255), 0, 255).astype(numpy.uint8)
    h = 0.8 * sigma
    if noisy.ndim == 3:
        return cv2.fastNlMeansDenoisingColored(pixels, None, h, h, 7, 21) / 255.0
    return cv2.fastNlMeansDenoising(pixels, None, h, 7, 21) / 255.0


def scikit_image(noisy, sigma):
    """Its documentation's h of 0.6 sigma for the exact method, patch by noise (quality.md)."""
    from skimage.restoration import denoise_nl_means

    return denoise_nl_means(
        noisy,
        patch_size=5 if sigma <= 30 else 7,
        patch_distance=10,
        h=0.6 * sigma / 255,
        sigma=sigma / 255,
        fast_mode=True,
        channel_axis=-1 if noisy.ndim == 3 else None,
    )


PEERS = {"bm3d (PyPI)": tampere, "OpenCV NLM": opencv, "scikit-image NLM": scikit_image}


def measure(denoise, picture, sigma, seed, folder):
    """PSNR, SSIM and seconds on one picture; the result is clipped to 0..255, as ours is."""
    noisy_file, result_file = folder / "noisy.pfm", folder / "peer.pfm"
    # Without strength the picture comes out as it went in, with its noise and unclipped.
    run_grainless("--strength", 0, "--auto-sigma", "no", "--add-noise", sigma, "--seed", seed,
                  picture, "-o", noisy_file)  # fmt: skip
    noisy = read_pfm(noisy_file)
    started = time.perf_counter()
    result = denoise(noisy, sigma)
    seconds = time.perf_counter() - started
    write_pfm(result_file, numpy.clip(result, 0, 1))
    found = json.loads(run_grainless("metrics", "--json", picture, result_file))
    noisy_file.unlink()
    result_file.unlink()
    return {"psnr": found["psnr"], "ssim": found["ssim"], "seconds": seconds}


def peer_results(name, pictures, sigmas, folder):
    """Of each peer and sigma the means over the pictures."""
    results = {}
    for peer, denoise in PEERS.items():
        for sigma in sigmas:
            step(f"{name}, {peer}, sigma {sigma}")
            found = [
                measure(denoise, path, sigma, seed, folder) for seed, path in enumerate(pictures, 1)
            ]
            results[peer, sigma] = {
                key: float(numpy.mean([one[key] for one in found])) for key in found[0]
            }
    return results
