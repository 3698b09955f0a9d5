#include "codegen/print_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/print_expr.h"
#include "codegen/print_fold.h"
#include "nest/chunks.h"
#include "nest/vocabulary.h"
#include "weft/error.h"

namespace weft::codegen {
namespace {

using ops::ReduceOp;

class GridPrinter {
 public:
  explicit GridPrinter(const LoopNest& nest)
      : nest_(nest), plan_(plan_grid(nest)), expressions_(nest, result_) {}

  PrintedKernel run() {
    result_.name = nest_.name;
    std::string text;
    for (const std::string& comment : nest_.comments) text += "// " + comment + "\n";
    for (const GridPhase& phase : plan_.phases) text += kernel(phase);
    WEFT_ASSERT(result_.functions.empty(), "a kernel of a grid calls a function of the process");
    result_.body = text;
    result_.source =
        vocabulary_of(nest_.device).source(expressions_.elementary(), result_.body + emulated_entries());
    return std::move(result_);
  }

 private:
  const LoopNest& nest_;
  const GridPlan plan_;
  PrintedKernel result_;
  ExpressionPrinter expressions_;
  const GridPhase* phase_ = nullptr;
  const Chunks* chunks_ = nullptr;  // of the scope whose lanes are printed; it has no others within
  std::string out_;
  int indent_ = 0;

  // ---- text --------------------------------------------------------------------------------------------
  void line(const std::string& text) {
    out_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
  }
  void open(const std::string& text) {
    line(text);
    ++indent_;
  }
  void close() {
    --indent_;
    line("}");
  }
  std::string sym(Sym s) { return expressions_.sym(s); }
  std::string loop_name(int loop) const { return nest_.space.atom(loop).name; }
  std::string loop_extent(int loop) { return sym(nest_.space.atom(loop).extent); }
  std::string extent_text(const std::vector<int>& loops) { return sym(extent_of(nest_, loops)); }

  struct Parameter {
    std::string type, name;
  };
  std::vector<Parameter> parameters() {
    std::vector<Parameter> result;
    for (const Buffer& buffer : nest_.buffers)
      result.push_back({(buffer.written ? "" : "const ") + type_name(buffer.dtype) + "*", buffer.name});
    for (const int symbol : grid_symbols(nest_)) result.push_back({"i64", fmt::format("s{}", symbol)});
    for (size_t k = 0; k < plan_.splits.size(); ++k) {
      const Scope& scope = nest_.scope(plan_.splits[k].scope);
      for (size_t a = 0; a < scope.accumulators.size(); ++a) {
        result.push_back({type_name(scope.accumulators[a].dtype) + "*", parts_name(k, a)});
        if (is_arg_reduction(scope.accumulators[a].op)) result.push_back({"i64*", parts_name(k, a) + "at"});
      }
    }
    return result;
  }
  static std::string parts_name(size_t split, size_t accumulator) {
    return accumulator == 0 ? fmt::format("parts_{}_", split)
                            : fmt::format("parts_{}_{}_", split, accumulator);
  }

  std::string kernel(const GridPhase& phase) {
    phase_ = &phase;
    out_.clear();
    indent_ = 0;
    std::vector<std::string> list;
    for (const Parameter& parameter : parameters()) list.push_back(parameter.type + " " + parameter.name);
    line(fmt::format("extern \"C\" __global__ void {}({}) {{", phase.name, fmt::join(list, ", ")));
    indent_ = 1;
    function_scope();
    close();
    return std::move(out_);
  }

  // The emulated device calls kernels with the addresses of their parameters.
  std::string emulated_entries() {
    std::vector<std::string> arguments;
    const std::vector<Parameter> list = parameters();
    for (size_t k = 0; k < list.size(); ++k)
      arguments.push_back(fmt::format("*({}*)parameters[{}]", list[k].type, k));
    std::string text = "#ifdef WEFT_EMULATED\n";
    for (const GridPhase& phase : plan_.phases)
      text += fmt::format(
          "extern \"C\" void {0}_emulated(EmulatedThread* thread, void* const* parameters) {{\n"
          "  emulated_thread = thread;\n  {0}({1});\n}}\n",
          phase.name, fmt::join(arguments, ", "));
    return text + "#endif\n";
  }

