#include "loopir/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "loopir/operations.h"
#include "weft/error.h"

namespace weft::loopir {

namespace {

// The number that is there, of the type of `sample`.
Value number_at(const std::byte* from, const Value& sample) {
  return std::visit(
      [&](auto value) -> Value {
        if constexpr (std::is_same_v<decltype(value), bool>) throw NotKnown{"bools are bytes in arrays"};
        std::memcpy(&value, from, sizeof value);
        return value;
      },
      sample);
}

size_t size_of(const Value& value) {
  return std::visit([](const auto& x) { return sizeof x; }, value);
}

class Interpreter : public Meanings {
 public:
  Interpreter(const Function& function, Given& given) : function_(function), given_(given) {
    WEFT_ASSERT(given.words.size() == function.parameters.size(), "a word for each parameter");
    WEFT_ASSERT(given.arrays.size() == function.arrays.size(), "memory for each array");
    for (size_t k = 0; k < function.arrays.size(); ++k) name_array(k);
    names_["piece_end"] = int64_t{0};
    for (size_t k = 0; k < function.parameters.size(); ++k) {
      const Parameter& one = function.parameters[k];
      const int64_t word = given.words[k];
      const bool is_float = one.type == "f64" || one.type == "f32";
      names_[one.variable] = converted(is_float ? Value(std::bit_cast<double>(word)) : Value(word), one.type);
    }
  }

  Outcome run() {
    int id = function_.rounds ? function_.rounds->head : function_.blocks.front().id;
    int version = Jump::kNoVersion;
    bool goes_round = false;  // the preheader
    while (true) {
      const Block* block = find_block(function_, version < 0 ? id : version);
      if (!block) return {0, {}};
      if (version < 0 && !goes_round && block->preheader && enters(*block->preheader)) version = id;
      const Way way = run_code(code_of(*block, version, id));
      const Jump* jump = std::get_if<Jump>(&way);
      if (!jump) return outcome(std::get<Exit>(way));
      if (jump->target == Jump::kDone) return outcome_of_rounds();
      move(jump->moves);
      goes_round = version < 0 && skips_preheader(function_, *jump, id);
      version = jump->version;
      id = jump->target;
    }
  }

  Value name(const std::string& name) override {
    const auto found = names_.find(name);
    if (found == names_.end()) throw NotKnown{"the name " + name};
    return found->second;
  }
  void set(const std::string& name, const Value& value) override { names_[name] = value; }
  Value element(const Address& address) override { return number_at(place_of(address), sample_of(address)); }
  Value call(const std::string& function, const std::vector<Value>& operands) override {
    const auto found = given_.functions.find(function);
    if (found == given_.functions.end()) throw NotKnown{"the function " + function};
    return found->second(operands);
  }

 private:
  void name_array(size_t k) {
    const Array& array = function_.arrays[k];
    const ArrayMemory& memory = given_.arrays[k];
    const size_t type = type_place(array.type);
    if (array.is_made || type == std::variant_npos) throw NotKnown{"the array " + array.name};
    names_[array.name + "_data"] = Address{k, type, 0};
    for (int d = 0; d < array.dims; ++d) {
      names_[fmt::format("{}_n{}", array.name, d)] = memory.sizes[static_cast<size_t>(d)];
      if (array.unit >> d & 1)
        WEFT_ASSERT(memory.strides[static_cast<size_t>(d)] == 1, "a stride of one element");
      else
        names_[fmt::format("{}_s{}", array.name, d)] = memory.strides[static_cast<size_t>(d)];
    }
  }

  Value sample_of(const Address& address) const {
    return converted(Value(int32_t{0}), function_.arrays[address.array].type);
  }
  std::byte* place_of(const Address& address) {
    std::vector<std::byte>& bytes = given_.arrays[address.array].bytes;
    const auto size = static_cast<int64_t>(size_of(sample_of(address)));
    if (address.index < 0 || (address.index + 1) * size > static_cast<int64_t>(bytes.size()))
      throw Undefined{fmt::format("element {} of {}", address.index, function_.arrays[address.array].name)};
    return bytes.data() + address.index * size;
  }

  static const Instructions& code_of(const Block& block, int version, int id) {
    if (version < 0) return block.code;
    const auto& blocks = block.version->blocks;
    return std::find_if(blocks.begin(), blocks.end(), [&](const BasicBlock& one) { return one.id == id; })
        ->code;
  }

  bool holds(const Expr& condition) { return is_true(evaluate(condition, *this)); }
  int64_t word(const Expr& expr) { return as_word(evaluate(expr, *this)); }

