#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Teaches BM3D high's post-filter: learn.py PHOTOS WORK [--steps N] [--start WEIGHTS] [--write]

PHOTOS is a folder of clean photographs of 2000 pixels or more, none of which is in a set that
quality is measured on (docs/post-filter.md says which they were). In WORK lie the clean pictures,
the examples that grainless-examples makes of them, and the weights: weights.inc, which --write
puts in the place of engine/boundary/post_filter_weights.inc. --start goes on from such a file.

Of the examples,
  white   have noise as strong as sigma says; the goal is the clean picture,
  less    have weaker noise: the same goal,
  more    have stronger noise: the goal is what was there before. Who asks for less to be removed
          than there is, gets it,
  camera  are photographs of simulated cameras (tools/dev/camera.py), everything automatic,
  pattern are drawn.
The weights that are in use came about in several runs, each of which went on from one before.
Wants PyTorch, colour-demosaicing, and grainless-examples on PATH or beside --tool.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys

import numpy
import torch
from PIL import Image
from torch.nn import functional

import pictures
from network import PostFilter, lowpass, read_weights, write_weights

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
WEIGHTS = CHECKOUT / "engine/boundary/post_filter_weights.inc"
SIGMAS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 25, 30, 35, 40, 50, 60, 75)
MORE, LESS = (1.12, 1.2, 1.3, 1.45, 1.7, 2.0), (0.3, 0.5, 0.7, 0.85, 0.93)
SHARES = {"white": 0.63, "more": 0.08, "less": 0.04, "camera": 0.13, "pattern": 0.12}
BORDER = 8  # pixels of a patch that don't count: they see its border
GOAL_OF_MORE = 0.08  # what the square of a change counts against, where none is wanted
LEAST_ERROR = 0.01  # of a picture's, by which its own is divided; both in squares of sigma
HARM, CAMERA_HARM = 0.5, 1.5  # what a patch that becomes worse counts beyond its error
PATTERNS, PAGES = 240, 10


def make_pictures(photos, work):
    """{name: path} of clean crops, grey and colour."""
    clean = work / "clean"
    clean.mkdir(parents=True, exist_ok=True)
    for number, crop in enumerate(pictures.crops_of(photos, seed=45)):
        crop.save(clean / f"photo{number:03d}.png")
        crop.convert("L").save(clean / f"photo{number:03d}-grey.png")
    drawn = pictures.Patterns(seed=5)
    for number in range(PATTERNS):
        drawn.picture(number).save(clean / f"pattern{number:03d}.png")
    for number in range(PAGES):
        pictures.page(number).save(clean / f"page{number:02d}.png")
    return clean


def camera_pictures(clean, work):
    """(clean, noisy) paths."""
    sys.path.insert(0, str(CHECKOUT / "tools/dev"))
    import camera

    folder = work / "camera"
    folder.mkdir(exist_ok=True)
    draw = random.Random(3)
    for number, path in enumerate(sorted(clean.glob("photo???.png"))[::2]):
        name = list(camera.CAMERAS)[number % len(camera.CAMERAS)]
        pixels = numpy.asarray(Image.open(path))
        iso = draw.choice(list(camera.LEVELS))
        made = camera.photograph(pixels, camera.CAMERAS[name], iso, 9000 + number)
        paths = [folder / f"{number:03d}-{what}.png" for what in ("noisy", "clean")]
        for image, to in zip(made, paths):
            Image.fromarray(image).save(to)
        yield paths[1], paths[0]


def requests(clean, work):
    """(kind, arguments of grainless-examples but the output)."""
    draw = random.Random(11)

    def noisy(kind, path, ratio=1.0):
        sigma = draw.choice(SIGMAS)
        seed = draw.randrange(1 << 30)
        return kind, [path, "--sigma", sigma, "--noise", round(sigma * ratio, 2), "--seed", seed]

    for number, path in enumerate(sorted(clean.glob("photo???.png"))):
        grey = path.with_name(f"{path.stem}-grey.png")
        for choice in (path, path, grey, grey):
            yield noisy("white", choice)
        yield noisy("more", draw.choice((path, grey)), draw.choice(MORE))
        if number % 2:
            yield noisy("less", draw.choice((path, grey)), draw.choice(LESS))
    for path in sorted(clean.glob("page*.png")):
        for _ in range(2):
            yield noisy("white", path)
    for path in sorted(clean.glob("pattern*.png")):
        yield noisy("pattern", path)
    for path, photograph in camera_pictures(clean, work):
        yield "camera", [path, "--noisy", photograph]


