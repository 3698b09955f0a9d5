// Random numbers that native loops draw, one at a time: of NumPy's generators, of numpy.random's functions
// and of Python's random. A draw is made where all that could leave it to Python has been looked at: it is
// made once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capture/loops/builder.h"
#include "capture/loops/loops.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

Expr number_beside(const Expr& a, const char* symbol, const char* number) {
  return Expr::apply(op::infix(symbol), {a, Expr::constant(number)});
}

// NumPy takes -0.0 for a negative number.
Expr has_no_sign(const Expr& x) {
  return number_beside(Expr::apply(op::kCopySign, {Expr::constant("1.0"), x}), ">", "0.0");
}

const LoopValue* argument(const std::vector<LoopValue>& args, size_t i) {
  return i < args.size() && args[i].kind != LoopKind::Unbound ? &args[i] : nullptr;
}

bool is_whole_number(const LoopValue* value) {
  return value && (value->kind == LoopKind::Int || (value->kind == LoopKind::Numpy &&
                                                    is_integral(value->dtype) && value->dtype != DType::U64));
}

constexpr const char* kRange[] = {"low", "high"};

// The names of a method's parameters: what keywords may give.
std::vector<std::string> parameters_of(GeneratorKind kind, const std::string& method) {
  if (const auto draw = find_draw(kind, method)) {
    std::vector<std::string> names;
    for (const DrawParameter& parameter : draw->parameters) names.emplace_back(parameter.name);
    return names;
  }
  const bool is_python = kind == GeneratorKind::Random;
  if (method == "uniform")
    return is_python ? std::vector<std::string>{"a", "b"} : std::vector<std::string>(kRange, kRange + 2);
  if (method == (kind == GeneratorKind::Generator ? "integers" : "randint"))
    return is_python ? std::vector<std::string>{"a", "b"} : std::vector<std::string>(kRange, kRange + 2);
  if (is_python && method == "randrange") return {"start", "stop"};
  if (is_python && method == "getrandbits") return {"k"};
  if (method == "choice") return {is_python ? "seq" : "a"};
  if (!is_python && method == "poisson") return {"lam"};
  // RandomState's binomial rounds otherwise.
  if (kind == GeneratorKind::Generator && method == "binomial") return {"n", "p"};
  return {};
}

}  // namespace

GeneratorKind LoopBuilder::generator_kind_of(const LoopValue& value) const {
  if (value.kind == LoopKind::Const) return generator_kind(value.object);
  const auto known = result_.objects.classes.find(value.index);
  if (value.kind != LoopKind::Object || known == result_.objects.classes.end()) return GeneratorKind::None;
  return generator_kind(reinterpret_cast<PyTypeObject*>(known->second.get()));
}

// The address of a part of the generator, looked up before every run.
Expr LoopBuilder::part_of_generator(const LoopValue& generator, GeneratorPart part) {
  PyObject* const object = generator.kind == LoopKind::Const ? generator.object : nullptr;
  auto& drawn = result_.drawn_from;
  auto found = std::find_if(drawn.begin(), drawn.end(), [&](const LoopCode::DrawnFrom& other) {
    return other.part == part && other.generator.get() == object &&
           (object || other.object == generator.index);
  });
  if (found == drawn.end()) {
    const std::string name = fmt::format("generator{}", drawn.size());
    const size_t place = result_.functions.size();
    function(LibraryFunction{name, nullptr, "i64"});
    drawn.push_back({object ? -1 : generator.index, Ref::borrow(object), part, place});
    found = drawn.end() - 1;
  }
  return Expr::name(fmt::format("c_generator{}", found - drawn.begin()));
}

Expr LoopBuilder::drawn(const LibraryFunction& called, const char* type, std::vector<Expr> operands) {
  block_draws_ = true;
  const loopir::Operation& call = operands.size() == 1   ? op::kCall1
                                  : operands.size() == 2 ? op::kCall2
                                                         : op::kCall3;
  operands.insert(operands.begin(), function(called));
  return temporary(type, Expr::apply(call, std::move(operands)));
}

// An int from first to last, of which the first is not larger.
Expr LoopBuilder::drawn_integer(const LoopValue& generator, const Expr& first, const Expr& last) {
  const GeneratorKind kind = generator_kind_of(generator);
  const LibraryFunction called =
      kind == GeneratorKind::Generator     ? library_function("draw_integer", draw_integer)
      : kind == GeneratorKind::RandomState ? library_function("draw_masked_integer", draw_masked_integer)
                                           : library_function("draw_python_integer", draw_python_integer);
  const Expr result = drawn(called, "i64", {part_of_generator(generator, integer_part(kind)), first, last});
  if (kind == GeneratorKind::Random)
    require(number_beside(result, "!=", integer_literal(kIntNotDrawn).c_str()));
  return result;
}

