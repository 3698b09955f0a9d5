"""torch.special: known values, borders, dtypes, layouts, wrong arguments, and special functions within compiled graphs."""

import math

import pytest
import weft
import weft.torch as torch

special = torch.special
INF, NAN = math.inf, math.nan

# At 0.1, 0.5, 1, 2 and 3.
POINTS = [0.1, 0.5, 1.0, 2.0, 3.0]
VALUES = {
    "airy_ai": [0.329203129943538, 0.231693606480833, 0.135292416312881, 0.0349241304232743, 0.00659113935746072],
    "bessel_j0": [0.99750156206604, 0.938469807240813, 0.765197686557967, 0.223890779141236, -0.260051954901933],
    "bessel_j1": [0.049937526036242, 0.242268457674874, 0.440050585744934, 0.576724807756873, 0.339058958525936],
    "bessel_y0": [-1.53423865135037, -0.444518733506707, 0.088256964215677, 0.510375672649745, 0.376850010012791],
    "bessel_y1": [-6.45895109470203, -1.47147239267024, -0.781212821300289, -0.107032431540938, 0.324674424791800],
    "digamma": [-10.4237549404111, -1.96351002602142, -0.577215664901533, 0.422784335098467, 0.922784335098467],
    "entr": [0.230258509299405, 0.346573590279973, 0.0, -1.38629436111989, -3.29583686600433],
    "erfcx": [0.896456979969127, 0.615690344192926, 0.427583576155807, 0.255395676310506, 0.17900115118139],
    "gammaln": [2.25271265173421, 0.5723649429247, 0.0, 0.0, 0.693147180559945],
    "i0e": [0.907100925782301, 0.64503527044915, 0.46575960759364, 0.308508322553671, 0.243000354161825],
    "i1": [0.0500625260470927, 0.257894305390896, 0.565159103992485, 1.59063685463733, 3.95337021740261],
    "i1e": [0.0452984468088093, 0.156420803184872, 0.207910415349708, 0.215269289248938, 0.196826713297301],
    "log_ndtr": [-0.616505010115026, -0.368946415288656, -0.17275377902345, -0.0230129093289635, -0.00135080996474819],
    "modified_bessel_i0": [1.0025015629341, 1.06348337074132, 1.26606587775201, 2.27958530233607, 4.88079258586502],
    "modified_bessel_i1": [0.0500625260470927, 0.257894305390896, 0.565159103992485, 1.59063685463733, 3.95337021740261],
    "modified_bessel_k0": [2.42706902470202, 0.924419071227666, 0.421024438240708, 0.113893872749533, 0.0347395043862792],
    "modified_bessel_k1": [9.85384478087061, 1.6564411200033, 0.601907230197235, 0.139865881816522, 0.0401564311281942],
    "ndtr": [0.539827837277029, 0.691462461274013, 0.841344746068543, 0.977249868051821, 0.99865010196837],
    "scaled_modified_bessel_k0": [2.68232610226289, 1.52410938577391, 1.14446307980689, 0.841568215070771, 0.697761598043852],
    "scaled_modified_bessel_k1": [10.8901826830497, 2.73100970821179, 1.63615348626326, 1.03347684706869, 0.806563480128787],
    "spherical_bessel_j0": [0.998334166468282, 0.958851077208406, 0.841470984807897, 0.454648713412841, 0.0470400026866224],
}  # fmt: skip
POLYNOMIALS = {
    # The polynomials of degree 0 to 4 at x.
    "chebyshev_polynomial_t": lambda x: [1, x, 2 * x**2 - 1, 4 * x**3 - 3 * x, 8 * x**4 - 8 * x**2 + 1],
    "chebyshev_polynomial_u": lambda x: [1, 2 * x, 4 * x**2 - 1, 8 * x**3 - 4 * x, 16 * x**4 - 12 * x**2 + 1],
    "chebyshev_polynomial_v": lambda x: [1, 2 * x - 1, 4 * x**2 - 2 * x - 1, 8 * x**3 - 4 * x**2 - 4 * x + 1],
    "chebyshev_polynomial_w": lambda x: [1, 2 * x + 1, 4 * x**2 + 2 * x - 1, 8 * x**3 + 4 * x**2 - 4 * x - 1],
    "hermite_polynomial_h": lambda x: [1, 2 * x, 4 * x**2 - 2, 8 * x**3 - 12 * x, 16 * x**4 - 48 * x**2 + 12],
    "hermite_polynomial_he": lambda x: [1, x, x**2 - 1, x**3 - 3 * x, x**4 - 6 * x**2 + 3],
    "laguerre_polynomial_l": lambda x: [1, 1 - x, x**2 / 2 - 2 * x + 1, -(x**3) / 6 + 1.5 * x**2 - 3 * x + 1],
    "legendre_polynomial_p": lambda x: [1, x, (3 * x**2 - 1) / 2, (5 * x**3 - 3 * x) / 2],
}


