"""torch._inductor.decomposition: functions that PyTorch's compiler would take in place of operators. weft.compile enters an operator's
kernel itself."""

decompositions = {}


def register_decomposition(ops, *, type="post_autograd"):
    """Notes the function for the operators."""

    def register(function):
        for one in ops if isinstance(ops, (list, tuple)) else (ops,):
            decompositions[one] = function
        return function

    return register


def select_decomp_table():
    return dict(decompositions)
