"""Names of reductions, and what is said without a process group."""

import enum

NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class RedOpType(enum.Enum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)
