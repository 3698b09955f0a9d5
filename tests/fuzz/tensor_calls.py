"""Expressions and statements of the fuzzed tensor programs, by what they do to exactness.

{x}: a tensor, {f}: of floating-point numbers, {i}: of integers, {b}: of bools, {v}: of one dimension, {w}: of two or more,
{s}: of none; {c}: a number, {n}: a small integer, symbolic ones included, {d}: a dimension; T: weft, or weft.torch.
"""


def entries(text):
    return [
        entry.strip() for line in text.strip().split("\n") for entry in line.split(" | ") if entry.strip()
    ]


# Exact for numbers of few bits, whatever the order of sums.
EXACT = entries("""
{x} + {x} | {x} - {x} | {x} * {x} | {x} + {c} | {x} * {c} | {c} - {x} | {c} * {x} | -{x} | {x}.abs() | {f}.relu() | {x}.square() | F.relu({f}) | T.add({x}, {x}, alpha=2)
T.maximum({x}, {x}) | T.minimum({x}, {x}) | {x}.clamp(-2, 3) | {x}.clamp(min={c}) | {x}.clamp(max={c}) | F.relu6({f}) | F.hardtanh({f}) | T.where({x} > {c}, {x}, {x}) | T.where({b}, {x}, {x})
T.where({x} > 0, {x}, {c}) | {x}.sign() | {f}.floor() | {f}.ceil() | {f}.round() | {f}.trunc() | {x} // 2 | {x} % 3 | {i} // 2 | {i} % 3 | {i} & {i} | {i} | 1 | ~{i} | {i} << 1 | {b} & {b} | {b} ^ {b} | ~{b}
{x} > {x} | {x} == {x} | {x} != {c} | {x} <= {c} | T.isnan({f}) | T.logical_and({x}, {x}) | T.logical_not({x}) | T.isfinite({f}) | {x}.eq({x}) | {x}.gt(0)
{x}.t() | {w}.t() | {x}.transpose({d}, {d}) | {w}.transpose(0, 1) | {w}.mT | {x}.T | {x}.movedim(0, -1) | {x}.permute(*range({x}.ndim - 1, -1, -1)) | {x}.swapaxes(0, -1) | T.transpose({w}, -1, 0)
{x}.unsqueeze({d}) | {x}.squeeze() | {x}.squeeze({d}) | {x}.flatten() | {x}.reshape(-1) | {x}.view(-1) | {x}.ravel() | {x}.reshape({x}.shape) | {x}.view({x}.shape) | {x}.reshape(-1, 2) | {x}.view(2, -1)
{x}.reshape({x}.shape[0], -1) | {x}.view(*{x}.shape, 1) | {x}.flatten(0, 1) | {x}.unflatten(0, (1, -1)) | {w}.reshape({w}.shape[1], {w}.shape[0]) | {x}.reshape({x}.numel()) | {x}.view_as({x}) | {x}.reshape_as({x})
{x}[0] | {x}[-1] | {x}[1:] | {x}[:-1] | {x}[::2] | {x}[..., 0] | {x}[..., -1:] | {x}[None] | {x}[:, None] | {w}[:, 1:3] | {w}[:, {n}] | {x}[{n}:] | {x}[: {n}] | {x}[{n}] | {x}[-{n}:] | {w}[0, 1] | {x}[...] | {x}[()]
{x}[{i}] | {x}[{b}] | {x}[[0, 0]] | {x}[[0, -1]] | {w}[:, [1, 0]] | {w}[[0], [1]] | {x}[{x} > 0] | {x}[T.arange(1)] | {x}[T.tensor(0)] | {w}[{n}, {n}] | {x}[{x}.shape[0] - 1] | {x}[len({x}) // 2 :]
{x}.select({d}, 0) | {x}.narrow({d}, 0, 1) | {x}.narrow(0, {n}, 1) | {x}.unbind(0)[0] | {x}.chunk(2)[0] | {x}.chunk(2, {d})[-1] | {x}.split({n})[0] | {x}.split(1, {d})[-1] | {x}.tensor_split(2)[0] | {x}.unfold(0, 1, 1) | {w}.diagonal()
{x}.expand(2, *{x}.shape) | {x}.expand_as({x}) | {s}.expand({n}) | {x}.repeat(2, *[1] * ({x}.ndim - 1)) | {x}.tile(2) | {v}.repeat(2, 1) | {x}.repeat_interleave(2, 0) | T.broadcast_to({x}, (2, *{x}.shape)) | {x}.broadcast_to({x}.shape)
{x}.flip(0) | {x}.flip({d}) | {x}.roll(1, 0) | {x}.roll({n}) | {w}.tril() | {w}.triu(1) | {w}.rot90() | {x}.clone() | {x}.contiguous() | {x}.detach() | {x}.clone().t() | {x}.data | {x}.detach().clone()
{x}.to(T.float64) | {x}.float() | {x}.double() | {x}.long() | {x}.int() | {x}.bool() | {x}.to({x}.dtype) | {x}.to({x}) | {x}.type_as({x}) | {f}.bfloat16() | {f}.half() | {x}.to(T.int8) | {b}.to(T.uint8) | {x}.to(T.float32, copy=True) | {x}.to("cpu")
{x}.sum() | {x}.sum({d}) | {x}.sum({d}, keepdim=True) | {x}.sum(-1) | {x}.sum(dtype=T.float64) | {w}.sum((0, 1)) | {x}.amax({d}) | {x}.amin({d}, keepdim=True) | {x}.max() | {x}.min() | {x}.max({d})[0] | {x}.min({d}).values | {x}.any() | {x}.all({d})
{x}.argmax() | {x}.argmin({d}) | {x}.max({d})[1] | {x}.count_nonzero() | {x}.cumsum({d}) | {i}.sign().prod() | T.sum({x}) | T.amax({x}, ({d},)) | sum({x}) | max({v}) | {x}.sort({d})[0] | {x}.sort({d}, descending=True)[1] | {x}.argsort({d}) | {x}.topk(1)[0] | {x}.cummax({d})[0] | {x}.diff()
{x} @ {x} | {w} @ {w}.mT | T.matmul({x}, {x}) | {w}.mm({w}.t()) | {v} @ {v} | T.einsum("ij,ik->jk", {w}, {w}) | F.linear({f}, {w}) | {v}.outer({v}) | T.bmm({x}, {x}) | T.einsum("i,j->ij", {v}, {v}) | {w} @ {v} | T.addmm({v}, {w}, {w}.t())
T.cat([{x}, {x}]) | T.cat([{x}, {x}], {d}) | T.cat(({x}[1:], {x}[:1])) | T.stack([{x}, {x}]) | T.stack(({x}, {x}), {d}) | T.stack([{x}.sum(), {x}.max()]) | T.stack(list({x})) | T.cat([{x}] * 2, -1) | T.hstack([{x}, {x}]) | T.vstack(({x}, {x})) | T.cat([y * 2 for y in {x}.unbind(0)])
{x}.masked_fill({b}, {c}) | {x}.masked_fill({x} > {c}, {c}) | {x}.gather(0, {x}.argsort(0)) | {x}.index_select(0, {i}) | {x}.index_select({d}, T.tensor([0])) | {x}.take_along_dim({x}.argsort(-1), -1) | {x}.masked_select({x} > 0) | {x}.nonzero() | {x}.unique() | {x}.index_fill(0, T.tensor([0]), 2)
{x}.scatter(0, T.zeros_like({x}, dtype=T.int64), {c}) | {x}.index_add(0, T.tensor([0]), {x}[:1]) | {x}.scatter_add(0, T.zeros_like({x}, dtype=T.int64), {x}) | F.one_hot({i}.clamp(0, 3), 4) | F.embedding({i}.clamp(0, 1), {w}) | T.bincount({v}.long().abs())
T.arange({n}) | T.arange({n}, {n} + 3) | T.zeros({n}) | T.ones({x}.shape) | T.zeros({x}.shape[0], {n}) | T.ones_like({x}) | T.zeros_like({x}) | T.full_like({x}, {c}) | {x}.new_zeros({n}) | {x}.new_ones({x}.shape) | {x}.new_full((2,), {c}) | T.full(({n},), {c}) | T.full({x}.shape, 2) | T.eye({n} + 1) | T.empty({n}).fill_(1)
T.tensor({c}) | T.tensor([1.0, {c}]) | T.tensor([[1, 2], [3, {n}]]) | T.tensor({x}.shape) | T.tensor([{n}, 0]) | T.as_tensor({c}) | T.as_tensor({x}) | T.arange(0, 4, 2) | T.linspace(0, 4, 5) | T.tril(T.ones({n}, {n})) | T.zeros(0) | T.zeros(2, 0) | T.ones(1, 1) | T.arange({x}.shape[0])
F.pad({x}, (1, 1)) | F.pad({w}, (0, 1, 1, 0), value=2) | {x} + {x}.shape[0] | {x} * len({x}) | {x} + {x}.ndim | {x} - {x}.numel() | {x} * {x}.size(-1) | {x} + int({x}.shape == {x}.shape) | {x} * (1 if {x}.dtype == T.float32 else 2) | {x} + ({x}.stride()[{x}.shape.index(max({x}.shape))] if {x}.numel() > 1 else 0) | {x} + {x}.element_size()
{x} * {s} | {x} + {s}.item() | {x} + int({n}) | {x} * bool({n}) | {x}.sum().item() + {x} | {x} + float({c}) | {x} + len(str({n})) | {x} * {x}.is_contiguous() | {x} + ({x} is {x}) | {x} + {x}.sum().clamp(0, 3).int().item() | {x} + len({x}.sum().tolist() if {x}.ndim > 5 else [1])
T.addcmul({x}, {x}, {x}) | T.lerp({f}, {f}, 0.5) | {x}.sub({x}, alpha=2) | T.clamp({x}, {x}.amin(), {c}) | {x}.neg().neg() | {x}.abs().sum(-1, keepdim=True) + {x} | {x} / 2 | {x} * 0.5 | {f}.true_divide(4) | {x}.logical_or({x}) | T.heaviside({f}, T.ones(())) | {f}.ldexp(T.tensor(1)) | T.outer({v}, {v})
{x}.real | {x}.resolve_conj() | T.complex({f}, {f}).real | T.meshgrid({v}, {v}, indexing="ij")[0] | T.block_diag({w}, {w}) | T.combinations({v}) | T.cartesian_prod({v}, {v}) | {w}.fliplr() | T.tensordot({w}, {w}, ([0], [0])) | {x}.trace() | T.diag({v}) | T.diag_embed({v}) | {x}.pow(2) | {x} ** 2 | F.max_pool1d({x}[None], 1) | F.threshold({f}, 0, 1)
""".replace("{i} | 1", "{i}.bitwise_or(1)"))  # fmt: skip

