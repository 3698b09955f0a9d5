"""Archives of functions written as TorchScript, as torch.jit.save prints it: loaded by weft, and by PyTorch."""

import io
import zipfile

_CLASS = """class Functions(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
"""
# A module of class __torch__.Functions with training = False.
_OBJECT = b"\x80\x02c__torch__\nFunctions\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ubq\x02."


def archive(functions):
    """The bytes of an archive whose module has the methods `functions`: (name, parameters, result type, body)."""
    text = _CLASS
    for name, parameters, result, body in functions:
        text += f"  def {name}(self: __torch__.Functions"
        text += "".join(f",\n    {parameter}" for parameter in parameters) + f") -> {result}:\n"
        text += "".join(f"    {line}\n" for line in body.splitlines())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("functions/data.pkl", _OBJECT)
        out.writestr("functions/code/__torch__.py", text)
        out.writestr("functions/constants.pkl", b"\x80\x02).")
        out.writestr("functions/version", "6\n")
    return file.getvalue()
