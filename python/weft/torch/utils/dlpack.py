"""torch.utils.dlpack's names."""

import enum

from weft import from_dlpack  # noqa: F401


class DLDeviceType(enum.IntEnum):
    kDLCPU, kDLCUDA, kDLCUDAHost, kDLOpenCL, kDLVulkan = 1, 2, 3, 4, 7
    kDLMetal, kDLVPI, kDLROCM, kDLROCMHost, kDLExtDev = 8, 9, 10, 11, 12
    kDLCUDAManaged, kDLOneAPI, kDLWebGPU, kDLHexagon, kDLMAIA = 13, 14, 15, 16, 17


def to_dlpack(tensor):
    """A DLPack capsule of the tensor."""
    return tensor.__dlpack__()
