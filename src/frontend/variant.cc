#include "frontend/variant.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "compiler/steady_graph.h"
#include "core/profiling.h"
#include "ir/symbols.h"
#include "runtime/log.h"

namespace weft::frontend {

void DimensionHistory::note(const std::vector<Tensor>& arguments) {
  inputs_.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    Input& input = inputs_[i];
    const Shape& shape = arguments[i].shape();
    if (input.sizes.size() != shape.size()) {
      input = {shape, std::vector<bool>(shape.size(), false)};
      continue;
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (input.sizes[d] != shape[d]) input.dynamic[d] = true;
    }
    input.sizes = shape;
  }
}

bool Variant::can_run(const std::vector<Tensor>& arguments) const {
  if (!compiled) return false;
  for (size_t written_argument : written) {
    const Tensor& target = arguments[written_argument];
    if (target.storage()->read_only()) return false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i != written_argument && may_overlap(target, arguments[i])) return false;
    }
  }
  return true;
}

std::vector<Tensor> Variant::run(const std::vector<Tensor>& arguments) const {
  std::vector<Tensor> computed = compiled->run(arguments);
  if (gives_graph_outputs) return computed;
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (const OutputSource& output : outputs) {
    if (output.graph_output >= 0) {
      results.push_back(computed[static_cast<size_t>(output.graph_output)]);
    } else if (output.view) {
      Tensor view = arguments[output.view->input];
      if (!output.view->steps.empty()) {
        const std::vector<int64_t> symbols = ir::bind_symbols(*graph, arguments);
        for (const auto& [op, attrs] : output.view->steps) {
          view = ops::call(*op, ops::OpArgs{{view}, ir::evaluate(attrs, symbols)}).at(0);
        }
      }
      results.push_back(std::move(view));
    } else {
      results.push_back(output.outside);
    }
  }
  return results;
}

namespace {

// Equal dynamic sizes share a symbol: the guards then say that they stay equal.
ops::TensorType traced_type(const Tensor& argument, const std::function<bool(size_t)>& is_dynamic,
                            SymEnv& env, std::map<int64_t, Sym>& symbols) {
  ops::TensorType type{argument.dtype(), {}, argument.device()};
  for (size_t d = 0; d < argument.shape().size(); ++d) {
    const int64_t size = argument.shape()[d];
    if (size < 2 || !is_dynamic(d)) {
      type.shape.push_back(size);
      continue;
    }
    const auto [found, is_new] = symbols.try_emplace(size);
    if (is_new) found->second = env.new_symbol(size);
    type.shape.push_back(found->second);
  }
  return type;
}

void record(Variant& variant, ir::GraphTracer& tracer, const detail::CompiledFunction::Function& function,
            const std::vector<Tensor>& traced) {
  std::vector<Tensor> graph_outputs;
  std::vector<Tensor> results;
  {
    ops::TracerScope scope(&tracer);
    results = function(traced);
  }
  for (const Tensor& result : results) {
    WEFT_CHECK(result.defined(), "weft::compile: the function returned an undefined tensor");
    OutputSource source;
    if (!result.is_traced()) {
      source.outside = result;
    } else if (!(source.view = tracer.input_view(result))) {
      source.graph_output = static_cast<int>(graph_outputs.size());
      graph_outputs.push_back(result);
    }
    variant.outputs.push_back(std::move(source));
  }
  variant.gives_graph_outputs = graph_outputs.size() == results.size();
  variant.graph = tracer.finish(graph_outputs);
  for (const ir::WriteBack& write : variant.graph->write_backs) variant.written.push_back(write.input);
}

std::shared_ptr<compiler::CompiledGraph> compile_graph(const ir::Graph& graph,
                                                       const std::vector<Tensor>& arguments,
                                                       const CompileOptions& given, bool use_kernels,
                                                       const std::vector<size_t>& steady) {
  compiler::CompileOptions options;
  options.use_kernels = use_kernels;
  options.prepares_runs = given.mode == "reduce-overhead";
  options.autotunes = given.mode == "max-autotune";
  for (const Tensor& argument : arguments) {
    options.input_strides.push_back(argument.is_contiguous() ? Strides() : argument.strides());
  }
  std::vector<Tensor> expected(arguments.size());
  bool has_steady = false;
  for (const size_t argument : steady) {
    if (arguments[argument].device() != Device{}) continue;
    expected[argument] = arguments[argument];
    has_steady = true;
  }
  return has_steady ? compiler::compile_steady(graph.clone(), expected, options)
                    : compiler::compile(graph.clone(), options);
}

// The name as generated code and the graph's text can have it.
std::string identifier(std::string name) {
  for (char& c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) c = '_';
  }
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "function_" + name : name;
}

}  // namespace

std::shared_ptr<const Variant> trace(const detail::CompiledFunction::Function& function,
                                     const std::vector<Tensor>& arguments, DimensionHistory& history,
                                     const CompileOptions& options, bool use_kernels,
                                     const std::vector<size_t>& steady) {
  history.note(arguments);
  const profiling::Span span([&] { return "trace " + options.name; }, profiling::Kind::Compile);
  auto variant = std::make_shared<Variant>();
  ir::GraphTracer tracer(identifier(options.name));
  std::vector<Tensor> traced;
  std::map<int64_t, Sym> symbols;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto is_dynamic = [&](size_t d) { return options.dynamic.value_or(history.is_dynamic(i, d)); };
    ops::TensorType type = traced_type(arguments[i], is_dynamic, tracer.graph().env(), symbols);
    traced.push_back(tracer.input(std::move(type), fmt::format("arg{}", i), arguments[i].strides()));
  }
  try {
    record(*variant, tracer, function, traced);
  } catch (const Error& error) {
    if (options.fullgraph) throw;
    // Either the function's own error, which the plain call raises again, or something a trace cannot hold.
    variant->why_plain = error.what();
    variant->is_user_error = error.kind() == ErrorKind::Value || error.kind() == ErrorKind::Type ||
                             error.kind() == ErrorKind::Index;
    if (variant->is_user_error) return variant;
    log::warning(fmt::format("weft.compile: {} is called as it is: {}", options.name, error.what()));
    variant->graph = tracer.finish({});
    variant->guards = Guards(*variant->graph, arguments);
    return variant;
  }
  variant->guards = Guards(*variant->graph, arguments);
  try {
    variant->compiled = compile_graph(*variant->graph, arguments, options, use_kernels, steady);
  } catch (const Error& error) {
    if (options.fullgraph) throw;
    variant->why_plain = error.what();
    log::warning(fmt::format("weft::compile: {} runs operator by operator: {}", options.name, error.what()));
  }
  return variant;
}

}  // namespace weft::frontend
