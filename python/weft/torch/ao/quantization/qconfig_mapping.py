"""Which modules and functions of a graph are quantized how: by their names, their kinds, or all."""

import re
from collections import OrderedDict

from weft import nn

from .observer import default_weight_observer
from .qconfig import QConfig, get_default_qconfig

__all__ = ["QConfigMapping", "get_default_qconfig_mapping"]


class QConfigMapping:
    """qconfigs: of a module of a name, of names that an expression matches, of a kind (a class, a function, or a method's name), and
    of all others. The first of these that is there counts; None leaves a part as it is."""

    def __init__(self):
        self.global_qconfig = None
        self.object_type_qconfigs, self.module_name_qconfigs = OrderedDict(), OrderedDict()
        self.module_name_regex_qconfigs = OrderedDict()

    def set_global(self, global_qconfig):
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type, qconfig):
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex, qconfig):
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name, qconfig):
        self.module_name_qconfigs[module_name] = qconfig
        return self

    @classmethod
    def from_dict(cls, qconfig_dict):
        """Of the older form: {"": …, "object_type": [(kind, …)], "module_name_regex": […], "module_name": […]}."""
        made = cls()
        for key, value in qconfig_dict.items():
            if key == "":
                made.set_global(value)
            elif key in ("object_type", "module_name_regex", "module_name"):
                for what, qconfig in value:
                    getattr(made, f"set_{key}")(what, qconfig)
            else:
                raise ValueError(f"qconfig_dict: unknown key {key!r}")
        return made

    def _of(self, path, kind):
        """The qconfig of a module's path ("" where there is none) and of a kind."""
        parts = path.split(".") if path else []
        for count in range(len(parts), 0, -1):
            name = ".".join(parts[:count])
            if name in self.module_name_qconfigs:
                return self.module_name_qconfigs[name]
        for pattern, qconfig in self.module_name_regex_qconfigs.items():
            if path and re.match(pattern, path):
                return qconfig
        return self.object_type_qconfigs.get(kind, self.global_qconfig)


def get_default_qconfig_mapping(backend="x86", version=0):
    """The backend's qconfig for all; weights of transposed convolutions have one scale."""
    qconfig = get_default_qconfig(backend, version)
    made = QConfigMapping().set_global(qconfig)
    for kind in (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d):
        made.set_object_type(kind, QConfig(qconfig.activation, default_weight_observer))
    return made
