// Lists of numbers, or of tuples of numbers, that a native loop takes from and adds to: stacks, queues,
// tables; made_lists.cc has those that it makes. Items are words in memory of the loop (ResizedList),
// with a tag where they are of several types; the code that reads an item goes on in a block per type. The
// real list is rewritten, or made, when the loop is left.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "capture/loops/loops.h"
#include "capture/loops/memory.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxItemTypes = 4;
constexpr Py_ssize_t kMaxListItems = 1 << 22;  // at the entry
constexpr Py_ssize_t kMaxTuple = 8;
constexpr size_t kMaxAppended = 32;  // at once

std::string key_of(const LoopValue& type) {
  std::string key;
  append_key(type, key);
  return key;
}

size_t num_leaves(LoopValue type) {
  size_t count = 0;
  for_each_leaf(type, [&](LoopValue&, const std::string&) { ++count; });
  return count;
}

LoopValue item_form(LoopValue value) {
  std::optional<LoopValue> type = item_type(std::move(value));
  if (!type) throw LoopUnsupported{"an item of a list that is not a number"};
  return std::move(*type);
}

std::string from_word(const LoopValue& leaf, const std::string& word) {
  const std::string type = c_type(leaf);
  if (leaf.kind == LoopKind::Int) return word;
  if (type == "bool") return word + " != 0";
  return type == "f64" || type == "f32" ? fmt::format("({})float_of({})", type, word)
                                        : fmt::format("({}){}", type, word);
}

bool is_item(const LoopValue& value) {
  if (value.kind != LoopKind::Tuple) return value.is_number() || value.is_complex();
  return !value.items.empty() && std::all_of(value.items.begin(), value.items.end(), is_item);
}

}  // namespace

std::optional<LoopValue> item_type(LoopValue value) {
  if (!is_item(value)) return {};
  value = generalized(std::move(value));
  for_each_leaf(value, [](LoopValue& leaf, const std::string&) {
    leaf.expr = Expr();
    leaf.nonnegative = false;
  });
  return value;
}

bool may_be_in_one_list(const std::vector<LoopValue>& types) {
  return types.size() <= kMaxItemTypes && std::all_of(types.begin(), types.end(), [&](const LoopValue& type) {
           return num_leaves(type) == num_leaves(types[0]);
         });
}

// ---- in generated code ----

// The type's number.
size_t LoopBuilder::number_of_type(const LoopValue& list, LoopValue type) {
  const std::vector<LoopValue>& types = item_types(list);
  const std::string key = key_of(type);
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const LoopValue& other) { return key_of(other) == key; });
  if (found != types.end()) return static_cast<size_t>(found - types.begin());
  if (types.size() >= kMaxItemTypes) throw LoopUnsupported{"a list with items of many types"};
  if (!types.empty() && num_leaves(types[0]) != num_leaves(type))
    throw LoopUnsupported{"a list with items of different sizes"};
  throw LoopItemType{list.index, std::move(type), result_.objects.made_lists};
}

Expr LoopBuilder::list_text(const LoopValue& list) {
  return list.items.empty() ? Expr::name(fmt::format("list{}", list.index)) : list.items[0].expr;
}

// The arguments of the prelude's templates.
std::string LoopBuilder::item_shape(const LoopValue& list) {
  const std::vector<LoopValue>& types = item_types(list);
  return fmt::format("{}, {}", num_leaves(types[0]), types.size() > 1);
}

// An index in the range of the list; one out of it is Python's to report.
Expr LoopBuilder::item_place(const LoopValue& list, const LoopValue& key) {
  const Expr size = Expr::apply(op::kListSize, {list_text(list)});
  if (key.kind != LoopKind::Int && !(key.kind == LoopKind::Numpy && is_integral(key.dtype)))
    throw LoopUnsupported{"a slice of a list"};
  if (key.known) {
    const int64_t k = *key.known;
    const int64_t least = k >= 0 ? k : k == INT64_MIN ? INT64_MAX : -k - 1;
    require(Expr::apply(op::infix("<"), {Expr::constant(integer_literal(least)), size}));
    const Expr place = Expr::constant(integer_literal(k));
    return k >= 0 ? place : operation("i64", size, "+", place);
  }
  Expr index = as_index(key);
  if (!key.nonnegative) index = temporary("i64", Expr::apply(op::kFromEnd, {index, size}));
  require(Expr::apply(op::kIsInRange, {index, size}));
  return index;
}