  // ---- scopes ------------------------------------------------------------------------------------------
  bool is_parts_of(ScopeId id) const {
    return phase_->split >= 0 && plan_.splits[static_cast<size_t>(phase_->split)].scope == id;
  }
  bool is_last() const { return phase_->split < 0; }
  // The split that computed the reduction before this kernel; -1 if there is none.
  int earlier_split(ScopeId id) const {
    for (size_t k = 0; k < plan_.splits.size(); ++k)
      if (plan_.splits[k].scope == id && (is_last() || static_cast<int>(k) < phase_->split))
        return static_cast<int>(k);
    return -1;
  }
  const GridSplit& own_split() const { return plan_.splits[static_cast<size_t>(phase_->split)]; }
  bool holds_own_split(ScopeId id) const {
    return !is_last() && id != own_split().scope && nest_.encloses(id, own_split().scope);
  }

  // Statements up to the reduction that the kernel leaves parts of; true where it came.
  bool statements(ScopeId id, ScopeId skipped = -1) {
    for (const Statement& statement : nest_.scope(id).statements) {
      switch (statement.kind) {
        case Statement::Kind::Let: let(statement.id); break;
        case Statement::Kind::Update: update(id, static_cast<size_t>(statement.id)); break;
        case Statement::Kind::Store:
          if (is_last() || nest_.scope(id).is_reduction())
            store(nest_.scope(id).stores[static_cast<size_t>(statement.id)], id);
          break;
        case Statement::Kind::Child:
          if (statement.id == skipped) break;
          if (is_parts_of(statement.id)) {
            parts(id, statement.id);
            return true;
          }
          if (nest_.scope(statement.id).is_reduction())
            reduction(statement.id);
          else if (is_last() || holds_own_split(statement.id))
            outer_loops(statement.id);
          break;
        default: WEFT_ASSERT(false, "threads have no lanes");
      }
    }
    return false;
  }

  void function_scope() { statements(0); }

  void let(NodeId id) {
    if (expressions_.is_inline(id)) return;
    const std::string value = expressions_.compute(id);
    line(fmt::format("const auto {} = {};", expressions_.name(id), value));
  }

  // One thread of those that have computed the same value.
  std::string one_thread(ScopeId scope) const {
    if (scope == 0) return "if (block_index() == 0 && thread_index() == 0) ";
    if (phase_->group > 1 && nest_.scope(scope).kind == Scope::Kind::Parallel)
      return fmt::format("if (index_in_group<{}>() == 0) ", phase_->group);
    return "";
  }

  void store(const Store& store, ScopeId scope) {
    const Buffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
    std::vector<NodeId> values = {store.value};
    values.insert(values.end(), store.more.begin(), store.more.end());
    // All are computed before the first is stored: operands may be in the same memory.
    if (values.size() > 1) open("{");
    std::vector<std::string> texts;
    for (size_t k = 0; k < values.size(); ++k) {
      std::string text = expressions_.reference(values[k]);
      if (values.size() > 1) {
        line(fmt::format("const auto part_{} = {};", k, text));
        text = fmt::format("part_{}", k);
      }
      const bool half = buffer.dtype == DType::F16 || buffer.dtype == DType::BF16;
      texts.push_back(half ? fmt::format("to_memory<{}>({})", type_name(buffer.dtype), text) : text);
    }
    for (size_t k = 0; k < values.size(); ++k) {
      if (const auto chunk = chunked_store(static_cast<size_t>(&store - nest_.scope(scope).stores.data()))) {
        line(fmt::format("{} = {};", part_of_chunk({chunk->access, chunk->element + static_cast<int64_t>(k)}),
                         texts[k]));
        continue;
      }
      Index at = store.index;
      at.constant = at.constant + Sym(static_cast<int64_t>(k));
      line(fmt::format("{}{}[{}] = {};", one_thread(scope), buffer.name, expressions_.index(at), texts[k]));
    }
    if (values.size() > 1) close();
  }

  // Positions of nested loops in their flattened range.
  void unflatten(const std::vector<int>& loops, const std::string& flat) {
    std::string rest = flat;
    for (size_t k = loops.size(); k-- > 0;) {
      const std::string name = loop_name(loops[k]);
      if (k == 0) {
        if (name != rest) line(fmt::format("const i64 {} = {};", name, rest));
        return;
      }
      const std::string extent = loop_extent(loops[k]);
      line(fmt::format("const i64 {} = {} % {};", name, rest, extent));
      rest = rest == flat ? fmt::format("{} / {}", flat, extent) : fmt::format("{} / {}", rest, extent);
    }
  }

