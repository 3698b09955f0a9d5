"""torchvision.models.segmentation._utils: a trunk, and heads whose logits are enlarged to the image."""

from collections import OrderedDict

from weft import nn
from weft.nn import functional as F

from .._utils import IntermediateLayerGetter


class _SimpleSegmentationModel(nn.Module):
    """Images [n, 3, h, w] to an OrderedDict of logits [n, classes, h, w]: "out" and, with aux_classifier, "aux". backbone
    gives an OrderedDict of features under these names."""

    def __init__(self, backbone, classifier, aux_classifier=None):
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x):
        size = x.shape[-2:]
        features = self.backbone(x)
        results = OrderedDict()
        for name, head in (("out", self.classifier), ("aux", self.aux_classifier)):
            if head is not None:
                logits = head(features[name])
                results[name] = F.interpolate(logits, size=size, mode="bilinear", align_corners=False)
        return results


def dilated_resnet(make, weights, aux):
    """The trunk of a ResNet at an eighth of the image's size: its last stage's result is "out", with `aux` that of the one
    before "aux"."""
    trunk = make(weights=weights, replace_stride_with_dilation=[False, True, True])
    layers = {"layer4": "out", **({"layer3": "aux"} if aux else {})}
    return IntermediateLayerGetter(trunk, layers)


def dilated_mobilenet(make, weights, low, high):
    """(the trunk of a MobileNetV3 at a 16th of the image's size, {result: channels}): its end is the result `high`, its
    part at an eighth `low` (None: not a result)."""
    features = make(weights=weights, dilated=True).features
    strided = [
        0,
        *(i for i, block in enumerate(features) if getattr(block, "_is_cn", False)),
        len(features) - 1,
    ]
    wanted = {position: name for position, name in ((strided[-4], low), (strided[-1], high)) if name}
    channels = {name: features[position].out_channels for position, name in wanted.items()}
    return IntermediateLayerGetter(
        features, {str(position): name for position, name in wanted.items()}
    ), channels


def auxiliary_loss(weights, aux_loss):
    """Whether a model has an auxiliary classifier: published weights have. raises: ValueError where aux_loss is False for
    them."""
    if weights is None:
        return bool(aux_loss)
    if aux_loss is not None and not aux_loss:
        raise ValueError(f"The parameter 'aux_loss' expected value True but got {aux_loss} instead.")
    return True
