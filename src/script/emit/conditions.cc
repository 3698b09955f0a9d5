// Branches: conditions, what they tell about types, and names merged after them.
#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"
#include "weft/error.h"

namespace weft::jit {

// ---- merging ---------------------------------------------------------------------------------------------
// Gives the If of two emitted branches its outputs.
class BranchMerge {
 public:
  struct Branch {
    Environment frame;
    Flow flow;
  };

  BranchMerge(Emitter& emitter, ir::Node* branch, Branch& then, Branch& otherwise, const Range& range)
      : emitter_(emitter), node_(branch), sides_{&then, &otherwise}, range_(range) {}

  void run() {
    std::set<std::string> names;
    for (const Branch* side : sides_) {
      for (const auto& [name, entry] : side->frame.names) names.insert(name);
    }
    for (const std::string& name : names) merge_name(name);
    merge_flow();
  }

 private:
  static bool is_control(const std::string& name) { return name[0] == '$'; }

  // What the branch sets plays no part afterwards.
  static bool is_dead(const Branch& side, const std::string& name) {
    return side.flow.kind == Flow::Raised || (side.flow.kind == Flow::Returned && !is_control(name));
  }

  static const Environment::Entry* entry_of(const Branch& side, const std::string& name) {
    const auto found = side.frame.names.find(name);
    return found == side.frame.names.end() ? nullptr : &found->second;
  }

  void merge_name(const std::string& name) {
    const bool dead[2] = {is_dead(*sides_[0], name), is_dead(*sides_[1], name)};
    if (dead[0] && dead[1]) return;
    const Environment::Entry* entries[2] = {entry_of(*sides_[0], name), entry_of(*sides_[1], name)};
    if (dead[0] || dead[1]) {
      if (entries[dead[0] ? 1 : 0]) take_one(name, dead[0] ? 1 : 0);
      return;
    }
    const auto unchanged = [](const Environment::Entry* entry) { return !entry || entry->is_refinement; };
    if (unchanged(entries[0]) && unchanged(entries[1])) return;
    take_both(name);
  }

  // Only one branch goes on: its value, whatever the other one has.
  void take_one(const std::string& name, int live) {
    const Environment::Entry& entry = sides_[live]->frame.names.at(name);
    if (entry.is_refinement) {
      const SugaredPtr outer = emitter_.find_name(name);
      set(name, simple(emitter_.retyped(outer->value(), type_of(entry.value->value()), range_)), true);
      return;
    }
    ir::Value* value = value_in(live, entry.value);
    if (!value) return set(name, entry.value);
    ir::Value* values[2];
    values[live] = value;
    values[1 - live] = uninitialized_in(1 - live, type_of(value));
    set(name, simple(output(values, type_of(value))));
  }

  void take_both(const std::string& name) {
    SugaredPtr sugared[2] = {lookup(0, name), lookup(1, name)};
    if (sugared[0] == sugared[1]) return set(name, sugared[0]);
    for (int i : {0, 1}) {
      if (!sugared[i] && sides_[i]->flow.kind == Flow::Left) return take_one(name, 1 - i);
      if (!sugared[i] || dynamic_cast<const UndefinedValue*>(sugared[i].get())) {
        return set_undefined(
            name, fmt::format("it is set in one branch at {} only", emitter_.location(range_).str()));
      }
    }
    ir::Value* values[2] = {value_in(0, sugared[0]), value_in(1, sugared[1])};
    if (!values[0] || !values[1])
      return set_undefined(name, "it stands for different things in two branches");
    if (values[0] == values[1]) return set(name, sugared[0]);
    merge_values(name, values);
  }

  void merge_values(const std::string& name, ir::Value* values[2]) {
    TypePtr type = merge_types(type_of(values[0]), type_of(values[1]));
    for (int i : {0, 1}) {
      if (type || sides_[i]->flow.kind != Flow::Left) continue;
      type = type_of(values[1 - i]);
      values[i] = uninitialized_in(i, type);
    }
    if (!type) {
      return set_undefined(
          name, fmt::format("it is {} in one branch and {} in the other, at {}", type_of(values[0])->str(),
                            type_of(values[1])->str(), emitter_.location(range_).str()));
    }
    set(name, simple(output(values, type)));
  }