  // ---- items, shared out ---------------------------------------------------------------------------------
  // From `first` on to `end`: thread `thread` of `threads`.
  struct Share {
    std::string first, thread, threads, end;
    std::string begin(int64_t lanes) const {
      const std::string own = lanes == 1 ? thread : fmt::format("{} * {}", lanes, wrap(thread));
      return first.empty() ? own : fmt::format("{} + {}", first, own);
    }
    std::string step(int64_t lanes) const {
      if (lanes == 1) return threads;
      return threads.find_first_not_of("0123456789") == std::string::npos
                 ? std::to_string(lanes * std::stoll(threads))
                 : fmt::format("{} * {}", lanes, threads);
    }
  };

  std::optional<Chunks::Place> chunked_store(size_t number) const {
    if (chunks_ == nullptr) return std::nullopt;
    const auto found = chunks_->stores.find(number);
    return found == chunks_->stores.end() ? std::nullopt : std::optional(found->second);
  }
  std::string chunk_name(size_t access) const {
    const ChunkedAccess& chunked = chunks_->accesses[access];
    return fmt::format("{}_chunk_{}", nest_.buffers[static_cast<size_t>(chunked.buffer)].name, access);
  }
  std::string part_of_chunk(const Chunks::Place& place) const {
    const int64_t stride = chunks_->accesses[place.access].stride;
    std::string at = stride == 1 ? "lane_" : fmt::format("{} * lane_", stride);
    if (place.element != 0) at += fmt::format(" + {}", place.element);
    return fmt::format("{}.part[{}]", chunk_name(place.access), at);
  }

  // Whether every chunk lies at a multiple of its size.
  std::string all_even(const Chunks& chunks, Sym row) {
    std::vector<std::string> conditions;
    const auto add = [&](const std::string& text) {
      if (std::find(conditions.begin(), conditions.end(), text) == conditions.end())
        conditions.push_back(text);
    };
    const auto add_multiple = [&](Sym number, int64_t of) {
      if (!number.is_constant() && of > 1) add(fmt::format("{} % {} == 0", sym(number), of));
    };
    for (const ChunkedAccess& access : chunks.accesses) {
      const Buffer& buffer = nest_.buffers[static_cast<size_t>(access.buffer)];
      const int64_t count = access.stride * chunks.lanes;
      add(fmt::format("begins_evenly<{}>({})", count * itemsize(buffer.dtype), buffer.name));
      add_multiple(access.base.constant, count);
      for (const auto& [atom, coefficient] : access.base.terms) add_multiple(coefficient, count);
    }
    add_multiple(row, chunks.lanes);
    return fmt::format("{}", fmt::join(conditions, " && "));
  }

  // Chunks of items are read, computed lane by lane, and written.
  void chunk_of_items(ScopeId id, const std::vector<int>& loops, const Chunks& chunks,
                      const std::string& first, ScopeId outer) {
    unflatten(loops, first);
    if (outer >= 0) statements(outer, id);
    chunks_ = &chunks;
    std::map<NodeId, std::string> loaded;
    for (const auto& [node, place] : chunks.loads) loaded[node] = part_of_chunk(place);
    for (size_t k = 0; k < chunks.accesses.size(); ++k) {
      const ChunkedAccess& access = chunks.accesses[k];
      const int64_t count = access.stride * chunks.lanes;
      if (access.is_written)
        line(fmt::format("Chunk<{}, {}> {};",
                         type_name(nest_.buffers[static_cast<size_t>(access.buffer)].dtype), count,
                         chunk_name(k)));
      else
        line(fmt::format("const auto {} = load_chunk<{}>({});", chunk_name(k), count,
                         expressions_.pointer(access.buffer, access.base)));
    }
    open(fmt::format("WEFT_UNROLLED for (int lane_ = 0; lane_ < {}; ++lane_) {{", chunks.lanes));
    const int last = loops.back();
    line(fmt::format("const i64 {} = {} + lane_;", loop_name(last),
                     loops.size() == 1 ? first : fmt::format("{} % {}", first, loop_extent(last))));
    expressions_.set_loaded(std::move(loaded));
    statements(id);
    expressions_.set_loaded({});
    close();
    for (size_t k = 0; k < chunks.accesses.size(); ++k)
      if (chunks.accesses[k].is_written)
        line(fmt::format("store_chunk({}, {});",
                         expressions_.pointer(chunks.accesses[k].buffer, chunks.accesses[k].base),
                         chunk_name(k)));
    chunks_ = nullptr;
  }

