// Functions: a graph as statements. Classes and whole programs are in python_print_types.cc, literals and
// names in source_references.cc.
#include "script/archive/python_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/syntax/lexer.h"
#include "script/syntax/literal.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

constexpr size_t kLineLength = 100;

std::string indentation(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }

// Names a printed variable must not take.
bool is_reserved(const std::string& name) {
  static const auto& kReserved = *new std::set<std::string>{
      "torch",          "ops",           "self",      "CONSTANTS", "fork", "inf",  "nan",   "annotate",
      "unchecked_cast", "uninitialized", "range",     "float",     "int",  "bool", "str",   "getattr",
      "isinstance",     "print",         "__torch__", "Tensor",    "List", "Dict", "Tuple", "Optional",
      "Union",          "Future",        "Any"};
  return kReserved.contains(name);
}

// Names that archives give to builtins with a syntax of their own.
const std::map<std::string_view, std::string>& conversions() {
  static const auto& names = *new std::map<std::string_view, std::string>{{"aten::Int", "int"},
                                                                          {"aten::Float", "float"},
                                                                          {"aten::Bool", "bool"},
                                                                          {"aten::str", "str"},
                                                                          {"aten::Complex", "complex"}};
  return names;
}

class Printer {
 public:
  Printer(SourceReferences& references, int depth) : references_(references), depth_(depth) {}