# Rounded: what follows is compared within a tolerance in compiled code, and decides nothing.
ROUNDED = entries("""
{f}.exp().clamp(max=4.0) | {f}.sigmoid() | {f}.tanh() | {f}.sin() | {f} / ({f}.abs() + 1) | {f}.softmax(-1) | F.softmax({f}, {d}) | {f}.log_softmax(-1) | F.gelu({f}) | F.silu({f}) | {f}.mean() | {f}.mean({d}) | {f}.mean(-1, keepdim=True)
{f}.var({d}, unbiased=False) | {f}.std(unbiased=False) | {f}.norm() | {f}.logsumexp({d}) | F.layer_norm({f}, {f}.shape[-1:]) | F.softplus({f}) | {f}.abs().sqrt() | (1 + {f}.abs()).log() | T.rsqrt({f}.abs() + 1) | F.normalize({f}, dim=-1, eps=0.5) | F.elu({f}) | {f}.erf() | F.leaky_relu({f}, 0.1)
{f} * 0.3 | {f} / 3 | {f}.cos() + {f} | T.atan2({f}, {f}.abs() + 1) | F.scaled_dot_product_attention({w}[None], {w}[None], {w}[None]) | T.baddbmm({x}, {x}, {x}) | F.mse_loss({f}, {f}) | F.cosine_similarity({f}, {f}, eps=0.5) | F.rms_norm({f}, {f}.shape[-1:]) | F.hardswish({f}) | F.mish({f}) | {f}.cumsum({d}) / 8
""")

