#include "script/python_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_map>

#include "script/builtin.h"
#include "script/lexer.h"
#include "script/prim.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

constexpr size_t kLineLength = 100;

bool is_identifier(const std::string& name) {
  if (name.empty() || is_keyword(name) || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

std::string indentation(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }

// Names a printed variable must not take.
bool is_reserved(const std::string& name) {
  static const std::set<std::string> kReserved = {"torch", "ops",   "self", "CONSTANTS", "fork",  "inf",   "nan",  "annotate", "unchecked_cast",
                                                  "uninitialized", "range", "float", "int", "bool", "str", "getattr", "isinstance", "print",
                                                  "__torch__", "Tensor", "List", "Dict", "Tuple", "Optional", "Union", "Future", "Any"};
  return kReserved.contains(name);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\', result += c;
    else if (c == '\n') result += "\\n";
    else if (c == '\t') result += "\\t";
    else if (c == '\r') result += "\\r";
    else if (byte < 0x20 || byte == 0x7f) result += fmt::format("\\{:03o}", byte);
    else result += c;
  }
  return result + "\"";
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return IValue(value).repr();
}

// Names that archives give to builtins with a syntax of their own.
const std::map<std::string, std::string>& conversions() {
  static const std::map<std::string, std::string> names = {
      {"aten::Int", "int"}, {"aten::Float", "float"}, {"aten::Bool", "bool"}, {"aten::str", "str"}, {"aten::Complex", "complex"}};
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

  // ---- names -----------------------------------------------------------------------------------------------
  std::string unique(std::string wanted) {
    if (!is_identifier(wanted) || is_reserved(wanted)) wanted = wanted == "self" ? wanted : "_" + std::to_string(counter_++);
    std::string name = wanted;
    for (int i = 0; !taken_.insert(name).second; ++i) name = wanted + (std::isdigit(static_cast<unsigned char>(wanted.back())) ? "_" : "") + std::to_string(i);
    return name;
  }
  std::string declare(const Value* value, const std::string& wanted) { return names_[value] = unique(wanted); }
  std::string declare(const Value* value) { return declare(value, value->name.empty() ? "_" : value->name); }

  static const TypePtr& type_of(const Value* value) { return value->type.script; }

  // ---- expressions that wait for their only use --------------------------------------------------------------
  // What is computed last may be written where it is used; everything before it becomes a statement first, so that
  // the order of evaluation stays.
  std::string operand(const Value* value) {
    if (const auto found = names_.find(value); found != names_.end()) return found->second;
    if (value->def && value->def->script == &prim::kConstant) return constant(*value->def);
    if (value->def && value->def->script == &prim::kUninitialized) return fmt::format("uninitialized({})", type_text(type_of(value)));
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
    std::vector<Pending> first(std::make_move_iterator(pending_.begin()), std::make_move_iterator(pending_.begin() + static_cast<std::ptrdiff_t>(count)));
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
    const bool waits = value->uses.size() == 1 && value->name.empty() && text.size() < kLineLength && value->uses[0].user &&
                       value->uses[0].user->parent == node.parent;
    if (waits) {
      pending_.push_back({value, std::move(text)});
      return;
    }
    flush();
    line(declare(value) + " = " + text);
  }

  // ---- nodes -------------------------------------------------------------------------------------------------
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
    for (const Value* output : node.outputs) targets.push_back(unique(output->name.empty() ? "_" : output->name));
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
        line(same ? targets[i] + " = " + text : fmt::format("{} : {} = {}", targets[i], type_text(type), text));
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
      line(same ? names[i] + " = " + texts[i + 2] : fmt::format("{} : {} = {}", names[i], type_text(type), texts[i + 2]));
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

  void while_loop(const Block& body, const std::vector<std::string>& names, const std::vector<std::string>& texts, bool endless) {
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
  void loop_body(const Block& body, const std::vector<std::string>& names, const std::string& condition, const std::string& counter) {
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
    return is_identifier(name) ? base + "." + name : fmt::format("getattr({}, {})", object, quoted(name));
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
    if (op == &prim::kCallMethod) return fmt::format("({}).{}({}{})", texts[0], node.payload->text, joined(texts, 1), texts.size() > 1 ? ", " : "");
    if (op == &prim::kCallFunction) {
      return fmt::format("{}({}{})", references_.name(node.payload->function), joined(texts), texts.empty() ? "" : ", ");
    }
    if (op == &prim::kCreateObject) return fmt::format("{0}.__new__({0})", type_text(type));
    if (op == &prim::kListConstruct) return list(node, texts, type);
    if (op == &prim::kDictConstruct) return dict(node, texts, type);
    if (op == &prim::kTupleConstruct) return tuple(texts, type);
    if (op == &prim::kTupleUnpack || op == &prim::kListUnpack) return texts[0];
    if (op == &prim::kTupleIndex) return fmt::format("({})[{}]", texts[0], texts[1]);
    if (op == &prim::kTupleSlice) return fmt::format("({})[{}:{}]", texts[0], texts[1], texts[2]);
    if (op == &prim::kIsInstance) return fmt::format("isinstance({}, {})", texts[0], type_text(node.payload->type));
    if (op == &prim::kUncheckedCast || op == &prim::kCast) return fmt::format("unchecked_cast({}, {})", type_text(type), texts[0]);
    if (op == &prim::kRaise) {
      const std::string& name = node.payload->text;
      return name.empty() ? fmt::format("ops.prim.RaiseException({})", texts[0])
                          : fmt::format("ops.prim.RaiseException({}, {})", texts[0], quoted(name.find('.') == std::string::npos ? "builtins." + name : name));
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
    const bool plain = !texts.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value* value) {
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
    if (op.name == "aten::__getitem__" && texts.size() == 2) return fmt::format("({})[{}]", texts[0], texts[1]);
    if (const auto found = conversions().find(op.name); found != conversions().end() && texts.size() == 1) {
      return fmt::format("{}({})", found->second, texts[0]);
    }
    std::string arguments;
    for (size_t i = 0; i < texts.size(); ++i) {
      arguments += i ? ", " : "";
      const bool keyword = i < op.schema.arguments.size() && op.schema.arguments[i].keyword_only;
      arguments += keyword ? op.schema.arguments[i].name + "=" + texts[i] : texts[i];
    }
    const std::string name = op.name.starts_with("aten::") ? "torch." + op.name.substr(6)
                                                           : "ops." + op.name.substr(0, op.name.find(':')) + "." + op.name.substr(op.name.find("::") + 2);
    return fmt::format("{}({})", name, arguments);
  }

  std::string constant(const Node& node) {
    const IValue& value = node.payload->value;
    std::string text = print_literal(value, references_);
    const TypePtr& type = type_of(node.outputs[0]);
    const bool empty = (value.is_list() && value.elements().empty()) || (value.is(IValue::Tag::Dict) && value.to_dict()->size() == 0);
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

// "__torch__.a.b.C": the file of its namespace, and its own name.
std::string file_of(const std::string& qualified_name) {
  const size_t dot = qualified_name.find_last_of('.');
  WEFT_CHECK(dot != std::string::npos && qualified_name.starts_with("__torch__"),
             fmt::format("'{}' cannot be saved: it is not in a namespace below __torch__", qualified_name));
  std::string path = "code/" + qualified_name.substr(0, dot) + ".py";
  std::replace(path.begin() + 5, path.end() - 3, '.', '/');
  return path;
}
std::string last_name(const std::string& qualified_name) { return qualified_name.substr(qualified_name.find_last_of('.') + 1); }

std::string name_list(const ClassType& type, bool Attribute::*flag) {
  std::string names;
  for (const Attribute& attribute : type.attributes()) {
    if (attribute.*flag) names += quoted(attribute.name) + ", ";
  }
  return "[" + names + "]";
}

std::string hook_list(const char* name, const std::vector<std::shared_ptr<Function>>& hooks) {
  if (hooks.empty()) return "";
  std::string names;
  for (const auto& hook : hooks) names += quoted(hook->name()) + ", ";
  return fmt::format("  {} = [{}]\n", name, names);
}

std::string print_class(const ClassType& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) + (type.is_module() ? "(Module):\n" : ":\n");
  if (type.is_module()) {
    out += "  __parameters__ = " + name_list(type, &Attribute::is_parameter) + "\n";
    out += "  __buffers__ = " + name_list(type, &Attribute::is_buffer) + "\n";
    out += hook_list("__forward_pre_hooks__", type.forward_pre_hooks) + hook_list("__forward_hooks__", type.forward_hooks);
  }
  for (const Attribute& attribute : type.attributes()) {
    const std::string text = references.text(attribute.type);
    out += is_identifier(attribute.name) ? fmt::format("  {} : {}\n", attribute.name, text)
                                         : fmt::format("  __annotations__[{}] = {}\n", quoted(attribute.name), text);
  }
  for (const auto& [name, value] : type.constants()) {
    out += fmt::format("  {} : Final[{}] = {}\n", name, references.text(value.type()), print_literal(value, references));
  }
  for (const auto& method : type.methods()) out += print_function(*method, references, 1);
  const bool is_empty = type.attributes().empty() && type.methods().empty() && type.constants().empty() && !type.is_module();
  return is_empty ? out + "  pass\n" : out;
}

std::string print_named_tuple(const Type& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) + "(NamedTuple):\n";
  const auto& defaults = static_cast<const NamedTupleType&>(type).defaults();
  const size_t required = type.fields().size() - defaults.size();
  for (size_t i = 0; i < type.fields().size(); ++i) {
    out += fmt::format("  {} : {}", type.fields()[i], references.text(type.elements()[i]));
    out += i >= required ? " = " + print_literal(defaults[i - required], references) + "\n" : "\n";
  }
  return out;
}

std::string print_enum(const EnumType& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) + "(Enum):\n";
  for (const auto& [name, value] : type.members()) out += fmt::format("  {} = {}\n", name, print_literal(value, references));
  return out;
}

std::string print_interface(const InterfaceType& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) + (type.is_module() ? "(ModuleInterface):\n" : "(Interface):\n");
  for (const auto& method : type.methods()) {
    out += "  def " + last_name(method->name) + "(";
    for (size_t i = 0; i < method->arguments.size(); ++i) {
      const SchemaArgument& argument = method->arguments[i];
      out += (i ? ", " : "") + argument.name + (i == 0 ? "" : ": " + references.text(argument.type));
    }
    out += ") -> " + references.text(method->return_type()) + ":\n    pass\n";
  }
  return out;
}

}  // namespace

