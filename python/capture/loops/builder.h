// Builds a native loop: bytecode and types to C++.
//
// The code is versioned by types: every (position, types of the live values) is one basic block, so a local
// that starts as an int and goes on as a NumPy scalar gets a first round of its own, and each value has
// exactly the type that Python would give it. What native code cannot do (an index out of range, an overflow,
// an instruction that is not known) leaves through an exit that holds the complete state before the
// instruction; Python goes on from there.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/bytecode/jumps.h"
#include "capture/loops/checked_loop.h"
#include "capture/loops/code.h"
#include "loopir/function.h"
#include "loopir/pass_log.h"
#include "scalar/expr.h"

namespace weft::capture {

class LoopBuilder {
 public:
  LoopBuilder(std::vector<LoopFrame> entry, std::vector<LoopArray> arrays, LoopObjects objects);
  LoopCode build();

 private:
  // What is known of the values that a jump hands on.
  struct Edge {
    int target;
    std::vector<std::pair<std::string, LoopValue>> moves;  // variables that change
  };
  struct Block {
    std::vector<LoopFrame> frames;  // leaves are variables
    loopir::Instructions code;
    std::vector<Edge> edges;
    bool has_arrays = false;  // statements on whole arrays
    bool stores_arrays = false;
    bool draws = false;                          // random numbers, in their order
    std::optional<loopir::Preheader> preheader;  // of a loop's head that has a checked version
    std::optional<loopir::Version> checked;      // of the loop it heads
    std::set<int> checked_from;                  // blocks whose ways to this head go round the preheader
    std::optional<loopir::SharedRounds> shared;  // of a loop's head: hands its rounds to threads
    std::string in_turn;                         // why it does not
    // Of an innermost loop's checked version: nothing goes from round to round, and it has one at a time.
    // What it stores it does not read: compilers tell such elements apart only behind the loop's own checks.
    bool is_plain = false;
    bool sums_in_place = false;  // the same, but it stores what it reads
  };
  struct Place {
    Expr data, offset;
    bool is_element = false;  // not a row: no dimensions are left
    std::string variable;     // that has the element, too (carried.cc)
    int array = -1, dims = 0;
  };

  // ---- blocks and exits (builder.cc) ----
  void build_block(int id);
  void execute_block(int id);
  int block_of(std::vector<LoopFrame> frames);
  std::string variable(size_t depth, bool is_stack, size_t slot, const std::string& path,
                       const LoopValue& leaf);
  loopir::Way jump_to(const std::vector<LoopFrame>& frames);
  loopir::Exit exit_to(LoopExit::Kind kind, std::vector<LoopFrame> frames);
  void require(const Expr& condition);
  Expr temporary(const std::string& type, const Expr& value);
  // An infix operator.
  Expr operation(const std::string& type, const Expr& a, const char* symbol, const Expr& b);
  // Of the prelude, true where the result fits; or of the compiler, true where it does not.
  Expr overflowing(const std::string& type, const std::string& function, bool true_if_fits, const Expr& a,
                   const Expr& b);
  // `part` of an element.
  Expr loaded(const std::string& type, const Place& place, const char* part = "");
  void store(const Place& place, const Expr& value);
  void poll(int target);
  bool cycles() const;

  // ---- whole calls (whole.cc) ----
  void check_whole();
  // Is the instruction performed once at most?
  bool is_performed_once() const;
  // Elements are set to the number; "": to none.
  LoopValue array_of_call(DType dtype, const std::vector<std::string>& sizes, const char* number);
  // Its elements lie in C order, without gaps, or Python performs the instruction.
  void require_c_order(const LoopValue& array);
  // The array is stored to; `value`: to one element of its own.
  void note_stored(const LoopValue& container, const LoopValue* value) const;
  LoopValue count_binary(int op, DType dtype, const LoopValue& a, const LoopValue& b);

