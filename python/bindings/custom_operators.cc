// Operators that programs make (weft.library): builtins of TorchScript whose kernels are Python's.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <deque>
#include <utility>

#include "interpreter_lock.h"
#include "ivalue.h"
#include "jit.h"
#include "script/builtins/builtin.h"
#include "weft/error.h"

namespace weft::python {
namespace {

// A builtin is run by a plain function, so each operator has one, made before there are operators.
constexpr size_t kMostOperators = 1024;

struct CustomOperator {
  const jit::Builtin* builtin = nullptr;
  PyObject* callable = nullptr;  // for the rest of the process
  std::string schema;
};

// Under the interpreter's lock. They stay where they are: one that is running may define another.
std::deque<CustomOperator>& custom_operators() {
  static auto& operators = *new std::deque<CustomOperator>;
  return operators;
}

void run_custom_operator(size_t number, std::span<IValue> arguments, IValue* results) {
  const GilAcquire gil;
  const CustomOperator& op = custom_operators()[number];
  nb::list values;
  for (const IValue& argument : arguments) values.append(to_python(argument));
  const nb::tuple positional(values);
  const nb::object result =
      nb::steal(calling_python([&] { return PyObject_CallObject(op.callable, positional.ptr()); }));
  if (!result) nb::raise_python_error();
  const auto& returns = op.builtin->schema.returns;
  if (returns.empty()) return;
  if (returns.size() == 1) {
    results[0] = to_ivalue(result, returns[0].type);
    return;
  }
  for (size_t i = 0; i < returns.size(); ++i) results[i] = to_ivalue(nb::object(result[i]), returns[i].type);
}

template <size_t Number>
void run_numbered(std::span<IValue> arguments, IValue* results) {
  run_custom_operator(Number, arguments, results);
}

template <size_t... Numbers>
constexpr std::array<jit::BuiltinFn, sizeof...(Numbers)> numbered(std::index_sequence<Numbers...>) {
  return {&run_numbered<Numbers>...};
}
constexpr auto kRun = numbered(std::make_index_sequence<kMostOperators>{});

bool has_variable(const jit::Type& type) {
  if (type.is(jit::TypeKind::Var)) return true;
  if (type.is(jit::TypeKind::Optional) || type.is(jit::TypeKind::List)) return has_variable(*type.element());
  return false;
}

// What a program may write: PyTorch's notation, of types that Python's values have.
jit::Schema parse_custom_schema(const std::string& text) {
  jit::Schema schema = jit::parse_schema(text);
  const auto refuse = [&](const jit::TypePtr& type, const std::string& what) {
    if (!has_variable(*type)) return;
    const size_t at = text.find(type->str(), text.find('('));
    throw_error(ErrorKind::Value,
                fmt::format("schema '{}': column {}: {}: '{}' is no type; types are Tensor, int, SymInt, "
                            "float, bool, str, Scalar, ScalarType, Device, with [] and ?",
                            text, (at == std::string::npos ? text.find('(') : at) + 1, what, type->str()));
  };
  for (const jit::SchemaArgument& argument : schema.arguments) {
    refuse(argument.type, argument.name);
    WEFT_CHECK(schema.find(argument.name) == &argument,
               fmt::format("schema '{}': column {}: two parameters are named '{}'", text,
                           text.rfind(argument.name) + 1, argument.name));
  }
  for (const jit::SchemaReturn& result : schema.returns) refuse(result.type, "result");
  return schema;
}

// (name, overload, [(name, type, is keyword only, is written, has a default, default)], [types of results])
nb::tuple describe_schema(const std::string& text) {
  const jit::Schema schema = parse_custom_schema(text);
  nb::list arguments, returns;
  for (const jit::SchemaArgument& argument : schema.arguments)
    arguments.append(
        nb::make_tuple(argument.name, argument.type->str(), argument.keyword_only, argument.is_written,
                       argument.default_value.has_value(),
                       argument.default_value ? to_python(*argument.default_value) : nb::object(nb::none())));
  for (const jit::SchemaReturn& result : schema.returns) returns.append(result.type->str());
  return nb::make_tuple(schema.name, schema.overload, arguments, returns);
}

// Makes "namespace::name(…) -> …" a builtin that calls `callable` with all arguments by position. One that is
// there already calls the new one; its schema has to be the same.
void define_operator(const std::string& text, nb::handle callable) {
  const jit::Schema schema = parse_custom_schema(text);
  const std::string full = schema.name + (schema.overload.empty() ? "" : "." + schema.overload);
  std::deque<CustomOperator>& operators = custom_operators();
  for (CustomOperator& op : operators) {
    if (op.builtin->schema.name != schema.name || op.builtin->schema.overload != schema.overload) continue;
    WEFT_CHECK(op.builtin->schema.str() == schema.str(),
               fmt::format("operator '{}' is defined already with another schema:\n  {}\n  {}", full,
                           op.builtin->schema.str(), schema.str()));
    op.callable = nb::borrow(callable).release().ptr();  // a call of the former one may be under way
    return;
  }
  WEFT_CHECK(!jit::find_builtin(full), fmt::format("operator '{}' is one of weft's own", full));
  WEFT_CHECK(operators.size() < kMostOperators,
             fmt::format("a program has at most {} operators of its own", kMostOperators));
  const jit::BuiltinFn run = kRun[operators.size()];
  CustomOperator& op = operators.emplace_back();
  op.schema = text;
  op.callable = nb::borrow(callable).release().ptr();
  op.builtin = &jit::register_builtin(op.schema, run, false);
  jit::find_builtin(full);  // has its schema from now on
}

}  // namespace

void bind_custom_operators(nb::module_& m) {
  m.def("describe_schema", &describe_schema);
  m.def("define_operator", &define_operator);
  m.def("dtype_of_number", [](int64_t number) { return to_python(dtype_of_number(number)); });
}

}  // namespace weft::python
