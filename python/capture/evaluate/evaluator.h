// The symbolic evaluator: from a concrete state to one variant of its segment.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/evaluate/history.h"
#include "capture/guards/variant.h"
#include "capture/perform/state.h"
#include "capture/values/value.h"
#include "core/grad_mode.h"
#include "ir/trace.h"
#include "ops/registry.h"

namespace weft::capture {

struct AbstractFrame {
  const Code* code = nullptr;
  Ref globals, builtins;
  std::vector<V> locals, stack;
  int ip = 0;
  OnReturn on_return = OnReturn::Push;
  V extra;
  bool stands_for_call = false;     // entered in place of a function of NumPy's
  bool is_custom_operator = false;  // the call of one that the program has made
};

struct CallArgs {
  std::vector<V> args;
  std::vector<std::pair<std::string, V>> keywords;
  V keyword(std::string_view name) const;
};

// Rounds of one loop in one segment: unrolled, without a word about it.
constexpr int kMaxTrips = 16;

class Evaluator {
 public:
  Evaluator(const State& state, History& history, const Settings& settings);
  // Evaluates until the outermost frame returns or an instruction has to be performed for real.
  std::shared_ptr<Variant> evaluate();

  // ---- values (values.cc) ----
  // Finds out what a lazy value is, adding the guards that make it so. Gives the value back.
  const V& realize(const V& value);
  // The Python truth of a value known at capture; breaks for one that depends on data.
  bool truth(const V& value);
  // An int known at capture (symbolic ones are specialized); breaks otherwise.
  int64_t to_int(const V& value, const char* what);
  // As a size: symbolic ints stay so.
  Sym to_sym(const V& value, const char* what);
  bool is_int(const V& value);
  bool is_none(const V& value) { return realize(value)->is(Py_None); }
  std::string to_string(const V& value, const char* what);
  // The elements of a tuple, list, constant sequence, range, dict or the rows of an array; breaks otherwise.
  std::vector<V> elements(const V& value);
  bool same_object(const V& a, const V& b);
  // What containers compare their elements by: identity, or else equality.
  bool same_or_equal(const V& a, const V& b);
  // Python equality of values known at capture; breaks otherwise.
  bool equal(const V& a, const V& b);
  // The real object of a value that is known completely (constants and containers of constants), or null.
  Ref constant(const V& value);
  // The same, or an object of the program's that is found by its identity, which is guarded then.
  Ref identified(const V& value);
  void guard_function(PyObject* object);
  // The set of this source is one of the tuple's elements.
  void guard_set(const SourceRef& source, PyObject* elements, bool in_order);
  V pinned(PyObject* object) { return lazy_value(object, pinned_source(object)); }
  V type_of(const V& value);
  // The value's Python type, if known.
  PyTypeObject* python_type(const V& value);
  // Attribute found in a class, for an instance of it or the class itself.
  void mark_dirty(const V& value);
  // A list that the program does nothing with but append to it: neither its length nor its items are guarded.
  void append_to_unread(const V& list, const V& item);
  void read_appended_lists();
  void pin_type(PyTypeObject* type);
  // The segment is captured again, unless the lesson was known: then `otherwise`.
  [[noreturn]] void begin_again(const Lesson& lesson, std::string reason,
                                CaptureAborted::Then otherwise = CaptureAborted::Then::EndEarlier);
  // The same: the program looks at what evaluation makes no object of; at no place, nothing is learned.
  [[noreturn]] void leave_to_python(const Place& place, std::string reason);
  [[noreturn]] void leave_traceback(const V& exception);
  // The same, with what stands for the standard library's classes and functions performed by Python.
  [[noreturn]] void leave_library(std::string reason);
  // The program lets go of a value: where that may be the end of an object and the end is seen, Python does
  // it.
  void release(const V& value);
  void release_all(const AbstractFrame& frame);

