// Random functions of the form: the C++ that is printed for them, unrolled where that is of use, against the
// interpreter. WEFT_FUZZ_SEED begins elsewhere; a failure prints the function's text and what it was called
// with.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "codegen/prelude.h"
#include "loopir/interpreter.h"
#include "loopir/operations.h"
#include "loopir/print.h"
#include "loopir/text.h"
#include "loopir/unroll.h"
#include "loopir/verify.h"
#include "runtime/toolchain.h"

namespace weft::loopir {
namespace {

constexpr int kFunctionsOfUnit = 48;
constexpr int kCalls = 6;  // of each function
constexpr int64_t kMostElements = 12;

class RandomFunction {
 public:
  RandomFunction(uint64_t seed, std::string name) : random_(seed) {
    function_.name = std::move(name);
    function_.arrays = {{"a", "i64", 1, 1}, {"b", "f64", 1, 0}, {"m", "u8", 1, 1}, {"h", "i32", 1, 1}};
    for (const char* variable : {"i", "n", "k", "l"}) declare_variable(variable, "i64");
    for (const char* variable : {"x", "y"}) declare_variable(variable, "f64");
    declare_variable("q", "bool");
    function_.exits = {function_.parameters.size() + 1, function_.parameters.size(),
                       function_.parameters.size()};
  }

