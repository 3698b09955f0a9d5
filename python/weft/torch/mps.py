"""torch.mps's names, as they answer where there is none."""

from . import _absent

__path__ = []  # modules below are made by the table


def is_available():
    return False


def device_count():
    return 0


def manual_seed(seed):
    pass


def _refused(name):
    def function(*args, **kwargs):
        raise RuntimeError(f"torch.mps.{name}: Cannot execute {name}() without MPS backend.")

    function.__name__ = name
    return function


for _name in """
    synchronize empty_cache seed get_rng_state set_rng_state current_allocated_memory driver_allocated_memory
    recommended_max_memory set_per_process_memory_fraction compile_shader get_name get_core_count
""".split():
    globals()[_name] = _refused(_name)


__getattr__ = _absent.names(__name__)
