// Iterators: over sequences, dicts and sets, ranges, arrays, and others' iterators.
#include <fmt/format.h>

#include "capture/builtins/sets.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

V Evaluator::iterator(const V& value) {
  realize(value);
  if (value->kind == Kind::Iter) return value;
  if (V flat = flat_elements(*this, value)) return iterator(flat);
  if (const V set = outside_set(*this, value)) return iterator(set);
  if (value->kind == Kind::Generator) {
    // A generator is its own iterator.
    value->kind = Kind::Iter;
    value->iter = IterKind::Generator;
    return value;
  }
  if (value->kind == Kind::Instance) {
    if (V found = instance_iterator(value)) return found;
    graph_break("an iterator that weft does not know");
  }
  if (value->kind == Kind::Tensor) {
    CallArgs none;
    return iterator(call_tensor_method(*this, value, "unbind", none));
  }
  V it = make_value(Kind::Iter);
  if (value->kind == Kind::Range) {
    it->iter = IterKind::Range;
    it->items = {value};
    return it;
  }
  if (value->is_const() && Py_TYPE(value->object.get()) == &PyRange_Type) {
    it->iter = IterKind::Range;
    it->object = value->object;
    return it;
  }
  if (value->kind == Kind::Array) {
    if (value->tensor.dim() == 0) graph_break("iteration over a 0-d array");
    it->iter = IterKind::Rows;
    it->items = {value};
    return it;
  }
  if (value->kind == Kind::Dict || value->kind == Kind::DictView) {
    it->iter = IterKind::Dict;
    it->items = {value->kind == Kind::Dict ? value : realize(value->items[0])};
    it->name = value->kind == Kind::Dict ? "keys" : value->name;
    it->length = static_cast<int64_t>(it->items[0]->keys.size());
    it->version = it->items[0]->version;
    return it;
  }
  if (value->kind == Kind::Set) {
    it->iter = IterKind::Set;
    it->items = {value};
    it->object = checked(PySequence_Tuple(value->object.get()));
    it->length = PyTuple_GET_SIZE(it->object.get());
    it->version = value->version;
    return it;
  }
  // A list may grow while it is iterated over; the other sequences are fixed.
  it->iter = IterKind::Sequence;
  if (value->kind == Kind::List || value->kind == Kind::Tuple)
    it->items = {value};
  else
    it->items = {tuple_value(elements(value))};
  return it;
}

V Evaluator::array_item(const V& array, int64_t index) {
  return numpy_subscript(*this, array, int_value(index));
}

// The iterator's range, if it was symbolic, becomes the one it is here.
void Evaluator::specialize_range(const V& it) {
  if (it->object) return;
  const std::vector<V>& parts = it->items[0]->items;
  Ref args = checked(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i),
                     PyLong_FromLongLong(to_int(parts[i], "range()")));
  it->object = checked(PyObject_Call(reinterpret_cast<PyObject*>(&PyRange_Type), args.get(), nullptr));
  it->items.clear();
}

// Of a dict, one of its views or a set, which may not change its size while it is gone over.
V Evaluator::next_of_hashed(const V& it) {
  if (it->index < 0) return nullptr;
  const V& container = it->items[0];
  const bool is_dict = it->iter == IterKind::Dict;
  const int64_t size = is_dict ? static_cast<int64_t>(container->keys.size())
                               : static_cast<int64_t>(PySet_GET_SIZE(container->object.get()));
  if (size != it->length) {
    if (!has_handler()) graph_break("a container that changed while it is gone over");
    it->length = -2;  // from now on
    raise(PyExc_RuntimeError,
          {str_value(fmt::format("{} changed size during iteration", is_dict ? "dictionary" : "Set"))}, "");
  }
  if (container->version != it->version) throw CaptureAborted{"the keys of what is gone over have changed"};
  remember(it);
  if (it->index >= size) {
    it->index = -1;
    return nullptr;
  }
  const int64_t passed = it->index++;
  const auto at = static_cast<size_t>(it->backwards ? size - 1 - passed : passed);
  if (!is_dict) return set_element(*this, PyTuple_GET_ITEM(it->object.get(), static_cast<Py_ssize_t>(at)));
  if (it->name == "keys") return container->keys[at];
  if (it->name == "values") return container->items[at];
  return tuple_value({container->keys[at], container->items[at]});
}

V Evaluator::next(const V& it) {
  realize(it);
  if (it->kind != Kind::Iter) graph_break("an iterator that weft does not know");
  switch (it->iter) {
    case IterKind::Sequence: {
      const V& sequence = it->items[0];
      if (it->index < 0) return nullptr;
      remember(it);
      if (it->index < static_cast<int64_t>(sequence->items.size()))
        return sequence->items[static_cast<size_t>(it->index++)];
      if (sequence->kind == Kind::List) it->index = -1;  // also where the list grows later
      return nullptr;
    }
    case IterKind::Reversed: {
      const std::vector<V>& items = it->items[0]->items;
      const int64_t at = it->index;
      if (at < 0) return nullptr;
      remember(it);
      it->index = at < static_cast<int64_t>(items.size()) ? at - 1 : -1;
      return at < static_cast<int64_t>(items.size()) ? items[static_cast<size_t>(at)] : nullptr;
    }
    case IterKind::Dict:
    case IterKind::Set: return next_of_hashed(it);
    case IterKind::Range: {
      specialize_range(it);
      if (it->index >= PyObject_Length(it->object.get())) return nullptr;
      remember(it);
      return const_value(checked(PySequence_GetItem(it->object.get(), it->index++)));
    }
    case IterKind::Rows: {
      if (it->length < 0) it->length = sym_specialize(ops::sym_shape(it->items[0]->tensor)[0]);
      if (it->index >= it->length) return nullptr;
      V row = array_item(it->items[0], it->index);
      remember(it);
      ++it->index;
      return row;
    }
    case IterKind::Enumerate: {
      V item = next(it->items[0]);
      if (!item) return nullptr;
      remember(it);
      return tuple_value({int_value(it->index++), item});
    }
    case IterKind::Zip: {
      std::vector<V> items;
      // Only when all iterators can go on without a break in between.
      for (const V& part : it->items)
        if (realize(part)->kind != Kind::Iter) graph_break("zip over an unknown iterator");
      const Mark before = mark();
      try {
        for (const V& part : it->items) {
          V item = next(part);
          if (!item) return nullptr;
          items.push_back(item);
        }
      } catch (const AbstractRaise&) {
        throw;
      } catch (...) {
        undo(before, "an iterator that cannot go back");
        throw;
      }
      return tuple_value(std::move(items));
    }
    case IterKind::Generator: return resume(it);
  }
  return nullptr;
}

}  // namespace weft::capture
