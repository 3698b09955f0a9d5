// Loops. The names that a body assigns and that exist before the loop are carried from iteration to
// iteration.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {

void Emitter::emit_for(const Stmt::For& loop, const Range& range) {
  const SugaredPtr iterable = emit_sugared(*loop.iterable);
  const Iteration iteration = iterable->iterate(*this, loop.iterable->range);
  LoopPlan plan;
  plan.assigned = assigned_names(loop.body);
  plan.may_return = contains_return(loop.body);
  plan.may_break = contains_break(loop.body);
  add_target_names(*loop.target, plan.assigned);
  plan.body = [&] { emit_body(loop.body); };
  emit_iteration(
      iteration, std::move(plan),
      [&](SugaredPtr value) { assign(*loop.target, std::move(value), loop.target->range); }, range);
}

void Emitter::emit_iteration(const Iteration& iteration, LoopPlan plan,
                             const std::function<void(SugaredPtr)>& assign_target, const Range& range) {
  if (iteration.unrolled) {
    ++unrolled_depth_;
    for (const SugaredPtr& element : *iteration.unrolled) {
      count_work(range);
      emit_live(
          [&] {
            assign_target(element);
            plan.body();
          },
          range);
    }
    --unrolled_depth_;
    return;
  }
  plan.trip_count = iteration.length;
  plan.first = constant(true, range);
  plan.start = [&](ir::Value* index) { assign_target(iteration.element(index)); };
  emit_loop(plan, range);
}

void Emitter::emit_while(const Stmt::While& loop, const Range& range) {
  const Condition first = emit_condition(*loop.condition);
  if (first.known == false) return;
  LoopPlan plan;
  plan.trip_count = constant(std::numeric_limits<int64_t>::max(), range);
  plan.first = first.value;
  plan.assigned = assigned_names(loop.body);
  plan.may_return = contains_return(loop.body);
  plan.may_break = contains_break(loop.body);
  // A name that holds True before the loop may hold False after an iteration.
  plan.is_endless = first.known == true && loop.condition->as<Expr::Constant>() && !plan.may_break;
  plan.start = [&](ir::Value*) { refine(first.if_true, range); };
  plan.body = [&] { emit_body(loop.body); };
  plan.next = [&] { return emit_condition(*loop.condition).value; };
  emit_loop(plan, range);
}

std::vector<std::string> Emitter::carried_names(const LoopPlan& plan, const Range& range) {
  std::vector<std::string> carried;
  for (const std::string& name : plan.assigned) {
    const SugaredPtr before = find_name(name);
    if (!before || dynamic_cast<const UndefinedValue*>(before.get())) continue;
    if (!before->value()) frame_->names[name] = {simple(before->as_value(*this, range)), false};
    carried.push_back(name);
  }
  if (plan.may_return) {
    const TypePtr type = declared_return_ ? declared_return_ : never_type();
    frame_->names["$return"] = {simple(uninitialized(type, range)), false};
    frame_->names["$returned"] = {simple(constant(false, range)), false};
    carried.insert(carried.end(), {"$return", "$returned"});
  }
  return carried;
}

void Emitter::emit_loop(const LoopPlan& plan, const Range& range) {
  const std::vector<std::string> carried = carried_names(plan, range);
  std::vector<ir::Value*> inputs = {plan.trip_count, plan.first};
  for (const std::string& name : carried) inputs.push_back(find_name(name)->value());
  ir::Node* loop = graph_.add_control(block(), ir::NodeKind::Loop, inputs, location(range));
  open_.push_back(loop);

  Environment body;
  body.parent = frame_;
  body.block = loop->blocks[0].get();
  const auto script_type = [](TypePtr type) {
    return ir::Type{.kind = ir::Type::Kind::Script, .tensor = {}, .script = std::move(type)};
  };
  ir::Value* index = graph_.add_param(*body.block, script_type(Type::integer()));
  for (size_t i = 0; i < carried.size(); ++i) {
    const TypePtr& type = type_of(inputs[i + 2]);
    body.names[carried[i]] = {simple(graph_.add_param(*body.block, script_type(type))), false};
    if (carried[i][0] != '$') body.declared[carried[i]] = type;
  }
  frame_ = &body;
  const int unrolled_before = std::exchange(unrolled_depth_, 0);
  ++loop_depth_;
  flow_ = {};
  if (plan.may_return || plan.may_break)
    body.names["$stop"] = {std::make_shared<ConstantSugar>(IValue(false)), false};
  if (plan.start) plan.start(index);
  plan.body();
  finish_iteration(loop, plan, carried, range);
  open_.pop_back();
  --loop_depth_;
  unrolled_depth_ = unrolled_before;
  frame_ = body.parent;
  leave_loop(loop, plan, carried, body);
}

