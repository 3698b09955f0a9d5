// Classes, interfaces, enums and NamedTuples; every file of an archive's code/.
#include <fmt/format.h>

#include <algorithm>

#include "script/archive/python_print.h"
#include "script/syntax/lexer.h"
#include "script/syntax/literal.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

// "__torch__.a.b.C": the file of its namespace, and its own name.
std::string file_of(const std::string& qualified_name) {
  const size_t dot = qualified_name.find_last_of('.');
  WEFT_CHECK(dot != std::string::npos && qualified_name.starts_with("__torch__"),
             fmt::format("'{}' cannot be saved: it is not in a namespace below __torch__", qualified_name));
  std::string path = "code/" + qualified_name.substr(0, dot) + ".py";
  std::replace(path.begin() + 5, path.end() - 3, '.', '/');
  return path;
}
std::string last_name(const std::string& qualified_name) {
  return qualified_name.substr(qualified_name.find_last_of('.') + 1);
}

std::string name_list(const ClassType& type, bool Attribute::* flag) {
  std::string names;
  for (const Attribute& attribute : type.attributes()) {
    if (attribute.*flag) names += quote_string(attribute.name) + ", ";
  }
  return "[" + names + "]";
}

std::string hook_list(const char* name, const std::vector<std::shared_ptr<Function>>& hooks) {
  if (hooks.empty()) return "";
  std::string names;
  for (const auto& hook : hooks) names += quote_string(hook->name()) + ", ";
  return fmt::format("  {} = [{}]\n", name, names);
}

std::string print_class(const ClassType& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) + (type.is_module() ? "(Module):\n" : ":\n");
  if (type.is_module()) {
    out += "  __parameters__ = " + name_list(type, &Attribute::is_parameter) + "\n";
    out += "  __buffers__ = " + name_list(type, &Attribute::is_buffer) + "\n";
    out += hook_list("__forward_pre_hooks__", type.forward_pre_hooks) +
           hook_list("__forward_hooks__", type.forward_hooks);
  }
  for (const Attribute& attribute : type.attributes()) {
    const std::string text = references.text(attribute.type);
    out += is_identifier(attribute.name)
               ? fmt::format("  {} : {}\n", attribute.name, text)
               : fmt::format("  __annotations__[{}] = {}\n", quote_string(attribute.name), text);
  }
  for (const auto& [name, value] : type.constants()) {
    out += fmt::format("  {} : Final[{}] = {}\n", name, references.text(value.type()),
                       print_literal(value, references));
  }
  for (const auto& method : type.methods()) out += print_function(*method, references, 1);
  const bool is_empty =
      type.attributes().empty() && type.methods().empty() && type.constants().empty() && !type.is_module();
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
  for (const auto& [name, value] : type.members())
    out += fmt::format("  {} = {}\n", name, print_literal(value, references));
  return out;
}

std::string print_interface(const InterfaceType& type, SourceReferences& references) {
  std::string out = "class " + last_name(references.name(type)) +
                    (type.is_module() ? "(ModuleInterface):\n" : "(Interface):\n");
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
  for (size_t types = 0, functions = 0;
       types < references.types.size() || functions < references.functions.size();) {
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
