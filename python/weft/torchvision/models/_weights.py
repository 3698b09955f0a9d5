"""torchvision.models: what published weights are."""

import dataclasses
import enum
import functools
import typing

__all__ = ["Weights", "WeightsEnum"]


@dataclasses.dataclass(eq=False)
class Weights:
    """Published weights: the address of their file, what makes an input of an image, and facts about them."""

    url: str
    transforms: typing.Callable
    meta: dict

    def _facts(self):
        made = self.transforms
        if isinstance(made, functools.partial):  # two of these are equal only where they are one
            made = (made.func, made.args, made.keywords)
        return self.url, made, self.meta

    def __eq__(self, other):
        return self._facts() == other._facts() if isinstance(other, Weights) else NotImplemented

    __hash__ = None


class WeightsEnum(enum.Enum):
    """Base of the weights of one model: each member's value is a Weights."""

    @classmethod
    def verify(cls, obj):
        """A member of this class for None, a member, or the name of one.

        raises: KeyError for a name that is none of its members', TypeError for another model's weights.
        """
        if isinstance(obj, str):
            return cls[obj.removeprefix(cls.__name__ + ".")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}."
            )
        return obj

    def get_state_dict(self, *args, **kwargs):
        """The state dict in the file of that name in torch.hub's cache.

        raises: RuntimeError naming the address and the path where there is no such file.
        """
        from weft.torch import hub

        return hub.load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self):
        return f"{type(self).__name__}.{self._name_}"

    url = property(lambda self: self.value.url)
    transforms = property(lambda self: self.value.transforms)
    meta = property(lambda self: self.value.meta)
