"""Named tuples and dataclasses among what exported programs take and give (test_export.py has programs of both)."""

import collections
import dataclasses
import json
import typing
import zipfile

import pytest
import weft
import weft.torch as torch
from weft.torch._dynamo.exc import UserError
from weft.torch.export import Dim, export, load, save
from weft.torch.utils import _pytree as pytree

Point = collections.namedtuple("Point", "x y")
pytree._register_namedtuple(Point, serialized_type_name="classes.Point")
Free = collections.namedtuple("Free", "x y")


@dataclasses.dataclass
class Box:
    a: torch.Tensor
    b: typing.Optional[torch.Tensor] = None
    c: int = 3


torch.export.register_dataclass(Box, serialized_type_name="classes.Box")


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, p):
        return self.function(p)


def of(function, argument, **options):
    return export(Module(function), (argument,), **options)


def written(program, path):
    """(types and contexts of the classes among arguments, among results; the named tuples' fields) of the file."""
    save(program, path)
    with zipfile.ZipFile(path) as file:
        module = json.loads(file.read("model/models/model.json"))["graph_module"]

    def classes(node):
        if node["type"] is not None and not node["type"].startswith("builtins."):
            yield node["type"], node["context"]
        for child in node["children_spec"]:
            yield from classes(child)

    signature = module["module_call_graph"][0]["signature"]
    found = (list(classes(json.loads(signature[name])[1])) for name in ("in_spec", "out_spec"))
    return *found, module["treespec_namedtuple_fields"]


ONES = torch.ones(2)


def test_files_have_the_names_and_fields_of_pytorch(tmp_path):
    """PyTorch 2.15 writes these."""
    program = of(lambda p: (p[0].x + p[1].a, p[1]), (Point(ONES, ONES * 2), Box(ONES)))
    assert written(program, tmp_path / "model.pt2") == (
        [("collections.namedtuple", "classes.Point"), ("classes.Box", '[["a", "c"], ["b"]]')],
        [("classes.Box", '[["a", "c"], ["b"]]')],
        {"classes.Point": {"field_names": ["x", "y"]}},
    )
    names = [
        next(iter(each.values()))["name"] for each in program._json["graph_module"]["graph"]["inputs"][:3]
    ]
    assert names == ["p_0_x", "p_0_y", "p_1_a"]
    for each in (program, load(tmp_path / "model.pt2")):
        total, box = each.module()((Point(ONES, ONES), Box(ONES)))
        assert torch.equal(total, ONES * 2)
        assert type(box) is Box and box.b is None and box.c == 3


def test_fields_that_are_none_are_none_again():
    @dataclasses.dataclass
    class Chosen:
        a: torch.Tensor
        b: typing.Optional[torch.Tensor]
        c: typing.Optional[int] = 4

    torch.export.register_dataclass(Chosen, serialized_type_name="classes.Chosen")
    program = of(lambda p: Chosen(p * 2, None, None), ONES)
    result = program.module()(ONES)
    assert type(result) is Chosen and result.b is None and result.c is None
    with pytest.raises(TypeError, match="keys"):
        of(lambda p: p.a, Box(ONES)).module()(Box(ONES, ONES))
    with pytest.raises(TypeError, match="p_b"):
        of(lambda p: p.a, Box(ONES, ONES)).module()(Box(ONES))


@dataclasses.dataclass
class Kept:
    a: torch.Tensor
    note: str = "none"


def test_fields_that_are_left_out(tmp_path):
    pytree.register_dataclass(
        Kept, field_names=["a"], drop_field_names=["note"], serialized_type_name="classes.Kept"
    )
    program = of(lambda p: p.a * 2, Kept(ONES, "example"))
    assert written(program, tmp_path / "model.pt2")[0] == [("classes.Kept", '[["a"], []]')]
    assert torch.equal(load(tmp_path / "model.pt2").module()(Kept(ONES, "another")), ONES * 2)


@dataclasses.dataclass
class Plain:
    a: torch.Tensor


@pytest.mark.parametrize("made", [lambda: Plain(ONES), lambda: Free(ONES, ONES)])
def test_classes_that_files_have_no_name_for(made, tmp_path):
    torch.export.register_dataclass(Plain) if Plain not in pytree.SUPPORTED_NODES else None
    program = of(lambda p: p, made())
    assert type(program.module()(made())) is type(made())
    with pytest.raises(NotImplementedError, match="serialized_type_name"):
        save(program, tmp_path / "model.pt2")
    assert not (tmp_path / "model.pt2").exists()


def test_local_classes_of_a_program_that_is_not_saved():
    Local = collections.namedtuple("Local", "x y")
    result = of(lambda p: Local(p, p + 1), ONES).module()(ONES)
    assert type(result) is Local and torch.equal(result.y, ONES + 1)


def test_what_operators_give():
    result = of(lambda p: (torch.max(p, 0), torch.sort(p)), torch.ones(2, 3)).module()(torch.ones(2, 3))
    assert [type(each) for each in result] == [torch.return_types.max, torch.return_types.sort]
    assert result[0].values.shape == (3,)


def test_dynamic_shapes():
    def twice(p):
        return p[0] * 2

    rows = {0: Dim("rows", min=2)}
    program = of(twice, Point(torch.ones(3), ONES), dynamic_shapes={"p": Point(rows, None)})
    assert program.module()(Point(torch.ones(5), ONES)).shape == (5,)
    program = of(lambda p: p.a * 2, Box(torch.ones(3)), dynamic_shapes={"p": [rows, None]})
    assert program.module()(Box(torch.ones(5))).shape == (5,)
    with pytest.raises(UserError, match="mismatch"):
        of(twice, Point(ONES, ONES), dynamic_shapes={"p": (rows, None)})
    for wrong in ([rows, None, None], Box(rows)):
        with pytest.raises(ValueError, match="is a Box of 2"):
            of(lambda p: p.a, Box(torch.ones(3)), dynamic_shapes={"p": wrong})


