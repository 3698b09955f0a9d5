// Iterators in native loops. All are counters: next to the number n, an iterator holds what it gives for it.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <bit>

#include "capture/loops/builder.h"
#include "capture/loops/loops.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxRest = 8;  // of a tuple, whose rounds are blocks of their own

LoopValue with_items(LoopKind kind, std::vector<LoopValue> items) {
  LoopValue value;
  value.kind = kind;
  value.items = std::move(items);
  return value;
}

bool is_type(PyObject* callable, const PyTypeObject& type) {
  return callable == reinterpret_cast<const PyObject*>(&type);
}

}  // namespace

LoopValue loop_iterator(LoopValue number, LoopValue end, LoopValue gives) {
  return with_items(LoopKind::RangeIter,
                    {std::move(number), std::move(end), loop_known_int(1), std::move(gives)});
}

const LoopValue* resized_under(const LoopValue& it) {
  if (it.kind != LoopKind::RangeIter || it.items.size() < 4 || it.items[3].kind != LoopKind::Elements)
    return nullptr;
  const LoopValue& container = it.items[3].items[0];
  return container.kind == LoopKind::Resized ? &container : nullptr;
}

// ---- in generated code ----

LoopValue LoopBuilder::iterator(const LoopValue& value) {
  if (value.kind == LoopKind::RangeIter || value.kind == LoopKind::Rest || value.kind == LoopKind::Generator)
    return value;
  if (value.kind == LoopKind::Range) {
    LoopValue it = value;
    it.kind = LoopKind::RangeIter;
    return it;
  }
  const bool is_written_out = value.kind == LoopKind::Tuple || value.kind == LoopKind::List;
  if (is_written_out && value.items.size() <= kMaxRest) {
    // One type for all that it gives, where that is possible.
    std::vector<LoopValue> items = value.items;
    bool nonnegative = true;
    for (const LoopValue& item : items)
      nonnegative = nonnegative && item.kind == LoopKind::Int && item.nonnegative;
    for (LoopValue& item : items)
      if (item.kind == LoopKind::Int) item.nonnegative = nonnegative;
    return with_items(LoopKind::Rest, std::move(items));
  }
  if (value.kind == LoopKind::Pending) return iterator(materialized(value));
  // What the list's length is in each round ends it.
  if (value.kind == LoopKind::Resized)
    return loop_iterator(loop_known_int(0), loop_known_int(0), with_items(LoopKind::Elements, {value}));
  if (!is_array(value) && value.kind != LoopKind::Vector)
    unsupported("iteration over what is not an array or range");
  LoopValue container = value;
  container.origin.clear();
  return loop_iterator(loop_known_int(0), loop_int(size_text(value, 0), true),
                       with_items(LoopKind::Elements, {std::move(container)}));
}

LoopValue LoopBuilder::given(const LoopValue& gives, const LoopValue& number) {
  const auto sum = [&](const LoopValue& a, const LoopValue& b) { return int_binary(NB_ADD, a, b); };
  switch (gives.kind) {
    case LoopKind::Elements: return subscript(gives.items[0], number);
    case LoopKind::Counted:
      return sum(gives.items[0],
                 gives.items[1].known == 1 ? number : int_binary(NB_MULTIPLY, number, gives.items[1]));
    case LoopKind::Enumerated:
      return loop_tuple(
          {gives.items[0].known == 0 ? number : sum(gives.items[0], number), given(gives.items[1], number)});
    default: {
      std::vector<LoopValue> items;
      for (const LoopValue& item : gives.items) items.push_back(given(item, number));
      return loop_tuple(std::move(items));
    }
  }
}

