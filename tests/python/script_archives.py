"""Archives of functions written as TorchScript, as torch.jit.save prints it: loaded by weft, and by PyTorch."""

import io
import struct
import zipfile

_STORAGES = {
    "float16": "Half", "float32": "Float", "float64": "Double", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip

_CLASS = """class Functions(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
"""
# A module of class __torch__.Functions with training = False.
_OBJECT = b"\x80\x02c__torch__\nFunctions\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ubq\x02."


def _text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def _integers(values):
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


def _pickled_tensor(key, array):
    """What torch.jit.save writes for a tensor: its storage by key, where it begins, its shape and strides."""
    strides = [stride // array.itemsize for stride in array.strides]
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n((" + _text("storage")
        + f"ctorch\n{_STORAGES[array.dtype.name]}Storage\n".encode() + _text(key) + _text("cpu")
        + b"J" + struct.pack("<i", array.size) + b"tQK\x00" + _integers(array.shape) + _integers(strides)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def archive(functions, constants=(), version=6, classes=""):
    """The bytes of an archive whose module has the methods `functions`: (name, parameters, result type, body).

    constants: arrays, which are CONSTANTS.c0 and so on in the bodies. version: of the operators. classes: the text of
    further ones.
    """
    text = _CLASS
    for name, parameters, result, body in functions:
        text += f"  def {name}(self: __torch__.Functions"
        text += "".join(f",\n    {parameter}" for parameter in parameters) + f") -> {result}:\n"
        text += "".join(f"    {line}\n" for line in body.splitlines())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("functions/data.pkl", _OBJECT)
        out.writestr("functions/code/__torch__.py", text + classes)
        tensors = b"".join(_pickled_tensor(str(i), array) for i, array in enumerate(constants))
        out.writestr("functions/constants.pkl", b"\x80\x02(" + tensors + b"t.")
        for i, array in enumerate(constants):
            out.writestr(f"functions/constants/{i}", array.tobytes())
        out.writestr("functions/version", f"{version}\n")
    return file.getvalue()
