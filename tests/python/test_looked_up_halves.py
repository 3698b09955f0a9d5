"""Results of 16-bit elements that are looked up (ops/half_table.h): the bits that computing them gives, of each value."""

import numpy as np
import pytest
import weft
import weft.nn.functional as F

FEWEST = 1 << 16  # elements of a call from which on results are looked up


def all_values(dtype):
    return weft.tensor(np.arange(FEWEST, dtype=np.uint16).view(np.int16)).view(dtype)


def bits(x):
    return x.contiguous().view(weft.int16).numpy()


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=["float16", "bfloat16"])
class TestGelu:
    def test_each_value_alike(self, dtype):
        x = all_values(dtype)
        looked_up = bits(F.gelu(x))
        few = np.concatenate([bits(F.gelu(x[:-1])), bits(F.gelu(x[-1:]))])
        compiled = bits(weft.compile(lambda x: F.gelu(x))(x))
        np.testing.assert_array_equal(looked_up, few)
        np.testing.assert_array_equal(looked_up, compiled)

    def test_any_layout(self, dtype):
        x = all_values(dtype).reshape(256, 256)
        rows = weft.cat([x, x], 1)[:, 3:259]
        for view in (x.t(), rows, rows[:, ::2], rows.flip(0), x.expand(2, 256, 256)):
            small = weft.stack([F.gelu(row.contiguous()) for row in view.reshape(-1, view.shape[-1])])
            np.testing.assert_array_equal(bits(F.gelu(view)).reshape(-1), bits(small).reshape(-1))

    def test_counts_that_no_block_divides(self, dtype):
        x = weft.cat([all_values(dtype)] * 2)
        for count in (FEWEST - 1, FEWEST, FEWEST + 1, FEWEST + 7, FEWEST + 9):
            got, want = bits(F.gelu(x[:count])), bits(F.gelu(all_values(dtype)))
            np.testing.assert_array_equal(got, np.resize(want, count))
