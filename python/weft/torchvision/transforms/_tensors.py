"""The functions of torchvision.transforms for tensors[*, C, H, W]."""

import weft
from weft.nn import functional as F


def largest(dtype):
    """The value that stands for full brightness."""
    return {
        weft.uint8: 255,
        weft.int8: 127,
        weft.int16: 32767,
        weft.int32: 2147483647,
        weft.int64: 9223372036854775807,
    }.get(dtype, 1)


def channels(img):
    return img.shape[-3] if img.ndim > 2 else 1


def _in_floats(img, function):
    """function(img[N, C, H, W]) computed in floating point, in the image's dtype and leading dimensions again."""
    dtype, leading = img.dtype, img.shape[:-3]
    x = img.reshape((-1, *([1] * max(0, 3 - img.ndim)), *img.shape[-3:]))
    result = function(x if x.is_floating_point() else x.to(weft.float32))
    if not img.is_floating_point():
        result = result.round()
    result = result.to(dtype)
    return (
        result.reshape((*leading, *result.shape[-3:])) if img.ndim > 2 else result.reshape(result.shape[-2:])
    )


def resize(img, size, mode, antialias, of_bytes=False):
    """of_bytes: bytes are resized as F.interpolate resizes them, not by way of floating point."""
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(f"resize: tensors have no interpolation {mode!r}")
    smooth = mode in ("bilinear", "bicubic")
    top = largest(img.dtype)

    def resized(x):
        options = {"align_corners": False, "antialias": bool(antialias)} if smooth else {}
        result = F.interpolate(x, size=list(size), mode=mode, **options)
        return weft.clamp(result, min=0, max=top) if mode == "bicubic" and img.dtype == weft.uint8 else result

    if of_bytes and smooth and img.dtype == weft.uint8:
        result = resized(img.reshape((-1, *img.shape[-3:])))
        return result.reshape((*img.shape[:-2], *result.shape[-2:]))
    return _in_floats(img, resized)


def pad(img, left, top, right, bottom, fill, mode):
    if mode == "constant":
        return F.pad(img, [left, right, top, bottom], "constant", float(fill))
    if mode == "symmetric":
        places = []
        for size, before, after in ((img.shape[-2], top, bottom), (img.shape[-1], left, right)):
            places.append([*range(before - 1, -1, -1), *range(size), *range(size - 1, size - 1 - after, -1)])
        rows, columns = (weft.asarray(each) for each in places)
        return img.index_select(img.ndim - 2, rows).index_select(img.ndim - 1, columns)
    padded = _in_floats(
        img, lambda x: F.pad(x, [left, right, top, bottom], {"edge": "replicate"}.get(mode, mode))
    )
    return padded


def crop(img, top, left, height, width):
    rows, columns = img.shape[-2:]
    right, bottom = left + width, top + height
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if left >= 0 and top >= 0 and right <= columns and bottom <= rows:
        return inside
    border = [max(min(right, 0) - left, 0), max(right - max(columns, left), 0), max(min(bottom, 0) - top, 0),
              max(bottom - max(rows, top), 0)]  # fmt: skip
    return F.pad(inside, border)


