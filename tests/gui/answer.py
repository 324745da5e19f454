# SPDX-License-Identifier: MIT
"""Runs in GIMP's Python beside the window: answers what the layer's pixels are. WORK is set by the caller."""
import json
import os
import pathlib
import time

import gi

gi.require_version("Gimp", "3.0")
gi.require_version("Gegl", "0.4")
from gi.repository import Gegl, Gimp  # noqa: E402

folder = pathlib.Path(WORK)  # noqa: F821
answered, gimp = 0, os.getppid()
while os.getppid() == gimp:  # a GIMP that is ended leaves its plug-ins to themselves
    time.sleep(0.1)
    question = folder / "question"
    number = int(question.read_text() or 0) if question.exists() else 0
    if number == answered:
        continue
    answered = number
    image = Gimp.get_images()[0]
    layer = image.get_layers()[0]
    area = Gegl.Rectangle.new(0, 0, layer.get_width(), layer.get_height())
    data = layer.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE)
    (folder / f"answer{number}.raw").write_bytes(data)
    part = folder / "answer.part"
    part.write_text(json.dumps({"width": layer.get_width(), "height": layer.get_height(),
                                "dirty": bool(image.is_dirty())}))
    os.replace(part, folder / f"answer{number}.json")
