"""The environment of processes whose GPU is emulated."""

# What is tested is what kernels mean: the compiler's optimizer takes longer than they run.
EMULATED = {"WEFT_DEVICE_EMULATE": "1", "WEFT_KERNEL_OPTIMIZATION": "0"}
