"""What tests of torchvision.models share: facts of models, recorded from torchvision by files that are run as programs, and
compared with weft's in their tests.
"""

import hashlib
import importlib
import json
import pathlib
import warnings


class Recorder:
    """The packages that a test file describes: torchvision's where the file is run as a program (name: its __name__), weft's in
    its tests. Facts are in the .json beside the file."""

    def __init__(self, name, file):
        self.recording = name == "__main__"
        self.prefix = "" if self.recording else "weft."
        self.file = pathlib.Path(file).with_suffix(".json")

    @property
    def torch(self):
        return importlib.import_module("torch" if self.recording else "weft.torch")

    @property
    def models(self):
        return importlib.import_module(f"{self.prefix}torchvision.models")

    def families(self, names):
        """{the last part of a name: the module of torchvision.models}"""
        return {
            name.rpartition(".")[2]: importlib.import_module(f"{self.models.__name__}.{name}")
            for name in names
        }

    def described(self, name, **options):
        """Parameters, and digests of the state dict's keys, shapes and types, and of the text of a model."""
        with self.torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.models.get_model(name, **options)
        keys = [
            f"{key} {tuple(value.shape)} {str(value.dtype).rpartition('.')[2]}\n"
            for key, value in model.state_dict().items()
        ]
        return [sum(one.numel() for one in model.parameters()), digest(*keys), digest(repr(model))]

    def facts(self):
        return json.loads(self.file.read_text())


def digest(*parts):
    """Of texts and bytes, 16 digits."""
    joined = b"".join(one if isinstance(one, bytes) else one.encode() for one in parts)
    return hashlib.sha1(joined).hexdigest()[:16]


def digest_of_values(model):
    """Of all values of a state dict."""
    return digest(*(value.detach().numpy().tobytes() for value in model.state_dict().values()))


def numbers(result):
    """At most 20 numbers of a tensor, evenly from all of it, and its largest one."""
    flat = result.detach().reshape(-1)
    return [*flat[:: -(-flat.shape[0] // 20)].tolist(), flat.abs().max().item()]


def print_facts(facts):
    """Tables of facts as JSON, a row a line."""

    def rows(table):
        return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())

    print(
        "{\n"
        + ",\n".join(f"{json.dumps(key)}: {{\n{rows(table)}\n}}" for key, table in facts.items())
        + "\n}"
    )


def check_numbers(found, expected):
    """Within 2e-5 of the largest value of the whole result, which is the last of the numbers."""
    assert len(found) == len(expected)
    assert max(abs(a - b) for a, b in zip(found, expected)) <= 2e-5 * expected[-1]