  std::string function(const Function& function) {
    const Schema& schema = function.schema();
    const ir::Graph& graph = function.graph();
    out_ += indentation(depth_) + "def " + function.name() + "(";
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaArgument& argument = schema.arguments[i];
      if (i) out_ += ",\n" + indentation(depth_ + 2);
      const std::string name = declare(graph.inputs()[i], argument.name);
      out_ += name + ": " + references_.text(argument.type);
      if (argument.default_value) out_ += "=" + print_literal(*argument.default_value, references_);
    }
    out_ += ") -> " + references_.text(schema.return_type()) + ":\n";
    ++depth_;
    body(graph, schema.return_type());
    --depth_;
    return std::move(out_);
  }

 private:
  struct Pending {
    const Value* value;
    std::string text;
  };

  void body(const ir::Graph& graph, const TypePtr& returned) {
    nodes(graph.body());
    std::string text = "None";
    if (graph.outputs().size() == 1) text = typed_operand(graph.outputs()[0], returned);
    flush();
    line("return " + text);
  }

  void nodes(const Block& block) {
    for (const auto& node : block.nodes) print(*node);
  }

  void line(const std::string& text) { out_ += indentation(depth_) + text + "\n"; }

  // ---- names
  // -----------------------------------------------------------------------------------------------
  std::string unique(std::string wanted) {
    if (!is_identifier(wanted) || is_reserved(wanted))
      wanted = wanted == "self" ? wanted : "_" + std::to_string(counter_++);
    std::string name = wanted;
    for (int i = 0; !taken_.insert(name).second; ++i)
      name =
          wanted + (std::isdigit(static_cast<unsigned char>(wanted.back())) ? "_" : "") + std::to_string(i);
    return name;
  }
  std::string declare(const Value* value, const std::string& wanted) {
    return names_[value] = unique(wanted);
  }
  std::string declare(const Value* value) { return declare(value, value->name.empty() ? "_" : value->name); }

  static const TypePtr& type_of(const Value* value) { return value->type.script; }

  // ---- expressions that wait for their only use
  // -------------------------------------------------------------- What is computed last may be written where
  // it is used; everything before it becomes a statement first, so that the order of evaluation stays.
  std::string operand(const Value* value) {
    if (const auto found = names_.find(value); found != names_.end()) return found->second;
    if (value->def && value->def->script == &prim::kConstant) return constant(*value->def);
    if (value->def && value->def->script == &prim::kUninitialized)
      return fmt::format("uninitialized({})", type_text(type_of(value)));
    for (size_t i = pending_.size(); i-- > 0;) {
      if (pending_[i].value != value) continue;
      WEFT_ASSERT(i + 1 == pending_.size(), "an expression is used out of order");
      std::string text = std::move(pending_[i].text);
      pending_.pop_back();
      return text;
    }
    throw_error(ErrorKind::Internal, fmt::format("value %{} has no text", value->id));
  }

  std::string typed_operand(const Value* value, const TypePtr& type) {
    std::string text = operand(value);
    if (type_of(value)->equals(*type)) return text;
    return fmt::format("annotate({}, {})", type_text(type), text);
  }

  // The operands' texts in order. Those that wait are taken from the end, as far as their order agrees.
  std::vector<std::string> operands(const std::vector<Value*>& values) {
    size_t waiting = pending_.size();
    for (size_t i = values.size(); i-- > 0 && waiting > 0;) {
      if (pending_[waiting - 1].value == values[i]) --waiting;
    }
    flush(waiting);
    std::vector<std::string> texts(values.size());
    for (size_t i = values.size(); i-- > 0;) texts[i] = values[i] ? operand(values[i]) : "None";
    return texts;
  }

  // Statements for the first `count` that wait; all of them by default.
  void flush(size_t count = SIZE_MAX) {
    count = std::min(count, pending_.size());
    std::vector<Pending> first(
        std::make_move_iterator(pending_.begin()),
        std::make_move_iterator(pending_.begin() + static_cast<std::ptrdiff_t>(count)));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const Pending& item : first) line(declare(item.value) + " = " + item.text);
  }

  void result(const Node& node, std::string text) {
    if (node.outputs.empty()) {
      flush();
      line(text);
      return;
    }
    const bool unpacks = node.script == &prim::kTupleUnpack || node.script == &prim::kListUnpack;
    if (node.outputs.size() > 1 || unpacks) {
      flush();
      std::string targets;
      for (const Value* output : node.outputs) targets += declare(output) + ", ";
      line(targets + "= " + text);
      return;
    }
    const Value* value = node.outputs[0];
    const bool waits = value->uses.size() == 1 && value->name.empty() && text.size() < kLineLength &&
                       value->uses[0].user && value->uses[0].user->parent == node.parent;
    if (waits) {
      pending_.push_back({value, std::move(text)});
      return;
    }
    flush();
    line(declare(value) + " = " + text);
  }

  // ---- nodes
  // -------------------------------------------------------------------------------------------------
  void print(const Node& node) {
    switch (node.kind) {
      case NodeKind::If: return print_if(node);
      case NodeKind::Loop: return print_loop(node);
      case NodeKind::Script: return print_script(node);
      default: throw_error(ErrorKind::Internal, fmt::format("'{}' is no TorchScript", node.kind_name()));
    }
  }

  void print_if(const Node& node) {
    const std::string condition = operands(node.inputs)[0];
    flush();
    std::vector<std::string> targets;
    for (const Value* output : node.outputs)
      targets.push_back(unique(output->name.empty() ? "_" : output->name));
    for (size_t b = 0; b < 2; ++b) {
      line(b == 0 ? "if " + condition + ":" : "else:");
      ++depth_;
      const size_t start = out_.size();
      nodes(*node.blocks[b]);
      for (size_t i = 0; i < targets.size(); ++i) {
        const Value* value = node.blocks[b]->returns[i];
        const std::string text = operands({node.blocks[b]->returns[i]})[0];
        flush();
        const TypePtr& type = type_of(node.outputs[i]);
        const bool same = type_of(value)->equals(*type);
        line(same ? targets[i] + " = " + text
                  : fmt::format("{} : {} = {}", targets[i], type_text(type), text));
      }
      flush();
      if (out_.size() == start) line("pass");
      --depth_;
    }
    for (size_t i = 0; i < targets.size(); ++i) names_[node.outputs[i]] = targets[i];
  }

  static const IValue* constant_of(const Value* value) {
    return value->def && value->def->script == &prim::kConstant ? &value->def->payload->value : nullptr;
  }
  static bool is_true(const Value* value) {
    const IValue* constant = constant_of(value);
    return constant && constant->is_bool() && constant->to_bool();
  }

  void print_loop(const Node& node) {
    const Block& body = *node.blocks[0];
    std::vector<Value*> inputs = node.inputs;
    const std::vector<std::string> texts = operands(inputs);
    flush();
    const size_t carried = node.outputs.size();
    std::vector<std::string> names;
    for (size_t i = 0; i < carried; ++i) {
      const Value* param = body.params[i + 1];
      names.push_back(declare(param, param->name.empty() ? "_" : param->name));
      const TypePtr& type = type_of(param);
      const bool same = type_of(inputs[i + 2])->equals(*type);
      line(same ? names[i] + " = " + texts[i + 2]
                : fmt::format("{} : {} = {}", names[i], type_text(type), texts[i + 2]));
    }
    const IValue* trip = constant_of(inputs[0]);
    const bool endless = trip && trip->to_int() == INT64_MAX;
    if (!endless && is_true(inputs[1]) && is_true(body.returns[0])) {
      line(fmt::format("for {} in range({}):", declare(body.params[0]), texts[0]));
      loop_body(body, names, {}, {});
    } else {
      while_loop(body, names, texts, endless);
    }
    for (size_t i = 0; i < carried; ++i) names_[node.outputs[i]] = names[i];
  }

  void while_loop(const Block& body, const std::vector<std::string>& names,
                  const std::vector<std::string>& texts, bool endless) {
    const bool counted = !endless || !body.params[0]->uses.empty();
    const std::string condition = unique("_");
    std::string counter, limit;
    if (counted) {
      counter = declare(body.params[0]);
      line(counter + " = 0");
    }
    if (endless) {
      line(condition + " = " + texts[1]);
    } else {
      limit = unique("_");
      line(limit + " = " + texts[0]);
      line(fmt::format("{} = torch.__and__(torch.gt({}, 0), {})", condition, limit, texts[1]));
    }
    line("while " + condition + ":");
    std::string next = "{}";
    if (!endless) next = fmt::format("torch.__and__(torch.lt(torch.add({}, 1), {}), {{}})", counter, limit);
    loop_body(body, names, condition + "|" + next, counter);
  }

  // `condition`: its name, a bar, and the text that its next value is put into; empty for a for loop.
  void loop_body(const Block& body, const std::vector<std::string>& names, const std::string& condition,
                 const std::string& counter) {
    ++depth_;
    const size_t start = out_.size();
    nodes(body);
    std::vector<Value*> returns(body.returns.begin() + (condition.empty() ? 1 : 0), body.returns.end());
    const std::vector<std::string> texts = operands(returns);
    flush();
    std::string left, right;
    const auto assign = [&](const std::string& target, const std::string& value) {
      left += (left.empty() ? "" : ", ") + target;
      right += (right.empty() ? "" : ", ") + value;
    };
    size_t at = 0;
    if (!condition.empty()) {
      const size_t bar = condition.find('|');
      assign(condition.substr(0, bar), fmt::format(fmt::runtime(condition.substr(bar + 1)), texts[at++]));
    }
    for (size_t i = 0; i < names.size(); ++i, ++at) {
      if (names[i] == texts[at]) continue;
      const TypePtr& wanted = type_of(body.params[i + 1]);
      const bool same = type_of(returns[at])->equals(*wanted);
      assign(names[i], same ? texts[at] : fmt::format("annotate({}, {})", type_text(wanted), texts[at]));
    }
    if (!counter.empty()) assign(counter, fmt::format("torch.add({}, 1)", counter));
    if (!left.empty()) line(left + " = " + right);
    if (out_.size() == start) line("pass");
    --depth_;
  }

  void print_script(const Node& node) {
    if (node.script == &prim::kConstant || node.script == &prim::kUninitialized) return;
    if (node.script == &prim::kFork) return print_fork(node);
    if (node.script == &prim::kSetAttr) {
      const std::vector<std::string> texts = operands(node.inputs);
      flush();
      line(attribute(texts[0], node.payload->text) + " = " + texts[1]);
      return;
    }
    const std::vector<std::string> texts = operands(node.inputs);
    result(node, expression(node, texts));
  }

  void print_fork(const Node& node) {
    const std::vector<std::string> texts = operands(node.inputs);
    flush();
    const Function& function = *node.payload->function;
    line("def __forked_function():");
    ++depth_;
    const ir::Graph& graph = function.graph();
    for (size_t i = 0; i < texts.size(); ++i) names_[graph.inputs()[i]] = texts[i];
    body(graph, function.schema().return_type());
    --depth_;
    result(node, "fork(__forked_function)");
  }

  static std::string attribute(const std::string& object, const std::string& name) {
    const std::string base = is_identifier(object) ? object : "(" + object + ")";
    return is_identifier(name) ? base + "." + name
                               : fmt::format("getattr({}, {})", object, quote_string(name));
  }

  static std::string joined(const std::vector<std::string>& texts, size_t from = 0) {
    std::string result;
    for (size_t i = from; i < texts.size(); ++i) result += (result.empty() ? "" : ", ") + texts[i];
    return result;
  }

  std::string type_text(const TypePtr& type) { return references_.text(type); }

  std::string expression(const Node& node, const std::vector<std::string>& texts) {
    const ir::ScriptOp* op = node.script;
    const TypePtr& type = node.outputs.empty() ? Type::none() : type_of(node.outputs[0]);
    if (op == &prim::kGetAttr) return attribute(texts[0], node.payload->text);
    if (op == &prim::kCallMethod)
      return fmt::format("({}).{}({}{})", texts[0], node.payload->text, joined(texts, 1),
                         texts.size() > 1 ? ", " : "");
    if (op == &prim::kCallFunction) {
      return fmt::format("{}({}{})", references_.name(node.payload->function), joined(texts),
                         texts.empty() ? "" : ", ");
    }
    if (op == &prim::kCreateObject) return fmt::format("{0}.__new__({0})", type_text(type));
    if (op == &prim::kListConstruct) return list(node, texts, type);
    if (op == &prim::kDictConstruct) return dict(node, texts, type);
    if (op == &prim::kTupleConstruct) return tuple(texts, type);
    if (op == &prim::kTupleUnpack || op == &prim::kListUnpack) return texts[0];
    if (op == &prim::kTupleIndex) return fmt::format("({})[{}]", texts[0], texts[1]);
    if (op == &prim::kTupleSlice) return fmt::format("({})[{}:{}]", texts[0], texts[1], texts[2]);
    if (op == &prim::kIsInstance)
      return fmt::format("isinstance({}, {})", texts[0], tested_types(*node.payload));
    // PyTorch knows the type of what tolist() gives by an annotation.
    if (op == &prim::kCast && node.inputs[0]->def && node.inputs[0]->def->is("aten::tolist"))
      return fmt::format("annotate({}, {})", type_text(type), texts[0]);
    if (op == &prim::kUncheckedCast || op == &prim::kCast)
      return fmt::format("unchecked_cast({}, {})", type_text(type), texts[0]);
    if (op == &prim::kRaise) {
      const std::string& name = node.payload->text;
      return name.empty()
                 ? fmt::format("ops.prim.RaiseException({})", texts[0])
                 : fmt::format("ops.prim.RaiseException({}, {})", texts[0],
                               quote_string(name.find('.') == std::string::npos ? "builtins." + name : name));
    }
    if (op == &prim::kPrint) return fmt::format("print({})", joined(texts));
    if (op == &prim::kFormat) return fmt::format("torch.format({})", joined(texts));
    if (op == &prim::kEnumName) return fmt::format("({}).name", texts[0]);
    if (op == &prim::kEnumValue) return fmt::format("({}).value", texts[0]);
    if (op->name == kPythonCall) {
      references_.python_functions.push_back(node.payload->text);
      return fmt::format("^{}({})", node.payload->text, joined(texts, 1));
    }
    return builtin(static_cast<const Builtin&>(*op), texts);
  }

  std::string list(const Node& node, const std::vector<std::string>& texts, const TypePtr& type) {
    const std::string text = "[" + joined(texts) + "]";
    const bool plain =
        !texts.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value* value) {
          return type_of(value)->equals(*type->element());
        });
    return plain ? text : fmt::format("annotate({}, {})", type_text(type), text);
  }

  std::string dict(const Node& node, const std::vector<std::string>& texts, const TypePtr& type) {
    std::string items;
    bool plain = !texts.empty();
    for (size_t i = 0; i + 1 < texts.size(); i += 2) {
      items += (i ? ", " : "") + texts[i] + ": " + texts[i + 1];
      plain = plain && type_of(node.inputs[i + 1])->equals(*type->elements()[1]);
    }
    return plain ? "{" + items + "}" : fmt::format("annotate({}, {{{}}})", type_text(type), items);
  }

  std::string tuple(const std::vector<std::string>& texts, const TypePtr& type) {
    if (!type->name().empty()) return fmt::format("{}({})", type_text(type), joined(texts));
    return "(" + joined(texts) + (texts.size() == 1 ? ",)" : ")");
  }

  static std::string builtin(const Builtin& op, const std::vector<std::string>& texts) {
    if (op.name == "aten::__getitem__" && texts.size() == 2)
      return fmt::format("({})[{}]", texts[0], texts[1]);
    if (const auto found = conversions().find(op.name); found != conversions().end() && texts.size() == 1) {
      return fmt::format("{}({})", found->second, texts[0]);
    }
    if (op.name == "aten::tolist") return fmt::format("({}).tolist()", texts[0]);
    std::string arguments;
    for (size_t i = 0; i < texts.size(); ++i) {
      arguments += i ? ", " : "";
      const bool keyword = i < op.schema.arguments.size() && op.schema.arguments[i].keyword_only;
      arguments += keyword ? op.schema.arguments[i].name + "=" + texts[i] : texts[i];
    }
    const size_t space = op.name.find("::");
    const std::string_view name = op.name.substr(space + 2);
    if (op.name.starts_with("aten::")) return fmt::format("torch.{}({})", name, arguments);
    return fmt::format("ops.{}.{}({})", op.name.substr(0, space), name, arguments);
  }

  std::string tested_types(const ir::ScriptPayload& tested) {
    if (tested.text.empty()) return type_text(tested.type);
    if (tested.type) return fmt::format("({}, {})", type_text(tested.type), tested.text);
    return tested.text.find(',') == std::string::npos ? tested.text : "(" + tested.text + ")";
  }

  std::string constant(const Node& node) {
    const IValue& value = node.payload->value;
    std::string text = print_literal(value, references_);
    const TypePtr& type = type_of(node.outputs[0]);
    const bool empty = (value.is_list() && value.elements().empty()) ||
                       (value.is(IValue::Tag::Dict) && value.to_dict()->size() == 0);
    if (empty) return fmt::format("annotate({}, {})", type_text(type), text);
    return text;
  }

  SourceReferences& references_;
  int depth_;
  std::string out_;
  std::unordered_map<const Value*, std::string> names_;
  std::set<std::string> taken_;
  std::vector<Pending> pending_;
  int counter_ = 0;
};

}  // namespace

std::string print_function(const Function& function, SourceReferences& references, int indent) {
  return Printer(references, indent).function(function);
}

}  // namespace weft::jit