  // What the name means at the end of a branch; null if nothing.
  SugaredPtr lookup(int side, const std::string& name) {
    if (const Environment::Entry* entry = entry_of(*sides_[side], name)) return entry->value;
    SugaredPtr outer = emitter_.find_name(name);
    if (outer || !is_control(name)) return outer;
    const Inside inside(emitter_, sides_[side]->frame);
    if (name == "$return") return simple(emitter_.uninitialized(never_type(), range_));
    return simple(emitter_.constant(false, range_));
  }

  // Null for what exists in the compiler only.
  ir::Value* value_in(int side, const SugaredPtr& sugared) {
    if (sugared->value()) return sugared->value();
    const Inside inside(emitter_, sides_[side]->frame);
    try {
      return sugared->as_value(emitter_, range_);
    } catch (const Error&) {
      return nullptr;
    }
  }

  ir::Value* uninitialized_in(int side, const TypePtr& type) {
    const Inside inside(emitter_, sides_[side]->frame);
    return emitter_.uninitialized(type, range_);
  }

  ir::Value* output(ir::Value* const values[2], const TypePtr& type) {
    for (int i : {0, 1}) {
      if (values[i]->def && is_never(type_of(values[i]))) values[i]->type.script = type;
      emitter_.graph().add_return(*node_->blocks[static_cast<size_t>(i)], values[i]);
    }
    return emitter_.graph().add_output(node_, {.kind = ir::Type::Kind::Script, .tensor = {}, .script = type});
  }

  void set(const std::string& name, SugaredPtr value, bool is_refinement = false) {
    emitter_.frame_->names[name] = {std::move(value), is_refinement};
  }
  void set_undefined(const std::string& name, std::string reason) {
    set(name, std::make_shared<UndefinedValue>(std::move(reason)));
  }

  void merge_flow() {
    const Flow& then = sides_[0]->flow;
    const Flow& otherwise = sides_[1]->flow;
    emitter_.flow_ = merged(then, otherwise);
    if (emitter_.flow_.kind != Flow::Maybe) return;
    const auto leaves = [](const Flow& flow) { return flow.is_over() && flow.kind != Flow::Raised; };
    if (leaves(then) && otherwise.kind == Flow::Live) {
      emitter_.flow_.flag = node_->inputs[0];
      return;
    }
    ir::Value* flags[2];
    for (int i : {0, 1}) {
      const Inside inside(emitter_, sides_[i]->frame);
      flags[i] = sides_[i]->flow.kind == Flow::Maybe ? sides_[i]->flow.flag
                                                     : emitter_.constant(sides_[i]->flow.is_over(), range_);
    }
    emitter_.flow_.flag = output(flags, Type::boolean());
  }

  static Flow merged(const Flow& a, const Flow& b) {
    if (a.kind == Flow::Raised) return b;
    if (b.kind == Flow::Raised) return a;
    if (a.kind == b.kind && a.kind != Flow::Maybe) return a;
    if (a.is_over() && b.is_over()) return {Flow::Left};
    const auto returns_only = [](const Flow& flow) {
      return flow.kind == Flow::Live || flow.kind == Flow::Returned ||
             (flow.kind == Flow::Maybe && flow.only_returns);
    };
    return {Flow::Maybe, nullptr, returns_only(a) && returns_only(b)};
  }

  // Nodes go to the end of a branch meanwhile.
  struct Inside {
    Inside(Emitter& emitter, Environment& frame) : emitter(emitter), before(emitter.frame_) {
      emitter.frame_ = &frame;
    }
    ~Inside() { emitter.frame_ = before; }
    Emitter& emitter;
    Environment* before;
  };

