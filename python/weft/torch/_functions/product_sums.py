"""Sums of products by an equation, with PyTorch's arguments and dtypes."""

import weft as _weft

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
    """einsum of operands that may differ in their dtypes. They are multiplied from the left: what is a product of matrices
    takes one dtype only, and what multiplies elements promotes as mul does. raises: RuntimeError."""
    if any(x.dtype != operands[0].dtype for x in operands) and not _weft._C._autocast()[0]:
        _check_contractions(equation, operands)
        dtype = operands[0].dtype
        for x in operands[1:]:
            dtype = _weft.promote_types(dtype, x.dtype)
        operands = [x.to(dtype) for x in operands]
    return _weft.einsum(equation, operands)


def _check_contractions(equation, operands):
    terms, arrow, result = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    if not arrow:
        every = "".join(terms)
        result = "".join([letter for letter in every if every.count(letter) == 1])
    if "." in equation or [len(term) for term in terms] != [x.dim() for x in operands]:
        return
    seen, dtype = {}, operands[0].dtype
    for at, (term, x) in enumerate(zip(terms, operands)):
        kept = result + "".join(terms[at + 1 :])
        sizes = dict(zip(term, x.shape))
        if at and dtype != x.dtype:
            for letter, size in sizes.items():
                if letter not in kept and size > 1 and seen.get(letter, 1) > 1:
                    raise RuntimeError(f"einsum: expected scalar type {dtype} but found {x.dtype}")
        dtype = _weft.promote_types(dtype, x.dtype)
        seen.update(sizes)


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