# Nothing that a rounded number would change by a step.
DECIDING = (
    " > ", " < ", " <= ", " == ", " != ", "sign()", "floor", "ceil", "round", "trunc", "//", "%", ".long()", ".int()", "int8", "uint8", ".bool()", "arg", "sort", "topk",
    "nonzero", "unique", ".eq(", ".gt(", "isnan", "logical", "any(", "all(", "[1]", "heaviside", "count_", "one_hot", "threshold", "max({v})", "bfloat16", "half", "{i}", "{b}", "cummax", ".bitwise",
)  # fmt: skip

# Of NaN and infinities, which C leaves open.
CONVERTING = (".long()", ".int()", "int8", "{i}", "one_hot", "int64", "bincount")

IN_PLACE = entries("""
{x}.add_({x}) | {x}.add_({c}) | {x} += {c} | {x} += {x} | {x} -= {x} | {x} *= 2 | {x}.mul_({c}) | {x}.sub_({x}, alpha=2) | {x}[0] = {x}[-1] | {x}[0] = {c} | {x}[..., 0] = {c} | {x}[{b}] = {c} | {x}[{x} > 1] = 0 | {x}[1:] = {x}[:-1] | {x}[...] = {x} | {x}[:] = {c} | {x}[::2] = {x}[0]
{x}[{n}] = {c} | {x}[: {n}] += 1 | {x}[{i}] = {c} | {x}[[0]] = 2 | {x}[0] += {x}[-1] | {x}[..., -1] *= 2 | {w}[:, 1:3].add_(1) | {x}.zero_() | {x}.fill_({c}) | {x}.copy_({x}) | {x}.clamp_(min=-2) | {x}.neg_() | {x}.abs_() | {x}.relu_() | {x}.masked_fill_({x} > 1, {c}) | {x}.t()[0] *= 2 | {x}.t().add_({x}.t())
{x}.view(-1)[1:].sub_(1) | {x}.view(-1)[::2] = 1 | {x}.flatten()[0] = 5 | {x}.reshape(-1)[0] = 5 | {x}.transpose(0, -1)[0].add_(1) | {x}.unsqueeze(0)[0, 0] = 2 | {x}[None].mul_(2) | {x}.detach().add_(1) | {x}.data.mul_(2) | {x}.diagonal().fill_(1) | {x}.unbind(0)[-1].add_(2) | {x}.chunk(2)[0].zero_() | {x}.narrow(0, 0, 1).fill_(3)
T.add({x}, {x}, out={x}) | T.mul({x}, 2, out={x}) | T.cat([{x}, {x}], out={x}) | T.sum({x}, out={x}) | T.matmul({x}, {x}, out={x}) | {x}.index_add_(0, T.tensor([0]), {x}[:1]) | {x}.index_copy_(0, T.tensor([0]), {x}[-1:]) | {x}.scatter_(0, T.zeros_like({x}, dtype=T.int64), {c}) | {x}.index_fill_(0, T.tensor([0]), 3) | {x}.index_put_((T.tensor([0]),), {x}[-1])
{x}.numpy()[...] = 1 | {x}.numpy()[0] += 1 | {x}.unsqueeze_(0) | {x}.squeeze_() | {x}.t_() | {x}.transpose_(0, -1) | {x}.resize_({n}, 2).fill_({c}) | {x}.set_({x}) | {x}.addcmul_({x}, {x}) | {x}.lerp_({x}, 0.5) | {x}.floor_() | {x}.clamp_({c}, 3) | {x}.bitwise_xor_({x}) | {x} //= 2 | {x} **= 2 | {x} &= {x} | {x}.logical_not_() | {x}.tril_() | {x}.expand(2, *{x}.shape).add_(1)
{x}[0], {x}[-1] = {x}[-1], {x}[0] | {x}[0].add_({x}[-1]).mul_(2) | {x}.copy_({x}.flip(0)) | {x}[1:].copy_({x}[:-1]) | {x}[1:].add_({x}[:-1]) | {x}.add_({x}.sum()) | {x}.sub_({x}.sum(0)) | {x}.add_({x}.t()) | {x}.cumsum_(0) | {x}.data = {x} + 1 | {x}.data = {x}[:1] | {x}.requires_grad_(False) | {x}.swapaxes_(0, 1) | {x}.as_strided_((1,), (1,)) | {x}[{x}.argmax()] = 1
""")  # fmt: skip

