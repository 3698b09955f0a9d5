// Operators that take graphs: branches, loops, and regions that are run as they stand.
#include <algorithm>
#include <deque>
#include <limits>

#include "exported/graph_lowering.h"
#include "exported/lower.h"
#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"

namespace weft::exported {
using jit::Type;

const Json& GraphLowering::graph_argument(const Argument& argument) const {
  const auto [kind, value] = choice(*argument.value, where_);
  if (kind != "as_graph") fail(where_ + ": an argument is no graph");
  return field(value, "graph", where_);
}

Values GraphLowering::operands(const Argument& argument) {
  const auto [kind, value] = choice(*argument.value, where_);
  if (kind != "as_tensors" && kind != "as_sym_ints" && kind != "as_ints") return {value_of(*argument.value, where_)};
  Values result;
  for (const Json& item : items(value, where_)) {
    if (kind == "as_tensors")
      result.push_back(find(text(item, "name", where_)));
    else
      result.push_back(kind == "as_ints" ? constant(integer(item, where_)) : value_of({{"as_sym_int", item}}, where_));
  }
  return result;
}

Values GraphLowering::inline_graph(const Json& graph, const Values& inputs) {
  if (graphs_.size() >= kMaxGraphs) fail(fmt::format("graphs are nested deeper than {}", kMaxGraphs));
  const std::string outer = where_;
  const Json& names = list(graph, "inputs", where_);
  if (names.size() != inputs.size())
    fail(fmt::format("{}: a graph takes {} values, and is given {}", where_, names.size(), inputs.size()));
  std::map<std::string, ir::Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto [kind, value] = choice(names[i], where_);
    if (kind == "as_tensor")
      values[text(value, "name", where_)] = inputs[i];
    else if (value.is_object() && value.contains("as_name"))
      values[text(value, "as_name", where_)] = inputs[i];
  }
  graphs_.push_back({&graph, std::move(values)});
  lower_nodes();
  Values outputs;
  for (const Json& output : list(graph, "outputs", where_)) {
    const auto [kind, value] = choice(output, where_);
    if (kind == "as_tensors")
      for (const Json& item : items(value, where_)) outputs.push_back(find(text(item, "name", where_)));
    else
      outputs.push_back(value_of(output, where_));
  }
  graphs_.pop_back();
  where_ = outer;
  return outputs;
}

struct GraphLowering::Region {
  const char* name;
  size_t least;  // arguments
  void (*lower)(GraphLowering& self, const std::vector<Argument>& arguments, const Json& outputs);
};

std::span<const GraphLowering::Region> GraphLowering::regions() {
  using Self = GraphLowering;
  using Arguments = std::vector<Argument>;
  static constexpr Region kRegions[] = {
      {"cond", 4, [](Self& self, const Arguments& given, const Json& out) { self.lower_cond(given, out); }},
      {"while_loop", 3,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_while(given, out); }},
      {"map_impl", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_map(given, out); }},
      {"map", 2, [](Self& self, const Arguments& given, const Json& out) { self.lower_map(given, out); }},
      {"scan", 3, [](Self& self, const Arguments& given, const Json& out) { self.lower_scan(given, out); }},
      {"associative_scan", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_associative_scan(given, out); }},
      {"wrap_with_set_grad_enabled", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_inline(given, 1, out); }},
      {"invoke_subgraph", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_inline(given, 0, out); }},
      {"strict_mode", 1,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_inline(given, 0, out); }},
      {"wrap_with_autocast", 5,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_autocast(given, out); }},
      {"with_effects", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_effects(given, out); }},
      {"auto_functionalized_v2", 2,
       [](Self& self, const Arguments& given, const Json& out) { self.lower_functionalized(given, out); }},
  };
  return kRegions;
}

std::vector<std::string> region_names() {
  std::vector<std::string> names;
  for (const auto& region : GraphLowering::regions()) names.emplace_back(region.name);
  return names;
}

void GraphLowering::lower_region(const std::string& name, const std::vector<Argument>& arguments,
                                 const Json& outputs) {
  for (const Region& region : regions()) {
    if (name != region.name) continue;
    if (arguments.size() < region.least)
      fail(fmt::format("{}: expected {} arguments, got {}", where_, region.least, arguments.size()));
    return region.lower(*this, arguments, outputs);
  }
  missing_.emplace("higher_order::" + name, "");
  bind_unknown(outputs);
}

