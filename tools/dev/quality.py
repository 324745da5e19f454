#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Picture quality, measured with the command line: quality.py OUT_DIR [IMAGES] [--sets NAMES]
[--sigmas NUMBERS] [--methods NAMES] [--device DEVICE] [--peers] [--colour]
[--camera [--cameras NAMES] [--few] [--quality PROFILE]] [--bursts [as --camera]]

White noise: Set12 (grey) and Kodak24 (colour) with Gaussian noise added in float, unclipped, its
seed the picture's number; the result is clipped to 0..255. Mean PSNR, SSIM and seconds of each
method and profile, beside the published means of BM3D (Dabov 2007; Kodak24 in crops of 500 x 500:
FFDNet, Zhang 2018) and of the best of scikit-image's NLM. --peers adds Tampere's bm3d, OpenCV and
scikit-image on the same noisy pictures.
Camera noise: PolyU's pairs of one exposure and the mean of many (Xu 2018), everything automatic.
To look at: RNI15, photographs without a clean twin, as a sheet of 1:1 crops, before and after.
--colour measures only how much of RNI15's small-scale colour contrast is lost (quality_colour.py).
--camera measures only simulated cameras (camera.py): every third of Kodak24, with --few every
eighth, at three ISO levels; what is gained in dB with everything automatic, and with noise = camera.
--bursts measures only bursts of four of such photographs, still and moving, as stacks.

IMAGES is a folder with the folders Set12, Kodak24, PolyU and RNI15, as many as there are
(GRAINLESS_IMAGES, or ../shared/images beside the checkout). Tables go to stdout, all numbers to
OUT_DIR/quality.json, the sheet to OUT_DIR/rni15.png.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from PIL import Image, ImageDraw

from steps import fail, step

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
SETS = ("Set12", "Kodak24", "PolyU", "RNI15")
METHODS = ("bm3d", "nlm", "dct")
PROFILES = ("fast", "normal", "high")
PUBLISHED = {
    ("Set12", "bm3d"): {15: 32.37, 25: 29.97, 50: 26.72},
    ("Set12", "nlm"): {15: 31.17, 25: 28.59, 50: 25.16},
    ("Kodak24", "bm3d"): {15: 34.28, 25: 31.68, 50: 28.46},
}
PICTURES = {".png", ".tif", ".tiff", ".jpg", ".jpeg"}
CROP = 256  # pixels a side, of the contact sheet


def pictures(folder):
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)


def as_png(path, folder):
    """The same pixels in a file that the command line reads."""
    if path.suffix.lower() in {".png", ".tif", ".tiff"}:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{path.stem}.png"
    Image.open(path).convert("RGB").save(target)
    return target


