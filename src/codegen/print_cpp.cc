#include "codegen/print_cpp.h"

#include <fmt/format.h>

#include "codegen/print_expr.h"
#include "codegen/print_fold.h"
#include "codegen/print_grid.h"
#include "nest/passes.h"
#include "nest/vocabulary.h"
#include "weft/error.h"

namespace weft::codegen {

namespace {

using ops::ReduceOp;

class Printer {
 public:
  explicit Printer(const LoopNest& nest)
      : nest_(nest), vocabulary_(vocabulary_of(nest.device)), expressions_(nest, result_) {}

  PrintedKernel run() {
    result_.name = nest_.name;
    indent_ = 1;
    scope_body(0);
    std::string text;
    for (const std::string& comment : nest_.comments) text += "// " + comment + "\n";
    text += vocabulary_.declaration(nest_.name) + " {\n";
    for (size_t i = 0; i < nest_.buffers.size(); ++i) {
      const Buffer& buffer = nest_.buffers[i];
      text += fmt::format("  {0}{1}* {2} = ({0}{1}*)arrays[{3}];\n", buffer.written ? "" : "const ",
                          type_name(buffer.dtype), buffer.name, i);
    }
    for (int symbol : expressions_.symbols())
      text += fmt::format("  const i64 s{0} = symbols[{0}];\n", symbol);
    text += expressions_.function_declarations();
    result_.body = text + out_ + "}\n";
    result_.source = vocabulary_.source(expressions_.elementary(), result_.body);
    return std::move(result_);
  }

 private:
  const LoopNest& nest_;
  const Vocabulary& vocabulary_;
  PrintedKernel result_;
  ExpressionPrinter expressions_;
  std::string out_;
  int indent_ = 0;
  ScopeId blocked_ = -1;  // the reduction printed in blocks of rows

  void line(const std::string& text) {
    out_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
  }
  void open(const std::string& text) {
    line(text);
    ++indent_;
  }
  void close(const std::string& text) {
    --indent_;
    line(text);
  }

  std::string sym(Sym s) { return expressions_.sym(s); }
  std::string loop_name(int loop) const { return nest_.space.atom(loop).name; }
  std::string loop_extent(int loop) { return sym(nest_.space.atom(loop).extent); }

  void scope_body(ScopeId id) {
    for (const Statement& statement : nest_.scope(id).statements) {
      switch (statement.kind) {
        case Statement::Kind::Let: let(statement.id); break;
        case Statement::Kind::LoadGroup: load_group(statement.id); break;
        case Statement::Kind::Child: child(statement.id); break;
        case Statement::Kind::Update: update(id, static_cast<size_t>(statement.id)); break;
        case Statement::Kind::Store:
          store(nest_.scope(id).stores[static_cast<size_t>(statement.id)], id);
          break;
      }
    }
  }

  void let(NodeId id) {
    if (expressions_.is_inline(id)) return;
    std::string value = expressions_.compute(id);
    line(fmt::format("const auto {} = {};", expressions_.name(id), value));
  }

  void load_group(int id) {
    const LoadGroup& group = nest_.groups[static_cast<size_t>(id)];
    line(fmt::format("const auto {} = lanes.template deinterleave<{}>({});", expressions_.group_name(id),
                     group.stride, expressions_.pointer(group.buffer, group.base)));
  }

  // An address with the vector loop's variable at its first lane.
  void store(const Store& store, ScopeId scope) {
    int loop = nest_.vector_loop(scope);
    const Buffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
    std::string pointer = expressions_.pointer(store.buffer, store.index);
    if (!store.more.empty() && (loop < 0 || !is_interleaved(store, loop))) return store_parts(store, loop);
    if (loop < 0) {
      std::string value = expressions_.reference(store.value);
      std::string target = fmt::format("{}[{}]", buffer.name, expressions_.index(store.index));
      bool half = buffer.dtype == DType::F16 || buffer.dtype == DType::BF16;
      line(fmt::format("{} = {};", target,
                       half ? fmt::format("to_memory<{}>({})", type_name(buffer.dtype), value) : value));
      return;
    }
    std::string value = expressions_.vector_reference(store.value, buffer.dtype);
    if (!store.more.empty()) {
      for (NodeId more : store.more) value += ", " + expressions_.vector_reference(more, buffer.dtype);
      line(fmt::format("lanes.interleave({}, {});", pointer, value));
      return;
    }
    Sym stride = nest_.space.coefficient(store.index, loop);
    if (blocked_ >= 0 && scope == nest_.scope(blocked_).parent) value = block_value(value);
    if (known_one(stride))
      line(fmt::format("lanes.{}({}, {});", is_streamed(store, loop) ? "stream" : "store", pointer, value));
    else
      line(fmt::format("lanes.scatter({}, {}, {});", pointer, sym(stride), value));
  }

