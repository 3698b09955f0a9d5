"""Calls of PyTorch's and torchvision's smaller packages, as functions of `torch` and `torchvision`: PyTorch's answers are recorded,
weft's are compared with them (test_package_calls.py).

Run with a Python that has both: python tests/torch/package_calls.py writes test_package_calls.json.
"""

import copy
import importlib
import json
import sys
from pathlib import Path

from kept_values import kept, numbers

ANSWERS = Path(__file__).parent / "test_package_calls.json"
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def message(call):
    """The class and text of what a call raises."""
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


# ---- Sobol sequences -------------------------------------------------------------------------------------------------


@case
def sobol(torch, torchvision):
    engine = torch.quasirandom.SobolEngine
    results = []
    for dimension in (1, 2, 3, 40, 1111):
        plain = engine(dimension)
        results += [
            plain.draw(5)[:, -40:],
            plain.draw()[:, -3:],
            plain.quasi[-3:].clone(),
            plain.num_generated,
        ]
        results += [plain.fast_forward(6).draw(2, dtype=torch.float64)[:, -3:], plain.reset().draw(2)[:, -3:]]
    return results


@case
def scrambled_sobol(torch, torchvision):
    engine = torch.quasirandom.SobolEngine
    seeded = engine(4, scramble=True, seed=11)
    torch.manual_seed(5)
    drawn, out = engine(3, scramble=True), torch.empty(0)
    seeded_points = seeded.draw(9)
    drawn.draw(3, out=out)
    return [seeded_points, seeded.shift, seeded.sobolstate, out, repr(seeded), repr(drawn), repr(engine(2))]


@case
def powers_of_sobol(torch, torchvision):
    plain = torch.quasirandom.SobolEngine(2)
    first = [plain.draw_base2(2), plain.draw_base2(2)]
    return [
        *first,
        message(lambda: plain.draw_base2(2)),
        message(lambda: torch.quasirandom.SobolEngine(0))[0],
    ]


# ---- elastic transforms ----------------------------------------------------------------------------------------------


@case
def elastic_transform(torch, torchvision):
    F, modes = torchvision.transforms.functional, torchvision.transforms.InterpolationMode
    image, displacement = numbers(torch, 1, 3, 7, 6), numbers(torch, 2, 1, 7, 6, 2) * 0.1
    return [
        F.elastic_transform(image, displacement),
        F.elastic_transform(image, displacement, modes.NEAREST),
        F.elastic_transform(image, displacement, fill=[0.5]),
        F.elastic_transform(image, displacement, modes.NEAREST, fill=[1.0, 2.0, 3.0]),
        F.elastic_transform(image.unsqueeze(0).repeat(2, 1, 1, 1), displacement),
        F.elastic_transform((image * 40).clamp(0, 255).to(torch.uint8), displacement),
        message(lambda: F.elastic_transform(image, displacement[:, 1:]))[0],
        message(lambda: F.elastic_transform(image, 3)),
    ]


@case
def elastic_transform_class(torch, torchvision):
    make = torchvision.transforms.ElasticTransform
    image = numbers(torch, 1, 3, 10, 9)
    torch.manual_seed(3)
    results = [
        make.get_params([30.0, 40.0], [3.0, 4.0], [40, 44]),
        make(3.0, 1.0)(image),
        make(alpha=[5.0, 9.0], sigma=[0.5, 0.6], fill=2)(image),
        make(1.0, 0.0)(image),
    ]
    results += [
        str(make(30.0)),
        message(lambda: make(3)),
        message(lambda: make([1.0])),
        message(lambda: make(fill="x")),
    ]
    return results


# ---- compressed sparse matrices --------------------------------------------------------------------------------------


def parts_of(s):
    indices = (s.crow_indices(), s.col_indices()) if s.is_sparse_csr else (s.ccol_indices(), s.row_indices())
    about = [str(s.layout), list(s.shape), s._nnz(), s.is_sparse, s.is_sparse_csr, str(s.dtype), s.dim()]
    return [*indices, s.values(), s.to_dense(), *about]


