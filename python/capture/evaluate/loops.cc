// Where a segment ends because a loop can run as native code.
#include "capture/loops/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"

namespace weft::capture {

namespace {

// Loops of fewer rounds are unrolled.
constexpr int64_t kMinNativeTrips = 4, kMinTrips = 16;

// The types of a frame's values, for the analysis of a loop: nothing is guarded.
class LoopTypes {
 public:
  // Lists of numbers that become lists of several types.
  struct Mixed {
    std::set<const Value*> values;
    std::set<PyObject*> objects;
  };
  explicit LoopTypes(const Mixed& mixed) : mixed_(mixed) {}

  // False: not known, or known already.
  bool note_mixed(int array, Mixed& mixed) const {
    const auto at = static_cast<size_t>(array);
    if (const auto found = made_lists_.find(array); found != made_lists_.end())
      return mixed.values.insert(found->second).second;
    return entry.array_objects[at] && mixed.objects.insert(entry.array_objects[at].get()).second;
  }

  LoopFrame frame(const AbstractFrame& from) {
    LoopFrame result;
    result.code = from.code;
    result.globals = from.globals.get();
    result.builtins = from.builtins.get();
    result.ip = from.ip;
    globals_ = result.globals;
    const ListSlots slots = list_slots(*from.code, from.ip);
    entry.resized_attributes = slots.attributes;
    for (int slot : slots.appended)
      if (const V value = list_in(from, slot)) {
        appended_.insert(value.get());
        if (value->kind != Kind::List) entry.appended_lists.insert(value->object.get());
      }
    for (const V& it : from.stack) {
      if (!it || it->kind != Kind::Iter || it->iter != IterKind::Sequence ||
          !appended_.count(it->items[0].get()))
        continue;
      resized_.insert(it->items[0].get());
      if (it->items[0]->kind != Kind::List) entry.resized_lists.insert(it->items[0]->object.get());
    }
    for (int slot : slots.loaded) {
      const V value = list_in(from, slot);
      if (value) loaded_.insert(value.get());
      if (value && value->kind != Kind::List) {
        entry.loaded_lists.insert(value->object.get());
        if (mixed_.objects.count(value->object.get())) entry.resized_lists.insert(value->object.get());
      }
      if (value && mixed_.values.count(value.get())) resized_.insert(value.get());
      if (!value ||
          (!slots.resized.count(slot) && (!appended_.count(value.get()) || slots.appended.count(slot))))
        continue;
      resized_.insert(value.get());
      if (value->kind != Kind::List) entry.resized_lists.insert(value->object.get());
    }
    for (size_t at : stack_lists_appended_to(*from.code, from.ip, from.stack.size()))
      if (const V& value = from.stack[at]; value && value->kind == Kind::List) appended_.insert(value.get());
    for (size_t i = 0; i < from.locals.size(); ++i) {
      const bool live = from.locals[i] && from.code->is_live(from.ip, static_cast<int>(i));
      result.locals.push_back(live ? type(from.locals[i]) : LoopValue());
    }
    for (const V& value : from.stack) {
      LoopValue null;
      null.kind = LoopKind::Null;
      result.stack.push_back(value ? type(value) : null);
    }
    entry.read_attributes(result);
    return result;
  }
  LoopEntry entry;

