"""torch.vmap: by rules for batches of samples, and sample by sample; the results are PyTorch 2.15's."""

import pytest
import weft.torch as torch
from weft.torch._functions import _batched

F, vmap = torch.nn.functional, torch.vmap


def names():
    torch.manual_seed(0)
    channels = (
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4).eval(),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
    )
    return {
        "torch": torch, "F": F, "vmap": vmap, "inplace": inplace, "nested": nested,
        "x": torch.randn(4, 3, 5), "y": torch.randn(4, 5), "z": torch.randn(5), "m": torch.randn(4, 5, 6),
        "i": torch.tensor([0, 2, 1, 0]), "img": torch.randn(4, 2, 3, 8, 8), "im3": torch.randn(4, 3, 8, 8),
        "w": torch.randn(6, 3, 3, 3), "W": torch.randn(4, 6, 5), "d": torch.randn(4).double(), "s": torch.randn(4),
        "q": torch.randn(4, 2, 6, 8), "lin": torch.nn.Linear(5, 2), "ln": torch.nn.LayerNorm(5),
        "mha": torch.nn.MultiheadAttention(8, 2, batch_first=True), "conv": torch.nn.Sequential(*channels),
        "net": torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3)),
    }  # fmt: skip


def inplace(a):
    a = a.clone()
    a.add_(1)
    a[0] = 2.0
    a[:, 1] += a[:, 2]
    return a


def nested(a, b):
    return vmap(lambda r: r * b + r.sum())(a)