  Function make() {
    function_.blocks = {block(0, {go(jump(1))}), loop_head(), block(4, {go(last_exit())})};
    const int count = below(3);  // blocks of the loop besides its head
    for (int k = 0; k < count; ++k) function_.blocks.insert(function_.blocks.end() - 1, block(2 + k, {}));
    for (int k = 0; k < count; ++k) fill(2 + k, k + 1 < count ? 3 + k : 1);
    Block& head = function_.blocks[1];
    Instructions code = {test(name("i"), "<", name("n"), jump(4))};
    add_code(code);
    if (count > 0 && below(2) == 0)
      code.push_back(branch(condition(), below(4) == 0 ? Way(exit(1)) : Way(jump(2 + below(count)))));
    code.push_back(go(count > 0 && below(3) > 0 ? jump(2) : next_round()));
    head.code = std::move(code);
    function_.blocks[0].code.clear();
    temporaries_.clear();
    add_code(function_.blocks[0].code);
    function_.blocks[0].code.push_back(go(jump(1)));
    if (below(3) > 0) add_version();
    return std::move(function_);
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  static Expr name(const std::string& text) { return Expr::name(text); }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int>(values.size())))];
  }

  void declare_variable(const std::string& variable, const std::string& type) {
    function_.variables[variable] = type;
    function_.parameters.push_back({type, variable});
  }

  Block block(int id, Instructions code) { return {id, id + 1, std::move(code)}; }
  Block loop_head() { return block(1, {}); }

  Block& find(int id) {
    for (Block& one : function_.blocks)
      if (one.id == id) return one;
    return function_.blocks.front();
  }

  std::vector<Expr> state() {
    std::vector<Expr> words;
    for (const Parameter& one : function_.parameters) words.push_back(word_of(one.type, name(one.variable)));
    return words;
  }
  static Expr word_of(const std::string& type, const Expr& value) {
    if (type == "f64") return Expr::apply(op::kWord, {value});
    return type == "i64" ? value : Expr::apply(op::kCast, {value}, "i64");
  }
  Exit exit(int number) { return {number, state()}; }
  Exit last_exit() {
    Exit result{0, state()};
    result.words.push_back(integer_value(1));
    return result;
  }

  // Some variables change; `i` never, but from round to round.
  Jump jump(int target) {
    Jump result{target};
    for (const Parameter& one : function_.parameters) {
      if (one.variable == "i" || one.variable == "n" || below(3) > 0) continue;
      Expr value = one.type == "i64" ? integer_value(1) : one.type == "f64" ? float_value(1) : condition();
      if (value.text() != one.variable) result.moves.push_back({one.type, one.variable, std::move(value)});
    }
    return result;
  }
  Jump next_round() {
    Jump result = jump(1);
    result.moves.push_back({"i64", "i", Expr::apply(op::infix("+"), {name("i"), integer(1)})});
    return result;
  }

  void fill(int id, int next) {
    temporaries_.clear();
    Instructions code;
    add_code(code);
    if (next != 1 && below(3) == 0) code.push_back(branch(condition(), next_round()));
    code.push_back(go(next == 1 ? next_round() : jump(next)));
    find(id).code = std::move(code);
    temporaries_.clear();
  }

  void add_code(Instructions& code) {
    for (int count = below(6); count > 0; --count) add_instruction(code);
  }

  std::string fresh(const std::string& type) {
    const std::string result = fmt::format("t{}", num_temporaries_++);
    pending_ = {result, type};
    return result;
  }
  void note_result() { temporaries_.push_back(pending_); }

  void add_instruction(Instructions& code) {
    switch (below(11)) {
      case 0: code.push_back(define("i64", fresh("i64"), integer_value(2))); break;
      case 1: code.push_back(define("f64", fresh("f64"), float_value(2))); break;
      case 2: code.push_back(define("bool", fresh("bool"), condition())); break;
      case 3: {
        const std::string symbol = one_of<std::string>({"+", "-", "*", "&", "|", "^"});
        code.push_back(
            binary("i64", fresh("i64"), wrapped(integer_value(0), symbol), symbol, integer_value(0)));
        break;
      }
      case 4: {
        const std::string symbol = one_of<std::string>({"+", "-", "*", "/"});
        code.push_back(binary("f64", fresh("f64"), float_value(0), symbol, float_value(0)));
        break;
      }
      case 5: {
        const std::string function =
            one_of<std::string>({"__builtin_add_overflow", "__builtin_sub_overflow", "__builtin_mul_overflow",
                                 "limited_add_overflow", "limited_sub_overflow"});
        code.push_back(
            overflow("i64", fresh("i64"), function, false, integer_value(1), integer_value(1), exit(2)));
        break;
      }
      case 6: {
        const std::string function = one_of<std::string>({"int_power_into", "shift_left_into"});
        const Expr places = Expr::apply(op::infix("&"), {integer_value(0), integer(63)});
        code.push_back(overflow("i64", fresh("i64"), function, true, integer_value(1), places, exit(2)));
        break;
      }
      case 7: return add_access(code, false);
      case 8: return add_access(code, true);
      case 9: code.push_back(require(condition(), exit(1))); return;
      default: code.push_back(poll(1 + below(256), exit(1))); return;
    }
    note_result();
  }

  // Sums of numbers that do not wrap: C++ has no answer where they do.
  static Expr wrapped(const Expr& value, const std::string& symbol) {
    if (symbol != "+" && symbol != "-" && symbol != "*") return value;
    return Expr::apply(op::kCast, {Expr::apply(op::kBrackets, {value})}, "i32");
  }

  void add_access(Instructions& code, bool stores) {
    const std::string array = one_of<std::string>({"a", "b", "m", "h"});
    const Expr size = name(array + "_n0");
    const std::string settled = fresh("i64");
    code.push_back(settle(settled, integer_value(1), size, exit(2)));
    note_result();
    access(code, array, name(settled), stores);
  }

  void access(Instructions& code, const std::string& array, const Expr& settled, bool stores) {
    const Expr index = array == "b" ? Expr::apply(op::infix("*"), {settled, name("b_s0")}) : settled;
    const Expr data = name(array + "_data");
    if (stores) {
      Expr value = array == "b"   ? float_value(1)
                   : array == "m" ? condition()
                   : array == "h"
                       ? Expr::apply(op::kCast, {Expr::apply(op::kBrackets, {integer_value(1)})}, "i32")
                       : integer_value(1);
      code.push_back(store(data, index, std::move(value)));
      return;
    }
    if (array == "b")
      code.push_back(load("f64", fresh("f64"), data, index));
    else if (array == "m")
      code.push_back(load("bool", fresh("bool"), data, index, " != 0"));
    else
      code.push_back(load("i64", fresh("i64"), data, index));
    note_result();
  }

  Expr named(const std::string& type) {
    std::vector<std::string> names;
    for (const auto& [variable, of] : function_.variables)
      if (of == type) names.push_back(variable);
    for (const auto& [temporary, of] : temporaries_)
      if (of == type) names.push_back(temporary);
    return name(one_of(names));
  }

  static Expr in_brackets(const Expr& value) { return Expr::apply(op::kBrackets, {value}); }

  // A name or a number where `depth` is 0: what operands of C++'s operators may be without brackets.
  Expr integer_value(int depth) {
    static const std::vector<int64_t> kNumbers = {0,  1,  -1,   2,         3,         7,
                                                  -5, 63, 1000, INT64_MAX, INT64_MIN, 1L << 53};
    if (depth == 0 || below(3) == 0) return below(4) == 0 ? integer(one_of(kNumbers)) : named("i64");
    const Expr x = simple_integer(depth), y = simple_integer(depth);
    const Expr divisor = integer(1 + below(9));
    switch (below(13)) {
      case 0: return Expr::apply(op::kFloorQuotient, {x, divisor});
      case 1: return Expr::apply(op::kFloorRemainder, {x, divisor});
      case 2: return Expr::apply(op::infix("/"), {x, divisor});
      case 3: return Expr::apply(op::infix("%"), {x, divisor});
      case 4:
        return Expr::apply(op::kShiftRight, {x, in_brackets(Expr::apply(op::infix("&"), {y, integer(127)}))});
      case 5: return Expr::apply(op::kSelect, {simple_condition(), x, y});
      case 6: return Expr::apply(below(2) == 0 ? op::kMinimum : op::kMaximum, {x, y}, "i64");
      case 7: return Expr::apply(op::kBitLength, {x});
      case 8: return Expr::apply(op::kBitCount, {x});
      case 9: return Expr::apply(op::kSign, {x}, "i64");
      case 10: return Expr::apply(op::kCast, {in_brackets(Expr::apply(op::kInvert, {x}))}, "i64");
      case 11: return Expr::apply(op::infix(one_of<std::string>({"&", "|", "^"})), {x, y});
      default: return below(2) == 0 ? Expr::apply(op::kNotBelow, {x, y}) : Expr::apply(op::kNotAbove, {x, y});
    }
  }
  Expr simple_integer(int depth) { return in_brackets(integer_value(depth - 1)); }

  Expr float_value(int depth) {
    if (depth == 0 || below(3) == 0)
      return below(4) == 0 ? Expr::constant(one_of<std::string>({"0.0", "1.0", "(-2.0)", "0.5", "1e300"}))
                           : named("f64");
    const Expr x = in_brackets(float_value(depth - 1)), y = in_brackets(float_value(depth - 1));
    switch (below(11)) {
      case 0: return Expr::apply(op::infix(one_of<std::string>({"+", "-", "*", "/"})), {x, y});
      case 1: return Expr::apply(op::kMinus, {x});
      case 2: return Expr::apply(op::kAbsoluteFloat, {x});
      case 3: return Expr::apply(op::kSquareRoot, {x});
      case 4: return Expr::apply(op::kFloor, {x});
      case 5: return Expr::apply(op::kRound, {x});
      case 6: return Expr::apply(below(2) == 0 ? op::kMinimum : op::kMaximum, {x, y}, "f64");
      case 7: return Expr::apply(op::kSelect, {simple_condition(), x, y});
      case 8: return Expr::apply(op::kCast, {simple_integer(depth)}, "f64");
      case 9: return Expr::apply(op::kCopySign, {x, y});
      default: return Expr::apply(op::kSumOfProducts, {x, y, x, named("f64")});
    }
  }

  Expr condition() {
    switch (below(8)) {
      case 0: return named("bool");
      case 1: return Expr::apply(op::kNot, {simple_condition()});
      case 2: return Expr::apply(op::kIsNan, {in_brackets(float_value(1))});
      case 3: return Expr::apply(op::kIsExact, {integer_value(0)});
      case 4: return Expr::apply(op::kLeavesRoom, {integer_value(0)});
      case 5:
        return Expr::apply(below(2) == 0 ? op::kAnd : op::kOr, {simple_condition(), simple_condition()});
      case 6:
        return Expr::apply(op::infix(comparison()),
                           {in_brackets(float_value(1)), in_brackets(float_value(1))});
      default: return Expr::apply(op::infix(comparison()), {simple_integer(1), simple_integer(1)});
    }
  }
  Expr simple_condition() {
    return in_brackets(below(2) == 0 ? named("bool")
                                     : Expr::apply(op::infix(comparison()), {named("i64"), named("i64")}));
  }
  std::string comparison() { return one_of<std::string>({"<", "<=", ">", ">=", "==", "!="}); }

  // The loop's blocks once more, behind a preheader: with elements at the counter, which is checked there.
  void add_version() {
    Block& head = find(1);
    Preheader before;
    before.counters = {{-1, name("i"), Expr::apply(op::infix("-"), {name("n"), Expr::constant("1")})}};
    before.conditions = {Expr::apply(op::infix("<"), {name("i"), name("n")})};
    before.checks.atoms = {name("k")};
    const std::string array = one_of<std::string>({"a", "b", "h"});
    before.checks.all = {Expr::apply(op::kStaysIn, {integer(1), integer(0), name("first"), name("last"),
                                                    integer(0), name(array + "_n0")})};
    if (below(2) == 0) before.entering = {{"", "l", Expr::apply(op::infix("^"), {name("l"), name("first")})}};
    Version version{1, {}};
    version.step = "1L";
    version.meets = below(2) == 0;
    for (const Block& one : function_.blocks) {
      if (one.id == 0 || one.id == 4) continue;
      Instructions code = one.code;
      for (Instruction& in : code)
        if (Jump* to = jump_of(in); to && to->target != 4) to->version = 1;
      version.blocks.push_back({one.id, std::move(code)});
      head.inside.insert(one.id);
    }
    temporaries_.clear();
    Instructions accesses;
    access(accesses, array, name("i"), below(2) == 0);
    Instructions& code = version.blocks.front().code;
    code.insert(code.begin() + 1, accesses.begin(), accesses.end());
    head.preheader = std::move(before);
    head.version = std::move(version);
  }

  std::mt19937_64 random_;
  Function function_;
  std::vector<std::pair<std::string, std::string>> temporaries_;  // of the block so far, with their types
  std::pair<std::string, std::string> pending_;
  int num_temporaries_ = 0;
};