  // ---- checked versions of innermost loops (checked.cc) ----
  std::set<int> loop_blocks(int head) const;
  void add_checked_loop(int head);
  static bool stores_what_it_reads(const CheckedLoop& loop);
  loopir::Version checked_blocks();
  void mark_affine(int id, const LoopMarks& loop);
  loopir::Preheader preheader(const CheckedLoop& loop, const LoopValue& range) const;
  // In a checked version: true when the condition is checked before the loop.
  bool check_before(const LoopAffineRef& value, const Expr& low, const Expr& end);
  // What it has built so far.
  loopir::Function function() const;
  // Without blocks. `makes_arrays`: the code makes those of the call.
  loopir::Function empty_function(const std::string& name, bool makes_arrays) const;
  loopir::Block block(int id) const;
  void finish_pass(const char* pass);

  void note_set_by_head(int head, const std::vector<Edge>& edges, CheckedLoop& loop) const;
  void enter_checked(const CheckedLoop& loop, loopir::Version checked, loopir::Preheader preheader);

  // ---- checked versions of nests of loops (nests.cc) ----
  void add_checked_nests();
  bool add_checked_nest(int head);
  void drop_checked_nest(int head);
  bool find_inner_loops(CheckedLoop& nest) const;
  std::optional<loopir::Jam> side_by_side(int head, CheckedLoop& nest,
                                          const std::map<int, loopir::Instructions>& codes,
                                          const std::map<int, std::vector<Edge>>& edges,
                                          loopir::Preheader& entered);
  // Nothing where the bounds of an inner loop are not known before the nest.
  std::optional<loopir::Preheader> nest_preheader(CheckedLoop& nest, const LoopValue& range,
                                                  const std::map<int, std::vector<Edge>>& edges) const;

  // ---- numbers that a round moves by little (counters.cc) ----
  static std::optional<int64_t> most_of(const LoopValue& step);
  LoopValue counter_binary(int op, const LoopValue& a, const LoopValue& b);
  void find_counters();
  void check_counters();

  // ---- elements that go from round to round in variables (carried.cc) ----
  void note_element(const LoopValue& container, const std::vector<LoopValue>& indices, bool stores,
                    Place& place);
  std::optional<int64_t> distance_to_stored(const CheckedLoop::Element& element) const;
  bool is_passed_always(const std::set<int>& blocks) const;
  void find_carried_elements();
  void carried_at_first(loopir::Preheader& before) const;
  const CheckedLoop::Element* stored_element() const;
  loopir::Instructions carried_on() const;

  // ---- loops whose rounds threads share (parallel.cc; how they are run: team.h) ----
  // The analysis executes the blocks of the loop once more: no code is made, exits lead nowhere.
  struct ParallelLoop;
  void add_parallel_loops();
  bool add_parallel_loop(int head, std::string* why);
  bool find_independent_rounds(ParallelLoop& loop, std::string* why);
  bool has_independent_rounds(int head);
  std::set<int> all_loop_blocks(int head) const;
  void analyse(ParallelLoop& loop);
  void note_access(const LoopValue& container, const std::vector<LoopValue>& indices, bool stores,
                   const Place& place);
  void note_row(const std::string& pointer);
  // The view at `pointer` has these indices of the container, null for all of a dimension.
  void note_view(const LoopValue& container, const std::vector<LoopAffineRef>& indices,
                 const std::string& pointer);
  void note_read(const LoopValue& view);  // of any element
  void find_carried(ParallelLoop& loop, const std::string& counter);
  void find_own_dimensions(ParallelLoop& loop);
  std::vector<Expr> stored_slabs(ParallelLoop& loop) const;
  loopir::Function rounds_function(const ParallelLoop& loop, const std::string& name) const;
  loopir::SharedRounds shared_rounds(ParallelLoop& loop, const std::string& name);

