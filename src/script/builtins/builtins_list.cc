// List methods, and the functions over lists.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <iterator>

#include "core/memory_limit.h"
#include "script/builtins/builtin.h"
#include "values/containers.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {

namespace {

using ListPtr = std::shared_ptr<List>;
using Values = std::vector<IValue>;

// Does `equals` decide? Tensors are equal when they are the same.
auto find(const List& list, const IValue& value) {
  return std::find_if(list.values.begin(), list.values.end(),
                      [&](const IValue& item) { return item.equals(value); });
}

[[noreturn]] void not_in_list(const char* method, const IValue& value) {
  throw_error(ErrorKind::Value, fmt::format("list.{}(x): {} is not in the list", method, value.repr()));
}

int64_t index_in(const ListPtr& self, IValue& value) {
  const auto found = find(*self, value);
  if (found == self->values.end()) not_in_list("index", value);
  return found - self->values.begin();
}

void remove_from(const ListPtr& self, IValue& value) {
  const auto found = find(*self, value);
  if (found == self->values.end()) not_in_list("remove", value);
  self->values.erase(found);
}

int64_t count_in(const ListPtr& self, IValue& value) {
  return std::count_if(self->values.begin(), self->values.end(),
                       [&](const IValue& item) { return item.equals(value); });
}

bool contains(const ListPtr& self, IValue& value) { return find(*self, value) != self->values.end(); }

// Merges ever longer runs. A comparison may be a script's, and contradict itself: every merge ends all the
// same.
template <class Less>
void merge_sort(Values& values, Less less) {
  Values merged(values.size());
  const auto at = [&](size_t position) {
    return std::make_move_iterator(values.begin() +
                                   static_cast<std::ptrdiff_t>(std::min(position, values.size())));
  };
  for (size_t width = 1; width < values.size(); width *= 2) {
    auto out = merged.begin();
    for (size_t i = 0; i < values.size(); i += 2 * width)
      out = std::merge(at(i), at(i + width), at(i + width), at(i + 2 * width), out, less);
    values.swap(merged);
  }
}

// Stable both ways, as Python's.
void sort_values(Values& values, bool reverse) {
  if (reverse)
    merge_sort(values, [](const IValue& a, const IValue& b) { return less(b, a); });
  else
    merge_sort(values, less);
}

IValue sorted(const ListPtr& self) {
  Values values = self->values;
  sort_values(values, false);
  return IValue::list(self->element, std::move(values));
}

// A comparison that calls a script finds the list as it was; an error leaves it so.
void sort(const ListPtr& self, bool reverse) {
  Values values = self->values;
  sort_values(values, reverse);
  self->values = std::move(values);
}

IValue copy(const ListPtr& self) { return IValue::list(self->element, self->values); }

IValue repeated(const ListPtr& self, int64_t times) {
  Values values;
  const size_t size = self->values.size();
  check_list_fits_memory("mul", times, size * sizeof(IValue));
  for (int64_t i = 0; i < times && size > 0; ++i)
    values.insert(values.end(), self->values.begin(), self->values.end());
  return IValue::list(self->element, std::move(values));
}

IValue sliced(const ListPtr& self, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const SliceRange range = slice_range(static_cast<int64_t>(self->values.size()), start, end, step);
  Values values;
  values.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i)
    values.push_back(self->values[static_cast<size_t>(range.start + i * range.step)]);
  return IValue::list(self->element, std::move(values));
}

IValue pop(const ListPtr& self, int64_t index) {
  WEFT_CHECK_INDEX(!self->values.empty(), "pop from an empty list");
  const auto at =
      self->values.begin() + static_cast<std::ptrdiff_t>(checked_index("list", self->values.size(), index));
  IValue value = std::move(*at);
  self->values.erase(at);
  return value;
}

void insert(const ListPtr& self, int64_t index, IValue& value) {
  const auto size = static_cast<int64_t>(self->values.size());
  const int64_t at = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  self->values.insert(self->values.begin() + at, value);
}

// Also of a list and itself.
void extend(const ListPtr& self, const ListPtr& other) {
  const Values added = other->values;
  self->values.insert(self->values.end(), added.begin(), added.end());
}

