#include "capture/loops/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/memory.h"
#include "codegen/prelude.h"
#include "loopir/operations.h"
#include "loopir/print.h"
#include "scalar/elementary.h"

namespace weft::capture {

namespace {

constexpr int kMaxVersions = 24;  // of one position
constexpr size_t kMaxBlocks = 400;

std::string identifier(PyObject* name) {
  std::string result = name ? utf8(name) : "v";
  for (char& c : result)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return result;
}

std::string suffix(const LoopValue& leaf) {
  switch (leaf.kind) {
    case LoopKind::Int: return "i";
    case LoopKind::Float: return "f";
    case LoopKind::Bool: return "b";
    case LoopKind::ListAddress: return "list";
    case LoopKind::Row: return fmt::format("row{}_{}", leaf.index, leaf.dims);
    case LoopKind::Pointer: return element_type(leaf.dtype) + "p";
    default: return c_type(leaf.dtype);
  }
}

// Null: none.
PyObject* name_of_local(const LoopFrame& frame, size_t slot, const std::vector<LoopAttribute>& attributes) {
  const auto& names = frame.code->local_names;
  if (slot < names.size()) return names[slot].get();
  return slot - names.size() < attributes.size() ? attributes[slot - names.size()].name.get() : nullptr;
}

}  // namespace

Expr as_word(const LoopValue& leaf) {
  switch (leaf.kind) {
    case LoopKind::Float: return Expr::apply(op::kWord, {leaf.expr});
    case LoopKind::Row:
    case LoopKind::Pointer: return cast("i64", Expr::apply(op::kBrackets, {leaf.expr}));
    case LoopKind::Numpy:
      return is_floating(leaf.dtype) ? Expr::apply(op::kWord, {cast("f64", leaf.expr)})
                                     : cast("i64", leaf.expr);
    default: return leaf.kind == LoopKind::Int ? leaf.expr : cast("i64", leaf.expr);
  }
}

LoopBuilder::LoopBuilder(std::vector<LoopFrame> entry, std::vector<LoopArray> arrays, LoopObjects objects)
    : entry_(std::move(entry)), arrays_(std::move(arrays)), num_entry_arrays_(arrays_.size()) {
  result_.objects = std::move(objects);
  result_.is_whole = loop_end(*entry_.front().code, entry_.front().ip) < 0;
  std::set<std::string> taken;
  for (LoopArray& array : arrays_) array.name.clear();
  const auto give_name = [&](const LoopValue& value, PyObject* name) {
    if (value.kind != LoopKind::Array) return;
    LoopArray& array = arrays_[static_cast<size_t>(value.index)];
    if (!array.name.empty()) return;
    array.name = identifier(name);
    while (!taken.insert(array.name).second) array.name += "_";
  };
  for (LoopFrame& frame : entry_)
    for (size_t i = 0; i < frame.locals.size(); ++i)
      give_name(frame.locals[i], name_of_local(frame, i, result_.objects.attributes));
  for (size_t i = 0; i < arrays_.size(); ++i)
    if (arrays_[i].name.empty()) arrays_[i].name = fmt::format("array{}", i);
}

std::string LoopBuilder::variable(size_t depth, bool is_stack, size_t slot, const std::string& path,
                                  const LoopValue& leaf) {
  const std::string type = c_type(leaf);
  const std::string key = fmt::format("{} {} {} {} {}", depth, is_stack, slot, path, suffix(leaf));
  auto [found, is_new] = variables_.try_emplace(key);
  if (!is_new) return found->second;
  std::string name = is_stack ? fmt::format("stack{}", slot) : std::string("local");
  if (!is_stack && depth < frames_.size())
    name = identifier(name_of_local(frames_[depth], slot, result_.objects.attributes));
  if (depth > 0) name += fmt::format("_in{}", depth);
  name += path + "_" + suffix(leaf);
  while (variable_types_.count(name)) name += "_";
  variable_types_[name] = type;
  return found->second = name;
}

int LoopBuilder::block_of(std::vector<LoopFrame> frames) {
  std::string key;
  append_key(frames, key);
  auto found = block_of_.find(key);
  if (found != block_of_.end()) return found->second;
  if (blocks_.size() >= kMaxBlocks) return -1;
  std::string position;
  for (const LoopFrame& frame : frames) {
    position += fmt::format("{} {} ", static_cast<const void*>(frame.code), frame.ip);
    for (const LoopValue& value : frame.stack)
      if (is_unrolled(value)) position += fmt::format("={} ", *value.items[0].known);
  }
  if (++versions_[position] > kMaxVersions) return -1;
  std::swap(frames, frames_);  // names of variables come from frames_
  for (size_t depth = 0; depth < frames_.size(); ++depth) {
    const auto assign = [&](LoopValue& value, bool is_stack, size_t slot) {
      for_each_leaf(value, [&](LoopValue& leaf, const std::string& path) {
        leaf.expr = Expr::name(variable(depth, is_stack, slot, path, leaf));
      });
    };
    LoopFrame& frame = frames_[depth];
    for (size_t i = 0; i < frame.locals.size(); ++i) assign(frame.locals[i], false, i);
    for (size_t i = 0; i < frame.stack.size(); ++i) assign(frame.stack[i], true, i);
    assign(frame.extra, true, 999);
  }
  std::swap(frames, frames_);
  const int id = static_cast<int>(blocks_.size());
  Block block;
  block.frames = std::move(frames);
  blocks_.push_back(std::move(block));
  block_of_.emplace(std::move(key), id);
  return id;
}

loopir::Way LoopBuilder::jump_to(const std::vector<LoopFrame>& from) {
  std::vector<LoopFrame> frames = from;
  drop_dead(frames);
  hold_either(frames);
  for (const LoopFrame& frame : frames)
    for (const std::vector<LoopValue>* values : {&frame.locals, &frame.stack})
      for (const LoopValue& value : *values)
        if (value.kind == LoopKind::Pending) throw LoopUnsupported{"an array expression at a branch"};
  std::vector<LoopValue> leaves;
  for_each_leaf(frames, [&](LoopValue& leaf) { leaves.push_back(leaf); });
  for (LoopFrame& frame : frames) {
    for (LoopValue& value : frame.locals) value = generalized(std::move(value));
    for (LoopValue& value : frame.stack) value = generalized(std::move(value));
    frame.extra = generalized(std::move(frame.extra));
  }
  const int target = block_of(frames);
  if (target < 0) {
    has_too_many_blocks_ = true;
    return exit_to(LoopExit::Kind::Perform, frames);
  }
  Edge edge{target, {}};
  loopir::Jump jump{target};
  std::vector<LoopValue> values;
  for_each_leaf(frames, [&](LoopValue& leaf) { values.push_back(leaf); });
  size_t k = 0;
  for_each_leaf(blocks_[static_cast<size_t>(target)].frames, [&](LoopValue& leaf) {
    if (leaf.expr != values[k].expr) {
      jump.moves.push_back({c_type(values[k]), leaf.expr, values[k].expr});
      edge.moves.emplace_back(leaf.expr, leaves[k]);
    }
    ++k;
  });
  block_edges_.push_back(std::move(edge));
  if (checked_ && checked_->blocks.count(target)) jump.version = checked_->head;
  return jump;
}

loopir::Exit LoopBuilder::exit_to(LoopExit::Kind kind, std::vector<LoopFrame> frames) {
  if (parallel_) return {};
  // A call that a polyfill stands in for is Python's to perform from its beginning.
  frames.erase(std::find_if(frames.begin(), frames.end(), stands_in), frames.end());
  drop_dead(frames);
  loopir::Exit exit;
  for_each_leaf(frames, [&](LoopValue& leaf) { exit.words.push_back(as_word(leaf)); });
  result_.num_words = std::max(result_.num_words, exit.words.size());
  std::string key = fmt::format("{} ", static_cast<int>(kind));
  append_key(frames, key);
  auto [found, is_new] = exit_of_.try_emplace(key, static_cast<int>(result_.exits.size()));
  if (is_new) {
    for_each_leaf(frames, [](LoopValue& leaf) { leaf.expr = Expr(); });
    result_.exits.push_back({kind, std::move(frames)});
  }
  exit.number = found->second;
  return exit;
}

void LoopBuilder::require(const Expr& condition) {
  if (condition == "true") return;
  emit(loopir::require(condition, exit_to(LoopExit::Kind::Perform, before_)));
}

Expr LoopBuilder::temporary(const std::string& type, const Expr& value) {
  const std::string name = fresh_name("t");
  emit(loopir::define(type, name, value));
  return Expr::name(name);
}

Expr LoopBuilder::operation(const std::string& type, const Expr& a, const char* symbol, const Expr& b) {
  const std::string name = fresh_name("t");
  emit(loopir::binary(type, name, a, symbol, b));
  return Expr::name(name);
}

Expr LoopBuilder::overflowing(const std::string& type, const std::string& function, bool true_if_fits,
                              const Expr& a, const Expr& b) {
  const std::string name = fresh_name("t");
  emit(loopir::overflow(type, name, function, true_if_fits, a, b, exit_to(LoopExit::Kind::Perform, before_)));
  return Expr::name(name);
}

Expr LoopBuilder::loaded(const std::string& type, const Place& place, const char* part) {
  if (!place.variable.empty()) {
    const Expr kept = Expr::name(place.variable);
    return temporary(type, *part ? Expr::apply(op::part(part), {kept}) : kept);
  }
  const std::string name = fresh_name("t");
  emit(loopir::load(type, name, place.data, place.offset, part));
  return Expr::name(name);
}

void LoopBuilder::store(const Place& place, const Expr& value) {
  emit(loopir::store(place.data, place.offset, value, place.variable));
}

// Long loops look for signals: each round of a loop around loops, and every so many rounds of a `while`.
void LoopBuilder::poll(int target) {
  if (!frame().stack.empty() && is_unrolled(frame().stack.back())) return;
  const Code& code = *frame().code;
  const Instruction& head = code.instructions[static_cast<size_t>(target)];
  int weight = 1;
  if (head.op == Op::ForIter) {
    bool encloses = false;
    for (int i = target + 1; i < before_.back().ip; ++i) {
      const Instruction& in = code.instructions[static_cast<size_t>(i)];
      encloses |= in.op == Op::ForIter || in.op == Op::Call || (in.op == Op::JumpBack && in.arg > target);
    }
    if (encloses) weight = 256;
  }
  if (checked_ && checked_->is_nest && weight == 1) return;
  if (checked_ && !checked_->is_nest &&
      target == blocks_[static_cast<size_t>(checked_->head)].frames.back().ip)
    return;
  emit(loopir::poll(weight, exit_to(LoopExit::Kind::Interrupted, before_)));
}

void LoopBuilder::branch(const Expr& condition, std::vector<LoopFrame> taken,
                         std::vector<LoopFrame> otherwise) {
  emit(loopir::branch(condition, jump_to(taken)));
  emit(loopir::go(jump_to(otherwise)));
  block_done_ = true;
}

void LoopBuilder::build_block(int id) {
  execute_block(id);
  blocks_[static_cast<size_t>(id)].code = std::move(block_code_);
  blocks_[static_cast<size_t>(id)].edges = std::move(block_edges_);
  blocks_[static_cast<size_t>(id)].has_arrays = block_has_arrays_;
  blocks_[static_cast<size_t>(id)].stores_arrays = block_stores_arrays_;
  blocks_[static_cast<size_t>(id)].draws = block_draws_;
}

void LoopBuilder::execute_block(int id) {
  frames_ = blocks_[static_cast<size_t>(id)].frames;
  block_id_ = id;
  block_code_.clear();
  block_edges_.clear();
  block_done_ = false;
  block_has_arrays_ = false;
  block_stores_arrays_ = false;
  block_draws_ = false;
  size_names_.clear();
  settled_indices_.clear();
  if (marks_) mark_affine(id, *marks_);
  bool first = true;
  while (!block_done_) {
    before_ = frames_;
    parts_.clear();
    const int at = frame().ip;
    const Code& code = *frame().code;
    if (!first && jump_targets(code).count(at)) {
      materialize_all();
      emit(loopir::go(jump_to(frames_)));
      break;
    }
    first = false;
    const Instruction& in = code.instructions[static_cast<size_t>(at)];
    const size_t code_size = block_code_.size(), num_edges = block_edges_.size();
    try {
      frame().ip = at + 1;
      execute(in);
    } catch (const LoopUnsupported& unsupported) {
      block_code_.resize(code_size);
      block_edges_.resize(num_edges);
      if (split_either()) break;
      const bool inside = before_.size() > 1 || (at >= result_.head && at < result_.end);
      const bool is_raised = in.op == Op::Raise && is_polyfill(before_.back());
      if (is_raised && first_reason_.empty()) std::tie(first_reason_, first_line_) = stood_in_for();
      if (inside && !checked_ && !parallel_ && !is_raised) {
        result_.notes.push_back(fmt::format("{}:{}: {}", code.file(), code.line(at), unsupported.reason));
        if (first_reason_.empty()) {
          first_reason_ = unsupported.reason;
          first_line_ = code.line(at);
        }
      }
      emit(loopir::go(exit_to(inside ? LoopExit::Kind::Perform : LoopExit::Kind::Leave, before_)));
      break;
    }
  }
}

// Can the blocks go round at all?
bool LoopBuilder::cycles() const {
  for (size_t start = 0; start < blocks_.size(); ++start) {
    const LoopFrame& outermost = blocks_[start].frames.front();
    if (blocks_[start].frames.size() > 1 || outermost.ip != result_.head) continue;
    std::set<int> seen;
    std::vector<int> waiting;
    for (const Edge& edge : blocks_[start].edges) waiting.push_back(edge.target);
    while (!waiting.empty()) {
      const int id = waiting.back();
      waiting.pop_back();
      const Block& block = blocks_[static_cast<size_t>(id)];
      if (block.frames.size() == 1 && block.frames.front().ip == result_.head) return true;
      if (!seen.insert(id).second) continue;
      for (const Edge& edge : block.edges) waiting.push_back(edge.target);
    }
  }
  return false;
}

LoopCode LoopBuilder::build() {
  const LoopFrame& outermost = entry_.front();
  result_.head = outermost.ip;
  result_.end = result_.is_whole ? static_cast<int>(outermost.code->instructions.size())
                                 : loop_end(*outermost.code, outermost.ip);
  result_.name = fmt::format("loop_{}_{}", identifier(outermost.code->code()->co_name),
                             outermost.code->line(outermost.ip));
  frames_ = entry_;
  // The first block holds the entry's values as variables; the prologue sets them.
  std::vector<LoopFrame> entry = entry_;
  for (LoopFrame& f : entry) {
    for (LoopValue& value : f.locals) value = generalized(std::move(value));
    for (LoopValue& value : f.stack) value = generalized(std::move(value));
  }
  block_of(entry);
  for (size_t id = 0; id < blocks_.size(); ++id) build_block(static_cast<int>(id));
  find_either_locals();
  if (result_.is_whole)
    check_whole();
  else if (!cycles())
    throw LoopRejected{first_reason_.empty() ? "it never goes round" : first_reason_, first_line_};
  finish_pass("blocks of bytecode and types");
  for (size_t id = 0, count = blocks_.size(); id < count; ++id) add_checked_loop(static_cast<int>(id));
  for (size_t id = 0; id < blocks_.size(); ++id)
    if (blocks_[id].code.empty()) build_block(static_cast<int>(id));
  finish_pass("versions of innermost loops");
  add_checked_nests();
  finish_pass("versions of nests");
  size_t words = 0;
  for_each_leaf(entry_, [&](LoopValue&) { ++words; });
  result_.num_words = std::max(result_.num_words, words);
  add_parallel_loops();
  finish_pass("rounds shared by threads");
  for (const loopir::Function& rounds : rounds_)
    loopir::PassLog().finish("rounds of a loop", [&] { return rounds; });
  for (const LoopArray& array : arrays_) {
    result_.array_dims.push_back(array.dim);
    result_.num_array_words += static_cast<size_t>(1 + 2 * array.dim);
  }
  for (const loopir::Function& rounds : rounds_) result_.body += loopir::print(rounds);
  result_.body += loopir::print(function());
  result_.source = codegen::with_prelude(codegen::PreludeKind::Loop, elementary_, result_.body);
  return std::move(result_);
}

loopir::Function LoopBuilder::empty_function(const std::string& name, bool makes_arrays) const {
  loopir::Function function;
  function.name = name;
  for (const auto& [called, of] : function_of_)
    function.callees.push_back({called, of.second, static_cast<size_t>(of.first)});
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const LoopArray& array = arrays_[i];
    function.arrays.push_back({array.name, element_type(array.dtype), array.dim, array.unit,
                               makes_arrays && i >= num_entry_arrays_});
  }
  function.num_lists = result_.objects.num_entry_lists();
  function.variables = variable_types_;
  for (const LoopExit& exit : result_.exits) {
    std::vector<LoopFrame> frames = exit.frames;
    size_t words = 0;
    for_each_leaf(frames, [&](LoopValue&) { ++words; });
    function.exits.push_back(words);
  }
  return function;
}

