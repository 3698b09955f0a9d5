// Numbers that follow from sizes: Python computes them before each run of the graph, which they are inputs
// of.
#include "capture/guards/computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

namespace {

// An int or float that a later call may compute with.
struct Number {
  SourceRef source;  // null: of another kind
  Ref object;        // of this call
};

bool is_derived(const SourceRef& source) {
  return source && (source->step == Source::Step::Size || source->step == Source::Step::Computed);
}

Number number_of(const V& value) {
  if (value->kind == Kind::SymInt) {
    SourceRef source = make_source(
        {.step = Source::Step::Size, .base = {}, .key = {}, .object = {}, .object2 = {}, .sym = value->sym});
    return {std::move(source), checked(PyLong_FromLongLong(value->sym.hint()))};
  }
  if (!value->object) return {};
  PyObject* const object = value->object.get();
  if (value->kind == Kind::Scalar && value->source && PyFloat_CheckExact(object))
    return {value->source, value->object};
  if (value->is_const() && (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object)))
    return {pinned_source(object), value->object};
  return {};
}

}  // namespace

V Evaluator::computed(int operation, PyObject* function, const std::vector<V>& operands) {
  if (operands.empty() || operands.size() > 2) return nullptr;
  std::vector<Number> numbers;
  for (const V& operand : operands) {
    numbers.push_back(number_of(realize(operand)));
    if (!numbers.back().source) return nullptr;
  }
  if (std::all_of(operands.begin(), operands.end(), [](const V& operand) { return operand->is_const(); }))
    return nullptr;
  Source source{.step = Source::Step::Computed,
                .base = numbers[0].source,
                .index = operation,
                .key = {},
                .object = Ref::borrow(function),
                .object2 = {}};
  if (numbers.size() > 1) source.second = numbers[1].source;
  const Ref result = computed_number(operation, function, numbers[0].object.get(),
                                     numbers.size() > 1 ? numbers[1].object.get() : nullptr);
  if (!result) return nullptr;
  const SourceRef found = make_source(std::move(source));
  if (PyBool_Check(result.get())) {
    variant_->guards.is(found, result.get());
    return const_value(result);
  }
  history_.expect_change(found->str());
  return lazy_value(result.get(), found);
}

Ref Evaluator::known_number(const V& value) {
  if (value->kind != Kind::Scalar || !is_derived(value->source)) return Ref();
  const double number = PyFloat_AS_DOUBLE(value->object.get());
  variant_->guards.add({.op = GuardOp::Float,
                        .a = variant_->guards.load(value->source),
                        .imm = std::bit_cast<int64_t>(number)},
                       fmt::format("{} == {}", value->source->str(), number));
  return value->object;
}

bool Evaluator::is_derived_number(const V& value) {
  return value->kind == Kind::SymInt || (value->kind == Kind::Scalar && is_derived(value->source));
}

}  // namespace weft::capture