std::pair<LoopValue, std::string> LoopBuilder::iteration(const LoopValue& value) {
  const LoopValue it = iterator(value);
  if (resized_under(it)) unsupported("an iterator over a list that changes");
  if (it.kind != LoopKind::RangeIter || !it.items[2].known) unsupported("an iterator within an iterator");
  const int64_t step = *it.items[2].known;
  const std::string &first = it.items[0].expr, &end = it.items[1].expr;
  if (it.items.size() == 4) {
    if (it.items[0].known != 0) unsupported("an iterator that has begun");
    return {it.items[3], end};
  }
  const std::string count =
      temporary("i64", fmt::format("maximum<i64>(0, ({} - {} + {}) / {})", end, first,
                                   integer_literal(step - (step > 0 ? 1 : -1)), integer_literal(step)));
  return {with_items(LoopKind::Counted, {it.items[0], it.items[2], it.items[1]}), count};
}

LoopValue LoopBuilder::reversed(const LoopValue& range) {
  if (range.kind != LoopKind::Range || !range.items[2].known)
    unsupported("reversed() of what is not a range");
  const int64_t step = *range.items[2].known;
  const auto [counted, count] = iteration(range);
  const std::string& first = range.items[0].expr;
  const std::string by = integer_literal(step);
  return with_items(LoopKind::RangeIter,
                    {loop_int(temporary("i64", fmt::format("{} + ({} - 1) * {}", first, count, by))),
                     loop_int(temporary("i64", fmt::format("{} - {}", first, by))), loop_known_int(-step)});
}

// zip() and enumerate() of tuples and lists that are written out: one of their items.
std::optional<LoopValue> LoopBuilder::rows_written_out(PyObject* callable,
                                                       const std::vector<LoopValue>& args) {
  const auto is_written_out = [](const LoopValue& value) {
    return value.kind == LoopKind::Tuple || value.kind == LoopKind::List;
  };
  const bool numbers = is_type(callable, PyEnum_Type);
  if (!numbers && !is_type(callable, PyZip_Type)) return {};
  const size_t parts = numbers ? std::min<size_t>(args.size(), 1) : args.size();
  if (parts == 0 ||
      !std::all_of(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(parts), is_written_out))
    return {};
  if (numbers && args.size() == 2 && !args[1].known) return {};
  size_t count = args[0].items.size();
  for (size_t k = 0; k < parts; ++k) count = std::min(count, args[k].items.size());
  if (count > kMaxRest) return {};
  std::vector<LoopValue> rows;
  for (size_t i = 0; i < count; ++i) {
    std::vector<LoopValue> row;
    if (numbers)
      row.push_back(loop_known_int(static_cast<int64_t>(i) + (args.size() == 2 ? *args[1].known : 0)));
    for (size_t k = 0; k < parts; ++k) row.push_back(args[k].items[i]);
    rows.push_back(loop_tuple(std::move(row)));
  }
  return with_items(LoopKind::Rest, std::move(rows));
}

bool LoopBuilder::call_iterator(PyObject* callable, const std::vector<LoopValue>& args) {
  if (auto rows = rows_written_out(callable, args)) return push(std::move(*rows)), true;
  if (is_type(callable, PyReversed_Type) && args.size() == 1) return push(reversed(args[0])), true;
  if (is_type(callable, PyEnum_Type) && (args.size() == 1 || args.size() == 2)) {
    const LoopValue start = args.size() == 2 ? args[1] : loop_known_int(0);
    if (start.kind != LoopKind::Int) return false;
    const auto [gives, count] = iteration(args[0]);
    push(loop_iterator(loop_known_int(0), loop_int(count, true),
                       with_items(LoopKind::Enumerated, {start, gives})));
    return true;
  }
  if (!is_type(callable, PyZip_Type) || args.empty()) return false;
  std::vector<LoopValue> parts;
  std::string end;
  for (const LoopValue& arg : args) {
    auto [gives, count] = iteration(arg);
    parts.push_back(std::move(gives));
    if (!end.empty()) count = temporary("i64", fmt::format("minimum<i64>({}, {})", end, count));
    end = count;
  }
  push(loop_iterator(loop_known_int(0), loop_int(end, true), with_items(LoopKind::Zipped, std::move(parts))));
  return true;
}

