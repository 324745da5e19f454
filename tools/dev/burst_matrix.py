#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev quality --matrix: whether a stack is ever worse than one of its frames alone or than their plain mean.
burst_matrix.py OUT_DIR [IMAGES] [--photographs NAMES] [--place X Y] [--seed NUMBER] [--cameras NAMES] [--isos NUMBERS]
[--scenes NAMES] [--frames N] [--side PIXELS] [--method NAME] [--quality PROFILE] [--jobs N] [--json FILE]
[--before FILE] [--all] [--draw N]

Bursts of four frames (--frames) of 384 x 384 pixels (--side) of Kodak24's photographs, by simulated cameras (camera.py)
and with white noise ("white", whose ISO is sigma; 0: clean frames), which stand still, shake, drift, lie far apart
(hand), flow (water) or are moved by wind (leaves), denoised as stacks with everything automatic on the processor.
Prints what lies below one frame alone, or, where frames stand still or move by less than a pixel, below the plain mean,
too, the worst first; then means by scene. Each is the mean of the frames' PSNR. 540 bursts take a quarter of an hour on
two idle cores, half of it once.

Bursts, frames alone and means are kept in OUT_DIR for the next time: another engine makes frames alone no different. All
numbers go to FILE (OUT_DIR/matrix.json). --before FILE is such a file of an earlier engine: lists what has become worse.

--draw N: so many bursts drawn by --seed instead, of photographs that no rule was chosen on (or --photographs), at any
place, of any camera, strength, scene, side and number of frames; one of twelve by Non-Local Means. The same seed draws the
same ones, the first of them however many.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import statistics
import zlib

import numpy
import tifffile
from PIL import Image

import camera
from quality import denoise, image_folder
import quality_bursts
from quality_bursts import drift, hand, leaves, shake, still, water
from steps import step

FRAMES, SIDE = 4, 384
LIMIT = 0.05  # dB
WHITE, HEADROOM = "white", 24  # so many steps on either side keep noise from being clipped
SCENES = {
    "still": still,
    **{f"shake {pixels}": shake(pixels) for pixels in (0.1, 0.3, 1.5)},
    **{f"drift {pixels}": drift(pixels) for pixels in (0.1, 0.2, 1.0, 3.0)},
    **{f"hand {pixels}": hand(pixels) for pixels in (20, 50)},
    "water": water,
    "leaves": leaves,
}
# Of these the plain mean is a result that people expect, of others nobody does.
NEARLY_STILL = {"still", "shake 0.1", "shake 0.3", "drift 0.1", "drift 0.2"}
CAMERAS = {"bilinear": (1600, 3200, 6400), "menon": (1600, 3200, 6400), "reduced": (1600, 3200, 6400),
           "jpeg-75": (1600, 6400), "jpeg-95": (1600, 6400), "photosites": (1600, 6400), WHITE: (0, 3, 10)}  # fmt: skip
USUAL = ["kodim03", "kodim13", "kodim20"]
HELD_OUT = [f"kodim{number:02}" for number in (2, 4, 7, 9, 11, 14, 16, 18, 19, 21, 22, 24)]
DRAWN_FRAMES, DRAWN_SIDES, DRAWN_NLM = (3, 4, 4, 5, 6, 8, 12), (200, 384), 12


def psnr(result, reference):
    """Of equal pixels 99."""
    return 99.0 if numpy.array_equal(result, reference) else min(99.0, quality_bursts.psnr(result, reference))


def frame_of(scene, name, iso, seed):
    """(noisy, reference) pixels."""
    if name != WHITE:
        return camera.photograph(numpy.rint(scene), camera.CAMERAS[name], iso, seed)
    reference = scene * (1 - 2 * HEADROOM / 255) + HEADROOM
    noise = numpy.random.default_rng(seed).standard_normal(scene.shape)
    noisy = numpy.clip(reference + iso * noise, 0, 255)
    noisy = numpy.rint(noisy * 257).astype(numpy.uint16)
    return noisy, reference if iso else noisy / 257.0


def in_steps(pixels):
    return pixels / 257.0 if pixels.dtype == numpy.uint16 else pixels.astype(float)


def make_burst(job, clean, folder):
    """Its frames as files, and the references."""
    for frame in range(job["frames"]):
        scene = SCENES[job["scene"]](clean, frame, job["seed"])
        noisy, reference = frame_of(scene, job["camera"], job["iso"], 100 * job["seed"] + frame)
        tifffile.imwrite(folder / f"frame-{frame}.tif", noisy, photometric="rgb", metadata=None)
        numpy.save(folder / f"reference-{frame}.npy", reference)


