// Arithmetic, containers, formatting and unpacking of abstract values.
#include <fmt/format.h>

#include "capture/perform/concrete.h"
#include "capture/evaluate/evaluator.h"
#include "capture/values/sets.h"

namespace weft::capture {

namespace {

std::vector<V> top_values(AbstractFrame& frame, int count) {
  return {frame.stack.end() - count, frame.stack.end()};
}

}  // namespace

int find_key(Evaluator& ev, const V& dict, const V& key) {
  for (size_t i = 0; i < dict->keys.size(); ++i) {
    PyObject *a = dict->keys[i]->object.get(), *b = key->object.get();
    if (a == b) return static_cast<int>(i);
    if (PyObject_Hash(a) == PyObject_Hash(b) && ev.equal(dict->keys[i], key)) return static_cast<int>(i);
  }
  return -1;
}

// A key of a dict: completely known.
V dict_key(Evaluator& ev, const V& key) {
  if (has_unguarded_nan(ev.realize(key))) graph_break("a NaN as a key: which object it is decides");
  Ref object = ev.constant(key);
  if (!object) graph_break("a dict key that is not a plain value");
  if (PyObject_Hash(object.get()) == -1) throw PythonError{};
  return const_value(object);
}

void set_dict_item(Evaluator& ev, const V& dict, const V& key, const V& value) {
  V known = dict_key(ev, key);
  const int at = find_key(ev, dict, known);
  ev.mark_dirty(dict);
  if (at >= 0) {
    dict->items[static_cast<size_t>(at)] = value;
  } else {
    ++dict->version;
    dict->keys.push_back(known);
    dict->items.push_back(value);
  }
}

void store_list_slice(Evaluator& ev, const V& list, const V& key, const std::vector<V>& items);

bool Evaluator::execute_data(const Instruction& in) {
  switch (in.op) {
    case Op::Negative:
    case Op::Positive:
    case Op::Invert:
    case Op::Not:
    case Op::ToBool: {
      V result = in.op == Op::Not || in.op == Op::ToBool ? bool_value(truth(top()) == (in.op == Op::ToBool))
                                                         : unary(in.op, top());
      drop(1);
      push(result);
      return true;
    }
    case Op::Binary: {
      V result = binary(in.arg, top(2), top(1));
      drop(2);
      push(result);
      return true;
    }
    case Op::Compare: {
      V result = compare(in.arg, top(2), top(1));
      if (in.arg2) result = bool_value(truth(result));
      drop(2);
      push(result);
      return true;
    }
    case Op::Is: {
      const bool same = same_object(top(2), top(1));
      drop(2);
      push(bool_value(same != (in.arg != 0)));
      return true;
    }
    case Op::Contains: {
      V found = contains(top(1), top(2));
      if (found->kind != Kind::Scalar)
        found = bool_value(truth(found) != (in.arg != 0));
      else if (in.arg != 0)
        found->tensor = ops::call1("logical_not", {found->tensor});
      drop(2);
      push(found);
      return true;
    }
    case Op::Subscript: {
      const size_t depth = frames_.size();
      if (enter_subscript(top(2), top(1))) {
        auto& stack = frames_[depth - 1].stack;
        stack.resize(stack.size() - 2);
        return true;
      }
      V result = subscript(top(2), top(1));
      drop(2);
      push(result);
      return true;
    }
    case Op::StoreSubscript:
      if (const size_t depth = frames_.size(); enter_store(top(2), top(1), top(3))) {
        auto& stack = frames_[depth - 1].stack;
        stack.resize(stack.size() - 3);
        return true;
      }
      store_subscript(top(2), top(1), top(3));
      drop(3);
      return true;
    case Op::BinarySlice:
    case Op::StoreSlice: {
      V slice = make_value(Kind::Slice);
      slice->items = {top(2), top(1), none_value()};
      if (in.op == Op::BinarySlice) {
        const size_t depth = frames_.size();
        if (enter_subscript(top(3), slice)) {
          auto& stack = frames_[depth - 1].stack;
          stack.resize(stack.size() - 3);
          return true;
        }
        V result = subscript(top(3), slice);
        drop(3);
        push(result);
      } else {
        if (const size_t depth = frames_.size(); enter_store(top(3), slice, top(4))) {
          auto& stack = frames_[depth - 1].stack;
          stack.resize(stack.size() - 4);
          return true;
        }
        store_subscript(top(3), slice, top(4));
        drop(4);
      }
      return true;
    }
    case Op::DeleteSubscript: {
      const V dict = realize(top(2));
      if (PyObject* method = python_method(dict, "__delitem__")) {
        call_method_now(dict, method, {top(1)});
        drop(2);
        return true;
      }
      if (dict->kind == Kind::List) {
        V slice = realize(top(1));
        if (is_int(slice)) {
          const auto length = static_cast<int64_t>(dict->items.size());
          int64_t at = to_int(slice, "index");
          if (at < 0) at += length;
          if (at < 0 || at >= length)
            raise(PyExc_IndexError, {str_value("list assignment index out of range")},
                  "deletion of an index out of range");
          slice = make_value(Kind::Slice);
          slice->items = {int_value(at), int_value(at + 1), none_value()};
        }
        if (slice->kind != Kind::Slice) graph_break("deletion of an item");
        store_list_slice(*this, dict, slice, {});
        drop(2);
        return true;
      }
      if (dict->kind != Kind::Dict) graph_break("deletion of an item");
      const int at = find_key(*this, dict, dict_key(*this, top(1)));
      if (at < 0) raise(PyExc_KeyError, {top(1)}, "deletion of a missing key");
      mark_dirty(dict);
      ++dict->version;
      dict->keys.erase(dict->keys.begin() + at);
      dict->items.erase(dict->items.begin() + at);
      drop(2);
      return true;
    }
    case Op::BuildTuple:
    case Op::BuildList: {
      std::vector<V> items = top_values(frame(), in.arg);
      drop(in.arg);
      push(in.op == Op::BuildTuple ? tuple_value(std::move(items)) : list_value(std::move(items)));
      return true;
    }
    case Op::BuildMap:
    case Op::BuildConstKeyMap: {
      V dict = make_value(Kind::Dict);
      if (in.op == Op::BuildMap) {
        for (int i = 0; i < in.arg; ++i)
          set_dict_item(*this, dict, top(2 * (in.arg - i)), top(2 * (in.arg - i) - 1));
        drop(2 * in.arg);
      } else {
        std::vector<V> keys = elements(top());
        for (int i = 0; i < in.arg; ++i)
          set_dict_item(*this, dict, keys[static_cast<size_t>(i)], top(in.arg + 1 - i));
        drop(in.arg + 1);
      }
      push(dict);
      return true;
    }
    case Op::BuildSlice: {
      V slice = make_value(Kind::Slice);
      slice->items = top_values(frame(), in.arg);
      if (in.arg == 2) slice->items.push_back(none_value());
      drop(in.arg);
      push(slice);
      return true;
    }
    case Op::BuildString: {
      std::string text;
      for (int i = in.arg; i > 0; --i) text += to_string(top(i), "a part of a string");
      drop(in.arg);
      push(str_value(text));
      return true;
    }
    case Op::BuildSet: {
      V set = make_set(*this, top_values(frame(), in.arg));
      drop(in.arg);
      push(set);
      return true;
    }
    case Op::SetAdd: {
      const V set = realize(top(in.arg + 1));
      if (set->kind != Kind::Set) graph_break("insertion into an unknown set");
      add_to_set(*this, set, top());
      drop(1);
      return true;
    }
    case Op::SetUpdate: {
      const V set = realize(top(in.arg + 1));
      if (set->kind != Kind::Set) graph_break("update of an unknown set");
      CallArgs args;
      args.args = {top()};
      set_method(*this, set, "update", args);
      drop(1);
      return true;
    }
    case Op::ListAppend: {
      const V list = realize(top(in.arg + 1));
      if (list->kind != Kind::List) graph_break("append to an unknown list");
      mark_dirty(list);
      list->items.push_back(top());
      drop(1);
      return true;
    }
    case Op::MapAdd: {
      const V dict = realize(top(in.arg + 2));
      if (dict->kind != Kind::Dict) graph_break("insertion into an unknown dict");
      set_dict_item(*this, dict, top(2), top(1));
      drop(2);
      return true;
    }
    case Op::ListExtend: {
      const V list = realize(top(in.arg + 1));
      if (list->kind != Kind::List) graph_break("extension of an unknown list");
      std::vector<V> items = all_elements(top());
      mark_dirty(list);
      list->items.insert(list->items.end(), items.begin(), items.end());
      drop(1);
      return true;
    }
    case Op::DictUpdate:
    case Op::DictMerge: {
      const V dict = realize(top(in.arg + 1)), from = realize(top());
      if (dict->kind != Kind::Dict || from->kind != Kind::Dict) graph_break("update of an unknown dict");
      if (in.op == Op::DictMerge)
        for (const V& key : from->keys)
          if (find_key(*this, dict, key) >= 0) graph_break("a keyword argument is given twice");
      for (size_t i = 0; i < from->keys.size(); ++i)
        set_dict_item(*this, dict, from->keys[i], from->items[i]);
      drop(1);
      return true;
    }
    case Op::ListToTuple: {
      V tuple = tuple_value(elements(top()));
      drop(1);
      push(tuple);
      return true;
    }
    case Op::Convert:
    case Op::Format: {
      Ref specification = in.arg2 ? constant(top()) : Ref();
      const int depth = in.op == Op::Format && in.arg2 ? 2 : 1;
      const V value = realize(top(depth));
      if (PyObject* method =
              in.op == Op::Format && in.arg == 0 ? python_method(value, "__format__") : nullptr) {
        V text = text_given(call_method_now(value, method, {in.arg2 ? top() : str_value("")}));
        drop(depth);
        push(text);
        return true;
      }
      if (program_class(value) && !value->is_const() && !(in.arg2 && in.op == Op::Format)) {
        const bool is_repr = in.op == Op::Convert ? in.arg != 1 : in.arg == 2 || in.arg == 3;
        PyObject* method = is_repr ? nullptr : python_method(value, "__str__");
        if (!method) method = python_method(value, "__repr__");
        const bool is_ascii = (in.op == Op::Convert || in.op == Op::Format) && in.arg == 3;
        if (is_ascii || (!method && value->kind == Kind::Instance))
          graph_break("formatting of a value that is not known");
        if (method) {
          V text = text_given(call_method_now(value, method, {}));
          drop(depth);
          push(text);
          return true;
        }
      }
      Ref object = described(value);
      if (!object || (in.arg2 && !specification)) graph_break("formatting of a value that is not known");
      Ref text = in.op == Op::Convert ? convert_value(object.get(), in.arg)
                                      : format_value(object.get(), in.arg, specification.get());
      drop(in.arg2 ? 2 : 1);
      push(const_value(text));
      return true;
    }
    case Op::UnpackSequence: unpack(in.arg, 0, false); return true;
    case Op::UnpackEx: unpack(in.arg & 0xff, in.arg >> 8, true); return true;
    case Op::GetLen: {
      const V& value = realize(top());
      if (value->kind == Kind::Array) graph_break("a pattern match of an array");
      push(int_value(static_cast<int64_t>(elements(value).size())));
      return true;
    }
    case Op::MatchSequence:
    case Op::MatchMapping: {
      PyTypeObject* type = python_type(top());
      if (!type) graph_break("a pattern match of an unknown object");
      push(bool_value(
          (type->tp_flags & (in.op == Op::MatchSequence ? Py_TPFLAGS_SEQUENCE : Py_TPFLAGS_MAPPING)) != 0));
      return true;
    }
    default: return false;
  }
}

// What an unpacking takes of the value: one element more than are wanted, or all where there is a star.
std::vector<V> Evaluator::taken(const V& value, size_t wanted, bool starred) {
  const bool is_iterated =
      value->kind == Kind::Iter || value->kind == Kind::Generator || value->kind == Kind::Instance;
  if (!is_iterated) return elements(value);
  if (starred && value->kind == Kind::Instance) graph_break("unpacking of an object with a star");
  const V it = iterator(value);
  std::vector<V> items;
  while (starred || items.size() <= wanted) {
    V item = next(it);
    if (!item) break;
    items.push_back(std::move(item));
  }
  return items;
}

void Evaluator::unpack(int before, int after, bool starred) {
  const V value = realize(top());
  const auto wanted = static_cast<size_t>(before + after);
  const std::vector<V> items = taken(value, wanted, starred);
  if (starred ? items.size() < wanted : items.size() != wanted) {
    const bool is_short = items.size() < wanted;
    const std::string message = is_short ? fmt::format("not enough values to unpack (expected {}{}, got {})",
                                                       starred ? "at least " : "", wanted, items.size())
                                         : fmt::format("too many values to unpack (expected {})", wanted);
    raise(PyExc_ValueError, {str_value(message)}, "unpacking of another number of values");
  }
  drop(1);
  const size_t tail = items.size() - static_cast<size_t>(after);
  for (size_t i = items.size(); i-- > tail;) push(items[i]);
  if (starred) push(list_value({items.begin() + before, items.begin() + static_cast<std::ptrdiff_t>(tail)}));
  for (size_t i = starred ? static_cast<size_t>(before) : tail; i-- > 0;) push(items[i]);
}

}  // namespace weft::capture
