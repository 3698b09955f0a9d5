"""Pooling and its inverse, patches, sampling."""

from .._trace_registry import OPERATORS, operator_rule, repeated
from .._tracer import aten


# ---- pooling, patches ----------------------------------------------------------------------------------------
def _adaptive_max_pool(rank):
    def with_indices(input, output_size):
        return aten[f"adaptive_max_pool{rank}d"](input, repeated(output_size, rank))

    OPERATORS[f"adaptive_max_pool{rank}d_with_indices"] = with_indices
    OPERATORS[f"adaptive_max_pool{rank}d"] = lambda input, output_size: with_indices(input, output_size)[0]


for _rank in (1, 2, 3):
    _adaptive_max_pool(_rank)


def _lp_pool(rank):
    def rule(input, norm_type, kernel_size, stride, ceil_mode):
        kernel = repeated(kernel_size, rank)
        stride = kernel if stride is None else repeated(stride, rank)
        mean = aten[f"avg_pool{rank}d"](aten.pow(input, norm_type), kernel, stride, [0] * rank, ceil_mode)
        count = 1
        for size in kernel:
            count *= size
        powers = aten.mul(aten.relu(aten.abs(mean)), aten.sign(mean))
        return aten.pow(aten.mul(powers, count), 1 / norm_type)

    OPERATORS[f"lp_pool{rank}d"] = rule


for _rank in (1, 2, 3):
    _lp_pool(_rank)


def _unpooling(rank, input, kernel_size, stride, padding, output_size):
    """The sizes that a pooling had before it, its steps and its padding."""
    kernel, pad = repeated(kernel_size, rank), repeated(padding, rank)
    step = repeated(stride or kernel_size, rank)
    if output_size:
        return list(output_size)[-rank:], step, pad
    sizes = input.shape[-rank:]
    return [(n - 1) * s - 2 * p + k for n, k, s, p in zip(sizes, kernel, step, pad)], step, pad


@operator_rule()
def max_unpool1d(input, indices, kernel_size, stride, padding, output_size):
    (length,), _, _ = _unpooling(1, input, kernel_size, stride, padding, output_size)
    return aten.squeeze(
        aten.max_unpool2d(aten.unsqueeze(input, -1), aten.unsqueeze(indices, -1), [length, 1]), -1
    )


@operator_rule()
def max_unpool2d(input, indices, kernel_size, stride, padding, output_size):
    sizes, _, _ = _unpooling(2, input, kernel_size, stride, padding, output_size)
    return aten.max_unpool2d(input, indices, sizes)


@operator_rule()
def max_unpool3d(input, indices, kernel_size, stride, padding, output_size):
    sizes, step, pad = _unpooling(3, input, kernel_size, stride, padding, output_size)
    return aten.max_unpool3d(input, indices, sizes, step, pad)


@operator_rule()
def im2col(input, kernel_size, dilation, padding, stride):
    return aten.im2col(input, *(repeated(each, 2) for each in (kernel_size, dilation, padding, stride)))


@operator_rule()
def col2im(input, output_size, kernel_size, dilation, padding, stride):
    return aten.col2im(
        input, *(repeated(each, 2) for each in (output_size, kernel_size, dilation, padding, stride))
    )


# ---- sampling ------------------------------------------------------------------------------------------------
@operator_rule()
def grid_sample(input, grid, mode, padding_mode, align_corners):
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    return aten.grid_sampler(input, grid, modes[mode], paddings[padding_mode], bool(align_corners))


@operator_rule()
def affine_grid(theta, size, align_corners):
    return aten.affine_grid_generator(theta, size, align_corners)


_LINEAR = {
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "bicubic": "upsample_bicubic2d",
    "trilinear": "upsample_trilinear3d",
}


@operator_rule()
def interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    rank = input.ndim - 2
    sizes = None if size is None else repeated(size, rank)
    factors = None if scale_factor is None else [float(scale_factor)] * rank
    if recompute_scale_factor and factors is not None:
        sizes, factors = [int(length * factor) for length, factor in zip(input.shape[2:], factors)], None
    if mode == "area":
        if sizes is None:
            sizes = [int(length * factor) for length, factor in zip(input.shape[2:], factors)]
        return aten[f"adaptive_avg_pool{rank}d"](input, sizes)
    return _upsample(input, sizes, mode, bool(align_corners), factors, antialias)


@operator_rule()
def upsample(input, size, mode, align_corners, scale_depth, scale_height, scale_width, antialias):
    factors = [scale_depth, scale_height, scale_width][3 - (input.ndim - 2) :]
    if any(factor is None for factor in factors):
        return _upsample(input, size, mode, align_corners, None, antialias)
    return _upsample(input, None, mode, align_corners, factors, antialias)


def _upsample(input, size, mode, align_corners, factors, antialias):
    rank = input.ndim - 2
    if mode == "nearest":
        return aten[f"upsample_nearest{rank}d.vec"](input, size, factors)
    if mode == "nearest-exact":
        return aten[f"_upsample_nearest_exact{rank}d.vec"](input, size, factors)
    if antialias:
        return aten[f"_upsample_{mode}2d_aa.vec"](input, size, align_corners, factors)
    return aten[_LINEAR[mode] + ".vec"](input, size, align_corners, factors)
