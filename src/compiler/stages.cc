#include "compiler/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "compiler/planner.h"
#include "core/profiling.h"
#include "nest/passes.h"
#include "nest/text.h"
#include "passes/pass.h"
#include "runtime/log.h"
#include "weft/env.h"

namespace weft::compiler {
namespace {

constexpr Stage kStages[] = {
    // The graph.
    {"decompose", "operators in terms of fewer others", passes::decompose},
    {"canonicalize", "local simplifications", passes::canonicalize},
    {"sink_permutes", "what results in another order are made of is permuted", passes::sink_permutes},
    {"fold_constants", "small results known now", passes::fold_constants},
    {"cse", "equal computations become one", passes::eliminate_common_subexpressions},
    {"relative_attention", "attention with decomposed relative positions becomes one operator",
     passes::relative_attention},
    {"channels_last", "images with their channels last, between convolutions", passes::channels_last},
    {"canonicalize", "what folding, merging and layouts have made possible", passes::canonicalize},
    {"dead_code", "unused nodes", passes::eliminate_dead_code},
    {"fuse_epilogues", "bias, residual and activation into convolutions and linear layers",
     passes::fuse_epilogues},
    {"strip_monotone", "argmin and argmax through sqrt", passes::strip_monotone},
    {"dead_code", "unused nodes", passes::eliminate_dead_code},
    // What is kept in memory, and which kernels write it.
    {"fuse", "groups of values, each computed by one kernel", fuse},
    // Each kernel.
    {"lower", "a group becomes a loop nest; what loops do not change stands outside them", lower},
    {"schedule", "outer loops, lanes and reductions as the device maps them: its own passes",
     DeviceSchedule{}},
    {"find_load_groups", "strided loads become contiguous ones", nest::find_load_groups},
    {"order_statements", "operands before what uses them", nest::order_statements},
    {"print_cpp", "the nest as C++, which the toolchain compiles", codegen::print_cpp},
    // The program.
    {"plan", "kernels and operator calls over slots", plan},
    {"overlap_calls", "what does not need a collective's result is done while it is under way",
     overlap_calls},
    {"release_slots", "memory is given back after its last use", release_slots},
    {"reuse_operands", "results in the memory of operands", reuse_operands},
    {"take_bases", "updates in the memory of what they update", take_bases},
    {"plan_in_place", "results in the memory of inputs that they are written back to", plan_in_place},
};

bool is_verifying() {
#ifdef NDEBUG
  return env::flag("WEFT_VERIFY");
#else
  return true;
#endif
}

bool is_logging() { return log::enabled(log::Channel::Passes) || log::dumping(); }

struct NamedFusion {
  const ir::Graph& graph;
  FusionPlan plan;
};

std::string text_of(const ir::Graph& graph) { return graph.str(); }
std::string text_of(const NamedFusion& fusion) { return str(fusion.plan); }
std::string text_of(const codegen::PrintedKernel& printed) { return printed.body; }
std::string text_of(const LoopNest& nest) { return nest::str(nest); }
std::string text_of(const Program& program) { return program.str(); }
const std::string& name_of(const ir::Graph& graph) { return graph.name; }
const std::string& name_of(const LoopNest& nest) { return nest.name; }
const std::string& name_of(const Program& program) { return program.name; }
const std::string& name_of(const NamedFusion& fusion) { return fusion.graph.name; }
const std::string& name_of(const codegen::PrintedKernel& printed) { return printed.name; }
const char* kind_of(const ir::Graph&) { return "graph"; }
const char* kind_of(const LoopNest&) { return "nest"; }
const char* kind_of(const Program&) { return "program"; }
const char* kind_of(const NamedFusion&) { return "fusion"; }
const char* kind_of(const codegen::PrintedKernel&) { return nullptr; }  // dumped under the kernel's own name
void verify_any(const ir::Graph& graph) { ir::verify(graph); }
void verify_any(const LoopNest& nest) { nest::verify(nest); }
void verify_any(const Program& program) { verify(program); }
void verify_any(const NamedFusion& fusion) { verify(fusion.plan); }
void verify_any(const codegen::PrintedKernel&) {}  // the toolchain reads it next

// What stages of one graph, nest or program share.
class StageRunner {
 public:
  // Runs what changes `subject`.
  template <class Subject, class Run>
  void change(const Stage& stage, Subject& subject, const Run& run) {
    const profiling::Span span([&] { return stage.name; }, profiling::Kind::Compile);
    const Clock::time_point start = Clock::now();
    run(subject);
    finish(stage, subject, start);
  }
  // Gives what `run` makes.
  template <class Run>
  auto make(const Stage& stage, const Run& run) {
    const profiling::Span span([&] { return stage.name; }, profiling::Kind::Compile);
    const Clock::time_point start = Clock::now();
    auto result = run();
    finish(stage, result, start);
    return result;
  }
  template <class Subject>
  void begin(std::string_view stage, const Subject& subject) {
    if (is_verifying_) verify_any(subject);
    if (!is_logging_) return;
    before_ = text_of(subject);
    log::write(log::Channel::Passes, fmt::format("{} {}\n{}", name_of(subject), stage, before_));
    log::dump(fmt::format("{}.{}.{}", name_of(subject), stage, kind_of(subject)), before_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string before_;
  const bool is_logging_ = is_logging(), is_verifying_ = is_verifying();

  template <class Subject>
  void finish(const Stage& stage, const Subject& subject, Clock::time_point start) {
    if (is_logging_) {
      const std::chrono::duration<double, std::micro> time = Clock::now() - start;
      std::string after = text_of(subject);
      const bool changed = after != before_;
      log::write(log::Channel::Passes,
                 fmt::format("{} {}: {:.0f} us{}{}", name_of(subject), stage.name, time.count(),
                             changed ? "\n" : " (unchanged)", changed ? after : ""));
      if (changed && kind_of(subject))
        log::dump(fmt::format("{}.{}.{}", name_of(subject), stage.name, kind_of(subject)), after);
      before_ = std::move(after);
    }
    if (!is_verifying_) return;
    try {
      verify_any(subject);
    } catch (const Error& error) {
      throw error.with_note(fmt::format("after the stage '{}'", stage.name));
    }
  }
};

// The one stage of a kind that makes one thing of another.
template <class Kind>
const Stage& the_stage() {
  return *std::find_if(std::begin(kStages), std::end(kStages),
                       [](const Stage& stage) { return std::holds_alternative<Kind>(stage.run); });
}

template <class Kind, class Subject>
void run_all(StageRunner& runner, Subject& subject) {
  for (const Stage& stage : kStages)
    if (const Kind* run = std::get_if<Kind>(&stage.run)) runner.change(stage, subject, *run);
}

void run_nest_stages(StageRunner& runner, LoopNest& nest) {
  for (const Stage& stage : kStages) {
    if (const NestStage* run = std::get_if<NestStage>(&stage.run)) runner.change(stage, nest, *run);
    if (!std::holds_alternative<DeviceSchedule>(stage.run)) continue;
    for (const nest::NestPass& pass : backend_of(nest.device).schedule())
      runner.change({pass.name, pass.doc, pass.run}, nest, pass.run);
  }
}

// What is checked before a call are the guards of the capture: a stage that decides a size by itself decides
// it for all calls.
class SameGuards {
 public:
  explicit SameGuards(const ir::Graph& graph) : graph_(graph), count_(graph.env().guards().size()) {}
  void check() const {
    if (!is_verifying() || graph_.env().guards().size() == count_) return;
    WEFT_ASSERT(false, fmt::format("{}: a stage has decided that {}", graph_.name,
                                   graph_.env().guards().back().str()));
  }

 private:
  const ir::Graph& graph_;
  size_t count_;
};

// Where its arrays are.
Device device_of(const ir::Graph& graph) {
  for (const auto* values : {&graph.inputs(), &graph.outputs()})
    for (const ir::Value* value : *values) return value->tensor().device;
  return {};
}

bool has_empty_values(const ir::Graph& graph) {
  const auto is_empty = [](const ir::Value* value) {
    const SymShape& shape = value->tensor().shape;
    return std::any_of(shape.begin(), shape.end(), [](Sym size) { return sym_known_equal(size, Sym(0)); });
  };
  if (std::any_of(graph.inputs().begin(), graph.inputs().end(), is_empty)) return true;
  return std::any_of(graph.body().nodes.begin(), graph.body().nodes.end(), [&](const auto& node) {
    return std::any_of(node->outputs.begin(), node->outputs.end(), is_empty);
  });
}

FusionPlan operator_by_operator(const ir::Graph& graph) {
  FusionPlan result;
  for (const auto& node : graph.body().nodes) result.steps.push_back({.group = {}, .node = node.get()});
  return result;
}

FusionPlan fuse_graph(const ir::Graph& graph, const std::vector<Strides>& input_strides) {
  std::vector<SymShape> strides;
  for (const Strides& known : input_strides) strides.emplace_back(known.begin(), known.end());
  const Stage& stage = the_stage<FuseStage>();
  StageRunner runner;
  FusionPlan fusion =
      runner.make(stage,
                  [&] {
                    return NamedFusion{graph, std::get<FuseStage>(stage.run)(graph, strides)};
                  })
          .plan;
  for (const std::string& note : fusion.notes)
    log::write(log::Channel::Fusion, fmt::format("{}: {}", graph.name, note));
  return fusion;
}

}  // namespace

std::vector<Stage> stages(Device device) {
  std::vector<Stage> result;
  for (const Stage& stage : kStages) {
    if (!std::holds_alternative<DeviceSchedule>(stage.run)) {
      result.push_back(stage);
      continue;
    }
    for (const nest::NestPass& pass : backend_of(device).schedule())
      result.push_back({pass.name, pass.doc, pass.run});
  }
  return result;
}

void run_graph_stages(ir::Graph& graph) {
  StageRunner runner;
  const SameGuards guards(graph);
  runner.begin("captured", graph);
  run_all<GraphStage>(runner, graph);
  guards.check();
}

void run_graph_stage(std::string_view name, ir::Graph& graph) {
  for (const Stage& stage : kStages)
    if (const GraphStage* run = std::get_if<GraphStage>(&stage.run); run && stage.name == name)
      return (*run)(graph);
  throw_error(ErrorKind::Value, fmt::format("no stage over graphs is called '{}'", name));
}

LoopNest make_nest(const FusionGroup& group, const Memory& memory, const LowerOptions& options) {
  const Stage& stage = the_stage<LowerStage>();
  StageRunner runner;
  LoopNest nest = runner.make(stage, [&] { return std::get<LowerStage>(stage.run)(group, memory, options); });
  run_nest_stages(runner, nest);
  return nest;
}

codegen::PrintedKernel print_kernel(const LoopNest& nest) {
  const Stage& stage = the_stage<PrintStage>();
  StageRunner runner;
  return runner.make(stage, [&] { return std::get<PrintStage>(stage.run)(nest); });
}

Program make_program(const ir::Graph& graph, const std::vector<Strides>& input_strides,
                     const CompileOptions& options) {
  // Of empty arrays there is nothing to gain from loops, and index arithmetic over sizes of zero would need
  // care everywhere.
  const bool has_kernels = options.use_kernels && backend_of(device_of(graph)).has_kernels;
  const bool uses_kernels = has_kernels && !has_empty_values(graph);
  if (!uses_kernels)
    log::write(log::Channel::Fusion,
               fmt::format("{}: {}, runs operator by operator", graph.name,
                           has_kernels ? "has empty arrays" : "without generated code"));
  const SameGuards guards(graph);
  const FusionPlan fusion = uses_kernels ? fuse_graph(graph, input_strides) : operator_by_operator(graph);
  std::vector<Kernel> kernels;
  KernelMaker maker(options);
  for (const FusionStep& step : fusion.steps)
    if (!step.node) kernels.push_back(maker.make(step.group, fusion.memory));
  const Stage& stage = the_stage<PlanStage>();
  StageRunner runner;
  Program program =
      runner.make(stage, [&] { return std::get<PlanStage>(stage.run)(graph, fusion, std::move(kernels)); });
  run_all<ProgramStage>(runner, program);
  guards.check();
  return program;
}

}  // namespace weft::compiler
