"""ResNets of videos (Tran and others, A closer look at spatiotemporal convolutions for action recognition, 2017): R3D, mixed
convolutions, R(2+1)D."""

from weft import nn

from .._api import load_published, model_builder, number_of_classes
from .._task_weights import published_task_weights
from .._utils import initialize_rectified

__all__ = [
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "R3D_18_Weights",
    "VideoResNet",
    "mc3_18",
    "r2plus1d_18",
    "r3d_18",
]


class Conv3DSimple(nn.Conv3d):
    """A 3×3×3 convolution. (midplanes is for the other kinds.)"""

    def __init__(self, in_planes, out_planes, midplanes=None, stride=1, padding=1):
        super().__init__(in_planes, out_planes, (3, 3, 3), stride, padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride):
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A 3×3 convolution of each frame. (midplanes is for the other kinds.)"""

    def __init__(self, in_planes, out_planes, midplanes=None, stride=1, padding=1):
        super().__init__(
            in_planes, out_planes, (1, 3, 3), (1, stride, stride), (0, padding, padding), bias=False
        )

    @staticmethod
    def get_downsample_stride(stride):
        return 1, stride, stride


def _plane_then_time(in_planes, middle, out_planes, side, stride, padding):
    return (
        nn.Conv3d(in_planes, middle, (1, side, side), (1, stride, stride), (0, padding, padding), bias=False),
        nn.BatchNorm3d(middle),
        nn.ReLU(inplace=True),
    ), nn.Conv3d(middle, out_planes, (3, 1, 1), (stride if side == 3 else 1, 1, 1),
                 (padding if side == 3 else 1, 0, 0), bias=False)  # fmt: skip


class Conv2Plus1D(nn.Sequential):
    """A 3×3 convolution of each frame to midplanes channels, and one of three frames."""

    def __init__(self, in_planes, out_planes, midplanes, stride=1, padding=1):
        plane, time = _plane_then_time(in_planes, midplanes, out_planes, 3, stride, padding)
        super().__init__(*plane, time)

    @staticmethod
    def get_downsample_stride(stride):
        return stride, stride, stride


class BasicStem(nn.Sequential):
    """[n, 3, frames, h, w] to [n, 64, frames, h / 2, w / 2]."""

    def __init__(self):
        super().__init__(
            nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class R2Plus1dStem(nn.Sequential):
    """As BasicStem, its convolution split."""

    def __init__(self):
        plane, time = _plane_then_time(3, 45, 64, 7, 2, 3)
        super().__init__(*plane, time, nn.BatchNorm3d(64), nn.ReLU(inplace=True))


def _midplanes(inplanes, planes):
    """Channels by which a split convolution has about as many weights as one of 3×3×3."""
    return inplanes * planes * 27 // (inplanes * 9 + 3 * planes)


class BasicBlock(nn.Module):
    """Two convolutions of the kind conv_builder beside a shortcut."""

    expansion = 1

    def __init__(self, inplanes, planes, conv_builder, stride=1, downsample=None):
        super().__init__()
        middle = _midplanes(inplanes, planes)
        self.conv1 = nn.Sequential(
            conv_builder(inplanes, planes, middle, stride), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        )
        self.conv2 = nn.Sequential(conv_builder(planes, planes, middle), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.conv2(self.conv1(x))
        y += shortcut
        return self.relu(y)


class Bottleneck(nn.Module):
    """A convolution of the kind conv_builder between two projections, beside a shortcut."""

    expansion = 4

    def __init__(self, inplanes, planes, conv_builder, stride=1, downsample=None):
        super().__init__()
        middle = _midplanes(inplanes, planes)
        wide = planes * self.expansion
        self.conv1 = nn.Sequential(
            nn.Conv3d(inplanes, planes, 1, bias=False), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        )
        self.conv2 = nn.Sequential(
            conv_builder(planes, planes, middle, stride), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        )
        self.conv3 = nn.Sequential(nn.Conv3d(planes, wide, 1, bias=False), nn.BatchNorm3d(wide))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.conv3(self.conv2(self.conv1(x)))
        y += shortcut
        return self.relu(y)


class VideoResNet(nn.Module):
    """Videos [n, 3, frames, h, w] to logits [n, num_classes]: four stages of layers[i] blocks with convolutions of the kind
    conv_makers[i]. zero_init_residual: the last normalization of a Bottleneck starts as 0."""

    def __init__(self, block, conv_makers, layers, stem, num_classes=400, zero_init_residual=False):
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        self.layer1 = self._make_layer(block, conv_makers[0], 64, layers[0])
        self.layer2 = self._make_layer(block, conv_makers[1], 128, layers[1], stride=2)
        self.layer3 = self._make_layer(block, conv_makers[2], 256, layers[2], stride=2)
        self.layer4 = self._make_layer(block, conv_makers[3], 512, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            initialize_rectified(module)
            if zero_init_residual and isinstance(module, Bottleneck):
                nn.init.zeros_(module.conv3[1].weight)

    def _make_layer(self, block, conv_builder, planes, blocks, stride=1):
        wide = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != wide:
            strides = conv_builder.get_downsample_stride(stride)
            downsample = nn.Sequential(
                nn.Conv3d(self.inplanes, wide, 1, strides, bias=False), nn.BatchNorm3d(wide)
            )
        first = block(self.inplanes, planes, conv_builder, stride, downsample)
        self.inplanes = wide
        return nn.Sequential(first, *(block(wide, planes, conv_builder) for _ in range(blocks - 1)))

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(self.avgpool(x).flatten(1))


def _video_resnet(conv_makers, stem, weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    model = VideoResNet(BasicBlock, conv_makers, [2, 2, 2, 2], stem, **kwargs)
    return load_published(model, weights, progress)


R3D_18_Weights = published_task_weights("R3D_18_Weights", __name__)
MC3_18_Weights = published_task_weights("MC3_18_Weights", __name__)
R2Plus1D_18_Weights = published_task_weights("R2Plus1D_18_Weights", __name__)


def _builder(name, weights, conv_makers, stem):
    return model_builder(name, weights, _video_resnet, conv_makers, stem, first="KINETICS400_V1")


r3d_18 = _builder("r3d_18", R3D_18_Weights, [Conv3DSimple] * 4, BasicStem)
mc3_18 = _builder("mc3_18", MC3_18_Weights, [Conv3DSimple] + [Conv3DNoTemporal] * 3, BasicStem)
r2plus1d_18 = _builder("r2plus1d_18", R2Plus1D_18_Weights, [Conv2Plus1D] * 4, R2Plus1dStem)