  void one_item(ScopeId id, const std::vector<int>& loops, const std::string& item, ScopeId outer) {
    unflatten(loops, item);
    if (outer >= 0) statements(outer, id);
    statements(id);
  }

  // Statements of `id`, and of `outer` around it, at every item. `keeps_order`: a thread takes the same items
  // one after the other wherever arrays lie.
  void items(ScopeId id, const std::vector<int>& loops, const Share& share, bool keeps_order,
             ScopeId outer = -1) {
    const std::string item = loops.size() == 1 ? loop_name(loops[0]) : fmt::format("item_{}", id);
    const Sym row = loops.size() == 1 ? Sym(0) : nest_.space.atom(loops.back()).extent;
    const bool is_serial = nest_.scope(id).kind == Scope::Kind::Serial;
    const Chunks chunks = is_serial ? Chunks{} : find_chunks(nest_, id, loops.back(), row);
    std::string begin = share.begin(1);
    if (!chunks.empty()) {
      const int64_t lanes = chunks.lanes;
      const std::string first = fmt::format("first_{}", id), is_even = fmt::format("is_even_{}", id);
      line(fmt::format("const bool {} = {};", is_even, all_even(chunks, row)));
      line(fmt::format("i64 {} = {};", first, share.begin(lanes)));
      open(fmt::format("for (; {0} && {1} + {2} <= {3}; {1} += {4}) {{", is_even, first, lanes, share.end,
                       share.step(lanes)));
      chunk_of_items(id, loops, chunks, first, outer);
      close();
      if (keeps_order) {
        open(fmt::format("for (; {0} < {1}; {0} += {2}) {{", first, share.end, share.step(lanes)));
        open(fmt::format("for (i64 {0} = {1}; {0} < {1} + {2} && {0} < {3}; ++{0}) {{", item, first, lanes,
                         share.end));
        one_item(id, loops, item, outer);
        close();
        close();
        return;
      }
      const std::string whole =
          lanes == 1 ? share.end : fmt::format("{0} / {1} * {1}", wrap(share.end), lanes);
      begin = fmt::format("({} ? {} : 0) + {}", is_even, whole, begin);
    }
    open(fmt::format("for (i64 {0} = {1}; {0} < {2}; {0} += {3}) {{", item, begin, share.end, share.step(1)));
    one_item(id, loops, item, outer);
    close();
  }
  Share share_of_group(int group, const std::string& end) const {
    return {"", fmt::format("index_in_group<{}>()", group), std::to_string(group), end};
  }

  ScopeId elements_of(ScopeId outer) const {
    const Scope& scope = nest_.scope(outer);
    return scope.children.empty() ? -1 : scope.children.back();
  }

  void outer_loops(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    const ScopeId elements = elements_of(id);
    if (!is_last()) return rows_or_columns_in_parts(id, elements);
    if (phase_->shape == GridPhase::Shape::Rows) {
      const std::string row = scope.loops.size() == 1 ? loop_name(scope.loops[0]) : "row_";
      open(fmt::format("for (i64 {0} = first_group<{1}>(); {0} < {2}; {0} += all_groups<{1}>()) {{", row,
                       phase_->group, extent_text(scope.loops)));
      unflatten(scope.loops, row);
      statements(id, elements);
      if (elements >= 0)
        items(elements, nest_.scope(elements).loops,
              share_of_group(phase_->group, extent_text(nest_.scope(elements).loops)), false);
      close();
      return;
    }
    std::vector<int> loops = scope.loops;
    if (elements >= 0) loops.push_back(nest_.scope(elements).loops[0]);
    const Share all{"", "first_item()", "all_items()", extent_text(loops)};
    if (elements >= 0)
      items(elements, loops, all, false, id);
    else
      items(id, loops, all, false);
  }