  bool is_interleaved(const Store& store, int loop) const {
    const Sym stride = nest_.space.coefficient(store.index, loop);
    return stride.is_constant() && stride.constant() == static_cast<int64_t>(store.more.size()) + 1;
  }

  // One after another, when all have been computed: operands may be in the same memory.
  void store_parts(const Store& store, int loop) {
    const Buffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
    std::vector<NodeId> values = {store.value};
    values.insert(values.end(), store.more.begin(), store.more.end());
    open("{");
    for (size_t k = 0; k < values.size(); ++k)
      line(fmt::format("const auto part_{} = {};", k,
                       loop < 0 ? expressions_.reference(values[k])
                                : expressions_.vector_reference(values[k], buffer.dtype)));
    const std::string pointer = expressions_.pointer(store.buffer, store.index);
    for (size_t k = 0; k < values.size(); ++k) {
      if (loop < 0)
        line(fmt::format("({})[{}] = part_{};", pointer, k, k));
      else
        line(fmt::format("lanes.scatter({} + {}, {}, part_{});", pointer, k,
                         sym(nest_.space.coefficient(store.index, loop)), k));
    }
    close("}");
  }

  // Up to the last block, what is reduced so far.
  std::string block_value(const std::string& value) {
    const std::string so_far = accumulator_name(blocked_, 0);
    if (value == so_far) return value;
    const int loop = nest_.scope(blocked_).loops[0];
    return fmt::format("{}_end < {} ? {} : {}", loop_name(loop), loop_extent(loop), so_far, value);
  }

  bool streams() const { return nest_.may_stream; }

  // Vectors of it are stored one after the other, past the caches.
  bool is_streamed(const Store& store, int loop) const {
    return streams() && blocked_ < 0 &&
           (store.more.empty() ? known_one(nest_.space.coefficient(store.index, loop))
                               : is_interleaved(store, loop));
  }

  // The argument that says where the cache lines of the first array that is streamed begin; empty where none
  // is.
  std::string first_line(ScopeId vector) {
    const Scope& scope = nest_.scope(vector);
    for (const Store& store : scope.stores) {
      if (!is_streamed(store, scope.loops[0])) continue;
      const Buffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
      return fmt::format("first_line({}, {}), ",
                         expressions_.pointer(store.buffer, Index(store.index.constant)),
                         (1 + store.more.size()) * static_cast<size_t>(itemsize(buffer.dtype)));
    }
    return "";
  }

  void child(ScopeId id) {
    switch (nest_.scope(id).kind) {
      case Scope::Kind::Parallel: parallel(id); break;
      case Scope::Kind::Serial: serial(id); break;
      case Scope::Kind::VectorReduce: vector_reduce(id); break;
      case Scope::Kind::ParallelReduce: parallel_reduce(id); break;
      default: WEFT_ASSERT(false, "unexpected scope");
    }
  }

  // ---- map loops ---------------------------------------------------------------------------------------
  // Positions of nested loops in their flattened range.
  void unflatten(const std::vector<int>& loops, const std::string& flat) {
    std::string rest = flat;
    for (size_t k = loops.size(); k-- > 0;) {
      std::string name = loop_name(loops[k]);
      if (k == 0) {
        if (name != rest) line(fmt::format("const i64 {} = {};", name, rest));
        return;
      }
      std::string extent = loop_extent(loops[k]);
      line(fmt::format("const i64 {} = {} % {};", name, rest, extent));
      rest = rest == flat ? fmt::format("{} / {}", flat, extent) : fmt::format("{} / {}", rest, extent);
    }
  }

