"""One model over the ranks of the process group: weft.distributed.tensor_parallel.apply(model).

Each rank keeps whole heads of attention (the rows of the query, key and value weights), columns of the layer between (rows of gate and
up), and the matching columns of what comes out of both (o and down), behind each of which the ranks' results are added up:
two all-reduces per layer. source: Shoeybi et al. 2019, Megatron-LM.
"""

import weft
from weft import nn

from . import functional

__all__ = ["Summed", "apply"]

# Hugging Face's names, and Meta's.
_QUERY, _KEY_VALUE, _OUT = ("q_proj", "wq"), ("k_proj", "v_proj", "wk", "wv"), ("o_proj", "wo")
_FUSED = ("qkv_proj", "wqkv")
_BETWEEN, _DOWN = ("gate_proj", "up_proj", "w1", "w3"), ("down_proj", "w2")
_UNIT = 16  # columns that stay together; int4 weights: a group


class Summed(nn.Module):
    """A linear layer of which each rank has some inputs: the ranks' results are added up, then the bias."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear
        bias = getattr(linear, "bias", None)
        self.register_buffer("bias", bias)
        if bias is not None:
            linear.bias = None

    def forward(self, x):
        total = functional.all_reduce(self.linear(x))
        return total if self.bias is None else total + self.bias


def apply(model):
    """Divides `model` over the ranks, in place, and returns it; without a group, or alone, it stays as it is.

    model: a weft.models.CausalModel that from_pretrained made, which is loaded once more, this rank's part alone (better:
    from_pretrained(..., tensor_parallel=True)); or a weft.nn.Module of Llama's architecture with a `config`, as examples/gpt.py:
    layers named as Hugging Face or Meta name them, query, key and value in one (qkv_proj, wqkv) or apart, floating weights or
    int8 and int4 ones as buffers `weight`, `scales` and `group_size`, caches as buffers k_cache and v_cache [kv_heads, ...].

    ValueError with the numbers, where the heads do not divide, or groups of int4 weights would be cut. TypeError for another model.
    """
    if not weft.distributed.is_initialized() or functional.ranks("apply") == 1:
        return model
    if isinstance(model, weft.models.CausalModel):
        model._share()
        return model
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"tensor_parallel.apply: expected a weft.models.CausalModel or a weft.nn.Module, got {type(model).__name__}"
        )
    heads, kv_heads, head_dim = _sizes(model)
    rank, ranks = functional.rank("apply"), functional.ranks("apply")
    if heads % ranks or kv_heads % ranks:
        raise ValueError(
            f"tensor_parallel.apply: {ranks} ranks do not divide the model's {heads} heads and {kv_heads} key-value heads; the number of "
            "ranks must divide both"
        )
    found = 0
    for module in list(model.modules()):
        names = dict(module.named_children())
        if any(name in names for name in _OUT):
            _divide_attention(module, names, heads * head_dim, kv_heads * head_dim, rank, ranks)
            found += 1
        elif any(name in names for name in _DOWN):
            _divide_between(module, names, rank, ranks)
            found += 1
    if not found:
        raise TypeError("tensor_parallel.apply: the model has no layers named o_proj, down_proj, wo or w2")
    return model


def _sizes(model):
    config = getattr(model, "config", None)
    read = config.get if isinstance(config, dict) else lambda name: getattr(config, name, None)

    def first(*names):
        for name in names:
            if read(name) is not None:
                return read(name)
        raise TypeError(f"tensor_parallel.apply: the model's config has no {' or '.join(names)}")

    heads = first("num_heads", "num_attention_heads", "n_head", "n_heads")
    try:
        kv_heads = first("num_kv_heads", "num_key_value_heads", "n_local_heads", "n_kv_heads")
    except TypeError:
        kv_heads = heads
    head_dim = read("head_dim") or first("hidden_size", "dim") // heads
    return heads, kv_heads, head_dim


def _divide_attention(module, names, query, kv, rank, ranks):
    def part(size):
        return rank * (size // ranks), (rank + 1) * (size // ranks)

    query_rows, kv_rows = part(query), part(kv)
    for name, linear in names.items():
        if name in _FUSED:
            starts = ((query_rows, 0), (kv_rows, query), (kv_rows, query + kv))
            _keep_rows(linear, [(begin + start, end + start) for (begin, end), start in starts])
        elif name in _QUERY:
            _keep_rows(linear, [query_rows])
        elif name in _KEY_VALUE:
            _keep_rows(linear, [kv_rows])
        elif name in _OUT:
            _keep_columns(name, linear, *query_rows)
            setattr(module, name, Summed(linear))
    for name in ("k_cache", "v_cache"):
        cache = getattr(module, name, None)
        if cache is not None:
            size = cache.shape[0] // ranks
            setattr(module, name, cache[rank * size : (rank + 1) * size].clone())
    for name in (
        "num_heads",
        "num_attention_heads",
        "n_head",
        "n_heads",
        "num_kv_heads",
        "num_key_value_heads",
        "n_local_heads",
    ):
        if isinstance(getattr(module, name, None), int):
            setattr(module, name, getattr(module, name) // ranks)


def _divide_between(module, names, rank, ranks):
    down = next(names[name] for name in _DOWN if name in names)
    size = _inputs(down)
    unit = max(_UNIT, getattr(down, "group_size", 0) or 0)
    units = -(-size // unit)
    if units < ranks:
        raise ValueError(
            f"tensor_parallel.apply: {size} columns make {units} parts of {unit}, too few for {ranks} ranks"
        )
    begin, end = (min(size, unit * (units // ranks * r + min(r, units % ranks))) for r in (rank, rank + 1))
    for name, linear in names.items():
        if name in _BETWEEN:
            _keep_rows(linear, [(begin, end)])
        elif name in _DOWN:
            _keep_columns(name, linear, begin, end)
            setattr(module, name, Summed(linear))


def _inputs(linear):
    return linear.weight.shape[1] * (2 if getattr(linear, "group_size", 0) else 1)


def _set(linear, name, value):
    """The same kind of tensor as before, in memory of its own."""
    value = value.contiguous().clone()
    setattr(linear, name, nn.Parameter(value, requires_grad=False) if name in linear._parameters else value)


def _keep_rows(linear, ranges):
    def kept(tensor, dim):
        return weft.cat([tensor.narrow(dim, begin, end - begin) for begin, end in ranges], dim)

    _set(linear, "weight", kept(linear.weight, 0))
    if getattr(linear, "scales", None) is not None:
        _set(linear, "scales", kept(linear.scales, 1 if linear.group_size else 0))
    if getattr(linear, "bias", None) is not None:
        _set(linear, "bias", kept(linear.bias, 0))
    if hasattr(linear, "out_features"):
        linear.out_features = sum(end - begin for begin, end in ranges)


def _keep_columns(name, linear, begin, end):
    group = getattr(linear, "group_size", 0) or 0
    if group:
        if begin % 2 or (begin % group and begin // group != (end - 1) // group):
            raise ValueError(
                f"tensor_parallel.apply: {name}: a rank's inputs {begin} to {end - 1} begin within one group of {group} weights and end "
                "in another; take smaller groups, fewer ranks or int8"
            )
        first = begin // group
        _set(linear, "scales", linear.scales.narrow(0, first, -(-end // group) - first))
        begin, end = begin // 2, -(-end // 2)
    _set(linear, "weight", linear.weight.narrow(1, begin, end - begin))
    if hasattr(linear, "in_features"):
        linear.in_features = (end - begin) * (2 if group else 1)
