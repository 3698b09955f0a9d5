"""In which order DataLoader takes items: PyTorch's for the same seed, epoch by epoch, and what is drawn after it."""

import pytest
import weft.torch as torch
from weft.torch.utils import data

ITEMS = list(range(10))


class Eager(data.Sampler):
    """Draws when the iterator is made, not when its first index is asked for."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.randperm(self.count).tolist())

    def __len__(self):
        return self.count


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(torch.randint(0, 100, (6,)).tolist())


def loader(*args, **kwargs):
    return lambda: data.DataLoader(
        *args, **{key: value() if callable(value) else value for key, value in kwargs.items()}
    )


LOADERS = {
    "shuffle": loader(ITEMS, batch_size=4, shuffle=True),
    "shuffle, single": loader(ITEMS, batch_size=None, shuffle=True),
    "drop_last": loader(ITEMS, batch_size=3, shuffle=True, drop_last=True),
    "generator": loader(ITEMS, batch_size=4, shuffle=True, generator=lambda: torch.Generator().manual_seed(3)),
    "in order": loader(ITEMS, batch_size=4),
    "sampler": loader(ITEMS, batch_size=4, sampler=data.RandomSampler(ITEMS, replacement=True, num_samples=40)),
    "sampler, more": loader(ITEMS, batch_size=8, sampler=data.RandomSampler(ITEMS, num_samples=24)),
    "subset": loader(ITEMS, batch_size=2, sampler=data.SubsetRandomSampler([1, 4, 6, 8])),
    "weighted": loader(ITEMS, batch_size=5, sampler=data.WeightedRandomSampler([0.1, 0.5, 0.2, 0.2], 9)),
    "batch sampler": loader(ITEMS, batch_sampler=data.BatchSampler(data.RandomSampler(ITEMS), 3, False)),
    "eager sampler": loader(ITEMS, batch_size=4, sampler=Eager(10)),
    "iterable": loader(Stream(), batch_size=4),
    "split": lambda: data.DataLoader(data.random_split(ITEMS, [6, 4])[0], batch_size=4, shuffle=True),
}  # fmt: skip
# By name: the batches of two epochs, and two numbers that are drawn then. Recorded with PyTorch 2.15, seed 7.
RECORDED = {
    'shuffle': [[[3, 2, 7, 8], [6, 1, 5, 9], [0, 4]], [[1, 3, 5, 2], [8, 9, 6, 7], [4, 0]], [0.36531615257263184, 0.8512683510780334]],
    'shuffle, single': [[3, 2, 7, 8, 6, 1, 5, 9, 0, 4], [1, 3, 5, 2, 8, 9, 6, 7, 4, 0], [0.36531615257263184, 0.8512683510780334]],
    'drop_last': [[[3, 2, 7], [8, 6, 1], [5, 9, 0]], [[1, 3, 5], [2, 8, 9], [6, 7, 4]], [0.36531615257263184, 0.8512683510780334]],
    'generator': [[[7, 4, 2, 9], [1, 5, 0, 8], [6, 3]], [[1, 2, 0, 5], [9, 4, 8, 3], [6, 7]], [0.5349225401878357, 0.19880318641662598]],
    'in order': [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], [0.23276156187057495, 0.4250614047050476]],
    'sampler': [[[3, 5, 3, 9], [4, 7, 9, 4], [4, 5, 5, 6], [7, 2, 2, 2], [3, 2, 6, 8], [6, 9, 4, 7], [0, 8, 8, 5], [9, 1, 6, 8], [4, 6, 2, 0], [9, 6, 9, 7]], [[1, 2, 5, 0], [6, 4, 8, 0], [4, 6, 1, 7], [4, 1, 6, 5], [9, 3, 5, 3], [9, 8, 4, 4], [2, 7, 8, 5], [0, 6, 0, 9], [7, 4, 2, 7], [2, 9, 7, 5]], [0.36531615257263184, 0.8512683510780334]],
    'sampler, more': [[[3, 2, 7, 8, 6, 1, 5, 9], [0, 4, 5, 9, 2, 7, 8, 3], [6, 1, 4, 0, 6, 4, 8, 0]], [[1, 3, 5, 2, 8, 9, 6, 7], [4, 0, 6, 0, 7, 2, 9, 1], [3, 5, 4, 8, 5, 6, 3, 4]], [0.36531615257263184, 0.8512683510780334]],
    'subset': [[[4, 8], [1, 6]], [[8, 6], [1, 4]], [0.8549431562423706, 0.5509352087974548]],
    'weighted': [[[1, 3, 2, 3, 3], [1, 1, 2, 2]], [[0, 1, 0, 1, 3], [0, 3, 1, 3]], [0.7405239939689636, 0.25287991762161255]],
    'batch sampler': [[[3, 2, 7], [8, 6, 1], [5, 9, 0], [4]], [[1, 3, 5], [2, 8, 9], [6, 7, 4], [0]], [0.36531615257263184, 0.8512683510780334]],
    'eager sampler': [[[1, 3, 5, 7], [9, 4, 6, 2], [8, 0]], [[7, 3, 4, 1], [8, 2, 5, 0], [6, 9]], [0.757194459438324, 0.6948475241661072]],
    'iterable': [[[21, 86, 83, 47], [87, 79]], [[58, 31, 8, 17], [62, 30]], [0.720380425453186, 0.07305192947387695]],
    'split': [[[0, 3, 1, 4], [7, 5]], [[1, 7, 3, 0], [5, 4]], [0.07305192947387695, 0.9699196219444275]],
}  # fmt: skip


@pytest.mark.parametrize("name", LOADERS)
def test_order(name):
    torch.manual_seed(7)
    made = LOADERS[name]()
    epochs = [
        [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in made] for _ in range(2)
    ]
    assert [*epochs, torch.rand(2).tolist()] == RECORDED[name]


def test_seeds_are_drawn_when_the_iterator_is_made():
    torch.manual_seed(7)
    iterator = iter(LOADERS["shuffle"]())
    drawn = torch.rand(1).item()
    torch.manual_seed(7)
    torch.empty((), dtype=torch.int64).random_()
    assert torch.rand(1).item() == drawn and next(iterator).shape == (4,)


def test_a_loader_of_ones_own():
    class Own(data.DataLoader):
        _is_iterable = _iterate_by_index = _iterate_in_order = "mine"

    made = Own(ITEMS, batch_size=4)
    assert [batch.tolist() for batch in made] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert all(name.startswith("_weft_") for name in vars(made) if name.startswith("_"))
