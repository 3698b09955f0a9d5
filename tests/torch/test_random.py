"""Random numbers: PyTorch 2.15's on the CPU, eager and in graphs.

source of the numbers: PyTorch 2.15.0 with the seeds that stand beside them.
"""

import copy
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft import nn
from weft.nn import functional as F

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def is_same(a, b):
    """Are the two trees of tensors equal, bit for bit?"""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(is_same(x, y) for x, y in zip(a, b))
    if isinstance(a, weft.Tensor):
        return a.dtype == b.dtype and a.tolist() == b.tolist()
    return a == b


# ---- numbers that PyTorch gave -------------------------------------------------------------------------------
RECORDED = [
    ("torch.rand(3, dtype=torch.float32)", [0.14904171, 0.48655313, 0.98566151], 0.16840142),
    ("torch.randn(3, dtype=torch.float32)", [0.73762947, 1.9459292, -0.69954163], 0.57212263),
    ("torch.randn(17, dtype=torch.float32)[:3]", [-0.51079756, 1.5727035, -1.6394645], 0.33817393),
    (
        "torch.empty(4, dtype=torch.float32).uniform_(-1.0, 2.7)",
        [-0.44854566, 0.8002466, 2.6469476, -0.37691474],
        0.58394343,
    ),
    (
        "torch.empty(3, dtype=torch.float32).exponential_(2.0)",
        [0.10680317, 1.0826844, 0.55668151],
        0.58308488,
    ),
    ("torch.empty(3, dtype=torch.float32).bernoulli_(0.5)", [1.0, 0.0, 0.0], 0.58308488),
    ("torch.multinomial(torch.tensor([0.1, 0.6, 0.2, 0.4], dtype=torch.float32), 2)", [0, 3], 0.57212263),
    (
        "F.dropout(torch.ones(6, dtype=torch.float32), 0.3)",
        [1.4285715, 0.0, 1.4285715, 1.4285715, 1.4285715, 1.4285715],
        0.2718876,
    ),
    ("torch.rand(3, dtype=torch.float64)", [0.1923337308, 0.8852923702, 0.6715475054], 0.58308488),
    ("torch.randn(3, dtype=torch.float64)", [0.7376294518, 1.945929152, -0.6995416096], 0.57212263),
    ("torch.randn(17, dtype=torch.float64)[:3]", [0.2783798459, 0.3706989281, -1.172470621], 0.12839806),
    (
        "torch.empty(4, dtype=torch.float64).uniform_(-1.0, 2.7)",
        [-0.2883651959, 2.27558177, 1.48472577, 1.459314121],
        0.57212263,
    ),
    (
        "torch.empty(3, dtype=torch.float64).exponential_(2.0)",
        [0.1068031695, 1.082684369, 0.5566815324],
        0.58308488,
    ),
    ("torch.empty(3, dtype=torch.float64).bernoulli_(0.5)", [1.0, 0.0, 0.0], 0.58308488),
    ("torch.multinomial(torch.tensor([0.1, 0.6, 0.2, 0.4], dtype=torch.float64), 2)", [0, 3], 0.57212263),
    (
        "F.dropout(torch.ones(6, dtype=torch.float64), 0.3)",
        [1.428571429, 0.0, 1.428571429, 1.428571429, 1.428571429, 1.428571429],
        0.2718876,
    ),
    ("torch.rand(3, dtype=torch.float16)", [0.14904785, 0.48657227, 0.98583984], 0.16840142),
    ("torch.randn(3, dtype=torch.float16)", [0.73779297, 1.9462891, -0.69970703], 0.57212263),
    ("torch.randn(17, dtype=torch.float16)[:3]", [-0.51074219, 0.2479248, 1.5722656], 0.24380445),
    (
        "torch.empty(4, dtype=torch.float16).uniform_(-1.0, 2.7)",
        [-0.44848633, 0.80029297, 2.6464844, -0.37695312],
        0.58394343,
    ),
    (
        "torch.empty(3, dtype=torch.float16).exponential_(2.0)",
        [0.10681152, 1.0830078, 0.55664062],
        0.58308488,
    ),
    ("torch.empty(3, dtype=torch.float16).bernoulli_(0.5)", [1.0, 0.0, 0.0], 0.58308488),
    ("torch.multinomial(torch.tensor([0.1, 0.6, 0.2, 0.4], dtype=torch.float16), 2)", [0, 3], 0.57212263),
    (
        "F.dropout(torch.ones(6, dtype=torch.float16), 0.3)",
        [1.4287109, 0.0, 1.4287109, 1.4287109, 1.4287109, 1.4287109],
        0.2718876,
    ),
    ("torch.rand(3, dtype=torch.bfloat16)", [0.14941406, 0.48632812, 0.984375], 0.16840142),
    ("torch.randn(3, dtype=torch.bfloat16)", [0.73828125, 1.9453125, -0.69921875], 0.57212263),
    ("torch.randn(17, dtype=torch.bfloat16)[:3]", [-0.51171875, 0.24804688, 1.5703125], 0.24380445),
    (
        "torch.empty(4, dtype=torch.bfloat16).uniform_(-1.0, 2.7)",
        [-0.44921875, 0.80078125, 2.640625, -0.37695312],
        0.58394343,
    ),
    (
        "torch.empty(3, dtype=torch.bfloat16).exponential_(2.0)",
        [0.10693359, 1.0859375, 0.55859375],
        0.58308488,
    ),
    ("torch.empty(3, dtype=torch.bfloat16).bernoulli_(0.5)", [1.0, 0.0, 0.0], 0.58308488),
    ("torch.multinomial(torch.tensor([0.1, 0.6, 0.2, 0.4], dtype=torch.bfloat16), 2)", [0, 3], 0.57212263),
    (
        "F.dropout(torch.ones(6, dtype=torch.bfloat16), 0.3)",
        [1.4296875, 0.0, 1.4296875, 1.4296875, 1.4296875, 1.4296875],
        0.2718876,
    ),
    (
        "torch.randn(6, 4).t()[0]",
        [-0.51079756, -0.18155447, 0.074439183, 0.77827471, 1.9112736, -0.048812769],
        0.29877454,
    ),
    ("torch.empty(4, 6).t().normal_()[0]", [0.73762947, 0.24618466, -0.23428439, 0.89288151], 0.58527434),
    ("torch.randn(2, dtype=torch.complex64).real", [0.52158278, -0.4946506], 0.57212263),
    ("torch.empty(3).normal_(1.0, 0.3)", [1.2212888, 1.5837787, 0.79013753], 0.57212263),
    ("torch.empty(18).normal_(1.0, 0.3)[-3:]", [1.3380231, 1.5733821, 1.0893712], 0.8847391),
    ("torch.empty(3).cauchy_(0.5, 1.7)", [-1.9624443, 5.011447, 1.5165648], 0.58308488),
    ("torch.empty(3).log_normal_(0.2, 0.7)", [2.0469289, 4.7690659, 0.74850368], 0.57212263),
    ("torch.empty(5).geometric_(0.3)", [5.0, 1.0, 2.0, 2.0, 2.0], 0.26933777),
    ("torch.randint(10, (5,))", [1, 9, 0, 7, 3], 0.69359916),
    ("torch.randint(-5, 2**40, (3,))", [657408249847, 346450702002, 348687213633], 0.58308488),
    ("torch.randint(2**28, (3,))", [24940223, 170597467, 28413879], 0.58308488),
    ("torch.randint(2, (6,), dtype=torch.bool)", [True, True, False, True, True, True], 0.58308488),
    ("torch.randint(100, (3,), dtype=torch.float16)", [41.0, 79.0, 20.0], 0.16840142),
    (
        "torch.zeros(3, dtype=torch.int64).random_()",
        [3325388913236545215, 359254775711865947, 8544873655684927415],
        0.58308488,
    ),
    ("torch.zeros(3, dtype=torch.uint8).random_()", [153, 191, 80], 0.16840142),
    ("torch.zeros(3).random_()", [2500459.0, 8162990.0, 16536652.0], 0.16840142),
    (
        "torch.zeros(3, dtype=torch.int64).random_(-(2**63), None)",
        [3325388913236545215, 359254775711865947, 8544873655684927415],
        0.58308488,
    ),
    ("torch.zeros(3).random_(7)", [4.0, 2.0, 0.0], 0.16840142),
    ("torch.randperm(8)", [1, 3, 2, 5, 0, 4, 7, 6], 0.12843776),
    ("torch.randperm(5, dtype=torch.int32)", [1, 4, 2, 0, 3], 0.58394343),
    (
        "torch.normal(torch.arange(3.0), torch.tensor([0.5, 1.0, 2.0]))",
        [0.36881474, 2.9459291, 0.60091674],
        0.57212263,
    ),
    ("torch.normal(1.0, 2.0, (3,))", [2.4752588, 4.8918581, -0.39908323], 0.57212263),
    ("torch.normal(torch.arange(3.0), 2.0)", [1.4752589, 4.8918581, 0.60091674], 0.57212263),
    ("torch.normal(1.0, torch.tensor([0.5, 1.0]))", [1.3688147, 2.9459291], 0.58394343),
    ("torch.bernoulli(torch.tensor([0.1, 0.5, 0.9, 0.5]))", [0.0, 1.0, 0.0, 1.0], 0.58394343),
    (
        "torch.bernoulli(torch.tensor([0.1, 0.5, 0.9, 0.5], dtype=torch.float64))",
        [0.0, 0.0, 1.0, 0.0],
        0.57212263,
    ),
    ("torch.bernoulli(torch.ones(4), 0.5)", [1.0, 0.0, 0.0, 0.0], 0.57212263),
    ("torch.zeros(4, dtype=torch.int64).bernoulli_(torch.full((4,), 0.5))", [1, 1, 0, 1], 0.58394343),
    ("torch.multinomial(torch.tensor([0.1, 0.6, 0.2]), 6, replacement=True)", [1, 2, 1, 1, 1, 1], 0.2718876),
    ("torch.multinomial(torch.tensor([[0.1, 0.6, 0.2], [0.3, 0.3, 0.3]]), 1)", [[0], [2]], 0.2718876),
    ("torch.poisson(torch.tensor([0.0, 0.5, 4.0, 30.0, 1000.0]))", [0.0, 0.0, 5.0, 23.0, 993.0], 0.83643413),
    (
        "torch.binomial(torch.tensor([5.0, 50.0, 500.0, 50.0, 0.0]), torch.tensor([0.5, 0.1, 0.4, 0.95, 0.5]))",
        [3.0, 3.0, 211.0, 46.0, 0.0],
        0.87750787,
    ),
    ("F.dropout2d(torch.ones(1, 6, 2, 2), 0.5)[0, :, 0, 0]", [2.0, 0.0, 0.0, 0.0, 0.0, 2.0], 0.2718876),
    (
        "F.alpha_dropout(torch.ones(5), 0.5, True)",
        [1.6655989, -0.77919394, -0.77919394, -0.77919394, -0.77919394],
        0.26933777,
    ),
    (
        "F.feature_alpha_dropout(torch.ones(1, 5, 2), 0.5, True)[0, :, 1]",
        [1.6655989, -0.77919394, -0.77919394, -0.77919394, -0.77919394],
        0.26933777,
    ),
    ("F.rrelu(-torch.ones(3), training=True)", [-0.16506954, -0.30943593, -0.26490575], 0.58308488),
    ("F.gumbel_softmax(torch.arange(3.0))", [0.37232986, 0.099840015, 0.52783012], 0.58308488),
    ("F.gumbel_softmax(torch.arange(3.0), hard=True)", [0.0, 0.0, 1.0], 0.58308488),
    ("torch.native_dropout(torch.ones(5), 0.5, True)[0]", [2.0, 0.0, 0.0, 0.0, 0.0], 0.26933777),
    (
        "nn.Linear(3, 2).weight",
        [[-0.40525171, -0.015527105, 0.56079358], [-0.38289705, 0.09692952, 0.22354905]],
        0.57212263,
    ),
    ("nn.Linear(3, 2).bias", [0.095938154, -0.42904311], 0.57212263),
    ("nn.Conv2d(1, 1, 2).weight.flatten()", [-0.35095829, -0.013446867, 0.48566151, -0.33159858], 0.69359916),
    (
        "nn.ConvTranspose1d(2, 1, 2).weight.flatten()",
        [-0.49632996, -0.019016743, 0.68682909, -0.4689512],
        0.69359916,
    ),
    (
        "nn.Embedding(3, 2).weight",
        [[0.73762947, 1.9459292], [-0.69954163, -1.3022974], [-0.51326221, -0.26961955]],
        0.2718876,
    ),
    ("nn.LSTM(1, 1).weight_hh_l0.flatten()", [0.16788685, 0.38719833, 0.16616976, -0.74312449], 0.10250282),
    ("nn.GRUCell(1, 1).weight_ih.flatten()", [-0.70191658, -0.026893735, 0.97132301], 0.2718876),
    ("nn.Bilinear(1, 2, 1).weight.flatten()", [-0.70191658, -0.026893735], 0.16840142),
    ("nn.MultiheadAttention(2, 1).in_proj_weight[0]", [0.14390723, -0.64356464], 0.8035419),
    ("nn.MultiheadAttention(2, 1).out_proj.weight[0]", [-0.49632996, -0.019016743], 0.8035419),
    (
        "nn.TransformerEncoderLayer(2, 1, 2).linear1.weight",
        [[0.42927307, 0.37518626], [0.52453643, 0.31544742]],
        0.87750787,
    ),
    (
        "nn.Transformer(2, 1, 1, 1, 2).encoder.layers[0].linear1.weight",
        [[0.6919325, 1.2094084], [1.006922, -0.6661557]],
        0.99267048,
    ),
    (
        "nn.init.trunc_normal_(torch.empty(4), std=0.02)",
        [0.014752589, 0.038918585, -0.013990832, -0.026045948],
        0.57212263,
    ),
    (
        "nn.init.trunc_normal_(torch.empty(4), 0.0, 10.0, -1.0, 1.0)",
        [-0.70191658, -0.026893735, 0.97132301, -0.66319716],
        0.57212263,
    ),
    (
        "nn.init.xavier_normal_(torch.empty(2, 2))",
        [[0.52158278, 1.3759797], [-0.4946506, -0.92086333]],
        0.57212263,
    ),
    (
        'nn.init.kaiming_uniform_(torch.empty(2, 2), mode="fan_out", nonlinearity="relu")',
        [[-1.2157551, -0.046581313], [1.6823808, -1.1486912]],
        0.58394343,
    ),
    (
        "nn.init.sparse_(torch.empty(4, 1), 0.5).flatten()",
        [0.0073762946, 0.0, -0.0069954162, 0.0],
        0.78245687,
    ),
    ("nn.init.orthogonal_(torch.empty(2, 1)).flatten()", [0.35445189, 0.93507421], 0.58394343),
]