def scene_of(job, arguments):
    x, y = job["place"]
    side = job["side"]
    path = arguments.images / "Kodak24" / f"{job['photograph']}.png"
    return numpy.array(Image.open(path).convert("RGB"))[y : y + side, x : x + side].astype(float)


def prepared(job, arguments):
    """The burst's folder, and what does not depend on how stacks are denoised."""
    folder = arguments.out / "bursts" / job["name"].replace(" ", "_")
    known = folder / f"known-{job['method']}-{arguments.quality}.json"
    if known.exists():
        return folder, json.loads(known.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    frames = range(job["frames"])
    clean = scene_of(job, arguments)
    make_burst(job, clean, folder)
    noisy = [in_steps(tifffile.imread(folder / f"frame-{frame}.tif")) for frame in frames]
    found = {"noisy": [], "alone": [], "mean": [], "confidence": []}
    for frame in frames:
        wanted = numpy.load(folder / f"reference-{frame}.npy")
        report = denoise(folder / f"frame-{frame}.tif", folder / "alone.tif", job["options"])
        found["noisy"].append(psnr(noisy[frame], wanted))
        found["alone"].append(psnr(in_steps(tifffile.imread(folder / "alone.tif")), wanted))
        found["mean"].append(psnr(numpy.mean(noisy, axis=0), wanted))
        found["confidence"].append([report["confidence"], *report["sigma"]])
    (folder / "alone.tif").unlink()
    known.write_text(json.dumps(found), encoding="utf-8")
    return folder, found


def measure(job, arguments):
    folder, found = prepared(job, arguments)
    frames = range(job["frames"])
    files = [folder / f"frame-{frame}.tif" for frame in frames]
    stack = folder / "stack.tif"
    report = denoise(files[-1], stack, [*job["options"], "--depth", str(len(files) - 1), *files[:-1]])
    result = in_steps(tifffile.imread(stack))
    stack.unlink()
    wanted = [numpy.load(folder / f"reference-{frame}.npy") for frame in frames]
    found["stack"] = [psnr(result[frame], wanted[frame]) for frame in frames]
    found["sigma"] = report["sigma"]
    return job["name"], {**{key: job[key] for key in ("camera", "iso", "scene", "photograph")}, **found}


def options_of(method, arguments):
    return ["--quality", arguments.quality, "--device", "cpu", "--threads", "1", "--method", method]


def noises(arguments):
    return [(name, iso) for name in arguments.cameras for iso in arguments.isos or CAMERAS[name] if iso in CAMERAS[name]]


def jobs(arguments):
    place = "-".join(map(str, arguments.place))
    shape = (arguments.frames, arguments.side)
    kind = "" if shape == (FRAMES, SIDE) else f" {shape[0]} of {shape[1]}"
    of_all = {key: getattr(arguments, key) for key in ("place", "side", "frames", "method")}
    of_all["options"] = options_of(arguments.method, arguments)
    for (name, iso), scene, photograph in itertools.product(noises(arguments), arguments.scenes, arguments.photographs):
        title = f"{name} {iso} {scene} {photograph} {place} {arguments.seed}{kind}"
        job = {"name": title, "camera": name, "iso": iso, "scene": scene, "photograph": photograph, **of_all}
        yield {**job, "seed": zlib.crc32(title.encode()) % 100000}


def drawn_job(noise, scene, random, arguments):
    photograph, frames = str(random.choice(arguments.photographs)), int(random.choice(DRAWN_FRAMES))
    side = int(random.integers(*DRAWN_SIDES, endpoint=True))
    with Image.open(arguments.images / "Kodak24" / f"{photograph}.png") as image:
        place = [int(random.integers(0, size - side, endpoint=True)) for size in image.size]
    method = "nlm" if random.integers(DRAWN_NLM) == 0 else "bm3d"
    seed = int(random.integers(100000))
    title = f"{noise[0]} {noise[1]} {scene} {photograph} {place[0]}-{place[1]} {seed} {frames} of {side} {method}"
    return {"name": title, "camera": noise[0], "iso": noise[1], "scene": scene, "photograph": photograph, "place": place,
            "side": side, "frames": frames, "method": method, "options": options_of(method, arguments), "seed": seed}  # fmt: skip


def drawn_jobs(arguments):
    """Without end; each camera, strength and scene once before any comes again."""
    random = numpy.random.default_rng(arguments.seed)
    every = list(itertools.product(noises(arguments), arguments.scenes))
    while True:
        for place in random.permutation(len(every)):
            yield drawn_job(*every[place], random, arguments)


def means_of(one):
    return {key: statistics.fmean(one[key]) for key in ("noisy", "alone", "mean", "stack")}


def lost_by(one):
    """dB below what it must reach; what is negative is gained."""
    found = means_of(one)
    clean = one["camera"] == WHITE and one["iso"] == 0  # any mean, and no filter, is perfect
    nearly_still = one["scene"] in NEARLY_STILL and not clean
    wanted = max(found["alone"], found["mean"]) if nearly_still else found["alone"]
    return wanted - found["stack"]


def line_of(name, one):
    found = means_of(one)
    return f"{lost_by(one):7.2f}  {found['noisy']:6.2f} {found['alone']:6.2f} {found['mean']:6.2f} {found['stack']:6.2f}  {name}"


def print_losers(results, everything):
    order = sorted(results, key=lambda name: -lost_by(results[name]))
    losers = [name for name in order if lost_by(results[name]) > LIMIT]
    print(f"\n{len(losers)} of {len(order)} bursts lose more than {LIMIT} dB, "
          f"{sum(lost_by(results[name]) for name in losers):.1f} dB in all\n\n"
          "   lost   noisy  alone   mean  stack")  # fmt: skip
    for name in order if everything else losers:
        print(line_of(name, results[name]))


def print_worse_than_noisy(results):
    """Whether stacks do harm, whatever filters of one frame do."""
    lost = {name: means_of(one)["noisy"] - means_of(one)["stack"] for name, one in results.items()}
    worse = [name for name in results if lost[name] > LIMIT]
    print(f"\n{len(worse)} lie below the noisy frames")
    for name in worse:
        print(f"{lost[name]:7.2f} {line_of(name, results[name])}")


def print_scenes(results):
    print("\nscene        noisy  alone   mean  stack  losers  worst")
    for scene in SCENES:
        of = [one for one in results.values() if one["scene"] == scene]
        if not of:
            continue
        means = [statistics.fmean(means_of(one)[key] for one in of) for key in ("noisy", "alone", "mean", "stack")]
        lost = [lost_by(one) for one in of]
        figures = " ".join(f"{value:6.2f}" for value in means)
        print(f"{scene:10} {figures}  {sum(value > LIMIT for value in lost):4}   {max(lost):5.2f}")


def print_worse(results, before):
    common = [name for name in results if name in before]
    change = {name: means_of(results[name])["stack"] - means_of(before[name])["stack"] for name in common}
    worse = sorted((name for name in common if change[name] < -LIMIT), key=change.get)
    better = [name for name in common if change[name] > LIMIT]
    print(f"\nof {len(common)} bursts {len(better)} are better than before, by {sum(change[n] for n in better):.1f} dB in all, "
          f"{len(worse)} worse, by {-sum(change[n] for n in worse):.1f}")  # fmt: skip
    for name in worse:
        print(f"{change[name]:7.2f} {line_of(name, results[name])}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("images", nargs="?")
    parser.add_argument("--photographs", nargs="+")
    parser.add_argument("--place", nargs=2, type=int, default=(64, 64), metavar=("X", "Y"))
    parser.add_argument("--cameras", nargs="+", choices=CAMERAS, default=list(CAMERAS))
    parser.add_argument("--isos", nargs="+", type=int)
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--method", default="bm3d")
    parser.add_argument("--quality", default="fast")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    arguments.photographs = arguments.photographs or (HELD_OUT if arguments.draw else USUAL)
    arguments.images = image_folder(arguments.images)
    return arguments


def main():
    arguments = parse_arguments()
    wanted = list(itertools.islice(drawn_jobs(arguments), arguments.draw) if arguments.draw else jobs(arguments))
    results = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for number, (name, found) in enumerate(pool.map(lambda job: measure(job, arguments), wanted), 1):
            results[name] = found
            if number % 100 == 0:
                step(f"{number} of {len(wanted)}")
    target = arguments.json or arguments.out / "matrix.json"
    target.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print_losers(results, arguments.all)
    print_worse_than_noisy(results)
    print_scenes(results)
    if arguments.before:
        print_worse(results, json.loads(arguments.before.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
