"""torchvision.models.video: classifiers of videos. MViT and SwinTransformer3d are not written yet: their names raise when
they are used."""

from weft.torch._absent import absent as _absent

from .resnet import *  # noqa: F403
from .s3d import *  # noqa: F403

_NOT_WRITTEN = """
MViT MViT_V1_B_Weights MViT_V2_S_Weights Swin3D_B_Weights Swin3D_S_Weights Swin3D_T_Weights SwinTransformer3d mvit_v1_b
mvit_v2_s swin3d_b swin3d_s swin3d_t
""".split()


def __getattr__(name):
    if name in _NOT_WRITTEN:
        return _absent(f"torchvision.models.video.{name}", "not written yet", __name__)
    raise AttributeError(f"module 'torchvision.models.video' has no attribute {name!r}")
