"""torch._functorch.config's settings, which change nothing here."""

from .. import _config

_config.make(
    __name__,
    functionalize_rng_ops=False,
    debug_assert=False,
    debug_partitioner=False,
    use_fake_tensor=True,
    donated_buffer=False,
    enable_autograd_cache=True,
    cse=True,
    max_dist_from_bw=1000,
    recompute_views=False,
    activation_memory_budget=1.0,
    unlift_effect_tokens=False,
    view_replay_for_aliased_outputs=True,
)