std::string SourceReferences::constant_name(const Tensor& tensor) {
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].impl() == tensor.impl()) return fmt::format("CONSTANTS.c{}", i);
  }
  constants.push_back(tensor);
  return fmt::format("CONSTANTS.c{}", constants.size() - 1);
}

namespace {

// Does its source have a definition?
bool is_printed(const Type& type) {
  return type.is(TypeKind::Class) || type.is(TypeKind::Interface) || type.is(TypeKind::Enum) ||
         (type.is(TypeKind::Tuple) && !type.name().empty());
}

}  // namespace

void SourceReferences::note(const TypePtr& type) {
  for (const TypePtr& element : type->elements()) note(element);
  if (!is_printed(*type) || find(*type)) return;
  positions_[type.get()] = types.size();
  types.push_back(type);
  type_names_.push_back(unused_name(type->name()));
}

// Types of NamedTuples are equal by their fields; the others are one object each.
std::optional<size_t> SourceReferences::find(const Type& type) const {
  if (const auto found = positions_.find(&type); found != positions_.end()) return found->second;
  if (!type.is(TypeKind::Tuple)) return std::nullopt;
  const auto same = std::find_if(types.begin(), types.end(), [&](const TypePtr& seen) { return seen->equals(type); });
  if (same == types.end()) return std::nullopt;
  return static_cast<size_t>(same - types.begin());
}

