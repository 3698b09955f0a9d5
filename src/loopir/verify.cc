#include "loopir/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopir/evaluate.h"
#include "loopir/operations.h"
#include "loopir/print.h"
#include "loopir/text.h"
#include "weft/error.h"

namespace weft::loopir {

namespace {

using Names = std::set<std::string>;
using Types = std::map<std::string, std::string>;

// Expressions of samples have the type of the expression.
class TypeMeanings : public Meanings {
 public:
  explicit TypeMeanings(const Types& types) : types_(types) {}
  Value name(const std::string& name) override {
    const auto found = types_.find(name);
    if (found == types_.end()) throw NotKnown{name};
    const bool is_address = found->second.back() == '*';
    const std::string type =
        is_address ? std::string(found->second.begin(), found->second.end() - 1) : found->second;
    const size_t place = type_place(type);
    if (is_address && place != std::variant_npos) return Address{0, place, 0};
    return converted(int32_t{1}, type);
  }
  void set(const std::string&, const Value&) override {}
  Value element(const Address& address) override { return converted(int32_t{1}, type_at(address.type)); }
  Value call(const std::string& function, const std::vector<Value>&) override { throw NotKnown{function}; }

 private:
  const Types& types_;
};

class FunctionVerifier {
 public:
  explicit FunctionVerifier(const Function& function) : function_(function) {}

  void run() {
    name_what_there_is();
    check_blocks();
    find_assigned();
    for (const Block& block : function_.blocks) {
      where_ = fmt::format("block {}", block.id);
      if (block.shared) check_shared(*block.shared, block.id);
      if (block.preheader) check_preheader(*block.preheader, block.id);
      check_code(block.code, {Jump::kNoVersion, block.id});
      if (!block.version) continue;
      for (const BasicBlock& one : block.version->blocks) {
        where_ = fmt::format("block {} of version {}", one.id, block.id);
        check_code(one.code, {block.id, one.id});
      }
    }
    check_text();
  }

 private:
  using Place = std::pair<int, int>;  // version, block

  [[noreturn]] void fail(const std::string& rule, const Instruction* in = nullptr) const {
    std::string message = fmt::format("native loop {}: {}: {}", function_.name, where_, rule);
    if (in) message += "\n  in " + str(*in);
    throw_error(ErrorKind::Internal, message);
  }

  void name_what_there_is() {
    for (const Array& array : function_.arrays) {
      types_[array.name + "_data"] = array.type + "*";
      for (int d = 0; d < array.dims; ++d)
        for (const char* part : {"n", "s"}) types_[fmt::format("{}_{}{}", array.name, part, d)] = "i64";
    }
    for (size_t k = 0; k < function_.num_lists; ++k) types_[fmt::format("list{}", k)] = "ResizedList*";
    types_["piece_end"] = "i64";
    for (const auto& [variable, type] : function_.variables) {
      if (types_.count(variable)) fail(fmt::format("'{}' is a variable and something else", variable));
      types_[variable] = type;
    }
    for (const Callee& callee : function_.callees) callees_.insert("c_" + callee.name);
  }

  void check_blocks() {
    std::set<Place> seen;
    const auto add = [&](const Place& place) {
      if (!seen.insert(place).second) fail(fmt::format("block {} is there twice", place.second));
    };
    for (const Block& block : function_.blocks) {
      where_ = fmt::format("block {}", block.id);
      add({Jump::kNoVersion, block.id});
      if (block.version.has_value() != block.preheader.has_value()) fail("a version needs a preheader");
      if (!block.version) continue;
      if (block.version->head != block.id || block.version->blocks.empty() ||
          block.version->blocks.front().id != block.id)
        fail("its version begins with another block");
      for (const BasicBlock& one : block.version->blocks) add({block.id, one.id});
    }
    if (function_.blocks.empty()) fail("there are no blocks");
  }

  // Which variables every way to a block has set.
  void find_assigned() {
    Names at_entry;
    for (const Parameter& one : function_.parameters) at_entry.insert(one.variable);
    const int first = function_.rounds ? function_.rounds->head : function_.blocks.front().id;
    std::vector<Place> waiting;
    const auto reach = [&](const Place& place, Names assigned) {
      const auto [found, is_new] = assigned_.try_emplace(place, assigned);
      if (!is_new) {
        const size_t before = found->second.size();
        std::erase_if(found->second, [&](const std::string& name) { return !assigned.count(name); });
        if (found->second.size() == before) return;
      }
      waiting.push_back(place);
    };
    reach({Jump::kNoVersion, first}, at_entry);
    while (!waiting.empty()) {
      const Place place = waiting.back();
      waiting.pop_back();
      Names assigned = assigned_.at(place);
      const Block* block = find_block(function_, place.first < 0 ? place.second : place.first);
      if (!block) continue;  // outside of a function that runs rounds
      if (place.first < 0 && block->preheader) {
        Names entering = assigned;
        for (const Assignment& one : block->preheader->entering) entering.insert(one.name);
        reach({block->id, block->id}, entering);
      }
      const Instructions* code = code_at(place);
      if (!code) continue;
      for (const Instruction& in : *code) {
        if (in.opcode == Opcode::Assign || in.opcode == Opcode::Store) assigned.insert(in.result);
        const Jump* jump = jump_of(in);
        if (!jump || jump->target == Jump::kDone) continue;
        Names moved = assigned;
        for (const Move& move : jump->moves) moved.insert(move.variable);
        reach({jump->version, jump->target}, moved);
      }
    }
  }

