"""torch.fft, torch.stft and windows: arguments, layouts, dtypes, mistakes, and transforms within compiled graphs."""

import cmath
import math

import numpy as np
import pytest
import weft
import weft.torch as torch

RANDOM = np.random.default_rng(3)
REAL = RANDOM.standard_normal((2, 3, 4))
COMPLEX = REAL + 1j * RANDOM.standard_normal((2, 3, 4))
NORMS = [None, "backward", "ortho", "forward"]


def close(actual, expected, tolerance=1e-12):
    assert tuple(actual.shape) == expected.shape
    np.testing.assert_allclose(
        np.array(actual.tolist()).reshape(expected.shape), expected, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_along_a_dimension(name, norm):
    given = REAL if name in ("rfft", "ihfft") else COMPLEX
    for n, dim in [(None, -1), (3, 0), (6, 1), (5, -1)]:
        got = getattr(torch.fft, name)(torch.from_numpy(given), n, dim, norm)
        close(got, getattr(np.fft, name)(given, n, dim, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_along_dimensions(name, norm):
    given = REAL if name.startswith("rfft") else COMPLEX
    for s, dim in [(None, (-2, -1)), ((2, 5), (0, 2)), ((3, 3), (2, 1)), (None, (0, 1))]:
        got = getattr(torch.fft, name)(torch.from_numpy(given), s=s, dim=dim, norm=norm)
        close(got, getattr(np.fft, name)(given, s, dim, norm))
    close(torch.fft.fftn(torch.from_numpy(COMPLEX)), np.fft.fftn(COMPLEX))
    close(torch.fft.fftn(torch.from_numpy(COMPLEX), s=(2, -1)), np.fft.fftn(COMPLEX, (2, 4), (1, 2)))


@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_of_several_dimensions(norm):
    back = "forward" if norm in (None, "backward") else "backward" if norm == "forward" else norm
    x = torch.from_numpy(COMPLEX)
    # hfftn is irfftn of the conjugate, scaled the other way, up to the direction of the other dimensions' transforms.
    close(torch.fft.hfftn(x, norm=norm), np.fft.irfftn(COMPLEX.conj(), axes=(0, 1, 2), norm=back))
    close(torch.fft.hfft2(x, norm=norm), np.fft.irfftn(COMPLEX.conj(), axes=(1, 2), norm=back))
    close(
        torch.fft.ihfft2(torch.from_numpy(REAL), norm=norm), np.fft.rfftn(REAL, axes=(1, 2), norm=back).conj()
    )


def test_dtypes():
    for given, expected in [
        (torch.ones(4), torch.complex64), (torch.ones(4, dtype=torch.float64), torch.complex128),
        (torch.ones(4, dtype=torch.int64), torch.complex64), (torch.ones(4, dtype=torch.bool), torch.complex64),
        (torch.ones(4, dtype=torch.complex128), torch.complex128),
    ]:  # fmt: skip
        assert torch.fft.fft(given).dtype == expected
        assert torch.fft.fftn(given).dtype == expected
    assert torch.fft.irfft(torch.ones(4, dtype=torch.int64)).dtype == torch.float32
    assert torch.fft.hfft(torch.ones(4, dtype=torch.float64)).dtype == torch.float64


def test_layouts():
    x = torch.ones(2, 3, 4)
    assert torch.fft.fft(x).stride() == (12, 4, 1)
    assert torch.fft.fft(x, dim=0).stride() == (1, 8, 2)
    assert torch.fft.rfft(x, dim=1).stride() == (8, 1, 2)
    assert torch.fft.fft2(x, dim=(0, 1)).stride() == (3, 1, 6)
    assert torch.fft.ihfft2(x).stride() == (9, 1, 3)
    y = torch.from_numpy(REAL)
    close(torch.fft.fft(y.transpose(0, 2)[::2]), np.fft.fft(REAL.transpose(2, 1, 0)[::2]))


def test_mistakes():
    x = torch.ones(2, 3)
    for call, error, text in [
        (lambda: torch.fft.fft(x, norm="x"), RuntimeError, "normalization mode"),
        (lambda: torch.fft.fft(x, 0), RuntimeError, "number of data points"),
        (lambda: torch.fft.fft(x, n=2.0), TypeError, "argument 'n'"),
        (lambda: torch.fft.fft(x, dim=2), IndexError, "out of range"),
        (lambda: torch.fft.fft(torch.tensor(1.0)), IndexError, "imension"),
        (lambda: torch.fft.irfft(torch.ones(1)), RuntimeError, "number of data points"),
        (lambda: torch.fft.fft([1.0]), TypeError, "must be Tensor"),
        (lambda: torch.fft.rfft(torch.ones(3, dtype=torch.complex64)), TypeError, "real input"),
        (lambda: torch.fft.fft(torch.ones(4, dtype=torch.float16)), NotImplementedError, "Unsupported dtype"),
        (lambda: torch.fft.fftn(x, dim=(0, 0)), RuntimeError, "unique"),
        (lambda: torch.fft.fftn(x, (2,), (0, 1)), RuntimeError, "same length"),
        (lambda: torch.fft.fftn(x, (2, 2, 2)), RuntimeError, "only has 2 dimensions"),
        (lambda: torch.fft.rfftn(x, dim=()), RuntimeError, "at least one axis"),
        (lambda: torch.fft.fftfreq(5.0), TypeError, "must be int"),
        (lambda: torch.fft.fftfreq(5, dtype=torch.int64), RuntimeError, "floating point or complex"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_frequencies_and_shifts():
    assert torch.fft.fftfreq(5, 0.5).tolist() == pytest.approx([0, 0.4, 0.8, -0.8, -0.4])
    assert torch.fft.fftfreq(4).tolist() == [0, 0.25, -0.5, -0.25]
    assert torch.fft.rfftfreq(5, dtype=torch.float64).tolist() == pytest.approx([0, 0.2, 0.4], rel=1e-15)
    assert torch.fft.fftfreq(0).tolist() == []
    x = torch.arange(15).reshape(3, 5)
    for dim in (None, 0, 1, (0, 1), -1):
        close(torch.fft.fftshift(x, dim), np.fft.fftshift(np.arange(15).reshape(3, 5), dim))
        assert torch.fft.ifftshift(torch.fft.fftshift(x, dim), dim).tolist() == x.tolist()


# ---- windows ----
def test_window_functions():
    assert torch.hann_window(4).tolist() == pytest.approx([0, 0.5, 1, 0.5], abs=1e-7)
    assert torch.hann_window(4, False).tolist() == pytest.approx([0, 0.75, 0.75, 0], abs=1e-7)
    assert torch.hamming_window(4, True, 0.5, 0.3).tolist() == pytest.approx([0.2, 0.5, 0.8, 0.5], rel=1e-6)
    assert torch.bartlett_window(5).tolist() == pytest.approx([0, 0.4, 0.8, 0.8, 0.4], rel=1e-6)
    assert torch.blackman_window(5, False).tolist() == pytest.approx([0, 0.34, 1, 0.34, 0], abs=1e-6)
    assert torch.kaiser_window(5, False, 3.0).tolist() == pytest.approx(
        [0.2049, 0.7269, 1, 0.7269, 0.2049], rel=1e-3
    )
    for name in ("hann", "hamming", "bartlett", "blackman", "kaiser"):
        function = getattr(torch, name + "_window")
        assert function(0).tolist() == [] and function(1).tolist() == [1]
        assert function(3, dtype=torch.float64).dtype == torch.float64
        with pytest.raises(RuntimeError, match="non-negative"):
            function(-1)
        with pytest.raises(RuntimeError, match="floating point"):
            function(3, dtype=torch.int64)


def test_signal_windows():
    from weft.torch.signal import windows

    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
        symmetric = getattr(windows, name)(6, dtype=torch.float64)
        close(symmetric, np.array(getattr(np, "hanning" if name == "hann" else name)(6, *([12.0] if name == "kaiser" else []))), 1e-9)  # fmt: skip
        assert getattr(windows, name)(5, sym=False, dtype=torch.float64).tolist() == pytest.approx(
            symmetric.tolist()[:5], abs=1e-15
        )
        assert getattr(windows, name)(1).tolist() == [1]
    assert windows.gaussian(3, std=2.0).tolist() == pytest.approx([math.exp(-1 / 8), 1, math.exp(-1 / 8)])
    assert windows.exponential(3, center=0.0, tau=2.0, sym=False).tolist() == pytest.approx(
        [1, math.exp(-0.5), math.exp(-1)]
    )
    assert windows.cosine(2).tolist() == pytest.approx([math.sin(math.pi / 4)] * 2)
    assert windows.general_cosine(5, a=[0.4, 0.3, 0.2]).tolist() == pytest.approx([0.3, 0.2, 0.9, 0.2, 0.3])
    with pytest.raises(ValueError, match="non-negative"):
        windows.hann(-1)
    with pytest.raises(ValueError, match="float32 or float64"):
        windows.hann(3, dtype=torch.float16)


# ---- short-time transforms ----
def spectrogram(signal, n_fft, hop, window):
    padded = np.pad(signal, n_fft // 2, mode="reflect")
    frames = [padded[i : i + n_fft] * window for i in range(0, len(padded) - n_fft + 1, hop)]
    return np.fft.rfft(np.array(frames)).T


def test_stft():
    signal = RANDOM.standard_normal(40)
    x, window = torch.from_numpy(signal), torch.hann_window(8, dtype=torch.float64)
    got = torch.stft(x, 8, 3, window=window, return_complex=True)
    close(got, spectrogram(signal, 8, 3, np.array(window.tolist())))
    parts = torch.stft(x, 8, 3, window=window, return_complex=False)
    assert parts.shape == (*got.shape, 2)
    assert torch.stft(x, 8, onesided=False, return_complex=True).shape == (8, 21)
    assert torch.stft(x.reshape(2, 20), 8, center=False, return_complex=True).shape == (2, 5, 7)
    # A short window stands in the middle of the frame.
    short = torch.stft(x, 8, 2, 6, torch.ones(6, dtype=torch.float64), return_complex=True)
    close(short, spectrogram(signal, 8, 2, np.array([0, 1, 1, 1, 1, 1, 1, 0])))
    close(torch.stft(x, 8, normalized=True, return_complex=True), np.array(torch.stft(x, 8, return_complex=True).tolist()) / math.sqrt(8))  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"center": False}, {"normalized": True}, {"hop_length": 3}, {"onesided": False}]
)
def test_istft_inverts_stft(options):
    x = torch.from_numpy(RANDOM.standard_normal((2, 40)))
    window = torch.ones(8, dtype=torch.float64) * 0.5
    spectrum = torch.stft(x, 8, window=window, return_complex=True, **options)
    back = torch.istft(spectrum, 8, window=window, **options)
    close(back, np.array(x.tolist())[:, : back.shape[1]])
    assert back.shape[1] >= 38
    if options.get("center", True):
        assert torch.istft(spectrum, 8, window=window, length=30, **options).shape == (2, 30)


def test_stft_mistakes():
    x = torch.ones(20)
    for call, error, text in [
        (lambda: torch.stft(x, 8), RuntimeError, "return_complex"),
        (lambda: torch.stft(x, 80, return_complex=True), (RuntimeError, ValueError), "."),
        (lambda: torch.stft(x, 8, 0, return_complex=True), RuntimeError, "hop_length"),
        (lambda: torch.stft(x, 8, win_length=9, return_complex=True), RuntimeError, "win_length"),
        (lambda: torch.stft(x, 8, window=torch.ones(5), return_complex=True), RuntimeError, "window"),
        (lambda: torch.istft(torch.ones(5, 4), 8), TypeError, "complex-valued"),
        (lambda: torch.istft(torch.ones(4, 4, dtype=torch.complex64), 8), RuntimeError, "n_fft"),
        (
            lambda: torch.istft(torch.ones(5, 4, dtype=torch.complex64), 8, window=torch.zeros(8)),
            RuntimeError,
            "window overlap",
        ),
    ]:
        with pytest.raises(error, match=text):
            call()


# ---- within graphs ----
@pytest.mark.parametrize(
    "name", ["fft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "irfft2", "fftn", "fftshift"]
)
def test_compiled(name):
    function = getattr(torch.fft, name)

    def program(x):
        return function(x * 2)

    x = torch.from_numpy(REAL)
    assert weft.compile(program, fullgraph=True)(x).tolist() == program(x).tolist()


def test_compiled_stft():
    def program(x):
        window = torch.hann_window(8)
        return torch.istft(torch.stft(x * 2, 8, window=window, return_complex=True), 8, window=window)

    x = torch.arange(40).to(torch.float32) / 7
    expected = program(x)
    got = weft.compile(program, fullgraph=True)(x)
    assert got.tolist() == expected.tolist()
    assert got.tolist() == pytest.approx((x * 2).tolist(), rel=1e-5, abs=1e-5)


def test_one_point_of_the_definition():
    values = COMPLEX[0, 0]
    expected = sum(value * cmath.exp(-2j * math.pi * k * 3 / 4) for k, value in enumerate(values))
    assert torch.fft.fft(torch.from_numpy(values)).tolist()[3] == pytest.approx(expected)