@pytest.mark.parametrize("code, expected, after", RECORDED, ids=[code for code, _, _ in RECORDED])
def test_numbers_are_pytorchs(code, expected, after):
    """And the stream goes on as PyTorch's does."""
    torch.manual_seed(11)
    result = eval(code)
    if result.dtype in (torch.float16, torch.bfloat16):
        result = result.to(torch.float32)
    assert np.array(result.tolist()) == pytest.approx(np.array(expected), rel=1e-6, abs=1e-12)
    assert torch.rand(1).item() == pytest.approx(after, rel=1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sizes_around_blocks(dtype):
    """Numbers of a larger tensor begin with those of a smaller one up to the last whole block."""
    for size in (16, 32, 48):
        torch.manual_seed(3)
        few = torch.randn(size, dtype=dtype)
        torch.manual_seed(3)
        assert torch.randn(size + 32, dtype=dtype)[:size].tolist() == few.tolist()
    for size in (0, 1, 15):
        assert torch.randn(size, dtype=dtype).shape == (size,)


def test_memory_order_is_the_streams():
    x = torch.empty(4, 6).t()
    torch.manual_seed(1)
    x.uniform_()
    torch.manual_seed(1)
    assert is_same(x.t(), torch.rand(4, 6))
    parts = torch.zeros(3, 8)[:, ::2]
    torch.manual_seed(1)
    parts.exponential_()
    torch.manual_seed(1)
    assert is_same(parts, torch.empty(3, 4).exponential_())


def test_normal_numbers_in_the_shape_of_a_part():
    """A new tensor lies in one piece; a part that is filled in place does not."""
    part = torch.zeros(20, 4)[:, ::2]
    torch.manual_seed(1)
    expected = torch.randn(20, 2)
    torch.manual_seed(1)
    assert is_same(torch.randn_like(part), expected)
    torch.manual_seed(1)
    assert not is_same(part.normal_(), expected)


# ---- generators ----------------------------------------------------------------------------------------------
def test_seeds():
    assert torch.manual_seed(2**63 + 7) is torch.default_generator
    assert torch.initial_seed() == 2**63 + 7
    torch.manual_seed(-3)
    assert torch.initial_seed() == 2**64 - 3
    assert torch.seed() == torch.initial_seed()
    generator = torch.Generator()
    assert generator.initial_seed() == 67280421310721
    assert str(generator.device) == "cpu"
    assert generator.manual_seed(5) is generator


def test_states_go_back_and_to_other_generators():
    torch.manual_seed(2)
    torch.randn(3)
    state = torch.get_rng_state()
    assert state.dtype == torch.uint8 and state.shape == (5056,)
    first = (torch.randn(2), torch.rand(700))
    torch.set_rng_state(state)
    assert is_same(first, (torch.randn(2), torch.rand(700)))
    other = torch.Generator()
    other.set_state(state)
    assert is_same(first, (torch.randn(2, generator=other), torch.rand(700, generator=other)))
    # The fields of PyTorch's layout: seed, numbers left, seeded, next number; the number behind a pair's first.
    fields = np.array(state.tolist(), dtype=np.uint8).tobytes()
    assert np.frombuffer(fields[:8], np.uint64)[0] == 2
    assert np.frombuffer(fields[8:24], np.int32).tolist() == [625 - 8, 1, 8, 0]
    assert np.frombuffer(fields[5040:5044], np.int32)[0] == 1


@pytest.mark.parametrize(
    "copied", [lambda g: g.clone_state(), copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_of_generators_go_on_alike(copied):
    generator = torch.Generator().manual_seed(9)
    torch.randn(1, generator=generator)
    other = copied(generator)
    assert is_same(torch.randn(3, generator=generator), torch.randn(3, generator=other))


def test_generators_do_not_touch_the_default_one():
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    torch.rand(100, generator=torch.Generator())
    assert is_same(expected, torch.rand(3))


def test_fork_rng():
    torch.manual_seed(4)
    with torch.random.fork_rng():
        inner = torch.rand(3)
    assert is_same(inner, torch.rand(3))
    with torch.random.fork_rng(enabled=False):
        inner = torch.rand(3)
    assert not is_same(inner, torch.rand(3))


def test_a_new_process_has_a_seed_of_its_own():
    code = "import weft.torch as torch; print(torch.initial_seed())"
    env = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    seeds = {subprocess.check_output([sys.executable, "-c", code], env=env) for _ in range(2)}
    assert len(seeds) == 2


def test_threads_share_a_generator_number_by_number():
    torch.manual_seed(6)
    expected = sorted(torch.rand(4000).tolist())
    torch.manual_seed(6)
    drawn = []

    def draw():
        for _ in range(100):
            drawn.extend(torch.rand(10).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == expected


# ---- wrong arguments -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: torch.rand(-1), RuntimeError, "must not be negative"),
        (lambda: torch.rand(3, dtype=torch.int64), NotImplementedError, "not implemented for int64"),
        (lambda: torch.randn(3, dtype=torch.bool), NotImplementedError, "not implemented for bool"),
        (lambda: torch.rand(3, generator=3), TypeError, "expected a Generator, got int"),
        (lambda: torch.randint(5, 5, (3,)), RuntimeError, "less than 'to'"),
        (lambda: torch.randint(300, (3,), dtype=torch.uint8), RuntimeError, "out of bounds for uint8"),
        (lambda: torch.randint(-1, 3, (3,), dtype=torch.uint8), RuntimeError, "out of bounds for uint8"),
        (lambda: torch.randint(5.5, (3,)), TypeError, "must be an int"),
        (lambda: torch.randperm(-1), RuntimeError, "must not be negative"),
        (lambda: torch.randperm(300, dtype=torch.uint8), RuntimeError, "do not fit into uint8"),
        (lambda: torch.zeros(3).uniform_(2, 1), RuntimeError, r"low=2 > high=1"),
        (lambda: torch.zeros(3).normal_(0, -1), RuntimeError, "std >= 0.0, got std -1"),
        (lambda: torch.zeros(3).exponential_(0), RuntimeError, "lambd > 0, got 0"),
        (lambda: torch.zeros(3).cauchy_(0, 0), RuntimeError, "sigma > 0"),
        (lambda: torch.zeros(3).log_normal_(0, 0), RuntimeError, "std > 0"),
        (lambda: torch.zeros(3).geometric_(1), RuntimeError, r"p to be in \(0, 1\)"),
        (lambda: torch.zeros(3).bernoulli_(2), RuntimeError, r"p to be in \[0, 1\]"),
        (lambda: torch.zeros(3, dtype=torch.int64).exponential_(), RuntimeError, "not implemented for int64"),
        (lambda: torch.zeros(1).expand(3).normal_(), RuntimeError, "one in memory"),
        (lambda: torch.bernoulli(torch.tensor([2.0])), RuntimeError, "got 2"),
        (lambda: torch.bernoulli(torch.tensor([1])), NotImplementedError, "int64"),
        (lambda: torch.multinomial(torch.tensor([0.0, 0.0]), 1), RuntimeError, "sum of probabilities <= 0"),
        (lambda: torch.multinomial(torch.tensor([1.0, -1.0]), 2, True), RuntimeError, "entry < 0"),
        (lambda: torch.multinomial(torch.tensor([1.0, 2.0]), 3), RuntimeError, "without replacement"),
        (lambda: torch.multinomial(torch.tensor([1.0, 2.0]), 0), RuntimeError, "cannot draw 0 samples"),
        (lambda: torch.multinomial(torch.tensor([1, 2]), 1), RuntimeError, "int64"),
        (lambda: torch.poisson(torch.tensor([-1.0])), RuntimeError, "non-negative"),
        (lambda: torch.binomial(torch.tensor([3]), torch.tensor([0.2])), ValueError, "int64"),
        (lambda: torch.normal(torch.zeros(2), torch.tensor([-1.0, 1.0])), RuntimeError, "std to be >= 0.0"),
        (lambda: torch.normal(0.0, 1.0), TypeError, "or a size"),
        (lambda: F.dropout(torch.ones(3), 2.0), ValueError, "between 0 and 1"),
        (lambda: F.dropout(torch.ones(3, dtype=torch.int64)), RuntimeError, "int64"),
        (lambda: F.dropout1d(torch.ones(3)), RuntimeError, "two or three dimensions"),
        (lambda: torch.Generator("cuda"), RuntimeError, "expected device 'cpu'"),
        (lambda: torch.Generator().manual_seed(1.5), RuntimeError, "expected an int"),
        (lambda: torch.manual_seed(2**64), ValueError, "64 bits"),
        (lambda: torch.set_rng_state(torch.zeros(100, dtype=torch.uint8)), RuntimeError, "5056 bytes"),
        (
            lambda: torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8)),
            RuntimeError,
            "invalid mt19937 state",
        ),
        (lambda: torch.set_rng_state(torch.zeros(5056)), TypeError, "uint8"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- modules -------------------------------------------------------------------------------------------------
def test_dropout_in_eval_mode_draws_nothing():
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    x = torch.ones(3)
    assert F.dropout(x, 0.5, False) is x and nn.Dropout(0.3).eval()(x) is x and F.dropout(x, 0.0) is x
    assert is_same(expected, torch.rand(2))


def test_dropout_in_place():
    x = torch.ones(100)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) == {0.0, 2.0}
    assert torch.dropout_(x, 0.5, True) is x


def test_layers_between_which_dropout_stands_are_those_without():
    """In eval mode the states of all layers come in one call, in training mode layer by layer."""
    torch.manual_seed(0)
    x = torch.rand(5, 3, 4)
    for make in (nn.LSTM, nn.GRU, nn.RNN):
        for first in (False, True):
            net = make(4, 6, 3, dropout=1e-300, bidirectional=True, batch_first=first)
            expected, states = net.eval()(x)
            output, ends = net.train()(x)
            assert np.allclose(np.asarray(output), np.asarray(expected), atol=1e-6)
            for a, b in zip(
                states if isinstance(states, tuple) else [states], ends if isinstance(ends, tuple) else [ends]
            ):
                assert np.allclose(np.asarray(a), np.asarray(b), atol=1e-6)


def test_attention_with_dropout():
    torch.manual_seed(0)
    q, k, v = torch.rand(2, 3, 4), torch.rand(2, 5, 4), torch.rand(2, 5, 4)
    torch.manual_seed(1)
    result = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    torch.manual_seed(1)
    weights = F.dropout((q @ k.transpose(1, 2) / 2).softmax(-1), 0.5)
    assert np.allclose(np.asarray(result), np.asarray(weights @ v), atol=1e-6)


def test_a_script_draws_what_a_module_draws():
    net = nn.Sequential(nn.Dropout(0.4), nn.AlphaDropout(0.3), nn.RReLU(), nn.Dropout2d(0.2))
    x = torch.arange(40.0).reshape(2, 5, 2, 2) - 20
    torch.manual_seed(3)
    expected = [net(x) for _ in range(3)]
    for function in (weft.jit.script(net), weft.jit.trace(net, (x,), check_trace=False)):
        torch.manual_seed(3)
        assert is_same([function(x) for _ in range(3)], expected)


# ---- graphs --------------------------------------------------------------------------------------------------
def two_of_a_kind(x):
    return torch.rand(3) - torch.rand(3)


def dead_results(x):
    torch.rand(7)
    torch.normal(x, 1.0)
    return x + 1


def no_results(x):
    torch.rand(7)


def functions(x):
    return (
        torch.rand(20) + x,
        torch.randn(5, dtype=torch.float64),
        torch.randint(5, (4,)),
        torch.randperm(6),
        torch.bernoulli(x.clamp(0, 1)),
        torch.multinomial(x.abs() + 0.1, 2),
        torch.poisson(x.abs()),
        torch.binomial(x.abs() * 10, x.clamp(0, 1)),
        torch.normal(x, x.abs()),
        torch.rand_like(x),
        torch.randint_like(x, 5),
    )


def in_place(x):
    y = x.clone()
    y.uniform_()
    z = y * 2
    y.normal_(1, 2)
    x.copy_(y.sort()[0])
    return y, z, torch.zeros(3).bernoulli_(0.3), torch.empty(4).exponential_(), torch.zeros(9).random_(50)


def seeded_within(x):
    torch.manual_seed(3)
    a = torch.rand(2)
    torch.manual_seed(3)
    return a, torch.rand(2)


def states_within(x):
    state = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        b = torch.rand(2)
    return a, b, torch.rand(2)


def unrolled(x):
    for _ in range(4):
        x = x * torch.rand(20)
    return x


def dropped(x):
    return F.dropout(x, 0.3), F.rrelu(x, training=True), F.alpha_dropout(x, 0.2, True)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
@pytest.mark.parametrize(
    "function",
    [
        two_of_a_kind,
        dead_results,
        no_results,
        functions,
        in_place,
        seeded_within,
        states_within,
        unrolled,
        dropped,
    ],
    ids=lambda function: function.__name__,
)
def test_compiled_calls_give_the_sequence_of_eager_ones(function, mode):
    """Among eager calls that draw, too."""
    compiled = (
        weft.compile(function, fullgraph=True, mode=mode) if mode else weft.compile(function, fullgraph=True)
    )

    def sequence(called):
        torch.manual_seed(5)
        results = []
        for _ in range(4):
            x = torch.arange(20.0) / 10 - 1
            results.append((called(x), x, torch.rand(1)))
        return results

    assert is_same(sequence(function), sequence(compiled))


def sizes(x, n, p):
    return (
        torch.rand(x.shape[0]),
        torch.randn_like(x),
        torch.randint(0, n, (4,)),
        torch.randperm(n),
        F.dropout(x, p),
    )


def seeds(x, n, p):
    torch.manual_seed(n)
    return torch.rand(3)


@pytest.mark.parametrize("function", [sizes, seeds], ids=lambda function: function.__name__)
def test_sizes_and_numbers_change_from_call_to_call(function):
    compiled = weft.compile(function, fullgraph=True)
    results = []
    for called in (function, compiled):
        torch.manual_seed(5)
        results.append([called(torch.ones(n + 1), n, 1 / n) for n in (3, 4, 20, 33, 7)])
    assert is_same(*results)


def test_a_generator_is_an_argument_of_a_graph():
    def function(x, generator):
        return x + torch.rand(3, generator=generator), torch.randperm(5, generator=generator), torch.rand(2)

    compiled = weft.compile(function, fullgraph=True)
    results = []
    for called in (function, compiled):
        torch.manual_seed(5)
        generators = [torch.Generator().manual_seed(i) for i in range(4)] + [torch.default_generator]
        results.append([called(torch.ones(3), each) for each in generators for _ in range(2)])
    assert is_same(*results)


def test_a_module_in_training_mode_is_compiled():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.4), nn.TransformerEncoderLayer(8, 2, 16))
    compiled = weft.compile(net, fullgraph=True)
    x = torch.rand(3, 2, 8)
    torch.manual_seed(5)
    expected = [net(x) for _ in range(3)]
    torch.manual_seed(5)
    for each in expected:
        assert np.allclose(np.asarray(compiled(x)), np.asarray(each), atol=1e-5)