  // ---- instructions ----
  void execute(const Instruction& in);
  bool execute_data(const Instruction& in);
  bool execute_operators(const Instruction& in);
  bool execute_items(const Instruction& in);
  bool execute_building(const Instruction& in);
  // An operator of values of any kind: lists, arrays, numbers.
  LoopValue binary_of_any(int op, const LoopValue& a, const LoopValue& b);
  bool execute_names(const Instruction& in);
  bool execute_control(const Instruction& in);
  void execute_return();
  void branch(const Expr& condition, std::vector<LoopFrame> taken, std::vector<LoopFrame> otherwise);
  void branch_on(const LoopValue& value, bool jump_if, int target, bool keeps_value);
  void iterate(const Instruction& in);
  LoopValue constant(PyObject* object);
  LoopValue named(PyObject* dict, PyObject* builtins, PyObject* name);
  // The name gives the object now; looked at again before every run.
  void pin(PyObject* dict, PyObject* builtins, PyObject* name, PyObject* object);
  LoopValue attribute(const LoopValue& owner, PyObject* name);

  // ---- attributes of the program's objects (objects.cc) ----
  LoopValue* object_attribute(const LoopValue& owner, PyObject* name);  // null: not one that the loop holds
  // What the object's class has under the name, if it is of that type; null if not. Looked at again before
  // every run.
  PyObject* in_class(const LoopValue& owner, PyObject* name, const PyTypeObject& type);
  bool load_property(const LoopValue& owner, PyObject* name);
  void store_attribute(const LoopValue& owner, PyObject* name, LoopValue value);

  // ---- numbers (arithmetic.cc) ----
  LoopValue binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue python_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue int_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue affine_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue float_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue numpy_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue remainder_by(LoopValue result, const Expr& x, int64_t divisor);
  LoopValue numpy_int_binary(int op, DType dtype, const Expr& a, const Expr& b);
  Expr float_operation(int op, DType dtype, const LoopValue& a, const LoopValue& b, const LoopValue& power);
  DType common_dtype(const LoopValue& a, const LoopValue& b);
  Expr as_dtype(const LoopValue& value, DType dtype);
  Expr as_float(const LoopValue& value);
  LoopValue compare(int op, const LoopValue& a, const LoopValue& b);
  LoopValue unary(Op op, const LoopValue& a);
  Expr truth(const LoopValue& value);
  Expr as_index(const LoopValue& value);

  // ---- floats that may be Python's or NumPy's (either.cc) ----
  LoopValue extremum_of_doubles(bool largest, const LoopValue& a, const LoopValue& b);
  bool decides_numpy(const LoopValue& a, const LoopValue& b);
  LoopValue either_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue either_compare(int op, const LoopValue& a, const LoopValue& b);
  bool settle_either(PyObject* callable, std::vector<LoopValue>& args) const;
  bool split_either();
  void find_either_locals() const;
  void hold_either(std::vector<LoopFrame>& frames) const;

  // ---- complex numbers (complex.cc) ----
  LoopValue new_complex(bool of_numpy, const Expr& real, const Expr& imaginary);
  LoopValue complex_element(const Place& place);
  static bool gives_numpy(const LoopValue& a, const LoopValue& b);
  LoopValue complex_product(bool of_numpy, const LoopValue& a, const LoopValue& b);
  LoopValue recoverable(bool of_numpy, LoopValue value);
  std::optional<LoopValue> mixed_complex(int op, const LoopValue& a, const LoopValue& b);
  LoopValue complex_power(const LoopValue& a, const LoopValue& b, bool of_numpy);
  LoopValue complex_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue complex_compare(int op, const LoopValue& a, const LoopValue& b);
  LoopValue complex_unary(Op op, const LoopValue& a);
  static LoopValue complex_attribute(const LoopValue& owner, const std::string& name);
  LoopValue conjugate(const LoopValue& value, bool of_numpy);
  LoopValue complex_magnitude(const LoopValue& value);
  LoopValue made_complex(const std::vector<LoopValue>& args);
  bool call_complex(const std::string& module, const std::string& name, const std::vector<LoopValue>& args);

