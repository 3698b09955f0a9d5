// Statements, and where control goes after them.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {

void Emitter::emit_body(Statements body) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (flow_.is_over()) return;  // what follows is never reached
    const Stmt& statement = *body[i];
    if (flow_.kind == Flow::Maybe) {
      emit_live([&] { emit_body(body.subspan(i)); }, statement.range);
      return;
    }
    bool rest_is_done = false;
    emit_deferring(
        [&] {
          if (const auto* branch = statement.as<Stmt::If>())
            rest_is_done = emit_if(*branch, body.subspan(i + 1), statement.range);
          else
            emit_statement(statement);
        },
        statement.range);
    if (rest_is_done) return;
  }
}

void Emitter::emit_deferring(const std::function<void()>& emit, const Range& range) {
  if (!resolver_->defers_unknown_operators()) return emit();
  Environment* const frame = frame_;
  const int branch_depth = branch_depth_, loop_depth = loop_depth_, unrolled_depth = unrolled_depth_;
  const size_t open = open_.size();
  try {
    emit();
  } catch (const UnknownOperator& error) {
    frame_ = frame;
    branch_depth_ = branch_depth, loop_depth_ = loop_depth, unrolled_depth_ = unrolled_depth;
    if (open_.size() > open) {  // the expression's branch or loop that the operator is in
      graph_.erase(open_[open]);
      open_.resize(open);
    }
    ir::ScriptPayload payload;
    payload.text = "NotImplementedError";
    node(prim::kRaise, {constant(std::string(error.what()), range)}, {}, range, payload);
    flow_ = {Flow::Raised};
  }
}

void Emitter::emit_live(const std::function<void()>& emit, const Range& range) {
  if (flow_.is_over()) return;
  if (flow_.kind == Flow::Live) return emit();
  Condition skipped;
  skipped.value = flow_.flag;
  const Flow left{flow_.only_returns ? Flow::Returned : Flow::Left};
  flow_ = {};
  emit_branches(skipped, range, [&] { flow_ = left; }, emit);
}

