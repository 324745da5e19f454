# SPDX-License-Identifier: MIT
"""Joins serve.py: layers of every kind, and the filter on them without a dialog. Named by what session.py asks for."""

SOAK_TYPES = {("RGB", False): Gimp.ImageType.RGB_IMAGE, ("RGB", True): Gimp.ImageType.RGBA_IMAGE,  # noqa: F821
              ("GRAY", False): Gimp.ImageType.GRAY_IMAGE, ("GRAY", True): Gimp.ImageType.GRAYA_IMAGE}  # noqa: F821


def fill_with_noise(drawable, seed):
    colours = 3 if drawable.is_rgb() else 1
    height, width = drawable.get_height(), drawable.get_width()
    random = np.random.default_rng(seed)  # noqa: F821
    pixels = 0.5 + 0.2 * np.sin(np.arange(width) / 9)[None, :, None] + random.normal(0, 0.05, (height, width, colours))  # noqa: F821
    if seed % 3 == 0:
        pixels[random.random(pixels.shape[:2]) < 0.002] = 1  # hot
    if drawable.has_alpha():
        pixels = np.concatenate([pixels, random.integers(0, 2, (height, width, 1))], axis=-1)  # noqa: F821
    name = ("R~G~B~" if colours == 3 else "Y~") + ("A float" if drawable.has_alpha() else " float")
    buffer = drawable.get_buffer()
    buffer.set(Gegl.Rectangle.new(0, 0, width, height), name, pixels.astype(np.float32).tobytes())  # noqa: F821
    buffer.flush()


def soak_open(width, height, base, precision, alpha, count, kind, selection, seed):
    """An image without a window; `layers` are what the filter gets."""
    global layer, layers
    image = Gimp.Image.new_with_precision(width, height, getattr(Gimp.ImageBaseType, base),  # noqa: F821
                                          getattr(Gimp.Precision, precision))  # noqa: F821
    layers = [Gimp.Layer.new(image, f"layer {i + 1}", width, height, SOAK_TYPES[base, alpha], 100,  # noqa: F821
                             Gimp.LayerMode.NORMAL) for i in range(count)]  # noqa: F821
    for number, one in enumerate(layers):
        image.insert_layer(one, None, 0)
        fill_with_noise(one, seed + number)
    layer = layers[0]
    if kind == "mask":
        layer.add_mask(layer.create_mask(Gimp.AddMaskType.WHITE))  # noqa: F821
        layers = [layer.get_mask()]
        fill_with_noise(layers[0], seed)
    if selection:
        image.select_ellipse(Gimp.ChannelOps.REPLACE, *selection)  # noqa: F821
    layer = layers[0]


def soak_apply(name, settings):
    """Without a dialog; the status, and what the filter said."""
    procedure = Gimp.get_pdb().lookup_procedure(name)  # noqa: F821
    config = procedure.create_config()
    config.set_property("run-mode", Gimp.RunMode.NONINTERACTIVE)  # noqa: F821
    config.set_property("image", layer.get_image())
    config.set_core_object_array("drawables", layers)
    for key, value in settings.items():
        config.set_property(key, value)
    values = procedure.run(config)
    return {"status": values.index(0).value_nick, "message": Gimp.get_pdb().get_last_error() or ""}  # noqa: F821


def soak_close():
    layer.get_image().delete()