void Emitter::finish_iteration(ir::Node* loop, const LoopPlan& plan, const std::vector<std::string>& carried,
                               const Range& range) {
  const bool never_again = flow_.kind == Flow::Raised || flow_.kind == Flow::Returned;
  flow_ = {};
  const auto more = [&] { return plan.next ? plan.next() : constant(true, range); };
  const auto stops = frame_->names.find("$stop");
  ir::Value* stop = stops == frame_->names.end() ? nullptr : stops->second.value->value();  // null: known now
  const auto* known =
      stops == frame_->names.end() ? nullptr : dynamic_cast<const ConstantSugar*>(stops->second.value.get());
  ir::Value* next = nullptr;
  if (never_again || (known && known->constant().to_bool())) {
    next = constant(false, range);
  } else if (!stop) {
    next = more();
  } else if (!plan.next) {
    next = builtin("aten::__not__", {stop}, range);
  } else {
    Condition stopped;
    stopped.value = stop;
    next = emit_choice(stopped, range, nullptr, [&] { return constant(false, range); }, more);
  }
  graph_.add_return(block(), next);
  for (size_t i = 0; i < carried.size(); ++i) {
    const SugaredPtr last = get_name(carried[i], range);
    ir::Value* initial = loop->inputs[i + 2];
    ir::Value* param = block().params[i + 1];
    ir::Value* value = last->as_value(*this, range);
    if (is_never(type_of(initial))) {
      const TypePtr type = is_never(type_of(value)) ? Type::none() : type_of(value);
      initial->type.script = param->type.script = value->type.script = type;
    } else if (!type_of(value)->is_subtype_of(*type_of(param))) {
      type_error(range, fmt::format("'{}' is {} before the loop and {} after an iteration", carried[i],
                                    type_of(param)->str(), type_of(value)->str()));
    }
    graph_.add_return(block(), value);
  }
}

void Emitter::leave_loop(ir::Node* loop, const LoopPlan& plan, const std::vector<std::string>& carried,
                         const Environment& body) {
  for (const std::string& name : carried) {
    const size_t i = loop->outputs.size();
    ir::Value* output = graph_.add_output(loop, loop->blocks[0]->params[i + 1]->type);
    frame_->names[name] = {simple(output), false};
  }
  for (const auto& [name, entry] : body.names) {
    if (name[0] == '$' || entry.is_refinement || find_name(name)) continue;
    frame_->names[name] = {
        std::make_shared<UndefinedValue>("it is only set inside a loop, which may not run"), false};
  }
  flow_ = {};
  if (plan.may_return) {
    ir::Value* returned = frame_->names.at("$returned").value->value();
    if (loop_depth_ > 0) frame_->names["$stop"] = {simple(returned), false};
    flow_ = {Flow::Maybe, returned, true};
  }
  if (plan.is_endless) flow_ = {plan.may_return ? Flow::Returned : Flow::Raised};
}

bool contains_break(Statements body) {
  return std::any_of(body.begin(), body.end(), [](const StmtPtr& statement) {
    if (const auto* s = statement->as<Stmt::If>())
      return contains_break(s->then) || contains_break(s->otherwise);
    if (const auto* s = statement->as<Stmt::With>()) return contains_break(s->body);
    return statement->as<Stmt::Break>() != nullptr;
  });
}

}  // namespace weft::jit