void GraphLowering::lower_inline(const std::vector<Argument>& arguments, size_t graph, const Json& outputs) {
  Values inputs;
  for (size_t i = graph + 1; i < arguments.size(); ++i) {
    if (arguments[i].value->contains("as_string")) continue;  // a graph's name
    for (ir::Value* value : operands(arguments[i])) inputs.push_back(value);
  }
  const Values results = inline_graph(graph_argument(arguments[graph]), inputs);
  bind_outputs(outputs, results);
}

// (device, dtype, is it on?, are casts kept?, graph, operands…)
void GraphLowering::lower_autocast(const std::vector<Argument>& arguments, const Json& outputs) {
  const IValue device = constant_value(*arguments[0].value), dtype = constant_value(*arguments[1].value);
  const IValue enabled = constant_value(*arguments[2].value);
  const bool is_on = enabled.is_bool() && enabled.to_bool() && device.is_string() && device.to_string() == "cpu";
  autocast_.push_back(!is_on ? std::nullopt : std::optional(dtype.is_none() ? DType::BF16 : dtype.to_dtype()));
  lower_inline(arguments, 4, outputs);
  autocast_.pop_back();
}

// (token, operator, its arguments…): what is ordered by tokens is in the graph's order already.
void GraphLowering::lower_effects(const std::vector<Argument>& arguments, const Json& outputs) {
  const auto [kind, target] = choice(*arguments[1].value, where_);
  if (kind != "as_operator" || outputs.empty()) fail(where_ + ": expected an operator and a token");
  bind_output(outputs[0], emitter_.none(range_));
  Json results = Json::array();
  for (size_t i = 1; i < outputs.size(); ++i) results.push_back(outputs[i]);
  lower_target(text(target, where_), {arguments.begin() + 2, arguments.end()}, results);
}

// (operator, its arguments by name, _all_bases): what the operator writes to are copies of the bases, or
// views of those; the results are its own, then the copies. Of a written argument x, "_x_base_index" says
// which base, and "_x_alias",
// "_x_slice_dim", "_x_size" and others which view; "_x_length" is there of a list.
void GraphLowering::lower_functionalized(const std::vector<Argument>& arguments, const Json& outputs) {
  const auto [kind, named] = choice(*arguments[0].value, where_);
  if (kind != "as_operator") fail(where_ + ": expected an operator");
  const std::string& target = text(named, "name of an operator");
  const jit::Builtin* const builtin = find_operator(target);
  if (!builtin) return lower_target(target, {}, outputs);  // is noted as missing
  std::map<std::string, const Json*> given;
  for (size_t i = 1; i < arguments.size(); ++i) given[arguments[i].name] = arguments[i].value;
  const auto take = [&](const std::string& name) -> const Json& {
    const auto found = given.find(name);
    if (found == given.end())
      fail(fmt::format("{}: {} has no argument '{}'", where_, printable(target), printable(name)));
    const Json& value = *found->second;
    given.erase(found);
    return value;
  };
  const auto is_none = [](const Json& value) { return value.is_object() && value.contains("as_none"); };

  struct Base {
    std::string name;
    ir::Value* copy = nullptr;  // null of None
  };
  std::vector<Base> bases;
  const Json& all = take("_all_bases");
  if (is_unknown(all)) return bind_unknown(outputs);
  const auto [list_kind, list] = choice(all, where_);
  if (list_kind != "as_tensors" && list_kind != "as_optional_tensors" && list_kind != "as_ints")
    fail(where_ + ": the bases are no tensors");
  for (const Json& item : items(list, where_)) {
    Base& base = bases.emplace_back();
    if (is_none(item)) continue;
    base.name = text(list_kind == "as_tensors" ? item : field(item, "as_tensor", where_), "name", where_);
    base.copy = call("aten::clone", {find(base.name)});
  }

  std::deque<Json> made;
  const auto view = [&](const std::string& prefix) -> Json {
    const Json& index = take(prefix + "_base_index");
    if (is_none(index)) return index;
    const size_t at = static_cast<size_t>(integer(field(index, "as_int", where_), where_));
    if (at >= bases.size() || !bases[at].copy) fail(where_ + ": there is no such base");
    const Base& base = bases[at];
    ir::Value* value = base.copy;
    const auto operand = [&](const char* suffix) { return value_of(take(prefix + suffix), where_); };
    if (given.contains(prefix + "_alias")) {
      take(prefix + "_alias");
    } else if (given.contains(prefix + "_slice_dim")) {
      ir::Value *dim = operand("_slice_dim"), *start = operand("_slice_start"), *end = operand("_slice_end");
      value = call("aten::slice", {value, dim, start, end});
    } else if (given.contains(prefix + "_storage_offset")) {
      ir::Value *size = operand("_size"), *stride = operand("_stride"), *offset = operand("_storage_offset");
      require(call("aten::is_contiguous", {find(base.name)}),
              fmt::format("{} writes to a view of '{}', which is not contiguous", target, base.name));
      value = call("aten::as_strided", {value, size, stride, offset});
    }
    const std::string name = fresh(base.name);
    copies_[name] = base.name;
    bind(name, value);
    return Json{{"as_tensor", {{"name", name}}}};
  };
  std::vector<Argument> operands;
  for (const jit::SchemaArgument& formal : builtin->schema.arguments) {
    if (!formal.is_written) {
      if (given.contains(formal.name)) operands.push_back({formal.name, &take(formal.name)});
      continue;
    }
    const std::string prefix = "_" + formal.name;
    if (!given.contains(prefix + "_length")) {
      made.push_back(view(prefix));
    } else if (const Json& length = take(prefix + "_length"); is_none(length)) {
      made.push_back(length);
    } else {
      Json parts = Json::array();
      const int64_t count = integer(field(length, "as_int", where_), where_);
      for (int64_t i = 0; i < count; ++i)
        parts.push_back(field(view(fmt::format("{}_{}", prefix, i)), "as_tensor", where_));
      made.push_back(Json{{"as_tensors", std::move(parts)}});
    }
    operands.push_back({formal.name, &made.back()});
  }
  if (!given.empty())
    fail(fmt::format("{}: {} takes no argument '{}'", where_, printable(target),
                     printable(given.begin()->first)));
  if (outputs.size() < bases.size()) fail(where_ + ": the bases have no names");
  const size_t own = outputs.size() - bases.size();
  Json results = Json::array();
  for (size_t i = 0; i < own; ++i) results.push_back(outputs[i]);
  lower_target(target, operands, results);
  for (size_t i = 0; i < bases.size(); ++i)
    if (bases[i].copy) bind_output(outputs[own + i], bases[i].copy);
}

