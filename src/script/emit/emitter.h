// The state of compiling one function: the graph so far, the block that is being filled, and what names mean.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "script/builtins/builtin.h"
#include "script/emit/emit.h"
#include "script/emit/sugared.h"
#include "script/syntax/tree.h"
#include "weft/error.h"

namespace weft::jit {

using Statements = std::span<const StmtPtr>;

// What is known of names where a condition holds: name to type.
using Refinements = std::map<std::string, TypePtr>;

struct Condition {
  ir::Value* value = nullptr;
  Refinements if_true, if_false;
  std::optional<bool> known;  // decided by the types alone: the other branch is not compiled
};

// Where control is after a statement.
struct Flow {
  enum Kind : uint8_t {
    Live,      // goes on
    Raised,    // an exception was raised on every path
    Returned,  // the function has returned on every path
    Left,      // break or continue on every path
    Maybe,     // `flag` tells: true when the rest of the statements must be skipped
  };
  Kind kind = Live;
  ir::Value* flag = nullptr;
  bool only_returns = false;  // Maybe: no break or continue leads here
  bool is_over() const { return kind != Live && kind != Maybe; }
};

// The names set in one block. Names of the compiler's own start with '$': "$return" the value to return,
// "$returned" and "$stop" bools: the function has returned, the loop must end.
struct Environment {
  struct Entry {
    SugaredPtr value;
    bool is_refinement = false;  // the same value as outside, its type narrowed by a condition
  };
  Environment* parent = nullptr;
  ir::Block* block = nullptr;
  std::map<std::string, TypePtr> declared;  // types of the names that a loop carries
  std::map<std::string, Entry> names;
};

// An operator that weft does not have, or not with these arguments.
class UnknownOperator final : public Error {
 public:
  explicit UnknownOperator(const std::string& message) : Error(ErrorKind::Type, message) {}
};

class Emitter {
 public:
  Emitter(ir::Graph& graph, CompilationUnit& unit, std::shared_ptr<Resolver> resolver);
  ~Emitter();

  // --- function.cc
  // Parameters, body and return; the return type is `declared`, or inferred when that is null.
  TypePtr emit_function(const FunctionDef& definition, const Schema& schema, TypePtr declared);

  // --- emitter.cc: nodes
  ir::Graph& graph() { return graph_; }
  ir::Block& block() { return *frame_->block; }
  CompilationUnit& unit() { return unit_; }
  Resolver& resolver() { return *resolver_; }
  std::shared_ptr<Resolver> shared_resolver() { return resolver_; }
  ir::SourceLocation location(const Range& range);
  ir::Value* constant(IValue value, const Range& range);
  ir::Value* constant(IValue value, TypePtr type, const Range& range);
  ir::Value* none(const Range& range) { return constant(IValue(), Type::none(), range); }
  ir::Value* uninitialized(TypePtr type, const Range& range);
  ir::Node* node(const ir::ScriptOp& op, std::vector<ir::Value*> inputs, std::vector<TypePtr> types,
                 const Range& range, ir::ScriptPayload payload = {});
  ir::Value* value(const ir::ScriptOp& op, std::vector<ir::Value*> inputs, TypePtr type, const Range& range,
                   ir::ScriptPayload payload = {});
  // The same value under another static type.
  ir::Value* retyped(ir::Value* value, const TypePtr& type, const Range& range);
  // Calls a builtin by name; its only result.
  ir::Value* builtin(const std::string& name, std::vector<ir::Value*> inputs, const Range& range);
  SugaredPtr call_builtin(const std::string& name, const CallArguments& arguments, const Range& range);
  // f(…, out=x): f(…) is written to x.
  SugaredPtr call_with_out(const std::string& name, const CallArguments& arguments, const CallArguments& outs,
                           const Range& range);
  bool has_builtin_for(const std::string& name, const std::vector<ir::Value*>& inputs);
  SugaredPtr call_function(const std::vector<std::shared_ptr<Function>>& overloads,
                           const CallArguments& arguments, const Range& range);
  SugaredPtr call_method(ir::Value* object, const std::string& name, const CallArguments& arguments,
                         const Range& range);
  // The operands of a call of `schema`, defaults included.
  std::vector<ir::Value*> match_call(const Schema& schema, const CallArguments& arguments,
                                     const Range& range);
  // Results of a node as one value.
  SugaredPtr pack(const ir::Node* node);
  ir::Value* make_tuple(const std::vector<ir::Value*>& values, const Range& range);
  ir::Value* make_list(const TypePtr& element, const std::vector<ir::Value*>& values, const Range& range);
  std::vector<ir::Value*> unpack_tuple(ir::Value* tuple, const Range& range);

