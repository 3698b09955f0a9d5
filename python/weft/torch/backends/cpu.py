"""torch.backends.cpu's names."""

import functools

__all__ = ["get_cpu_capability"]


@functools.cache
def get_cpu_capability():
    """Of "AVX512", "AVX2" and "DEFAULT", the widest that there is."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        flags = []
    return (
        "AVX512" if "avx512f" in flags and "avx512bw" in flags else "AVX2" if "avx2" in flags else "DEFAULT"
    )
