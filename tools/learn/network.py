# SPDX-License-Identifier: MIT
"""The post-filter of engine/boundary/post_filter.h, and its weights' file."""

import re

import numpy
import torch
from torch import nn
from torch.nn import functional

CHANNELS = (2, 16, 16, 16, 1)
MEAN_RADIUS = 2


def bounded(values):
    return values / (1 + values.abs() / 8)


class PostFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 3, bias=False)
            for inputs, outputs in zip(CHANNELS, CHANNELS[1:])
        )
        with torch.no_grad():
            self.convolutions[-1].weight *= 0.1

    def forward(self, planes):
        """Corrections in sigmas of E, the second of the planes; Y is the first. N x 4 x H x W."""
        border = len(self.convolutions) + MEAN_RADIUS
        padded = functional.pad(planes[:, :2], (border,) * 4, mode="replicate")
        mean = functional.avg_pool2d(padded[:, 1:2], 2 * MEAN_RADIUS + 1, 1)
        inner = padded[..., MEAN_RADIUS:-MEAN_RADIUS, MEAN_RADIUS:-MEAN_RADIUS]
        noisy, estimate = inner[:, :1], inner[:, 1:]
        maps = bounded(torch.cat([noisy - estimate, estimate - mean], 1))
        for number, convolution in enumerate(self.convolutions):
            maps = convolution(maps)
            if number + 1 < len(self.convolutions):
                maps = functional.relu(maps)
        return maps


def lowpass(plane):
    """What the next coarser level holds of it (engine/boundary/pyramid.h). N x 1 x H x W, even."""
    half = functional.avg_pool2d(plane, 2)
    row = torch.tensor([1.0, 2.0, 1.0], device=plane.device) / 4
    kernel = (row[:, None] * row)[None, None]
    smooth = functional.conv2d(functional.pad(half, (1,) * 4, mode="replicate"), kernel)
    return functional.interpolate(smooth, scale_factor=2, mode="bilinear", align_corners=False)


def read_weights(network, path):
    bits = [int(word, 16) for word in re.findall(r"0x[0-9a-f]{4}", path.read_text())]
    values = numpy.array(bits, numpy.uint16).view(numpy.float16).astype(numpy.float32)
    with torch.no_grad():
        for convolution in network.convolutions:
            count = convolution.weight.numel()
            convolution.weight.copy_(torch.tensor(values[:count]).view_as(convolution.weight))
            values = values[count:]


def write_weights(network, path):
    lines = ["// clang-format off"]
    for convolution in network.convolutions:
        weights = convolution.weight.detach().numpy().astype(numpy.float16)
        outputs, inputs = weights.shape[:2]
        lines.append(f"// {outputs} outputs of {inputs} channels of 3 x 3 pixels")
        words = [f"0x{word:04x}," for word in weights.ravel().view(numpy.uint16)]
        lines += [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
    path.write_text("\n".join(lines) + "\n")