Given random_call(std::mt19937_64& random) {
  const auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  const auto integer = [&]() -> int64_t {
    switch (below(4)) {
      case 0: return below(20) - 10;
      case 1: return below(2000) - 1000;
      case 2: return static_cast<int64_t>(random());
      default: return below(4);
    }
  };
  const auto number = [&] {
    static const std::vector<double> kNumbers = {0.0, -0.0, 1.0, -1.5, 2.5, 1e18, -1e300, HUGE_VAL, NAN, 0.1};
    return kNumbers[static_cast<size_t>(below(10))];
  };
  Given given;
  const int64_t first = below(3);
  given.words = {first,
                 first + below(10),
                 integer(),
                 integer(),
                 std::bit_cast<int64_t>(number()),
                 std::bit_cast<int64_t>(number()),
                 below(2)};
  given.max_instructions = 2000;
  for (const int64_t size : {8, 8, 1, 4}) {
    const bool is_strided = given.arrays.size() == 1;
    ArrayMemory memory;
    memory.sizes = {below(kMostElements + 1)};
    memory.strides = {is_strided ? 2 : 1};
    memory.bytes.resize(static_cast<size_t>(size * (is_strided ? 2 : 1) * (memory.sizes[0] + 1)));
    for (size_t at = 0; at + static_cast<size_t>(size) <= memory.bytes.size();
         at += static_cast<size_t>(size)) {
      const int64_t word = is_strided ? std::bit_cast<int64_t>(number()) : integer();
      std::memcpy(memory.bytes.data() + at, &word, static_cast<size_t>(size));
    }
    given.arrays.push_back(std::move(memory));
  }
  return given;
}

