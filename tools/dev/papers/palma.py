# SPDX-License-Identifier: MIT
"""Palma et al. (2013): three-dimensional Non-Local Means, on one and two GPUs. Cubes of voxels
against the search box and the patch; more cards on one volume; a real head with noise, by their
weights and by ours; and what the method is for here, a burst of frames."""

import gzip
import struct

import numpy
from PIL import Image
from steps import fail, step

from .runs import add_noise, cards, grey, print_table, psnr, save, seconds, short, windows

SIDES = (64, 128, 256, 512)
BOXES = ((11, 3), (21, 3), (11, 5), (21, 5))  # search, patch
# Seconds of 512 x 512 x 512, 11 and 3: their processor, one and two Tesla S2050. No other time of
# theirs is known here.
THEIRS = {(512, 11, 3): (11300, 264, 137)}
HEAD_SIGMAS = (5, 10, 15, 25)
HEAD_BOXES = {"three layers, 11 × 11 × 3 / 3³": {"search": 11, "depth": 1},
              "11³ / 3³": {"search": 11, "depth": 5}}
# Theirs is h² = 2 β σ² |V|; β is the square of strength.
HEAD_WEIGHTS = {"β = 1": {"weights": "classic"},
                "β = 0.5": {"weights": "classic", "strength": 100 * 0.5**0.5},
                "β = 0.25": {"weights": "classic", "strength": 50},
                "ours": {}}
HEAD_LAYERS = 64  # the middle ones: towards the ends there is little to see
FRAMES = 8


def head(images):
    """The voxels of the head, layers first, the first row on top; without the outermost voxels, as
    FSIM is slow where sides are primes. In a NIfTI file sizes are at byte 40, the type at 70, the
    start at 108."""
    path = images / "Volume" / "mni152_t1.nii.gz"
    try:
        data = gzip.decompress(path.read_bytes())
    except OSError as error:
        fail(f"{path} can't be read: {error}")
    width, height, layers = struct.unpack_from("<3h", data, 42)
    (kind,), (start,) = struct.unpack_from("<h", data, 70), struct.unpack_from("<f", data, 108)
    if kind != 2:
        fail(f"{path} holds no 8-bit voxels")
    voxels = numpy.frombuffer(data, numpy.uint8, width * height * layers, int(start))
    return voxels.reshape(layers, height, width)[:, ::-1][:, 1:-1, 1:-1]


def run(session, images, options):
    return {
        "cubes": cubes(session, options),
        "cards": several_cards(session, options),
        "head": run_head(session, images, options),
        "burst": burst(session, images),
    }


def box(search, patch):
    return {"method": "nlm", "search": search, "depth": search // 2, "patch": patch, "sigma": 20,
            "weights": "classic"}


def cube_milliseconds(session, name, side, search, patch, device=None):
    # A rate a device: several cards are faster than the one before.
    kind = f"volume on {device or session.device}"
    return session.milliseconds(name, kind, side**3 * search**3, f"{side}x{side}", layers=side,
                                device=device, **box(search, patch))


def cubes(session, options):
    results, rows = {}, []
    for side in (32,) if options.quick else SIDES:
        for search, patch in BOXES[:1] if options.quick else BOXES:
            name = f"{side}³, {search}³, {patch}³"
            step(f"Palma et al.: {name}")
            ours = cube_milliseconds(session, f"Palma {name}", side, search, patch)
            theirs = THEIRS.get((side, search, patch), ("", "", ""))
            cells = [f"{side}³", f"{search}³", f"{patch}³", *theirs]
            if ours is None:
                rows.append([*cells, "left out", ""])
                continue
            results[name] = ours
            rate = 1e9 * ours / (side**3 * search**3)
            rows.append([*cells, short(ours / 1000), f"{rate:.2f}"])
    print_table("Palma et al.: seconds of 3-D NLM (theirs: Tesla S2050)",
                ["volume", "search", "patch", "their processor", "their GPU", "two GPUs", "ours",
                 "ps a voxel and place"], rows)
    return results


