"""S3D (Xie and others, Rethinking spatiotemporal feature learning, 2017): Inception whose 3D convolutions are one in space
and one in time."""

from functools import partial

import weft
from weft import nn

from ...ops.misc import Conv3dNormActivation
from .._api import load_published, model_builder, number_of_classes
from .._task_weights import published_task_weights

__all__ = ["S3D", "S3D_Weights", "s3d"]

# Channels of each block: its input; the four branches' results, those of the middle two after their first convolution.
_BLOCKS = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    "double",
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    "half",
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)


class TemporalSeparableConv(nn.Sequential):
    """A convolution in space, and one in time, of one kernel size, stride and padding."""

    def __init__(self, in_planes, out_planes, kernel_size, stride, padding, norm_layer):
        layer = partial(Conv3dNormActivation, bias=False, norm_layer=norm_layer)
        k, s, p = kernel_size, stride, padding
        super().__init__(
            layer(in_planes, out_planes, kernel_size=(1, k, k), stride=(1, s, s), padding=(0, p, p)),
            layer(out_planes, out_planes, kernel_size=(k, 1, 1), stride=(s, 1, 1), padding=(p, 0, 0)),
        )


class SepInceptionBlock3D(nn.Module):
    """Four branches beside each other: a projection, two of them followed by a 3×3×3 convolution, and a pooling's."""

    def __init__(self, in_planes, b0_out, b1_mid, b1_out, b2_mid, b2_out, b3_out, norm_layer):
        super().__init__()
        project = partial(Conv3dNormActivation, in_planes, kernel_size=1, norm_layer=norm_layer)

        def convolved(middle, out):
            return nn.Sequential(project(middle), TemporalSeparableConv(middle, out, 3, 1, 1, norm_layer))

        self.branch0 = project(b0_out)
        self.branch1 = convolved(b1_mid, b1_out)
        self.branch2 = convolved(b2_mid, b2_out)
        self.branch3 = nn.Sequential(nn.MaxPool3d((3, 3, 3), stride=1, padding=1), project(b3_out))

    def forward(self, x):
        return weft.cat([self.branch0(x), self.branch1(x), self.branch2(x), self.branch3(x)], 1)


class S3D(nn.Module):
    """Videos [n, 3, frames, h, w], at least 14 frames of 224×224, to logits [n, num_classes]."""

    def __init__(self, num_classes=400, dropout=0.2, norm_layer=None):
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        pools = {
            "plane": partial(nn.MaxPool3d, (1, 3, 3), (1, 2, 2), (0, 1, 1)),
            "double": partial(nn.MaxPool3d, (3, 3, 3), (2, 2, 2), (1, 1, 1)),
            "half": partial(nn.MaxPool3d, (2, 2, 2), (2, 2, 2), (0, 0, 0)),
        }
        self.features = nn.Sequential(
            TemporalSeparableConv(3, 64, 7, 2, 3, norm),
            pools["plane"](),
            Conv3dNormActivation(64, 64, kernel_size=1, norm_layer=norm),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm),
            pools["plane"](),
            *(pools[row]() if isinstance(row, str) else SepInceptionBlock3D(*row, norm) for row in _BLOCKS),
        )
        self.avgpool = nn.AvgPool3d((2, 7, 7), stride=1)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Conv3d(1024, num_classes, 1))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x))).mean((2, 3, 4))


def _s3d(weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(S3D(**kwargs), weights, progress)


S3D_Weights = published_task_weights("S3D_Weights", __name__)
s3d = model_builder("s3d", S3D_Weights, _s3d, first="KINETICS400_V1")
