"""torch.quasirandom: Sobol sequences, as they are or scrambled."""

import base64

import numpy

import weft
import weft.torch as torch

from ._sobol_numbers import BITS, COUNTS

__all__ = ["SobolEngine"]


def _directions(dimension, bits):
    """Direction numbers [dimension, bits]."""
    stored = numpy.unpackbits(numpy.frombuffer(base64.b85decode(BITS), numpy.uint8)).tolist()
    at = 0

    def take(count):
        nonlocal at
        at += count
        return sum(bit << i for i, bit in enumerate(stored[at - count : at]))

    rows = [[1 << (bits - 1 - i) for i in range(bits)]]
    degrees = (degree for degree, count in enumerate(COUNTS, 1) for _ in range(count))
    for degree in degrees:
        if len(rows) >= dimension:
            break
        row = [(2 * take(i) + 1) << (bits - 1 - i) for i in range(degree)]
        polynomial = take(degree - 1)
        for i in range(degree, bits):
            number = row[i - degree] ^ row[i - degree] >> degree
            for k in range(1, degree):
                if polynomial >> (degree - k - 1) & 1:
                    number ^= row[i - k]
            row.append(number)
        rows.append(row)
    return numpy.array(rows, numpy.int64)


class SobolEngine:
    """Points of a Sobol sequence in [0, 1)^dimension, which `draw` continues.

    scramble: by a random shift and random lower triangular matrices (Owen), of `seed` where there is one.
    """

    MAXBIT = 30
    MAXDIM = 1 + sum(COUNTS)

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}] here, where PyTorch has 21201"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = weft.from_numpy(_directions(dimension, self.MAXBIT))
        self.shift = weft.zeros([dimension], dtype=weft.int64)
        if scramble:
            self._scramble()
        self.quasi, self.num_generated = self.shift.clone(), 0

    def _scramble(self):
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        shape = (self.dimension, self.MAXBIT)
        bits = numpy.asarray(torch.randint(2, shape, generator=generator))
        self.shift = weft.from_numpy((bits << numpy.arange(self.MAXBIT)).sum(1))
        matrices = numpy.tril(numpy.asarray(torch.randint(2, (*shape, self.MAXBIT), generator=generator)))
        diagonal = numpy.arange(self.MAXBIT)
        matrices[:, diagonal, diagonal] = 1
        # The highest bit comes first in rows and columns.
        places = numpy.arange(self.MAXBIT - 1, -1, -1)
        numbers = numpy.asarray(self.sobolstate)[:, None, :] >> places[:, None] & 1
        scrambled = (matrices @ numbers % 2 << places[:, None]).sum(1)
        self.sobolstate = weft.from_numpy(scrambled)

    def _points(self, first, count):
        """Points number first … first + count - 1, as integers: the directions of a Gray code's bits."""
        index = numpy.arange(first, first + count)
        code, directions = index ^ index >> 1, numpy.asarray(self.sobolstate)
        points = numpy.repeat(numpy.asarray(self.shift)[None], count, 0)
        for bit in range(int(code.max(initial=0)).bit_length()):
            points ^= numpy.where(code[:, None] >> bit & 1, directions[None, :, bit], 0)
        return points

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, [n, dimension]."""
        points = self._points(self.num_generated, n)
        dtype = torch.get_default_dtype() if dtype is None else dtype
        result = (weft.from_numpy(points).to(dtype) * 2.0**-self.MAXBIT).to(dtype)
        self.fast_forward(n)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points: all drawn so far must then be a power of two."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self):
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves n points out."""
        if n > 0:
            self.num_generated += n
            self.quasi = weft.from_numpy(self._points(self.num_generated - 1, 1)[0])
        return self

    def __repr__(self):
        text = f"dimension={self.dimension}" + (", scramble=True" if self.scramble else "")
        return f"SobolEngine({text}{'' if self.seed is None else f', seed={self.seed}'})"
