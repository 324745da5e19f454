# SPDX-License-Identifier: MIT
"""Images with colour profiles for drive_colour.py: what serve.py loads."""


def open_coloured(width, height, precision, profile=None, grey=False, coarse=False):
    """Fields of all colours with noise; `profile` says what the values mean. Coarse noise is smoother than white one."""
    open_layer(width, height, precision, 0)  # noqa: F821
    image = layer.get_image()  # noqa: F821
    if grey:
        image.convert_grayscale()
    if profile:
        image.set_color_profile(Gimp.ColorProfile.new_from_file(Gio.File.new_for_path(profile)))  # noqa: F821
    y, x = np.mgrid[0:height, 0:width]  # noqa: F821
    fields = np.stack([x * 5 // width, y * 5 // height, (x * 5 // width + 2 * (y * 5 // height)) % 5], axis=-1)  # noqa: F821
    noise = np.random.default_rng(3).normal(0, 0.04, (height, width, 3))  # noqa: F821
    if coarse:
        for axis in (0, 1):
            noise = noise + np.roll(noise, 1, axis)  # noqa: F821
    values = 0.06 + 0.22 * fields + noise
    values = np.clip(values[..., :1] if grey else values, 0, 1).astype(np.float32)  # noqa: F821
    buffer = layer.get_buffer()  # noqa: F821
    curve = "~" if precision != "u8" else "'"
    name = f"Y{curve} float" if grey else f"R{curve}G{curve}B{curve} float"
    buffer.set(Gegl.Rectangle.new(0, 0, width, height), name, values.tobytes())  # noqa: F821
    buffer.flush()
    layer.update(0, 0, width, height)  # noqa: F821
    image.clean_all()
    Gimp.displays_flush()  # noqa: F821


def assign_profile(path):
    layer.get_image().set_color_profile(Gimp.ColorProfile.new_from_file(Gio.File.new_for_path(path)))  # noqa: F821
    Gimp.displays_flush()  # noqa: F821


def simulate(profile, intent, compensate):
    """What the image wants to be simulated."""
    image = layer.get_image()  # noqa: F821
    image.set_simulation_profile(Gimp.ColorProfile.new_from_file(Gio.File.new_for_path(profile)))  # noqa: F821
    image.set_simulation_intent(getattr(Gimp.ColorRenderingIntent, intent))  # noqa: F821
    image.set_simulation_bpc(compensate)
    Gimp.displays_flush()  # noqa: F821