  const Instructions* code_at(const Place& place) const {
    const Block* block = find_block(function_, place.first < 0 ? place.second : place.first);
    if (!block || place.first < 0) return block ? &block->code : nullptr;
    for (const BasicBlock& one : block->version->blocks)
      if (one.id == place.second) return &one.code;
    return nullptr;
  }

  void check_code(const Instructions& code, const Place& place) {
    const auto found = assigned_.find(place);
    // A block that nothing leads to any more.
    if (found == assigned_.end()) return;
    assigned_here_ = &found->second;
    local_ = types_;
    temporaries_.clear();
    statements_.clear();
    set_here_.clear();
    if (code.empty() || code.back().opcode != Opcode::Go) fail("it does not end with a jump or an exit");
    for (const Instruction& in : code) {
      if (in.opcode == Opcode::Go && &in != &code.back()) fail("code behind a jump", &in);
      check(in);
    }
    local_ = types_;
    assigned_here_ = nullptr;
  }

  void check(const Instruction& in) {
    for (const Expr& operand : in.operands) check_names(operand, &in);
    if (in.opcode == Opcode::Statement) statements_.push_back(in.operands[0]);
    if (in.opcode == Opcode::Assign || in.opcode == Opcode::Store) {
      if (!in.result.empty() && !types_.count(in.result)) fail(in.result + " is no variable", &in);
      if (!in.result.empty()) set_here_.insert(in.result);
      if (!in.result.empty()) check_conversion(types_.at(in.result), in.operands.back(), &in);
      if (in.opcode == Opcode::Store) check_store(in);
    } else if (!in.result.empty()) {
      if (types_.count(in.result)) fail(in.result + " is a variable, or an array's", &in);
      if (!temporaries_.insert(in.result).second) fail(in.result + " is there already", &in);
      if (in.opcode == Opcode::Define || in.opcode == Opcode::Binary || in.opcode == Opcode::Load)
        check_conversion(in.type, expression(in), &in);
      if (in.opcode == Opcode::Settle) check_conversion("i64", in.operands[0], &in);
      local_[in.result] = in.type;
    }
    if (in.exit) check_exit(*in.exit, in);
    if (!in.way) return;
    if (const Jump* jump = jump_of(in))
      check_jump(*jump, in);
    else
      check_exit(std::get<Exit>(*in.way), in);
  }

  void check_store(const Instruction& in) {
    const std::string array = type_of(in.operands[0]);
    if (array.empty()) return;
    if (array.back() != '*') fail("a store to what is no array", &in);
    check_conversion({array.begin(), array.end() - 1}, in.operands[2], &in);
  }

  void check_exit(const Exit& exit, const Instruction& in) {
    for (const Expr& word : exit.words) {
      check_names(word, &in);
      const std::string type = type_of(word);
      if (!type.empty() && type != "i64" && type != "i32" && type != "u64")
        fail(fmt::format("an exit's word {} is of type {}", str(word), type), &in);
    }
    if (exit.number < 0 || static_cast<size_t>(exit.number) >= function_.exits.size())
      fail("there is no such exit", &in);
    const size_t expected = function_.exits[static_cast<size_t>(exit.number)];
    if (exit.words.size() != expected)
      fail(fmt::format("exit {} needs {} words, not {}", exit.number, expected, exit.words.size()), &in);
  }

  void check_jump(const Jump& jump, const Instruction& in) {
    Names moved;
    for (const Move& move : jump.moves) {
      check_names(move.value, &in);
      const auto variable = function_.variables.find(move.variable);
      if (variable == function_.variables.end()) fail(move.variable + " is no variable", &in);
      if (variable->second != move.type)
        fail(fmt::format("{} is of type {}, and gets {}", move.variable, variable->second, move.type), &in);
      check_conversion(move.type, move.value, &in);
      if (!moved.insert(move.variable).second) fail(move.variable + " is set twice", &in);
    }
    if (jump.target == Jump::kDone) {
      if (!function_.rounds) fail("only a function that runs rounds has an end", &in);
      return;
    }
    const bool leads_away = function_.rounds && jump.version == Jump::kNoVersion;
    if (!leads_away && !code_at({jump.version, jump.target})) fail("there is no such block", &in);
  }

