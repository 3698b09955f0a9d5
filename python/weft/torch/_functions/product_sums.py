"""Sums of products by an equation, with PyTorch's arguments and dtypes."""

import weft as _weft

from ._support import promoted
from .shapes import _listed


def einsum(equation, *operands):
    """Sums of products by an equation, or by lists of subscripts: einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if isinstance(equation, str):
        return _product_sum(equation, _listed(operands))
    given = [equation, *operands]
    tensors = given[0::2] if len(given) % 2 == 0 else given[0:-1:2]
    subscripts = given[1::2]
    names = [_subscript(each) for each in subscripts]
    text = ",".join(names)
    if len(given) % 2:
        text += "->" + _subscript(given[-1])
    return _product_sum(text, list(tensors))


def _product_sum(equation, operands):
    """einsum of operands that may differ in their dtypes, and of integers and truth values, whose sums are of int64."""
    dtypes = {x.dtype for x in operands}
    if not dtypes or (len(dtypes) == 1 and dtypes <= _SUMMED) or _weft._C._autocast()[0]:
        return _weft.einsum(equation, operands)
    dtype = _dtype_of_contractions(equation, operands)
    return _weft.einsum(equation, [x.to(dtype) for x in operands]).to(dtype)


# Sums of these keep their dtype.
_SUMMED = {
    _weft.float16, _weft.bfloat16, _weft.float32, _weft.float64, _weft.complex64, _weft.complex128, _weft.int64
}  # fmt: skip


def _terms(equation, operands):
    """(letters by dimension of each operand, the result's letters), or None for an equation that einsum refuses."""
    terms, arrow, result = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    if len(terms) != len(operands):
        return None
    named = [[letter for letter in term if letter != "."] for term in terms]
    spare = max((x.dim() - len(each) for x, each in zip(operands, named)), default=0)
    for at, (term, x) in enumerate(zip(terms, operands)):
        before, dots, after = term.partition("...")
        more = x.dim() - len(named[at])
        if more < 0 or (more and not dots):
            return None
        named[at] = [*before, *(f".{spare - more + i}" for i in range(more)), *after]
    if arrow:
        before, dots, after = result.partition("...")
        return named, [*before, *((f".{i}" for i in range(spare)) if dots else ()), *after]
    every = [letter for term in named for letter in term]
    return named, [letter for letter in every if letter[0] == "." or every.count(letter) == 1]


def _dtype_of_contractions(equation, operands):
    """The dtype that comes of contracting from the left: what only one of two operands has is summed in it first, what both
    have by a product of matrices, of one dtype, and elements that are multiplied promote as mul does. raises: RuntimeError."""
    found = _terms(equation, operands)
    if found is None:
        return promoted(*(x.dtype for x in operands))
    terms, result = found
    sizes = [
        {letter: size for letter, size in zip(term, x.shape) if size != 1} for term, x in zip(terms, operands)
    ]
    if len(operands) == 1:
        return _sum_dtype(operands[0].dtype) if set(terms[0]) - set(result) else operands[0].dtype
    left = {letter: sum(letter in each for each in sizes) for each in sizes for letter in each}
    dtype, have = operands[0].dtype, dict(sizes[0])
    for x, other in zip(operands[1:], sizes[1:]):
        other, one, two, contracted = dict(other), dtype, x.dtype, False
        for letter in set(have) | set(other):
            if letter in result:
                continue
            if letter in have and letter in other:
                left[letter] -= 1
                if left[letter] == 1:
                    contracted = True
                    del have[letter], other[letter]
            elif left[letter] == 1:
                one, two = (_sum_dtype(one), two) if have.pop(letter, None) else (one, _sum_dtype(two))
                other.pop(letter, None)
        if contracted and one != two:
            raise RuntimeError(f"einsum: expected scalar type {one} but found {two}")
        if contracted and one == _weft.bool:
            raise NotImplementedError("einsum: products of matrices are not implemented for 'Bool'")
        dtype = promoted(one, two)
        have.update(other)
    return dtype


def _sum_dtype(dtype):
    return dtype if dtype in _SUMMED else _weft.int64


def _subscript(numbers):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    found = ""
    for number in numbers:
        if number is Ellipsis:
            found += "..."
        elif 0 <= number < len(letters):
            found += letters[number]
        else:
            raise ValueError(f"einsum: subscripts must be in [0, {len(letters)}), got {number}")
    return found
