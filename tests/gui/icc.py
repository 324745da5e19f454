# SPDX-License-Identifier: MIT
"""Colour profiles of a matrix and a curve, or of a curve alone, as bytes of ICC files (version 4.3)."""
import struct

SRGB = ((0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141))  # colourants under D50
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
WHITE = (0.9642, 1.0, 0.8249)


def fixed(*values):
    return b"".join(struct.pack(">i", round(value * 65536)) for value in values)


def text(words):
    data = words.encode("utf-16-be")
    return b"mluc" + struct.pack(">IIIHHII", 0, 1, 12, 0x656E, 0x5553, len(data), 28) + data


def xyz(values):
    return b"XYZ \0\0\0\0" + fixed(*values)


def curve(gamma):
    return b"para" + struct.pack(">IHH", 0, 0, 0) + fixed(gamma)


def profile(space, name, tags):
    tags = {b"desc": text(name), b"cprt": text("none"), b"wtpt": xyz(WHITE)} | tags
    table, data, start = b"", b"", 128 + 4 + 12 * len(tags)
    for key, value in tags.items():
        value += b"\0" * (-len(value) % 4)
        table += key + struct.pack(">II", start + len(data), len(value))
        data += value
    body = struct.pack(">I", len(tags)) + table + data
    header = struct.pack(">I4xI", 128 + len(body), 0x04300000) + b"mntr" + space + b"XYZ "
    header += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + bytes(4 + 4 + 4 + 4 + 8 + 4)  # intent: perceptual
    return (header + fixed(*WHITE)).ljust(128, b"\0") + body


def colour(name, colourants, gamma):
    """A monitor with these primaries; each channel has a gamma of its own."""
    tags = {key + b"XYZ": xyz(value) for key, value in zip((b"r", b"g", b"b"), colourants)}
    return profile(b"RGB ", name, tags | {key + b"TRC": curve(g) for key, g in zip((b"r", b"g", b"b"), gamma)})


def grey(name, gamma):
    return profile(b"GRAY", name, {b"kTRC": curve(gamma)})