// Each round is a block of its own.
void LoopBuilder::iterate_rest(const Instruction& in) {
  LoopValue& it = top();
  if (it.items.empty()) {
    pop();
    frame().ip = in.arg;
    emit(loopir::go(jump_to(frames_)));
    block_done_ = true;
    return;
  }
  LoopValue item = it.items.front();
  it.items.erase(it.items.begin());
  push(std::move(item));
}

// ---- at the entry ----

namespace {

struct Parsed {
  LoopValue gives;
  std::vector<int64_t> words;  // of its leaves
  int64_t number = 0, end = 0;
};

Ref attribute(PyObject* object, const char* name) { return checked(PyObject_GetAttrString(object, name)); }

int64_t as_int(PyObject* object, bool* fits) {
  int overflow = 0;
  const int64_t number = PyLong_Check(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
  *fits = *fits && PyLong_Check(object) && overflow == 0 && std::abs(number) < int64_t{1} << 61;
  return number;
}

// Nothing where the loop cannot have the iterator to itself, or does not know it.
bool parse(PyObject* it, const std::function<LoopValue(PyObject*)>& container, Parsed* result,
           bool is_within = false) {
  if (Py_REFCNT(it) != 1) return false;
  const bool over_sequence =
      Py_TYPE(it) == &PySeqIter_Type || Py_TYPE(it) == &PyListIter_Type || Py_TYPE(it) == &PyTupleIter_Type;
  const bool over_range = Py_TYPE(it) == &PyRangeIter_Type;
  if (!over_sequence && !over_range && Py_TYPE(it) != &PyEnum_Type && Py_TYPE(it) != &PyZip_Type)
    return false;
  Ref reduced = checked(PyObject_CallMethod(it, "__reduce__", nullptr));
  PyObject* args = PyTuple_GET_ITEM(reduced.get(), 1);
  PyObject* state = PyTuple_GET_SIZE(reduced.get()) > 2 ? PyTuple_GET_ITEM(reduced.get(), 2) : nullptr;
  bool fits = true;
  if (over_sequence || over_range) {
    if (PyTuple_GET_SIZE(args) != 1) return false;
    PyObject* sequence = PyTuple_GET_ITEM(args, 0);
    if (state && PyLong_Check(state)) result->number = as_int(state, &fits);
    result->end = PyObject_Length(sequence);
    if (result->end < 0) PyErr_Clear();
    if (over_range) {
      const int64_t start = as_int(attribute(sequence, "start").get(), &fits),
                    stop = as_int(attribute(sequence, "stop").get(), &fits),
                    step = as_int(attribute(sequence, "step").get(), &fits);
      result->gives = with_items(LoopKind::Counted,
                                 {loop_int("", start >= 0), loop_known_int(step), loop_int("", stop >= 0)});
      result->words = {start, stop};
      return fits && result->end >= 0;
    }
    LoopValue elements = container(sequence);
    const bool is_resized = elements.kind == LoopKind::Resized;
    if (elements.kind != LoopKind::Array && elements.kind != LoopKind::Vector && !is_resized) return false;
    if (is_resized && (is_within || Py_TYPE(it) != &PyListIter_Type)) return false;
    result->gives = with_items(LoopKind::Elements, {std::move(elements)});
    return fits && result->end >= 0;
  }
  if (Py_TYPE(it) == &PyEnum_Type) {
    PyObject* inner = PyTuple_GET_ITEM(args, 0);
    const int64_t count = as_int(PyTuple_GET_ITEM(args, 1), &fits);
    Parsed part;
    reduced = Ref();  // holds the inner iterator
    if (!fits || !parse(inner, container, &part, true)) return false;
    const int64_t offset = count - part.number;
    result->gives = with_items(LoopKind::Enumerated, {loop_int("", offset >= 0), std::move(part.gives)});
    result->words = {offset};
    result->words.insert(result->words.end(), part.words.begin(), part.words.end());
    result->number = part.number;
    result->end = part.end;
    return true;
  }
  if (state || PyTuple_GET_SIZE(args) == 0) return false;  // strict
  std::vector<PyObject*> inner;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) inner.push_back(PyTuple_GET_ITEM(args, i));
  reduced = Ref();
  result->gives.kind = LoopKind::Zipped;
  for (size_t i = 0; i < inner.size(); ++i) {
    Parsed part;
    if (!parse(inner[i], container, &part, true)) return false;
    if (i > 0 && part.number != result->number) return false;
    result->number = part.number;
    result->end = i == 0 ? part.end : std::min(result->end, part.end);
    result->gives.items.push_back(std::move(part.gives));
    result->words.insert(result->words.end(), part.words.begin(), part.words.end());
  }
  return true;
}

}  // namespace