void LoopBuilder::push_item(const LoopValue& list, const LoopValue& key, bool removes) {
  const std::vector<LoopValue> types = item_types(list);
  if (types.empty()) throw LoopUnsupported{"an item of an empty list"};
  const std::string at = item_place(list, key);
  const size_t width = num_leaves(types[0]);
  std::vector<std::string> words;
  for (size_t k = 0; k < width; ++k)
    words.push_back(temporary(
        "i64", Expr::apply(op::kListItem, {list_text(list), at, Expr::constant(std::to_string(width)),
                                           Expr::constant(std::to_string(k))})));
  const std::string tag =
      types.size() > 1 ? temporary("u8", fmt::format("{}->tags[{}]", list_text(list), at)) : "";
  if (removes) {
    block_stores_arrays_ = true;
    emit(key.known == -1 ? fmt::format("--{}->size;", list_text(list))
                         : fmt::format("remove_item<{}>({}, {});", item_shape(list), list_text(list), at));
  }
  if (types.size() > 1) materialize_all();
  for (size_t i = 0; i < types.size(); ++i) {
    LoopValue value = types[i];
    size_t k = 0;
    for_each_leaf(value, [&](LoopValue& leaf, const std::string&) {
      leaf.expr = from_word(leaf, words[k++]);
      if (types.size() == 1) leaf.expr = temporary(c_type(leaf), leaf.expr);
    });
    if (types.size() == 1) return push(std::move(value));
    std::vector<LoopFrame> after = frames_;
    after.back().stack.push_back(std::move(value));
    loopir::Way next = jump_to(after);
    emit(i + 1 < types.size() ? loopir::branch(fmt::format("{} == {}", tag, i), std::move(next))
                              : loopir::go(std::move(next)));
  }
  block_done_ = true;
}

// `at` is in the range of the memory.
void LoopBuilder::set_item(const LoopValue& list, const std::string& at, const LoopValue& value) {
  std::string tag;
  LoopValue stored = value;
  if (value.kind == LoopKind::Either) {
    const size_t python = number_of_type(list, item_form(loop_float("")));
    const size_t numpy = number_of_type(list, item_form(loop_numpy(DType::F64, "")));
    tag = fmt::format("{} ? {} : {}", value.items[1].expr, numpy, python);
    stored = value.items[0];
  } else {
    tag = std::to_string(number_of_type(list, item_form(value)));
  }
  block_stores_arrays_ = true;
  const size_t width = num_leaves(item_types(list)[0]);
  size_t k = 0;
  for_each_leaf(stored, [&](LoopValue& leaf, const std::string&) {
    emit(fmt::format("{}->items[{} * {} + {}] = {};", list_text(list), at, width, k++, as_word(leaf)));
  });
  if (item_types(list).size() > 1) emit(fmt::format("{}->tags[{}] = {};", list_text(list), at, tag));
}

void LoopBuilder::store_item(const LoopValue& list, const LoopValue& key, const LoopValue& value) {
  if (item_types(list).empty()) throw LoopUnsupported{"an item of an empty list"};
  set_item(list, item_place(list, key), value);
}