RANDOM = entries("""
T.rand({n}, 2) | T.randn({x}.shape) | T.rand_like({f}) | T.randn_like({f}) | T.randint(0, 5, ({n},)) | T.randperm({n} + 1) | T.bernoulli(T.full({x}.shape, 0.5)) | T.normal(0.0, 1.0, (2,)) | T.rand(2, generator=GENERATOR) | T.randn({n}, generator=GENERATOR) | T.randint(3, (2, 2), generator=GENERATOR)
F.dropout({f}, 0.5) | F.dropout({f}, 0.5, training=flag) | T.multinomial(T.ones(4), 2) | {f}.clone().uniform_() | {f}.clone().normal_(generator=GENERATOR) | {x} * F.dropout(T.ones({x}.shape)) | T.empty({n}).uniform_(-1, 1) | {f}.bernoulli_(0.5) | {x}[T.randperm({x}.shape[0])] | T.rand(()) * {x} | T.empty(2).exponential_()
T.poisson(T.ones(3)) | F.feature_dropout({w}, 0.5) | F.alpha_dropout({f}, 0.5, True) | T.randint_like({x}, 0, 3) | {f}.clone().random_(0, 4) | T.randn(2, dtype=T.float64) | nn.Dropout(0.5)({f}) | T.rand(0)
""")  # fmt: skip