// Of find_draw. False where Python has to draw.
bool LoopBuilder::draw_of_floats(const LoopValue& generator, const Draw& draw,
                                 const std::vector<LoopValue>& args) {
  using Limit = DrawParameter::Limit;
  std::vector<Expr> operands{part_of_generator(generator, draw.part)};
  for (size_t i = 0; i < draw.parameters.size(); ++i) {
    const DrawParameter& parameter = draw.parameters[i];
    const LoopValue* const given = argument(args, i);
    if (given ? !given->is_number() : std::isnan(parameter.initial)) return false;
    const Expr number =
        given ? temporary("f64", as_float(*given)) : Expr::constant(float_literal(parameter.initial));
    operands.push_back(number);
    if (!given) continue;
    if (parameter.limit == Limit::NotNegative)
      require(both(has_no_sign(number), Expr::apply(op::kIsNotNan, {number})));
    if (parameter.limit == Limit::Positive) require(number_beside(number, ">", "0.0"));
    if (draw.part == GeneratorPart::Object) require(Expr::apply(op::kIsFinite, {number}));
  }
  std::string type = "NumberFunction<f64, i64";
  for (size_t i = 1; i < operands.size(); ++i) type += ", f64";
  const Expr result = drawn({draw.name, draw.address, type + ">"}, "f64", std::move(operands));
  if (draw.part == GeneratorPart::Object) require(Expr::apply(op::kIsNotNan, {result}));
  return push(loop_float(result)), true;
}

// uniform(low, high)
bool LoopBuilder::draw_uniform(const LoopValue& generator, const std::vector<LoopValue>& args) {
  const LoopValue *const low = argument(args, 0), *const high = argument(args, 1);
  const bool is_python = generator_kind_of(generator) == GeneratorKind::Random;
  if ((low && !low->is_number()) || (high && !high->is_number()) || (is_python && (!low || !high)))
    return false;
  const auto random = find_draw(generator_kind_of(generator), "random");
  if (!random) return false;
  LoopValue range = high ? *high : loop_known_float(1.0);
  if (is_python && low->kind == LoopKind::Int && high->kind == LoopKind::Int) {
    range = binary(NB_SUBTRACT, *high, *low);
  } else if (low) {
    const Expr end = temporary("f64", as_float(range)), start = temporary("f64", as_float(*low));
    range = loop_float(operation("f64", end, "-", start));
  }
  const Expr width = temporary("f64", as_float(range));
  const Expr start = low ? temporary("f64", as_float(*low)) : Expr::constant("0.0");
  require(Expr::apply(op::kIsFinite, {width}));
  if (!is_python) require(has_no_sign(width));
  if (!draw_of_floats(generator, *random, {})) return false;
  const Expr share = pop().expr;
  return push(loop_float(operation("f64", start, "+", operation("f64", width, "*", share)))), true;
}

// integers(low, high), randint(low, high), randrange(start, stop): without the end; random.randint: with it.
bool LoopBuilder::draw_of_range(const LoopValue& generator, bool has_end,
                                const std::vector<LoopValue>& args) {
  const GeneratorKind kind = generator_kind_of(generator);
  const LoopValue *low = argument(args, 0), *high = argument(args, 1);
  const bool is_one = !high || (high->kind == LoopKind::Const && high->object == Py_None);
  if (is_one && has_end) return false;
  const LoopValue zero = loop_known_int(0);
  if (is_one) high = low, low = &zero;
  if (!is_whole_number(low) || !is_whole_number(high)) return false;
  if (kind == GeneratorKind::Random && (low->kind != LoopKind::Int || high->kind != LoopKind::Int))
    return false;
  if (kind != GeneratorKind::Random && !has_numpy_draws()) return false;
  const Expr first = temporary("i64", as_index(*low)), end = temporary("i64", as_index(*high));
  for (const Expr& bound : {first, end}) require(Expr::apply(op::kLeavesRoom, {bound}));
  require(Expr::apply(op::infix(has_end ? "<=" : "<"), {first, end}));
  const Expr last = has_end ? end : temporary("i64", number_beside(end, "-", "1L"));
  const Expr result = drawn_integer(generator, first, last);
  const bool nonnegative = low->known && *low->known >= 0;
  push(kind == GeneratorKind::Generator ? loop_numpy(DType::I64, result) : loop_int(result, nonnegative));
  return true;
}

// choice(n), choice(sequence)
bool LoopBuilder::draw_choice(const LoopValue& generator, const std::vector<LoopValue>& args) {
  const LoopValue* const of = argument(args, 0);
  const GeneratorKind kind = generator_kind_of(generator);
  if (!of || (kind != GeneratorKind::Random && !has_numpy_draws())) return false;
  const bool is_number = kind != GeneratorKind::Random && is_whole_number(of);
  const bool is_written_out = of->kind == LoopKind::List || of->kind == LoopKind::Tuple;
  const bool is_one_row = is_array(*of) && num_dims(*of) == 1;
  if (!is_number && !is_written_out && !is_one_row &&
      !(kind == GeneratorKind::Random && of->kind == LoopKind::Vector))
    return false;
  const Expr count = is_written_out ? Expr::constant(integer_literal(static_cast<int64_t>(of->items.size())))
                                    : temporary("i64", is_number ? as_index(*of) : size_text(*of, 0));
  require(Expr::apply(op::kLeavesRoom, {count}));
  require(number_beside(count, ">", "0"));
  const Expr last = temporary("i64", number_beside(count, "-", "1L"));
  const LoopValue index = loop_int(drawn_integer(generator, Expr::constant("0L"), last), true);
  // In range, so that the draw is not made once more.
  if (!is_written_out) return push(is_number ? index : subscript(*of, index)), true;
  std::optional<LoopValue> item = item_at(*of, index);
  if (!item) return false;
  // NumPy chooses from the array of them.
  if (kind != GeneratorKind::Random && item->is_python()) item = as_numpy_scalar(std::move(*item));
  return push(std::move(*item)), true;
}

