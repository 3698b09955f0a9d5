// Graph::str(). The text parses back (parser.cc) to a graph that prints the same:
//
//   graph kmeans[s0=100](%x: f64[s0, 2], %means: i64[2, 2]) {
//     guard s0 < 4096
//     %2: f64[2, 2] = cast(%means) {dtype=f64}  # kmeans.py:4
//     %3: f64[2, 1, 2] = reshape(%2) {shape=[2, 1, 2]}
//     %4: i64[3] = constant {[1, 2, 3]}
//     %8: f64[], %9: f64[] = if(%c) {
//       yield %5, %6
//     } else {
//       yield %6, %5
//     }
//     %9: f64[2] = loop(%n, %go, %2) (%i: i64[] = s1, %12: f64[2]) {
//       yield %c2, %13
//     }
//     write %x = %5
//     return %5
//   }
//   data0: f32[100] = [...]
//
// Attributes that have their default are left out.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "ir/symbols.h"
#include "ir/text.h"
#include "weft/detail/visit_dtype.h"
#include "weft/jit/module.h"

namespace weft::ir {

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) return false;
  }
  return true;
}

std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // 'n' covers inf and nan
  return text;
}

namespace {

std::string list_text(const SymShape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].str();
  return text + "]";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string scalar_text(const Scalar& scalar) {
  switch (scalar.kind()) {
    case WeakKind::Bool: return scalar.to_bool() ? "true" : "false";
    case WeakKind::Int: return fmt::format("{}", scalar.to_int());
    case WeakKind::Float: return double_text(scalar.to_double());
    case WeakKind::Complex: {
      const std::complex<double> z = scalar.to_complex();
      return fmt::format("({}, {})", double_text(z.real()), double_text(z.imag()));
    }
  }
  return "?";
}

}  // namespace

std::string type_text(const TensorType& type) {
  std::string text = fmt::format("{}{}", short_name(type.dtype), list_text(type.shape));
  if (type.device != Device{}) text += "@" + type.device.str();
  return text;
}

std::string type_text(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Tensor: return type_text(type.tensor);
    case Type::Kind::Script: return type.script->str();
  }
  return "?";
}

std::string Type::str() const { return type_text(*this); }

std::string attr_text(const ops::Attr& attr) {
  return std::visit(
      []<class T>(const T& value) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>)
          return "none";
        else if constexpr (std::is_same_v<T, bool>)
          return value ? "true" : "false";
        else if constexpr (std::is_same_v<T, Sym>)
          return value.str();
        else if constexpr (std::is_same_v<T, double>)
          return double_text(value);
        else if constexpr (std::is_same_v<T, Scalar>)
          return scalar_text(value);
        else if constexpr (std::is_same_v<T, std::string>)
          return quoted(value);
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(short_name(value));
        else if constexpr (std::is_same_v<T, Device>)
          return value.str();
        else
          return list_text(value);
      },
      attr);
}

std::string guard_text(const SymGuard& guard) {
  constexpr std::string_view kRelations[] = {"==", "!=", "<", ">="};
  return fmt::format("{} {} {}", guard.a.str(), kRelations[static_cast<size_t>(guard.relation)],
                     guard.b.str());
}

namespace {

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    return fmt::format("{}", value);
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return fmt::format("({}, {})", double_text(value.real()), double_text(value.imag()));
  else if constexpr (std::is_same_v<T, double>)
    return double_text(value);
  else {
    // The shortest text for a float, which the parser's rounding through double reads back exactly.
    std::string text = fmt::format("{}", static_cast<float>(value));
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
}

template <class T>
void print_elements(const T*& data, const Shape& shape, size_t dim, std::string& out) {
  if (dim == shape.size()) {
    out += element_text(*data++);
    return;
  }
  out += "[";
  for (int64_t i = 0; i < shape[dim]; ++i) {
    if (i) out += ", ";
    print_elements(data, shape, dim + 1, out);
  }
  out += "]";
}

}  // namespace

std::string data_text(const Tensor& tensor) {
  const Tensor dense = tensor.to(Device()).contiguous();
  std::string out;
  visit_dtype(dense.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* data = static_cast<const T*>(dense.data());
    print_elements(data, dense.shape(), 0, out);
  });
  return out;
}