// (predicate, graph, graph, operands)
void GraphLowering::lower_cond(const std::vector<Argument>& arguments, const Json& outputs) {
  jit::Condition condition;
  condition.value = truth_of(value_of(*arguments[0].value, where_));
  const Values inputs = operands(arguments[3]);
  const std::string result = fresh("cond");
  size_t count = 0;
  const auto branch = [&](size_t graph) {
    const Values results = inline_graph(graph_argument(arguments[graph]), inputs);
    count = results.size();
    for (size_t i = 0; i < count; ++i) set(fmt::format("{}.{}", result, i), results[i]);
  };
  emitter_.emit_branches(condition, range_, [&] { branch(1); }, [&] { branch(2); });
  Values results;
  for (size_t i = 0; i < count; ++i) results.push_back(get(fmt::format("{}.{}", result, i)));
  bind_outputs(outputs, results);
}

// (condition, body, carried, further operands)
void GraphLowering::lower_while(const std::vector<Argument>& arguments, const Json& outputs) {
  Values carried = operands(arguments[2]), further;
  if (arguments.size() > 3) further = operands(arguments[3]);
  const std::string name = fresh("while");
  std::set<std::string> assigned;
  for (size_t i = 0; i < carried.size(); ++i) {
    const std::string one = fmt::format("{}.{}", name, i);
    set(one, carried[i]);
    assigned.insert(one);
  }
  const auto inputs = [&] {
    Values values;
    for (size_t i = 0; i < carried.size(); ++i) values.push_back(get(fmt::format("{}.{}", name, i)));
    values.insert(values.end(), further.begin(), further.end());
    return values;
  };
  const auto condition = [&] {
    const Values result = inline_graph(graph_argument(arguments[0]), inputs());
    if (result.size() != 1) fail(where_ + ": the condition has not one result");
    return truth_of(result[0]);
  };
  jit::Emitter::LoopPlan plan;
  plan.trip_count = constant(std::numeric_limits<int64_t>::max());
  plan.first = condition();
  plan.assigned = std::move(assigned);
  plan.body = [&] {
    const Values results = inline_graph(graph_argument(arguments[1]), inputs());
    if (results.size() != carried.size()) fail(where_ + ": the body's results are not what it carries");
    for (size_t i = 0; i < results.size(); ++i) set(fmt::format("{}.{}", name, i), results[i]);
  };
  plan.next = condition;
  emitter_.emit_loop(plan, range_);
  Values results;
  for (size_t i = 0; i < carried.size(); ++i) results.push_back(get(fmt::format("{}.{}", name, i)));
  bind_outputs(outputs, results);
}

