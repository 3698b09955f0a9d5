// Small exported programs, written here: their JSON, and the archives around them.
#pragma once

#include <fmt/format.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/archive.h"

namespace weft::exported {

using ArchiveEntries = std::map<std::string, std::string>;

inline std::string sym(const std::string& name) {
  return fmt::format(R"_({{"as_expr": {{"expr_str": "Symbol('{}', positive=True, integer=True)", "hint": {{"as_int": 3}}}}}})_", name);
}
inline std::string size(int64_t value) { return fmt::format(R"({{"as_int": {}}})", value); }

inline std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// float32 unless told otherwise (the schema's numbers).
inline std::string meta(const std::vector<std::string>& sizes, int dtype = 7, int layout = 7) {
  std::vector<std::string> strides(sizes.size(), size(1));
  return fmt::format(
      R"({{"dtype": {}, "sizes": [{}], "requires_grad": false, "device": {{"type": "cpu", "index": null}}, "strides": [{}], "storage_offset": {{"as_int": 0}}, "layout": {}}})",
      dtype, joined(sizes), joined(strides), layout);
}

inline std::string tensor(const std::string& name) { return fmt::format(R"({{"as_tensor": {{"name": "{}"}}}})", name); }
inline std::string argument(const std::string& name, const std::string& value, int kind = 1) {
  return fmt::format(R"({{"name": "{}", "arg": {}, "kind": {}}})", name, value, kind);
}
inline std::string node(const std::string& target, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  return fmt::format(R"({{"target": "{}", "inputs": [{}], "outputs": [{}], "metadata": {{}}}})", target, joined(inputs), joined(outputs));
}
// torch.ops.aten.NAME.OVERLOAD(self, other).
inline std::string binary(const std::string& target, const std::string& self, const std::string& other, const std::string& out) {
  return node("torch.ops.aten." + target, {argument("self", tensor(self)), argument("other", other)}, {tensor(out)});
}

struct ProgramText {
  std::vector<std::string> inputs = {tensor("x")};
  std::vector<std::string> outputs = {tensor("y")};
  std::vector<std::string> nodes;
  std::map<std::string, std::string> metas;       // of tensors
  std::vector<std::string> input_specs = {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})"};
  std::vector<std::string> output_specs = {R"({"user_output": {"arg": {"as_tensor": {"name": "y"}}}})"};
  std::string ranges = "{}";
  std::string guards = "[]";
  std::string in_spec = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
  std::string out_spec = R"([1, {"type": null, "context": null, "children_spec": []}])";
  int major = 8;

  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return result + "\"";
  }
  std::string graph() const {
    std::vector<std::string> values;
    for (const auto& [name, text] : metas) values.push_back(fmt::format("\"{}\": {}", name, text));
    return fmt::format(
        R"({{"inputs": [{}], "outputs": [{}], "nodes": [{}], "tensor_values": {{{}}}, "sym_int_values": {{}}, "sym_bool_values": {{}}, "is_single_tensor_return": false, "custom_obj_values": {{}}, "sym_float_values": {{}}}})",
        joined(inputs), joined(outputs), joined(nodes), joined(values));
  }
  std::string json() const {
    return fmt::format(
        R"({{"graph_module": {{"graph": {}, "signature": {{"input_specs": [{}], "output_specs": [{}]}}, "module_call_graph": [{{"fqn": "", "signature": {{"inputs": [], "outputs": [], "in_spec": {}, "out_spec": {}, "forward_arg_names": ["x"]}}}}]}}, "opset_version": {{"aten": 10}}, "range_constraints": {}, "schema_version": {{"major": {}, "minor": 20}}, "verifiers": ["TRAINING"], "torch_version": "2.15.0", "guards_code": {}}})",
        graph(), joined(input_specs), joined(output_specs), quoted(in_spec), quoted(out_spec), ranges, major, guards);
  }
};

// y = x + w, of x: [s0, 2] and s0 from 1 to 4.
inline ProgramText add_weight() {
  ProgramText program;
  program.inputs = {tensor("p_w"), tensor("x")};
  program.input_specs.insert(program.input_specs.begin(), R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})");
  program.nodes = {binary("add.Tensor", "x", tensor("p_w"), "y")};
  program.metas = {{"p_w", meta({size(2)})}, {"x", meta({sym("s0"), size(2)})}, {"y", meta({sym("s0"), size(2)})}};
  program.ranges = R"({"s0": {"min_val": 1, "max_val": 4}})";
  return program;
}

// y = x * 2 where x.sum() > 0, else x - 1.
inline ProgramText branches() {
  const auto branch = [](const std::string& body) {
    ProgramText inner;
    inner.inputs = {tensor("a")};
    inner.outputs = {tensor("b")};
    inner.nodes = {body};
    inner.metas = {{"a", meta({size(2)})}, {"b", meta({size(2)})}};
    return fmt::format(R"({{"as_graph": {{"name": "g", "graph": {}}}}})", inner.graph());
  };
  ProgramText program;
  program.metas = {{"x", meta({size(2)})}, {"s", meta({})}, {"c", meta({}, 12)}, {"y", meta({size(2)})}};
  program.nodes = {
      node("torch.ops.aten.sum.default", {argument("self", tensor("x"))}, {tensor("s")}),
      binary("gt.Scalar", "s", size(0), "c"),
      node("torch.ops.higher_order.cond",
           {argument("", tensor("c")), argument("", branch(binary("mul.Tensor", "a", size(2), "b"))),
            argument("", branch(binary("sub.Tensor", "a", size(1), "b"))), argument("", R"({"as_tensors": [{"name": "x"}]})")},
           {tensor("y")})};
  return program;
}

// y = x.view(2 * rows), of x: [s0, 2].
inline ProgramText sizes() {
  ProgramText program;
  const std::string rows = R"({"as_sym_int": {"as_name": "n"}})", twice = R"({"as_sym_int": {"as_name": "m"}})";
  program.metas = {{"x", meta({sym("s0"), size(2)})}, {"y", meta({sym("s1")})}};
  program.nodes = {
      node("torch.ops.aten.sym_size.int", {argument("self", tensor("x")), argument("dim", size(0))}, {rows}),
      node("_operator.mul", {argument("a", rows), argument("b", size(2))}, {twice}),
      node("torch.ops.aten.view.default", {argument("self", tensor("x")), argument("size", R"({"as_sym_ints": [{"as_name": "m"}]})")},
           {tensor("y")})};
  return program;
}

// The entries of an archive of it, below the top folder. The weight: w = [1, 2].
inline ArchiveEntries entries_of(const std::string& json) {
  const float weight[] = {1, 2};
  const std::string config = fmt::format(
      R"({{"config": {{"w": {{"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {}}}}}}})", meta({size(2)}));
  return {{"archive_format", "pt2"},
          {"archive_version", "0"},
          {"models/model.json", json},
          {"data/weights/weight_0", std::string(reinterpret_cast<const char*>(weight), sizeof(weight))},
          {"data/weights/model_weights_config.json", config},
          {"data/constants/model_constants_config.json", R"({"config": {}})"}};
}

inline std::string archive_of(const ArchiveEntries& entries) {
  jit::ArchiveWriter writer("program");
  for (const auto& [name, contents] : entries) writer.add(name, std::as_bytes(std::span(contents)));
  return writer.finish();
}
inline std::string archive_of(const ProgramText& program) { return archive_of(entries_of(program.json())); }

}  // namespace weft::exported