  // The kernel that leaves parts of a reduction along rows or columns.
  void rows_or_columns_in_parts(ScopeId id, ScopeId elements) {
    const Scope& scope = nest_.scope(id);
    const GridSplit& split = own_split();
    std::vector<int> loops = scope.loops;
    if (split.by_threads && elements >= 0) loops.push_back(nest_.scope(elements).loops[0]);
    const std::string count = sym(split.results);
    line(split.by_threads
             ? fmt::format("const i64 all_parts_ = parts_of_threads({}, {});", sym(split.extent), count)
             : fmt::format("const i64 all_parts_ = parts_of_blocks({});", sym(split.extent)));
    if (split.by_threads)
      open(fmt::format("for (i64 item_ = first_item(); item_ < {} * all_parts_; item_ += all_items()) {{",
                       wrap(count)));
    else
      open(fmt::format("for (i64 item_ = block_index(); item_ < {} * all_parts_; item_ += block_count()) {{",
                       wrap(count)));
    // Neighbours read what lies side by side.
    line(split.by_threads
             ? fmt::format("const i64 part_ = item_ / {0}, result_ = item_ % {0};", wrap(count))
             : std::string("const i64 part_ = item_ % all_parts_, result_ = item_ / all_parts_;"));
    unflatten(loops, "result_");
    if (!statements(id, split.by_threads ? elements : -1) && split.by_threads) statements(elements);
    close();
  }

  // ---- reductions --------------------------------------------------------------------------------------
  std::string accumulator_name(ScopeId scope, size_t k) { return expressions_.accumulator_name(scope, k); }

  void declare_accumulators(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      line(fmt::format("auto {} = {};", accumulator_name(id, k), initial_value(scope.accumulators[k])));
      if (is_arg_reduction(scope.accumulators[k].op))
        line(fmt::format("i64 {}_at = 0;", accumulator_name(id, k)));
    }
  }

  static std::string suffix(const Accumulator& accumulator) {
    return std::string(accumulator.op == ReduceOp::ArgMin ? "min" : "max") +
           (accumulator.through_root ? "_root" : "");
  }
  // In a type of less than 32 bits sums would be ints.
  static std::string narrowed(const Accumulator& accumulator, const std::string& text) {
    const bool is_narrow =
        is_integral(accumulator.dtype) && accumulator.dtype != DType::Bool && itemsize(accumulator.dtype) < 4;
    return is_narrow ? fmt::format("({})({})", type_name(accumulator.dtype), text) : text;
  }
  static std::string combining(const Accumulator& accumulator) {
    return fmt::format("[](auto a, auto b) {{ return {}; }}",
                       narrowed(accumulator, combined(accumulator.op, accumulator.dtype, "a", "b")));
  }

  void update(ScopeId id, size_t k) {
    const Accumulator& accumulator = nest_.scope(id).accumulators[k];
    const std::string name = accumulator_name(id, k);
    const std::string operand = expressions_.reference(accumulator.operand);
    if (is_arg_reduction(accumulator.op)) {
      line(fmt::format("if (displaces_{0}({1}, {2})) {2} = {1}, {2}_at = {3};", suffix(accumulator), operand,
                       name, expressions_.index(accumulator.position)));
      return;
    }
    line(
        fmt::format("{} = {};", name,
                    narrowed(accumulator, combined(accumulator.op, accumulator.dtype, name, wrap(operand)))));
  }

  // What is read of parts, or was held by another thread, is put to what there is.
  void merge(ScopeId id, size_t k, const std::string& value, const std::string& position) {
    const Accumulator& accumulator = nest_.scope(id).accumulators[k];
    const std::string name = accumulator_name(id, k);
    if (is_arg_reduction(accumulator.op))
      line(fmt::format("merge_{}<{}>({}, {}_at, {}, {});", suffix(accumulator), type_name(accumulator.dtype),
                       name, name, value, position));
    else
      line(fmt::format("{} = {};", name,
                       narrowed(accumulator, combined(accumulator.op, accumulator.dtype, name, value))));
  }

