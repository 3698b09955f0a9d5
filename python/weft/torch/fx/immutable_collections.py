"""Lists and dicts that the arguments of nodes consist of: they are replaced, not changed."""


def _refusal(name):
    def refuse(self, *args, **kwargs):
        kind = type(self).__name__
        raise TypeError(
            f"'{kind}' object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node "
            f"object,\ninstead create a new copy of it and assign the copy to the node:\n"
            f"    new_args = ... # copy and mutate args\n    node.args = new_args\n"
        )

    refuse.__name__ = name
    return refuse


def _made_immutable(kind, names):
    members = {name: _refusal(name) for name in names.split()}
    members["__reduce__"] = lambda self: (type(self), (kind(self),))
    members["__hash__"] = lambda self: hash(
        tuple(self) if kind is list else frozenset((key, value) for key, value in self.items())
    )
    members["__module__"] = __name__
    return type(f"immutable_{kind.__name__}", (kind,), members)


immutable_list = _made_immutable(
    list, "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"
)
immutable_dict = _made_immutable(dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update")