  Sym flat_extent(const std::vector<int>& loops) {
    Sym extent = 1;
    for (int loop : loops) extent = extent * nest_.space.atom(loop).extent;
    return extent;
  }

  int64_t grain(double cost_per_item) const {
    constexpr double kTaskNanoseconds = 8000;
    return std::max<int64_t>(1, static_cast<int64_t>(kTaskNanoseconds / std::max(cost_per_item, 0.01)));
  }

  // Elements that the reductions inside a scope go through, at the sizes seen at capture.
  double row_length(ScopeId id) const {
    int64_t length = 1;
    for (const Scope& scope : nest_.scopes) {
      if (scope.parent != id || !scope.is_reduction()) continue;
      int64_t extent = 1;
      for (int loop : scope.loops) extent *= std::max<int64_t>(1, nest_.space.atom(loop).extent.hint());
      length = std::max(length, extent);
    }
    return static_cast<double>(length);
  }

  bool has_reductions(ScopeId id) const {
    for (const Statement& statement : nest_.scope(id).statements)
      if (statement.kind == Statement::Kind::Child && nest_.scope(statement.id).is_reduction()) return true;
    return false;
  }

  // Up to close("});"): what runs for a share of the outer loops.
  void open_outer(Sym extent, int64_t grain, OuterLoop kind = OuterLoop::Plain,
                  const std::string& lead = "") {
    open(vocabulary_.outer_loop(kind, sym(extent), std::to_string(grain), lead) +
         "[=](i64 begin, i64 end) {");
  }

  void parallel(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    ScopeId vector = -1;
    for (ScopeId child : scope.children) vector = child;
    if (vector < 0) {  // no lanes along the outer loops
      std::string row = scope.loops.size() == 1 ? loop_name(scope.loops[0]) : "row";
      open_outer(flat_extent(scope.loops), grain(nest_.cost_per_element * row_length(id)));
      open(fmt::format("for (i64 {0} = begin; {0} < end; ++{0}) {{", row));
      unflatten(scope.loops, row);
      scope_body(id);
      close("}");
      close("});");
      return;
    }
    int inner = nest_.scope(vector).loops[0];
    if (scope.loops.empty()) {
      blocked_ = blocked_reduction(nest_, vector);
      const std::string lead = first_line(vector);
      open_outer(nest_.space.atom(inner).extent, std::max<int64_t>(64, grain(nest_.cost_per_element)),
                 !lead.empty()            ? OuterLoop::Streaming
                 : has_reductions(vector) ? OuterLoop::Aligned
                                          : OuterLoop::Plain,
                 lead);
      scope_before_vector(id, vector);
      if (blocked_ >= 0) {
        const int loop = nest_.scope(blocked_).loops[0];
        open(fmt::format("for (i64 {0}_begin = 0, {0}_end; {0}_begin < {1}; {0}_begin = {0}_end) {{",
                         loop_name(loop), loop_extent(loop)));
        line(fmt::format("{0}_end = minimum<i64>({0}_begin + {1}, {2});", loop_name(loop),
                         rows_of_block(nest_, vector), loop_extent(loop)));
      }
      vector_loop(vector, "begin", "end");
      if (blocked_ >= 0) close("}");
      blocked_ = -1;
      close("});");
      return;
    }
    std::string row = scope.loops.size() == 1 ? loop_name(scope.loops[0]) : "row";
    if (has_reductions(id)) {
      Sym length = nest_.space.atom(inner).extent;
      open_outer(flat_extent(scope.loops),
                 grain(nest_.cost_per_element * static_cast<double>(std::max<int64_t>(1, length.hint()))));
      open(fmt::format("for (i64 {0} = begin; {0} < end; ++{0}) {{", row));
      unflatten(scope.loops, row);
      scope_before_vector(id, vector);
      vector_loop(vector, "0", loop_extent(inner));
      close("}");
      close("});");
      return;
    }
    open_outer(flat_extent(scope.loops) * nest_.space.atom(inner).extent, grain(nest_.cost_per_element));
    open(fmt::format("for_rows(begin, end, {}, [=](i64 {}, i64 {}_begin, i64 {}_end) {{", loop_extent(inner),
                     row, loop_name(inner), loop_name(inner)));
    unflatten(scope.loops, row);
    scope_before_vector(id, vector);
    vector_loop(vector, loop_name(inner) + "_begin", loop_name(inner) + "_end");
    close("});");
    close("});");
  }