  // ---- operations ----
  V binary(int op, const V& a, const V& b);
  V compare(int op, const V& a, const V& b);
  // Of a float given to the function with a known number, where a graph may not end: its outcome is guarded.
  V guarded_comparison(int op, const V& a, const V& b);
  // What the operation (computed.h), or the function, gives for numbers that are known from sizes and given
  // ones; null where they are not, or all are constants.
  V computed(int operation, PyObject* function, const std::vector<V>& operands);
  // The object of a float that follows from sizes, which is guarded; null for other values.
  Ref known_number(const V& value);
  // Is it one that follows from sizes?
  static bool is_derived_number(const V& value);
  V unary(Op op, const V& a);
  V subscript(const V& container, const V& key);
  // Enters the Python function that answers the subscript, where there is one.
  bool enter_subscript(const V& container, const V& key);
  void store_subscript(const V& container, const V& key, const V& value);
  void delete_subscript(const V& container, const V& key);
  void delete_attribute(const V& owner, PyObject* name);
  // The same for an assignment of several values.
  bool enter_store(const V& container, const V& key, const V& value);
  bool enter_store_attribute(const V& owner, const std::string& name, const V& value);
  V contains(const V& container, const V& item);
  V iterator(const V& value);
  V next_of_hashed(const V& iterator);
  // The next element, or null when exhausted.
  V next(const V& iterator);
  V attribute(const V& owner, PyObject* name);  // null: a frame was pushed that will yield it
  // `as_object`: what object.__setattr__ does.
  void store_attribute(const V& owner, PyObject* name, const V& value, bool as_object = false);
  bool has_attribute(const V& owner, PyObject* name);
  bool has_own_attribute_now(const V& owner, PyObject* name);
  V attribute_or_null(const V& owner, PyObject* name);  // null after an AttributeError
  // As object.__getattribute__ finds it; null as above.
  V plain_attribute(const V& owner, PyObject* name);
  // What weft.nn.Module's __getattr__ gives, or null.
  V module_attribute(const V& owner, PyObject* name);
  // What an instance of a subclass of dict holds, where `method` is dict's own for it; else null.
  V as_dict(const V& value, const char* method);
  void realize_dict(const V& value);
  // The keys and values of a mapping, as dict() and ** take them; a dict's own, where it is one.
  V mapping_of(const V& value);
  // Raises for a handler inside the segment; breaks with the reason where there is none.
  [[noreturn]] void raise(PyObject* type, std::vector<V> args, const std::string& reason);
  // The exception that is set, taken as an abstract one; breaks where that cannot be.
  [[noreturn]] void raise_pending();
  V make_exception(PyTypeObject* type, std::vector<V> args);
  V make_exception_now(PyTypeObject* type);  // by calling the class, with its __init__
  // The call's value; null when a frame was pushed that will yield it.
  V call(const V& callable, CallArgs args);
  // What NumPy gave for these arguments, in weft.config.numpy_default_float where nothing asks for float64.
  V with_default_float(V result, const CallArgs& args);

  // ---- Python functions evaluated to their end within one instruction (nested.cc) ----
  V call_now(const V& callable, CallArgs args);
  V attribute_now(const V& owner, PyObject* name);
  V call_method_now(const V& self, PyObject* method, std::vector<V> others);
  PyObject* python_method(const V& instance, const char* name);
  // Has the class of the instance anything of this name?
  bool has_own(const V& instance, const char* name);
  // A generator's next element, given what is sent or thrown into it; null at its end.
  V send(const V& generator, const V& sent);
  V throw_into(const V& generator, const V& exception);
  void close(const V& generator);
  // What obj.__next__() gives, or null at a StopIteration.
  V next_of_instance(const V& instance);
  int64_t length_of(const V& given);
  V text_given(const V& text);  // what __str__ and the like have given
  // All elements, asked for as list() asks: an object is asked how many they may be.
  std::vector<V> all_elements(const V& value, bool asks_length = true);
  // As tuple() asks, which has no use for the length from 3.14 on.
  std::vector<V> all_for_tuple(const V& value) { return all_elements(value, PY_VERSION_HEX < 0x030E0000); }
  // The real object that a value would be, for str() and the like; containers and exceptions are made. Null
  // if not known.
  Ref described(const V& value);

