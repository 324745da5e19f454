#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory of the filter's process on a large layer, or on a stack of them:
large_layer.py GIMP_ENV BUILD_DIR PLUG_IN_DIR PAUSE_LIBRARY [RGB|GRAY [SIDE [LAYERS]]]

Takes minutes and, for GIMP itself, gigabytes, so it is no test: case_bands.py compares bands with the whole layer. A line
of JSON says what the process took at most (VmHWM, MiB), the limit (the layer and 1 GiB), and the filter's report.
"""
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pauses
from run import add_meanwhile, own_folder, stage_build

ROWS = 500
FILL_AND_RUN = """
    import numpy as np
    from gi.repository import Gegl, Gimp
    kind, side, rows, count = {kind!r}, {side}, {rows}, {layers}
    channels = 3 if kind == "RGB" else 1
    image = Gimp.Image.new(side, side, getattr(Gimp.ImageBaseType, kind))
    random = np.random.default_rng(1)
    noise = random.normal(0, 12, (rows, side, channels))
    x = np.arange(side)[None, :, None]
    for number in range(count):
        layer = Gimp.Layer.new(image, "large", side, side, getattr(Gimp.ImageType, kind + "_IMAGE"), 100,
                               Gimp.LayerMode.NORMAL)
        image.insert_layer(layer, None, 0)
        for y in range(0, side, rows):
            high = min(rows, side - y)
            band = 128 + 60 * np.sin(x / 90) * np.cos((y + np.arange(high))[:, None, None] / 70) + \
                np.roll(noise, y // 7 + 31 * number, axis=1)[:high]
            buffer = layer.get_buffer()
            buffer.set(Gegl.Rectangle.new(0, y, side, high), "R'G'B' u8" if channels == 3 else "Y' u8",
                       np.clip(band + 0.5, 0, 255).astype(np.uint8).tobytes())
            buffer.flush()
    procedure = Gimp.get_pdb().lookup_procedure("plug-in-grainless-denoise" + ("-stack" if count > 1 else ""))
    config = procedure.create_config()
    config.set_property("image", image)
    config.set_core_object_array("drawables", image.get_layers())
    for key, value in {settings!r}.items():
        config.set_property(key, value)
    values = procedure.run(config)
    print("ANSWER", values.index(0).value_nick, Gimp.get_pdb().get_last_error(), flush=True)
    image.delete()
"""
MEASURE = "import shutil\nshutil.copyfile(f'/proc/{{filter_pid}}/status', {path!r})\n"


def main():
    gimp_env, build, plug_in_dir, pause = sys.argv[1:5]
    kind = sys.argv[5] if len(sys.argv) > 5 else "GRAY"
    side = int(sys.argv[6]) if len(sys.argv) > 6 else 20000
    layers = int(sys.argv[7]) if len(sys.argv) > 7 else 1
    settings = {"method": "nlm", "quality": "fast"} if layers == 1 else {"search": 5, "depth": 1}
    settings |= json.loads(os.environ.get("GRAINLESS_SETTINGS", "{}"))
    work, _lock = own_folder(pathlib.Path(build) / "tests" / "gimp-large")
    plug_ins = stage_build(build, work, plug_in_dir)
    report, status = work / "report.jsonl", work / "status"
    report.unlink(missing_ok=True)
    status.unlink(missing_ok=True)
    environment = dict(os.environ, GRAINLESS_REPORT=str(report), **add_meanwhile(plug_ins, work, pause))
    folder = work / "pause"
    pauses.FOLDER = folder
    (folder / "action.py").write_text(MEASURE.format(path=str(status)), encoding="utf-8")
    (folder / "at").write_text("merge 1", encoding="utf-8")
    script = textwrap.dedent(FILL_AND_RUN).format(kind=kind, side=side, rows=ROWS, layers=layers, settings=settings)
    subprocess.run([gimp_env, work / "profile", plug_ins, "env", f"LD_PRELOAD={pause}", "gimp-console-3.0", "-i",
                    "--batch-interpreter=python-fu-eval", "-b", script, "--quit"],
                   env=environment, stdout=sys.stderr, check=False)
    peak = next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    layer = layers * side * side * (3 if kind == "RGB" else 1) / 2**20
    ok = peak <= layer + 1024
    print(json.dumps({"kind": kind, "side": side, "layers": layers, "settings": settings, "peak_mib": round(peak),
                      "layer_mib": round(layer), "limit_mib": round(layer + 1024), "ok": ok,
                      "report": json.loads(report.read_text())}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