void GraphLowering::loop_over(const Values& xs, const std::set<std::string>& assigned,
                              const std::function<void(const Values& elements)>& body) {
  if (xs.empty()) fail(where_ + ": nothing to loop over");
  jit::Emitter::LoopPlan plan;
  plan.trip_count = call("aten::size", {xs[0], constant(int64_t{0})});
  plan.first = constant(true);
  plan.assigned = assigned;
  ir::Value* index = nullptr;
  plan.start = [&](ir::Value* counter) { index = counter; };
  plan.body = [&] {
    Values elements;
    for (ir::Value* x : xs) elements.push_back(call("aten::select", {x, constant(int64_t{0}), index}));
    body(elements);
  };
  emitter_.emit_loop(plan, range_);
}

size_t GraphLowering::lower_vmap(const Json& nodes, size_t begin, size_t end) {
  const auto target = [&](size_t i) -> const std::string& { return text(nodes[i], "target", "a node"); };
  const auto argument = [&](const Json& node, size_t i) -> const Json& {
    const Json& inputs = list(node, "inputs", where_);
    if (inputs.size() <= i) fail(where_ + ": arguments are missing");
    return field(inputs[i], "arg", where_);
  };
  size_t last = begin + 1;
  for (size_t depth = 1; last < end; ++last) {
    if (target(last) == kVmapBegins) ++depth;
    if (target(last) == kVmapEnds && --depth == 0) break;
  }
  if (last >= end) fail("a batched function has no end");
  constexpr std::string_view add = "torch._functorch.predispatch._add_batch_dim";
  constexpr std::string_view remove = "torch._functorch.predispatch._remove_batch_dim";
  // Of the results that are put together behind the loop: the list, the dimension, the name. Functions inside have their
  // own.
  struct Result {
    ir::Value* parts;
    ir::Value* dim;
    std::string name;
  };
  std::map<size_t, Result> results;
  size_t depth = 0;
  for (size_t i = begin; i < last; ++i) {
    if (target(i) == kVmapBegins) ++depth;
    if (target(i) == kVmapEnds) --depth;
    if (depth != 1 || target(i) != remove) continue;
    where_ = target(i);
    const Json& outputs = list(nodes[i], "outputs", where_);
    if (outputs.size() != 1) fail(where_ + ": it has not one result");
    results[i] = {emitter_.make_list(Type::tensor(), {}, range_), value_of(argument(nodes[i], 3), where_),
                  text(choice(outputs[0], where_).value, "name", where_)};
  }
  where_ = target(begin);
  ir::Value* const count = value_of(argument(nodes[begin], 0), where_);
  const IValue* known = jit::constant_of(count);
  if (known && known->is_int() && known->to_int() == 0) {  // nothing is computed: the graph says what there would be
    for (const auto& [at, result] : results) {
      const Json& meta = tensor_meta(result.name);
      Values sizes;
      for (const Json& size : list(meta, "sizes", where_)) sizes.push_back(constant(constant_value(size)));
      ir::Value* const nothing = call("aten::zeros", {emitter_.make_list(Type::integer(), sizes, range_)});
      bind(result.name, call("aten::to", {nothing, constant(dtype_of(field(meta, "dtype", where_), where_))}));
    }
    return last;
  }
  jit::Emitter::LoopPlan plan;
  plan.trip_count = count;
  plan.first = constant(true);
  ir::Value* index = nullptr;
  plan.start = [&](ir::Value* counter) { index = counter; };
  plan.body = [&] {
    size_t from = begin + 1;
    size_t inside = 0;
    for (size_t i = begin + 1; i < last; ++i) {
      if (target(i) == kVmapBegins) ++inside;
      if (target(i) == kVmapEnds) --inside;
      if (inside > 0 || (target(i) != add && target(i) != remove)) continue;
      lower_range(nodes, from, i);
      from = i + 1;
      where_ = target(i);
      ir::Value* const value = value_of(argument(nodes[i], 0), where_);
      if (target(i) == remove) {
        call("aten::append", {results.at(i).parts, value});
        continue;
      }
      const Json& outputs = list(nodes[i], "outputs", where_);
      if (outputs.size() != 1) fail(where_ + ": it has not one result");
      bind_output(outputs[0], call("aten::select", {value, value_of(argument(nodes[i], 1), where_), index}));
    }
    lower_range(nodes, from, last);
  };
  const std::map<std::string, ir::Value*> outside = graphs_.back().values;
  emitter_.emit_loop(plan, range_);
  graphs_.back().values = outside;
  for (const auto& [at, result] : results)
    bind(result.name, call("aten::stack", {result.parts, result.dim}));
  return last;
}

