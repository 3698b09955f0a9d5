// Writes the kernels that eager operators run: `weft_write_kernels LEVEL VECTOR_BYTES FILES OUT_PREFIX` makes
// OUT_PREFIX0.cc … with weft's own code generator, for one level of instructions.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/prelude.h"
#include "compiler/fuse.h"
#include "compiler/stages.h"
#include "ir/trace.h"
#include "ops/build.h"
#include "ops/pointwise.h"
#include "ops/registry.h"
#include "scalar/elementary.h"

namespace weft {
namespace {

using ops::Attrs;
using ops::OpKind;

std::string symbol_prefix;  // "weft_avx2_"

struct Written {
  std::string name;    // "erf_f32"
  std::string symbol;  // with the level before it
  std::string body;
  std::vector<int> arrays;
};

using Program = std::function<Tensor(const std::vector<Tensor>& operands)>;

// The kernel of a program over contiguous operands; an empty name where it is not exactly one, or calls
// functions lane by lane, with which it gains nothing. `are_rows_apart`: the sizes that it is called with are
// those that its guards ask for.
Written write_kernel(const std::string& name, const std::vector<std::vector<int>>& shapes,
                     const std::vector<DType>& dtypes, int vector_bytes, const Program& program,
                     bool are_rows_apart = false) {
  ir::GraphTracer tracer("built");
  std::map<int, Sym> sizes;  // by number
  std::vector<Tensor> operands;
  for (size_t i = 0; i < shapes.size(); ++i) {
    ops::TensorType type{dtypes[i], {}, Device{}};
    for (int number : shapes[i]) {
      const auto [found, is_new] = sizes.try_emplace(number);
      if (is_new) found->second = tracer.graph().env().new_symbol(1024 + number);
      type.shape.push_back(found->second);
    }
    operands.push_back(tracer.input(std::move(type), fmt::format("x{}", i)));
  }
  Tensor result;
  {
    ops::TracerScope scope(&tracer);
    result = program(operands);
  }
  const std::unique_ptr<ir::Graph> graph = tracer.finish({result});
  compiler::run_graph_stages(*graph);
  const compiler::FusionPlan plan = compiler::fuse(*graph);
  if (plan.steps.size() != 1 || plan.steps[0].node != nullptr) return {};
  if (!are_rows_apart && !graph->env().guards().empty()) return {};
  nest::LoopNest nest = compiler::make_nest(plan.steps[0].group, plan.memory, {vector_bytes, true});
  nest.name = symbol_prefix + name;
  nest.comments.clear();
  const codegen::PrintedKernel printed = compiler::print_kernel(nest);
  if (!printed.functions.empty()) return {};
  Written written{name, nest.name, printed.body, {}};
  for (const nest::Buffer& buffer : nest.buffers) {
    const auto& inputs = graph->inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), buffer.value);
    written.arrays.push_back(found != inputs.end() ? static_cast<int>(found - inputs.begin()) : -1);
  }
  return written;
}

// Every pointwise operator with its parameters' defaults.
void write_pointwise(int vector_bytes, std::vector<Written>& all) {
  for (const auto& [name, op] : ops::all_ops()) {
    if (op->kind != OpKind::Pointwise || op->loops == nullptr || op->default_params == nullptr ||
        name != op->name)
      continue;
    // Instructions that every processor has know no extremes of long integers.
    const bool is_arithmetic = name == "add" || name == "sub" || name == "mul";
    const bool has_integers =
        is_arithmetic || name == "clamp_between" || name == "maximum" || name == "minimum";
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64}) {
      if (!(op->dtypes & ops::dtype_bit(dtype)) || (is_integral(dtype) && !has_integers)) continue;
      size_t count = 0;
      Attrs attrs;
      for (const ops::Param& param : op->params) {
        if (param.is_tensor())
          ++count;
        else
          attrs.set(param.name, param.default_value);
      }
      const auto program = [&](const std::vector<Tensor>& operands) {
        return ops::call(*op, {operands, attrs}).at(0);
      };
      std::vector<DType> dtypes(count, dtype);
      if (name == "where") dtypes[0] = DType::Bool;
      const auto add = [&](std::string_view form, const std::vector<std::vector<int>>& shapes) {
        Written written = write_kernel(fmt::format("{}_{}_{}", name, weft::name(dtype), form), shapes, dtypes,
                                       vector_bytes, program);
        if (!written.name.empty()) all.push_back(std::move(written));
      };
      // As they are, and with a number for some operands.
      std::vector<std::string> forms = {std::string(count, 'n')};
      if (count == 2) forms.insert(forms.end(), {"n1", "1n"});
      if (count == 3) forms.insert(forms.end(), {"nn1", "n11"});
      for (const std::string& form : forms) {
        std::vector<std::vector<int>> shapes;
        for (char operand : form) shapes.push_back(operand == 'n' ? std::vector<int>{0} : std::vector<int>{});
        add(form, shapes);
      }
      // Rows, and one that is there for all of them.
      if ((is_arithmetic || name == "true_divide") && (dtype == DType::F32 || dtype == DType::F64)) {
        add("nr", {{0, 1}, {1}});
        add("rn", {{1}, {0, 1}});
      }
    }
  }
}