LoopValue LoopEntry::iterator(PyObject* o) {
  Parsed parsed;
  const auto container = [&](PyObject* sequence) {
    return PyArray_CheckExact(sequence) ? array(sequence) : vector(sequence, kMaxIterated);
  };
  if (!parse(o, container, &parsed)) return object(o);
  LoopValue number = integer(parsed.number), end = integer(parsed.end);
  words.insert(words.end(), parsed.words.begin(), parsed.words.end());
  return loop_iterator(std::move(number), std::move(end), std::move(parsed.gives));
}

// A real iterator; `next` makes what the next leaf stands for.
Ref python_iterator(const LoopValue& gives, int64_t number,
                    const std::function<Ref(const LoopValue&)>& next) {
  const auto called = [](const PyTypeObject& type, PyObject* args) {
    Ref owned = checked(args);
    return checked(
        PyObject_Call(reinterpret_cast<PyObject*>(const_cast<PyTypeObject*>(&type)), owned.get(), nullptr));
  };
  switch (gives.kind) {
    case LoopKind::Elements: {
      const Ref container = next(gives.items[0]);
      Ref it = checked(PyObject_GetIter(container.get()));
      // Where the list is shorter than that by now, the iterator would take it for its end.
      const Py_ssize_t size =
          gives.items[0].kind == LoopKind::Resized ? PyList_GET_SIZE(container.get()) : number;
      for (Py_ssize_t k = size; k < number; ++k)
        if (PyList_Append(container.get(), Py_None) < 0) throw PythonError{};
      if (number > 0)
        checked(PyObject_CallMethod(it.get(), "__setstate__", "L", static_cast<long long>(number)));
      if (size < number && PyList_SetSlice(container.get(), size, number, nullptr) < 0) throw PythonError{};
      return it;
    }
    case LoopKind::Counted: {
      const int64_t step = *gives.items[1].known, start = PyLong_AsLongLong(next(gives.items[0]).get());
      Ref end = next(gives.items[2]);
      Ref range = called(PyRange_Type, Py_BuildValue("(LOL)", static_cast<long long>(start + number * step),
                                                     end.get(), static_cast<long long>(step)));
      return checked(PyObject_GetIter(range.get()));
    }
    case LoopKind::Enumerated: {
      const int64_t offset = PyLong_AsLongLong(next(gives.items[0]).get());
      Ref inner = python_iterator(gives.items[1], number, next);
      return called(PyEnum_Type,
                    Py_BuildValue("(NL)", inner.release(), static_cast<long long>(offset + number)));
    }
    default: {
      Ref parts = checked(PyTuple_New(static_cast<Py_ssize_t>(gives.items.size())));
      for (size_t i = 0; i < gives.items.size(); ++i)
        PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i),
                         python_iterator(gives.items[i], number, next).release());
      return called(PyZip_Type, parts.release());
    }
  }
}

}  // namespace weft::capture