  void check_preheader(const Preheader& preheader, int head) {
    set_scope({Jump::kNoVersion, head});
    for (const Preheader::Counter& one : preheader.counters) {
      for (const Expr& end : {one.first, one.last}) {
        check_names(end, nullptr);
        check_conversion("i64", end, nullptr);
      }
      for (const std::string& name : {first_of(one.head), last_of(one.head)}) {
        local_[name] = "i64";
        temporaries_.insert(name);
      }
    }
    for (const Expr& condition : preheader.conditions) check_condition(condition);
    check_checks(preheader.checks);
    for (const Assignment& one : preheader.entering) {
      check_names(one.value, nullptr);
      if (!types_.count(one.name)) fail(one.name + " is no variable");
      check_conversion(types_.at(one.name), one.value, nullptr);
    }
  }

  void check_shared(const SharedRounds& shared, int head) {
    set_scope({Jump::kNoVersion, head});
    for (const char* name : {"first", "last", "step", "rounds"}) {
      local_[name] = "i64";
      temporaries_.insert(name);
    }
    local_["state"] = "i64*";
    temporaries_.insert("state");
    check_checks(shared.checks);
    for (const std::vector<Expr>* values : {&shared.conflicts, &shared.slabs, &shared.state})
      for (const Expr& value : *values) {
        check_names(value, nullptr);
        check_conversion("i64", value, nullptr);
      }
    for (const Assignment& one : shared.results) {
      if (!function_.variables.count(one.name)) fail(one.name + " is no variable");
      check_conversion(types_.at(one.name), one.value, nullptr);
    }
    check_exit(shared.interrupted, go(shared.interrupted));
  }

  void set_scope(const Place& place) {
    local_ = types_;
    temporaries_.clear();
    statements_.clear();
    set_here_.clear();
    const auto found = assigned_.find(place);
    assigned_here_ = found == assigned_.end() ? nullptr : &found->second;
  }

  void check_checks(const Checks& checks) {
    for (const Expr& atom : checks.atoms) {
      check_names(atom, nullptr);
      check_conversion("i64", atom, nullptr);
    }
    for (const Expr& check : checks.all) check_condition(check);
  }

  void check_condition(const Expr& condition) {
    check_names(condition, nullptr);
    const std::string type = type_of(condition);
    if (!type.empty() && type != "bool") fail(fmt::format("{} is no condition but {}", str(condition), type));
  }

  void check_names(const Expr& expr, const Instruction* in) const {
    if (!expr.is_typed() || expr.is_constant()) return;
    if (expr.is_function()) {
      const std::string& name = expr.text();
      if (name.starts_with("c_") && !callees_.count(name)) fail(name + " is nothing that can be called", in);
      return;
    }
    if (!expr.is_name()) {
      for (const Expr& operand : expr.operands()) check_names(operand, in);
      return;
    }
    const std::string& name = expr.text();
    // A callee may be a value, too: where a generator's state lies.
    if (temporaries_.count(name) || set_here_.count(name) || callees_.count(name)) return;
    if (types_.count(name)) {
      const bool is_variable = function_.variables.count(name) > 0;
      if (!is_variable || !assigned_here_ || assigned_here_->count(name)) return;
      fail(fmt::format("{} may not be set yet", name), in);
    }
    // What C++ of another kind defines is not known.
    const auto defines = [&](const Expr& statement) { return statement.uses(name) > 0; };
    if (std::any_of(statements_.begin(), statements_.end(), defines)) return;
    fail(fmt::format("there is no {}", name), in);
  }

  // Empty: not known.
  std::string type_of(const Expr& expr) const {
    TypeMeanings meanings(local_);
    try {
      return type_name(evaluate(expr, meanings));
    } catch (const NotKnown&) {
      return "";
    } catch (const Undefined&) {
      return "";
    }
  }

  void check_conversion(const std::string& to, const Expr& expr, const Instruction* in) const {
    const std::string from = type_of(expr);
    const auto is_float = [](const std::string& type) { return type == "f32" || type == "f64"; };
    const auto is_number = [](const std::string& type) {
      const size_t place = type_place(type);
      return place != std::variant_npos && type != "c128";
    };
    if (from.empty() || from == to) return;
    if (is_number(from) && to == "c128") return;
    if (is_number(from) && is_number(to) && (is_float(to) || !is_float(from))) return;
    fail(fmt::format("{} is of type {}, not {}", str(expr), from, to), in);
  }

  // Two that print alike are the same.
  void check_text() const {
    const std::string text = str(function_);
    const Function again = parse(text);
    if (str(again) != text || print(again) != print(function_))
      fail("its text does not read back to the same");
  }

  const Function& function_;
  std::string where_ = "its beginning";
  Types types_, local_;  // of what has a name in the function, and here
  Names callees_;
  std::map<Place, Names> assigned_;
  const Names* assigned_here_ = nullptr;
  Names temporaries_, set_here_;
  std::vector<Expr> statements_;  // of the block so far
};

}  // namespace

void verify(const Function& function) { FunctionVerifier(function).run(); }

}  // namespace weft::loopir