def denoise(path, output, options):
    """What grainless says about one picture."""
    command = ["grainless", "--json", *map(str, options), str(path), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def seconds(report):
    return sum(report["seconds"][part] for part in ("upload", "kernels", "download"))


def means(reports):
    return {
        "before": statistics.fmean(r["psnr_before"] for r in reports),
        "psnr": statistics.fmean(r["psnr_after"] for r in reports),
        "ssim": statistics.fmean(r["ssim_after"] for r in reports),
        "fsim": statistics.fmean(r["fsim_after"] for r in reports),
        "seconds": statistics.fmean(map(seconds, reports)),
        "pictures": len(reports),
    }


def print_table(title, columns, rows):
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def measure_white(name, folder, out, arguments):
    scratch = out / "denoised.png"
    results, rows = {}, []
    for method in arguments.methods:
        for profile in PROFILES:
            cells = []
            for sigma in arguments.sigmas:
                step(f"{name}, {method} {profile}, sigma {sigma}")
                options = ["--method", method, "--quality", profile, "--sigma", sigma]
                options += ["--add-noise", sigma, "--metrics", "all", "--device", arguments.device]
                found = means(
                    [
                        denoise(path, scratch, [*options, "--seed", seed])
                        for seed, path in enumerate(pictures(folder), 1)
                    ]
                )
                results[f"{method} {profile} {sigma}"] = found
                published = PUBLISHED.get((name, method), {}).get(sigma)
                cells.append(
                    f"{found['psnr']:.2f} ({published:.2f})" if published else f"{found['psnr']:.2f}"
                )
                cells += [f"{found['ssim']:.4f}", f"{found['seconds']:.2f}"]
            rows.append([f"{method} {profile}", *cells])
    if arguments.peers:
        rows += measure_peers(name, folder, out, arguments, results)
    columns = ["method"]
    for sigma in arguments.sigmas:
        columns += [f"σ={sigma}: PSNR dB (published)", "SSIM", "s"]
    print_table(f"{name}: white noise, means of a picture", columns, rows)
    return results


def measure_peers(name, folder, out, arguments, results):
    """The peers' rows of the same table."""
    from quality_peers import PEERS, peer_results

    found = peer_results(name, pictures(folder), arguments.sigmas, out)
    results |= {f"{peer} {sigma}": mean for (peer, sigma), mean in found.items()}
    rows = []
    for peer in PEERS:
        row = [peer]
        for mean in (found[peer, sigma] for sigma in arguments.sigmas):
            row += [f"{mean['psnr']:.2f}", f"{mean['ssim']:.4f}", f"{mean['seconds']:.2f}"]
        rows.append(row)
    return rows


def measure_camera(folder, out, arguments):
    pairs = [p for p in pictures(folder) if p.stem.endswith("_real")]
    if not pairs:
        fail(f"{folder} holds no pairs of _real and _mean pictures")
    scratch = out / "denoised.png"
    results, rows = {}, []
    for method in arguments.methods:
        for profile in PROFILES:
            step(f"PolyU, {method} {profile}, automatic")
            reports = []
            for noisy in pairs:
                clean = noisy.with_name(noisy.name.replace("_real", "_mean"))
                options = ["--method", method, "--quality", profile, "--device", arguments.device]
                options += ["--reference", as_png(clean, out / "polyu")]
                reports.append(denoise(as_png(noisy, out / "polyu"), scratch, options))
            found = means(reports)
            gains = [r["psnr_after"] - r["psnr_before"] for r in reports]
            found["least_gain"] = min(gains)
            found["of"] = {path.stem: r for path, r in zip(pairs, reports)}
            results[f"{method} {profile}"] = found
            rows.append(
                [
                    f"{method} {profile}",
                    f"{found['before']:.2f}",
                    f"{found['psnr']:.2f}",
                    f"{statistics.fmean(gains):+.2f}",
                    f"{min(gains):+.2f}",
                    f"{found['ssim']:.4f}",
                    f"{found['seconds']:.2f}",
                ]
            )
    columns = ["method", "noisy, dB", "after, dB", "mean gain", "least gain", "SSIM", "s"]
    print_table("PolyU: camera noise, everything automatic", columns, rows)
    return results


def middle(path):
    picture = Image.open(path).convert("RGB")
    left, top = max(0, (picture.width - CROP) // 2), max(0, (picture.height - CROP) // 2)
    return picture.crop((left, top, left + CROP, top + CROP))


def draw_sheet(folder, out, arguments):
    """Before | after of each photograph's middle, two photographs a row."""
    paths, caption = pictures(folder), 16
    rows = (len(paths) + 1) // 2
    sheet = Image.new("RGB", (4 * CROP, rows * (CROP + caption)), "black")
    pen = ImageDraw.Draw(sheet)
    results = {}
    for index, path in enumerate(paths):
        step(f"RNI15, {path.stem}")
        before, after = as_png(path, out / "rni15"), out / "denoised.png"
        report = denoise(before, after, ["--device", arguments.device])
        results[path.stem] = report
        x, y = index % 2 * 2 * CROP, index // 2 * (CROP + caption)
        sigma = " ".join(f"{value:.1f}" for value in report["sigma"])
        pen.text((x + 4, y + 2), f"{path.stem}: sigma {sigma}", fill="white")
        sheet.paste(middle(before), (x, y + caption))
        sheet.paste(middle(after), (x + CROP, y + caption))
    sheet.save(out / "rni15.png")
    print(f"\nRNI15: before | after in {out / 'rni15.png'}")
    return results


def measure_colour(folder, out, arguments):
    """Small-scale colour contrast lost by the defaults and on one level."""
    from quality_colour import PHOTOGRAPHS, lost_contrast

    results, rows = {}, []
    for name in PHOTOGRAPHS:
        before, after = as_png(folder / f"{name}.png", out / "rni15"), out / "denoised.png"
        found = {}
        for label, options in (("automatic", []), ("one level", ["--scales", "1"])):
            step(f"{name}, {label}")
            denoise(before, after, [*options, "--device", arguments.device])
            found[label] = lost_contrast(before, after)
        results[name] = found
        rows.append([name, *(f"{100 * lost:.1f} %" for lost in found.values())])
    print_table("Small-scale colour contrast lost", ["", "automatic", "one level"], rows)
    return results


def measure_simulated(folder, arguments):
    """Clean photographs through simulated cameras."""
    from quality_camera import measure_cameras

    paths = pictures(folder)[1 :: 8 if arguments.few else 3]
    table, results = measure_cameras(paths, arguments, denoise)
    print_table(*table)
    return results


def measure_stacks(folder, arguments):
    """The same photographs in bursts."""
    from quality_bursts import measure_bursts

    paths = pictures(folder)[2 :: 10 if arguments.few else 5]
    table, results = measure_bursts(paths, arguments, denoise)
    print_table(*table)
    return results


def image_folder(given):
    folder = pathlib.Path(
        given or os.environ.get("GRAINLESS_IMAGES") or CHECKOUT.parent / "shared" / "images"
    )
    if not any((folder / name).is_dir() for name in SETS):
        fail(
            f"{folder} has none of the folders {', '.join(SETS)}: name a folder with test pictures, "
            "./dev quality FOLDER, or set GRAINLESS_IMAGES"
        )
    return folder


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev quality")
    parser.add_argument("out", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("images", nargs="?", metavar="FOLDER", help="folder of the test pictures")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--sigmas", nargs="+", type=int, default=[15, 25, 50])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peers", action="store_true", help="bm3d, OpenCV and scikit-image, too")
    parser.add_argument("--colour", action="store_true", help="only the loss of small colours")
    parser.add_argument("--camera", action="store_true", help="only simulated cameras (camera.py)")
    parser.add_argument("--bursts", action="store_true", help="only bursts of simulated cameras")
    parser.add_argument("--cameras", nargs="+", metavar="NAME", help="of these: all; see camera.py")
    parser.add_argument("--few", action="store_true", help="with --camera, --bursts: three photographs")
    parser.add_argument("--quality", choices=PROFILES, default="normal", help="with --camera, --bursts")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    folder = image_folder(arguments.images)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = {}
    if arguments.colour:
        results["colour"] = measure_colour(folder / "RNI15", arguments.out, arguments)
        arguments.sets = ()
    if arguments.camera:
        results["simulated cameras"] = measure_simulated(folder / "Kodak24", arguments)
        arguments.sets = ()
    if arguments.bursts:
        results["bursts"] = measure_stacks(folder / "Kodak24", arguments)
        arguments.sets = ()
    for name in arguments.sets:
        if not (folder / name).is_dir():
            step(f"{folder} has no {name}: left out")
        elif name == "PolyU":
            results[name] = measure_camera(folder / name, arguments.out, arguments)
        elif name == "RNI15":
            results[name] = draw_sheet(folder / name, arguments.out, arguments)
        else:
            results[name] = measure_white(name, folder / name, arguments.out, arguments)
    (arguments.out / "denoised.png").unlink(missing_ok=True)
    target = arguments.out / "quality.json"
    target.write_text(json.dumps(results, indent=1), encoding="utf-8")
    step(f"all numbers: {target}")


if __name__ == "__main__":
    main()