  // ---- arrays (arrays.cc) ----
  Place place(const LoopValue& container, const LoopValue& key, bool stores = false);
  LoopValue subscript(const LoopValue& container, const LoopValue& key);
  LoopValue number_of_list(const LoopValue& list, const LoopValue& key);
  void store_subscript(const LoopValue& container, const LoopValue& key, const LoopValue& value);
  Expr stored(const LoopValue& value, DType dtype);
  static bool is_array(const LoopValue& value) {
    return value.kind == LoopKind::Array || value.kind == LoopKind::Row || value.kind == LoopKind::View;
  }
  static bool is_arraylike(const LoopValue& value) {
    return is_array(value) || value.kind == LoopKind::Pending;
  }
  bool takes_view(const LoopValue& container, const LoopValue& key) const;
  std::string origin_of(const LoopValue& container, const LoopValue& key) const;
  int num_dims(const LoopValue& value) const;
  Expr size_text(const LoopValue& array, int d) const;
  Expr stride_text(const LoopValue& array, int d) const;
  Expr data_text(const LoopValue& array) const;
  bool is_writable(const LoopValue& array) const;
  bool is_fixed(const std::string& expr) const;
  const LoopArray& array_of(const LoopValue& value) const {
    return arrays_[static_cast<size_t>(value.index)];
  }

  // ---- views (views.cc) ----
  LoopValue as_view(const LoopValue& value);
  LoopValue stride_value(std::string expr) const;
  LoopValue view_subscript(const LoopValue& container, const std::vector<LoopValue>& key);
  LoopValue transposed(const LoopValue& value);
  void slice_bounds(const LoopValue& slice, const std::string& size, std::string* start, std::string* length,
                    std::string* step);
  // False where the value is the view itself.
  void store_view(const LoopValue& view, const LoopValue& value, bool same_kind);
  LoopValue in_place(int op, const LoopValue& a, const LoopValue& b);
  std::string is_conflict(const LoopValue& view, const LoopValue& operand);
  std::vector<LoopValue> taken_apart(const LoopValue& key, int dims);

  // ---- arrays and masks as indices (gathers.cc) ----
  struct Gathered {
    LoopValue source;
    std::vector<LoopValue> indices;
  };
  bool has_arrays(const LoopValue& key) const;
  bool has_mask_of_row(const LoopValue& key) const;
  std::pair<LoopValue, LoopValue> without_ints(const LoopValue& container, const LoopValue& key);
  LoopValue checked_indices(const LoopValue& value, const std::string& size);
  Gathered gathered(const LoopValue& container, const LoopValue& key);
  LoopValue gather(const LoopValue& container, const LoopValue& key);
  LoopValue rows_of(const LoopValue& container, const LoopValue& key);
  std::string masked(const LoopValue& array, const LoopValue& mask);
  LoopValue mask_of(const LoopValue& key);
  std::string count_of(const LoopValue& mask, const std::string& both);
  LoopValue chosen(const LoopValue& container, const LoopValue& key);
  LoopValue taken(const LoopValue& chosen);
  LoopValue with_chosen_taken(const LoopValue& value);
  LoopValue chosen_rows(const LoopValue& source, const LoopValue& mask);
  static bool is_all_chosen(const LoopValue& value, const LoopValue& mask);
  void store_where(const LoopValue& view, const LoopValue& mask, const LoopValue& value);
  void store_chosen(const LoopValue& container, const LoopValue& key, const LoopValue& value);
  void scatter(const LoopValue& container, const LoopValue& key, const LoopValue& value);

