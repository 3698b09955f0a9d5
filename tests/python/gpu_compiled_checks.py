"""What tests/python/test_gpu_compiled.py runs in a process of its own, on the emulated device or on a GPU: compiled
functions whose arguments lie on a GPU. The graph is computed there; what the program has on the host stays there."""

import sys

import numpy as np
import weft
import weft.numpy as wnp
import weft.torch as torch
from gpu_torch_checks import refused

HOST = np.arange(6.0).reshape(2, 3) + 1


def there(kind, array=HOST, device="cuda"):
    """The array on a device: weft.numpy's, or a weft.Tensor."""
    return wnp.asarray(array).to_device(device) if kind == "array" else weft.tensor(array).to(device)


def here(value):
    return np.asarray(value.to("cpu"))


def one_graph(function=None, **options):
    return weft.compile(function, fullgraph=True, **options)


def tensors():
    """In one graph, with the devices that PyTorch gives them."""

    @one_graph
    def several(a, b):
        c = torch.exp(a) * b + a.sum()
        return c - c.mean(0), a.max(1).values, a.T

    @one_graph
    def devices(a):
        like = torch.zeros_like(a), torch.full_like(a, 2), torch.rand_like(a), a.new_zeros(3)
        of_device = torch.arange(3, device=a.device), torch.tensor([1.0, 2, 3], device=a.device) + a[0]
        return a.device, a.is_cuda, like, of_device, torch.ones(2), torch.tensor([1.0])

    @one_graph
    def moves(a):
        on_host = a.to("cpu") + 1
        return a[0].cpu(), on_host, on_host.cuda() * 2, a.cpu().to(a)

    @one_graph
    def loops(a):
        total = 0
        for i in range(2):
            total = total + a[i] * 2
        return total

    x = torch.arange(6.0).reshape(2, 3)
    for device in ("cuda", "cuda:1", "cpu", "cuda"):
        a = x.to(device)
        for got, want in zip(several(a, a), several(x, x)):
            assert got.device == a.device
            np.testing.assert_allclose(here(got), want.numpy(), rtol=1e-5)
        place, is_there, like, of_device, *on_host = devices(a)
        assert place == a.device and is_there == a.is_cuda
        assert all(each.device == a.device for each in like + of_device)
        assert not any(each.is_cuda for each in on_host)
        assert of_device[0].tolist() == [0, 1, 2] and of_device[1].tolist() == [1, 3, 5]
        assert loops(a).tolist() == [6, 10, 14] and loops(a).device == a.device
        if device != "cuda:1":  # a graph is of one device, and `cuda()` is the first one
            first, on_host, back, as_before = moves(a)
            assert not first.is_cuda and not on_host.is_cuda and back.is_cuda and as_before.device == a.device
            assert on_host.tolist() == (x + 1).tolist() and back.tolist() == (2 * x + 2).tolist()
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4)).eval()
    want = model(x)
    compiled = torch.compile(model.cuda(), fullgraph=True)
    for _ in range(2):
        np.testing.assert_allclose(here(compiled(x.cuda())), want.numpy(), rtol=1e-4, atol=1e-6)


def two_devices():
    """Each tensor keeps its own; what PyTorch refuses is refused in its words."""

    @weft.compile
    def apart(a, b):
        return a * 2, b * 2

    @weft.compile
    def makes(a):
        return a + torch.zeros(3)

    @weft.compile
    def joins(a, b):
        return torch.cat([a, b])

    x = torch.arange(6.0).reshape(2, 3)
    for first, second in (("cuda", "cpu"), ("cuda:1", "cpu"), ("cuda:1", "cuda"), ("cpu", "cuda")):
        for got, device in zip(apart(x.to(first), x.to(second)), (first, second)):
            assert got.device == torch.device(device) and got.tolist() == (x * 2).tolist()
    text = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    refused(RuntimeError, text, lambda: makes(x.cuda()))
    refused(RuntimeError, text, lambda: joins(x.cuda(), x))
    assert makes(x).tolist() == x.tolist()
    number = one_graph(lambda a, n: a * n)  # 0-d tensors of the host go along
    assert number(x.cuda(), torch.tensor(2.0)).is_cuda
    places = torch.tensor([1, 0, 1])  # and so do indices
    assert x.cuda()[places].tolist() == weft.compile(lambda a, i: a[i])(x.cuda(), places).tolist()
    assert x.cuda()[x > 1].tolist() == x[x > 1].tolist()


def changes():
    """Assignments reach the arguments, on either device."""

    @one_graph
    def both(a, b):
        a.add_(1)
        a[0] = 5
        b.copy_(a.cpu())
        return a.sum()

    x = torch.arange(6.0).reshape(2, 3)
    a, b = x.cuda(), torch.zeros(2, 3)
    assert both(a, b).item() == 30 and a.tolist() == b.tolist() == [[5, 5, 5], [4, 5, 6]]

    def of_numpy(p):
        p[1] = np.sin(p[0])
        np.multiply(p, 2, out=p)
        return p[0]

    for kind in ("array", "tensor"):
        p, want = there(kind), HOST.copy()
        np.testing.assert_array_equal(here(one_graph(of_numpy)(p)), of_numpy(want))
        np.testing.assert_array_equal(here(p), want)


