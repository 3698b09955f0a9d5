"""torch.jit.trace by PyTorch's names: the program gives every result on other arguments."""

import io
import threading

import pytest
import weft.torch as torch

X = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def positive(x):
    return x.mT @ x + torch.eye(3, dtype=x.dtype)


CALLS = {
    "torch.svd": lambda x: torch.svd(x),
    "torch.svd, all": lambda x: torch.svd(x, some=False),
    "linalg.svd": lambda x: torch.linalg.svd(x),
    "linalg.svd, reduced": lambda x: torch.linalg.svd(x, full_matrices=False),
    "linalg.svdvals": lambda x: torch.linalg.svdvals(x),
    "linalg.qr": lambda x: torch.linalg.qr(x),
    "linalg.qr, complete": lambda x: torch.linalg.qr(x, mode="complete"),
    "linalg.qr, r": lambda x: torch.linalg.qr(x, mode="r").R,
    "linalg.cholesky": lambda x: torch.linalg.cholesky(positive(x)),
    "linalg.cholesky, upper": lambda x: torch.linalg.cholesky(positive(x), upper=True),
    "linalg.cholesky_ex": lambda x: torch.linalg.cholesky_ex(positive(x)),
    "linalg.eigh": lambda x: torch.linalg.eigh(positive(x)),
    "linalg.eigh, upper": lambda x: torch.linalg.eigh(positive(x), UPLO="U"),
    "linalg.eigvalsh": lambda x: torch.linalg.eigvalsh(positive(x)),
    "linalg.lu": lambda x: torch.linalg.lu(x),
    "linalg.lu_factor": lambda x: torch.linalg.lu_factor(positive(x)),
    "linalg.solve": lambda x: torch.linalg.solve(positive(x), x.mT),
    "linalg.solve_triangular": lambda x: torch.linalg.solve_triangular(positive(x), x.mT, upper=True),
    "linalg.solve_triangular, right": lambda x: torch.linalg.solve_triangular(positive(x), x, upper=False, left=False),
    "linalg.inv": lambda x: torch.linalg.inv(positive(x)),
    "linalg.pinv": lambda x: torch.linalg.pinv(x),
    "linalg.householder_product": lambda x: torch.linalg.householder_product(*torch.geqrf(x)),
    "linalg.norm": lambda x: torch.linalg.norm(x, ord="nuc", dim=(1, 2)),
    "linalg.slogdet": lambda x: torch.linalg.slogdet(positive(x)),
    "linalg.matrix_exp": lambda x: torch.linalg.matrix_exp(positive(x)),
    "chunk": lambda x: torch.chunk(x, 2, 1),
    "split": lambda x: x.split(2, 1),
    "unbind": lambda x: torch.unbind(x, 1),
    "where": lambda x: torch.where(x > 0),
    "parts, joined": lambda x: torch.cat(x.tensor_split(3, 1), 1),
    "complex": lambda x: torch.view_as_complex(x.unflatten(1, (2, 2))[..., :2].contiguous()),
    "real": lambda x: torch.view_as_real(torch.complex(x, x)),
    "fft, cut": lambda x: torch.fft.fft(x, 3, 1),
    "fft2, longer": lambda x: torch.fft.ifft2(x, (8, 6)),
    "rfft": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1, norm="ortho"), 9, dim=1),
    "stft": lambda x: torch.stft(x.flatten(1), 4, window=torch.hann_window(4, dtype=x.dtype), return_complex=True),
    "polygamma": lambda x: torch.polygamma(2, x.abs() + 1),
    "scatter_reduce": lambda x: x.scatter_reduce(1, x.argsort(1), x, "amax"),
    "index_reduce": lambda x: x.index_reduce(1, torch.tensor([0, 2, 0, 1]), x, "prod"),
    "masked_fill_": lambda x: x.clone().masked_fill_(x > 0, 3),
    "byte": lambda x: (x.abs() * 100).byte(),
    "char": lambda x: (x * 10).char(),
    "to, copied": lambda x: x.to(torch.float64, False, True) + x.to(x, copy=True),
    "channels last": lambda x: x[None].contiguous(memory_format=torch.channels_last).clone(
        memory_format=torch.preserve_format
    ).to(torch.float32, memory_format=torch.channels_last),
    "builtin": lambda x: torch.ops.aten._safe_softmax.default(x, -1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_traced(name):
    function = CALLS[name]
    traced = torch.jit.trace(function, (X,), strict=False)
    loaded = torch.jit.load(io.BytesIO(traced.save_to_buffer()))
    expected = function(Y)
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    for each in (traced, loaded):
        found = each(Y)
        found = [found] if isinstance(found, torch.Tensor) else list(found)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            torch.testing.assert_close(one, other)


def test_composed_functions_are_their_builtins():
    x = torch.sin(torch.arange(12.0)).reshape(3, 4)
    for name, function in {
        "frexp": torch.frexp,
        "cov": lambda x: torch.cov(x, fweights=torch.tensor([1, 2, 0, 1])),
        "fft_fft": lambda x: torch.fft.fft(x, n=5),
        "fft_fftn": lambda x: torch.fft.fftn(x),
        "fft_fft2": lambda x: torch.fft.fft2(x),
        "quantile": lambda x: torch.quantile(x, 0.3, dim=1),
        "linalg_matrix_norm": torch.linalg.matrix_norm,
    }.items():
        before = torch.cov.__code__, torch.frexp.__code__
        traced = torch.jit.trace(function, (x,))
        assert f"aten::{name}" in str(traced.graph)
        assert before == (torch.cov.__code__, torch.frexp.__code__)
        torch.testing.assert_close(
            traced(x + 1), tuple(function(x + 1)) if name == "frexp" else function(x + 1)
        )
    with pytest.raises(RuntimeError, match="fweights cannot be negative"):
        torch.jit.trace(lambda x: torch.cov(x, fweights=torch.tensor([1, -1, 0, 1])), (x,))


def test_composed_functions_while_another_thread_traces():
    x, inside, go = torch.sin(torch.arange(12.0)).reshape(3, 4), threading.Event(), threading.Event()

    def function(x):
        inside.set()
        assert go.wait(60)
        return torch.cov(x)

    expected = torch.cov(x + 1)
    thread = threading.Thread(target=lambda: found.append(torch.jit.trace(function, (x,), check_trace=False)))
    found = []
    thread.start()
    assert inside.wait(60)
    assert torch.equal(torch.cov(x + 1), expected)
    go.set()
    thread.join()
    assert "aten::cov" in str(found[0].graph) and torch.equal(found[0](x + 1), expected)
