// What lists, strings and dictionaries share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/ivalue.h"

namespace weft::jit {

// Positions start, start + step, … of Python's slice of a sequence of `size`.
struct SliceRange {
  int64_t start, step, count;
};
SliceRange slice_range(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

// The position that `index` names, from the end where it is negative; IndexError "list index out of range".
size_t checked_index(const char* what, size_t size, int64_t index);

// Python's <: numbers, strings, lists and tuples of these, objects by their __lt__. TypeError otherwise.
bool less(const IValue& a, const IValue& b);

// A function as the callable that builtin() takes: builtin(schema, Call<copy>{}).
template <auto F>
struct Call;
template <class R, class... A, R (*F)(A...)>
struct Call<F> {
  R operator()(A... arguments) const { return F(arguments...); }
};

}  // namespace weft::jit
