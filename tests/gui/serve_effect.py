# SPDX-License-Identifier: MIT
"""Effects for drive_effect.py: what serve.py loads."""


def effects():
    """Of the layer, with their values."""
    return [{"operation": effect.get_operation_name(), "visible": effect.get_visible(),
             "values": {key: effect.get_config().get_property(key) for key in ("method", "strength", "auto-sigma")}}
            for effect in layer.get_filters()]  # noqa: F821


def seen():
    """The picture as it is shown."""
    image = layer.get_image()  # noqa: F821
    one = Gimp.Layer.new_from_visible(image, image, "seen")  # noqa: F821
    area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())  # noqa: F821
    data = one.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE)  # noqa: F821
    return hashlib.sha256(data).hexdigest()  # noqa: F821


def by_the_filter(values=None):
    """What the filter makes of a copy of the picture."""
    image = layer.get_image().duplicate()  # noqa: F821
    one = image.get_layers()[0]
    for effect in one.get_filters():
        effect.delete()
    procedure = Gimp.get_pdb().lookup_procedure("plug-in-grainless-denoise")  # noqa: F821
    config = procedure.create_config()
    config.set_property("run-mode", Gimp.RunMode.NONINTERACTIVE)  # noqa: F821
    config.set_property("image", image)
    config.set_core_object_array("drawables", [one])
    for key, value in (values or {}).items():
        config.set_property(key, value)
    assert procedure.run(config).index(0) == Gimp.PDBStatusType.SUCCESS  # noqa: F821
    area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())  # noqa: F821
    data = one.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE)  # noqa: F821
    image.delete()
    return hashlib.sha256(data).hexdigest()  # noqa: F821


def longest_silence(seconds):
    """How long GIMP took for its slowest answer of that time: what its window does to a click."""
    end, worst = time.monotonic() + seconds, 0.0  # noqa: F821
    while time.monotonic() < end:  # noqa: F821
        begun = time.monotonic()  # noqa: F821
        Gimp.get_images()  # noqa: F821
        worst = max(worst, time.monotonic() - begun)  # noqa: F821
        time.sleep(0.01)  # noqa: F821
    return worst


def switch_red(on):
    """In the Channels dialog."""
    layer.get_image().set_component_active(Gimp.ChannelType.RED, on)  # noqa: F821