  void scope_before_vector(ScopeId id, ScopeId vector) {
    for (const Statement& statement : nest_.scope(id).statements) {
      if (statement.kind == Statement::Kind::Child && statement.id == vector) continue;
      switch (statement.kind) {
        case Statement::Kind::Let: let(statement.id); break;
        case Statement::Kind::Child: child(statement.id); break;
        default: WEFT_ASSERT(false, "unexpected statement beside a vector loop");
      }
    }
  }

  void vector_loop(ScopeId id, const std::string& begin, const std::string& end) {
    const Scope& scope = nest_.scope(id);
    const size_t start = out_.size();
    const auto [first, last] = open_pieces(scope, begin, end);
    open(fmt::format("vectorized<{}{}>({}, {}, [&](auto lanes, i64 {}) {{", scope.lanes,
                     streams() ? ", true" : "", first, last, loop_name(scope.loops[0])));
    scope_body(id);
    close("});");
    close_pieces(scope);
    if (!is_large(std::string_view(out_).substr(start))) return;
    const size_t at = out_.find("vectorized<", start);
    if (streams())
      out_.insert(out_.find('>', at), ", true");
    else
      out_.insert(at + 10, "_once");
  }

  // Where rings end within the loop, a piece of it begins. Gives the piece's bounds.
  std::pair<std::string, std::string> open_pieces(const Scope& scope, const std::string& begin,
                                                  const std::string& end) {
    if (scope.rings.empty()) return {begin, end};
    const std::string first = loop_name(scope.loops.back()) + "_first",
                      last = loop_name(scope.loops.back()) + "_last";
    open(fmt::format("for (i64 {0} = {2}, {1}; {0} < {3}; {0} = {1}) {{", first, last, begin, end));
    line(fmt::format("{} = {};", last, end));
    for (const RingOfLoop& ring : scope.rings) {
      const Atom& atom = nest_.space.atom(ring.ring);
      line(fmt::format("const i64 {} = turn_of_piece({}, {}, {}, {});", loop_name(ring.offset),
                       sym(atom.inner.constant), sym(atom.divisor), first, last));
    }
    return {first, last};
  }
  void close_pieces(const Scope& scope) {
    if (!scope.rings.empty()) close("}");
  }

  // Elementary functions in number, and no lanes that lie apart, which would be taken one by one.
  static bool is_large(std::string_view body) {
    constexpr int kMany = 2;
    int functions = 0;
    for (size_t at = 0; (at = body.find("elementary::", at)) != std::string_view::npos; ++at) ++functions;
    const auto has = [&](std::string_view text) { return body.find(text) != std::string_view::npos; };
    return functions >= kMany && !has("gather") && !has("scatter") && !has("interleave");
  }

  // ---- reductions --------------------------------------------------------------------------------------
  std::string accumulator_name(ScopeId scope, size_t k) { return expressions_.accumulator_name(scope, k); }

  static std::string first_of_loop(ScopeId id, const Scope& scope) {
    return scope.kind == Scope::Kind::ParallelReduce ? fmt::format("r{}_chunks.begin(chunk)", id) : "";
  }