  // --- convert.cc
  // `value` where `type` is expected; null if it does not fit. `implicit`: numbers and tensors convert too.
  // An empty list or dictionary that nothing can have been added to: it stands for one of any element type.
  bool is_empty_literal(const ir::Value* value, const ir::ScriptOp& made_by);
  ir::Value* try_convert(ir::Value* value, const TypePtr& type, const Range& range, bool implicit);
  ir::Value* convert(ir::Value* value, const TypePtr& type, const Range& range, const std::string& what);
  ir::Value* to_bool(ir::Value* value, const Range& range);
  ir::Value* to_int(ir::Value* value, const Range& range);

  // --- emitter.cc: names
  SugaredPtr find_name(const std::string& name);
  bool has_name(const ir::Value* value) const;
  SugaredPtr get_name(const std::string& name, const Range& range);
  void set_name(const std::string& name, SugaredPtr value, const Range& range);
  // What the name is in the blocks around this one; null where it is no value of the graph there.
  const ir::Value* value_around(const std::string& name) const;
  void refine(const Refinements& refinements, const Range& range);

  // --- statements.cc
  void emit_body(Statements body);
  void emit_statement(const Stmt& statement);
  // What `emit` emits; in an archive's function an operator that is not known is an exception that the
  // program raises when it gets there.
  void emit_deferring(const std::function<void()>& emit, const Range& range);
  void assign(const Expr& target, SugaredPtr value, const Range& range);
  // Runs `emit` where control goes on: inside an If when that depends.
  void emit_live(const std::function<void()>& emit, const Range& range);

  // --- conditions.cc
  Condition emit_condition(const Expr& expr);
  // The two branches, each in a block of its own, and the names they set merged. Where one branch has left,
  // `rest` is emitted at the end of the other; true if it was.
  bool emit_branches(const Condition& condition, const Range& range, const std::function<void()>& then,
                     const std::function<void()>& otherwise, const std::function<void()>& rest = {});
  // The value of one of two expressions.
  ir::Value* emit_choice(const Condition& condition, const Range& range, const TypePtr& hint,
                         const std::function<ir::Value*()>& then,
                         const std::function<ir::Value*()>& otherwise);

  // --- loops.cc
  // `start` sets the target's names at the start of an iteration; `next` is whether there is another (null:
  // always).
  struct LoopPlan {
    ir::Value* trip_count = nullptr;
    ir::Value* first = nullptr;  // the condition before the first iteration
    std::set<std::string> assigned;
    bool may_return = false;
    bool may_break = false;
    std::function<void(ir::Value* index)> start;
    std::function<void()> body;
    std::function<ir::Value*()> next;
    bool is_endless = false;  // left by break or return only
  };
  void emit_loop(const LoopPlan& plan, const Range& range);
  // The loop over `iteration`; `plan` has the body and what it assigns.
  void emit_iteration(const Iteration& iteration, LoopPlan plan,
                      const std::function<void(SugaredPtr)>& assign_target, const Range& range);

  // --- expressions.cc
  SugaredPtr emit_sugared(const Expr& expr, const TypePtr& hint = nullptr);
  ir::Value* emit(const Expr& expr, const TypePtr& hint = nullptr);
  ir::Value* emit_binary(BinaryOp op, ir::Value* left, ir::Value* right, const Range& range);
  ir::Value* emit_compare(CompareOp op, ir::Value* left, ir::Value* right, const Range& range);
  CallArguments emit_arguments(const Expr::Call& call, size_t first = 0);
  ir::Value* emit_format(const std::string& format, const std::vector<ir::Value*>& values,
                         const Range& range);

  // --- subscript.cc
  SugaredPtr emit_subscript(const Expr& expr);
  void assign_subscript(const Expr& target, ir::Value* value, const Range& range);
  void augment_subscript(const Expr& target, BinaryOp op, const Expr& value, const Range& range);

  // --- calls.cc
  SugaredPtr emit_fork(const Range& range, const Expr::Call& call);
  SugaredPtr fork_target(const SugaredPtr& target, CallArguments arguments, const Range& range);
  Condition emit_isinstance(const Expr::Call& call, const Range& range);
  Condition emit_hasattr(const Expr::Call& call, const Range& range);

  // __init__ of a user's class adds the attributes that it sets.
  ClassTypePtr constructing;
  Flow& flow() { return flow_; }
  Environment& frame() { return *frame_; }

 private:
  friend class BranchMerge;