  // ---- arrays ----
  ir::GraphTracer& tracer() { return tracer_; }
  bool has_device_arrays() const { return has_device_arrays_; }
  // A traced tensor for an operand: arrays, data scalars, numbers; breaks otherwise.
  Tensor to_tensor(const V& value);
  // As a promoted operator's operand: Python numbers stay weak.
  bool is_arraylike(const V& value);
  // Before an array is assigned to: it, or the input it is a view of, must be writable and alone.
  void prepare_mutation(const V& array);
  // Captures the segment again, with this number as a constant.
  [[noreturn]] void capture_as_constant(const V& number);
  void note_effect() { ++num_effects_; }
  void guard_grad_mode();  // the thread's mode at the segment's start
  bool is_whole_graph() const { return settings_.fullgraph; }
  // Floating-point errors of NumPy's are raised: nothing that may raise one is computed now, or left out.
  bool keeps_errors() const { return settings_.keeps_errors; }
  // `copy` has the elements of what Python makes a view of `viewed`.
  void note_copied_view(const V& copy, const V& viewed);
  void record_update(const Tensor& view, const Tensor& value);
  void refuse_read_only(const V& array,
                        const char* what);  // raises NumPy's error for a view of a read-only one
  // An array or a tensor from outside, as a graph input: the real one is found at `source`.
  void add_array_input(const V& value, const SourceRef& source);

  AbstractFrame& frame() { return frames_.back(); }
  V& top(int depth = 1) { return frame().stack[frame().stack.size() - static_cast<size_t>(depth)]; }
  void drop(int count) { frame().stack.resize(frame().stack.size() - static_cast<size_t>(count)); }
  void push(V value) {
    frame().stack.push_back(value && value->kind == Kind::Lazy ? unify(value) : std::move(value));
  }
  // One outside object reached in two ways is one value.
  V unify(const V& value);
  PyObject* name(const Instruction& in) { return frame().code->names[static_cast<size_t>(in.arg)].get(); }
  // Enters a Python function. Breaks when the arguments cannot be bound.
  void enter(PyObject* function, CallArgs args, OnReturn on_return = OnReturn::Push, V extra = nullptr);
  void enter_made(const V& function, CallArgs args);
  PyObject* overriding_operator(const CallArgs& args);
  bool overrides_operators(const V& a, const V& b);
  // Enters the source that stands for a function or method of NumPy's.
  void enter_for(const std::string& callable, PyObject* source, CallArgs args);

