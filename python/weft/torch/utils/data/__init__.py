"""torch.utils.data's names: data sets, samplers and the loader, which loads in the process itself."""

import bisect
import importlib
import itertools
import math

from ._collate import default_collate, default_convert, get_worker_info  # noqa: F401
from ._samplers import (  # noqa: F401
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    drawn_seed,
    shuffled,
)


class Dataset:
    """Data by index: subclasses define __getitem__, and __len__."""

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Data in order: subclasses define __iter__."""

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The rows of tensors of equal first size, together."""

    def __init__(self, *tensors):
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Data sets of equal length, item by item as a tuple, or as a dict."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError(
                "At least one dataset should be passed"
                if not args
                else "Supported either args or kwargs, not both"
            )
        self.datasets = args or kwargs
        lengths = {len(dataset) for dataset in (args or kwargs.values())}
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Data sets one after another."""

    @staticmethod
    def cumsum(sequence):
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Iterable data sets one after another."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self):
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset):
    """The items at `indices`."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__([self.indices[i] for i in indices])
        return [self.dataset[self.indices[i]] for i in indices]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of these lengths, or shares of 1, of a permutation of the indices."""
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if share < 0 or share > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(len(dataset) * share) for share in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = shuffled(len(dataset), generator)
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, indices[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


class _Infinite(Sampler):
    """The sampler of an iterable data set."""

    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """Batches of a data set. num_workers, pin_memory and what belongs to them are accepted: the process itself loads."""

    def __class_getitem__(cls, item):
        return cls

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
        self.pin_memory, self.timeout, self.worker_init_fn = pin_memory, timeout, worker_init_fn
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self._weft_is_iterable = isinstance(dataset, IterableDataset)
        if self._weft_is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            if self._weft_is_iterable:
                sampler = _Infinite()
            else:
                sampler = (
                    RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
                )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

    def __iter__(self):
        indices = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        drawn_seed(self.generator)  # PyTorch's, for its workers: what samplers draw follows it
        return (
            self._weft_iterate_in_order(iter(self.dataset))
            if self._weft_is_iterable
            else self._weft_iterate_by_index(indices)
        )

    def _weft_iterate_in_order(self, items):
        if self.batch_sampler is None:
            yield from map(self.collate_fn, items)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield self.collate_fn(batch)

    def _weft_iterate_by_index(self, chosen):
        if self.batch_sampler is None:
            for index in chosen:
                yield self.collate_fn(self.dataset[index])
            return
        fetch = getattr(self.dataset, "__getitems__", None)
        for indices in chosen:
            yield self.collate_fn(fetch(indices) if fetch else [self.dataset[index] for index in indices])

    def __len__(self):
        if self._weft_is_iterable:
            length = len(self.dataset)
            if self.batch_size is None:
                return length
            return length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def __getattr__(name):
    if name in (
        "IterDataPipe",
        "MapDataPipe",
        "DataChunk",
        "DFIterDataPipe",
        "functional_datapipe",
        "datapipes",
    ):
        raise AttributeError(
            f"torch.utils.data.{name} is PyTorch's, but not weft's: use Dataset and DataLoader"
        )
    if name in (
        "dataloader",
        "dataset",
        "distributed",
        "sampler",
    ):  # PyTorch's own regrouping of what is here
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils.data' has no attribute {name!r}")
