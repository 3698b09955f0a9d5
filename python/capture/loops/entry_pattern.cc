#include "capture/loops/entry_pattern.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "capture/guards/guards.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr int64_t kMostCounted = int64_t{1} << 61;  // of what iterators count

bool is_countable(int64_t number) { return number > -kMostCounted && number < kMostCounted; }

// CPython's iterators over sequences and over ranges of C integers, which have no other quick way in. Whether
// they look like this is found out from samples.
struct SequenceIterator {
  PyObject_HEAD Py_ssize_t index;
  PyObject* sequence;
};
struct RangeIterator {
  PyObject_HEAD long words[4];  // up to Python 3.11 an index comes before start, step and length
};

enum class Layouts : uint8_t { Unknown, Indexed, Advanced, Others };

// An iterator of which one round is over.
Ref sample(PyObject* sequence) {
  const Ref owned = checked(sequence);
  Ref it = checked(PyObject_GetIter(owned.get()));
  checked(PyIter_Next(it.get()));
  return it;
}

Layouts find_layouts() {
  npy_intp size_of_array = 3;
  const Ref array = checked(PyArray_ZEROS(1, &size_of_array, NPY_INT8, 0));
  const Ref over_array = sample(Py_NewRef(array.get()));
  const auto* sequence = reinterpret_cast<const SequenceIterator*>(over_array.get());
  if (Py_TYPE(over_array.get()) != &PySeqIter_Type ||
      PySeqIter_Type.tp_basicsize != sizeof(SequenceIterator) || sequence->index != 1 ||
      sequence->sequence != array.get())
    return Layouts::Others;
  const Ref over_range =
      sample(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "iii", 5, 50, 7));
  if (Py_TYPE(over_range.get()) != &PyRangeIter_Type) return Layouts::Others;
  const auto size = static_cast<size_t>(PyRangeIter_Type.tp_basicsize);
  const long* words = reinterpret_cast<const RangeIterator*>(over_range.get())->words;
  const auto is = [&](std::initializer_list<long> expected) {
    return size == sizeof(PyObject) + expected.size() * sizeof(long) &&
           std::equal(expected.begin(), expected.end(), words);
  };
  if (is({1, 5, 7, 7})) return Layouts::Indexed;
  return is({12, 7, 6}) ? Layouts::Advanced : Layouts::Others;
}

Layouts layouts() {
  static constinit Layouts found = Layouts::Unknown;
  if (found == Layouts::Unknown) found = find_layouts();
  return found;
}

struct RangeParts {
  int64_t next, stop, step;
};

RangeParts parts_of(PyObject* it) {
  const long* words = reinterpret_cast<const RangeIterator*>(it)->words;
  if (layouts() == Layouts::Indexed)
    return {words[1] + words[0] * words[2], words[1] + words[3] * words[2], words[2]};
  return {words[0], words[0] + words[2] * words[1], words[1]};
}

int64_t word_of_scalar(PyObject* scalar, DType dtype) {
  int64_t word = 0;
  if (dtype == DType::F64 || dtype == DType::I64) {
    PyArray_ScalarAsCtype(scalar, &word);
    return word;
  }
  const Scalar value = scalar_tensor(scalar, dtype).item();
  return is_floating(dtype) ? std::bit_cast<int64_t>(value.to_double()) : value.to_int();
}

}  // namespace

std::shared_ptr<const EntryPattern> EntryPattern::of(const Frame& frame, const LoopEntry& entry,
                                                     size_t most_words) {
  if (layouts() == Layouts::Others || !entry.objects.empty() || !entry.lists.empty() || frame.extra)
    return nullptr;
  auto pattern = std::make_shared<EntryPattern>();
  for (size_t i = 0; i < entry.arrays.size(); ++i) {
    const LoopArray& array = entry.arrays[i];
    if (!PyArray_Check(entry.array_objects[i].get())) return nullptr;
    pattern->arrays_.push_back({type_number(array.dtype), array.dim, array.unit, array.writable});
    if (array.dtype != entry.arrays[0].dtype) pattern->is_of_one_dtype_ = false;
  }
  const LoopFrame& read = entry.frames[0];
  pattern->globals_ = read.globals;
  pattern->builtins_ = read.builtins;
  pattern->on_return_ = read.on_return;
  pattern->most_words_ = std::max(most_words, entry.words.size());
  pattern->num_array_words_ = entry.array_words.size();
  pattern->num_locals_ = frame.locals.size();
  pattern->stack_size_ = frame.stack.size();
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const bool is_live = frame.code->is_live(frame.ip, static_cast<int>(i));
    (is_live ? pattern->locals_ : pattern->unread_).push_back(static_cast<int>(i));
    if (is_live && !pattern->expect(frame.locals[i].get(), read.locals[i])) return nullptr;
  }
  for (size_t i = 0; i < frame.stack.size(); ++i)
    if (!pattern->expect(frame.stack[i].get(), read.stack[i])) return nullptr;
  return pattern;
}