namespace {

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ = "graph " + graph_.name;
    print_symbols();
    print_params(graph_.body().params);
    out_ += " {\n";
    for (const SymGuard& guard : graph_.env().guards()) out_ += "  guard " + guard_text(guard) + "\n";
    print_nodes(graph_.body(), 1);
    for (const WriteBack& write : graph_.write_backs) {
      out_ += fmt::format("  write {} = {}\n", name(graph_.inputs().at(write.input)), name(write.value));
    }
    out_ += "  return" + operands(graph_.outputs(), " ") + "\n}\n";
    return out_ + data_;
  }

 private:
  void print_symbols() {
    const SymEnv& env = graph_.env();
    if (env.num_symbols() == 0) return;
    out_ += "[";
    for (int i = 0; i < env.num_symbols(); ++i) {
      out_ += fmt::format("{}s{}={}{}", i ? ", " : "", i, env.hints()[static_cast<size_t>(i)],
                          env.is_size(i) ? "" : " any");
    }
    out_ += "]";
  }

  // A name is given to its first owner; other values of the same name go by number.
  const std::string& name(const Value* value) {
    auto [it, is_new] = names_.try_emplace(value);
    if (is_new) {
      const bool by_name = is_identifier(value->name) && taken_.insert(value->name).second;
      it->second = by_name ? "%" + value->name : fmt::format("%{}", value->id);
    }
    return it->second;
  }

  std::string operands(const std::vector<Value*>& values, std::string_view prefix = "") {
    std::string text;
    for (const Value* value : values) {
      text += text.empty() ? prefix : ", ";
      text += value ? name(value) : "none";
    }
    return text;
  }

  void print_params(const std::vector<Value*>& params) {
    out_ += "(";
    for (size_t i = 0; i < params.size(); ++i) {
      out_ += fmt::format("{}{}: {}", i ? ", " : "", name(params[i]), type_text(params[i]->type));
      if (params[i]->symbol >= 0) out_ += fmt::format(" = s{}", params[i]->symbol);
    }
    out_ += ")";
  }

  void print_nodes(const Block& block, int depth) {
    for (const auto& node : block.nodes) print_node(*node, depth);
  }

  void print_node(const Node& node, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    out_ += indent;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      out_ += fmt::format("{}{}: {}", i ? ", " : "", name(node.outputs[i]), type_text(node.outputs[i]->type));
    }
    if (!node.outputs.empty()) out_ += " = ";
    out_ += node.kind_name();
    if (node.kind == NodeKind::Constant) {
      out_ += " {" + constant_text(node) + "}";
    } else {
      out_ += "(" + operands(node.inputs) + ")";
    }
    if (node.payload) out_ += payload_text(*node.payload);
    std::string attrs;
    for (const auto& [attr, value] : node.attrs.items()) {
      if (is_default(node, attr, value)) continue;
      attrs += fmt::format("{}{}={}", attrs.empty() ? "" : ", ", attr, attr_text(value));
    }
    if (!attrs.empty()) out_ += " {" + attrs + "}";
    const std::string where = node.location.str();
    const std::string comment = where.empty() ? "" : "  # " + where;
    if (node.blocks.empty()) {
      out_ += comment + "\n";
      return;
    }
    for (size_t i = 0; i < node.blocks.size(); ++i) {
      const Block& block = *node.blocks[i];
      out_ += i == 0 ? " " : indent + "} else ";
      if (node.kind == NodeKind::Loop) {
        print_params(block.params);
        out_ += " ";
      }
      out_ += "{" + (i == 0 ? comment : "") + "\n";
      print_nodes(block, depth + 1);
      out_ += indent + "  yield" + operands(block.returns, " ") + "\n";
    }
    out_ += indent + "}\n";
  }

  static std::string payload_text(const ScriptPayload& payload) {
    std::string text;
    const auto add = [&](const std::string& item) { text += (text.empty() ? " [" : ", ") + item; };
    if (!payload.text.empty()) add(quoted(payload.text));
    if (payload.type) add(payload.type->str());
    if (payload.function) add(payload.function->qualified_name());
    if (!payload.value.is_none()) add(payload.value.repr());
    return text.empty() ? "" : text + "]";
  }

  // What Graph::add_typed_node would fill in.
  static bool is_default(const Node& node, std::string_view attr, const ops::Attr& value) {
    const ops::Param* param = node.op->find_param(attr);
    if (!param) return false;
    return param->has_default ? same_attr(param->default_value, value)
                              : param->optional && std::holds_alternative<std::monostate>(value);
  }

  std::string constant_text(const Node& node) {
    const Tensor& tensor = node.constant;
    if (tensor.numel() <= kInlineLimit) return data_text(tensor);
    if (tensor.numel() > kDataLimit) return fmt::format("large {}", tensor.numel());
    const std::string label = fmt::format("data{}", num_data_++);
    data_ += fmt::format("{}: {} = {}\n", label, type_text(node.output()->type), data_text(tensor));
    return label;
  }

  const Graph& graph_;
  std::string out_, data_;
  int num_data_ = 0;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::string Graph::str() const { return Printer(*this).run(); }

}  // namespace weft::ir