  // Declares the accumulators of a loop; `lanes` > 0: vectors of that many.
  void declare_accumulators(ScopeId id, int lanes, bool in_lanes) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      const Accumulator& accumulator = scope.accumulators[k];
      std::string value = initial_value(accumulator), zero = "(i64)0";
      bool vector = lanes > 0 || (in_lanes && nest_.node(accumulator.operand).varying);
      if (vector) {
        value = initial_lanes(accumulator, lanes);
        zero = lanes > 0 ? fmt::format("splat<{}, {}>(0)",
                                       counts_passes(scope) ? pass_type(accumulator) : "i64", lanes)
                         : "lanes.splat((i64)0)";
      }
      line(fmt::format("auto {} = {};", accumulator_name(id, k), value));
      if (is_arg_reduction(accumulator.op))
        line(fmt::format("auto {}_at = {};", accumulator_name(id, k), zero));
    }
  }

  void update(ScopeId id, size_t k) {
    const Scope& scope = nest_.scope(id);
    const Accumulator& accumulator = scope.accumulators[k];
    std::string name = accumulator_name(id, k);
    bool horizontal = scope.lanes > 1;
    bool vector = horizontal || nest_.node(accumulator.operand).varying;
    std::string operand = vector ? expressions_.vector_reference(accumulator.operand, accumulator.dtype)
                                 : expressions_.reference(accumulator.operand);
    if (is_arg_reduction(accumulator.op)) {
      std::string suffix = std::string(accumulator.op == ReduceOp::ArgMin ? "min" : "max") +
                           (accumulator.through_root ? "_root" : "");
      std::string take = fmt::format("displaces_{}({}, {})", suffix, operand, name);
      if (horizontal) take = fmt::format("lanes.valid({})", take);
      std::string position;
      if (horizontal && counts_passes(scope)) {
        const std::string first = first_of_loop(id, scope), at = loop_name(scope.loops[0]);
        position = fmt::format("lanes.splat(({})((u64){} / {}))", pass_type(accumulator),
                               first.empty() ? at : fmt::format("({} - {})", at, first), scope.lanes);
      } else {
        position = vector ? expressions_.lane_positions(accumulator.position, horizontal ? id : scope.parent,
                                                        horizontal)
                          : expressions_.index(accumulator.position);
      }
      line(fmt::format("const auto {}_take = {};", name, take));
      line(fmt::format("{0}_at = select({0}_take, {1}, {0}_at);", name, position));
      line(fmt::format("{0} = select({0}_take, {1}, {0});", name, operand));
      return;
    }
    std::string next = combined(accumulator.op, accumulator.dtype, name, wrap(operand));
    if (accumulator.dtype == DType::Bool && vector) next = fmt::format("convert<i8>({})", next);
    if (!vector && is_integral(accumulator.dtype) && itemsize(accumulator.dtype) < 4)
      next = fmt::format("({})({})", type_name(accumulator.dtype), next);
    line(fmt::format("{} = {};", name, horizontal ? fmt::format("lanes.keep({}, {})", next, name) : next));
  }

  void serial(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    declare_accumulators(id, 0, true);
    if (id == blocked_) {
      const std::string loop = loop_name(scope.loops[0]);
      const Store& store = nest_.scope(scope.parent).stores[0];
      line(fmt::format("if ({}_begin > 0) {} = lanes.load({});", loop, accumulator_name(id, 0),
                       expressions_.pointer(store.buffer, store.index)));
      open(fmt::format("for (i64 {0} = {0}_begin; {0} < {0}_end; ++{0}) {{", loop));
      scope_body(id);
      close("}");
      return;
    }
    for (int loop : scope.loops)
      open(fmt::format("for (i64 {0} = 0; {0} < {1}; ++{0}) {{", loop_name(loop), loop_extent(loop)));
    scope_body(id);
    for (size_t k = 0; k < scope.loops.size(); ++k) close("}");
  }