void SourceReferences::note(const std::shared_ptr<Function>& function) {
  if (std::find(functions.begin(), functions.end(), function) != functions.end()) return;
  functions.push_back(function);
  function_names_.push_back(unused_name(function->qualified_name()));
}

std::string SourceReferences::unused_name(const std::string& name) {
  const size_t dot = name.rfind('.') + 1;
  std::string candidate = name;
  for (int i = 0; !taken_.insert(candidate).second; ++i) {
    candidate = fmt::format("{}___torch_mangle_{}.{}", name.substr(0, dot), i, name.substr(dot));
  }
  return candidate;
}

std::string SourceReferences::name(const Type& type) {
  note(type.shared_from_this());
  return type_names_[*find(type)];
}

std::string SourceReferences::name(const std::shared_ptr<Function>& function) {
  note(function);
  return function_names_[static_cast<size_t>(std::find(functions.begin(), functions.end(), function) - functions.begin())];
}

std::string SourceReferences::text(const TypePtr& type) {
  if (is_printed(*type)) return name(*type);
  if (type->elements().empty()) return type->str();
  std::string elements;
  for (const TypePtr& element : type->elements()) elements += (elements.empty() ? "" : ", ") + text(element);
  const std::string own = type->str();
  return own.substr(0, own.find('[')) + "[" + elements + "]";
}

