"""ResNet (He and others, Deep residual learning for image recognition, 2015), with the stride of a bottleneck in its 3×3
convolution; ResNeXt (Xie and others, 2016); Wide ResNet (Zagoruyko and Komodakis, 2016).
"""

from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = [
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNet",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "Wide_ResNet101_2_Weights",
    "Wide_ResNet50_2_Weights",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "wide_resnet101_2",
    "wide_resnet50_2",
]


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    """A 3×3 convolution without bias, padded so that stride 1 keeps the size."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(in_planes, out_planes, stride=1):
    """A 1×1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """[n, inplanes, h, w] to [n, planes, h / stride, w / stride]: two 3×3 convolutions beside a shortcut.

    raises: ValueError for groups or base_width, NotImplementedError for a dilation.
    """

    expansion = 1

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError(
                f"BasicBlock: expected groups=1 and base_width=64, got {groups} and {base_width}"
            )
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock: expected dilation=1, got {dilation}")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    """[n, inplanes, h, w] to [n, 4 · planes, h / stride, w / stride]: 1×1, 3×3 and 1×1 convolutions beside a shortcut."""

    expansion = 4

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * base_width / 64) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]: four stages of layers[i] blocks. replace_stride_with_dilation: whether each
    of the last three dilates where it would halve the size. zero_init_residual: the last normalization of a block starts as 0.

    raises: ValueError where replace_stride_with_dilation has not three elements.
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, groups=1, width_per_group=64,
                 replace_stride_with_dilation=None, norm_layer=None):  # fmt: skip
        super().__init__()
        dilated = replace_stride_with_dilation or [False, False, False]
        if len(dilated) != 3:
            raise ValueError(f"ResNet: expected replace_stride_with_dilation of 3 elements, got {dilated}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilated[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilated[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._weft_initialize(zero_init_residual)

    def _weft_initialize(self, zero_init_residual):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
        for module in self.modules() if zero_init_residual else ():
            last = {Bottleneck: "bn3", BasicBlock: "bn2"}.get(type(module))
            if last is not None and module.get_submodule(last).weight is not None:
                nn.init.zeros_(module.get_submodule(last).weight)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        dilation = self.dilation  # of the first block: the size is still that of the stage before
        if dilate:
            self.dilation *= stride
            stride = 1
        out_planes = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != out_planes:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, out_planes, stride), self._norm_layer(out_planes)
            )
        made = []
        for i in range(blocks):
            first = (stride, downsample) if i == 0 else (1, None)
            made.append(
                block(self.inplanes, planes, *first, self.groups, self.base_width,
                      dilation if i == 0 else self.dilation, self._norm_layer)
            )  # fmt: skip
            self.inplanes = out_planes
        return nn.Sequential(*made)

    def _forward_impl(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))

    def forward(self, x):
        return self._forward_impl(x)


def _resnet(block, layers, weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(ResNet(block, layers, **kwargs), weights, progress)


ResNet18_Weights = published_weights("ResNet18_Weights", __name__)
ResNet34_Weights = published_weights("ResNet34_Weights", __name__)
ResNet50_Weights = published_weights("ResNet50_Weights", __name__)
ResNet101_Weights = published_weights("ResNet101_Weights", __name__)
ResNet152_Weights = published_weights("ResNet152_Weights", __name__)
ResNeXt50_32X4D_Weights = published_weights("ResNeXt50_32X4D_Weights", __name__)
ResNeXt101_32X8D_Weights = published_weights("ResNeXt101_32X8D_Weights", __name__)
ResNeXt101_64X4D_Weights = published_weights("ResNeXt101_64X4D_Weights", __name__)
Wide_ResNet50_2_Weights = published_weights("Wide_ResNet50_2_Weights", __name__)
Wide_ResNet101_2_Weights = published_weights("Wide_ResNet101_2_Weights", __name__)

_50, _101, _152 = [3, 4, 6, 3], [3, 4, 23, 3], [3, 8, 36, 3]  # blocks of each stage


def _bottlenecks(name, weights, layers, **settings):
    return model_builder(name, weights, _resnet, Bottleneck, layers, **settings)


resnet18 = model_builder("resnet18", ResNet18_Weights, _resnet, BasicBlock, [2, 2, 2, 2])
resnet34 = model_builder("resnet34", ResNet34_Weights, _resnet, BasicBlock, [3, 4, 6, 3])
resnet50 = _bottlenecks("resnet50", ResNet50_Weights, _50)
resnet101 = _bottlenecks("resnet101", ResNet101_Weights, _101)
resnet152 = _bottlenecks("resnet152", ResNet152_Weights, _152)
resnext50_32x4d = _bottlenecks("resnext50_32x4d", ResNeXt50_32X4D_Weights, _50, groups=32, width_per_group=4)
resnext101_32x8d = _bottlenecks(
    "resnext101_32x8d", ResNeXt101_32X8D_Weights, _101, groups=32, width_per_group=8
)
resnext101_64x4d = _bottlenecks(
    "resnext101_64x4d", ResNeXt101_64X4D_Weights, _101, groups=64, width_per_group=4
)
wide_resnet50_2 = _bottlenecks("wide_resnet50_2", Wide_ResNet50_2_Weights, _50, width_per_group=128)
wide_resnet101_2 = _bottlenecks("wide_resnet101_2", Wide_ResNet101_2_Weights, _101, width_per_group=128)