// (graph, what is mapped, further operands): results stacked.
void GraphLowering::lower_map(const std::vector<Argument>& arguments, const Json& outputs) {
  const Values xs = operands(arguments[1]);
  Values further;
  if (arguments.size() > 2) further = operands(arguments[2]);
  const Json& graph = graph_argument(arguments[0]);
  const size_t count = list(graph, "outputs", where_).size();
  Values lists;
  for (size_t i = 0; i < count; ++i) lists.push_back(emitter_.make_list(Type::tensor(), {}, range_));
  loop_over(xs, {}, [&](const Values& elements) {
    Values inputs = elements;
    inputs.insert(inputs.end(), further.begin(), further.end());
    const Values results = inline_graph(graph, inputs);
    for (size_t i = 0; i < count; ++i) call("aten::append", {lists[i], results.at(i)});
  });
  Values results;
  for (ir::Value* each : lists) results.push_back(call("aten::stack", {each, constant(int64_t{0})}));
  bind_outputs(outputs, results);
}

// (graph, carried, what is scanned, further operands): the last carried, then results stacked.
void GraphLowering::lower_scan(const std::vector<Argument>& arguments, const Json& outputs) {
  const Values carried = operands(arguments[1]), xs = operands(arguments[2]);
  Values further;
  if (arguments.size() > 3) further = operands(arguments[3]);
  const Json& graph = graph_argument(arguments[0]);
  const size_t count = list(graph, "outputs", where_).size();
  if (count < carried.size()) fail(where_ + ": the graph's results are fewer than what it carries");
  const std::string name = fresh("scan");
  std::set<std::string> assigned;
  for (size_t i = 0; i < carried.size(); ++i) {
    const std::string one = fmt::format("{}.{}", name, i);
    set(one, carried[i]);
    assigned.insert(one);
  }
  Values lists;
  for (size_t i = carried.size(); i < count; ++i) lists.push_back(emitter_.make_list(Type::tensor(), {}, range_));
  loop_over(xs, assigned, [&](const Values& elements) {
    Values inputs;
    for (size_t i = 0; i < carried.size(); ++i) inputs.push_back(get(fmt::format("{}.{}", name, i)));
    inputs.insert(inputs.end(), elements.begin(), elements.end());
    inputs.insert(inputs.end(), further.begin(), further.end());
    const Values results = inline_graph(graph, inputs);
    for (size_t i = 0; i < carried.size(); ++i) set(fmt::format("{}.{}", name, i), results.at(i));
    for (size_t i = 0; i < lists.size(); ++i) call("aten::append", {lists[i], results.at(carried.size() + i)});
  });
  Values results;
  for (size_t i = 0; i < carried.size(); ++i) results.push_back(get(fmt::format("{}.{}", name, i)));
  for (ir::Value* each : lists) results.push_back(call("aten::stack", {each, constant(int64_t{0})}));
  bind_outputs(outputs, results);
}

// (graph, what is scanned, further operands): each result is the graph of the one before and of the next element.
void GraphLowering::lower_associative_scan(const std::vector<Argument>& arguments, const Json& outputs) {
  const Values xs = operands(arguments[1]);
  Values further, lists, rest;
  if (arguments.size() > 2) further = operands(arguments[2]);
  const Json& graph = graph_argument(arguments[0]);
  if (list(graph, "outputs", where_).size() != xs.size()) fail(where_ + ": the graph's results are not what it scans");
  const std::string name = fresh("scan");
  std::set<std::string> assigned;
  for (size_t i = 0; i < xs.size(); ++i) {
    const std::string one = fmt::format("{}.{}", name, i);
    ir::Value* const first = call("aten::select", {xs[i], constant(int64_t{0}), constant(int64_t{0})});
    set(one, first);
    assigned.insert(one);
    lists.push_back(emitter_.make_list(Type::tensor(), {first}, range_));
    rest.push_back(call("aten::slice", {xs[i], constant(int64_t{0}), constant(int64_t{1}), emitter_.none(range_)}));
  }
  loop_over(rest, assigned, [&](const Values& elements) {
    Values inputs;
    for (size_t i = 0; i < xs.size(); ++i) inputs.push_back(get(fmt::format("{}.{}", name, i)));
    inputs.insert(inputs.end(), elements.begin(), elements.end());
    inputs.insert(inputs.end(), further.begin(), further.end());
    const Values results = inline_graph(graph, inputs);
    for (size_t i = 0; i < xs.size(); ++i) {
      set(fmt::format("{}.{}", name, i), results.at(i));
      call("aten::append", {lists[i], results.at(i)});
    }
  });
  Values results;
  for (ir::Value* each : lists) results.push_back(call("aten::stack", {each, constant(int64_t{0})}));
  bind_outputs(outputs, results);
}

}  // namespace weft::exported