def close(actual, expected, tolerance=1e-13):
    assert actual.tolist() == pytest.approx(expected, rel=tolerance, abs=tolerance * 0.1, nan_ok=True)


@pytest.mark.parametrize("name", VALUES)
def test_known_values(name):
    function = getattr(special, name)
    close(function(torch.tensor(POINTS, dtype=torch.float64)), VALUES[name])
    single = function(torch.tensor(POINTS))
    assert single.dtype == torch.float32
    close(single, VALUES[name], 1e-6)
    integers = function(torch.tensor([1, 2, 3]))
    assert integers.dtype == torch.float32
    close(integers, VALUES[name][2:], 1e-6)


@pytest.mark.parametrize(
    "name, values",
    {
        "airy_ai": [0.355028053887817, NAN, NAN, NAN, 0.535560883292352],
        "bessel_j0": [1, NAN, NAN, NAN, 0.765197686557967],
        "bessel_j1": [0, NAN, NAN, NAN, -0.440050585744934],
        "bessel_y0": [-INF, NAN, NAN, NAN, NAN],
        "bessel_y1": [-INF, NAN, NAN, NAN, NAN],
        "entr": [0, -INF, -INF, NAN, -INF],
        "erfcx": [1, 0, INF, NAN, 5.00898008076228],
        "i0e": [1, 0, 0, NAN, 0.46575960759364],
        "i1": [0, NAN, NAN, NAN, -0.565159103992485],
        "i1e": [0, 0, 0, NAN, -0.207910415349708],
        "log_ndtr": [-0.693147180559945, 0, -INF, NAN, -1.84102164500926],
        "modified_bessel_k0": [INF, 0, NAN, NAN, NAN],
        "modified_bessel_k1": [INF, 0, NAN, NAN, NAN],
        "ndtr": [0.5, 1, 0, NAN, 0.158655253931457],
        "ndtri": [-INF, NAN, NAN, NAN, NAN],
        "spherical_bessel_j0": [1, 0, 0, NAN, 0.841470984807897],
    }.items(),
)
def test_borders(name, values):
    close(getattr(special, name)(torch.tensor([0, INF, -INF, NAN, -1], dtype=torch.float64)), values)


def test_far_arguments():
    x = torch.tensor([-20.5, 100.0, 700.0], dtype=torch.float64)
    close(special.airy_ai(x[:1]), [-0.0446257], 1e-5)
    close(special.i0e(x), [0.0886643939459, 0.0399443770, 0.01508129], 1e-6)
    close(special.scaled_modified_bessel_k0(x[1:]), [0.1251756216591, 0.0473619], 1e-5)
    close(special.erfcx(x[1:]), [0.00564161378299, 0.000805984], 1e-5)
    close(special.log_ndtr(-x[1:]), [-5005.5242086942, -245007.470061634], 1e-9)


def test_ndtri_inverts_ndtr():
    p = torch.tensor([1e-300, 1e-20, 0.001, 0.1, 0.5, 0.9, 0.975], dtype=torch.float64)
    close(special.ndtri(p)[2:], [-3.09023230616781, -1.2815515655446, 0, 1.2815515655446, 1.95996398454005])
    close(special.log_ndtr(special.ndtri(p)).exp(), p.tolist(), 1e-12)
    close(special.ndtri(torch.tensor([0.0, 1.0, 2.0])), [-INF, INF, NAN])


