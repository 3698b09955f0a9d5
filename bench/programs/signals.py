"""Signals and images: filters, spectra, edges, histograms, wavelets."""

import numpy as np

from .registry import peer, prange, program


def filter_inputs(rng, n, taps):
    return rng.standard_normal(n), rng.standard_normal(taps)


@program(filter_inputs, size={"n": 400_000, "taps": 32}, small={"n": 40, "taps": 5}, rtol=1e-12)
def fir_convolve(signal, taps):
    return np.convolve(signal, taps, mode="valid")


@program(filter_inputs, size={"n": 200_000, "taps": 16}, small={"n": 40, "taps": 5}, rtol=1e-12, loops=True)
def fir_by_shifts(signal, taps):
    length = signal.size - taps.size + 1
    result = np.zeros(length)
    for k in range(taps.size):
        result += taps[k] * signal[k : k + length]
    return result


@peer("numba", fir_by_shifts)
def fir_by_shifts_numba(signal, taps):
    length = signal.size - taps.size + 1
    result = np.empty(length)
    for i in prange(length):
        total = 0.0
        for k in range(taps.size):
            total += taps[k] * signal[i + k]
        result[i] = total
    return result


@program(filter_inputs, size={"n": 100_000, "taps": 2}, small={"n": 40, "taps": 2}, loops=True)
def iir_biquad(signal, taps):
    result = np.empty_like(signal)
    before, earlier = 0.0, 0.0
    for i in range(signal.size):
        value = signal[i] + 0.6 * before - 0.2 * earlier
        earlier, before = before, value
        result[i] = value
    return result


@program(lambda rng, n: (rng.standard_normal(n), 0.1), size={"n": 100_000}, small={"n": 30}, loops=True)
def exponential_smoothing(signal, weight):
    result = np.empty_like(signal)
    level = signal[0]
    for i in range(signal.size):
        level = weight * signal[i] + (1.0 - weight) * level
        result[i] = level
    return result


@program(
    lambda rng, n, width: (rng.standard_normal(n), width),
    size={"n": 1_000_000, "width": 50},
    small={"n": 40, "width": 5},
    rtol=1e-9,
)
def moving_average(signal, width):
    sums = np.cumsum(signal)
    return (sums[width:] - sums[:-width]) / width


@program(
    lambda rng, frames, n: (rng.standard_normal((frames, n)),),
    size={"frames": 500, "n": 1024},
    small={"frames": 3, "n": 16},
    rtol=1e-12,
)
def power_spectrum(frames):
    window = np.hanning(frames.shape[1])
    return np.abs(np.fft.rfft(frames * window, axis=1)) ** 2


@program(
    lambda rng, n: (rng.standard_normal(n), np.exp(-(np.linspace(-3, 3, n) ** 2))),
    size={"n": 262_144},
    small={"n": 32},
    rtol=1e-12,
)
def fft_convolution(signal, kernel):
    return np.fft.irfft(np.fft.rfft(signal) * np.fft.rfft(kernel), signal.size)


@program(lambda rng, n, m: (rng.random((n, m)),), size={"n": 1200, "m": 1200}, small={"n": 8, "m": 9})
def sobel_edges(image):
    gx = (
        image[:-2, 2:]
        - image[:-2, :-2]
        + 2 * (image[1:-1, 2:] - image[1:-1, :-2])
        + image[2:, 2:]
        - image[2:, :-2]
    )
    gy = (
        image[2:, :-2]
        - image[:-2, :-2]
        + 2 * (image[2:, 1:-1] - image[:-2, 1:-1])
        + image[2:, 2:]
        - image[:-2, 2:]
    )
    return np.sqrt(gx * gx + gy * gy)


@peer("numba", sobel_edges)
def sobel_edges_numba(image):
    n, m = image.shape
    result = np.empty((n - 2, m - 2))
    for i in prange(n - 2):
        for j in range(m - 2):
            gx = (
                image[i, j + 2]
                - image[i, j]
                + 2 * (image[i + 1, j + 2] - image[i + 1, j])
                + image[i + 2, j + 2]
                - image[i + 2, j]
            )
            gy = (
                image[i + 2, j]
                - image[i, j]
                + 2 * (image[i + 2, j + 1] - image[i, j + 1])
                + image[i + 2, j + 2]
                - image[i, j + 2]
            )
            result[i, j] = np.sqrt(gx * gx + gy * gy)
    return result


@program(
    lambda rng, n, m: (rng.integers(0, 256, (n, m, 3), dtype=np.uint8),),
    size={"n": 800, "m": 800},
    small={"n": 7, "m": 8},
    rtol=1e-12,
)
def grayscale_normalized(image):
    gray = image.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
    low, high = gray.min(), gray.max()
    return ((gray - low) / (high - low) * 255.0).astype(np.uint8)


@program(lambda rng, n: (rng.integers(0, 256, n),), size={"n": 1_000_000}, small={"n": 60})
def histogram_equalization(levels):
    histogram = np.bincount(levels, minlength=256)
    cumulative = np.cumsum(histogram)
    table = (cumulative * 255) // cumulative[-1]
    return table[levels]


@peer("numba", histogram_equalization)
def histogram_equalization_numba(levels):
    histogram = np.zeros(256, np.int64)
    for i in range(levels.size):
        histogram[levels[i]] += 1
    cumulative = np.cumsum(histogram)
    table = (cumulative * 255) // cumulative[-1]
    result = np.empty_like(levels)
    for i in prange(levels.size):
        result[i] = table[levels[i]]
    return result