 private:
  LoopValue type(const V& value) {
    LoopValue appended;
    switch (value->kind) {
      case Kind::Lazy:
      case Kind::Const: return entry.classify(value->object.get());
      case Kind::SymInt: return loop_int("");
      case Kind::Scalar:
        if (value->weak == WeakKind::Int) return loop_int("");
        if (value->weak == WeakKind::Float) return loop_float("");
        if (value->weak == WeakKind::Bool) return loop_bool("");
        if (value->weak == WeakKind::Complex) return loop_complex(false, "", "");
        break;
      case Kind::Array: return array(value);
      case Kind::Tuple: {
        std::vector<LoopValue> items;
        for (const V& item : value->items) items.push_back(type(item));
        return loop_tuple(std::move(items));
      }
      case Kind::List:
        if (resized_.count(value.get())) return resized(value);
        if (!appended_.count(value.get())) {
          if (value->items.empty() && loaded_.count(value.get())) return resized(value);
          if (LoopValue list = numbers(value); list.kind == LoopKind::Vector) return list;
          break;
        }
        appended.kind = LoopKind::Appended;
        appended.index = number_of(value);
        return appended;
      case Kind::Cell:
      case Kind::Function:
        if (std::optional<LoopValue> held = nested(value)) return *held;
        break;
      case Kind::Iter:
        if (std::optional<LoopValue> gives = given(value)) {
          if (value->iter != IterKind::Range)
            return loop_iterator(loop_int("", true), loop_int("", true), *gives);
          LoopValue range;
          range.kind = LoopKind::RangeIter;
          range.items = {loop_int("", true), loop_int(""), gives->items[1]};
          return range;
        }
        break;
      default: break;
    }
    LoopValue other;
    other.kind = LoopKind::Object;
    other.index = number_of(value);
    return other;
  }

  // A list, or an object that is one; null where there is none.
  static V list_in(const AbstractFrame& frame, int slot) {
    V value = frame.locals[static_cast<size_t>(slot)];
    if (value && value->kind == Kind::Cell) value = value->items[0];
    const bool is_object = value && (value->kind == Kind::Lazy || value->kind == Kind::Const);
    const bool is_list =
        value && (is_object ? PyList_CheckExact(value->object.get()) : value->kind == Kind::List);
    return is_list ? value : nullptr;
  }

  LoopValue resized(const V& list) {
    LoopValue result;
    result.kind = LoopKind::Object;
    result.index = number_of(list);
    if (const auto found = resized_at_.find(list.get()); found != resized_at_.end()) {
      result.kind = LoopKind::Resized;
      result.index = found->second;
      return result;
    }
    std::map<std::string, LoopValue> types;
    for (const V& item : list->items) {
      const std::optional<LoopValue> type = item_type(this->type(item));
      if (!type) return result;
      std::string key;
      append_key(*type, key);
      types.try_emplace(key, *type);
    }
    std::vector<LoopValue> in_order;
    for (auto& [key, type] : types) in_order.push_back(std::move(type));
    if (!may_be_in_one_list(in_order)) return result;
    result.kind = LoopKind::Resized;
    result.index = static_cast<int>(entry.of_objects.item_types.size());
    entry.of_objects.item_types.push_back(std::move(in_order));
    resized_at_[list.get()] = result.index;
    return result;
  }

  int number_of(const V& value) {
    return static_cast<int>(numbers_.try_emplace(value.get(), 1000 + numbers_.size()).first->second);
  }

  // Cells that hold something, and functions over them; LoopEntry::is_nested() says which.
  std::optional<LoopValue> nested(const V& value) {
    LoopValue result;
    result.index = number_of(value);
    if (value->kind == Kind::Cell) {
      if (!open_.insert(value.get()).second) return {};
      result.kind = LoopKind::Cell;
      result.items = {value->items[0] ? type(value->items[0]) : LoopValue()};
      open_.erase(value.get());
      return result;
    }
    if (value->items[0] || value->items[1] || value->globals.get() != globals_) return {};
    result.kind = LoopKind::Function;
    result.object = value->object.get();
    if (const V& closure = value->items[3])
      for (const V& cell : closure->items) result.items.push_back(type(cell));
    return result;
  }

