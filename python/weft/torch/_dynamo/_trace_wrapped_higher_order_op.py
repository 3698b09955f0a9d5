"""torch._dynamo._trace_wrapped_higher_order_op's names that programs use."""


class TransformGetItemToIndex:
    """A context in which a tensor may be indexed by tensors of no dimension under vmap; that is always so here."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None