int register_methods() {
  builtin("aten::len.t(t[] a) -> int",
          [](const ListPtr& a) { return static_cast<int64_t>(a->values.size()); });
  builtin("aten::len.any(Any[] a) -> int",
          [](const ListPtr& a) { return static_cast<int64_t>(a->values.size()); });
  const auto get = [](const ListPtr& list, int64_t index) -> IValue {
    return list->values[checked_index("list", list->values.size(), index)];
  };
  builtin("aten::__getitem__.t(t[](a) list, int idx) -> t(*)", get);
  builtin("aten::select.t(t[](a) list, int idx) -> t(*)", get);
  builtin("aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)",
          [](IValue& l, int64_t index, IValue& el) -> IValue {
            Values& values = l.to_list()->values;
            values[checked_index("list", values.size(), index)] = el;
            return l;
          });
  builtin("aten::Delete.t(t[](a!) self, int idx) -> ()",
          [](const ListPtr& self, int64_t index) { pop(self, index); });
  builtin("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", [](IValue& self, IValue& el) -> IValue {
    self.to_list()->values.push_back(el);
    return self;
  });
  builtin("aten::extend.t(t[](a!) self, t[] other) -> ()",
          [](const ListPtr& self, const ListPtr& other) { extend(self, other); });
  builtin("aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()",
          [](const ListPtr& self, int64_t index, IValue& el) { insert(self, index, el); });
  builtin("aten::pop.t(t[](a!) self, int idx=-1) -> t(*)",
          [](const ListPtr& self, int64_t index) { return pop(self, index); });
  builtin("aten::clear.t(t[](a!) self) -> ()", [](const ListPtr& self) { self->values.clear(); });
  builtin("aten::reverse.t(t[](a!) self) -> ()",
          [](const ListPtr& self) { std::reverse(self->values.begin(), self->values.end()); });
  builtin("aten::copy.t(t[](a) self) -> t[]", [](const ListPtr& self) { return copy(self); }, false);
  builtin("aten::list.t(t[] l) -> t[]", [](const ListPtr& l) { return copy(l); }, false);
  builtin(
      "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
      [](const ListPtr& l, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
        return sliced(l, start, end, step);
      },
      false);
  builtin(
      "aten::add.t(t[] a, t[] b) -> t[]",
      [](const ListPtr& a, const ListPtr& b) -> IValue {
        Values values = a->values;
        values.insert(values.end(), b->values.begin(), b->values.end());
        return IValue::list(a->element, std::move(values));
      },
      false);
  builtin("aten::add_.t(t[](a!) self, t[] b) -> t[]", [](IValue& self, const ListPtr& b) -> IValue {
    extend(self.to_list(), b);
    return self;
  });
  builtin(
      "aten::mul.left_t(t[] l, int n) -> t[]", [](const ListPtr& l, int64_t n) { return repeated(l, n); },
      false);
  builtin(
      "aten::mul.right_(int n, t[] l) -> t[]", [](int64_t n, const ListPtr& l) { return repeated(l, n); },
      false);
  builtin("aten::mul_.t(t[](a!) l, int n) -> t[](a!)", [](IValue& l, int64_t n) -> IValue {
    const IValue result = repeated(l.to_list(), n);
    l.to_list()->values = result.to_list()->values;
    return l;
  });
  return 0;
}

// One definition for each element type that TorchScript's overloads have.
#define WEFT_LIST_SEARCH(TYPE)                                                  \
  builtin("aten::index.list_" TYPE "(" TYPE "[] self, " TYPE " el) -> int",     \
          [](const ListPtr& self, IValue& el) { return index_in(self, el); });  \
  builtin("aten::remove." TYPE "(" TYPE "[](a!) self, " TYPE " el) -> ()",      \
          [](const ListPtr& self, IValue& el) { remove_from(self, el); });      \
  builtin("aten::count." TYPE "(" TYPE "[] self, " TYPE " el) -> int",          \
          [](const ListPtr& self, IValue& el) { return count_in(self, el); });  \
  builtin("aten::sort." TYPE "(" TYPE "[](a!) self, bool reverse=False) -> ()", \
          [](const ListPtr& self, bool reverse) { sort(self, reverse); });      \
  builtin(                                                                      \
      "aten::sorted." TYPE "(" TYPE "[](a) input) -> " TYPE "[]",               \
      [](const ListPtr& self) { return sorted(self); }, false);

