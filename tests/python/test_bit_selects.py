"""Choices between an array and bits of it joined with others': what AVX-512 does in one masked instruction, which LLVM 19
gets wrong. The same in half precision, whose signs and roundings are such bits."""

import numpy as np
import pytest
import test_ops_reference
import weft
from support.tiers import long_but

MASKS = [7, 0xF0, 0x7FFF, 0x55]
# c: truth values; {m}: the constant, {n}: its complement.
FORMS = """
np.where(c, x, (a & {m}) | (x & {n})); np.where(c, x, (x & {m}) | (a & {n})); np.where(c, a, (a & {m}) | (x & {n})); np.where(c, (a & {m}) | (x & {n}), x)
np.where(c, (a & {m}) | (x & {n}), a); np.where(c, x, x ^ ((x ^ a) & {m})); np.where(c, x, a ^ ((x ^ a) & {m})); np.where(c, x, (a & {m}) + (x & {n}))
np.where(x > a, x, (a & {m}) | (x & {n})); np.where(x > a, (a & {m}) ^ (x & {n}), x); np.where(c, x, (a & x) | (x & ~a)); np.where(c, b, (a & b) | (x & ~b))
np.where(c, x, ((a & {m}) | (x & {n})) + b); np.where(c, x, (a & {m}) | b); np.where(c, x & {n}, (a & {m}) | (x & {n})); np.where(c, x, (a | {n}) & (x | {m}))
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("form", [form.strip() for form in FORMS if form.strip()])
@pytest.mark.parametrize(
    "dtype", long_but(["int32", "int64", "uint32", "uint64", "int16", "uint8"], "int32", "uint64")
)
def test_choices_of_joined_bits(form, dtype):
    rng = np.random.default_rng(0)
    x, a, b = (rng.integers(0, np.iinfo(dtype).max, 77, dtype) for _ in range(3))
    c = rng.integers(0, 2, 77).astype(bool)
    for mask in MASKS:
        m = np.asarray(mask & np.iinfo(dtype).max, dtype)[()]
        program = eval(f"lambda x, a, b, c: {form.format(m=m, n=~m)}")
        np.testing.assert_array_equal(weft.compile(program)(x, a, b, c), program(x, a, b, c))


def test_choices_in_a_loop():
    def program(x, a, out):
        for i in range(len(x)):
            out[i] = x[i] if x[i] > 500 else (a[i] & 7) | (x[i] & ~7)
        return out

    rng = np.random.default_rng(0)
    x, a = (rng.integers(0, 1000, 3001) for _ in range(2))
    expected = program(x, a, np.zeros_like(x))
    compiled = weft.compile(program)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, a, np.zeros_like(x)), expected)


POINTWISE = [(name, operator) for name, operator in test_ops_reference.POINTWISE if name != "cast"]


@pytest.mark.parametrize("name, operator", POINTWISE, ids=[name for name, _ in POINTWISE])
def test_half_precision_compiled_equals_eager(name, operator):
    """Bit by bit, with operands of both signs and with positive ones."""
    row = operator.definition
    count = len(test_ops_reference.parameters(operator.schema)[0])
    required = {"threshold": (0.5, 2.0)}.get(name, ())
    for dtype in ("bfloat16", "float16"):
        if dtype not in row["dtypes"] or name == "bitcast":
            continue
        low, high = row["sample"]
        rng = np.random.default_rng(0)
        operands = [
            weft.from_numpy(rng.uniform(low, high, 53)).to(getattr(weft, dtype)) for _ in range(count)
        ]
        if name == "where":
            operands[0] = operands[0] > operands[1]
        expected = operator(*operands, *required)
        got = weft.compile(lambda *operands: operator(*operands, *required))(*operands)
        assert got.dtype == expected.dtype
        wide = weft.float32 if expected.dtype in (weft.bfloat16, weft.float16) else expected.dtype
        np.testing.assert_array_equal(got.to(wide).numpy(), expected.to(wide).numpy())