def test_zeta_and_gamma_functions():
    double = torch.float64
    x, q = (
        torch.tensor([2, 1.5, 3, 10, 2, 1, 0.5], dtype=double),
        torch.tensor([1, 2, 0.5, 1, -0.5, 2, 2], dtype=double),
    )
    close(special.zeta(x, q), [1.6449340668482264, 1.6123753486854883, 8.414398322117158, 1.0009945751278182,
                               8.934802200544679, INF, NAN])  # fmt: skip
    a, b = (
        torch.tensor([0.5, 1, 3, 10, 0, 2], dtype=double),
        torch.tensor([0.5, 2, 1, 12, 1, -1], dtype=double),
    )
    close(
        special.gammainc(a, b),
        [0.6826894921370859, 0.8646647167633873, 0.08030139707139418, 0.7576078383294875, 1, NAN],
    )
    close(
        special.gammaincc(a, b),
        [0.3173105078629141, 0.1353352832366127, 0.9196986029286058, 0.2423921616705125, 0, NAN],
    )
    # 1 - P cancels where Q is small.
    close(
        special.gammaincc(torch.tensor([2.0], dtype=double), torch.tensor([50.0], dtype=double)),
        [51 * math.exp(-50)],
    )


def test_polygamma():
    x = torch.tensor(POINTS, dtype=torch.float64)
    close(torch.polygamma(0, x), VALUES["digamma"])
    close(
        torch.polygamma(1, x)[1:], [math.pi**2 / 2, math.pi**2 / 6, math.pi**2 / 6 - 1, math.pi**2 / 6 - 1.25]
    )
    close(torch.polygamma(2, x)[2:], [-2.4041138063191886, -0.4041138063191886, -0.15411380631918856])
    close(x.polygamma(3)[2:], [math.pi**4 / 15, math.pi**4 / 15 - 6, math.pi**4 / 15 - 6.375], 1e-12)
    y = x.clone()
    assert y.polygamma_(1) is y
    close(y, torch.polygamma(1, x).tolist())
    with pytest.raises(TypeError, match="argument 'n'"):
        torch.polygamma(x, 1)
    with pytest.raises(RuntimeError, match="negative n"):
        torch.polygamma(-1, x)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.tensor([1]).polygamma_(1)


def test_mvlgamma():
    x = torch.tensor([3.0, 5.5], dtype=torch.float64)
    close(special.multigammaln(x, 2), [1.5501949939575645, 7.708232740891363])
    close(torch.mvlgamma(x, 1), torch.lgamma(x).tolist())
    with pytest.raises(RuntimeError, match="p has to be"):
        x.mvlgamma(0)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    function = getattr(special, name)
    for x in (-1.7, -0.3, 0.4, 2.5):
        expected = POLYNOMIALS[name](x)
        degrees = torch.arange(len(expected))
        point = torch.tensor(x, dtype=torch.float64)
        close(function(point, degrees), expected, 1e-12)
        if "shifted_" + name in special.__dict__:
            close(getattr(special, "shifted_" + name)((point + 1) / 2, degrees), expected, 1e-12)
    assert function(torch.tensor([0.5]), -1).tolist() == [0]
    assert function(torch.tensor([0.5]), 2.9).tolist() == function(torch.tensor([0.5]), 2).tolist()
    assert function(torch.tensor([1, 2]), torch.tensor([1, 1])).dtype == torch.float32


def test_chebyshev_of_high_degree():
    x = torch.tensor([0.3, 0.9, 1.0, -1.0, 1.01], dtype=torch.float64)
    angle = math.acos(0.3)
    close(special.chebyshev_polynomial_t(x, 30)[:1], [math.cos(30 * angle)], 1e-12)
    close(special.chebyshev_polynomial_u(x, 30)[:1], [math.sin(31 * angle) / math.sin(angle)], 1e-12)
    assert special.chebyshev_polynomial_w(x, 31)[2:4].tolist() == [63, -1]
    close(special.chebyshev_polynomial_t(x, 30)[4:], [math.cosh(30 * math.acosh(1.01))], 1e-11)