  // What an iterator gives; nothing where native loops do not know.
  std::optional<LoopValue> given(const V& it, bool is_within = false) {
    LoopValue gives;
    switch (it->kind == Kind::Iter ? it->iter : IterKind::Generator) {
      case IterKind::Range: {
        gives.kind = LoopKind::Counted;
        gives.items = {loop_int("", true), loop_known_int(1), loop_int("")};
        if (it->object) {
          Ref step = checked(PyObject_GetAttrString(it->object.get(), "step"));
          gives.items[1] = loop_known_int(PyLong_AsLongLong(step.get()));
          PyErr_Clear();
        }
        return gives;
      }
      case IterKind::Sequence:
      case IterKind::Rows:
        gives.kind = LoopKind::Elements;
        if (resized_.count(it->items[0].get())) {
          gives.items = {resized(it->items[0])};
          if (is_within || gives.items[0].kind != LoopKind::Resized) return {};
          return gives;
        }
        gives.items = {it->iter == IterKind::Rows ? type(it->items[0]) : numbers(it->items[0])};
        if (gives.items[0].kind != LoopKind::Array && gives.items[0].kind != LoopKind::Vector) return {};
        return gives;
      case IterKind::Enumerate: {
        std::optional<LoopValue> inner = given(it->items[0], true);
        if (!inner) return {};
        gives.kind = LoopKind::Enumerated;
        gives.items = {loop_int("", true), *inner};
        return gives;
      }
      case IterKind::Zip:
        gives.kind = LoopKind::Zipped;
        for (const V& part : it->items) {
          std::optional<LoopValue> inner = given(part, true);
          if (!inner) return {};
          gives.items.push_back(*inner);
        }
        return gives;
      default: return {};
    }
  }

  // A list or tuple of numbers of one kind.
  LoopValue numbers(const V& sequence) {
    LoopValue result;
    result.kind = LoopKind::Object;
    std::set<LoopKind> kinds;
    for (const V& item : sequence->items) {
      kinds.insert(type(item).kind);
      if (kinds.size() > 1 || kinds.count(LoopKind::Object)) return result;
    }
    if (kinds.size() != 1 || (!kinds.count(LoopKind::Int) && !kinds.count(LoopKind::Float))) return result;
    result.kind = LoopKind::Vector;
    result.dtype = kinds.count(LoopKind::Float) ? DType::F64 : DType::I64;
    result.index = static_cast<int>(entry.arrays.size());
    entry.arrays.push_back(
        {result.dtype, 1, 1, sequence->kind == Kind::List, {}, loaded_.count(sequence.get()) > 0});
    made_lists_[result.index] = sequence.get();
    entry.array_objects.emplace_back();
    return result;
  }

  LoopValue array(const V& value) {
    if (value->object && PyObject_HasAttrString(value->object.get(), "strides"))
      return entry.classify(value->object.get());
    const DType dtype = value->tensor.dtype();
    const auto dims = static_cast<int>(value->tensor.dim());
    if (value->flavor == Flavor::NumpyScalar && is_loop_dtype(dtype)) return loop_numpy(dtype, "");
    if (value->flavor == Flavor::NumpyScalar && dtype == DType::C128) return loop_complex(true, "", "");
    LoopValue result;
    result.kind = LoopKind::Object;
    if (value->flavor != Flavor::NdArray || dims == 0 || !is_element_dtype(dtype)) return result;
    result.kind = LoopKind::Array;
    result.dtype = dtype;
    auto [found, is_new] = arrays_.try_emplace(value.get(), static_cast<int>(entry.arrays.size()));
    if (is_new) {
      entry.arrays.push_back({dtype, dims, uint64_t{1} << (dims - 1), true, {}});
      entry.array_objects.emplace_back();
    }
    result.index = found->second;
    return result;
  }

