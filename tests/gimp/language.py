# SPDX-License-Identifier: MIT
"""Inside GIMP's Python: what the plug-in says in this process's language, as JSON into GRAINLESS_ANSWER."""
import json
import os

import gi

gi.require_version("Gimp", "3.0")
from gi.repository import Gimp  # noqa: E402

procedure = Gimp.get_pdb().lookup_procedure("plug-in-grainless-denoise")
image = Gimp.Image.new(20, 20, Gimp.ImageBaseType.RGB)
layer = Gimp.Layer.new(image, "layer", 20, 20, Gimp.ImageType.RGB_IMAGE, 100, Gimp.LayerMode.NORMAL)
image.insert_layer(layer, None, 0)


def complaint(drawables, **arguments):
    config = procedure.create_config()
    config.set_property("image", image)
    config.set_core_object_array("drawables", drawables)
    for key, value in arguments.items():
        config.set_property(key, value)
    procedure.run(config)
    return Gimp.get_pdb().get_last_error()


said = {"label": procedure.find_argument("strength").nick, "plug-in": complaint([]),
        "engine": complaint([layer], search=4)}
image.delete()
with open(os.environ["GRAINLESS_ANSWER"], "w", encoding="utf-8") as file:
    json.dump(said, file)