  // The vector accumulators become numbers, under names with `suffix`.
  void reduce_lanes(ScopeId id, const std::string& target_prefix, bool declare) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      const Accumulator& accumulator = scope.accumulators[k];
      const std::string name = accumulator_name(id, k),
                        target = name + (target_prefix.empty() ? "_result" : target_prefix);
      if (is_arg_reduction(accumulator.op)) {
        arg_of_lanes(id, k, target, declare);
        continue;
      }
      line(
          fmt::format("{}{} = {};", declare ? "const auto " : "", target, combined_lanes(accumulator, name)));
    }
  }
  void arg_of_lanes(ScopeId id, size_t k, const std::string& target, bool declare) {
    const Scope& scope = nest_.scope(id);
    const Accumulator& accumulator = scope.accumulators[k];
    const std::string name = accumulator_name(id, k), type = type_name(accumulator.dtype);
    const std::string value_type = declare ? type + " " : "", position_type = declare ? "i64 " : "";
    const bool passes = counts_passes(scope);
    std::string first = passes ? first_of_loop(id, scope) : "";
    if (!first.empty()) first += " + ";
    if (passes && !accumulator.through_root) {
      line(fmt::format("{}{} = reduce_lanes({}, [](auto a, auto b) {{ return ({}){}(a, b); }});", value_type,
                       target, name, "decltype(a)",
                       accumulator.op == ReduceOp::ArgMin ? "minimum" : "maximum"));
      line(fmt::format("{0}{1} = {2}first_position({3}, {3}_at, {4});", position_type,
                       name_of_position(target), first, name, target));
      return;
    }
    const auto position = [&](const std::string& lane) {
      if (!passes) return fmt::format("{}_at[{}]", name, lane);
      return fmt::format("{}(i64){}_at[{}] * {} + {}", first, name, lane, scope.lanes, lane);
    };
    line(fmt::format("{}{} = {}[0]; {}{} = {};", value_type, target, name, position_type,
                     name_of_position(target), position("0")));
    line(fmt::format("for (int lane = 1; lane < {}; ++lane) merge_{}{}<{}>({}, {}, {}[lane], {});",
                     scope.lanes, accumulator.op == ReduceOp::ArgMin ? "min" : "max",
                     accumulator.through_root ? "_root" : "", type, target, name_of_position(target), name,
                     position("lane")));
  }

  void vector_nest(ScopeId id, size_t first, const std::string& begin, const std::string& end) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = first; k + 1 < scope.loops.size(); ++k)
      open(fmt::format("for (i64 {0} = 0; {0} < {1}; ++{0}) {{", loop_name(scope.loops[k]),
                       loop_extent(scope.loops[k])));
    auto [piece_begin, piece_end] = open_pieces(scope, begin, end);
    const int64_t vectors = vectors_of_piece(nest_, scope);
    if (vectors > 0) open_sums(id, vectors * scope.lanes, piece_begin, piece_end);
    open(fmt::format("vectorized<{}>({}, {}, [&](auto lanes, i64 {}) {{", scope.lanes, piece_begin, piece_end,
                     loop_name(scope.loops.back())));
    scope_body(id);
    close("});");
    if (vectors > 0) close_sums(id);
    close_pieces(scope);
    for (size_t k = first; k + 1 < scope.loops.size(); ++k) close("}");
  }

  // Up to close_sums(): what adds up one piece of the range. Gives the piece's bounds.
  void open_sums(ScopeId id, int64_t length, std::string& begin, std::string& end) {
    for_each_sum(id, "auto {0}_total = {0};");
    const std::string name = loop_name(nest_.scope(id).loops.back()), first = name + "_from";
    open(fmt::format("for (i64 {0}_from = {1}, {0}_to; {0}_from < {2}; {0}_from = {0}_to) {{", name, begin,
                     end));
    line(fmt::format("{0}_to = minimum<i64>({0}_from + {1}, {2});", name, length, end));
    for_each_sum(id, "{0} = decltype({0}){{}};");
    begin = first, end = name + "_to";
  }
  void close_sums(ScopeId id) {
    for_each_sum(id, "{0}_total = {0}_total + {0};");
    close("}");
    for_each_sum(id, "{0} = {0}_total;");
  }
  void for_each_sum(ScopeId id, const char* statement) {
    const Scope& scope = nest_.scope(id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k)
      if (is_rounded_sum(scope.accumulators[k]))
        line(fmt::format(fmt::runtime(statement), accumulator_name(id, k)));
  }

  void vector_reduce(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    declare_accumulators(id, scope.lanes, false);
    vector_nest(id, 0, "0", loop_extent(scope.loops.back()));
    reduce_lanes(id, "", true);
  }

  // Chunks of a size that does not depend on the number of threads; their results are combined in order.
  void parallel_reduce(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    bool flat = scope.loops.size() == 1;
    std::vector<int> outer(scope.loops.begin(), scope.loops.end() - 1);
    Sym count = flat ? nest_.space.atom(scope.loops[0]).extent : flat_extent(outer);
    std::string prefix = fmt::format("r{}", id);
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      std::string name = accumulator_name(id, k);
      line(fmt::format("{} {}_parts[kMaxChunks];", type_name(scope.accumulators[k].dtype), name));
      if (is_arg_reduction(scope.accumulators[k].op)) line(fmt::format("i64 {}_parts_at[kMaxChunks];", name));
    }
    line(fmt::format("const Chunks {}_chunks({}, {});", prefix, sym(count), flat ? 16384 : 1));
    std::string captures = "=";
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      std::string name = accumulator_name(id, k);
      captures += fmt::format(", {0}_parts = &{0}_parts[0]", name);
      if (is_arg_reduction(scope.accumulators[k].op))
        captures += fmt::format(", {0}_parts_at = &{0}_parts_at[0]", name);
    }
    const int64_t share =
        flat ? grain(nest_.cost_per_element)
             : grain(nest_.cost_per_element * static_cast<double>(std::max<int64_t>(
                                                  1, nest_.space.atom(scope.loops.back()).extent.hint())));
    open(vocabulary_.outer_loop(OuterLoop::Plain, prefix + "_chunks.count",
                                fmt::format("{}_chunks.grain({})", prefix, share), "") +
         fmt::format("[{}](i64 chunk_begin, i64 chunk_end) {{", captures));
    open("for (i64 chunk = chunk_begin; chunk < chunk_end; ++chunk) {");
    declare_accumulators(id, scope.lanes, false);
    if (flat) {
      vector_nest(id, 0, fmt::format("{}_chunks.begin(chunk)", prefix),
                  fmt::format("{}_chunks.end(chunk)", prefix));
    } else {
      std::string row = outer.size() == 1 ? loop_name(outer[0]) : prefix + "_row";
      open(fmt::format("for (i64 {0} = {1}_chunks.begin(chunk); {0} < {1}_chunks.end(chunk); ++{0}) {{", row,
                       prefix));
      unflatten(outer, row);
      vector_nest(id, outer.size(), "0", loop_extent(scope.loops.back()));
      close("}");
    }
    reduce_lanes(id, "_parts[chunk]", false);
    close("}");
    close("});");
    for (size_t k = 0; k < scope.accumulators.size(); ++k) {
      const Accumulator& accumulator = scope.accumulators[k];
      std::string name = accumulator_name(id, k);
      if (is_rounded_sum(accumulator)) {
        line(fmt::format("const {0} {1}_result = sum_of_parts({1}_parts, {2}_chunks.count);",
                         type_name(accumulator.dtype), name, prefix));
        continue;
      }
      line(fmt::format("{} {}_result = {};", type_name(accumulator.dtype), name, initial_value(accumulator)));
      std::string loop = fmt::format("for (i64 chunk = 0; chunk < {}_chunks.count; ++chunk)", prefix);
      if (is_arg_reduction(accumulator.op)) {
        line(fmt::format("i64 {}_result_at = 0;", name));
        line(fmt::format(
            "{0} merge_{1}{2}<{3}>({4}_result, {4}_result_at, {4}_parts[chunk], {4}_parts_at[chunk]);", loop,
            accumulator.op == ReduceOp::ArgMin ? "min" : "max", accumulator.through_root ? "_root" : "",
            type_name(accumulator.dtype), name));
      } else {
        line(fmt::format(
            "{} {}_result = {};", loop, name,
            combined(accumulator.op, accumulator.dtype, name + "_result", name + "_parts[chunk]")));
      }
    }
  }
};

}  // namespace

PrintedKernel print_cpp(const LoopNest& nest) {
  return vocabulary_of(nest.device).is_grid() ? print_grid(nest) : Printer(nest).run();
}

}  // namespace weft::codegen
