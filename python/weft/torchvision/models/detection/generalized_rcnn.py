"""torchvision.models.detection.generalized_rcnn: a trunk, proposals, and heads for them."""

from weft import nn

from ._utils import by_name, image_sizes, refuse_training

__all__ = ["GeneralizedRCNN"]


class GeneralizedRCNN(nn.Module):
    """A list of images [c, h, w] in [0, 1] to a list of detections (see RoIHeads) in the images' own pixels.

    raises: NotImplementedError in training mode, or for targets.
    """

    def __init__(self, backbone, rpn, roi_heads, transform):
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def forward(self, images, targets=None):
        refuse_training(self, targets)
        original = image_sizes(images)
        images, _ = self.transform(images)
        features = by_name(self.backbone(images.tensors))
        proposals, _ = self.rpn(images, features)
        detections, _ = self.roi_heads(features, proposals, images.image_sizes)
        return self.transform.postprocess(detections, images.image_sizes, original)