@case
def compressed_rows_and_columns(torch, torchvision):
    dense = torch.tensor([[0.0, 0.0, 9.0], [4.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    other = torch.arange(6.0).reshape(3, 2)
    results = []
    for convert in (torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc):
        s = convert(dense)
        results += [
            parts_of(s),
            parts_of(s.t()),
            parts_of(s * 2),
            parts_of(-s),
            parts_of(s.double()),
            parts_of(s.clone()),
        ]
        results += [
            parts_of(s + s),
            s @ other,
            torch.mm(s, other),
            s @ other[:, 0],
            torch.sparse.mm(s, other),
        ]
        coordinates = s.to_sparse_coo()
        results += [
            coordinates.coalesce().indices(),
            coordinates.coalesce().values(),
            s.to_sparse().to_dense(),
        ]
        results += [parts_of(coordinates.to_sparse_csr()), parts_of(coordinates.to_sparse_csc()), repr(s)]
    results += [
        parts_of(torch.zeros(2, 3).to_sparse_csr()),
        parts_of(dense.to_sparse(layout=torch.sparse_csc)),
    ]
    return results


@case
def compressed_tensors(torch, torchvision):
    rows = torch.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], (2, 4))
    columns = torch.sparse_csc_tensor([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], dtype=torch.float64)
    small = torch.sparse_csr_tensor(
        torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1], dtype=torch.int32), torch.tensor([5.0])
    )
    other = torch.sparse_compressed_tensor([0, 1], [0], [1], layout=torch.sparse_csc)
    return [
        *map(parts_of, (rows, columns, small, other)),
        message(rows.ccol_indices),
        message(rows.indices),
        message(columns.crow_indices),
    ]


# ---- tensors that say what they are ----------------------------------------------------------------------------------


def about(x):
    kept = [str(getattr(x, name, "")) for name in ("format", "canvas_size", "clamping_mode")]
    return [type(x).__name__, list(x.shape), str(x.dtype), kept, x.tolist(), x.ndim]


@case
def tv_tensors(torch, torchvision):
    tv = torchvision.tv_tensors
    image, flat = tv.Image(torch.arange(12.0).reshape(3, 2, 2)), tv.Image([[1, 2], [3, 4]])
    boxes = tv.BoundingBoxes([0, 1, 2, 3], format="xyxy", canvas_size=(4, 5))
    turned = tv.BoundingBoxes(
        [[0.0, 1, 2, 3, 45]], format=tv.BoundingBoxFormat.XYWHR, canvas_size=(4, 5), clamping_mode=None
    )
    points, mask = tv.KeyPoints([[1.0, 2.0]], canvas_size=(3, 3)), tv.Mask(torch.ones(2, 2, dtype=torch.bool))
    video = tv.Video(torch.zeros(1, 1, 2, 2))
    results = [about(x) for x in (image, flat, boxes, turned, points, mask, video)]
    for x in (image, boxes, points):
        made = [
            x + 1,
            x.clone(),
            x.to(torch.float64),
            x.detach(),
            x[0],
            x * x,
            copy.deepcopy(x),
            tv.wrap(x + 1, like=x),
        ]
        with tv.set_return_type("TVTensor"):
            made += [x + 1, *x.unbind(0), torch.cat([x, x])]
        made += [torch.cat([x, x]), x.sum()]
        results += [about(each) for each in made]
    results += [about(tv.wrap(torch.ones(1, 4), like=boxes, canvas_size=(9, 9), format="CXCYWH"))]
    results += [repr(boxes), repr(points), isinstance(image, torch.Tensor), isinstance(boxes, tv.TVTensor)]
    results += [
        [tv.is_rotated_bounding_format(each) for each in ("xywhr", "XYXY", tv.BoundingBoxFormat.XYXYXYXY)]
    ]
    results += [
        message(lambda: tv.BoundingBoxes(torch.zeros(1, 1, 4), format="XYXY", canvas_size=(4, 5))),
        message(lambda: tv.BoundingBoxes([[0, 1, 2, 3, 4]], format="XYWHR", canvas_size=(4, 5))),
        message(lambda: tv.BoundingBoxes([0, 1, 2, 3], format="XYXY", canvas_size=(4, 5), clamping_mode="x")),
        message(lambda: tv.KeyPoints([[0, 1, 2]], canvas_size=(4, 5))),
        message(lambda: tv.Image(1)),
        message(lambda: tv.Video(torch.zeros(2))),
        message(lambda: tv.set_return_type("x"))[0],
    ]
    return results


# ---- parametrizations ------------------------------------------------------------------------------------------------


def of(torch, name):
    return importlib.import_module(f"{torch.__name__}.nn.utils.{name}")


def symmetric(torch):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def doubled(torch):
    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x * 2

    return Doubled()


def pair(torch):
    class Pair(torch.nn.Module):
        def forward(self, x, y):
            return x @ y

        def right_inverse(self, x):
            return x, torch.eye(3)

    return Pair()