void LoopBuilder::append_items(const LoopValue& list, const std::vector<LoopValue>& values) {
  if (values.size() > kMaxAppended) throw LoopUnsupported{"many items that a list is extended by"};
  // Their types are known first: nothing leaves the loop between two of them.
  for (const LoopValue& value : values) {
    const bool is_either = value.kind == LoopKind::Either;
    number_of_type(list, item_form(is_either ? loop_float("") : value));
    if (is_either) number_of_type(list, item_form(loop_numpy(DType::F64, "")));
  }
  if (values.empty()) return;
  require(fmt::format("make_room<{}>({}, {}, {})", item_shape(list), list_text(list), values.size(),
                      function("grow_list")));
  const Expr size = temporary("i64", Expr::apply(op::kListSize, {list_text(list)}));
  for (size_t i = 0; i < values.size(); ++i)
    set_item(list, i == 0 ? size.text() : fmt::format("({} + {})", size, i), values[i]);
  emit(fmt::format("{}->size = {} + {};", list_text(list), size, values.size()));
}

void LoopBuilder::delete_item(const LoopValue& list, const LoopValue& key) {
  if (item_types(list).empty()) throw LoopUnsupported{"an item of an empty list"};
  const std::string at = item_place(list, key);
  block_stores_arrays_ = true;
  emit(fmt::format("remove_item<{}>({}, {});", item_shape(list), list_text(list), at));
}

// Of ints: floats would have to be told apart from NaN, which is in a list where it is the same object.
LoopValue LoopBuilder::contains_item(const LoopValue& list, const LoopValue& value) {
  if (list.kind == LoopKind::Const && PyFrozenSet_CheckExact(list.object)) {
    const Ref items = checked(PySequence_Tuple(list.object));
    return contains_item(constant(items.get()), value);
  }
  if (const auto found = is_among(list, value)) return *found;
  const auto is_int = [](const LoopValue& number) {
    return number.kind == LoopKind::Int || number.kind == LoopKind::Bool ||
           (number.kind == LoopKind::Numpy && number.dtype != DType::U64 && !is_floating(number.dtype));
  };
  const bool is_resized = list.kind == LoopKind::Resized;
  const bool of_ints = is_resized ? std::all_of(item_types(list).begin(), item_types(list).end(), is_int)
                                  : list.kind == LoopKind::Vector && list.dtype == DType::I64;
  if (!of_ints || !is_int(value)) throw LoopUnsupported{"a test for an item of what is not a list of ints"};
  if (!is_resized) block_has_arrays_ = block_stores_arrays_ = true;  // all of its elements are read
  const std::string words = is_resized ? fmt::format("{0}->size, {0}->items", list_text(list))
                                       : fmt::format("{}, {}_data", size_text(list, 0), array_of(list).name);
  return loop_bool(temporary("bool", fmt::format("contains_word({}, {})", words, as_word(value))));
}

void LoopBuilder::iterate_resized(const Instruction& in, LoopValue list) {
  if (item_types(list).empty()) {
    // There may be items by and by: only where it is at its end is it known what happens.
    require(
        Expr::apply(op::infix("=="), {Expr::apply(op::kListSize, {list_text(list)}), Expr::constant("0")}));
    pop();
    frame().ip = in.arg;
    emit(loopir::go(jump_to(frames_)));
    block_done_ = true;
    return;
  }
  const LoopValue current = top().items[0];
  std::vector<LoopFrame> after = frames_;
  after.back().stack.pop_back();
  after.back().ip = in.arg;
  emit(loopir::branch(fmt::format("!({} < {}->size)", current.expr, list_text(list)), jump_to(after)));
  top().items[0] = loop_int(operation("i64", current.expr, "+", Expr::constant("1")), true);
  LoopValue at = current;
  at.nonnegative = true;
  at.known.reset();
  push_item(list, at, false);
}

