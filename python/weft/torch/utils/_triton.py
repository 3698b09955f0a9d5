"""torch.utils._triton's names, without Triton."""


def has_triton():
    return False


has_triton_package = has_triton_tma = has_triton_tma_device = has_triton


def has_triton_experimental_host_tma():
    return False