def returning(torch, value):
    class Returning(torch.nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return value

    return Returning()


def line(torch, outputs=3, inputs=3):
    made = torch.nn.Linear(inputs, outputs)
    made.weight = torch.nn.Parameter(numbers(torch, 4, outputs, inputs))
    return made


@case
def parametrize(torch, torchvision):
    P, nn = of(torch, "parametrize"), torch.nn
    one, two, norm, other = line(torch), line(torch), nn.BatchNorm1d(3), nn.Linear(3, 3)
    P.register_parametrization(one, "weight", symmetric(torch))
    results = [
        repr(one),
        sorted(one.state_dict()),
        type(one).__name__,
        P.is_parametrized(one, "bias"),
        one.weight,
    ]
    one.weight = torch.arange(4.0).reshape(2, 2)
    results += [one.weight, one.parametrizations.weight.original]
    one.weight = numbers(torch, 6, 3, 3)
    results += [
        message(lambda: P.register_parametrization(one, "x", symmetric(torch))),
        message(lambda: P.remove_parametrizations(one, "bias")),
        message(lambda: P.register_parametrization(line(torch), "weight", nn.Flatten(0))),
        message(lambda: P.register_parametrization(one, "weight", nn.Flatten(0)))[0],
        message(lambda: one.parametrizations.weight.right_inverse(torch.ones(3, 3, dtype=torch.float64))),
        message(lambda: P.register_parametrization(line(torch), "weight", returning(torch, 3))),
        message(
            lambda: P.register_parametrization(
                line(torch), "weight", returning(torch, torch.ones(3, 3).long())
            )
        ),
        message(lambda: P.ParametrizationList([], torch.ones(2))),
    ]
    P.register_parametrization(two, "weight", pair(torch))
    results += [
        sorted(two.state_dict()),
        two.parametrizations.weight.ntensors,
        two.parametrizations.weight.is_tensor,
    ]
    results += [message(lambda: P.remove_parametrizations(two, "weight", leave_parametrized=False))]
    P.register_parametrization(two, "weight", doubled(torch))
    results += [two.weight, message(lambda: setattr(two, "weight", torch.ones(3, 3)))]
    P.remove_parametrizations(two, "weight")
    results += [type(two).__name__, type(two.weight).__name__, two.weight, sorted(two.state_dict())]
    P.transfer_parametrizations_and_params(one, other)
    results += [
        type(other).__name__,
        other.weight,
        other.parametrizations.weight[0] is one.parametrizations.weight[0],
    ]
    with P.cached():
        results += [one.weight is one.weight]
    results += [one.weight is one.weight]
    P.remove_parametrizations(one, "weight", leave_parametrized=False)
    results += [type(one).__name__, one.weight]
    P.register_parametrization(norm, "running_mean", doubled(torch))
    return [*results, sorted(norm.state_dict()), norm.running_mean]


@case
def orthogonal(torch, torchvision):
    make, results = of(torch, "parametrizations").orthogonal, []
    for sizes in ((3, 3), (5, 3), (3, 5)):
        for name in (None, "matrix_exp", "cayley", "householder"):
            made = make(line(torch, *sizes), "weight", name)
            matrix = made.weight if sizes[0] >= sizes[1] else made.weight.T
            results += [
                matrix.T @ matrix,
                sorted(made.state_dict()),
                list(made.parametrizations.weight[0].base.shape),
            ]
            if sizes[0] == sizes[1]:
                results += [made.weight]
            made.parametrizations.weight[0].base = torch.eye(max(sizes))
            with torch.no_grad():
                made.parametrizations.weight.original.copy_(
                    numbers(torch, 8, *sizes).tril().fill_diagonal_(1.0)
                )
            results += [made.weight]
    plain = make(line(torch, 4, 3), "weight", "householder", use_trivialization=False)
    results += [plain.weight, plain.parametrizations.weight.original]
    results += [
        message(lambda: make(line(torch), "weight", "x")),
        message(lambda: make(line(torch), "bias")),
        message(lambda: make(line(torch), "weight", "cayley", use_trivialization=False).weight.shape),
        message(lambda: setattr(plain, "weight", torch.ones(2, 2)))[0],
    ]
    return results


def record():
    import torch
    import torchvision
    import torchvision.tv_tensors

    answers = {name: kept(function(torch, torchvision)) for name, function in CASES.items()}
    ANSWERS.write_text(json.dumps(answers, separators=(",", ":")) + "\n")
    print(ANSWERS, ANSWERS.stat().st_size)


if __name__ == "__main__":
    sys.exit(record())
