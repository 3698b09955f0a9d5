"""ShuffleNet V2 (Ma and others, Practical guidelines for efficient CNN architecture design, 2018)."""

import weft
from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def channel_shuffle(x, groups):
    """[n, c, h, w] with the channels of the groups in turn: the first of each group, then the second of each."""
    batch, channels, height, width = x.size()
    grouped = x.view(batch, groups, channels // groups, height, width)
    return grouped.transpose(1, 2).contiguous().view(batch, channels, height, width)


def _pointwise(inp, oup):
    return [nn.Conv2d(inp, oup, 1, bias=False), nn.BatchNorm2d(oup), nn.ReLU(inplace=True)]


def _depthwise(channels, stride):
    return [
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
    ]


class InvertedResidual(nn.Module):
    """Two branches, joined and shuffled. Stride 1: the first is half of the channels as they are. Stride 2: both see all.

    raises: ValueError for another stride, and where stride 1 would change the number of channels.
    """

    def __init__(self, inp, oup, stride):
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != 2 * half:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If stride == 1 then inp should be "
                "equal to oup // 2 << 1."
            )
        self.stride = stride
        self.branch1 = nn.Sequential(*(_depthwise(inp, stride) + _pointwise(inp, half) if stride > 1 else []))
        self.branch2 = nn.Sequential(
            *_pointwise(inp if stride > 1 else half, half),
            *_depthwise(half, stride),
            *_pointwise(half, half),
        )

    def forward(self, x):
        if self.stride == 1:
            kept, changed = x.chunk(2, dim=1)
        else:
            kept, changed = self.branch1(x), x
        return channel_shuffle(weft.cat([kept, self.branch2(changed)], 1), 2)


class ShuffleNetV2(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes].

    raises: ValueError where there are not three numbers of blocks and five of channels.
    """

    def __init__(
        self, stages_repeats, stages_out_channels, num_classes=1000, inverted_residual=InvertedResidual
    ):
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        first, *widths, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = first
        for stage, (repeats, width) in enumerate(zip(stages_repeats, widths), 2):
            blocks = [inverted_residual(channels, width, 2)]
            blocks += [inverted_residual(width, width, 1) for _ in range(repeats - 1)]
            setattr(self, f"stage{stage}", nn.Sequential(*blocks))
            channels = width
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def _forward_impl(self, x):
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))

    def forward(self, x):
        return self._forward_impl(x)


def _shufflenet(weights, progress, widths, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(ShuffleNetV2([4, 8, 4], [24, *widths], **kwargs), weights, progress)


ShuffleNet_V2_X0_5_Weights = published_weights("ShuffleNet_V2_X0_5_Weights", __name__)
ShuffleNet_V2_X1_0_Weights = published_weights("ShuffleNet_V2_X1_0_Weights", __name__)
ShuffleNet_V2_X1_5_Weights = published_weights("ShuffleNet_V2_X1_5_Weights", __name__)
ShuffleNet_V2_X2_0_Weights = published_weights("ShuffleNet_V2_X2_0_Weights", __name__)

# source: table 5 of the paper
shufflenet_v2_x0_5 = model_builder(
    "shufflenet_v2_x0_5", ShuffleNet_V2_X0_5_Weights, _shufflenet, widths=(48, 96, 192, 1024)
)
shufflenet_v2_x1_0 = model_builder(
    "shufflenet_v2_x1_0", ShuffleNet_V2_X1_0_Weights, _shufflenet, widths=(116, 232, 464, 1024)
)
shufflenet_v2_x1_5 = model_builder(
    "shufflenet_v2_x1_5", ShuffleNet_V2_X1_5_Weights, _shufflenet, widths=(176, 352, 704, 1024)
)
shufflenet_v2_x2_0 = model_builder(
    "shufflenet_v2_x2_0", ShuffleNet_V2_X2_0_Weights, _shufflenet, widths=(244, 488, 976, 2048)
)