#define WEFT_LIST_EXTREMES(TYPE)                                               \
  builtin("prim::max.self_" TYPE "(" TYPE "[] self) -> " TYPE,                 \
          [](const ListPtr& self) { return extreme("max", *self, true); });    \
  builtin("prim::min.self_" TYPE "(" TYPE "[] self) -> " TYPE,                 \
          [](const ListPtr& self) { return extreme("min", *self, false); });   \
  builtin("prim::max." TYPE "_list(" TYPE "[] l, " TYPE "[] r) -> " TYPE "[]", \
          [](IValue& l, IValue& r) -> IValue { return less(l, r) ? r : l; });  \
  builtin("prim::min." TYPE "_list(" TYPE "[] l, " TYPE "[] r) -> " TYPE "[]", \
          [](IValue& l, IValue& r) -> IValue { return less(r, l) ? r : l; });

IValue extreme(const char* function, const List& list, bool largest) {
  WEFT_CHECK(!list.values.empty(), fmt::format("{}() of an empty list", function));
  if (largest) return *std::max_element(list.values.begin(), list.values.end(), less);
  return *std::min_element(list.values.begin(), list.values.end(), less);
}

int register_functions() {
  WEFT_LIST_SEARCH("int")
  WEFT_LIST_SEARCH("float")
  WEFT_LIST_SEARCH("bool")
  WEFT_LIST_SEARCH("str")
  WEFT_LIST_EXTREMES("int")
  WEFT_LIST_EXTREMES("float")
  WEFT_LIST_EXTREMES("bool")
  builtin("aten::sort.Tensor(Tensor[](a!) self, bool reverse=False) -> ()",
          [](const ListPtr& self, bool reverse) { sort(self, reverse); });
  builtin("aten::sort.any(t[](a!) self, bool reverse=False) -> ()",
          [](const ListPtr& self, bool reverse) { sort(self, reverse); });
  builtin("aten::sorted.any(t[](a) self) -> t[]", [](const ListPtr& self) { return sorted(self); }, false);
  builtin("aten::__contains__.int_list(int[] l, int item) -> bool",
          [](const ListPtr& l, IValue& item) { return contains(l, item); });
  builtin("aten::__contains__.str_list(str[] l, str item) -> bool",
          [](const ListPtr& l, IValue& item) { return contains(l, item); });
  builtin("aten::__contains__.float_list(float[] l, float item) -> bool",
          [](const ListPtr& l, IValue& item) { return contains(l, item); });
  const auto all = [](const ListPtr& self) {
    return std::all_of(self->values.begin(), self->values.end(),
                       [](const IValue& v) { return v.to_double() != 0; });
  };
  const auto any = [](const ListPtr& self) {
    return std::any_of(self->values.begin(), self->values.end(),
                       [](const IValue& v) { return v.to_double() != 0; });
  };
  builtin("aten::all.int(int[] self) -> bool", all);
  builtin("aten::all.float(float[] self) -> bool", all);
  builtin("aten::all.bool(bool[] self) -> bool", all);
  builtin("aten::any.int(int[] self) -> bool", any);
  builtin("aten::any.float(float[] self) -> bool", any);
  builtin("aten::any.bool(bool[] self) -> bool", any);
  builtin("aten::any.str(str[] self) -> bool", [](const ListPtr& self) {
    return std::any_of(self->values.begin(), self->values.end(),
                       [](const IValue& v) { return !v.to_string().empty(); });
  });
  const auto sum = [](const ListPtr& self) {
    int64_t total = 0;
    for (const IValue& value : self->values)
      total = static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value.to_int()));
    return total;
  };
  builtin("aten::sum.int(int[] self) -> int", sum);
  builtin("aten::sum.bool(bool[] self) -> int", sum);
  builtin("aten::sum.float(float[] self) -> float", [](const ListPtr& self) {
    double total = 0;
    for (const IValue& value : self->values) total += value.to_double();
    return total;
  });
  builtin("aten::sum.complex(complex[] self) -> complex", [](const ListPtr& self) {
    std::complex<double> total;
    for (const IValue& value : self->values) total += value.to_complex();
    return total;
  });
  return 0;
}

[[maybe_unused]] const int registered_list = register_methods() + register_functions();

}  // namespace
}  // namespace weft::jit