def test_complex_exponentials():
    z = torch.tensor([0.5 + 0.25j, -1e-3 + 2e-3j, 2 - 3j], dtype=torch.complex128)
    values = z.tolist()
    import cmath

    for got, value in zip(torch.expm1(z).tolist(), values):
        assert got == pytest.approx(cmath.exp(value) - 1, rel=1e-12)
    for got, value in zip(torch.log1p(z).tolist(), values):
        assert got == pytest.approx(cmath.log(1 + value), rel=1e-12)
    for got, value in zip(torch.exp2(z).tolist(), values):
        assert got == pytest.approx(2**value, rel=1e-12)
    for got, value in zip(torch.special.expit(z).tolist(), values):
        assert got == pytest.approx(1 / (1 + cmath.exp(-value)), rel=1e-12)
    for got, value in zip(torch.sinc(z).tolist(), values):
        assert got == pytest.approx(cmath.sin(cmath.pi * value) / (cmath.pi * value), rel=1e-12)


def test_logit_of_sixteen_bits_rounds_in_between():
    x = torch.tensor([0.47], dtype=torch.bfloat16)
    assert torch.logit(x).tolist() == torch.log(x / (1 - x)).tolist() == x.logit().tolist()
    assert torch.logit(torch.tensor([0.0, 1.0]), eps=0.25).tolist() == pytest.approx(
        [math.log(1 / 3), math.log(3)]
    )


def test_over_a_dimension():
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    parts = special.softmax(x, 1).reshape(-1)
    close(
        parts,
        [1 / (1 + math.e), math.e / (1 + math.e), 1 / (1 + math.e**2), math.e**2 / (1 + math.e**2)],
        1e-6,
    )
    assert special.softmax(torch.tensor([1, 1]), 0, dtype=torch.float64).tolist() == [0.5, 0.5]
    assert special.log_softmax(torch.tensor(3.0), 0).item() == 0
    assert special.logsumexp(torch.zeros(2, 3), (0, 1)).item() == pytest.approx(math.log(6))
    assert special.logsumexp(torch.zeros(0, 2), 0).tolist() == [-INF, -INF]
    with pytest.raises(NotImplementedError):
        special.softmax(torch.tensor([1, 1]), 0)
    with pytest.raises(IndexError):
        special.log_softmax(torch.tensor(3.0), 1)


def test_layouts_and_empty_tensors():
    x = torch.arange(12).to(torch.float32).reshape(3, 4) / 4
    for operand in (x.t(), x[:, ::2], x[0, 0], torch.empty(0), x.expand(2, 3, 4)):
        got = special.i1e(operand)
        assert got.shape == operand.shape
        assert got.tolist() == special.i1e(operand.contiguous()).tolist()


def test_half_precision():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([0.5, 1.5], dtype=dtype)
        for name in ("i0e", "i1", "i1e", "entr", "ndtr", "digamma"):
            got = getattr(special, name)(x)
            assert got.dtype == dtype
            close(got.to(torch.float32), getattr(special, name)(x.to(torch.float32)).tolist(), 1e-2)


ALL = [
    *VALUES, "ndtri", "expm1", "log1p", "sinc", "expit",
]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_compiled_unary(name):
    function = getattr(special, name)

    def program(x):
        return function(x * 0.5) * 2 + x

    x = torch.tensor([0.1, 0.5, 1.0, 1.9, 0.7, 0.3, 0.2, 1.4, 0.9])
    assert weft.compile(program, fullgraph=True)(x).tolist() == program(x).tolist()


@pytest.mark.parametrize("name", [*POLYNOMIALS, "zeta", "gammainc", "gammaincc", "xlog1py"])
def test_compiled_binary(name):
    function = getattr(special, name)

    def program(x, n):
        return function(x + 1, n) * 2

    x, n = torch.tensor([0.1, 0.5, 1.0, 1.9, 0.7]), torch.tensor([0, 1, 2, 3, 11])
    assert weft.compile(program, fullgraph=True)(x, n).tolist() == program(x, n).tolist()