  // ---- element by element (elements.cc) ----
  PyObject* kept_function(const char* module, const char* name);
  // What NumPy's `ufunc` gives for operands of which one is an array; computed where it is used.
  LoopValue pending(const std::string& ufunc, std::vector<LoopValue> operands);
  // Of math.cc.
  void check_integers(const std::string& op, const std::vector<LoopValue>& operands);
  LoopValue power_of_array(const LoopValue& base, const LoopValue& exponent);
  LoopValue clipped(std::vector<LoopValue> args);
  LoopValue norm(const LoopValue& array);
  LoopValue sign(const LoopValue& array);
  LoopValue array_binary(int op, const LoopValue& a, const LoopValue& b);
  LoopValue array_compare(int op, const LoopValue& a, const LoopValue& b);
  // Sizes that are known to be equal in this block have one name.
  const std::string& size_name(const std::string& size) const;
  void require_equal_sizes(const std::string& a, const std::string& b);
  std::vector<std::string> broadcast(const std::vector<std::vector<std::string>>& shapes);
  std::vector<std::string> shape_of(const LoopValue& value);
  // Loops over all elements of `value`, stored at `pointer` with these strides. Sizes as the target's.
  struct Target {
    std::string pointer, type;
    std::vector<std::string> sizes, strides;
    std::string fold;     // sum, max, ...: with what is there; the stride is 0 along what is reduced
    LoopValue mask = {};  // a view: only where it holds
  };
  friend class ElementLoops;
  friend class SideBySide;
  void emit_elements(const LoopValue& value, DType dtype, const Target& target);
  // The C++ function `function` (of prelude) of the elements of a value of one dimension, which are in no
  // array.
  std::string of_elements(const std::string& function, const LoopValue& value);
  std::string live_addresses(const std::function<std::string(const LoopValue&)>& address_of);
  // With a condition: `otherwise` where it does not hold.
  LoopValue allocated(DType dtype, const std::vector<std::string>& sizes, const std::string& condition = "",
                      const std::string& otherwise = "", bool is_fortran = false);
  LoopValue in_new_memory(const LoopValue& value, bool is_fortran);
  LoopValue scalar_array(const LoopValue& number);
  LoopValue scalar_of(const LoopValue& value);
  std::string order_vote(const LoopValue& value, int i, int j, const std::vector<std::string>& sizes,
                         std::set<std::string>& heard);
  bool is_in_fortran_order(const LoopValue& value);
  LoopValue materialized(const LoopValue& value, bool always = false);
  void materialize_all();
  void collect_views(const LoopValue& value, std::vector<LoopValue>& views) const;
  static bool has_gather(const LoopValue& value);
  static bool has_roll(const LoopValue& value);

  // ---- reductions along dimensions (reductions.cc) ----
  static bool is_fold(const std::string& name);
  LoopValue reduction(std::string name, const std::vector<LoopValue>& args, PyObject* names);
  LoopValue fold_dimensions(const std::string& name, const LoopValue& value, const std::set<int>& reduced,
                            bool keeps);

  // ---- reductions and products (folds.cc) ----
  bool call_array(const std::string& name, std::vector<LoopValue> args);
  bool call_searchsorted(const std::vector<LoopValue>& args);
  LoopValue fold(const std::string& name, LoopValue value);
  LoopValue fused_fold(const std::string& name, const LoopValue& value);
  LoopValue deviation(const std::string& name, const LoopValue& value);
  LoopValue fold_axis(const std::string& name, const LoopValue& value, int64_t axis);
  LoopValue product(const LoopValue& a, const LoopValue& b);
  LoopValue rolled(const LoopValue& array, const LoopValue& shift, int64_t axis);

  LoopValue made_array(const std::string& name, const std::vector<LoopValue>& args);
  LoopValue array_of_numbers(const LoopValue& list);
  LoopValue outer(const std::string& ufunc, const LoopValue& a, const LoopValue& b);

  // ---- arrays put together and turned round (shapes.cc) ----
  LoopValue joined(const std::string& name, const LoopValue& parts, int64_t axis);
  LoopValue flipped(const LoopValue& array, std::optional<int64_t> axis);

  // ---- lists (lists.cc) ----
  void store_in_list(const LoopValue& list, const LoopValue& key, const LoopValue& value);
  void append(const LoopValue& list, LoopValue value);