def make_examples(tool, clean, work):
    folder = work / "examples"
    folder.mkdir(exist_ok=True)

    def make(job):
        number, (kind, arguments) = job
        out = folder / f"{kind}-{number:04d}.f32"
        command = [tool, *map(str, arguments), str(out)]
        if subprocess.run(command, check=False).returncode not in (0, 3):
            sys.exit(f"learn.py: {' '.join(command)} failed")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(make, enumerate(requests(clean, work))))
    return folder


class Examples:
    """Planes Y, E, R and C of all examples, and what their errors count against."""

    def __init__(self, folder, device):
        planes, self.levels, against, kinds = [], [], [], []
        for path in sorted(folder.glob("*.f32")):
            head = numpy.fromfile(path, "<i4", 3)
            values = numpy.fromfile(path, "<f4", offset=16).reshape(4, *head[:2])
            kind = path.name.split("-")[0]
            planes.append(torch.tensor(values))
            self.levels.append(int(head[2]))
            kinds.append(kind)
            error = float(((values[2] - values[3]) ** 2).mean())
            against.append(GOAL_OF_MORE if kind == "more" else max(LEAST_ERROR, error))
        self.planes = torch.stack(planes).to(device)
        self.levels = torch.tensor(self.levels, device=device)
        self.against = torch.tensor(against, device=device)
        self.keeps = torch.tensor([kind == "more" for kind in kinds], device=device)
        harm = [CAMERA_HARM if kind == "camera" else HARM for kind in kinds]
        self.harm = torch.tensor(harm, device=device)
        self.of = {kind: [i for i, k in enumerate(kinds) if k == kind] for kind in SHARES}

    def batch(self, count, side, draw):
        """Patches, turned and mirrored, and their examples' numbers."""
        kinds = draw.choices([k for k in SHARES if self.of[k]],
                             [SHARES[k] for k in SHARES if self.of[k]], k=count)
        numbers = torch.tensor([draw.choice(self.of[kind]) for kind in kinds])
        axes = []
        for _ in range(2):
            first = torch.tensor([2 * draw.randint(0, (pictures.SIDE - side) // 2) for _ in kinds])
            axis = first[:, None] + torch.arange(side)
            turned = torch.tensor([draw.random() < 0.5 for _ in kinds])
            axes.append(torch.where(turned[:, None], axis.flip(1), axis))
        patches = self.planes[numbers[:, None, None], :, axes[0][:, :, None], axes[1][:, None]]
        patches = patches.permute(0, 3, 1, 2)
        if draw.random() < 0.5:
            patches = patches.transpose(2, 3)
        if draw.random() < 0.5:
            patches = -patches
        return patches.contiguous(), numbers.to(patches.device)


def corrected(planes, correction, levels):
    """R, had E been corrected: coarser levels replace low frequencies."""
    several = (levels > 1)[:, None, None, None]
    low = torch.where(several, lowpass(correction), torch.zeros_like(correction))
    return planes[:, 2:3] + correction - low


def inner_error(found, goal):
    square = (found - goal) ** 2
    return square[..., BORDER:-BORDER, BORDER:-BORDER].mean((1, 2, 3))


def learn(network, examples, steps, rate, seed):
    """The mean of the last steps' weights."""
    draw = random.Random(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.05)
    mean = {name: value.clone() for name, value in network.state_dict().items()}
    for step in range(steps):
        planes, numbers = examples.batch(48, 80, draw)
        found = corrected(planes, network(planes), examples.levels[numbers])
        keeps = examples.keeps[numbers][:, None, None, None]
        goal = torch.where(keeps, planes[:, 2:3], planes[:, 3:4])
        error, before = inner_error(found, goal), inner_error(planes[:, 2:3], goal)
        harm = examples.harm[numbers] * functional.relu(error - before)
        loss = ((error + harm) / examples.against[numbers]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 4 == 0:
            for name, value in network.state_dict().items():
                mean[name].lerp_(value, 0.01)
        if step % 500 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.4f}", flush=True)
    network.load_state_dict(mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=17500)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--tool", default="grainless-examples")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    photos = sorted(path for path in arguments.photos.rglob("*") if path.is_file())
    if not photos:
        sys.exit(f"learn.py: there are no photographs in {arguments.photos}")
    if not (arguments.work / "examples").is_dir():
        clean = make_pictures(photos, arguments.work)
        make_examples(arguments.tool, clean, arguments.work)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(arguments.seed)
    network = PostFilter()
    if arguments.start:
        read_weights(network, arguments.start)
    network.to(device)
    examples = Examples(arguments.work / "examples", device)
    learn(network, examples, arguments.steps, arguments.rate, arguments.seed)
    write_weights(network.cpu(), arguments.work / "weights.inc")
    if arguments.write:
        write_weights(network, WEIGHTS)


if __name__ == "__main__":
    main()