// The sign of halves by their bits: they need not become float32.
void write_signs(int vector_bytes, std::vector<Written>& all) {
  const auto write = [&](const char* name, DType dtype, const char* bitwise, int64_t mask) {
    const std::string form = fmt::format("{}_{}_n", name, weft::name(dtype));
    std::erase_if(all, [&](const Written& written) { return written.name == form; });
    all.push_back(write_kernel(form, {{0}}, {DType::I16}, vector_bytes, [&](const std::vector<Tensor>& x) {
      return ops::call1(bitwise, {x[0], Tensor::scalar(Scalar(mask), DType::I16)});
    }));
  };
  for (const DType dtype : {DType::F16, DType::BF16}) {
    write("abs", dtype, "bitwise_and", 0x7fff);
    write("neg", dtype, "bitwise_xor", -0x8000);
  }
}

// Operators along the last dimension of a matrix.
void write_rows(int vector_bytes, std::vector<Written>& all) {
  const auto write = [&](const char* name, DType dtype, const auto& program) {
    all.push_back(write_kernel(fmt::format("{}_rows_{}", name, weft::name(dtype)), {{0, 1}}, {dtype},
                               vector_bytes,
                               [&](const std::vector<Tensor>& operands) { return program(operands[0]); }));
  };
  // `accumulate`: what elements are taken as, where that is not their dtype.
  const auto add = [&](const char* name, DType dtype, const Attrs& attrs,
                       std::optional<DType> accumulate = {}) {
    write(name, dtype, [&](const Tensor& given) {
      return ops::call1(name, {accumulate ? given.to(*accumulate) : given}, attrs);
    });
  };
  // The same of the first elements of rows that lie apart: a matrix, and a vector of as many elements.
  const auto add_apart = [&](const char* name, DType dtype, const Attrs& attrs,
                             std::optional<DType> accumulate) {
    all.push_back(write_kernel(
        fmt::format("{}_rows_{}", name, weft::name(dtype)), {{0, 2}, {1}}, {dtype, dtype}, vector_bytes,
        [&](const std::vector<Tensor>& operands) {
          const Sym length = ops::sym_shape(operands[1])[0];
          const Tensor rows = ops::build::slice(operands[0], 1, {Sym(0), length, 1, length});
          return ops::call1(name, {accumulate ? rows.to(*accumulate) : rows}, attrs);
        },
        /*are_rows_apart=*/true));
  };
  const Attrs along{{"dim", Sym(1)}}, over{{"dim", SymShape{Sym(1)}}, {"keepdim", false}};
  Attrs sums = over, norm = over;
  sums.set("dtype", {});
  norm.set("ord", 2.0);
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const bool is_half = compute_dtype(dtype) != dtype;
    const std::optional<DType> wide = is_half ? std::optional(compute_dtype(dtype)) : std::nullopt;
    for (const char* name : {"softmax", "log_softmax"}) add(name, dtype, along);
    for (const char* name : {"amin", "amax"}) add_apart(name, dtype, over, wide);
    for (const char* name : {"sum", "prod"}) add_apart(name, dtype, sums, wide);
    add("logsumexp", dtype, over);
    add("vector_norm", dtype, norm);
    // Beside a row's elements, their number and what the sum of squares is divided by.
    const DType compute = wide.value_or(dtype);
    all.push_back(write_kernel(
        fmt::format("var_rows_{}", weft::name(dtype)), {{0, 1}, {}, {}}, {dtype, compute, compute},
        vector_bytes, [&](const std::vector<Tensor>& operands) {
          Attrs kept = sums;
          kept.set("keepdim", true);
          const Tensor x = wide ? operands[0].to(*wide) : operands[0];
          const Tensor mean = ops::call1("true_divide", {ops::call1("sum", {x}, kept), operands[1]});
          const Tensor deviation = ops::call1("sub", {x, mean});
          const Tensor total = ops::call1("sum", {ops::call1("mul", {deviation, deviation})}, sums);
          const Tensor result = ops::call1("true_divide", {total, operands[2]});
          return wide ? result.to(dtype) : result;
        }));
    write("square_sum", dtype, [&](const Tensor& given) {
      const Tensor x = wide ? given.to(*wide) : given;
      return ops::call1("sum", {ops::call1("mul", {x, x})}, sums);
    });
  }
  for (const DType dtype : {DType::I32, DType::I64})
    for (const char* name : {"amin", "amax"}) add_apart(name, dtype, over, {});
  add_apart("sum", DType::I64, sums, {});
}