CASES = """
vmap(torch.sin)(x)
vmap(torch.mul)(y,y)
vmap(torch.mul,in_dims=(0,None))(x,z)
vmap(torch.mul,in_dims=(1,None))(x,z)
vmap(lambda a,b: a*b)(x,s)
vmap(lambda a,b: a*b)(x,d)
vmap(lambda a: a*2.5+1-a/3)(x)
vmap(lambda a: 1-a)(x)
vmap(lambda a: a.sum())(x)
vmap(lambda a: a.sum(-1))(x)
vmap(lambda a: a.sum((0,1),keepdim=True))(x)
vmap(lambda a: a.mean(0))(x)
vmap(lambda a: a.max())(x)
vmap(lambda a: a.max(0).values)(x)
vmap(lambda a: a.argmax())(x)
vmap(lambda a: a.argmax(-1))(x)
vmap(lambda a: a.var(-1))(x)
vmap(lambda a: a.std())(x)
vmap(lambda a: a.norm())(x)
vmap(lambda a: a.prod(1))(x)
vmap(lambda a: a.softmax(-1))(x)
vmap(lambda a: F.log_softmax(a,0))(x)
vmap(lambda a: a.cumsum(0))(x)
vmap(lambda a: a.sort(-1).values)(x)
vmap(lambda a: a.topk(2).values)(x)
vmap(lambda a: a.T)(x)
vmap(lambda a: a.mT)(x)
vmap(lambda a: a.reshape(-1))(x)
vmap(lambda a: a.view(5,3))(x)
vmap(lambda a: a.flatten())(x)
vmap(lambda a: a.transpose(0,1))(x)
vmap(lambda a: a.permute(1,0))(x)
vmap(lambda a: a.unsqueeze(-1))(x)
vmap(lambda a: a.unsqueeze(0).squeeze(0))(x)
vmap(lambda a: a.expand(2,3,5))(x)
vmap(lambda a: a.repeat(2,1))(x)
vmap(lambda a: a[0])(x)
vmap(lambda a: a[:,1:3])(x)
vmap(lambda a: a[...,None])(x)
vmap(lambda a: a[[0,2]])(x)
vmap(lambda a: a[:,torch.tensor([1,1,0])])(x)
vmap(lambda a,k: a[k])(x,i)
vmap(lambda a,k: a.index_select(0,k.reshape(1)))(x,i)
vmap(lambda a,k: a.gather(0,k.reshape(1,1)))(x,i)
vmap(lambda a: torch.stack([a,a*2]))(x)
vmap(lambda a,b: torch.cat([a,b[None]]))(x,y)
vmap(lambda a: torch.cat([a,z[None]],0))(x)
vmap(lambda a: torch.stack([a[0],z],1))(x)
vmap(lambda a: a.chunk(2,1)[0])(x)
vmap(lambda a: sum(a.unbind(0)))(x)
vmap(lambda a: torch.where(a>0,a,0.0))(x)
vmap(lambda a: torch.where(a>0,a,z))(x)
vmap(lambda a: a.clamp(-1,1))(x)
vmap(lambda a: a.masked_fill(a>0,3.0))(x)
vmap(lambda a: a.to(torch.float64))(x)
vmap(lambda a: a.double()+a.int())(x)
vmap(lambda a: a.clone().contiguous())(x)
vmap(torch.matmul)(x,m)
vmap(torch.mv)(x,y)
vmap(torch.mm,in_dims=(None,0))(x[0],m)
vmap(torch.matmul,in_dims=(0,None))(x,z)
vmap(torch.matmul,in_dims=(None,0))(z,m)
vmap(torch.dot)(y,y)
vmap(lambda a,b: a@b)(y,m)
vmap(lambda a: a@a.T)(x)
vmap(torch.outer)(y,y)
vmap(lambda a,b: torch.einsum('ij,jk->ik',a,b))(x,m)
vmap(lambda a: torch.einsum('ij->j',a))(x)
vmap(torch.bmm)(img[:,0,:,:,:],img[:,1])
vmap(lin)(x)
vmap(ln)(x)
vmap(net)(x)
vmap(conv)(img)
vmap(lambda a: F.conv2d(a,w))(img)
vmap(lambda a: F.conv2d(a,w))(im3)
vmap(lambda k: F.conv2d(img[0],k))(torch.stack([w,w*2]))
vmap(lambda a: F.max_pool2d(a,2))(img)
vmap(lambda a: F.adaptive_avg_pool2d(a,1))(im3)
vmap(lambda W,a: F.linear(a,W))(W,y)
vmap(lambda W: F.linear(z,W))(W)
vmap(lambda W,b: F.linear(x[0],W,b))(W,torch.ones(4,6))
vmap(lambda k: F.embedding(k,x[0]))(i)
vmap(lambda k: F.one_hot(k,3))(i)
vmap(lambda a: F.scaled_dot_product_attention(a,a,a))(q)
vmap(lambda a: mha(a,a,a)[0])(q)
vmap(lambda a,k: F.cross_entropy(a,k))(y,i)
vmap(lambda a: F.mse_loss(a,a*2))(x)
vmap(lambda a: F.gelu(a)+F.silu(a)+F.relu(a))(x)
vmap(lambda a: F.layer_norm(a,(5,)))(x)
vmap(lambda a: F.group_norm(a,1))(img)
vmap(lambda a: F.normalize(a,dim=-1))(x)
vmap(lambda a: F.dropout(a,0.5,False))(x)
vmap(lambda a: F.pad(a,(1,1)))(x)
vmap(lambda a: F.cosine_similarity(a,z,dim=-1))(x)
vmap(lambda a: a.tril())(x)
vmap(lambda a: torch.linalg.inv(a@a.T+torch.eye(3)))(x)
vmap(lambda a: torch.linalg.det(a@a.T))(x)
vmap(lambda a: torch.trace(a@a.T))(x)
vmap(lambda a: torch.diag(a))(y)
vmap(lambda a: torch.diagonal(a))(x)
vmap(lambda a: torch.zeros_like(a)+torch.ones(5))(x)
vmap(lambda a: a.new_zeros(2)+1)(x)
vmap(lambda a: torch.zeros(3))(x)
vmap(lambda a: a.roll(1,0))(x)
vmap(lambda a: a.flip(0))(x)
vmap(lambda a: torch.movedim(a,0,1))(x)
vmap(inplace)(x)
vmap(nested)(x,y)
vmap(vmap(torch.dot))(x,x)
vmap(vmap(torch.dot,in_dims=(0,None)),in_dims=(0,0))(x,y)
vmap(vmap(lambda a: a.sum()),in_dims=1)(x)
vmap(vmap(vmap(torch.sin)))(x)
vmap(lambda a: vmap(lambda b: a@b)(m.transpose(1,2)[:,:,:].reshape(-1,5)),in_dims=0)(y)
vmap(torch.sin,out_dims=1)(x)
vmap(torch.sin,out_dims=-1)(x)
vmap(lambda a: (a,{'k':a.sum()}),out_dims=0)(x)[1]['k']
vmap(lambda a: (a,a.sum(0)),out_dims=(1,0))(x)[0]
vmap(torch.sin,chunk_size=3)(x)
vmap(lambda a: a.sum(),chunk_size=2,out_dims=0)(x)
vmap(lambda t: t['a']*t['b'],in_dims=({'a':0,'b':None},))({'a':x,'b':z})
vmap(lambda a,*,k: a*k)(x,k=2)
vmap(lambda a: a+torch.arange(5))(x)
vmap(lambda a: torch.sum(a>0))(x)
vmap(lambda a: ~(a>0)&(a<1))(x)
vmap(lambda a: a.shape[0]*a)(x)
vmap(lambda a: abs(a)**2)(x)
vmap(lambda a: -a//2%3)(x)
vmap(lambda a: a.median())(x)
vmap(lambda a: torch.quantile(a,0.5))(x)
vmap(lambda a: torch.cdist(a,a))(x)
vmap(lambda a: a.unfold(1,2,1))(x)
vmap(lambda a: torch.fft.fft(a).abs())(x)
vmap(lambda a: a.scatter(0,torch.zeros(1,5).long(),9.0))(x)
vmap(lambda a: torch.complex(a,a).real)(x)
vmap(lambda a: torch.tensordot(a,a,2))(x)
vmap(lambda a: F.interpolate(a,scale_factor=2))(img)
vmap(lambda a: a.logsumexp(0))(x)
vmap(lambda a: a.amax((0,1)))(x)
vmap(lambda a: a.any())(x>0)
vmap(lambda a: a.diff())(x)
vmap(lambda a: torch.bucketize(a,torch.tensor([0.0,1.0])))(x)
""".strip().splitlines()