  // ---- lists that the loop resizes (resized.cc) ----
  const std::vector<LoopValue>& item_types(const LoopValue& list) const {
    return result_.objects.item_types[static_cast<size_t>(list.index)];
  }
  // A `ResizedList*`.
  static Expr list_text(const LoopValue& list);
  size_t number_of_type(const LoopValue& list, LoopValue type);
  Expr item_place(const LoopValue& list, const LoopValue& key);
  // Pushes an item; the block ends where items are of several types.
  void push_item(const LoopValue& list, const LoopValue& key, bool removes);
  void store_item(const LoopValue& list, const LoopValue& key, const LoopValue& value);
  void append_items(const LoopValue& list, const std::vector<LoopValue>& values);
  void delete_item(const LoopValue& list, const LoopValue& key);
  LoopValue contains_item(const LoopValue& list, const LoopValue& value);
  void set_item(const LoopValue& list, const std::string& at, const LoopValue& value);
  std::string item_shape(const LoopValue& list);
  // False: a method that is not known.
  bool call_list_method(const LoopValue& list, const std::string& name, const std::vector<LoopValue>& args);

  // ---- lists that the loop makes (made_lists.cc) ----
  LoopValue made_list(const std::vector<LoopValue>& items);
  bool is_list(const LoopValue& value) const;
  void add_items(const LoopValue& list, const LoopValue& more);
  LoopValue joined_lists(const std::vector<LoopValue>& lists);
  LoopValue repeated_list(const LoopValue& items, const LoopValue& times);
  // As something other values may refer to: lists on the stack become lists in memory.
  LoopValue as_object(LoopValue value);

  // ---- iterators (iterators.cc) ----
  LoopValue iterator(const LoopValue& value);
  LoopValue given(const LoopValue& gives, const LoopValue& number);
  // What a new iterator gives, and how often.
  std::pair<LoopValue, std::string> iteration(const LoopValue& value);
  LoopValue reversed(const LoopValue& value);
  std::optional<LoopValue> rows_written_out(PyObject* callable, const std::vector<LoopValue>& args);
  void iterate_rest(const Instruction& in);
  // ---- ranges of few numbers (unrolled.cc) ----
  bool is_to_be_unrolled(const LoopValue& iterator);
  void iterate_unrolled(const Instruction& in);
  void iterate_resized(const Instruction& in, LoopValue list);
  bool call_iterator(PyObject* callable, const std::vector<LoopValue>& args);

  // ---- Python functions (functions.cc) ----
  using Keywords = std::vector<std::pair<PyObject*, LoopValue>>;
  // What a call takes from the stack; the last of `args` have the names.
  struct Operands {
    LoopValue callable;
    std::vector<LoopValue> args;
    PyObject* names = nullptr;
    Keywords take_keywords();
  };
  Operands operands_of_call(const Instruction& in);
  void call(const Instruction& in);
  void call_known(const Instruction& in);
  void call_method(const LoopValue& method, std::vector<LoopValue>& args, PyObject* names);
  void call_function(PyObject* function, std::vector<LoopValue> args, const Keywords& keywords);
  void call_nested(const LoopValue& function, std::vector<LoopValue> args, const Keywords& keywords);
  struct Defaults {
    PyObject *positional = nullptr, *keyword_only = nullptr;
  };
  std::vector<LoopValue> bound_arguments(const Code& code, const Defaults& defaults,
                                         std::vector<LoopValue> args, const Keywords& keywords);
  void enter(LoopFrame entered, const Defaults& defaults, const std::vector<LoopValue>& cells,
             std::vector<LoopValue> args, const Keywords& keywords);
  LoopValue pinned_cell(PyObject* cell);

  static constexpr size_t kMaxCallDepth = 12;  // of calls that are entered

  // ---- functions and generators that the loop makes (closures.cc) ----
  LoopValue made_function(const LoopValue& code, const LoopValue& closure);
  void note_in_variable(const LoopValue& value) const;
  void call_closure(const LoopValue& closure, std::vector<LoopValue> args, const Keywords& keywords);
  LoopValue made_generator(PyObject* function, const std::vector<LoopValue>& cells,
                           std::vector<LoopValue> args, const Keywords& keywords);
  void resume();
  void yield_value();
  void end_generator();

  // ---- polyfills (polyfills.cc) ----
  bool in_stand_in() const;
  // The program may see what follows: only what a polyfill does with its own values is done within one.
  void note_effect() const;
  // `why`: what keeps native code from the call itself.
  bool enter_polyfill(const Instruction& in, const std::string& why);
  // Of the frame being left where a polyfill raises: why Python performs the call, and its line.
  std::pair<std::string, int> stood_in_for() const;
  void leave_stand_in();
  void store_in_cell(const LoopValue& cell, const LoopValue& value);