def test_graphs_draw_from_threads_number_by_number():
    compiled = weft.compile(lambda x: torch.rand(10) * x, fullgraph=True)
    x = torch.ones(10)
    compiled(x)
    torch.manual_seed(6)
    expected = sorted(torch.rand(2000).tolist())
    torch.manual_seed(6)
    drawn = []

    def draw():
        for _ in range(50):
            drawn.extend(compiled(x).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == expected


def test_wrong_weights_are_refused_in_graphs_too():
    compiled = weft.compile(lambda x: torch.multinomial(x, 1))
    assert compiled(torch.tensor([0.0, 1.0])).tolist() == [1]
    with pytest.raises(RuntimeError, match="sum of probabilities"):
        compiled(torch.tensor([0.0, 0.0]))


@pytest.mark.parametrize("own", [False, True], ids=["default generator", "own generator"])
def test_a_call_that_fails_draws_its_numbers_once(own):
    def draw(x, index, generator):
        noise = torch.rand(3, generator=generator)
        return noise + x[index] + torch.randn(3, generator=generator)

    x, results = torch.arange(12.0).reshape(4, 3), []
    for function in (draw, torch.compile(draw, fullgraph=True)):
        generator = torch.Generator() if own else None
        (generator.manual_seed if own else torch.manual_seed)(5)
        for index in (0, 1, 2):
            results.append(function(x, torch.tensor([index]), generator))
        with pytest.raises(IndexError):
            function(x, torch.tensor([9]), generator)
        results.append(torch.rand(4, generator=generator))
        results.append(function(x, torch.tensor([3]), generator))
    for plain, compiled in zip(results[:5], results[5:], strict=True):
        assert torch.equal(plain, compiled)