def kmeans(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


def joined(p, q):
    y = np.concatenate([p, q]) + np.zeros(3)
    y[0] = 7
    return y, np.where(y > 2, y, -1).T, p + np.linalg.norm(p, axis=1)[:, None]


def reduced(p, q):
    return (
        np.sum(p),
        p.mean(0) - np.mean(q, axis=0),
        np.median(p),
        np.std(p, axis=0),
        np.argmax(p),
        np.add.reduce(q),
    )


def ordered(p, q):
    return np.sort(p, axis=1)[:, ::-1], np.cumsum(q), p[np.argsort(p[:, 0])], np.split(p, 3, axis=1)


def linear(p, q):
    return np.dot(p, q.T), np.einsum("ij,ij->i", p, q), np.linalg.inv(np.dot(p, p.T)), np.outer(p[0], q[1])


def made(p, q):
    return (
        np.zeros_like(p),
        np.full_like(q, 3),
        np.copy(p),
        np.array([p, q]),
        p.astype(np.float32),
        np.asarray(p),
    )


def shaped(p, q):
    return (
        np.reshape(p, -1)[1:4],
        np.stack([p, q]).transpose(2, 0, 1),
        np.pad(p, 1),
        [r for r in np.sin(p)],
        -np.cos(q),
    )


def asked(p, q):
    return (
        len(np.sin(p)),
        np.sin(p).shape,
        float(np.sum(p)),
        np.array_equal(p, p),
        np.asarray(p) is p,
        np.ones(2),
    )


def flat(value):
    return [each for item in value for each in flat(item)] if isinstance(value, (list, tuple)) else [value]


def numpy_functions():
    """Functions of NumPy's compute where the arrays lie, and their results stay there, in the class of the arguments."""
    compiled = [one_graph(f) for f in (kmeans, joined, reduced, ordered, linear, made, shaped, asked)]
    for kind in ("array", "tensor"):
        p, q = there(kind), there(kind, HOST * 2)
        for function in compiled:
            got, want = flat(function(p, q)), flat(function.__wrapped__(HOST, HOST * 2))
            assert len(got) == len(want)
            for g, w in zip(got, want):
                if function.__wrapped__ is asked:
                    np.testing.assert_allclose(g, w)
                    continue
                assert type(g) is type(p) and g.device == p.device, (function, type(g))
                np.testing.assert_allclose(here(g), w, rtol=1e-12, atol=1e-12)
                assert np.asarray(here(g)).dtype == np.asarray(w).dtype


def lists():
    """Of tensors on the device, passed in; lists of numbers are not looked at for the sake of it, and one may hold itself."""
    joins = one_graph(lambda parts: np.concatenate(parts))
    for kind in ("array", "tensor"):
        parts = [there(kind), there(kind, HOST * 2)]
        np.testing.assert_array_equal(here(joins(parts)), np.concatenate([HOST, HOST * 2]))
    assert joins([HOST, HOST]).shape == (4, 3)
    holds_itself = [1.0]
    holds_itself.append(holds_itself)
    sized = weft.compile(lambda x, items: (x * 2, np.ndim(len(items)), np.shape(x), np.iterable(items)))
    assert sized(HOST, holds_itself)[1:] == (0, (2, 3), True)


def under_with():
    """What the program has in NumPy's arrays comes back as such; what it has on the device stays there."""

    @one_graph
    def of_tensors(a):
        return a.device, a.is_cuda, a + torch.tensor([1.0, 2, 3]), torch.zeros(2), a.cpu()

    compiled = one_graph(kmeans)
    with weft.device("cuda"):
        for kind in ("array", "tensor"):
            p = there(kind)
            labels = compiled(p, p)
            assert type(labels) is type(p) and labels.device == p.device and here(labels).tolist() == [0, 1]
        labels = compiled(HOST, HOST)
        assert type(labels) is np.ndarray and labels.tolist() == [0, 1]
        place, is_there, added, zeros, on_host = of_tensors(torch.arange(3.0).to("cuda"))
        assert is_there and str(place) == "cuda:0" and added.is_cuda and zeros.is_cuda and not on_host.is_cuda
        assert added.tolist() == [1, 3, 5]
    assert type(compiled(HOST, HOST)) is np.ndarray


def breaks():
    """What leaves the graph goes on with arrays on the device."""

    @weft.compile
    def function(p):
        s = np.sum(p, axis=0)
        if s[0] > 1:
            s = np.sin(s)
        print("", end="")
        return np.cos(s)

    for kind in ("array", "tensor"):
        got = function(there(kind))
        assert type(got) is type(there(kind)) and str(got.device) == "cuda:0"
        np.testing.assert_array_equal(here(got), np.cos(np.sin(HOST.sum(axis=0))))


def modes():
    """Recorded runs, sizes that change, and as many captures as devices."""

    @one_graph(mode="reduce-overhead")
    def step(state, x):
        state += x
        return state * 2

    state, want = torch.zeros(4).cuda(), np.zeros(4)
    for i in range(5):
        got = step(state, torch.full((4,), float(i)).cuda())
        want += i
        assert got.is_cuda and got.tolist() == (want * 2).tolist() and state.tolist() == want.tolist()
    sized = one_graph(lambda x: np.exp(x).sum(axis=-1))
    for n in (3, 5, 8, 1):
        for device in ("cuda", "cuda:1"):
            x = np.arange(2.0 * n).reshape(2, n) / n
            got = sized(there("array", x, device))
            assert str(got.device) == ("cuda:0" if device == "cuda" else device)
            np.testing.assert_allclose(here(got), np.exp(x).sum(axis=-1), rtol=1e-13)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