void LoopBuilder::finish_pass(const char* pass) {
  pass_log_.finish(pass, [this] { return function(); });
}

loopir::Block LoopBuilder::block(int id) const {
  const Block& block = blocks_[static_cast<size_t>(id)];
  const LoopFrame& frame = block.frames.back();
  return {id,
          frame.code->line(frame.ip),
          block.code,
          block.shared,
          block.in_turn,
          block.preheader,
          block.checked,
          block.checked_from};
}

loopir::Function LoopBuilder::function() const {
  loopir::Function function = empty_function(result_.name, true);
  std::vector<LoopFrame> entry = blocks_.front().frames;
  for_each_leaf(entry, [&](LoopValue& leaf) {
    function.parameters.push_back({c_type(leaf), leaf.expr, leaf.kind == LoopKind::Int && leaf.nonnegative});
  });
  for (size_t id = 0; id < blocks_.size(); ++id) function.blocks.push_back(block(static_cast<int>(id)));
  return function;
}

LoopCode build_loop(const std::vector<LoopFrame>& entry, const std::vector<LoopArray>& arrays,
                    LoopObjects objects) {
  while (true) {
    try {
      return LoopBuilder(entry, arrays, objects).build();
    } catch (const LoopItemType& found) {
      const size_t num_entry_lists = objects.num_entry_lists();
      objects.made_lists = found.made_lists;
      objects.item_types.resize(num_entry_lists + objects.made_lists.size());
      objects.item_types[static_cast<size_t>(found.list)].push_back(found.type);
    } catch (const LoopEitherLocals& found) {
      objects.either_locals = found.locals;
    } catch (const LoopNotCountedIn& found) {
      objects.not_counted_in.insert(found.place);
    }
  }
}

}  // namespace weft::capture