bool LoopBuilder::call_list_method(const LoopValue& list, const std::string& name,
                                   const std::vector<LoopValue>& args) {
  if (name == "append" && args.size() == 1) {
    append_items(list, args);
  } else if (name == "extend" && args.size() == 1 && (args[0].kind == LoopKind::Tuple || is_list(args[0]))) {
    add_items(list, args[0]);
  } else if (name == "pop" && args.size() <= 1) {
    push_item(list, args.empty() ? loop_known_int(-1) : args[0], true);
    return true;
  } else if (name == "clear" && args.empty()) {
    block_stores_arrays_ = true;
    emit(fmt::format("{}->size = 0;", list_text(list)));
  } else if (name == "copy" && args.empty()) {
    push(joined_lists({list}));
    return true;
  } else if (name == "reverse" && args.empty() && !item_types(list).empty()) {
    block_stores_arrays_ = true;
    emit(fmt::format("reverse_items<{}>({});", item_shape(list), list_text(list)));
  } else {
    return false;
  }
  push(loop_const(Py_None));
  return true;
}

// ---- at the entry ----

ListSlots list_slots(const Code& code, int head) {
  const int end = loop_end(code, head);
  ListSlots found;
  std::set<int> appended, resized, otherwise;
  for (int i = head; i < end; ++i) {
    const Instruction& in = code.instructions[static_cast<size_t>(i)];
    if (in.op == Op::StoreFast || in.op == Op::DeleteFast) otherwise.insert(in.arg);
    const bool is_attribute = in.op == Op::LoadAttr;
    if (in.op != Op::LoadFast && in.op != Op::LoadDeref && !is_attribute) continue;
    const Instruction& next = code.instructions[static_cast<size_t>(i + 1)];
    const std::string method =
        next.op == Op::LoadMethod ? utf8(code.names[static_cast<size_t>(next.arg)].get()) : "";
    const bool resizes = method == "append" || method == "pop" || method == "clear" || method == "extend";
    if (is_attribute) {
      if (resizes) found.attributes.insert(utf8(code.names[static_cast<size_t>(in.arg)].get()));
      continue;
    }
    found.loaded.insert(in.arg);
    (method == "append" && in.op == Op::LoadFast ? appended : resizes ? resized : otherwise).insert(in.arg);
  }
  for (int slot : found.loaded) {
    const bool appends = appended.count(slot) > 0;
    if (appends && !resized.count(slot) && !otherwise.count(slot))
      found.appended.insert(slot);
    else if (appends || resized.count(slot))
      found.resized.insert(slot);
  }
  return found;
}

namespace {

// An item's type; nothing where items may not be of that type.
std::optional<LoopValue> type_of(PyObject* o) {
  if (PyBool_Check(o)) return loop_bool("");
  if (PyLong_CheckExact(o)) return loop_int("");
  if (PyFloat_CheckExact(o)) return loop_float("");
  if (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) > 0 && PyTuple_GET_SIZE(o) <= kMaxTuple) {
    std::vector<LoopValue> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      std::optional<LoopValue> item = type_of(PyTuple_GET_ITEM(o, i));
      if (!item) return {};
      items.push_back(std::move(*item));
    }
    return loop_tuple(std::move(items));
  }
  if (!PyObject_TypeCheck(o, &PyGenericArrType_Type)) return {};
  const Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(o)));
  PyErr_Clear();
  if (!descr) return {};
  const std::optional<DType> dtype = dtype_of_descr(reinterpret_cast<PyArray_Descr*>(descr.get()));
  if (!dtype || !is_loop_dtype(*dtype)) return {};
  return loop_numpy(*dtype, "");
}

template <class T>
int64_t scalar_word(PyObject* o) {
  T number;
  PyArray_ScalarAsCtype(o, &number);
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<int64_t>(static_cast<double>(number));
  return static_cast<int64_t>(number);
}

int64_t numpy_word(PyObject* o, DType dtype) {
  switch (dtype) {
    case DType::F64: return scalar_word<double>(o);
    case DType::F32: return scalar_word<float>(o);
    case DType::Bool: return scalar_word<uint8_t>(o);
    case DType::I8: return scalar_word<int8_t>(o);
    case DType::I16: return scalar_word<int16_t>(o);
    case DType::I32: return scalar_word<int32_t>(o);
    case DType::U8: return scalar_word<uint8_t>(o);
    case DType::U16: return scalar_word<uint16_t>(o);
    case DType::U32: return scalar_word<uint32_t>(o);
    default: return scalar_word<int64_t>(o);
  }
}

