// Arithmetic, containers, formatting and unpacking of abstract values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "capture/builtins/sets.h"
#include "capture/evaluate/evaluator.h"
#include "capture/perform/concrete.h"

namespace weft::capture {

namespace {

std::vector<V> top_values(AbstractFrame& frame, int count) {
  return {frame.stack.end() - count, frame.stack.end()};
}

// The call that comes next has one argument, and is int().
bool is_int_next(Evaluator& ev, const AbstractFrame& frame) {
  auto at = frame.code->instructions.begin() + frame.ip;
  while (at->op == Op::Nop) ++at;
  const Instruction& next = *at;
  if (next.op != Op::Call || next.arg != 1 || next.arg2 >= 0 || frame.stack.size() < 4) return false;
  const V &first = frame.stack.end()[-4], &second = frame.stack.end()[-3];
  if (!first == !second) return false;  // a method, whose argument the quotient is
  return ev.realize(first ? first : second)->is(reinterpret_cast<PyObject*>(&PyLong_Type));
}

// x / y within int(x / y), which nobody else sees: an expression over sizes where x is one and y a whole
// number, so that their values need not be known. Below 2^53 the quotient of floats is never rounded up to
// the next whole number. Null for all else.
V whole_quotient(Evaluator& ev, const AbstractFrame& frame, const V& first, const V& second) {
  const V &x = ev.realize(first), &y = ev.realize(second);
  constexpr int64_t kMost = int64_t{1} << 53;
  if (x->kind != Kind::SymInt || !is_int_next(ev, frame)) return nullptr;
  Sym divisor;
  if (y->kind == Kind::SymInt) {
    divisor = y->sym;
  } else if (y->is_const() && (PyLong_CheckExact(y->object.get()) || PyFloat_CheckExact(y->object.get()))) {
    const double number = PyFloat_CheckExact(y->object.get()) ? PyFloat_AS_DOUBLE(y->object.get())
                                                              : PyLong_AsDouble(y->object.get());
    PyErr_Clear();
    if (!(number >= 1 && number < kMost) || std::floor(number) != number) return nullptr;
    divisor = Sym(static_cast<int64_t>(number));
  } else {
    return nullptr;
  }
  if (sym_lt(x->sym, Sym(0)) || sym_lt(divisor, Sym(1)) || sym_ge(x->sym, Sym(kMost))) return nullptr;
  return sym_value(floor_div(x->sym, divisor));
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
// The sizes of a key are known from here on.
static V specialized(const V& value) {
  if (value->kind == Kind::SymInt) return int_value(sym_specialize(value->sym));
  if (value->kind != Kind::Tuple || value->object_type) return value;
  std::vector<V> items;
  std::transform(value->items.begin(), value->items.end(), std::back_inserter(items), specialized);
  return tuple_value(std::move(items));
}

V dict_key(Evaluator& ev, const V& key) {
  if (has_unguarded_nan(ev.realize(key))) graph_break("a NaN as a key: which object it is decides");
  Ref object = ev.constant(specialized(key));
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

bool Evaluator::execute_operators(const Instruction& in) {
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
      constexpr int kTrueDivide = 11;  // NB_TRUE_DIVIDE
      V result = in.arg == kTrueDivide ? whole_quotient(*this, frame(), top(2), top(1)) : nullptr;
      if (!result) result = binary(in.arg, top(2), top(1));
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
    default: return false;
  }
}

void Evaluator::delete_subscript(const V& container, const V& key) {
  if (PyObject* method = python_method(container, "__delitem__")) {
    call_method_now(container, method, {key});
    return;
  }
  if (container->kind == Kind::List) {
    V slice = realize(key);
    if (is_int(slice)) {
      const auto length = static_cast<int64_t>(container->items.size());
      int64_t at = to_int(slice, "index");
      if (at < 0) at += length;
      if (at < 0 || at >= length)
        raise(PyExc_IndexError, {str_value("list assignment index out of range")},
              "deletion of an index out of range");
      slice = make_value(Kind::Slice);
      slice->items = {int_value(at), int_value(at + 1), none_value()};
    }
    if (slice->kind != Kind::Slice) graph_break("deletion of an item");
    store_list_slice(*this, container, slice, {});
    return;
  }
  if (const V held = as_dict(container, "__delitem__")) return delete_subscript(held, key);
  if (container->kind != Kind::Dict) graph_break("deletion of an item");
  const int at = find_key(*this, container, dict_key(*this, key));
  if (at < 0) raise(PyExc_KeyError, {key}, "deletion of a missing key");
  mark_dirty(container);
  ++container->version;
  container->keys.erase(container->keys.begin() + at);
  container->items.erase(container->items.begin() + at);
}

bool Evaluator::execute_subscripts(const Instruction& in) {
  // Operands of an instruction for which a frame may have been entered lie below that frame.
  const size_t depth = frames_.size();
  const auto drop_operands = [&](size_t count) {
    auto& stack = frames_[depth - 1].stack;
    stack.resize(stack.size() - count);
  };
  const auto load = [&](const V& container, const V& key, size_t operands) {
    V result = enter_subscript(container, key) ? nullptr : subscript(container, key);
    drop_operands(operands);
    if (result) push(std::move(result));
  };
  const auto store = [&](const V& container, const V& key, const V& value, size_t operands) {
    if (!enter_store(container, key, value)) store_subscript(container, key, value);
    drop_operands(operands);
  };
  const auto slice_of = [](const V& start, const V& stop) {
    V slice = make_value(Kind::Slice);
    slice->items = {start, stop, none_value()};
    return slice;
  };
  switch (in.op) {
    case Op::Subscript: return load(V(top(2)), V(top(1)), 2), true;
    case Op::StoreSubscript: return store(V(top(2)), V(top(1)), V(top(3)), 3), true;
    case Op::BinarySlice: return load(V(top(3)), slice_of(top(2), top(1)), 3), true;
    case Op::StoreSlice: return store(V(top(3)), slice_of(top(2), top(1)), V(top(4)), 4), true;
    case Op::DeleteSubscript:
      delete_subscript(V(realize(top(2))), V(top(1)));
      drop(2);
      return true;
    default: return false;
  }
}

bool Evaluator::execute_building(const Instruction& in) {
  switch (in.op) {
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
    case Op::BuildSet: {
      V set = make_set(*this, top_values(frame(), in.arg));
      drop(in.arg);
      push(set);
      return true;
    }
    case Op::ListToTuple: {
      V tuple = tuple_value(elements(top()));
      drop(1);
      push(tuple);
      return true;
    }
    default: return false;
  }
}

// Of comprehensions, displays with stars, and calls with them.
bool Evaluator::execute_adding(const Instruction& in) {
  switch (in.op) {
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
      const V dict = realize(top(in.arg + 1)), from = mapping_of(top());
      if (dict->kind != Kind::Dict || !from) graph_break("update of an unknown dict");
      if (in.op == Op::DictMerge)
        for (const V& key : from->keys)
          if (find_key(*this, dict, key) >= 0) graph_break("a keyword argument is given twice");
      for (size_t i = 0; i < from->keys.size(); ++i)
        set_dict_item(*this, dict, from->keys[i], from->items[i]);
      drop(1);
      return true;
    }
    default: return false;
  }
}

// What is formatted lies below its specification, where there is one.
V Evaluator::formatted(const Instruction& in) {
  const bool is_format = in.op == Op::Format;
  const V given = in.arg2 ? top() : nullptr;
  const Ref specification = given ? constant(given) : Ref();
  const V value = realize(top(given ? 2 : 1));
  if (PyObject* method = is_format && in.arg == 0 ? python_method(value, "__format__") : nullptr)
    return text_given(call_method_now(value, method, {given ? given : str_value("")}));
  if (program_class(value) && !value->is_const() && !(given && is_format)) {
    const bool is_repr = is_format ? in.arg == 2 || in.arg == 3 : in.arg != 1;
    PyObject* method = is_repr ? nullptr : python_method(value, "__str__");
    if (!method) method = python_method(value, "__repr__");
    const bool is_ascii = in.arg == 3;
    if (is_ascii || (!method && value->kind == Kind::Instance))
      graph_break("formatting of a value that is not known");
    if (method) return text_given(call_method_now(value, method, {}));
  }
  const Ref object = described(value);
  if (!object || (given && !specification)) graph_break("formatting of a value that is not known");
  return const_value(is_format ? format_value(object.get(), in.arg, specification.get())
                               : convert_value(object.get(), in.arg));
}

bool Evaluator::execute_text(const Instruction& in) {
  switch (in.op) {
    case Op::BuildString: {
      std::string text;
      for (int i = in.arg; i > 0; --i) text += to_string(top(i), "a part of a string");
      drop(in.arg);
      push(str_value(text));
      return true;
    }
    case Op::Convert:
    case Op::Format: {
      V text = formatted(in);
      drop(in.arg2 ? 2 : 1);
      push(std::move(text));
      return true;
    }
    default: return false;
  }
}

bool Evaluator::execute_unpacking(const Instruction& in) {
  switch (in.op) {
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

bool Evaluator::execute_data(const Instruction& in) {
  return execute_operators(in) || execute_subscripts(in) || execute_building(in) || execute_adding(in) ||
         execute_text(in) || execute_unpacking(in);
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

// Of a list, tuple or dict, or 0.
static size_t length_if_known(const V& value) {
  if (value->kind == Kind::List || value->kind == Kind::Tuple) return value->items.size();
  if (value->kind == Kind::Dict) return value->keys.size();
  return value->is_const() ? exact_length(value->object.get()) : 0;
}

void Evaluator::unpack(int before, int after, bool starred) {
  const V value = realize(top());
  const auto wanted = static_cast<size_t>(before + after);
  const std::vector<V> items = taken(value, wanted, starred);
  if (starred ? items.size() < wanted : items.size() != wanted) {
    const bool is_short = items.size() < wanted;
    const std::string message = is_short ? fmt::format("not enough values to unpack (expected {}{}, got {})",
                                                       starred ? "at least " : "", wanted, items.size())
                                         : too_many_to_unpack(wanted, length_if_known(value));
    raise(PyExc_ValueError, {str_value(message)}, "unpacking of another number of values");
  }
  drop(1);
  const size_t tail = items.size() - static_cast<size_t>(after);
  for (size_t i = items.size(); i-- > tail;) push(items[i]);
  if (starred) push(list_value({items.begin() + before, items.begin() + static_cast<std::ptrdiff_t>(tail)}));
  for (size_t i = starred ? static_cast<size_t>(before) : tail; i-- > 0;) push(items[i]);
}

}  // namespace weft::capture