std::string print_literal(const IValue& value, SourceReferences& references) {
  const auto joined = [&](const std::vector<IValue>& values) {
    std::string text;
    for (const IValue& item : values) text += (text.empty() ? "" : ", ") + print_literal(item, references);
    return text;
  };
  switch (value.tag()) {
    case IValue::Tag::None: return "None";
    case IValue::Tag::Tensor: return references.constant_name(value.to_tensor());
    case IValue::Tag::Int:
    case IValue::Tag::Bool: return value.repr();
    case IValue::Tag::Float: return float_text(value.to_double());
    case IValue::Tag::Complex: {
      const std::complex<double> z = value.to_complex();
      return fmt::format("torch.complex({}, {})", float_text(z.real()), float_text(z.imag()));
    }
    case IValue::Tag::String: return quoted(value.to_string());
    case IValue::Tag::Device: return fmt::format("torch.device({})", quoted(value.to_device().str()));
    case IValue::Tag::List: return "[" + joined(value.elements()) + "]";
    case IValue::Tag::Tuple: {
      const Tuple& tuple = *value.to_tuple();
      if (tuple.type) return fmt::format("{}({})", references.text(tuple.type), joined(tuple.values));
      return "(" + joined(tuple.values) + (tuple.values.size() == 1 ? ",)" : ")");
    }
    case IValue::Tag::Dict: {
      std::string text;
      for (const auto& [key, item] : value.to_dict()->items()) {
        text += (text.empty() ? "" : ", ") + print_literal(key, references) + ": " + print_literal(item, references);
      }
      return "{" + text + "}";
    }
    case IValue::Tag::Enum: return references.text(value.to_enum()->type) + "." + value.to_enum()->name;
    default: throw_error(ErrorKind::Value, fmt::format("a constant of type {} has no source text", value.type()->str()));
  }
}

std::string print_function(const Function& function, SourceReferences& references, int indent) {
  return Printer(references, indent).function(function);
}

std::string print_type(const TypePtr& type, SourceReferences& references) {
  switch (type->kind()) {
    case TypeKind::Class: return print_class(static_cast<const ClassType&>(*type), references);
    case TypeKind::Interface: return print_interface(static_cast<const InterfaceType&>(*type), references);
    case TypeKind::Enum: return print_enum(static_cast<const EnumType&>(*type), references);
    default: return print_named_tuple(*type, references);
  }
}

std::map<std::string, std::string> print_program(const TypePtr& root, SourceReferences& references) {
  std::map<std::string, std::string> files;
  references.note(root);
  // Printing one definition may bring up others.
  for (size_t types = 0, functions = 0; types < references.types.size() || functions < references.functions.size();) {
    if (types < references.types.size()) {
      const TypePtr type = references.types[types++];
      files[file_of(references.name(*type))] += print_type(type, references);
    } else {
      const std::shared_ptr<Function> function = references.functions[functions++];
      files[file_of(references.name(function))] += print_function(*function, references);
    }
  }
  return files;
}

}  // namespace weft::jit
