// weft._C._export: exported programs, which the package weft.export wraps.
#include "weft/exported.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "exported/lower.h"
#include "exported/symbols.h"
#include "interpreter_lock.h"
#include "io/archive.h"
#include "jit.h"
#include "ops/autocast.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using exported::Program;
using exported::Tree;

// (kind, type, keys, children, context)
nb::object tree_to_python(const Tree& tree) {
  static constexpr const char* kKinds[] = {"leaf", "tuple", "list", "dict", "named"};
  nb::list keys, children;
  for (size_t i = 0; i < tree.keys.size(); ++i) {
    const nb::str key(tree.keys[i].c_str(), tree.keys[i].size());
    keys.append(tree.kind == Tree::Kind::Dict && tree.is_number[i] ? nb::object(nb::int_(key)) : nb::object(key));
  }
  for (const Tree& child : tree.children) children.append(tree_to_python(child));
  return nb::make_tuple(nb::str(kKinds[static_cast<size_t>(tree.kind)]), nb::str(tree.type.c_str()), nb::tuple(keys),
                        nb::tuple(children), nb::str(tree.context.c_str(), tree.context.size()));
}

// (name, place, dtype or None, sizes, is it a constant?, the constant) of each leaf
nb::list inputs_of(const Program& program) {
  nb::list result;
  for (const exported::Input& input : program.inputs()) {
    nb::list sizes;
    for (const std::string& size : input.sizes) sizes.append(nb::str(size.c_str()));
    result.append(nb::make_tuple(nb::str(input.name.c_str()), nb::str(input.place.c_str()),
                                 input.is_tensor ? nb::object(to_python(input.dtype)) : nb::none(), nb::tuple(sizes),
                                 input.is_constant, to_python(input.constant)));
  }
  return result;
}

nb::list run(const Program& program, const nb::list& leaves) {
  std::vector<IValue> values;
  for (nb::handle leaf : leaves) values.push_back(to_ivalue(leaf, nullptr));
  const nb::object results = run_script(program.module().unit(), [&] {
    std::vector<IValue> found = program.run_leaves(std::move(values));
    return IValue::tuple(std::move(found));
  });
  return nb::list(results);
}

nb::dict by_name(const exported::Tensors& tensors) {
  nb::dict result;
  for (const auto& [name, tensor] : tensors) result[nb::str(name.c_str(), name.size())] = to_python(tensor);
  return result;
}

exported::Tensors tensors_of(const nb::dict& values) {
  exported::Tensors result;
  for (const auto& [name, value] : values) {
    const Tensor* tensor = tensor_of_python(value);
    WEFT_CHECK_TYPE(tensor, fmt::format("expected a tensor, got {}", Py_TYPE(value.ptr())->tp_name));
    result.emplace(nb::cast<std::string>(name), *tensor);
  }
  return result;
}

// Entries are bytes, or tensors, whose whole storage is written.
void add_entries(jit::ArchiveWriter& writer, const nb::dict& entries) {
  for (const auto& [name, value] : entries) {
    const auto entry = nb::cast<std::string>(name);
    if (const Tensor* tensor = tensor_of_python(value)) {
      writer.add(entry, tensor->impl()->storage);
      continue;
    }
    const auto bytes = nb::cast<nb::bytes>(value);
    writer.add(entry, std::as_bytes(std::span(bytes.c_str(), bytes.size())));
  }
}

}  // namespace

void bind_exported(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_export", "Exported programs: what the package weft.export is made of.");
  nb::class_<Program>(m, "Program")
      .def("run", &run)
      .def("inputs", &inputs_of)
      .def("arguments", [](const Program& self) { return tree_to_python(self.arguments()); })
      .def("results", [](const Program& self) { return tree_to_python(self.results()); })
      .def("ranges",
           [](const Program& self) {
             nb::dict ranges;
             for (const exported::SizeRange& range : self.ranges())
               ranges[range.symbol.c_str()] =
                   nb::make_tuple(range.min, range.max ? nb::object(nb::int_(*range.max)) : nb::none());
             return ranges;
           })
      .def("text", &Program::text)
      .def("weights", [](const Program& self) { return by_name(self.weights()); })
      .def("constants", [](const Program& self) { return by_name(self.constants()); })
      .def("module", [](const Program& self) { return self.module(); })
      .def(
          "optimize_for_inference",
          [](const Program& self, nb::handle dtype, const std::string& mode) {
            const std::optional<DType> wanted = optional_dtype(dtype);
            const GilRelease no_gil;
            return self.optimize_for_inference(wanted, mode);
          },
          nb::arg("dtype").none(), nb::arg("mode"));
  // The dtype that an autocast region casts an operator's operands to; None where it leaves them. equation: of einsum;
  // pads, mode: of pad.
  m.def("autocast_dtype", [](const std::string& name, bool has_float32, nb::handle narrow,
                             const std::string& equation, size_t pads, const std::string& mode) {
    ops::Attrs attrs;
    attrs.set("equation", equation);
    attrs.set("pad", SymShape(pads, Sym(0)));
    attrs.set("mode", mode);
    const auto dtype = ops::autocast_dtype(name, attrs, has_float32, dtype_of_python(narrow));
    return dtype ? to_python(*dtype) : nb::object(nb::none());
  });
  m.def("autocast_keeps_states", [](const std::string& name) { return ops::autocast_keeps_states(name); });
  // ("add", "Tensor") of ("_foreach_add", "List"): what is done for each tensor; None of other operators.
  m.def("operator_of_one", [](const std::string& name, const std::string& overload) {
    const auto found = exported::operator_of_one(name, overload);
    return found ? nb::object(nb::make_tuple(found->name, found->overload)) : nb::object(nb::none());
  });
  m.def("make", [](const std::string& json, const nb::dict& weights, const nb::dict& constants) {
    return exported::make_program(json, tensors_of(weights), tensors_of(constants));
  });
  m.def("write", [](const std::string& path, const std::string& top_folder, const nb::dict& entries) {
    jit::ArchiveWriter writer(top_folder);
    add_entries(writer, entries);
    writer.finish_to_file(path);
  });
  m.def("written", [](const std::string& top_folder, const nb::dict& entries) {
    jit::ArchiveWriter writer(top_folder);
    add_entries(writer, entries);
    const std::string bytes = writer.finish();
    return nb::bytes(bytes.data(), bytes.size());
  });
  // The schema's number of a dtype; the builtins that Python's functions on sizes are.
  m.def("dtype_number", [](nb::handle dtype) { return exported::number_of(*optional_dtype(dtype)); });
  // "2*s0" of sympy's text.
  m.def("size_text", [](const std::string& text) { return exported::SizeExpr::parse(text).str(); });
  m.def("python_functions", [] {
    nb::dict result;
    for (const exported::PythonFunction& function : exported::python_functions())
      result[function.name] = nb::str(function.builtin);
    return result;
  });
  m.def("regions", [] {
    nb::list result;
    for (const std::string& name : exported::region_names()) result.append(nb::str(name.c_str()));
    return result;
  });
  m.def("load", [](const std::string& path, bool verify) {
    const GilRelease no_gil;
    return exported::load(path, verify);
  });
  m.def("load_bytes", [](const nb::bytes& contents, bool verify) {
    std::string bytes(contents.c_str(), contents.size());
    const GilRelease no_gil;
    return exported::load_bytes(std::move(bytes), verify);
  });
}

}  // namespace weft::python