  Emitter& emitter_;
  ir::Node* node_;
  Branch* sides_[2];
  const Range& range_;
};

bool Emitter::emit_branches(const Condition& condition, const Range& range, const std::function<void()>& then,
                            const std::function<void()>& otherwise, const std::function<void()>& rest) {
  if (condition.known) {
    refine(*condition.known ? condition.if_true : condition.if_false, range);
    *condition.known ? then() : otherwise();
    return false;
  }
  // What follows an early return is inside its other branch.
  constexpr int kMost = 400;
  if (branch_depth_ >= kMost)
    syntax_error(range, fmt::format("more than {} branches and early returns inside one another", kMost));
  ++branch_depth_;
  ir::Node* branch = graph_.add_control(block(), ir::NodeKind::If, {condition.value}, location(range));
  open_.push_back(branch);
  BranchMerge::Branch sides[2];
  Environment* const outer = frame_;
  const auto emit_side = [&](int i, const Flow& flow, const std::function<void()>& emit_it) {
    frame_ = &sides[i].frame;
    flow_ = flow;
    emit_it();
    sides[i].flow = flow_;
    frame_ = outer;
  };
  for (int i : {0, 1}) {
    sides[i].frame.parent = outer;
    sides[i].frame.block = branch->blocks[static_cast<size_t>(i)].get();
    emit_side(i, {}, [&] {
      refine(i == 0 ? condition.if_true : condition.if_false, range);
      i == 0 ? then() : otherwise();
    });
  }
  const auto left = [&](int i) { return sides[i].flow.is_over() && sides[i].flow.kind != Flow::Raised; };
  bool rest_done = false;
  for (int i : {0, 1}) {
    if (!rest || !left(i) || sides[1 - i].flow.is_over()) continue;
    emit_side(1 - i, sides[1 - i].flow, [&] { emit_live(rest, range); });
    rest_done = true;
    break;
  }
  --branch_depth_;
  open_.pop_back();
  BranchMerge(*this, branch, sides[0], sides[1], range).run();
  return rest_done;
}

ir::Value* Emitter::emit_choice(const Condition& condition, const Range& range, const TypePtr& hint,
                                const std::function<ir::Value*()>& then,
                                const std::function<ir::Value*()>& otherwise) {
  if (condition.known) {
    refine(*condition.known ? condition.if_true : condition.if_false, range);
    return *condition.known ? then() : otherwise();
  }
  const std::string name = "$choice";
  const auto keep = [&](ir::Value* chosen) {
    if (ir::Value* converted = hint ? try_convert(chosen, hint, range, false) : nullptr) chosen = converted;
    frame_->names[name] = {simple(chosen), false};
  };
  emit_branches(condition, range, [&] { keep(then()); }, [&] { keep(otherwise()); });
  const SugaredPtr chosen = frame_->names.at(name).value;
  frame_->names.erase(name);
  if (const auto* undefined = dynamic_cast<const UndefinedValue*>(chosen.get())) {
    type_error(range, fmt::format("the two values must have one type: {}", undefined->reason()));
  }
  return chosen->value();
}

bool Emitter::emit_if(const Stmt::If& statement, Statements rest, const Range& range) {
  return emit_branches(
      emit_condition(*statement.condition), range, [&] { emit_body(statement.then); },
      [&] { emit_body(statement.otherwise); }, [&] { emit_body(rest); });
}

// ---- conditions ------------------------------------------------------------------------------------------
Condition Emitter::known_condition(bool holds, const Range& range) {
  Condition condition;
  condition.value = constant(holds, range);
  condition.known = holds;
  return condition;
}

Condition Emitter::emit_condition(const Expr& expr) {
  if (const auto* unary = expr.as<Expr::Unary>(); unary && unary->op == UnaryOp::Not) {
    Condition inner = emit_condition(*unary->operand);
    if (inner.known) return known_condition(!*inner.known, expr.range);
    return {builtin("aten::__not__", {inner.value}, expr.range),
            std::move(inner.if_false),
            std::move(inner.if_true),
            {}};
  }
  if (const auto* op = expr.as<Expr::BoolOp>()) return emit_bool_op(*op, expr.range);
  if (const auto* compare = expr.as<Expr::Compare>(); compare && compare->rest.size() == 1) {
    const auto& [op, right] = compare->rest[0];
    const bool is_test = op == CompareOp::Is || op == CompareOp::IsNot;
    const auto is_none = [](const Expr& e) {
      const auto* literal = e.as<Expr::Constant>();
      return literal && std::holds_alternative<std::monostate>(literal->value);
    };
    if (is_test && is_none(*right)) return emit_none_test(*compare->left, op == CompareOp::IsNot, expr.range);
    if (is_test && is_none(*compare->left)) return emit_none_test(*right, op == CompareOp::IsNot, expr.range);
  }
  if (const auto* call = expr.as<Expr::Call>()) {
    if (auto condition = emit_call_condition(*call, expr.range)) return *condition;
  }
  Condition condition;
  condition.value = to_bool(emit(expr), expr.range);
  if (const IValue* known = constant_of(condition.value)) condition.known = known->to_bool();
  return condition;
}

Condition Emitter::emit_none_test(const Expr& operand, bool is_not, const Range& range) {
  ir::Value* tested = emit(operand);
  const TypePtr& type = type_of(tested);
  if (type->is(TypeKind::None)) return known_condition(!is_not, range);
  if (!may_be_none(type)) return known_condition(is_not, range);
  Condition condition;
  condition.value = builtin(is_not ? "aten::__isnot__" : "aten::__is__", {tested, none(range)}, range);
  if (const auto* name = operand.as<Expr::Name>(); name && !type->is(TypeKind::Any)) {
    (is_not ? condition.if_true : condition.if_false)[name->id] = without_none(type);
    (is_not ? condition.if_false : condition.if_true)[name->id] = Type::none();
  }
  return condition;
}

namespace {

// Both hold: the later one knows more.
Refinements both(Refinements first, const Refinements& second) {
  for (const auto& [name, type] : second) first[name] = type;
  return first;
}

// One of them holds.
Refinements either(const Refinements& first, const Refinements& second) {
  Refinements result;
  for (const auto& [name, type] : first) {
    const auto other = second.find(name);
    if (other == second.end()) continue;
    if (const TypePtr merged = unify(type, other->second)) result[name] = merged;
  }
  return result;
}

}  // namespace

Condition Emitter::emit_bool_op(const Expr::BoolOp& op, const Range& range) {
  const Condition left = emit_condition(*op.left);
  if (left.known) {
    if (*left.known != op.is_and) return known_condition(*left.known, range);
    return emit_condition(*op.right);
  }
  Condition right;
  const auto emit_right = [&] {
    right = emit_condition(*op.right);
    return right.value;
  };
  const auto short_cut = [&] { return constant(!op.is_and, range); };
  Condition result;
  if (op.is_and) {
    result.value = emit_choice(left, range, nullptr, emit_right, short_cut);
    result.if_true = both(left.if_true, right.if_true);
    result.if_false = either(left.if_false, right.if_false);
  } else {
    result.value = emit_choice(left, range, nullptr, short_cut, emit_right);
    result.if_false = both(left.if_false, right.if_false);
    result.if_true = either(left.if_true, right.if_true);
  }
  if (right.known && *right.known != op.is_and) return known_condition(*right.known, range);
  return result;
}

std::optional<Condition> Emitter::emit_call_condition(const Expr::Call& call, const Range& range) {
  std::string name;
  if (const auto* plain = call.function->as<Expr::Name>()) name = find_name(plain->id) ? "" : plain->id;
  if (const auto* attribute = call.function->as<Expr::Attribute>()) name = attribute->name;
  if (name == "isinstance" && call.arguments.size() == 2) return emit_isinstance(call, range);
  if (name == "hasattr" && call.arguments.size() == 2) return emit_hasattr(call, range);
  if (name == "is_scripting" && call.arguments.empty()) return known_condition(true, range);
  return std::nullopt;
}

Condition Emitter::emit_hasattr(const Expr::Call& call, const Range& range) {
  const auto* name = call.arguments[1]->as<Expr::Constant>();
  if (!name || !std::holds_alternative<std::string>(name->value))
    type_error(range, "hasattr() takes a literal name");
  return known_condition(
      emit_sugared(*call.arguments[0])->has_attribute(*this, std::get<std::string>(name->value)), range);
}

namespace {

// The types of isinstance(x, (A, B)): "list", "tuple" and "dict" alone stand for all such types.
struct TypeTest {
  std::vector<TypePtr> types;
  std::set<TypeKind> kinds;
  bool is_instance = false;