def test_arguments_of_classes_that_are_not_registered():
    @dataclasses.dataclass
    class Unknown:
        a: torch.Tensor

    with pytest.raises(ValueError, match="Unsupported input type .*Unknown"):
        of(lambda p: p.a, Unknown(ONES))
    with pytest.raises(TypeError, match="gives Unknown"):
        of(Unknown, ONES)


def test_registering():
    with pytest.raises(ValueError, match="field_names must be specified"):
        pytree.register_dataclass(int)
    with pytest.raises(ValueError, match="unexpected: \\['d'\\]"):
        pytree.register_dataclass(Box, field_names=["a", "b", "c", "d"])
    with pytest.raises(TypeError, match="named tuples"):
        pytree._register_namedtuple(tuple, serialized_type_name="classes.tuple")
    with pytest.warns(UserWarning, match="already registered"):
        torch.export.register_dataclass(Box, serialized_type_name="classes.Box")
    assert weft.export.registered_name(Box) == "classes.Box"
    leaves, spec = pytree.tree_flatten(Box(1, None, 2))
    assert leaves == [1, 2] and spec.unflatten([3, 4]) == Box(3, None, 4)
    pairs, _ = pytree.tree_flatten_with_path([Box(1, None, 2), Point(3, 4)])
    assert [pytree.keystr(path) for path, _ in pairs] == ["[0].a", "[0].c", "[1].x", "[1].y"]


# ---- other containers ----------------------------------------------------------------------------------------
class Ring:
    def __init__(self, items, turn):
        self.items, self.turn = items, turn


pytree.register_pytree_node(
    Ring,
    lambda ring: (list(ring.items), ring.turn),
    lambda items, turn: Ring(items, turn),
    serialized_type_name="classes.Ring",
    flatten_with_keys_fn=lambda ring: (
        [(pytree.SequenceKey(at), item) for at, item in enumerate(ring.items)],
        ring.turn,
    ),
)


def defaults(**values):
    return collections.defaultdict(list, values)


# An argument, what the module makes of it, and the classes of both as PyTorch 2.15 writes them.
CONTAINERS = {
    "ordered": (
        collections.OrderedDict(b=ONES, a=ONES * 2),
        lambda p: collections.OrderedDict(z=p["a"] * 2, y=p["b"]),
        [("collections.OrderedDict", '["b", "a"]')],
        [("collections.OrderedDict", '["z", "y"]')],
    ),
    "numbers": ({7: ONES, 3: ONES * 2}, lambda p: {0: p[7], "z": p[3], 5: p[3] * 2}, [], []),
    "deque": (
        collections.deque([ONES, ONES * 2], maxlen=2),
        lambda p: collections.deque([p[1] * 3]),
        [("collections.deque", "2")],
        [("collections.deque", "null")],
    ),
    "defaultdict": (
        defaults(p=ONES),
        lambda p: defaults(q=p["p"] * 2, r=[p["p"]]),
        [
            (
                "collections.defaultdict",
                {
                    "default_factory_module": "builtins",
                    "default_factory_name": "list",
                    "dict_context": ["p"],
                },
            )
        ],
        None,
    ),
    "registered": (
        Ring([ONES, ONES * 2], 3),
        lambda p: Ring([p.items[1] * p.turn], 8),
        [("classes.Ring", "3")],
        [("classes.Ring", "8")],
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_there_and_back(name, tmp_path):
    argument, function, given, made = CONTAINERS[name]
    program = of(function, argument)
    found = written(program, tmp_path / "model.pt2")
    assert found[0] == given
    assert made is None or found[1] == made
    expected = function(argument)
    for each in (program, load(tmp_path / "model.pt2")):
        result = each.module()(argument)
        assert type(result) is type(expected)
        if isinstance(expected, dict):
            assert list(result) == list(expected)
        if isinstance(expected, collections.defaultdict):
            assert result["absent"] == []
        if isinstance(expected, Ring):
            assert result.turn == expected.turn
        for one, other in zip(pytree.tree_leaves(result), pytree.tree_leaves(expected), strict=True):
            assert torch.equal(one, other)


def test_containers_that_do_not_fit():
    ordered = of(CONTAINERS["ordered"][1], CONTAINERS["ordered"][0]).module()
    ordered({"a": ONES, "b": ONES})  # any dictionary of these keys, as PyTorch takes it
    with pytest.raises(TypeError, match="keys"):
        ordered({"a": ONES})
    numbers = of(CONTAINERS["numbers"][1], CONTAINERS["numbers"][0]).module()
    with pytest.raises(TypeError, match="keys"):
        numbers({"7": ONES, "3": ONES})
    ring = of(CONTAINERS["registered"][1], CONTAINERS["registered"][0]).module()
    for other in (Ring([ONES, ONES], 4), Ring([ONES], 3), [ONES, ONES]):
        with pytest.raises(TypeError, match="classes.Ring"):
            ring(other)


def test_containers_that_files_cannot_have(tmp_path):
    with pytest.raises(NotImplementedError, match="defaultdict's factory"):
        of(lambda p: collections.defaultdict(lambda: 3, a=p), ONES)

    class Unnamed:
        pass

    pytree.register_pytree_node(Unnamed, lambda value: ([ONES], None), lambda items, context: Unnamed())
    with pytest.raises(NotImplementedError, match="serialized_type_name"):
        of(lambda p: Unnamed(), ONES)
    with pytest.raises(ValueError, match="to_dumpable_context"):
        pytree.register_pytree_node(int, None, None, to_dumpable_context=str)