@program(
    lambda rng, n, steps: (rng.standard_normal((n, n)), steps),
    size={"n": 1024, "steps": 3},
    small={"n": 8, "steps": 2},
    loops=True,
)
def haar_wavelet(image, steps):
    result = image.copy()
    n = image.shape[0]
    for _ in range(steps):
        block = result[:n, :n]
        rows = np.concatenate([(block[0::2] + block[1::2]) / 2, (block[0::2] - block[1::2]) / 2], axis=0)
        result[:n, :n] = np.concatenate(
            [(rows[:, 0::2] + rows[:, 1::2]) / 2, (rows[:, 0::2] - rows[:, 1::2]) / 2], axis=1
        )
        n //= 2
    return result


def azimuthal_inputs(rng, n, bins):
    return rng.random(n), rng.random(n) * 10.0, bins


@program(azimuthal_inputs, size={"n": 1_000_000, "bins": 256}, small={"n": 60, "bins": 5}, rtol=1e-12)
def azimuthal_integration(intensity, radius, bins):
    index = np.minimum((radius / radius.max() * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    return np.bincount(index, weights=intensity, minlength=bins) / np.maximum(count, 1)


@peer("numba", azimuthal_integration)
def azimuthal_integration_numba(intensity, radius, bins):
    highest = radius.max()
    count = np.zeros(bins, np.int64)
    total = np.zeros(bins)
    for i in range(radius.size):
        index = min(int(radius[i] / highest * bins), bins - 1)
        count[index] += 1
        total[index] += intensity[i]
    return total / np.maximum(count, 1)


@program(lambda rng, n: (rng.integers(0, 2**32, n, dtype=np.uint32),), size={"n": 2_000_000}, small={"n": 50})
def integer_hash(keys):
    h = keys ^ (keys >> 16)
    h = h * np.uint32(0x7FEB352D)
    h = h ^ (h >> 15)
    h = h * np.uint32(0x846CA68B)
    return h ^ (h >> 16)


@peer("numba", integer_hash)
def integer_hash_numba(keys):
    result = np.empty_like(keys)
    for i in prange(keys.size):
        h = np.uint32(keys[i] ^ (keys[i] >> np.uint32(16)))
        h = np.uint32(h * np.uint32(0x7FEB352D))
        h = np.uint32(h ^ (h >> np.uint32(15)))
        h = np.uint32(h * np.uint32(0x846CA68B))
        result[i] = np.uint32(h ^ (h >> np.uint32(16)))
    return result


def profile_inputs(rng, n, bins):
    return rng.random(n), rng.random(n), bins


@program(profile_inputs, size={"n": 400_000, "bins": 100}, small={"n": 90, "bins": 4}, rtol=1e-12)
def radial_profile(intensity, radius, bins):
    total = np.histogram(radius, bins, weights=intensity)[0]
    return total / np.histogram(radius, bins)[0]


@peer("numba", radial_profile)
def radial_profile_numba(intensity, radius, bins):
    low, high = radius.min(), radius.max()
    count = np.zeros(bins, np.int64)
    total = np.zeros(bins)
    for i in range(radius.size):
        index = min(int((radius[i] - low) / (high - low) * bins), bins - 1)
        count[index] += 1
        total[index] += intensity[i]
    return total / count


@program(lambda rng, n: (rng.random(n) / n,), size={"n": 600}, small={"n": 9}, rtol=1e-12, loops=True)
def levinson_recursion(r):
    y = np.empty_like(r)
    reflection = -r[0]
    error = 1.0
    y[0] = reflection
    for k in range(1, r.shape[0]):
        error *= 1.0 - reflection * reflection
        reflection = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / error
        y[:k] += reflection * np.flip(y[:k])
        y[k] = reflection
    return y


@program(
    lambda rng, n: (rng.integers(0, 256, n, dtype=np.uint8),), size={"n": 50_000}, small={"n": 40}, loops=True
)
def bitwise_checksum(data):
    remainder = 0xFFFF
    for byte in data:
        rest = 0xFF & byte
        for _ in range(8):
            if (remainder & 1) ^ (rest & 1):
                remainder = (remainder >> 1) ^ 0xA001
            else:
                remainder >>= 1
            rest >>= 1
    return remainder


@program(
    lambda rng, n: (rng.random(n), rng.random(n), 32), size={"n": 1_000_000}, small={"n": 40}, loops=True
)
def histogram_of_two_in_loops(x, y, bins):
    counts = np.zeros((bins, bins), np.int64)
    for i in range(x.shape[0]):
        counts[int(x[i] * bins), int(y[i] * bins)] += 1
    return counts


@program(
    lambda rng, n, m: (rng.integers(0, 256, (n, m), dtype=np.uint8),),
    size={"n": 1000, "m": 1000},
    small={"n": 7, "m": 8},
    loops=True,
)
def levels_counted_in_loops(image):
    counts = np.zeros(256, np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    return counts


@program(lambda rng, n: (rng.random(n) + 0j,), size={"n": 1 << 15}, small={"n": 16}, rtol=1e-11, loops=True)
def fft_by_stages(signal):
    y = signal.copy()
    n, half = y.shape[0], y.shape[0] // 2
    while half >= 1:
        w = np.exp(-1j * np.pi * np.arange(half) / half)
        for k in range(0, n, 2 * half):
            a, b = y[k : k + half].copy(), y[k + half : k + 2 * half].copy()
            y[k : k + half] = a + b
            y[k + half : k + 2 * half] = (a - b) * w
        half //= 2
    return y
