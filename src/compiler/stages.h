// Everything that happens between a captured graph and the program that runs it, in order.
//
// stages.cc holds the list. WEFT_LOGS=passes and WEFT_DUMP show each stage's result, or "(unchanged)", with
// its time; in debug builds and under WEFT_VERIFY=1 a verifier follows each.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "codegen/print_cpp.h"
#include "compiler/fuse.h"
#include "compiler/kernel.h"
#include "compiler/lower.h"
#include "compiler/program.h"
#include "ir/graph.h"

namespace weft::compiler {

// What a stage works on, or what it makes of what.
using GraphStage = void (*)(ir::Graph& graph);
using FuseStage = FusionPlan (*)(const ir::Graph& graph, const std::vector<SymShape>& input_strides);
using LowerStage = LoopNest (*)(const FusionGroup& group, const Memory& memory, const LowerOptions& options);
using NestStage = void (*)(LoopNest& nest);
using PrintStage = codegen::PrintedKernel (*)(const LoopNest& nest);
using PlanStage = Program (*)(const ir::Graph& graph, const FusionPlan& fusion, std::vector<Kernel> kernels);
using ProgramStage = void (*)(Program& program);

// Stands for the device's own passes over nests (Backend::schedule).
struct DeviceSchedule {};

struct Stage {
  std::string_view name;
  std::string_view doc;
  std::variant<GraphStage, FuseStage, LowerStage, NestStage, DeviceSchedule, PrintStage, PlanStage,
               ProgramStage>
      run;
};

// With the device's own in their place.
std::vector<Stage> stages(Device device = {});

// The stages over graphs.
void run_graph_stages(ir::Graph& graph);
// One of them by name, for tests and tools; ValueError for an unknown one.
void run_graph_stage(std::string_view name, ir::Graph& graph);
// Lowers a group of values to a loop nest, and runs the stages over nests.
LoopNest make_nest(const FusionGroup& group, const Memory& memory, const LowerOptions& options);
// The nest as text that a toolchain compiles.
codegen::PrintedKernel print_kernel(const LoopNest& nest);
// From a graph on which the stages over graphs have run: fuses it, makes its kernels, plans.
// `input_strides`: of each input; empty means contiguous.
Program make_program(const ir::Graph& graph, const std::vector<Strides>& input_strides,
                     const CompileOptions& options);

}  // namespace weft::compiler