@pytest.mark.parametrize("code", CASES)
def test_batches_give_what_samples_give(code, monkeypatch):
    found = eval(code, names())
    with monkeypatch.context() as patch:

        def refuse(*args):
            raise _batched.NeedsElements

        patch.setattr(_batched, "run", refuse)
        expected = eval(code, names())
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "code", ["vmap(net)(x)", "vmap(lambda a: (a @ a.T).softmax(-1)[0] + a.sum())(x)", "vmap(nested)(x, y)"]
)
def test_a_function_is_called_once(code, monkeypatch):
    def refuse(*args):
        raise AssertionError

    monkeypatch.setattr(_batched.Batching, "one_by_one", refuse)
    eval(code, names())


def test_randomness():
    x = torch.zeros(4, 3)

    def drawn(randomness, draw=lambda a: a + torch.randn(3)):
        torch.manual_seed(7)
        return vmap(draw, randomness=randomness)(x)

    found = drawn("different")
    torch.manual_seed(7)
    assert torch.equal(found, torch.randn(4, 3))
    found = drawn("same")
    torch.manual_seed(7)
    assert torch.equal(found, torch.randn(3).expand(4, 3))
    assert len(drawn("different", lambda a: F.dropout(a + 1, 0.5)).unique(dim=0)) > 1
    with pytest.raises(RuntimeError, match="randomness error mode"):
        drawn("error")


def test_what_depends_on_elements_is_computed_sample_by_sample():
    x = torch.tensor([[1.0, 2.0], [-1.0, -2.0]])
    assert vmap(lambda a: a if a.sum() > 0 else -a)(x).tolist() == [[1, 2], [1, 2]]
    assert vmap(lambda a: a * a.sum().item())(x).tolist() == [[3, 6], [3, 6]]


def test_sizes_and_results():
    x = torch.ones(4, 3)
    assert vmap(torch.sin, out_dims=-1)(x).shape == (3, 4) and vmap(torch.sin)(torch.zeros(0, 3)).shape == (
        0,
        3,
    )
    assert vmap(lambda a: torch.ones(3), out_dims=None)(x).shape == (3,)
    assert vmap(lambda a: torch.ones(3))(x).shape == (4, 3)
    for wrong, error in (
        (lambda: vmap(torch.zeros(3).add_)(x), RuntimeError),
        (lambda: vmap(torch.matmul)(x, torch.ones(4, 2)), RuntimeError),
        (lambda: vmap(lambda a: a, out_dims=5)(x), IndexError),
        (lambda: vmap(lambda a: a.sum(3))(x), IndexError),
        (lambda: vmap(lambda a: a, out_dims=None)(x), ValueError),
        (lambda: vmap(lambda a: 3)(x), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    assert torch.equal(torch.sin(x), x.sin())  # operators are nobody's any more


def test_ensembles():
    models = [torch.nn.Linear(3, 2) for _ in range(3)]
    x = torch.randn(5, 3)
    parameters, buffers = torch.func.stack_module_state(models)

    def call(parameters, buffers):
        return torch.func.functional_call(models[0], (parameters, buffers), (x,))

    expected = torch.stack([model(x) for model in models])
    torch.testing.assert_close(vmap(call)(parameters, buffers), expected)


def test_captured():
    x = torch.randn(4, 3)
    compiled = torch.compile(lambda x: vmap(lambda a: a.softmax(-1).sum() + a)(x), fullgraph=True)
    torch.testing.assert_close(compiled(x), x + 1)
