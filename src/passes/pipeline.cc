#include <fmt/format.h>

#include <chrono>

#include "passes/pass.h"
#include "runtime/log.h"
#include "weft/env.h"

namespace weft::passes {
namespace {

constexpr Pass kPipeline[] = {
    {"decompose", "operators in terms of fewer others", decompose},
    {"canonicalize", "local simplifications", canonicalize},
    {"fold_constants", "small results known now", fold_constants},
    {"cse", "equal computations become one", eliminate_common_subexpressions},
    {"channels_last", "images with their channels last, between convolutions", channels_last},
    {"canonicalize", "what folding, merging and layouts have made possible", canonicalize},
    {"dead_code", "unused nodes", eliminate_dead_code},
    {"fuse_epilogues", "bias, residual and activation into convolutions and linear layers", fuse_epilogues},
    {"strip_monotone", "argmin and argmax through sqrt", strip_monotone},
    {"dead_code", "unused nodes", eliminate_dead_code},
};

bool verification() {
#ifdef NDEBUG
  return env::flag("WEFT_VERIFY");
#else
  return true;
#endif
}

void run_logged(const Pass& pass, ir::Graph& graph, std::string& before) {
  const auto start = std::chrono::steady_clock::now();
  pass.run(graph);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  std::string after = graph.str();
  const bool changed = after != before;
  log::write(log::Channel::Passes, fmt::format("{} {}: {:.0f} us{}{}", graph.name, pass.name, time.count(),
                                               changed ? "\n" : " (unchanged)", changed ? after : ""));
  if (changed) log::dump(fmt::format("{}.{}.graph", graph.name, pass.name), after);
  before = std::move(after);
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

void run_pipeline(ir::Graph& graph) {
  const bool logging = log::enabled(log::Channel::Passes) || !env::get("WEFT_DUMP").empty();
  const bool verifying = verification();
  std::string text;
  if (logging) {
    text = graph.str();
    log::write(log::Channel::Passes, fmt::format("{} captured\n{}", graph.name, text));
    log::dump(fmt::format("{}.captured.graph", graph.name), text);
  }
  if (verifying) ir::verify(graph);
  for (const Pass& pass : kPipeline) {
    if (logging) {
      run_logged(pass, graph, text);
    } else {
      pass.run(graph);
    }
    if (!verifying) continue;
    try {
      ir::verify(graph);
    } catch (const Error& error) {
      throw error.with_note(fmt::format("after the pass '{}'", pass.name));
    }
  }
}

void run_pass(std::string_view name, ir::Graph& graph) {
  for (const Pass& pass : kPipeline) {
    if (pass.name == name) return pass.run(graph);
  }
  throw_error(ErrorKind::Value, fmt::format("no pass is called '{}'", name));
}

}  // namespace weft::passes
