// Builtins that are not tensor operators, called by their schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "script/builtins/builtin.h"
#include "script/syntax/parser.h"
#include "support/tests_dir.h"
#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

TEST(Builtins, EverySchemaParsesAndPrintsAsItParses) {
  for (const std::string& name : all_builtin_names()) {
    for (const Builtin* builtin : find_builtins(name)) {
      EXPECT_EQ(builtin->schema.name, name);
      EXPECT_NO_THROW(parse_schema(builtin->schema.str())) << builtin->schema.str();
    }
  }
}

// The value that a literal of the table stands for.
IValue value_of(const Expr& expr) {
  if (const auto* constant = expr.as<Expr::Constant>()) {
    return std::visit(
        [](const auto& value) -> IValue {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::monostate>)
            return {};
          else
            return value;
        },
        constant->value);
  }
  if (const auto* name = expr.as<Expr::Name>()) return name->id == "inf" ? INFINITY : NAN;
  if (const auto* unary = expr.as<Expr::Unary>()) {
    const IValue operand = value_of(*unary->operand);
    return operand.is_int() ? IValue(-operand.to_int()) : IValue(-operand.to_double());
  }
  std::vector<IValue> values;
  if (const auto* dict = expr.as<Expr::Dict>()) {
    IValue result = IValue::dict(Type::string(), Type::any());
    for (const auto& [key, value] : dict->items) result.to_dict()->set(value_of(*key), value_of(*value));
    return result;
  }
  const auto* list = expr.as<Expr::List>();
  for (const ExprPtr& element : list ? list->elements : expr.as<Expr::Tuple>()->elements)
    values.push_back(value_of(*element));
  if (!list) return IValue::tuple(std::move(values));
  const TypePtr element = values.empty() ? Type::integer() : values[0].type();
  return IValue::list(element, std::move(values));
}

std::vector<IValue> arguments_of(const std::string& text) {
  if (text.empty()) return {};
  const ExprPtr expr =
      parse_expression(std::make_shared<Source>(Source{.text = "(" + text + ",)", .file = "table"}));
  return value_of(*expr).to_tuple()->values;
}

// What the builtin gives; the changed first argument where it gives nothing.
std::string result_of(const Builtin& builtin, std::vector<IValue> arguments) {
  const IValue self = arguments.at(0);
  const size_t count = builtin.schema.returns.size();
  std::vector<IValue> results(std::max<size_t>(count, 1));
  builtin.run(arguments, results.data());
  if (count == 0) return self.repr();
  return count == 1 ? results[0].repr() : IValue::tuple(results).repr();
}

// Numbers may differ in the last digits: Python has gamma functions of its own, weft the C library's.
bool is_same(const std::string& got, const std::string& expected) {
  if (got == expected) return true;
  char* end = nullptr;
  const double a = std::strtod(got.c_str(), &end);
  if (end == got.c_str() || *end) return false;
  const double b = std::strtod(expected.c_str(), &end);
  return end != expected.c_str() && !*end && std::fabs(a - b) <= 2e-15 * std::fabs(b);
}

// builtins_table.txt: what Python gives.
TEST(Builtins, GiveWhatPythonGives) {
  std::ifstream table(std::string(testing_support::kTestsDir) + "/script/builtins/builtins_table.txt");
  int rows = 0, wrong = 0;
  for (std::string line; std::getline(table, line); ++rows) {
    const size_t first = line.find('\t'), last = line.rfind('\t');
    const std::string name = line.substr(0, first), arguments = line.substr(first + 1, last - first - 1),
                      expected = line.substr(last + 1);
    const Builtin* builtin = find_builtin(name);
    ASSERT_NE(builtin, nullptr) << name;
    std::string got;
    try {
      got = result_of(*builtin, arguments_of(arguments));
    } catch (const Error& error) {
      got = "!";
      EXPECT_EQ(expected[0], '!') << name << "(" << arguments << "): " << error.what();
      EXPECT_NE(error.kind(), ErrorKind::Internal);
    }
    // Where Python raises for want of a finite result, PyTorch gives C's.
    const bool is_not_finite = expected[0] == '!' && got.find_first_of("0123456789") == std::string::npos;
    if (got != "!" && !is_not_finite && !is_same(got, expected) && ++wrong < 40) {
      ADD_FAILURE() << name << "(" << arguments << ") gave " << got << ", Python gives " << expected;
    }
  }
  EXPECT_GT(rows, 5000);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::jit