using Compiled = int64_t (*)(int64_t* io, const int64_t* arrays, const void* const* functions,
                             int64_t (*poll)());

Outcome run_compiled(Compiled compiled, const Function& function, Given& given) {
  std::vector<int64_t> io(32), arrays;
  std::copy(given.words.begin(), given.words.end(), io.begin());
  for (ArrayMemory& memory : given.arrays) {
    arrays.push_back(std::bit_cast<int64_t>(memory.bytes.data()));
    arrays.insert(arrays.end(), memory.sizes.begin(), memory.sizes.end());
    arrays.insert(arrays.end(), memory.strides.begin(), memory.strides.end());
  }
  Outcome result;
  result.exit = static_cast<int>(compiled(io.data(), arrays.data(), nullptr, []() -> int64_t { return 0; }));
  result.words.assign(io.begin(), io.begin() + static_cast<std::ptrdiff_t>(
                                                   function.exits.at(static_cast<size_t>(result.exit))));
  return result;
}

// NaNs are alike: C++ does not say which one an operation gives.
bool same_words(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](int64_t x, int64_t y) {
    return x == y || (std::isnan(std::bit_cast<double>(x)) && std::isnan(std::bit_cast<double>(y)));
  });
}

bool same_arrays(const std::vector<ArrayMemory>& a, const std::vector<ArrayMemory>& b) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (k != 1) {
      if (a[k].bytes != b[k].bytes) return false;
      continue;
    }
    std::vector<int64_t> x(a[k].bytes.size() / 8), y(x.size());
    if (x.empty()) continue;
    std::memcpy(x.data(), a[k].bytes.data(), 8 * x.size());
    std::memcpy(y.data(), b[k].bytes.data(), 8 * y.size());
    if (!same_words(x, y)) return false;
  }
  return true;
}