  bool enters(const Preheader& preheader) {
    const uint64_t limit = uint64_t{1} << preheader.checks.bits;
    bool fit = true;
    const auto look_at = [&](int64_t number) { fit &= static_cast<uint64_t>(number) + limit / 2 <= limit; };
    for (const Preheader::Counter& one : preheader.counters) {
      const int64_t first = word(one.first), last = word(one.last);
      names_[first_of(one.head)] = first;
      names_[last_of(one.head)] = last;
      look_at(first);
      look_at(last);
    }
    for (const Expr& atom : preheader.checks.atoms) look_at(word(atom));
    const auto condition_holds = [&](const Expr& condition) { return holds(condition); };
    const std::vector<Expr>&conditions = preheader.conditions, &checks = preheader.checks.all;
    if (!std::all_of(conditions.begin(), conditions.end(), condition_holds) || !fit ||
        !std::all_of(checks.begin(), checks.end(), condition_holds))
      return false;
    for (const Assignment& one : preheader.entering) assign_to(one.name, evaluate(one.value, *this));
    return true;
  }

  // A variable keeps its type.
  Value assign_to(const std::string& name, const Value& value) {
    const auto variable = function_.variables.find(name);
    return names_[name] = variable == function_.variables.end() ? value : converted(value, variable->second);
  }

  void move(const std::vector<Move>& moves) {
    std::vector<Value> values;
    for (const Move& one : moves) values.push_back(converted(evaluate(one.value, *this), one.type));
    for (size_t k = 0; k < moves.size(); ++k) assign_to(moves[k].variable, values[k]);
  }

  Outcome outcome(const Exit& exit) {
    Outcome result{exit.number, {}};
    for (const Expr& one : exit.words) result.words.push_back(word(one));
    return result;
  }

  Outcome outcome_of_rounds() {
    Outcome result;
    result.words = given_.words;
    for (const auto& [place, value] : function_.rounds->results) result.words[place] = word(value);
    return result;
  }

  // The way out of the block.
  Way run_code(const Instructions& code) {
    for (const Instruction& in : code) {
      if (--given_.max_instructions < 0) throw NotKnown{"too many instructions"};
      if (!perform(in))
        return in.opcode == Opcode::Test || in.opcode == Opcode::Branch || in.opcode == Opcode::Go
                   ? *in.way
                   : Way(*in.exit);
    }
    throw NotKnown{"a block without an end"};
  }

  // False where the instruction leaves the block.
  bool perform(const Instruction& in) {
    const auto operand = [&](size_t k) { return evaluate(in.operands[k], *this); };
    switch (in.opcode) {
      case Opcode::Define:
      case Opcode::Binary:
      case Opcode::Load: names_[in.result] = converted(evaluate(expression(in), *this), in.type); return true;
      case Opcode::Declare: names_.erase(in.result); return true;
      case Opcode::Overflow: {
        Value result;
        const Value a = operand(0), b = operand(1);
        if (!compute_fitting(in.symbol, in.type, a, b, &result)) return false;
        names_[in.result] = result;
        return true;
      }
      case Opcode::Settle: {
        int64_t index = word(in.operands[0]);
        const auto size = static_cast<uint64_t>(word(in.operands[1]));
        if (static_cast<uint64_t>(index) >= size) index += static_cast<int64_t>(size);
        if (static_cast<uint64_t>(index) >= size) return false;
        names_[in.result] = index;
        return true;
      }
      case Opcode::Store: {
        Value value = operand(2);
        if (!in.result.empty()) value = assign_to(in.result, value);
        store_at(element_address(operand(0), operand(1)), value);
        return true;
      }
      case Opcode::Assign: assign_to(in.result, operand(0)); return true;
      case Opcode::Require: return is_true(operand(0));
      case Opcode::Poll: return true;
      case Opcode::Test: return goes_on(in);
      case Opcode::Branch: return !is_true(operand(0));
      case Opcode::Go: return false;
      case Opcode::Statement: throw NotKnown{"C++: " + in.operands[0].text()};
    }
    return false;
  }

  static Address element_address(const Value& array, const Value& index) {
    const Address* address = std::get_if<Address>(&array);
    if (!address) throw NotKnown{"a store to what is no array"};
    return {address->array, address->type, address->index + as_word(index)};
  }

  void store_at(const Address& address, const Value& value) {
    const Value stored = converted(value, function_.arrays[address.array].type);
    std::byte* to = place_of(address);
    std::visit([&](const auto& x) { std::memcpy(to, &x, sizeof x); }, stored);
  }

  bool goes_on(const Instruction& in) {
    const auto is_before = [&](const char* symbol) {
      return is_true(evaluate(Expr::apply(op::infix(symbol), {in.operands[0], in.operands[1]}), *this));
    };
    if (in.operands.size() > 2) return is_before(word(in.operands[2]) > 0 ? "<" : ">");
    return is_before(in.symbol.c_str());
  }

  const Function& function_;
  Given& given_;
  std::map<std::string, Value> names_;
};

}  // namespace

Outcome interpret(const Function& function, Given& given) { return Interpreter(function, given).run(); }

}  // namespace weft::loopir