// poisson(lam), binomial(n, p)
bool LoopBuilder::draw_count(const LoopValue& generator, bool is_poisson,
                             const std::vector<LoopValue>& args) {
  const LoopValue *const first = argument(args, 0), *const second = argument(args, 1);
  if (!has_numpy_draws() || (first && !first->is_number())) return false;
  const Expr bits = part_of_generator(generator, GeneratorPart::Bits);
  if (is_poisson) {
    const Expr rate = first ? temporary("f64", as_float(*first)) : Expr::constant("1.0");
    if (first) require(both(number_beside(rate, ">=", "0.0"), number_beside(rate, "<", "1e18")));
    return push(loop_int(drawn(library_function("draw_poisson", draw_poisson), "i64", {bits, rate}), true)),
           true;
  }
  if (!is_whole_number(first) || !second || !second->is_number()) return false;
  const Expr count = temporary("i64", as_index(*first)), share = temporary("f64", as_float(*second));
  require(number_beside(count, ">=", "0"));
  require(both(number_beside(share, ">=", "0.0"), number_beside(share, "<=", "1.0")));
  return push(loop_int(drawn(library_function("draw_binomial", draw_binomial), "i64", {bits, count, share}),
                       true)),
         true;
}

bool LoopBuilder::call_draw(const LoopValue& generator, const std::string& method,
                            std::vector<LoopValue> args, const Keywords& keywords) {
  const GeneratorKind kind = generator_kind_of(generator);
  const std::vector<std::string> parameters = parameters_of(kind, method);
  for (const auto& [name, value] : keywords) {
    if (utf8(name) == "size" && value.kind == LoopKind::Const && value.object == Py_None) continue;
    const auto found = std::find(parameters.begin(), parameters.end(), utf8(name));
    const auto slot = static_cast<size_t>(found - parameters.begin());
    if (found == parameters.end() || argument(args, slot)) return false;
    args.resize(std::max(args.size(), slot + 1));
    args[slot] = value;
  }
  if (args.size() > parameters.size()) return false;
  const auto draw = find_draw(kind, method);
  if (!draw && parameters.empty()) return false;
  if (kind == GeneratorKind::Random && !has_pythons_method(method)) return false;
  if (draw) return draw_of_floats(generator, *draw, args);
  if (method == "uniform") return draw_uniform(generator, args);
  if (method == "choice") return draw_choice(generator, args);
  if (method == "poisson" || method == "binomial") return draw_count(generator, method == "poisson", args);
  if (method == "getrandbits") {
    if (!argument(args, 0) || !args[0].known || *args[0].known < 1 || *args[0].known > 63) return false;
    const Expr bits = drawn(library_function("draw_bits", draw_bits), "i64",
                            {part_of_generator(generator, GeneratorPart::Object),
                             Expr::constant(integer_literal(*args[0].known))});
    require(number_beside(bits, "!=", integer_literal(kIntNotDrawn).c_str()));
    return push(loop_int(bits, true)), true;
  }
  return draw_of_range(generator, kind == GeneratorKind::Random && method == "randint", args);
}

// Has the class random.Random the method as Python's library has it? Looked at again before every run, as are
// those that the method calls.
bool LoopBuilder::has_pythons_method(const std::string& method) {
  const Ref type = imported("random", "Random");
  for (const std::string& name : {method, std::string("random"), std::string("getrandbits"),
                                  std::string("randrange"), std::string("_randbelow")}) {
    const Ref key = checked(PyUnicode_InternFromString(name.c_str()));
    PyObject* const found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.get()), key.get());
    if (!found) return false;
    const Ref globals = imported("random", "__dict__");
    const bool is_own = PyFunction_Check(found) ? PyFunction_GET_GLOBALS(found) == globals.get()
                                                : Py_TYPE(found) == &PyMethodDescr_Type;
    if (!is_own) return false;
    pin(type.get(), nullptr, key.get(), found);
  }
  return true;
}

bool NativeLoop::finds_generators(const LoopEntry& entry) {
  for (const LoopCode::DrawnFrom& drawn : code.drawn_from) {
    PyObject* const generator =
        drawn.object < 0 ? drawn.generator.get() : entry.objects[static_cast<size_t>(drawn.object)].get();
    void* const part = generator_part(generator, drawn.part);
    if (!part) return false;
    code.functions[drawn.function] = part;
  }
  return true;
}

}  // namespace weft::capture