  PyObject* globals_ = nullptr;
  const Mixed& mixed_;
  std::map<int, const Value*> made_lists_;              // by array
  std::set<const Value*> appended_, resized_, loaded_;  // lists
  std::unordered_map<const Value*, int> resized_at_;
  std::set<const Value*> open_;  // cells being looked into
  std::unordered_map<const Value*, size_t> numbers_;
  std::unordered_map<const Value*, int> arrays_;
};

}  // namespace

namespace {

// How many rounds are to come, as far as is known here; nothing is guarded.
int64_t rounds_to_come(const V& it) {
  switch (it->kind == Kind::Iter ? it->iter : IterKind::Generator) {
    case IterKind::Range:
      if (!it->object) return INT64_MAX;
      return PyObject_Length(it->object.get()) - it->index;
    case IterKind::Rows: return ops::sym_shape(it->items[0]->tensor)[0].hint() - it->index;
    case IterKind::Sequence:
      return it->index < 0 ? 0 : static_cast<int64_t>(it->items[0]->items.size()) - it->index;
    case IterKind::Enumerate: return rounds_to_come(it->items[0]);
    case IterKind::Zip: {
      int64_t least = INT64_MAX;
      for (const V& part : it->items) least = std::min(least, rounds_to_come(part));
      return least;
    }
    default: return 0;
  }
}

}  // namespace

namespace {

// Over a list that the loop makes longer?
bool may_grow(const AbstractFrame& frame, const V& it) {
  if (it->kind != Kind::Iter || it->iter != IterKind::Sequence) return false;
  const ListSlots slots = list_slots(*frame.code, frame.ip);
  return std::any_of(slots.loaded.begin(), slots.loaded.end(), [&](int slot) {
    if (!slots.resized.count(slot) && !slots.appended.count(slot)) return false;
    const V& held = frame.locals[static_cast<size_t>(slot)];
    return held && (held == it->items[0] || (held->object && held->object == it->items[0]->object));
  });
}

bool can_be_native(const AbstractFrame& frame, std::string* why) {
  LoopTypes::Mixed mixed;
  while (true) {
    LoopTypes types(mixed);
    std::vector<LoopFrame> frames = {types.frame(frame)};
    try {
      return can_be_native(std::move(frames), types.entry, why);
    } catch (const LoopListMixed& list) {
      *why = "a list gets items of another type";
      if (!types.note_mixed(list.array, mixed)) return false;
    }
  }
}

}  // namespace

// Is it a program over tensors, as far as can be seen before its values are used?
bool Evaluator::is_over_tensors() const {
  if (has_tensor_input()) return true;
  const auto is_of_tensors = [](const V& value) {
    if (!value) return false;
    if (value->kind == Kind::Tensor) return true;
    PyTypeObject* const type = value->object ? Py_TYPE(value->object.get()) : nullptr;
    PyObject* const setter = type ? python_function_of(type, "__setattr__") : nullptr;
    return type && (PyType_IsSubtype(type, tensor_class()) || (setter && is_method_of_modules(setter)));
  };
  return std::any_of(frames_.begin(), frames_.end(), [&](const AbstractFrame& frame) {
    return std::any_of(frame.locals.begin(), frame.locals.end(), is_of_tensors);
  });
}

static bool makes_a_list_longer(const Code& code, int head) {
  const ListSlots slots = list_slots(code, head);
  return !slots.appended.empty() || !slots.resized.empty();
}

// Is the range of this loop one that the graph should not hold one length of, as that of a sequence is? With
// dynamic=True all integers are symbolic, those that say how deep a model is, too: sizes alone are taken to
// change. Rounds that make a list longer are not alike: of their own they would be as many graphs.
bool Evaluator::wants_graphs_of_rounds(const V& range) {
  if (range->object) return false;
  if (makes_a_list_longer(*frame().code, frame().ip)) return false;
  if (settings_.dynamic != Settings::Dynamic::Always) return true;
  const SymEnv& env = tracer_.graph().env();
  const auto depends_on_a_size = [&](const V& bound) {
    if (bound->kind != Kind::SymInt) return false;
    const SymGuard same = {SymRelation::Eq, bound->sym, Sym(bound->sym.hint())};
    for (int symbol = 0; symbol < env.num_symbols(); ++symbol) {
      std::vector<int64_t> another = env.hints();
      ++another[static_cast<size_t>(symbol)];
      if (env.is_size(symbol) && !same.holds(another)) return true;
    }
    return false;
  };
  const std::vector<V>& bounds = range->items[0]->items;
  return std::any_of(bounds.begin(), bounds.end(), depends_on_a_size);
}

// Does what was evaluated of this round of a loop over a range hold for no other one? A counter that names a
// layer is such.
bool Evaluator::is_of_one_round(const Code& code, int head) {
  if (makes_a_list_longer(code, head)) return true;
  const Instruction& stores = code.instructions[static_cast<size_t>(head) + 1];
  if (stores.op != Op::StoreFast) return false;
  const V& counter = frame().locals[static_cast<size_t>(stores.arg)];
  if (!counter) return false;
  if (counter->kind == Kind::Const)  // after a round of its own, not after rounds that are unrolled
    return settings_.dynamic == Settings::Dynamic::Never && counter->source;
  if (counter->kind != Kind::SymInt || !counter->sym.node() || counter->sym.node()->symbol < 0) return false;
  const ir::Graph& graph = tracer_.graph();
  std::vector<int64_t> another = graph.env().hints();
  ++another[static_cast<size_t>(counter->sym.node()->symbol)];
  const std::vector<SymGuard>& guards = graph.env().guards();
  return std::any_of(guards.begin(), guards.end(), [&](const SymGuard& guard) {
    return guard.relation == SymRelation::Eq && !guard.holds(another);
  });
}

// Of an iterator over a range, one of Python's, too; 0 for any other.
static int64_t rounds_left(const V& it) {
  if (it->kind == Kind::Iter) return it->iter == IterKind::Range && it->object ? rounds_to_come(it) : 0;
  const Ref left = it->kind == Kind::Lazy ? range_left(it->object.get()) : Ref();
  return left ? std::max<int64_t>(PyObject_Length(left.get()), 0) : 0;
}

// Python's iterator over a range, where a segment begins within the loop: the graph takes what is left of it.
bool Evaluator::take_range_iterator(const V& it) {
  if (it->kind == Kind::Iter) return it->iter == IterKind::Range;
  if (it->kind != Kind::Lazy || !it->source || it->source->step != Source::Step::Stack) return false;
  const Ref left = range_left(it->object.get());
  if (!left) return false;
  const int reg = variant_->guards.load(it->source);
  variant_->guards.add({.op = GuardOp::RangeLeft, .a = reg, .object = left.get()},
                       fmt::format("what is left of {} is {}", it->source->str(), short_repr(left.get())));
  it->kind = Kind::Iter;
  it->iter = IterKind::Range;
  it->object = left;
  it->source = nullptr;
  it->index = 0;
  return true;
}

// A loop that goes round too often in one segment gets a segment per iteration.
void Evaluator::note_backward_jump(int target) {
  const Code* code = frame().code;
  if (settings_.on_meta()) return;
  const auto place = std::make_pair(code, target);
  const std::string key = fmt::format("{} {} {}", frames_.size(), static_cast<const void*>(code), target);
  Trips& trips = trips_.try_emplace(key, Trips{code, target}).first->second;
  const size_t nodes = tracer_.graph().body().nodes.size();
  if (++trips.rounds == 1) trips.first_nodes = nodes;
  trips.last_nodes = nodes;
  const bool is_for = code->instructions[static_cast<size_t>(target)].op == Op::ForIter;
  // Loops over layers are as long as a model is deep.
  constexpr size_t kMostOfTensors = 4096, kMostOfWhole = 32768, kMostUnrolled = 512;  // operations
  constexpr size_t kMostSegments = 8;   // of a loop whose rounds are not alike
  constexpr int64_t kMostRounds = 128;  // that are alike
  const bool has_tensors = has_tensor_input();
  size_t to_come = 0;  // operations, if those to come have as many as this round
  if (is_for && trips.rounds == 1 && !settings_.fullgraph)
    to_come = static_cast<size_t>(rounds_left(top())) * (nodes - trips.nodes_before);
  if (to_come > 0 && to_come <= kMostSegments * (has_tensors ? kMostOfTensors : kMostUnrolled) &&
      is_of_one_round(*code, target) && take_range_iterator(top()))
    unrolled_.insert(place);
  const bool is_unrolled = unrolled_.contains(place);
  const Lesson lesson = {Lesson::Kind::LongLoop, {code, target}};
  if (!is_unrolled && history_.knows(lesson)) graph_break("the next iteration of a loop");
  const size_t most = has_tensors   ? settings_.fullgraph ? kMostOfWhole : kMostOfTensors
                      : is_unrolled ? kMostUnrolled
                                    : 2 * kMaxTrips;
  if (to_come > 0 && (to_come > most || rounds_left(top()) > kMostRounds) && has_tensors && !is_unrolled &&
      top()->kind == Kind::Iter) {
    history_.learn(lesson);
    graph_break("a long loop is compiled round by round: " + native_verdicts_[place]);
  }
  if (trips.rounds > kMaxTrips && nodes > most) {
    if (!is_unrolled) history_.learn(lesson);
    graph_break("a long loop");
  }
}

// True at the head of a loop that is native code (no reason then), or too long to be unrolled.
bool Evaluator::ends_at_loop(std::string* reason) {
  const int at = frame().ip;
  const Code& code = *frame().code;
  if (!settings_.is_usual() || steps_taken_ == 0 || yielded_ || loop_end(code, at) < 0) return false;
  const auto place = std::make_pair(&code, at);
  if (native_verdicts_.count(place) || unrolled_.contains(place) ||
      history_.knows({Lesson::Kind::LongLoop, {&code, at}}) || is_in_stand_in())
    return false;
  const bool is_for = code.instructions[static_cast<size_t>(at)].op == Op::ForIter;
  const V it = is_for ? top() : nullptr;
  const bool over_range = it && it->kind == Kind::Iter && it->iter == IterKind::Range;
  const int64_t rounds = it ? rounds_to_come(it) : 0;
  if (is_for && rounds < (over_range ? kMinNativeTrips : kMinTrips) && !may_grow(frame(), it)) return false;
  read_appended_lists();
  std::string& why = native_verdicts_[place];
  if (can_be_native(frame(), &why)) return true;
  if (!over_range || settings_.fullgraph) return false;  // a segment for each round is no whole graph
  const bool has_own_graphs = wants_graphs_of_rounds(it);
  specialize_range(it);
  if (!has_own_graphs && is_over_tensors()) {  // note_backward_jump decides when it has seen a round
    const std::string key = fmt::format("{} {} {}", frames_.size(), static_cast<const void*>(&code), at);
    trips_.try_emplace(key, Trips{&code, at}).first->second.nodes_before =
        tracer_.graph().body().nodes.size();
    return false;
  }
  if (rounds_to_come(it) < kMinTrips) return false;
  *reason = "a long loop is compiled round by round: " + why;
  return true;
}

// Loops of which more rounds than usual are in the graph. Rounds that computed nothing (a table of constants)
// are not.
void Evaluator::note_unrolled_loops() {
  if (has_tensor_input()) return;
  for (const auto& [key, trips] : trips_) {
    if (trips.rounds <= kMaxTrips || trips.last_nodes == trips.first_nodes) continue;
    const auto verdict = native_verdicts_.find({trips.code, trips.head});
    const bool is_known = verdict != native_verdicts_.end() && !verdict->second.empty();
    variant_->unrolled.push_back(
        {trips.code, trips.head, trips.rounds,
         is_known ? verdict->second
                  : "it goes over a few elements at a time, or over what native loops do not iterate over"});
  }
}

}  // namespace weft::capture