  // ---- calls (calls.cc) ----
  bool call_builtin(PyObject* callable, std::vector<LoopValue> args);
  void extremum(bool largest, const std::vector<LoopValue>& args);
  void extremum_of_types(bool largest, const std::vector<LoopValue>& args);
  LoopValue make_range(const std::vector<LoopValue>& args);
  bool call_math(const std::string& name, const std::vector<LoopValue>& args);
  bool call_numpy(const std::string& name, const std::vector<LoopValue>& args);

  // ---- tuples, lists and dicts of numbers that are written out (tuples.cc) ----
  bool call_on_items(const std::string& name, const std::vector<LoopValue>& args);
  std::optional<LoopValue> is_among(const LoopValue& items, const LoopValue& value);
  std::optional<LoopValue> item_at(const LoopValue& items, const LoopValue& key);
  std::optional<LoopValue> chosen_item(const Expr& key, const std::vector<int64_t>& keys,
                                       const std::vector<LoopValue>& items);
  LoopValue written_dict(const Instruction& in);
  LoopValue item_of_dict(const LoopValue& dict, const LoopValue& key, const LoopValue* otherwise);

  // ---- Python's functions of numbers (python_calls.cc) ----
  // x.real, x.imag; nothing for other attributes.
  std::optional<LoopValue> number_attribute(const LoopValue& owner, const std::string& name);
  bool call_type(const LoopValue& value);
  bool call_python(const std::string& name, const std::vector<LoopValue>& args);
  bool call_python_round(const std::vector<LoopValue>& args);
  bool call_math_of_ints(const std::string& name, const std::vector<LoopValue>& args);
  bool call_math_of_floats(const std::string& name, const std::vector<LoopValue>& args);
  bool call_pythons_own(const std::string& name, const std::vector<LoopValue>& args);
  static bool has_number_method(const LoopValue& owner, const std::string& name);
  bool call_number_method(const LoopValue& owner, const std::string& name,
                          const std::vector<LoopValue>& args);

  // ---- random numbers (draws.cc) ----
  GeneratorKind generator_kind_of(const LoopValue& value) const;
  Expr part_of_generator(const LoopValue& generator, GeneratorPart part);
  Expr drawn(const LibraryFunction& called, const char* type, std::vector<Expr> operands);
  Expr drawn_integer(const LoopValue& generator, const Expr& first, const Expr& last);
  bool draw_of_floats(const LoopValue& generator, const Draw& draw, const std::vector<LoopValue>& args);
  bool draw_uniform(const LoopValue& generator, const std::vector<LoopValue>& args);
  bool draw_of_range(const LoopValue& generator, bool has_end, const std::vector<LoopValue>& args);
  bool draw_choice(const LoopValue& generator, const std::vector<LoopValue>& args);
  bool draw_count(const LoopValue& generator, bool is_poisson, const std::vector<LoopValue>& args);
  // False: Python performs the call.
  bool call_draw(const LoopValue& generator, const std::string& method, std::vector<LoopValue> args,
                 const Keywords& keywords);
  bool has_pythons_method(const std::string& method);

  // ---- NumPy's functions of numbers (number_calls.cc) ----
  Expr operand(const LoopValue& value, DType dtype);
  Expr computed(const scalar::Expr& expr, const std::vector<Expr>& operands,
                std::map<const scalar::ExprNode*, Expr>& known);
  bool call_ufunc(PyObject* ufunc, const std::string& name, const std::vector<LoopValue>& args);
  bool call_operator(const std::string& name, const std::string& ufunc, const std::vector<LoopValue>& args);
  bool call_other_ufunc(const std::string& name, const std::vector<LoopValue>& args);
  // What NumPy's loop of the ufunc gives for one element.
  Expr looped(const std::string& ufunc, const void* loop, const std::vector<Expr>& operands, DType compute,
              DType result);
  bool call_sign(const std::vector<LoopValue>& args);
  bool call_round(const LoopValue& given, int64_t decimals);
  bool call_where(const std::vector<LoopValue>& args);
  bool call_clip(const std::vector<LoopValue>& args);
  bool call_numpy_on_numbers(const std::string& name, const std::vector<LoopValue>& args);

