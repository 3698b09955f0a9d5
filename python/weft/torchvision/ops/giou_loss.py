"""torchvision.ops.giou_loss."""

from .losses import generalized_box_iou_loss

__all__ = ["generalized_box_iou_loss"]