# ---- colours -------------------------------------------------------------------------------------------------
def grayscale(img, count=1):
    if count not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if channels(img) == 3:
        r, g, b = img.unbind(-3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    return img.expand(*img.shape[:-3], 3, *img.shape[-2:]) if count == 3 else img


def blend(first, second, ratio):
    mixed = weft.clamp(ratio * first + (1.0 - ratio) * second, min=0, max=largest(first.dtype))
    return mixed.to(first.dtype)


def mean_of_gray(img):
    gray = grayscale(img) if channels(img) == 3 else img
    dtype = gray.dtype if gray.is_floating_point() else weft.float32
    return gray.to(dtype).mean([-3, -2, -1], keepdim=True)


def adjust_hue(img, factor):
    if channels(img) == 1:
        return img
    dtype = img.dtype
    x = convert(img, weft.float32)
    r, g, b = x.unbind(-3)
    top, low = weft.amax(x, -3), weft.amin(x, -3)
    spread = top - low
    same = top == low
    ones = weft.ones_like(top)
    s = spread / weft.where(same, ones, top)
    by = weft.where(same, ones, spread)
    rc, gc, bc = (top - r) / by, (top - g) / by, (top - b) / by
    hr = (top == r) * (bc - gc)
    hg = ((top == g) & (top != r)) * (2.0 + rc - bc)
    hb = ((top != g) & (top != r)) * (4.0 + gc - rc)
    h = weft.fmod((hr + hg + hb) / 6.0 + 1.0, 1.0)
    h = weft.remainder(h + factor, 1.0)
    sector = weft.floor(h * 6.0)
    f = h * 6.0 - sector
    p = weft.clamp(top * (1.0 - s), min=0.0, max=1.0)
    q = weft.clamp(top * (1.0 - s * f), min=0.0, max=1.0)
    t = weft.clamp(top * (1.0 - s * (1.0 - f)), min=0.0, max=1.0)
    sector = weft.remainder(sector.to(weft.int32), 6)
    result = []
    for choices in ((top, q, p, p, t, top), (t, top, top, q, p, p), (p, p, t, top, top, q)):
        value = choices[5]
        for i in range(5):
            value = weft.where(sector == i, choices[i], value)
        result.append(value)
    return convert(weft.stack(result, -3), dtype)


def adjust_gamma(img, gamma, gain):
    dtype = img.dtype
    x = img if img.is_floating_point() else convert(img, weft.float32)
    return convert(weft.clamp(gain * x**gamma, min=0, max=1), dtype)


def adjust_sharpness(img, factor):
    if img.shape[-1] <= 2 or img.shape[-2] <= 2:
        return img

    def blurred(x):
        kernel = weft.ones((3, 3), dtype=x.dtype)
        kernel[1, 1] = 5.0
        kernel = (kernel / kernel.sum()).expand(x.shape[-3], 1, 3, 3)
        inner = F.conv2d(x, kernel, groups=x.shape[-3])
        result = x.clone()
        result[..., 1:-1, 1:-1] = inner
        return result

    return blend(img, _in_floats(img, blurred), factor)


def autocontrast(img):
    top = largest(img.dtype)
    dtype = img.dtype if img.is_floating_point() else weft.float32
    low = weft.amin(img, [-2, -1], True).to(dtype)
    high = weft.amax(img, [-2, -1], True).to(dtype)
    flat = high == low
    low = weft.where(flat, weft.zeros_like(low), low)
    scale = weft.where(flat, weft.ones_like(low), top / weft.where(flat, weft.ones_like(low), high - low))
    return weft.clamp((img - low) * scale, min=0, max=top).to(img.dtype)


def _equalized(channel):
    """One channel, uint8[H, W]."""
    counts = weft.bincount(channel.reshape((-1,)).to(weft.int64), minlength=256)
    present = counts[counts != 0]
    step = int(present[:-1].sum()) // 255
    if step == 0:
        return channel
    table = weft.clamp((weft.cumsum(counts, 0) + step // 2) // step, min=0, max=255)
    table = weft.cat([weft.zeros((1,), dtype=weft.int64), table[:-1]])
    return table[channel.to(weft.int64)].to(weft.uint8)


def equalize(img):
    if img.dtype != weft.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    planes = img.reshape((-1, *img.shape[-2:]))
    return weft.stack([_equalized(plane) for plane in planes.unbind(0)]).reshape(img.shape)


def gaussian_blur(img, kernel_size, sigma):
    def weights(size, deviation, dtype):
        half = (size - 1) * 0.5
        x = weft.linspace(-half, half, size).to(dtype)
        each = weft.exp(-0.5 * (x / deviation) ** 2)
        return each / each.sum()

    def blurred(x):
        (kx, ky), (sx, sy) = kernel_size, sigma
        kernel = weights(ky, sy, x.dtype).unsqueeze(1) * weights(kx, sx, x.dtype).unsqueeze(0)
        padded = F.pad(x, [kx // 2, kx // 2, ky // 2, ky // 2], "reflect")
        return F.conv2d(padded, kernel.expand(x.shape[-3], 1, ky, kx), groups=x.shape[-3])

    return _in_floats(img, blurred)


def convert(img, dtype):
    """The image in another dtype, values scaled so that the brightest stays so."""
    if img.dtype == dtype:
        return img
    is_floating = weft.empty((0,), dtype=dtype).is_floating_point()
    if img.is_floating_point():
        if is_floating:
            return img.to(dtype)
        if (img.dtype == weft.float32 and dtype in (weft.int32, weft.int64)) or (
            img.dtype == weft.float64 and dtype == weft.int64
        ):
            raise RuntimeError(f"The cast from {img.dtype} to {dtype} cannot be performed safely.")
        return (img * (float(largest(dtype)) + 1.0 - 1e-3)).to(dtype)
    top, own = largest(dtype), largest(img.dtype)
    if is_floating:
        return img.to(dtype) / own
    if own > top:
        return (img // ((own + 1) // (top + 1))).to(dtype)
    return img.to(dtype) * ((top + 1) // (own + 1))


# ---- places --------------------------------------------------------------------------------------------------
def sample(img, grid, mode, fill):
    """The image at the positions grid[1, H, W, 2]; `fill` outside."""

    def sampled(x):
        points = grid.to(x.dtype).expand(x.shape[0], *grid.shape[1:])
        if fill is not None:
            x = weft.cat([x, weft.ones((x.shape[0], 1, *x.shape[-2:]), dtype=x.dtype)], 1)
        result = F.grid_sample(x, points, mode, "zeros", False)
        if fill is None:
            return result
        result, mask = result[:, :-1], result[:, -1:]
        values = [float(each) for each in (fill if isinstance(fill, (tuple, list)) else [fill])]
        around = weft.asarray(values).to(result.dtype).reshape((1, -1, 1, 1)).expand(*result.shape)
        if mode == "nearest":
            return weft.where(mask < 0.5, around, result)
        return result * mask + (1.0 - mask) * around

    return _in_floats(img, sampled)


def affine_grid(matrix, width, height, out_width, out_height):
    """Positions of a result's pixels in an image, by the inverse matrix of six numbers, both about their centres."""
    x = weft.linspace(-out_width * 0.5 + 0.5, out_width * 0.5 - 0.5, out_width)
    y = weft.linspace(-out_height * 0.5 + 0.5, out_height * 0.5 - 0.5, out_height).unsqueeze(1)
    a, b, c, d, e, f = matrix
    at_x = (a * x + b * y + c) / (0.5 * width)
    at_y = (d * x + e * y + f) / (0.5 * height)
    return weft.stack((at_x, at_y), -1).unsqueeze(0)


def perspective_grid(coefficients, width, height):
    """The same for a perspective of eight numbers, in pixels."""
    a, b, c, d, e, f, g, h = coefficients
    x = weft.linspace(0.5, width - 0.5, width)
    y = weft.linspace(0.5, height - 0.5, height).unsqueeze(1)
    below = g * x + h * y + 1.0
    at_x = (a * x + b * y + c) / below / (0.5 * width) - 1.0
    at_y = (d * x + e * y + f) / below / (0.5 * height) - 1.0
    return weft.stack((at_x, at_y), -1).unsqueeze(0)


def displaced_grid(displacement, height, width):
    """Every pixel's own position, and displacement[1, H, W, 2]."""
    y, x = (weft.linspace((1 - size) / size, (size - 1) / size, size) for size in (height, width))
    own = weft.stack((x.expand(height, width), y.unsqueeze(1).expand(height, width)), -1)
    return own.unsqueeze(0) + displacement


def rotated_size(matrix, width, height):
    """(width, height) of the smallest image that the rotated one fits in."""
    # In float32, whose rounding takes away what trigonometric functions add to whole numbers.
    corners = weft.asarray([[sx * 0.5 * width, sy * 0.5 * height, 1.0] for sx in (-1, 1) for sy in (-1, 1)])
    rows = weft.asarray([[float(each) for each in matrix[:3]], [float(each) for each in matrix[3:]]])
    points = weft.matmul(corners.to(weft.float32), rows.to(weft.float32).transpose(0, 1))
    half = weft.asarray([width * 0.5, height * 0.5]).to(weft.float32)
    low, high = (
        weft.trunc((each + half) / 1e-4) * 1e-4 for each in (weft.amin(points, 0), weft.amax(points, 0))
    )
    return [int(size) for size in (weft.ceil(high) - weft.floor(low)).tolist()]