 private:
  // Captures the segment again, with the call as NumPy's, if it cannot go on within a source that stands for
  // one.
  void leave_to_numpy(size_t depth);
  void leave_custom_operator(size_t depth);
  void execute(const Instruction& in);
  bool execute_data(const Instruction& in);
  bool execute_operators(const Instruction& in);
  bool execute_subscripts(const Instruction& in);
  bool execute_building(const Instruction& in);
  bool execute_adding(const Instruction& in);
  bool execute_text(const Instruction& in);
  bool execute_unpacking(const Instruction& in);
  V formatted(const Instruction& in);
  bool execute_names(const Instruction& in);
  bool execute_control(const Instruction& in);
  bool execute_calls(const Instruction& in);
  struct Call;
  Call call_at(const Instruction& in);
  Call call_with_stars_at(const Instruction& in);
  bool execute_functions(const Instruction& in);
  bool execute_special_methods(const Instruction& in);
  void execute_return();
  bool execute_exceptions(const Instruction& in);
  [[noreturn]] void raise_given(int count);
  void enter_context(const V& manager);
  // Goes to the handler of the exception; false when no frame of the segment has one.
  bool unwind_to_handler(const V& exception, size_t lowest = 0);
  bool has_handler() const;
  void run_nested_instruction(size_t lowest);
  V run_to_return(size_t depth);
  // A function that may answer NotImplemented, and its arguments.
  struct Asked {
    V function;
    std::vector<V> args;
  };
  // An operator: who is asked, one after the other, and what it gives, or the text of the TypeError, where
  // nobody answers.
  struct Question {
    std::vector<Asked> asked;
    V otherwise;
  };
  PyObject* operator_method(const V& self, const char* name);
  std::optional<Asked> asked(const V& self, const char* name, const V& other);
  std::optional<Question> question(int operation, bool is_comparison, const V& a, const V& b);
  static std::string refusal_of_operator(int op, bool in_place, PyTypeObject* a, PyTypeObject* b);
  V answer(const Question& question);
  void ask_others(const V& others);
  bool is_undecided();
  V returned_value();
  V instance_binary(int op, const V& a, const V& b);
  V instance_compare(int op, const V& a, const V& b);
  std::optional<bool> instance_truth(const V& instance);
  V instance_iterator(const V& instance);
  V descriptor_value(const V& owner, PyObject* found);
  bool set_through_descriptor(const V& owner, PyObject* found, const V& value);
  V cached_property(const V& owner, PyObject* name, PyObject* found);
  bool is_in_stand_in() const;
  bool execute_patterns(const Instruction& in);
  V match_class(const V& subject, PyTypeObject* type, int positional, PyObject* names);
  V call_with_cache(PyObject* function, CallArgs args);
  void execute_send(const Instruction& in);
  // How far iterators have got, and what else has changed: what an instruction that cannot be evaluated goes
  // back to.
  struct Mark {
    size_t advances;
    int64_t effects;
  };
  Mark mark() const { return {advances_.size(), num_effects_}; }
  void remember(const V& iterator);  // before it advances
  // False where something else has changed: the iterators are back all the same.
  bool go_back(const Mark& mark);
  // Throws CaptureAborted there.
  void undo(const Mark& mark, const char* what);
  void end(const V& generator);
  // What a generator that is under way would do at its end happens where the program lets go of it.
  void note_under_way(const V& generator);
  void check_generators();
  V resume(const V& generator, const V& sent = nullptr, const V& thrown = nullptr);
  std::vector<V> all_of_generator(const V& generator);
  void run_instruction();
  void unpack(int before, int after, bool starred);
  std::vector<V> taken(const V& value, size_t wanted, bool starred);
  void note_backward_jump(int target);
  bool wants_graphs_of_rounds(const V& range);
  bool is_of_one_round(const Code& code, int head);
  bool take_range_iterator(const V& it);
  bool has_tensor_input() const;
  bool is_over_tensors() const;
  void note_unrolled_loops();
  void name_unrolled_loops();
  void count_step();
  bool is_at_plain_loop();
  bool ends_at_loop(std::string* reason);

  void realize_object(const V& value);
  bool realize_parts(const V& value);
  void realize_container(const V& value);
  void realize_exception(const V& value);
  void guard_length(const SourceRef& source, Py_ssize_t length);
  bool is_namespace(PyObject* object) const;
  void use_attributes(const V& owner, PyObject* dict, bool changes);
  void realize_builtin_method(const V& value);
  void realize_int(const V& value);
  void realize_float(const V& value);
  V load_global(PyObject* name);
  V import(PyObject* given);
  [[noreturn]] void raise_unbound_local(size_t slot);
  void bind(AbstractFrame& frame, const std::vector<V>& defaults,
            const std::vector<std::pair<std::string, V>>& kwdefaults, CallArgs args);
  V call_const(const V& callable, CallArgs args);
  V call_bound(const V& bound, CallArgs args);
  V construct(const V& type, CallArgs args);
  V construct_exception(PyTypeObject* type, CallArgs args);
  V exception_attribute(const V& owner, PyObject* name);
  V instance_attribute(const V& owner, PyObject* name);
  V dict_of_attributes(const V& owner);
  V property_or_hook(const V& owner, PyObject* name, PyObject* found);
  V ask_for_missing(const V& owner, PyObject* name);
  V super_attribute(const V& self, PyTypeObject* type, PyObject* name);
  V super_value(const V& type, const V& self);
  V zero_argument_super();
  V class_attribute(const V& owner, PyObject* name, PyObject* found);
  V find_instance_item(const V& owner, PyObject* name);
  V module_item(const V& owner, const char* store, PyObject* name);
  bool is_new_buffer(const V& owner, PyObject* name, const V& value);
  bool is_plain_in_module(const V& owner, PyObject* name, const V& value);
  V const_attribute(const V& owner, PyObject* name);
  void specialize_range(const V& iterator);
  V array_item(const V& array, int64_t index);

