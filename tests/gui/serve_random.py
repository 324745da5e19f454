# SPDX-License-Identifier: MIT
"""What drive_random.py asks of GIMP: joins serve.py, serve_live.py and serve_soak.py."""


def random_open(number, *arguments):
    """An image of soak_open() with so many layers, in a window, all of them selected."""
    soak_open(*arguments)  # noqa: F821
    image = layer.get_image()
    show(image)  # noqa: F821
    if layer.is_layer_mask():
        image.set_selected_layers(image.get_layers())
        image.get_layers()[0].set_edit_mask(True)
    else:
        image.set_selected_layers(layers)
    image.clean_all()
    assert len(layers) == number


def random_choices(name):
    """The filter's choices: key → (value, what the dialog calls it)."""
    found = {}
    for argument in Gimp.get_pdb().lookup_procedure(name).get_arguments():  # noqa: F821
        if argument.g_type_instance.g_class.g_type.name == "GimpParamChoice":
            choice = Gimp.param_spec_choice_get_choice(argument)  # noqa: F821
            found[argument.name] = [(nick, choice.get_label(nick)) for nick in choice.list_nicks()]
    return found


def values_of(one):
    """In linear light."""
    area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())  # noqa: F821
    return np.frombuffer(one.get_buffer().get(area, 1.0, "RGBA double", Gegl.AbyssPolicy.NONE))  # noqa: F821


def off_from_expected(path):
    """The largest difference of the layers from what random_expected() left at path."""
    return max(float(np.abs(values_of(one) - np.load(f"{path}{index}.npy")).max()) for index, one in enumerate(layers))  # noqa: F821


def random_expected(name, settings, path):
    """What the filter makes of a copy of the image without its dialog: its status, and each layer's fingerprint; the layers'
    pixels as 8-bit RGB with alpha go to path and a number, their values to that and ".npy"."""
    global layer, layers
    image = layer.get_image()
    copy = image.duplicate()
    if layer.is_layer_mask():
        copies = [copy.get_layers()[0].get_mask()]
    else:
        copies = [copy.get_layers()[image.get_layers().index(one)] for one in layers]
    originals, layers = layers, copies
    layer = layers[0]
    try:
        answer = soak_apply(name, settings)  # noqa: F821
        answer["all"] = [fingerprint(one) for one in layers]  # noqa: F821
        for index, one in enumerate(layers):
            area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())  # noqa: F821
            data = one.get_buffer().get(area, 1.0, "R'G'B'A u8", Gegl.AbyssPolicy.NONE)  # noqa: F821
            pathlib.Path(f"{path}{index}").write_bytes(data)  # noqa: F821
            np.save(f"{path}{index}.npy", values_of(one))  # noqa: F821
    finally:
        layers, layer = originals, originals[0]
        copy.delete()
    return answer


def feather(radius):
    Gimp.Selection.feather(layer.get_image(), radius)  # noqa: F821


def select_ellipse(x, y, width, height):
    layer.get_image().select_ellipse(Gimp.ChannelOps.REPLACE, x, y, width, height)  # noqa: F821


def select_none():
    Gimp.Selection.none(layer.get_image())  # noqa: F821


def repaint(index, seed):
    """Of a locked layer, too, which is unlocked meanwhile: GIMP ends a plug-in that writes to one, this one here."""
    painted = layers[index]
    locked = painted.get_lock_content()
    painted.set_lock_content(False)
    fill_with_noise(painted, seed)  # noqa: F821
    painted.update(0, 0, painted.get_width(), painted.get_height())
    painted.set_lock_content(locked)


def convert(precision):
    layer.get_image().convert_precision(getattr(Gimp.Precision, precision))  # noqa: F821


def to_grey():
    if layer.is_rgb():
        layer.get_image().convert_grayscale()


def lock(index, locked):
    """Of all of them: -1."""
    for one in layers if index < 0 else [layers[index]]:
        one.set_lock_content(locked)