// A sum of each column, and four more rows, one after the other; the same of extremes.
void write_columns(int vector_bytes, std::vector<Written>& all) {
  const auto write = [&](const char* name, const char* combine, DType dtype) {
    const DType compute = compute_dtype(dtype);
    all.push_back(write_kernel(fmt::format("{}_columns_{}", name, weft::name(dtype)),
                               {{0}, {0}, {0}, {0}, {0}}, {compute, dtype, dtype, dtype, dtype}, vector_bytes,
                               [&](const std::vector<Tensor>& operands) {
                                 Tensor result = operands[0];
                                 for (size_t row = 1; row < operands.size(); ++row)
                                   result = ops::call1(combine, {result, operands[row].to(compute)});
                                 return result;
                               }));
  };
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) write("sum", "add", dtype);
  for (const DType dtype : {DType::F32, DType::F64}) {
    write("amin", "minimum", dtype);
    write("amax", "maximum", dtype);
  }
}

constexpr std::string_view kTable =
#include "embedded/built_table.h"
    ;

std::string text_of(const Written& written) {
  std::string list;
  for (int array : written.arrays) list += fmt::format("{}, ", array);
  return written.body + fmt::format("const signed char arrays_of_{}[] = {{{}}};\n", written.name, list);
}

// What is there already is left alone: it need not be compiled again.
void write_file(const std::string& path, const std::string& text) {
  std::ostringstream present;
  if (std::ifstream file(path); file) present << file.rdbuf();
  if (present.str() == text) return;
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  using namespace weft;
  if (argc != 5) {
    fmt::print(stderr, "usage: weft_write_kernels LEVEL VECTOR_BYTES FILES OUT_PREFIX\n");
    return 2;
  }
  try {
    const std::string level = argv[1], prefix = argv[4];
    symbol_prefix = fmt::format("weft_{}_", level);
    const int vector_bytes = std::atoi(argv[2]), files = std::atoi(argv[3]);
    std::vector<Written> all;
    write_pointwise(vector_bytes, all);
    write_signs(vector_bytes, all);
    write_rows(vector_bytes, all);
    write_columns(vector_bytes, all);
    std::erase_if(all, [](const Written& written) { return written.name.empty(); });
    for (int part = 0; part < files; ++part) {
      std::string bodies, table;
      for (size_t i = static_cast<size_t>(part); i < all.size(); i += static_cast<size_t>(files)) {
        const Written& written = all[i];
        bodies += text_of(written);
        table += fmt::format("    {{\"{0}\", &{1}, arrays_of_{0}, {2}}},\n", written.name, written.symbol,
                             written.arrays.size());
      }
      std::ostringstream file;
      file << "// Written by tools/write_kernels.cc.\n"
           << kTable << "namespace {\n"
           << codegen::prelude() << scalar::all_elementary_sources() << bodies
           << fmt::format("const weft::kernels::BuiltKernel kernels[] = {{\n{}}};\n}}  // namespace\n", table)
           << fmt::format("extern \"C\" const weft::kernels::BuiltKernels weft_built_{}_{}", level, part)
           << "{kernels, sizeof(kernels) / sizeof(kernels[0])};\n";
      write_file(fmt::format("{}{}.cc", prefix, part), file.str());
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft_write_kernels: {}\n", error.what());
    return 1;
  }
}