bool EntryPattern::expect(PyObject* object, const LoopValue& value) {
  Expected expected{.kind = value.kind, .dtype = value.dtype, .index = value.index};
  switch (value.kind) {
    case LoopKind::Unbound:
    case LoopKind::Null:
    case LoopKind::Float:
    case LoopKind::Bool:
    case LoopKind::Complex:
    case LoopKind::Array: break;
    case LoopKind::Int:
      if (value.pinned) return false;
      expected.nonnegative = value.nonnegative;
      break;
    case LoopKind::Const:
      expected.object = value.object;
      kept_.push_back(Ref::borrow(value.object));
      break;
    case LoopKind::Numpy: expected.object = reinterpret_cast<PyObject*>(Py_TYPE(object)); break;
    case LoopKind::Tuple:
      expected.num_items = value.items.size();
      values_.push_back(expected);
      for (size_t i = 0; i < value.items.size(); ++i)
        if (!expect(PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)), value.items[i])) return false;
      return true;
    case LoopKind::RangeIter: {
      if (value.items[0].pinned) return false;
      expected.is_over_array = value.items.size() == 4;
      expected.has_other_step = !value.items[2].known;
      expected.step = value.items[2].known.value_or(value.items[2].nonnegative ? 0 : -1);
      if (!expected.is_over_array) {
        if (Py_TYPE(object) != &PyRangeIter_Type) return false;
        expected.nonnegative = value.items[0].nonnegative;
        expected.ends_nonnegative = value.items[1].nonnegative;
      } else {
        const LoopValue& gives = value.items[3];
        if (gives.kind != LoopKind::Elements || gives.items[0].kind != LoopKind::Array ||
            Py_TYPE(object) != &PySeqIter_Type)
          return false;
        expected.index = gives.items[0].index;
      }
      break;
    }
    default: return false;
  }
  values_.push_back(expected);
  return true;
}

bool EntryPattern::read(const Frame& frame, LoopEntry& entry) const {
  if (frame.globals.get() != globals_ || frame.builtins.get() != builtins_ || frame.on_return != on_return_ ||
      frame.extra || frame.locals.size() != num_locals_ || frame.stack.size() != stack_size_)
    return false;
  for (const int local : unread_)
    if (PyObject* held = frame.locals[static_cast<size_t>(local)].get(); held && PyCell_Check(held))
      return false;
  reserve(entry);
  size_t at = 0;
  for (const int local : locals_)
    if (!read(frame.locals[static_cast<size_t>(local)].get(), at, entry)) return false;
  for (const Ref& value : frame.stack)
    if (!read(value.get(), at, entry)) return false;
  return is_of_one_dtype_ || may_not_overlap(entry);
}

bool EntryPattern::read_call(PyObject* callable, PyObject* const* args, size_t num_args,
                             LoopEntry& entry) const {
  const auto* function = reinterpret_cast<const PyFunctionObject*>(callable);
  if (function->func_globals != globals_ || function->func_builtins != builtins_ ||
      on_return_ != OnReturn::Push || stack_size_ != 0)
    return false;
  const auto held = [&](int local) { return static_cast<size_t>(local) < num_args ? args[local] : nullptr; };
  for (const int local : unread_)
    if (PyObject* const object = held(local); object && PyCell_Check(object)) return false;
  reserve(entry);
  size_t at = 0;
  for (const int local : locals_)
    if (!read(held(local), at, entry)) return false;
  return is_of_one_dtype_ || may_not_overlap(entry);
}

void EntryPattern::reserve(LoopEntry& entry) const {
  entry.words.reserve(most_words_);
  entry.array_words.reserve(num_array_words_);
  entry.array_objects.reserve(arrays_.size());
}