  // Refuses programs whose graph would be far larger than their source: loops over tuples and modules, and
  // inner functions, are copied.
  void count_work(const Range& range);
  void emit_return(const Expr* value, const Range& range);
  void emit_raise(const Stmt::Raise& raise, const Range& range);
  void emit_assert(const Stmt::Assert& statement, const Range& range);
  void emit_with(const Stmt::With& with, const Range& range);
  void emit_delete(const Stmt::Delete& statement, const Range& range);
  void emit_assign(const Stmt::Assign& assign, const Range& range);
  void emit_augmented(const Stmt::AugAssign& assign, const Range& range);
  // left += right: in place where that is what Python does. The value of `left` afterwards.
  ir::Value* emit_augment(ir::Value* left, BinaryOp op, ir::Value* right, const Range& range);
  void emit_for(const Stmt::For& loop, const Range& range);
  void emit_while(const Stmt::While& loop, const Range& range);
  void emit_exit_loop(bool is_break, const Range& range);
  bool emit_if(const Stmt::If& statement, Statements rest, const Range& range);
  std::vector<std::string> carried_names(const LoopPlan& plan, const Range& range);
  void finish_iteration(ir::Node* loop, const LoopPlan& plan, const std::vector<std::string>& carried,
                        const Range& range);
  void leave_loop(ir::Node* loop, const LoopPlan& plan, const std::vector<std::string>& carried,
                  const Environment& body);
  void assign_tuple(const std::vector<ExprPtr>& targets, const SugaredPtr& value, const Range& range);
  void emit_with_items(const Stmt::With& with, size_t item, const Range& range);

  Condition known_condition(bool holds, const Range& range);
  Condition emit_none_test(const Expr& operand, bool is_not, const Range& range);
  Condition emit_bool_op(const Expr::BoolOp& op, const Range& range);
  std::optional<Condition> emit_call_condition(const Expr::Call& call, const Range& range);

  SugaredPtr emit_call(const Expr& expr, const TypePtr& hint);
  ir::Value* emit_unary(const Expr::Unary& unary, const Range& range, const TypePtr& hint);
  ir::Value* emit_list(const Expr::List& list, const Range& range, const TypePtr& hint);
  ir::Value* emit_dict(const Expr::Dict& dict, const Range& range, const TypePtr& hint);
  SugaredPtr emit_tuple(const Expr::Tuple& tuple, const Range& range, const TypePtr& hint);
  ir::Value* emit_list_comp(const Expr::ListComp& comp, const Range& range, const TypePtr& hint);
  ir::Value* emit_dict_comp(const Expr::DictComp& comp, const Range& range, const TypePtr& hint);
  void emit_comprehension(const Comprehension& loop, const Range& range, const std::function<void()>& add);
  ir::Value* emit_fstring(const Expr::FString& text, const Range& range);
  ir::Value* emit_compare_chain(const Expr::Compare& compare, const Expr& expr);
  ir::Value* emit_module_membership(const Expr::Compare& compare, const Range& range);

  struct TensorIndices;
  ir::Value* emit_tensor_subscript(ir::Value* tensor, const std::vector<ExprPtr>& indices,
                                   const Range& range);
  TensorIndices slice_tensor(ir::Value* tensor, const std::vector<ExprPtr>& indices, const Range& range);
  void apply_index(TensorIndices& result, const Expr& item, int64_t& dim, bool from_back, const Range& range);
  ir::Value* tensor_like(ir::Value* number, ir::Value* other, const Range& range);
  void set_item(ir::Value* object, ir::Value* index, ir::Value* value, const Range& range);
  SugaredPtr emit_slice(const SugaredPtr& object, const Expr::Slice& slice, const Range& range);
  ir::Value* index_list(const TensorIndices& indices, const Range& range);

  ir::Graph& graph_;
  CompilationUnit& unit_;
  std::shared_ptr<Resolver> resolver_;
  std::unique_ptr<Environment> root_;
  Environment* frame_;
  Flow flow_;
  TypePtr declared_return_;
  size_t work_ = 0;
  std::vector<ir::Node*> open_;  // branches and loops that are being filled, from the outermost
  int branch_depth_ = 0;
  int loop_depth_ = 0;
  int unrolled_depth_ = 0;  // innermost loop is unrolled when > 0
  const Source* last_source_ = nullptr;
  std::vector<size_t> line_starts_;
  std::shared_ptr<const std::string> file_;
};

// The bottom of the type order: what "$return" is where nothing has been returned yet.
const TypePtr& never_type();
bool is_never(const TypePtr& type);
TypePtr merge_types(const TypePtr& a, const TypePtr& b);
inline const TypePtr& type_of(const ir::Value* value) { return value->type.script; }
// The constant that a value is, if it is one.
const IValue* constant_of(const ir::Value* value);
std::optional<int64_t> constant_int(const ir::Value* value);
// Names that statements assign; "x" of x = …, for x in …, x += …, with … as x.
std::set<std::string> assigned_names(Statements body);
void add_target_names(const Expr& target, std::set<std::string>& names);
bool contains_return(Statements body);
// Of this loop, not of one inside it.
bool contains_break(Statements body);
// The part of an Optional that is not None; other types as they are.
TypePtr without_none(const TypePtr& type);
bool may_be_none(const TypePtr& type);
bool is_number_type(const TypePtr& type);

}  // namespace weft::jit