def several_cards(session, options):
    """The largest cube within the budget on one card and on more."""
    found = cards(session.device)
    if len(found) < 2:
        print(f"\nSeveral GPUs: not measured, as --device {session.device} names fewer than two "
              "(theirs: two are 1.93 times as fast as one).")
        return {}
    results, rows = {}, []
    side, search, patch = (32 if options.quick else 512), 11, 3
    for count in (n for n in (1, 2, 4, 8) if n <= len(found)):
        device = "cuda:" + ",".join(map(str, found[:count]))
        step(f"Palma et al.: {side} on {device}")
        name = f"Palma {side}³ on {device}"
        ours = cube_milliseconds(session, name, side, search, patch, device)
        if ours is None:
            continue
        results[count] = ours
        faster = f"{results[1] / ours:.2f}" if 1 in results else ""
        rows.append([count, {1: 264, 2: 137}.get(count, ""), short(ours / 1000),
                     {1: "1", 2: "1.93"}.get(count, ""), faster])
    print_table(f"Palma et al.: {side}³, {search}³, {patch}³ on several GPUs",
                ["GPUs", "their s", "our s", "their gain", "our gain"], rows)
    return results


def save_layers(voxels, path):
    first, *rest = (Image.fromarray(numpy.ascontiguousarray(layer)) for layer in voxels)
    first.save(path, save_all=True, append_images=rest)
    return path


def run_head(session, images, options):
    """Noise in float, as everywhere but in van der Vuurst's tables."""
    voxels = head(images)
    first = max(0, (len(voxels) - HEAD_LAYERS) // 2)
    voxels = voxels[first:][: 6 if options.quick else HEAD_LAYERS]
    volume = save_layers(voxels, session.folder / "head.tif")
    systems = {f"{place}, {rule}": {**size, "patch": 3, **weights}
               for place, size in HEAD_BOXES.items() for rule, weights in HEAD_WEIGHTS.items()}
    results, rows = {}, []
    for sigma in HEAD_SIGMAS[:1] if options.quick else HEAD_SIGMAS:
        for name, system in systems.items():
            step(f"a head of {len(voxels)} layers: sigma {sigma}, {name}")
            noise = {"add-noise": sigma, "seed": 1, "metrics": "all"}
            result = session.folder / "head-denoised.tif"
            (report,) = session.denoise([volume], result, "nlm", sigma, **noise, **system)
            results[f"{name} {sigma}"] = report
            rows.append([sigma, name,
                         *(f"{report[m + '_before']:.4g} → {report[m + '_after']:.4g}"
                           for m in ("psnr", "ssim", "fsim")), short(seconds(report))])
    size = " × ".join(map(str, voxels.shape[::-1]))
    print_table(f"3-D NLM of a head, {size} voxels of it, means of the layers",
                ["σ", "search, patch, weights", "PSNR dB", "SSIM", "FSIM", "s"], rows)
    return results


def burst(session, images):
    """Frames of a picture that stands still, sigma 20. Their mean gains 10 log10(frames)."""
    step(f"a burst of {FRAMES} frames")
    clean = grey(images / "Standard" / "boat.png")
    noisy = [add_noise(clean, 20, [FRAMES, n]) for n in range(FRAMES)]
    frames = [save(frame, session.folder / "burst" / f"{n}.png") for n, frame in enumerate(noisy)]
    before = psnr(clean, noisy[0])
    results = {"one frame": before, "mean": psnr(clean, numpy.mean(noisy, axis=0))}
    one, stack = session.folder / "frame.png", session.folder / "burst.tif"
    session.denoise(frames[:1], one, "nlm", 20, **windows(10, 2))
    results["one frame by 2-D NLM"] = psnr(clean, grey(one))
    for search in (3, 11):
        session.denoise(frames, stack, "nlm", 20, depth=FRAMES - 1, search=search, patch=5)
        results[f"all by 3-D NLM, window {search}"] = psnr(clean, grey(stack))
    theory = {"mean": f"{10 * numpy.log10(FRAMES):.2f}"}
    rows = [[name, f"{value:.2f}", f"{value - before:+.2f}", theory.get(name, "")]
            for name, value in results.items()]
    print_table(f"A burst of {FRAMES} frames of boat, σ = 20, 8 bits: the first frame",
                ["result", "PSNR dB", "gain dB", "in theory"], rows)
    return results