  LoopValue to_int(const LoopValue& value);
  LoopValue absolute(const LoopValue& value);
  Expr function(const LibraryFunction& called);  // what to call in the code
  Expr function(const std::string& name);
  std::function<Expr(const LibraryFunction&)> function_names() {
    return [this](const LibraryFunction& called) { return function(called); };
  }

  LoopFrame& frame() { return frames_.back(); }
  LoopValue& top(int depth = 1) { return frame().stack[frame().stack.size() - static_cast<size_t>(depth)]; }
  void push(LoopValue value) { frame().stack.push_back(std::move(value)); }
  LoopValue pop() {
    LoopValue value = std::move(frame().stack.back());
    frame().stack.pop_back();
    return value;
  }
  std::string fresh_name(const char* prefix) { return prefix + std::to_string(num_temporaries_++); }
  void emit(loopir::Instruction instruction) { block_code_.push_back(std::move(instruction)); }
  void emit(const std::string& statement) { emit(loopir::statement(statement)); }

  LoopCode result_;
  std::vector<LoopFrame> entry_;
  std::vector<LoopArray> arrays_;  // the entry's, then those that a whole call makes
  size_t num_entry_arrays_ = 0;
  std::map<std::string, int> arrays_of_call_;  // by the instruction and type
  bool has_too_many_blocks_ = false;
  std::vector<Block> blocks_;
  std::unordered_map<std::string, int> block_of_;
  std::map<std::string, int> versions_;                     // of one position
  std::map<std::pair<const Code*, int>, bool> may_unroll_;  // loops that have been met, by their heads
  std::unordered_map<std::string, int> exit_of_;
  std::map<std::string, std::string> variables_;  // place -> name
  std::map<std::string, std::string> variable_types_;
  std::map<std::string, std::pair<int, std::string>> function_of_;  // place and type
  std::set<const Code*> entered_;
  std::map<std::pair<PyObject*, PyObject*>, PyObject*> made_functions_;  // by code and globals
  std::map<std::pair<const Code*, int>, std::string> stood_in_for_;      // by the instruction of the call
  std::set<scalar::Prim> elementary_;

  // Of the block being built.
  std::vector<LoopFrame> frames_, before_;  // before_: at the start of the instruction
  loopir::Instructions block_code_;
  std::vector<Edge> block_edges_;
  std::vector<LoopValue> parts_;  // views in use by the instruction, which are in no frame
  bool block_has_arrays_ = false;
  bool block_stores_arrays_ = false;  // more than single elements
  bool block_draws_ = false;
  int block_id_ = 0;
  const LoopMarks* marks_ = nullptr;  // of the version being built
  CheckedLoop* checked_ = nullptr;
  ParallelLoop* parallel_ = nullptr;
  std::vector<loopir::Function> rounds_;  // functions that run some rounds of a loop
  loopir::PassLog pass_log_;
  std::map<std::string, std::string> size_names_;
  std::map<std::string, std::string> settled_indices_;  // those that may be negative, as they count from 0
  bool block_done_ = false;
  int num_temporaries_ = 0;
  std::string first_reason_;
  int first_line_ = 0;
};

// An operation of the operator table on complex numbers, as an expression.
std::string complex_element(const scalar::ExprNode& node, const std::vector<std::string>& args);

// Of the scalars that a type makes; nothing for other objects.
std::optional<DType> scalar_type(PyObject* object);
// The last part of the callable's name.
std::string plain_name(PyObject* callable);
// Of weft's own functions that stand in for others.
bool is_polyfill(const LoopFrame& frame);
// numpy.zeros and the like.
bool makes_array(const std::string& name);

}  // namespace weft::capture