// Arrays of different types share no memory.
bool EntryPattern::may_not_overlap(const LoopEntry& entry) const {
  for (size_t a = 0; a < arrays_.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (arrays_[a].type_number != arrays_[b].type_number &&
          arrays_overlap(entry.array_objects[a].get(), entry.array_objects[b].get()))
        return false;
  return true;
}

bool EntryPattern::read_integer(int64_t number, bool nonnegative, LoopEntry& entry) const {
  entry.words.push_back(number);
  return (number >= 0) == nonnegative;
}

bool EntryPattern::read(PyObject* o, size_t& at, LoopEntry& entry) const {
  const Expected& expected = values_[at++];
  if (expected.kind == LoopKind::Unbound || expected.kind == LoopKind::Null) return !o;
  if (!o) return false;
  switch (expected.kind) {
    case LoopKind::Const: return o == expected.object;
    case LoopKind::Bool: return entry.words.push_back(o == Py_True), PyBool_Check(o);
    case LoopKind::Int: {
      if (!PyLong_CheckExact(o)) return false;
      int overflow = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(o, &overflow);
      return overflow == 0 && read_integer(number, expected.nonnegative, entry);
    }
    case LoopKind::Float:
      if (!PyFloat_CheckExact(o)) return false;
      entry.words.push_back(std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(o)));
      return true;
    case LoopKind::Complex:
      if (!PyComplex_CheckExact(o)) return false;
      entry.words.push_back(std::bit_cast<int64_t>(PyComplex_RealAsDouble(o)));
      entry.words.push_back(std::bit_cast<int64_t>(PyComplex_ImagAsDouble(o)));
      return true;
    case LoopKind::Numpy:
      if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != expected.object) return false;
      entry.words.push_back(word_of_scalar(o, expected.dtype));
      return true;
    case LoopKind::Array: return read_array(o, expected, entry);
    case LoopKind::Tuple:
      if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != static_cast<Py_ssize_t>(expected.num_items))
        return false;
      for (size_t i = 0; i < expected.num_items; ++i)
        if (!read(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)), at, entry)) return false;
      return true;
    case LoopKind::RangeIter: return read_iterator(o, at, entry);
    default: return false;
  }
}

bool EntryPattern::read_iterator(PyObject* o, size_t& at, LoopEntry& entry) const {
  const Expected& expected = values_[at - 1];
  // The loop goes on with an iterator of its own: nobody else may hold this one.
  if (Py_REFCNT(o) != 1) return false;
  if (expected.is_over_array) {
    if (Py_TYPE(o) != &PySeqIter_Type) return false;
    const auto* it = reinterpret_cast<const SequenceIterator*>(o);
    if (!it->sequence || !is_countable(it->index) || !read_array(it->sequence, expected, entry)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(it->sequence);
    entry.words.push_back(it->index);
    entry.words.push_back(PyArray_DIM(array, 0));
    return true;
  }
  if (Py_TYPE(o) != &PyRangeIter_Type) return false;
  const RangeParts range = parts_of(o);
  if (!is_countable(range.next) || !is_countable(range.stop) || !is_countable(range.step)) return false;
  if (!read_integer(range.next, expected.nonnegative, entry) ||
      !read_integer(range.stop, expected.ends_nonnegative, entry))
    return false;
  if (!expected.has_other_step) return range.step == expected.step;
  return read_integer(range.step, expected.step >= 0, entry);
}

bool EntryPattern::read_array(PyObject* o, const Expected& expected, LoopEntry& entry) const {
  if (!PyArray_CheckExact(o)) return false;
  const auto index = static_cast<size_t>(expected.index);
  std::vector<Ref>& objects = entry.array_objects;
  if (index < objects.size()) return objects[index].get() == o;
  for (const Ref& other : objects)
    if (other.get() == o) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(o);
  const Array& known = arrays_[index];
  PyArray_Descr* const descr = PyArray_DESCR(array);
  if (descr->type_num != known.type_number || PyArray_NDIM(array) != known.dim ||
      !PyArray_ISNBO(descr->byteorder) || is_annotated(descr) || !PyArray_ISALIGNED(array) ||
      (PyArray_ISWRITEABLE(array) != 0) != known.writable)
    return false;
  const int64_t item = PyArray_ITEMSIZE(array);
  std::vector<int64_t>& words = entry.array_words;
  words.push_back(reinterpret_cast<int64_t>(PyArray_DATA(array)));
  for (int d = 0; d < known.dim; ++d) words.push_back(PyArray_DIM(array, d));
  uint64_t unit = 0;
  for (int d = 0; d < known.dim; ++d) {
    const int64_t stride = PyArray_STRIDE(array, d);
    // Nearly all are whole; a division costs more than all else here.
    if ((stride & (item - 1)) != 0) return false;
    words.push_back(stride >> std::countr_zero(static_cast<uint64_t>(item)));
    if (stride == item && (d == known.dim - 1 || d == 0)) unit |= uint64_t{1} << d;
  }
  if (unit != known.unit) return false;
  objects.push_back(Ref::borrow(o));
  return true;
}

}  // namespace weft::capture
