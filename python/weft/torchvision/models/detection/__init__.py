"""torchvision.models.detection: boxes of objects, their masks and key points. Detectors are not trained here: they raise in
training mode."""

from .faster_rcnn import *  # noqa: F403
from .fcos import *  # noqa: F403
from .keypoint_rcnn import *  # noqa: F403
from .mask_rcnn import *  # noqa: F403
from .retinanet import *  # noqa: F403
from .ssd import *  # noqa: F403
from .ssdlite import *  # noqa: F403