  // Every thread of a group gets what all hold together.
  void reduce_group(ScopeId id, int group) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      const Accumulator& accumulator = scope.accumulators[k];
      const std::string name = accumulator_name(id, k);
      if (is_arg_reduction(accumulator.op)) {
        line(fmt::format("auto {0}_result = {0};", name));
        line(fmt::format("i64 {0}_result_at = {0}_at;", name));
        line(fmt::format(
            "merge_group<{0}>({1}_result, {1}_result_at, [](auto& a, i64& at, auto b, i64 b_at) {{ "
            "merge_{2}<{3}>(a, at, b, b_at); }});",
            group, name, suffix(accumulator), type_name(accumulator.dtype)));
      } else {
        line(fmt::format("const auto {0}_result = reduce_group<{1}>({0}, {2});", name, group,
                         combining(accumulator)));
      }
    }
  }

  void loops_of(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    for (const int loop : scope.loops)
      open(fmt::format("for (i64 {0} = 0; {0} < {1}; ++{0}) {{", loop_name(loop), loop_extent(loop)));
    statements(id);
    for (size_t k = 0; k < scope.loops.size(); ++k) close();
  }

  void reduction(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    if (const int split = earlier_split(id); split >= 0) return combine(id, static_cast<size_t>(split));
    declare_accumulators(id);
    if (scope.kind == Scope::Kind::Serial) return loops_of(id);
    const int group = phase_->group > 1 ? phase_->group : kGridThreads;
    items(id, scope.loops, share_of_group(group, extent_text(scope.loops)), true);
    // What is stored here may be read by another thread of the group; blocks wait in reduce_group().
    if (!scope.stores.empty() && group == kGridWarp) line("warp_barrier();");
    reduce_group(id, group);
  }

  // Where the parts of a result begin, and how far they are from each other.
  std::pair<std::string, std::string> place_of_parts(const GridSplit& split) {
    const Scope& base = nest_.scope(nest_.scope(split.scope).parent);
    std::vector<int> loops = base.loops;
    if (base.kind == Scope::Kind::Vector) {
      loops = nest_.scope(base.parent).loops;
      loops.push_back(base.loops[0]);
    }
    std::string result;
    for (const int loop : loops)
      result = result.empty() ? loop_name(loop)
                              : fmt::format("{} * {} + {}", wrap(result), loop_extent(loop), loop_name(loop));
    if (result.empty()) result = "0";
    if (split.by_threads) return {result, sym(split.results)};
    return {result == "0" ? result : fmt::format("{} * parts_of_blocks({})", wrap(result), sym(split.extent)),
            "1"};
  }

  void combine(ScopeId id, size_t number) {
    const GridSplit& split = plan_.splits[number];
    const Scope& scope = nest_.scope(id);
    const auto [first, step] = place_of_parts(split);
    declare_accumulators(id);
    const std::string count =
        split.by_threads ? fmt::format("parts_of_threads({}, {})", sym(split.extent), sym(split.results))
                         : fmt::format("parts_of_blocks({})", sym(split.extent));
    if (split.by_threads)
      open(fmt::format("for (i64 piece_ = 0; piece_ < {}; ++piece_) {{", count));
    else
      open(fmt::format("for (i64 piece_ = thread_index(); piece_ < {}; piece_ += {}) {{", count,
                       kGridThreads));
    std::string at = step == "1" ? "piece_" : fmt::format("piece_ * {}", wrap(step));
    if (first != "0") at = fmt::format("{} + {}", first, at);
    for (size_t k = 0; k < scope.accumulators.size(); ++k)
      merge(id, k, fmt::format("{}[{}]", parts_name(number, k), at),
            fmt::format("{}at[{}]", parts_name(number, k), at));
    close();
    if (!split.by_threads) reduce_group(id, kGridThreads);
  }

  // Leaves parts: of the function's reductions here, of others in the loop around them.
  void parts(ScopeId base, ScopeId id) {
    const GridSplit& split = own_split();
    const Scope& scope = nest_.scope(id);
    const size_t number = static_cast<size_t>(phase_->split);
    const std::string extent = extent_text(scope.loops);
    const bool is_alone = base == 0;
    if (is_alone) {
      line(fmt::format("const i64 all_parts_ = parts_of_blocks({});", extent));
      open("for (i64 part_ = block_index(); part_ < all_parts_; part_ += block_count()) {");
    }
    declare_accumulators(id);
    if (split.by_threads) {
      items(id, scope.loops, {"", "part_", "all_parts_", extent}, true);
    } else {
      line(fmt::format("const Part range_({}, part_, all_parts_);", extent));
      items(id, scope.loops, {"range_.begin", "thread_index()", std::to_string(kGridThreads), "range_.end"},
            true);
      reduce_group(id, kGridThreads);
    }
    const std::string at = is_alone ? "part_" : "item_";
    const std::string own = split.by_threads ? "" : "_result";
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      const std::string name = accumulator_name(id, k);
      const std::string one = split.by_threads ? "" : "if (thread_index() == 0) ";
      line(fmt::format("{}{}[{}] = {}{};", one, parts_name(number, k), at, name, own));
      if (is_arg_reduction(scope.accumulators[k].op))
        line(fmt::format("{}{}at[{}] = {}{}_at;", one, parts_name(number, k), at, name, own));
    }
    if (is_alone) close();
  }
};

}  // namespace

PrintedKernel print_grid(const LoopNest& nest) { return GridPrinter(nest).run(); }

}  // namespace weft::codegen
