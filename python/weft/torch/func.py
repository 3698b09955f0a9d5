"""torch.func over weft: what is no derivative."""

from weft.torch._functions.vmap import vmap

__all__ = ["vmap"]
