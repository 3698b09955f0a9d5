"""Python functions that capture enters in place of the standard library's functions and classes written in C.

What they return stands for an object of another type, and is never given to the program itself: where it would be, the
graph breaks before the call.
"""

from . import calling, containers, copying, iterators, ordering
from .calling import construct, tensor_of_numbers
from .containers import dict_update, list_extend
from .iterators import each_next

__all__ = ["REPLACEMENTS", "construct", "dict_update", "each_next", "list_extend", "tensor_of_numbers"]

REPLACEMENTS = {
    "bisect.bisect_left": ordering.bisect_left,
    "bisect.bisect_right": ordering.bisect_right,
    "bisect.insort_left": ordering.insort_left,
    "bisect.insort_right": ordering.insort_right,
    "builtins.filter": iterators.filter_,
    "builtins.map": iterators.map_,
    "builtins.max": ordering.max_,
    "builtins.min": ordering.min_,
    "builtins.sorted": ordering.sorted_,
    "builtins.vars": calling.vars_,
    "builtins.zip": iterators.zip_,
    "collections.Counter": containers.Counter,
    "collections.OrderedDict": containers.OrderedDict,
    "collections.defaultdict": containers.DefaultDict,
    "collections.deque": containers.Deque,
    "copy.copy": copying.copy,
    "copy.deepcopy": copying.deepcopy,
    "functools.cache": calling.cached,
    "functools.cmp_to_key": ordering.cmp_to_key,
    "functools.lru_cache": calling.lru_cache,
    "heapq.heapify": ordering.heapify,
    "heapq.heappop": ordering.heappop,
    "heapq.heappush": ordering.heappush,
    "heapq.heappushpop": ordering.heappushpop,
    "heapq.heapreplace": ordering.heapreplace,
    "heapq.nlargest": ordering.nlargest,
    "heapq.nsmallest": ordering.nsmallest,
    "itertools.accumulate": iterators.accumulate,
    "itertools.batched": iterators.batched,
    "itertools.chain": iterators.chain,
    "itertools.combinations": iterators.combinations,
    "itertools.combinations_with_replacement": iterators.combinations_with_replacement,
    "itertools.compress": iterators.compress,
    "itertools.count": iterators.count,
    "itertools.cycle": iterators.cycle,
    "itertools.dropwhile": iterators.dropwhile,
    "itertools.filterfalse": iterators.filterfalse,
    "itertools.groupby": iterators.groupby,
    "itertools.islice": iterators.islice,
    "itertools.pairwise": iterators.pairwise,
    "itertools.permutations": iterators.permutations,
    "itertools.product": iterators.product,
    "itertools.repeat": iterators.repeat,
    "itertools.starmap": iterators.starmap,
    "itertools.takewhile": iterators.takewhile,
    "itertools.tee": iterators.tee,
    "itertools.zip_longest": iterators.zip_longest,
    "nd.dict.fromkeys": calling.dict_fromkeys,
    "nd.itertools.chain.from_iterable": iterators.chain_from_iterable,
    "operator.attrgetter": calling.attrgetter,
    "operator.itemgetter": calling.itemgetter,
    "operator.methodcaller": calling.methodcaller,
    "weft._C._is_recording": calling.is_recording,
    "weft._C.as_tensor": calling.as_tensor,
}
