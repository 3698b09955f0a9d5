#include "nest/grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::nest {
namespace {

constexpr int64_t kMostParts = 1024;         // of one result
constexpr int64_t kSmallestPart = 2048;      // elements, by a block
constexpr int64_t kRowsOfThread = 64;        // at least, by a thread
constexpr int64_t kManyThreads = 1 << 18;    // what fills a large GPU
constexpr int64_t kEnoughThreads = 1 << 16;  // from which on threads need not share a result
constexpr int64_t kEnoughRows = 512;         // the same for blocks
constexpr int64_t kLongColumn = 256, kLongRow = 16384, kLongForWarp = 1024;

class GridPlanner {
 public:
  explicit GridPlanner(const LoopNest& nest) : nest_(nest) {}

  GridPlan run() {
    GridPlan plan;
    ScopeId outer = -1, elements = -1;
    for (const Statement& statement : nest_.scope(0).statements) {
      if (statement.kind != Statement::Kind::Child) continue;
      if (nest_.scope(statement.id).is_reduction())
        plan.splits.push_back({statement.id, false, 1, extent(statement.id)});
      else
        outer = statement.id;
    }
    if (outer >= 0 && !nest_.scope(outer).children.empty()) elements = nest_.scope(outer).children.back();
    const Sym rows = outer >= 0 ? extent(outer) : Sym(1);
    const Sym columns = elements >= 0 ? extent(elements) : Sym(1);
    bool has_rows = false;
    int64_t longest = 1;
    for (const ScopeId id : reductions_of(outer)) {
      has_rows = true;
      longest = std::max(longest, extent(id).hint());
    }
    // Blocks share the rows of which there are few.
    if (has_rows && rows.hint() < kEnoughRows)
      for (const ScopeId id : reductions_of(outer))
        if (extent(id).hint() >= kLongRow) plan.splits.push_back({id, false, rows, extent(id)});
    // Threads share the columns of which there are few.
    if (elements >= 0 && !has_rows && (rows * columns).hint() < kEnoughThreads)
      for (const ScopeId id : reductions_of(elements))
        if (extent(id).hint() >= kLongColumn) plan.splits.push_back({id, true, rows * columns, extent(id)});

    bool waits = false;
    const int row_group = longest <= kLongForWarp ? kGridWarp : kGridThreads;
    for (size_t k = 0; k < plan.splits.size(); ++k) {
      const GridSplit& split = plan.splits[k];
      GridPhase phase{.shape = GridPhase::Shape::Parts,
                      .split = static_cast<int>(k),
                      .group = split.by_threads ? 1 : kGridThreads,
                      .items = split.results,
                      .waits = waits || !split.by_threads,
                      .name = fmt::format("{}_part_{}", nest_.name, k)};
      waits = waits || !split.by_threads;
      plan.phases.push_back(std::move(phase));
    }
    GridPhase last{.shape = GridPhase::Shape::Single, .waits = waits, .name = nest_.name};
    if (outer < 0) {
      last.group = kGridThreads;
    } else if (has_rows) {
      last.shape = GridPhase::Shape::Rows;
      last.group = has_split_rows(plan, outer) ? kGridThreads : row_group;
      last.items = rows;
      last.waits = true;
    } else {
      last.shape = GridPhase::Shape::Elements;
      last.items = rows * columns;
    }
    plan.phases.push_back(std::move(last));
    return plan;
  }

 private:
  const LoopNest& nest_;

  Sym extent(ScopeId id) const { return extent_of(nest_, nest_.scope(id).loops); }

  // In the order in which their results are needed.
  std::vector<ScopeId> reductions_of(ScopeId id) const {
    std::vector<ScopeId> result;
    if (id < 0) return result;
    for (const Statement& statement : nest_.scope(id).statements)
      if (statement.kind == Statement::Kind::Child && nest_.scope(statement.id).is_reduction())
        result.push_back(statement.id);
    return result;
  }

  bool has_split_rows(const GridPlan& plan, ScopeId outer) const {
    return std::any_of(plan.splits.begin(), plan.splits.end(),
                       [&](const GridSplit& split) { return nest_.scope(split.scope).parent == outer; });
  }
};

}  // namespace

Sym extent_of(const LoopNest& nest, const std::vector<int>& loops) {
  Sym extent = 1;
  for (const int loop : loops) extent = extent * nest.space.atom(loop).extent;
  return extent;
}

void give_threads_elements(LoopNest& nest) {
  for (Scope& scope : nest.scopes) scope.lanes = 1;
  for (KernelNode& node : nest.nodes) node.varying = false;
}

GridPlan plan_grid(const LoopNest& nest) { return GridPlanner(nest).run(); }

int64_t parts_of_blocks(int64_t extent) {
  const int64_t share = (extent + kMostParts - 1) / kMostParts;
  const int64_t length =
      share <= kSmallestPart ? kSmallestPart : (share + kGridThreads - 1) / kGridThreads * kGridThreads;
  return (extent + length - 1) / length;
}

int64_t parts_of_threads(int64_t extent, int64_t results) {
  const int64_t most = std::min(kMostParts, (extent + kRowsOfThread - 1) / kRowsOfThread);
  return std::max<int64_t>(1, std::min(most, kManyThreads / std::max<int64_t>(1, results)));
}

}  // namespace weft::nest
