"""triton.language's names, which kernels say and nobody evaluates."""


class constexpr:
    """A number that a kernel is specialized for."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self):
        return f"constexpr[{self.value}]"


class _Name:
    """A type or function of the language."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Name(f"{self._name}.{name}")
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(
            f"triton.language.{self._name} works within kernels, and there is no Triton"
        )

    def __repr__(self):
        return f"triton.language.{self._name}"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    value = globals()[name] = _Name(name)
    return value