  // ---- end of the segment (finish.cc) ----
  void finish_return(const V& value);
  void finish_break(const std::string& reason, bool keeps_variables = false);
  FrameRecipe recipe_of(const AbstractFrame& frame, bool is_innermost, bool keeps_variables);
  void finish_graph();
  void keep_shared_roots();
  void take_views_of_inputs();
  std::vector<Strides> input_strides() const;
  int slot_of(const V& value);
  BuildStep step_of(const V& value, std::vector<V>& operands);
  BuildStep output_step(const V& value);
  BuildStep iterator_step(const V& value, std::vector<V>& operands);
  void keep_library_inside(const V& value);
  int add_step(BuildStep step, std::vector<V> operands = {});
  void write_effects();
  void guard_distinct();

  Settings settings_;
  History& history_;
  std::shared_ptr<Variant> variant_;
  ir::GraphTracer tracer_;
  std::vector<AbstractFrame> frames_;
  std::unordered_map<PyObject*, V> known_;       // outside objects with identity, by address
  std::vector<V> tracked_;                       // the same, in the order they were met
  std::unordered_map<PyObject*, V> namespaces_;  // dicts of outside objects whose attributes are known
  std::vector<V> dirty_;
  std::vector<V> inputs_;                                             // array inputs
  std::set<int> mutated_;                                             // of them
  std::unordered_map<std::string, std::pair<Ref, V>> global_stores_;  // by dict and name
  std::vector<std::string> global_order_;
  std::unordered_map<const Value*, int> slots_;
  std::vector<Tensor> outputs_;
  std::unordered_map<size_t, Tensor>
      unordered_;  // outputs given in another memory order, as the graph has them
  std::vector<V> kept_values_;
  bool has_device_arrays_ = false;  // weft.numpy's: what NumPy's functions make on their device are such
  // Backward jumps taken to one place, and how large the graph was at the loop's beginning, after the first
  // and after the last of them.
  struct Trips {
    const Code* code;
    int head, rounds = 0;
    size_t nodes_before = 0, first_nodes = 0, last_nodes = 0;
  };
  std::unordered_map<std::string, Trips> trips_;        // by target
  std::unordered_map<std::string, V> symbol_inputs_;    // symbolic expression -> 0-d input
  std::unordered_map<const Value*, int> root_numbers_;  // of outputs with memory of their own
  std::set<std::pair<const Code*, int>> unrolled_;      // heads of loops whose rounds are not alike
  std::map<std::pair<const Code*, int>, std::string>
      native_verdicts_;  // loop heads that were looked at: why not native
  // A view in Python that the graph computes as a copy, what it is of, and where.
  struct CopiedView {
    V copy, owner;
    Place place;
  };
  std::vector<CopiedView> copied_views_;
  // Captures again, with such a view left to Python, where it can be told from a copy: when either is written
  // to.
  void leave_copied_views(const V& written);
  Place place_;               // what is being evaluated, in the outermost sense
  std::vector<V> under_way_;  // generators that have something to do when they end
  ops::Autocast autocast_;    // of the segment's start
  GradMode grad_mode_;        // of the segment's start, guarded where it is looked at or set
  V handled_;                 // the exception being handled, when that changed inside the segment
  int64_t num_effects_ = 0;
  struct Advance {
    V iterator;
    int64_t index;
    std::shared_ptr<AbstractFrame> suspended;
    V returned;
  };
  std::vector<Advance> advances_;         // of the instruction being evaluated
  size_t generator_depth_ = 0;            // frames below the generator being run; 0: none is
  V yielded_;                             // what it has just given
  int steps_taken_ = 0, idle_steps_ = 0;  // idle: since the graph has last grown
  size_t num_nodes_ = 0;
  int awaited_exceptions_ = 0;  // callers inside the evaluator that take exceptions
  // Slots of built values are numbered from here until the number of registers is final: more than any
  // capture has.
  static constexpr int kBuilt = 1 << 30;
  int num_built_ = 0;
  friend class NumpyLowering;
};

// Functions known to the evaluator, by identity: NumPy's, builtins, math, operator.
using Lowering = V (*)(Evaluator&, CallArgs&);
// `path`: "numpy.linalg.norm", "builtins.len". Objects that this NumPy does not have are passed over.
void register_lowering(const char* path, Lowering lowering);
// Of a function in a module that capture does not import: from when the program has.
void await_lowering(const char* module, const char* name, Lowering lowering);
Lowering find_lowering(PyObject* callable);
// A Python function that is entered instead of the callable ("functools.reduce").
void register_replacement(const char* path, PyObject* function);
PyObject* find_replacement(PyObject* callable);
// Sources of methods: "sort" of arrays, "ufunc.at" of ufuncs.
PyObject* find_method_replacement(const std::string& name);
// Methods and attributes of arrays and NumPy scalars.
void register_array_method(const char* name, Lowering lowering);
Lowering find_array_method(const std::string& name);
using AttributeLowering = V (*)(Evaluator&, const V&);
void register_array_attribute(const char* name, AttributeLowering lowering);
AttributeLowering find_array_attribute(const std::string& name);
// What is lowered under this path, whatever the module has there now; borrowed.
PyObject* lowered_object(const std::string& path);

// str(), repr() and ascii() of anything that is known, by the methods of classes written in Python.
V text_of(Evaluator& ev, const char* function, const V& value);
int find_key(Evaluator& ev, const V& dict, const V& key);
V dict_key(Evaluator& ev, const V& key);
void set_dict_item(Evaluator& ev, const V& dict, const V& key, const V& value);

// Positional and keyword arguments by a signature such as "a, axis=None, *, keepdims=None"; absent ones are
// null. Breaks when the arguments do not fit.
std::vector<V> bind_arguments(const CallArgs& args, const char* signature);

// Of a value that a container or an attribute of the program's lets go of: breaks where that may be the end
// of an object and the end is seen.
void let_go(const V& value);
bool is_unread_list(const V& value);
// The class of an instance, an exception or a member of an enum class; null for other values.
PyTypeObject* program_class(const V& value);
// BaseException.__init__ of an exception made inside.
V initialize_exception(const V& exception, CallArgs& args);
// A float or complex that does not equal itself.
bool is_nan(const V& value);
// Operations on these have no side effects and depend on nothing else.
bool is_foldable(PyObject* object);
// Is there one in the value whose object may be another one in the next call?
bool has_unguarded_nan(const V& value);
// None, classes, modules, functions and the like: which one it is tells all.
bool is_identity_type(PyObject* object);
SourceRef attribute_source(const SourceRef& owner, const char* name);

// The class that a stand-in's instance is given to the program as, or null.
PyTypeObject* stood_for(const V& value);
// Are these the globals of a module of functions that stand for the standard library's own?
bool is_stand_in(PyObject* globals);
// torch.ops.namespace.name(...), of an operator that the program has made.
bool is_call_of_custom_operator(PyFunctionObject* function);
// Made by functools.lru_cache or cache?
bool is_cached_function(PyObject* object);

}  // namespace weft::capture