// Of objects that are of one type.
class ItemReader {
 public:
  explicit ItemReader(LoopValue type) : type_(std::move(type)) { add(type_); }

  // False where the object is of another type.
  bool read(PyObject* o, std::vector<int64_t>& words) const {
    const size_t size = words.size();
    size_t leaf = 0;
    if (read(o, type_, leaf, words)) return true;
    words.resize(size);
    return false;
  }

  const LoopValue& type() const { return type_; }

 private:
  void add(const LoopValue& type) {
    for (const LoopValue& item : type.items) add(item);
    if (!type.items.empty()) return;
    PyTypeObject* scalar = nullptr;  // kept by NumPy
    if (type.kind == LoopKind::Numpy) {
      const Ref descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(type.dtype))));
      scalar = reinterpret_cast<PyArray_Descr*>(descr.get())->typeobj;
    }
    scalars_.push_back(scalar);
  }

  bool read(PyObject* o, const LoopValue& type, size_t& leaf, std::vector<int64_t>& words) const {
    if (type.kind == LoopKind::Tuple) {
      if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != static_cast<Py_ssize_t>(type.items.size()))
        return false;
      for (size_t i = 0; i < type.items.size(); ++i)
        if (!read(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)), type.items[i], leaf, words)) return false;
      return true;
    }
    const PyTypeObject* scalar = scalars_[leaf++];
    int64_t word = 0;
    int overflow = 0;
    switch (type.kind) {
      case LoopKind::Int:
        if (!PyLong_CheckExact(o)) return false;
        word = PyLong_AsLongLongAndOverflow(o, &overflow);
        break;
      case LoopKind::Float:
        if (!PyFloat_CheckExact(o)) return false;
        word = std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(o));
        break;
      case LoopKind::Bool:
        if (!PyBool_Check(o)) return false;
        word = o == Py_True;
        break;
      default:
        if (Py_TYPE(o) != scalar) return false;
        word = numpy_word(o, type.dtype);
    }
    words.push_back(word);
    return overflow == 0;
  }

  LoopValue type_;
  std::vector<const PyTypeObject*> scalars_;  // of the leaves
};

}  // namespace

// Types in an order of their own: lists with the same types share code.
LoopValue LoopEntry::resized(PyObject* o) {
  LoopValue value;
  value.kind = LoopKind::Resized;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].object.get() != o) continue;
    value.index = static_cast<int>(i);
    return value;
  }
  const Py_ssize_t size = PyList_GET_SIZE(o);
  const bool is_known = std::any_of(array_objects.begin(), array_objects.end(),
                                    [&](const Ref& other) { return other.get() == o; });
  if (is_known || size > kMaxListItems) return object(o);
  ListItems list{Ref::borrow(o), {}, {}, std::make_unique<ResizedList>()};
  std::vector<ItemReader> readers;
  for (Py_ssize_t k = 0; k < size; ++k) {
    PyObject* item = PyList_GET_ITEM(o, k);
    size_t tag = 0;
    while (tag < readers.size() && !readers[tag].read(item, list.words)) ++tag;
    if (tag == readers.size()) {
      std::optional<LoopValue> type = type_of(item);
      if (!type || readers.size() >= kMaxItemTypes ||
          (tag > 0 && num_leaves(readers[0].type()) != num_leaves(*type)))
        return object(o);
      if (readers.size() == 1) list.tags.assign(static_cast<size_t>(k), 0);
      readers.emplace_back(std::move(*type));
      if (!readers.back().read(item, list.words)) return object(o);
    }
    if (readers.size() > 1) list.tags.push_back(static_cast<uint8_t>(tag));
  }
  std::vector<LoopValue> types;
  std::vector<std::pair<std::string, uint8_t>> order;
  for (const ItemReader& reader : readers)
    order.emplace_back(key_of(reader.type()), static_cast<uint8_t>(order.size()));
  std::sort(order.begin(), order.end());
  std::vector<uint8_t> place(order.size());
  for (const auto& [name, tag] : order) {
    place[tag] = static_cast<uint8_t>(types.size());
    types.push_back(readers[tag].type());
  }
  for (uint8_t& tag : list.tags) tag = place[tag];
  if (!list.words.empty()) {
    const size_t bytes = list.words.size() * sizeof(int64_t);
    list.items->items = static_cast<int64_t*>(std::malloc(bytes));
    if (!list.items->items) throw std::bad_alloc();
    std::memcpy(list.items->items, list.words.data(), bytes);
  }
  list.items->size = list.items->capacity = size;
  value.index = static_cast<int>(lists.size());
  lists.push_back(std::move(list));
  of_objects.item_types.push_back(std::move(types));
  return value;
}