void Emitter::emit_statement(const Stmt& statement) {
  const Range& range = statement.range;
  count_work(range);
  std::visit(
      [&](const auto& s) {
        using T = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<T, Stmt::Expression>) {
          if (!s.value->template as<Expr::Constant>()) emit_sugared(*s.value);
        } else if constexpr (std::is_same_v<T, Stmt::Assign>) {
          emit_assign(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::AugAssign>) {
          emit_augmented(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::Return>) {
          emit_return(s.value.get(), range);
        } else if constexpr (std::is_same_v<T, Stmt::Raise>) {
          emit_raise(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::Assert>) {
          emit_assert(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::Delete>) {
          emit_delete(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::Break> || std::is_same_v<T, Stmt::Continue>) {
          emit_exit_loop(std::is_same_v<T, Stmt::Break>, range);
        } else if constexpr (std::is_same_v<T, Stmt::If>) {
          emit_if(s, {}, range);
        } else if constexpr (std::is_same_v<T, Stmt::While>) {
          emit_while(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::For>) {
          emit_for(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::With>) {
          emit_with(s, range);
        } else if constexpr (std::is_same_v<T, Stmt::Def>) {
          set_name(s.function.name, std::make_shared<ClosureSugar>(&s.function), range);
        } else if constexpr (std::is_same_v<T, Stmt::Class>) {
          syntax_error(range, "a class cannot be defined inside a function");
        }
      },
      statement.node);
}

// ---- leaving ---------------------------------------------------------------------------------------------
void Emitter::emit_return(const Expr* expr, const Range& range) {
  ir::Value* result = expr ? emit(*expr, declared_return_) : none(range);
  if (declared_return_) {
    ir::Value* converted = try_convert(result, declared_return_, range, true);
    if (!converted) {
      type_error(range, fmt::format("the function is declared to return {} but returns {} here",
                                    declared_return_->str(), type_of(result)->str()));
    }
    result = converted;
  }
  frame_->names["$return"] = {simple(result), false};
  frame_->names["$returned"] = {std::make_shared<ConstantSugar>(IValue(true)), false};
  if (loop_depth_ > 0) frame_->names["$stop"] = {std::make_shared<ConstantSugar>(IValue(true)), false};
  flow_ = {Flow::Returned};
}

void Emitter::emit_exit_loop(bool is_break, const Range& range) {
  const char* word = is_break ? "break" : "continue";
  if (unrolled_depth_ > 0) {
    syntax_error(range,
                 fmt::format("'{}' cannot be used in a loop over modules or a tuple: it is unrolled", word));
  }
  if (loop_depth_ == 0) syntax_error(range, fmt::format("'{}' outside of a loop", word));
  if (is_break) frame_->names["$stop"] = {std::make_shared<ConstantSugar>(IValue(true)), false};
  flow_ = {Flow::Left};
}

namespace {

// "ValueError" of builtins.ValueError; a user's exception class keeps its full name.
std::string exception_name(const Expr& expr) {
  if (const auto* name = expr.as<Expr::Name>()) return name->id;
  if (const auto* attribute = expr.as<Expr::Attribute>()) return attribute->name;
  return "";
}

}  // namespace

void Emitter::emit_raise(const Stmt::Raise& raise, const Range& range) {
  if (!raise.exception) syntax_error(range, "'raise' needs an exception: nothing is caught in TorchScript");
  ir::ScriptPayload payload;
  ir::Value* message = nullptr;
  if (const auto* call = raise.exception->as<Expr::Call>()) {
    payload.text = exception_name(*call->function);
    for (const ExprPtr& argument : call->arguments) {
      ir::Value* part = emit(*argument);
      if (!type_of(part)->is(TypeKind::String)) part = emit_format("{}", {part}, range);
      message = message ? emit_format("{}, {}", {message, part}, range) : part;
    }
  } else {
    payload.text = exception_name(*raise.exception);
  }
  if (payload.text.empty()) syntax_error(range, "'raise' needs an exception class");
  if (!message) message = constant("", range);
  node(prim::kRaise, {message}, {}, range, payload);
  flow_ = {Flow::Raised};
}

void Emitter::emit_assert(const Stmt::Assert& statement, const Range& range) {
  const Condition condition = emit_condition(*statement.condition);
  emit_branches(
      condition, range, [] {},
      [&] {
        ir::Value* message = constant("AssertionError: ", range);
        if (statement.message) {
          ir::Value* text = emit(*statement.message);
          if (!type_of(text)->is(TypeKind::String)) text = emit_format("{}", {text}, range);
          message = builtin("aten::add", {message, text}, range);
        }
        ir::ScriptPayload payload;
        payload.text = "AssertionError";
        node(prim::kRaise, {message}, {}, range, payload);
        flow_ = {Flow::Raised};
      });
}

void Emitter::emit_with(const Stmt::With& with, const Range& range) { emit_with_items(with, 0, range); }

void Emitter::emit_with_items(const Stmt::With& with, size_t item, const Range& range) {
  if (item == with.items.size()) return emit_body(with.body);
  const WithItem& entry = with.items[item];
  const SugaredPtr context = emit_sugared(*entry.context);
  const SugaredPtr entered = context->attribute(*this, range, "__enter__")->call(*this, range, {});
  if (entry.target) assign(*entry.target, entered, range);
  emit_with_items(with, item + 1, range);
  if (flow_.kind == Flow::Raised) return;
  CallArguments nones;
  for (int i = 0; i < 3; ++i) nones.push_back({"", none(range), range});
  context->attribute(*this, range, "__exit__")->call(*this, range, nones);
}

void Emitter::emit_delete(const Stmt::Delete& statement, const Range& range) {
  for (const ExprPtr& target : statement.targets) {
    if (const auto* name = target->as<Expr::Name>()) {
      get_name(name->id, target->range);
      frame_->names[name->id] = {std::make_shared<UndefinedValue>("it was deleted"), false};
    } else if (const auto* subscript = target->as<Expr::Subscript>()) {
      if (subscript->indices.size() != 1) syntax_error(target->range, "'del' takes one subscript");
      builtin("aten::Delete", {emit(*subscript->object), emit(*subscript->indices[0])}, range);
    } else {
      syntax_error(target->range, "'del' takes names and subscripts");
    }
  }
}

// ---- assignment ------------------------------------------------------------------------------------------
void Emitter::emit_assign(const Stmt::Assign& statement, const Range& range) {
  const Expr& first = *statement.targets[0];
  TypePtr hint;
  if (statement.annotation) hint = parse_type(*statement.annotation, *resolver_);
  if (!statement.value) {  // "x: int" alone
    return;
  }
  if (!hint) {  // self.x = [] is of the attribute's type
    if (const auto* attribute = first.as<Expr::Attribute>();
        attribute && attribute->object->as<Expr::Name>()) {
      const SugaredPtr object = find_name(attribute->object->as<Expr::Name>()->id);
      if (object && object->value() && type_of(object->value())->is(TypeKind::Class)) {
        const auto& type = static_cast<const ClassType&>(*type_of(object->value()));
        if (const auto slot = type.find_slot(attribute->name)) hint = type.attributes()[*slot].type;
      }
    }
  }
  SugaredPtr value = emit_sugared(*statement.value, hint);
  if (statement.annotation) {
    value = simple(retyped(convert(value->as_value(*this, range), hint, range, "assignment"), hint, range));
  }
  for (const ExprPtr& target : statement.targets) assign(*target, value, target->range);
}

void Emitter::assign(const Expr& target, SugaredPtr value, const Range& range) {
  if (const auto* name = target.as<Expr::Name>()) {
    set_name(name->id, std::move(value), range);
  } else if (const auto* tuple = target.as<Expr::Tuple>()) {
    assign_tuple(tuple->elements, value, range);
  } else if (const auto* list = target.as<Expr::List>()) {
    assign_tuple(list->elements, value, range);
  } else if (const auto* attribute = target.as<Expr::Attribute>()) {
    emit_sugared(*attribute->object)
        ->set_attribute(*this, range, attribute->name, value->as_value(*this, range));
  } else if (target.as<Expr::Subscript>()) {
    assign_subscript(target, value->as_value(*this, range), range);
  } else {
    syntax_error(range, "this cannot be assigned to");
  }
}

void Emitter::assign_tuple(const std::vector<ExprPtr>& targets, const SugaredPtr& value, const Range& range) {
  const auto starred =
      std::find_if(targets.begin(), targets.end(), [](const ExprPtr& t) { return t->as<Expr::Starred>(); });
  const bool has_star = starred != targets.end();
  const std::vector<SugaredPtr> elements =
      value->as_tuple(*this, range, has_star ? std::nullopt : std::optional(targets.size()));
  if (has_star ? elements.size() + 1 < targets.size() : elements.size() != targets.size()) {
    type_error(range,
               fmt::format("{} values cannot be assigned to {} targets", elements.size(), targets.size()));
  }
  const size_t before = static_cast<size_t>(starred - targets.begin());
  const size_t after = has_star ? targets.size() - before - 1 : 0;
  for (size_t i = 0; i < before; ++i) assign(*targets[i], elements[i], targets[i]->range);
  if (!has_star) return;
  const std::vector<SugaredPtr> middle(elements.begin() + static_cast<std::ptrdiff_t>(before),
                                       elements.end() - static_cast<std::ptrdiff_t>(after));
  assign(*(*starred)->as<Expr::Starred>()->value, std::make_shared<TupleSugar>(middle), range);
  for (size_t i = 0; i < after; ++i)
    assign(*targets[before + 1 + i], elements[elements.size() - after + i], range);
}

namespace {

// "aten::add_", or "" where the operator has no in-place form.
std::string in_place_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "aten::add_";
    case BinaryOp::Sub: return "aten::sub_";
    case BinaryOp::Mul: return "aten::mul_";
    case BinaryOp::Div: return "aten::div_";
    case BinaryOp::FloorDiv: return "aten::floor_divide_";
    case BinaryOp::Mod: return "aten::remainder_";
    case BinaryOp::Pow: return "aten::pow_";
    case BinaryOp::BitAnd: return "aten::__iand__";
    case BinaryOp::BitOr: return "aten::__ior__";
    case BinaryOp::BitXor: return "aten::__ixor__";
    case BinaryOp::ShiftLeft: return "aten::__ilshift__";
    case BinaryOp::ShiftRight: return "aten::__irshift__";
    case BinaryOp::MatMul: return "";
  }
  return "";
}

}  // namespace

ir::Value* Emitter::emit_augment(ir::Value* left, BinaryOp op, ir::Value* right, const Range& range) {
  const bool in_place =
      type_of(left)->is(TypeKind::Tensor) || (type_of(left)->is(TypeKind::List) && op == BinaryOp::Add);
  const std::string name = in_place ? in_place_name(op) : "";
  if (!name.empty() && has_builtin_for(name, {left, right})) return builtin(name, {left, right}, range);
  ir::Value* result = emit_binary(op, left, right, range);
  return type_of(left)->is(TypeKind::Tensor) ? builtin("aten::copy_", {left, result}, range) : result;
}

void Emitter::emit_augmented(const Stmt::AugAssign& statement, const Range& range) {
  const Expr& target = *statement.target;
  if (target.as<Expr::Subscript>()) return augment_subscript(target, statement.op, *statement.value, range);
  if (!target.as<Expr::Name>() && !target.as<Expr::Attribute>())
    syntax_error(range, "this cannot be assigned to");
  ir::Value* left = emit(target);
  ir::Value* right = emit(*statement.value, type_of(left));
  ir::Value* result = emit_augment(left, statement.op, right, range);
  assign(target, simple(result), range);
}

// ---- what statements set ---------------------------------------------------------------------------------
void add_target_names(const Expr& target, std::set<std::string>& names) {
  if (const auto* name = target.as<Expr::Name>()) names.insert(name->id);
  if (const auto* tuple = target.as<Expr::Tuple>()) {
    for (const ExprPtr& element : tuple->elements) add_target_names(*element, names);
  }
  if (const auto* list = target.as<Expr::List>()) {
    for (const ExprPtr& element : list->elements) add_target_names(*element, names);
  }
  if (const auto* starred = target.as<Expr::Starred>()) add_target_names(*starred->value, names);
}

namespace {

void add_assigned(Statements body, std::set<std::string>& names) {
  for (const StmtPtr& statement : body) {
    if (const auto* s = statement->as<Stmt::Assign>()) {
      for (const ExprPtr& target : s->targets) add_target_names(*target, names);
    } else if (const auto* s = statement->as<Stmt::AugAssign>()) {
      add_target_names(*s->target, names);
    } else if (const auto* s = statement->as<Stmt::Delete>()) {
      for (const ExprPtr& target : s->targets) add_target_names(*target, names);
    } else if (const auto* s = statement->as<Stmt::If>()) {
      add_assigned(s->then, names);
      add_assigned(s->otherwise, names);
    } else if (const auto* s = statement->as<Stmt::While>()) {
      add_assigned(s->body, names);
    } else if (const auto* s = statement->as<Stmt::For>()) {
      add_target_names(*s->target, names);
      add_assigned(s->body, names);
    } else if (const auto* s = statement->as<Stmt::With>()) {
      for (const WithItem& item : s->items) {
        if (item.target) add_target_names(*item.target, names);
      }
      add_assigned(s->body, names);
    }
  }
}

}  // namespace

std::set<std::string> assigned_names(Statements body) {
  std::set<std::string> names;
  add_assigned(body, names);
  return names;
}

bool contains_return(Statements body) {
  return std::any_of(body.begin(), body.end(), [](const StmtPtr& statement) {
    if (const auto* s = statement->as<Stmt::If>())
      return contains_return(s->then) || contains_return(s->otherwise);
    if (const auto* s = statement->as<Stmt::While>()) return contains_return(s->body);
    if (const auto* s = statement->as<Stmt::For>()) return contains_return(s->body);
    if (const auto* s = statement->as<Stmt::With>()) return contains_return(s->body);
    return statement->as<Stmt::Return>() != nullptr;
  });
}

}  // namespace weft::jit