  bool holds_for(const Type& type) const {
    if (is_instance || kinds.count(type.kind())) return true;
    for (const TypePtr& wanted : types) {
      if (type.is_subtype_of(*wanted)) return true;
    }
    return false;
  }
};

// Whether a module is of one of the classes of modules is known when the script is compiled.
void add_tested(const Expr& expr, Resolver& resolver, const Type& tested, TypeTest& test) {
  if (const auto* tuple = expr.as<Expr::Tuple>()) {
    for (const ExprPtr& element : tuple->elements) add_tested(*element, resolver, tested, test);
    return;
  }
  if (tested.is(TypeKind::Class)) {
    if (const auto is_instance =
            resolver.is_instance(static_cast<const ClassType&>(tested), dotted_name(expr))) {
      test.is_instance = test.is_instance || *is_instance;
      return;
    }
  }
  const auto* name = expr.as<Expr::Name>();
  if (name && (name->id == "list" || name->id == "List"))
    test.kinds.insert(TypeKind::List);
  else if (name && (name->id == "tuple" || name->id == "Tuple"))
    test.kinds.insert(TypeKind::Tuple);
  else if (name && (name->id == "dict" || name->id == "Dict"))
    test.kinds.insert(TypeKind::Dict);
  else
    test.types.push_back(parse_type(expr, resolver));
}

}  // namespace

Condition Emitter::emit_isinstance(const Expr::Call& call, const Range& range) {
  const SugaredPtr tested = emit_sugared(*call.arguments[0]);
  ir::Value* value = tested->as_value(*this, range);
  const TypePtr type = jit::type_of(value);
  TypeTest test;
  add_tested(*call.arguments[1], *resolver_, *type, test);
  if (test.holds_for(*type)) return known_condition(true, range);
  std::vector<TypePtr> matching, others;
  std::string kinds;  // of a value of any type
  if (type->is(TypeKind::Optional)) {
    (test.holds_for(*type->element()) ? matching : others).push_back(type->element());
    (test.holds_for(*Type::none()) ? matching : others).push_back(Type::none());
  } else if (type->is(TypeKind::Union)) {
    for (const TypePtr& member : type->elements())
      (test.holds_for(*member) ? matching : others).push_back(member);
  } else if (type->is(TypeKind::Any) || type->is(TypeKind::Interface) || type->is(TypeKind::Number)) {
    if (test.kinds.contains(TypeKind::Dict))
      type_error(range, "isinstance() of a value of any type needs the types of a dict: Dict[str, int]");
    matching = test.types;
    for (const TypeKind kind : test.kinds)
      kinds += std::string(kinds.empty() ? "" : ", ") + (kind == TypeKind::List ? "list" : "tuple");
  }
  if (matching.empty() && kinds.empty()) return known_condition(false, range);
  Condition condition;
  ir::ScriptPayload payload;
  payload.type = matching.empty() ? nullptr : Type::union_of(matching);
  payload.text = kinds;
  condition.value = this->value(prim::kIsInstance, {value}, Type::boolean(), range, payload);
  if (const auto* name = call.arguments[0]->as<Expr::Name>(); name && kinds.empty()) {
    condition.if_true[name->id] = payload.type;
    if (!others.empty()) condition.if_false[name->id] = Type::union_of(others);
  }
  return condition;
}

}  // namespace weft::jit
