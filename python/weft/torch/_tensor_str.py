"""torch._tensor_str: tensors as text."""

from ._functions.making import print_options as PRINT_OPTS

__all__ = ["PRINT_OPTS"]


def _tensor_str(self, indent):
    """The numbers of a tensor, further lines `indent` columns in."""
    text = repr(self.detach()).removeprefix("tensor(")
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth == 0 and character in ",)]":
            text = text[: i + (character == "]")]
            break
    return text.replace("\n" + " " * len("tensor("), "\n" + " " * indent)


def _str(self, *, tensor_contents=None):
    """repr(self), or tensor_contents in its place."""
    return repr(self) if tensor_contents is None else f"tensor({tensor_contents})"