// How many calls were compared.
int compare_unit(uint64_t seed) {
  std::vector<Function> functions;
  std::string body;
  for (int k = 0; k < kFunctionsOfUnit; ++k) {
    functions.push_back(
        RandomFunction(seed * kFunctionsOfUnit + static_cast<uint64_t>(k), fmt::format("fuzz_{}", k)).make());
    verify(functions.back());
    Function printed = functions.back();
    for (Block& block : printed.blocks)
      if (block.version) unroll(*block.version);
    body += print(printed);
  }
  const runtime::LoadedKernel loaded = runtime::load_kernel(
      codegen::compile_request("loop_fuzz", codegen::with_prelude(codegen::PreludeKind::Loop, {}, body)));
  int compared = 0;
  std::mt19937_64 random(seed);
  for (const Function& function : functions) {
    const auto compiled = reinterpret_cast<Compiled>(loaded.module->symbol(function.name));
    for (int call = 0; call < kCalls; ++call) {
      Given given = random_call(random), copy = given;
      Outcome expected;
      try {
        expected = interpret(function, given);
      } catch (const Undefined&) {
        continue;
      } catch (const NotKnown& reason) {
        EXPECT_EQ(reason.reason, "too many instructions");
        continue;
      }
      const std::vector<int64_t> words = copy.words;
      const Outcome got = run_compiled(compiled, function, copy);
      ++compared;
      if (got.exit == expected.exit && same_words(got.words, expected.words) &&
          same_arrays(given.arrays, copy.arrays))
        continue;
      ADD_FAILURE() << fmt::format(
          "seed {}: called with {}: exit {} with {}, the interpreter has exit {} with {}\n{}", seed,
          fmt::join(words, ", "), got.exit, fmt::join(got.words, ", "), expected.exit,
          fmt::join(expected.words, ", "), str(function));
      return compared;
    }
  }
  return compared;
}

void compare_units(uint64_t count) {
  const char* given = std::getenv("WEFT_FUZZ_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  int compared = 0;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed)
    compared += compare_unit(seed);
  // Most calls have an answer.
  if (!testing::Test::HasFailure()) {
    EXPECT_GT(compared, static_cast<int>(count) * kFunctionsOfUnit * kCalls / 2);
  }
}

TEST(LoopFormFuzz, PrintedCodeComputesWhatTheInterpreterDoes) { compare_units(2); }
TEST(LongLoopFormFuzz, PrintedCodeComputesWhatTheInterpreterDoes) { compare_units(60); }

}  // namespace
}  // namespace weft::loopir
