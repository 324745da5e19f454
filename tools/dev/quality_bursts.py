# SPDX-License-Identifier: MIT
"""./dev quality --bursts: bursts of four frames of simulated cameras (camera.py), of Kodak24's photographs,
denoised as stacks. Frames stand still, or shake by up to 0.3 or 1.5 pixels, or half of them is water that
flows on, or leaves move, each by itself. Beside each: one frame alone, and the plain mean of the four."""

import statistics

import numpy
import tifffile
from PIL import Image

import camera
from steps import step

FRAMES, MEASURED = 4, 1  # the second frame has one before and two after it
LEAF, AROUND, GUST = 24, 4, 1.5  # a leaf's side, what is taken round it, and its motion, pixels
ISOS = (1600, 6400)


def shifted(picture, down, right):
    from scipy.ndimage import shift

    planes = [shift(picture[..., c], (down, right), order=3, mode="mirror") for c in range(3)]
    return numpy.clip(numpy.stack(planes, axis=-1), 0, 255)


def still(clean, frame, seed):
    return clean


def shake(pixels):
    def scene(clean, frame, seed):
        if frame == 0:
            return clean
        return shifted(clean, *numpy.random.default_rng([seed, frame]).uniform(-pixels, pixels, 2))

    return scene


def drift(pixels):
    """Slantwise, a frame."""

    def scene(clean, frame, seed):
        return shifted(clean, 0.6 * pixels * frame, 0.8 * pixels * frame) if frame else clean

    return scene


def hand(pixels):
    """Displaced by so many pixels along either axis at most, and turned a little."""

    def scene(clean, frame, seed):
        from scipy.ndimage import affine_transform

        if frame == 0:
            return clean
        *by, turn = numpy.random.default_rng([seed, frame]).uniform(-1, 1, 3)
        angle = numpy.radians(turn * pixels / 60)
        turned = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
        middle = numpy.array(clean.shape[:2]) / 2
        offset = middle - turned @ (middle + pixels * numpy.array(by))
        planes = [affine_transform(clean[..., c], turned, offset, order=3, mode="mirror") for c in range(3)]
        return numpy.clip(numpy.stack(planes, axis=-1), 0, 255)

    return scene


def water(clean, frame, seed):
    flowing, shore = clean.copy(), clean.shape[0] // 2
    flowing[shore:] = numpy.roll(clean[shore:], 17 * frame, axis=1)
    return flowing


def leaves(clean, frame, seed):
    """Every other square of a checkerboard."""
    random = numpy.random.default_rng([seed, frame])
    moved = clean.copy()
    if frame == 0:
        return moved
    height, width = clean.shape[:2]
    for top in range(AROUND, height - LEAF - AROUND, LEAF):
        for left in range(AROUND + LEAF * (top // LEAF % 2), width - LEAF - AROUND, 2 * LEAF):
            around = clean[top - AROUND : top + LEAF + AROUND, left - AROUND : left + LEAF + AROUND]
            leaf = shifted(around, *random.uniform(-GUST, GUST, 2))[AROUND:-AROUND, AROUND:-AROUND]
            moved[top : top + LEAF, left : left + LEAF] = leaf
    return moved


SCENES = {"still": still, "shake 0.3": shake(0.3), "shake 1.5": shake(1.5), "water": water, "leaves": leaves}


def psnr(result, reference):
    error = numpy.mean((result.astype(float) - reference) ** 2)
    return 10 * numpy.log10(255**2 / error)


def burst(path, scene, name, iso, seed, folder):
    """The frames' files and pixels, and the measured one's reference."""
    clean = numpy.array(Image.open(path).convert("RGB")).astype(float)
    files, pixels = [], []
    for frame in range(FRAMES):
        noisy, reference = camera.photograph(scene(clean, frame, seed), camera.CAMERAS[name], iso, 100 * seed + frame)
        files.append(folder / f"frame-{frame}.png")
        pixels.append(noisy)
        Image.fromarray(noisy).save(files[-1], compress_level=1)
        if frame == MEASURED:
            wanted = reference
    return files, numpy.stack(pixels), wanted


def measure_burst(files, pixels, wanted, options, denoise, folder):
    """dB of one noisy frame, one alone, the plain mean, and the stacks by BM3D and by Non-Local Means."""
    found = [psnr(pixels[MEASURED], wanted)]
    alone, stack = folder / "alone.png", folder / "stack.tif"
    denoise(files[MEASURED], alone, options)
    found += [psnr(numpy.array(Image.open(alone)), wanted), psnr(pixels.mean(axis=0), wanted)]
    for method in ("bm3d", "nlm"):
        wish = [*options, "--depth", str(FRAMES - 1), "--method", method]
        denoise(files[-1], stack, [*wish, *files[:-1]])
        found.append(psnr(tifffile.imread(stack)[MEASURED], wanted))
    return found


def measure_bursts(paths, arguments, denoise):
    """(title, columns, rows) of the table, and all numbers."""
    folder = arguments.out / "bursts"
    folder.mkdir(parents=True, exist_ok=True)
    rows, results = [], {}
    options = ["--quality", arguments.quality, "--device", arguments.device]
    for name in arguments.cameras or camera.CAMERAS:
        for iso in ISOS:
            for kind, scene in SCENES.items():
                step(f"{name}, ISO {iso}, {kind}")
                found = [
                    measure_burst(*burst(path, scene, name, iso, seed, folder), options, denoise, folder)
                    for seed, path in enumerate(paths, 1)
                ]
                # Of what moved nobody expects the mean.
                best = [max(one[1:3]) if kind == "still" else one[1] for one in found]
                least = min(one[3] - of for one, of in zip(found, best))
                rows.append([name, str(iso), kind, *(f"{statistics.fmean(c):.2f}" for c in zip(*found)), f"{least:+.2f}"])
                results[f"{name} {iso} {kind}"] = found
    columns = ["camera", "ISO", "", "noisy, dB", "one alone", "plain mean", "BM3D stack", "NLM stack", "BM3D at worst"]
    title = f"Bursts of {FRAMES} of simulated cameras: {len(paths)} of Kodak24, {arguments.quality}"
    return (title, columns, rows), results