size_t LoopEntry::num_list_items() const {
  size_t count = 0;
  for (const ListItems& list : lists) count += list.words.size();
  for (const std::vector<int64_t>& numbers : vectors_) count += numbers.size();
  return count;
}

// Where the code has items of several types there are tags.
void LoopEntry::prepare_lists(const LoopObjects& objects) const {
  for (size_t i = 0; i < lists.size(); ++i) {
    ResizedList& items = *lists[i].items;
    if (objects.item_types[i].size() < 2 || items.capacity == 0) continue;
    items.tags = static_cast<uint8_t*>(std::calloc(static_cast<size_t>(items.capacity), 1));
    if (!items.tags) throw std::bad_alloc();
    if (!lists[i].tags.empty()) std::memcpy(items.tags, lists[i].tags.data(), lists[i].tags.size());
  }
}

// ---- at an exit ----

Ref python_list(const ResizedList& list, const std::vector<LoopValue>& types,
                const std::function<Ref(const LoopValue& type, const int64_t* words)>& build) {
  Ref result = checked(PyList_New(static_cast<Py_ssize_t>(list.size)));
  const size_t width = types.empty() ? 0 : num_leaves(types[0]);
  for (int64_t k = 0; k < list.size; ++k) {
    const auto at = static_cast<size_t>(k);
    const uint8_t tag = types.size() > 1 ? list.tags[at] : 0;
    PyList_SET_ITEM(result.get(), static_cast<Py_ssize_t>(k),
                    build(types[tag], list.items + at * width).release());
  }
  return result;
}

// Items that are what they were stay the objects they are.
void LoopEntry::store_resized(
    size_t index, const std::vector<LoopValue>& types,
    const std::function<Ref(const LoopValue& type, const int64_t* words)>& build) const {
  if (types.empty()) return;
  const ListItems& was = lists[index];
  const ResizedList& now = *was.items;
  PyObject* list = was.object.get();
  const size_t width = num_leaves(types[0]);
  const Py_ssize_t size = now.size, old_size = static_cast<Py_ssize_t>(was.words.size() / width);
  const bool is_as_it_was = PyList_GET_SIZE(list) == old_size;
  if (PyList_GET_SIZE(list) > size && PyList_SetSlice(list, size, PyList_GET_SIZE(list), nullptr) < 0)
    throw PythonError{};
  for (Py_ssize_t k = 0; k < size; ++k) {
    const auto at = static_cast<size_t>(k);
    const int64_t* words = now.items + at * width;
    const uint8_t tag = types.size() > 1 ? now.tags[at] : 0;
    if (is_as_it_was && k < old_size && tag == (was.tags.empty() ? 0 : was.tags[at]) &&
        std::equal(words, words + width, was.words.data() + at * width))
      continue;
    Ref item = build(types[tag], words);
    if ((k < PyList_GET_SIZE(list) ? PyList_SetItem(list, k, item.release())
                                   : PyList_Append(list, item.get())) < 0)
      throw PythonError{};
  }
}

}  // namespace weft::capture
