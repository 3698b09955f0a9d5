// Inputs that are written back: their memory takes the results at once where nothing needs what it held.
#include <algorithm>
#include <optional>
#include <regex>

#include "compare.h"
#include "core/allocation_failure.h"
#include "weft/allocator.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()),
          static_cast<size_t>(tensor.numel() * itemsize(tensor.dtype()))};
}

using Run = std::function<Tensors(const Tensors&)>;

// What a run makes of copies of inputs; the results in front of the inputs.
Tensors after(const Run& run, const Tensors& given) {
  Tensors inputs;
  for (const Tensor& tensor : given) inputs.push_back(tensor.clone());
  Tensors results = run(inputs);
  results.insert(results.end(), inputs.begin(), inputs.end());
  return results;
}

// … what the interpreter makes of them, or compiled code.
Tensors after(const std::string& text, const Tensors& given, bool compiled) {
  const auto graph = ir::parse_graph(text);
  return after(
      [&](const Tensors& inputs) {
        return compiled ? compile(graph->clone())->run(inputs) : ir::interpret(*graph, inputs);
      },
      given);
}

void expect_same_in_place(const std::string& text, const Tensors& given) {
  SCOPED_TRACE(text);
  const Tensors want = after(text, given, false), got = after(text, given, true);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i)
    expect_equal(got[i], want[i], 1e-14, "tensor " + std::to_string(i));
  const auto prepared = compile(ir::parse_graph(text), preparing());
  for (int run = 0; run < 3; ++run) {
    const Tensors again = after([&](const Tensors& inputs) { return prepared->run(inputs); }, given);
    for (size_t i = 0; i < want.size(); ++i)
      expect_equal(again[i], want[i], 1e-14, "run " + std::to_string(run) + ", tensor " + std::to_string(i));
  }
}

const char* const kGraphs[] = {
    // A step of two arrays in turn.
    R"(graph two(%a: f64[100], %b: f64[100]) {
  %1: f64[98] = slice(%a) {dim=0, start=0, stop=98, step=1}
  %2: f64[98] = slice(%a) {dim=0, start=2, stop=100, step=1}
  %3: f64[98] = add(%1, %2)
  %4: f64[100] = slice_update(%b, %3) {dim=0, start=1, stop=99, step=1}
  %5: f64[98] = slice(%4) {dim=0, start=0, stop=98, step=1}
  %6: f64[98] = slice(%4) {dim=0, start=2, stop=100, step=1}
  %7: f64[98] = sub(%5, %6)
  %8: f64[100] = slice_update(%a, %7) {dim=0, start=1, stop=99, step=1}
  write %a = %8
  write %b = %4
  return
}
)",
    // The old elements are read next to where the new ones go.
    R"(graph neighbours(%a: f64[100], %b: f64[100]) {
  %1: f64[99] = slice(%a) {dim=0, start=0, stop=99, step=1}
  %2: f64[100] = slice_update(%a, %1) {dim=0, start=1, stop=100, step=1}
  %3: f64[100] = add(%2, %b)
  write %a = %2
  write %b = %3
  return %3
}
)",
    // Whole values, one of which needs what the other replaces.
    R"(graph exchanged(%a: f64[100], %b: f64[100]) {
  %1: f64[100] = add(%a, %b)
  %2: f64[100] = mul(%a, %b)
  write %a = %2
  write %b = %1
  return
}
)",
    R"(graph swapped(%a: f64[100], %b: f64[100]) {
  %1: f64[100] = cast(%a) {dtype=f64}
  %2: f64[100] = cast(%b) {dtype=f64}
  write %a = %2
  write %b = %1
  return
}
)",
    // A result reads the old elements; another is the new ones.
    R"(graph results(%a: f64[100], %b: f64[100]) {
  %1: f64[100] = mul(%a, %b)
  %2: f64[50] = slice(%a) {dim=0, start=0, stop=50, step=1}
  %3: f64[50] = add(%2, %2)
  %4: f64[] = sum(%1) {dim=[0]}
  write %a = %1
  return %1, %3, %4
}
)",
    // One part after the other, and a sum of what is replaced.
    R"(graph edges(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: f64[8, 10] = slice(%b) {dim=0, start=1, stop=9, step=1}
  %2: f64[8, 10] = mul(%1, %1)
  %3: f64[10, 10] = slice_update(%a, %2) {dim=0, start=1, stop=9, step=1}
  %4: f64[10, 1] = slice(%3) {dim=1, start=8, stop=9, step=1}
  %5: f64[10, 10] = slice_update(%3, %4) {dim=1, start=9, stop=10, step=1}
  %6: f64[1, 10] = slice(%5) {dim=0, start=1, stop=2, step=1}
  %7: f64[10, 10] = slice_update(%5, %6) {dim=0, start=0, stop=1, step=1}
  %8: f64[10] = sum(%3) {dim=[0]}
  write %a = %7
  return %8
}
)",
    R"(graph chain(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: f64[8, 10] = slice(%b) {dim=0, start=1, stop=9, step=1}
  %2: f64[8, 10] = mul(%1, %1)
  %3: f64[10, 10] = slice_update(%a, %2) {dim=0, start=1, stop=9, step=1}
  %4: f64[10, 2] = slice(%3) {dim=1, start=7, stop=9, step=1}
  %5: f64[10, 10] = slice_update(%3, %4) {dim=1, start=8, stop=10, step=1}
  write %a = %5
  return
}
)",
    // Rows added to sums of columns that are read where they are written.
    R"(graph totals(%a: f64[100], %b: f64[100]) {
  %1: f64[1, 100] = reshape(%b) {shape=[1, 100]}
  %2: f64[300, 100] = expand(%1) {shape=[300, 100]}
  %3: f64[100] = sum(%2) {dim=[0]}
  %4: f64[100] = add(%a, %3)
  write %a = %4
  return
}
)",
    // The same with more columns than any vector has lanes, and into a part; whole numbers, whose sums are
    // exact.
    R"(graph long_totals(%a: f64[700], %b: f64[700]) {
  %0: f64[700] = trunc(%b)
  %1: f64[1, 700] = reshape(%0) {shape=[1, 700]}
  %2: f64[600, 700] = expand(%1) {shape=[600, 700]}
  %3: f64[700] = sum(%2) {dim=[0]}
  %4: f64[700] = add(%a, %3)
  write %a = %4
  return
}
)",
    R"(graph totals_of_a_part(%a: f64[700], %b: f64[700]) {
  %0: f64[700] = trunc(%b)
  %1: f64[1, 700] = reshape(%0) {shape=[1, 700]}
  %2: f64[600, 700] = expand(%1) {shape=[600, 700]}
  %3: f64[700] = sum(%2) {dim=[0]}
  %4: f64[600] = slice(%3) {dim=0, start=0, stop=600, step=1}
  %5: f64[600] = slice(%a) {dim=0, start=50, stop=650, step=1}
  %6: f64[600] = add(%5, %4)
  %7: f64[700] = slice_update(%a, %6) {dim=0, start=50, stop=650, step=1}
  write %a = %7
  return
}
)",
    // What other steps need after it: they may fail, and the part that was replaced comes back.
    R"(graph row_of_a_cache(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: f64[1, 10] = slice(%b) {dim=0, start=2, stop=3, step=1}
  %2: f64[1, 10] = neg(%1)
  %3: f64[10, 10] = slice_update(%a, %2) {dim=0, start=4, stop=5, step=1}
  %4: f64[10, 10] = matmul(%3, %b)
  %5: f64[] = sum(%4) {dim=[0, 1]}
  write %a = %3
  return %5
}
)",
    R"(graph places_of_caches(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: f64[10] = sum(%b) {dim=[0]}
  %2: i64[] = constant {3}
  %3: f64[10, 10] = scatter_nd(%a, %1, %2)
  %4: f64[10, 10] = matmul(%3, %b)
  %5: f64[10] = sum(%4) {dim=[1]}
  %6: i64[] = constant {-2}
  %7: f64[10, 10] = scatter_nd(%3, %5, none, %6)
  %8: f64[10] = sum(%7) {dim=[0]}
  write %a = %7
  return %8
}
)",
    // An element of what is replaced, and what was there before.
    R"(graph place_from_itself(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: i64[] = constant {3}
  %2: f64[1, 10] = slice(%a) {dim=0, start=4, stop=5, step=1}
  %3: f64[10] = reshape(%2) {shape=[10]}
  %4: f64[10, 10] = scatter_nd(%a, %3, none, %1)
  %5: f64[10] = sum(%4) {dim=[0]}
  write %a = %4
  return %5
}
)",
    R"(graph added_to_places(%a: f64[10, 10], %b: f64[10, 10]) {
  %1: i64[] = constant {3}
  %2: f64[10] = sum(%b) {dim=[0]}
  %3: f64[10, 10] = scatter_nd(%a, %2, %1) {accumulate=true}
  %4: f64[10, 10] = matmul(%a, %3)
  write %a = %3
  return %4
}
)",
};

Shape shape_of_inputs(const std::string& text) {
  if (text.find("%a: f64[700]") != std::string::npos) return {700};
  return text.find("%a: f64[100]") != std::string::npos ? Shape{100} : Shape{10, 10};
}

TEST(InPlace, GivesWhatTheInterpreterGives) {
  for (const char* text : kGraphs)
    expect_same_in_place(
        text, {sample(shape_of_inputs(text), DType::F64, 1), sample(shape_of_inputs(text), DType::F64, 2)});
}

// Kernels over a product that nothing else needs, and over products that they read elsewhere too, that they read
// after a row's exponentials are where the result will be, or that are results.
const char* const kOverwritten[] = {
    R"(graph scaled(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 40] = neg(%1)
  return %2
}
)",
    R"(graph mirrored(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 40] = permute(%1) {dims=[1, 0]}
  %3: f64[40, 40] = add(%1, %2)
  return %3
}
)",
    R"(graph centered(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 1] = sum(%1) {dim=[1], keepdim=true}
  %3: f64[40, 40] = sub(%1, %2)
  return %3
}
)",
    R"(graph kept(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 40] = neg(%1)
  return %1, %2
}
)",
    R"(graph weighted(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 40] = matmul(%a, %1)
  %3: f64[40, 1] = amax(%1) {dim=[1], keepdim=true}
  %4: f64[40, 40] = sub(%1, %3)
  %5: f64[40, 40] = exp(%4)
  %6: f64[40, 1] = sum(%5) {dim=[1], keepdim=true}
  %7: f64[40, 40] = true_divide(%5, %6)
  %8: f64[40, 40] = mul(%7, %2)
  return %8
}
)",
    R"(graph viewed(%a: f64[40, 40]) {
  %1: f64[40, 40] = matmul(%a, %a)
  %2: f64[40, 40] = matmul(%1, %1)
  %3: f64[1, 40] = slice(%1) {dim=0, start=3, stop=4, step=1}
  %4: f64[40, 40] = mul(%1, %3)
  %5: f64[40, 40] = sub(%2, %4)
  return %5
}
)",
};

TEST(InPlace, OperandsThatNothingElseNeeds) {
  for (const char* text : kOverwritten) expect_same_in_place(text, {sample({40, 40}, DType::F64, 3)});
  const auto compiled = compile(ir::parse_graph(kOverwritten[0]));
  const Tensor a = sample({40, 40}, DType::F64, 3);
  const auto requests = allocator_stats().num_requests;
  compiled->run({a});
  EXPECT_EQ(allocator_stats().num_requests - requests, 1);
}

TEST(InPlace, InputsThatShareMemory) {
  for (const std::string text : {kGraphs[0], kGraphs[1], kGraphs[2], kGraphs[3], kGraphs[4], kGraphs[7]}) {
    SCOPED_TRACE(text);
    const auto graph = ir::parse_graph(text);
    const auto run = [&](bool compiled) {
      const Tensor whole = sample({101}, DType::F64, 3);
      const Tensors inputs = {whole.as_strided({100}, {1}, 0), whole.as_strided({100}, {1}, 1)};
      Tensors results = compiled ? compile(graph->clone())->run(inputs) : ir::interpret(*graph, inputs);
      results.push_back(whole);
      return results;
    };
    const Tensors want = run(false), got = run(true);
    for (size_t i = 0; i < want.size(); ++i)
      expect_equal(got[i], want[i], 1e-14, "tensor " + std::to_string(i));
  }
}

// The kind of the error where allocation number `n` of a run fails; nothing where it has fewer.
std::optional<ErrorKind> error_of_allocation(int64_t n, const CompiledGraph& graph, const Tensors& inputs) {
  fail_allocation_after(n);
  std::optional<ErrorKind> kind;
  try {
    graph.run(inputs);
  } catch (const Error& error) {
    kind = error.kind();
  }
  fail_allocation_after(-1);
  return kind;
}

// What %a may hold between two updates: the graph's results with each of them written to it.
std::vector<std::string> states_of_a(const std::string& text, const Tensors& given) {
  std::vector<std::string> states;
  const std::regex update("(%[0-9]+): [^\n]* = (?:slice_update|scatter_nd)"), write("write %a = %[0-9]+");
  for (std::sregex_iterator found(text.begin(), text.end(), update), end; found != end; ++found) {
    const Tensors tensors =
        after(std::regex_replace(text, write, "write %a = " + found->str(1)), given, false);
    states.push_back(bytes_of(tensors[tensors.size() - given.size()]));
  }
  return states;
}

// An array holds what the program's own statements leave in it, nothing is lost, and the next run has what it
// needs.
TEST(InPlace, WhereAnyAllocationFailsNoStatementIsHalfDone) {
  for (const std::string text : kGraphs) {
    SCOPED_TRACE(text);
    const Shape shape = shape_of_inputs(text);
    const Tensors given = {sample(shape, DType::F64, 1), sample(shape, DType::F64, 2)};
    const Tensors want = after(text, given, true);
    const auto compiled = compile(ir::parse_graph(text));
    const std::vector<std::string> between = states_of_a(text, given);
    const size_t num_results = want.size() - given.size();
    for (int64_t n = 0;; ++n) {
      const Tensors inputs = {given[0].clone(), given[1].clone()};
      const size_t allocated = allocator_stats().allocated;
      const std::optional<ErrorKind> error = error_of_allocation(n, *compiled, inputs);
      EXPECT_EQ(allocator_stats().allocated, allocated) << "allocation " << n;
      for (size_t i = 0; i < inputs.size(); ++i) {
        std::vector<std::string> possible = {bytes_of(want[num_results + i])};
        if (error) possible.push_back(bytes_of(given[i]));
        if (error && i == 0) possible.insert(possible.end(), between.begin(), between.end());
        EXPECT_GT(std::count(possible.begin(), possible.end(), bytes_of(inputs[i])), 0)
            << "allocation " << n << ", input " << i;
      }
      if (!error) break;
      EXPECT_EQ(*error, ErrorKind::Memory);
      ASSERT_LT(n, 100);
    }
  }
}

// A later step says no: the caches are what they were, whichever of them had been written.
TEST(InPlace, AnErrorAfterAnUpdateTakesItBack) {
  const std::string text =
      R"(graph caches(%a: f64[64, 8], %b: f64[64, 8], %row: f64[2, 8], %i: i64[2], %j: i64[2]) {
  %1: f64[64, 8] = scatter_nd(%a, %row, %i)
  %2: f64[64, 8] = scatter_nd(%b, %row, %j)
  %3: f64[8, 64] = permute(%2) {dims=[1, 0]}
  %4: f64[64, 64] = matmul(%1, %3)
  write %a = %1
  write %b = %2
  return %4
}
)";
  for (const CompileOptions& options : {CompileOptions{}, preparing()}) {
    const auto compiled = compile(ir::parse_graph(text), options);
    const auto graph = ir::parse_graph(text);
    const Tensor a = sample({64, 8}, DType::F64, 1), b = sample({64, 8}, DType::F64, 2);
    const Tensor row = sample({2, 8}, DType::F64, 3);
    const Tensor good = Tensor::of<int64_t>({5, 5}), bad = Tensor::of<int64_t>({7, 64});
    for (int run = 0; run < 4; ++run) {
      const std::string before[] = {bytes_of(a), bytes_of(b)};
      EXPECT_THROW(compiled->run({a, b, row, good, bad}), Error);
      EXPECT_EQ(bytes_of(a), before[0]);
      EXPECT_EQ(bytes_of(b), before[1]);
      const Tensor other_a = a.clone(), other_b = b.clone();
      const Tensors got = compiled->run({a, b, row, good, good});
      const Tensors want = ir::interpret(*graph, {other_a, other_b, row, good, good});
      expect_equal(got[0], want[0], 1e-12, "product");
      EXPECT_EQ(bytes_of(a), bytes_of(other_a));
      EXPECT_EQ(bytes_of(b), bytes_of(other_b));
    }
  }
}

// One row of a large array costs no copy of it.
TEST(InPlace, ACacheIsNotCopied) {
  const auto compiled = compile(ir::parse_graph(R"(graph cache(%a: f64[65536, 64], %row: f64[64], %i: i64[]) {
  %1: f64[65536, 64] = scatter_nd(%a, %row, %i)
  %2: f64[64] = sum(%1) {dim=[0]}
  write %a = %1
  return %2
}
)"));
  const Tensor a = Tensor::full({65536, 64}, Scalar(1.5), DType::F64), row = sample({64}, DType::F64, 2);
  const Tensor i = Tensor::scalar(Scalar(9), DType::I64);
  const size_t before = allocator_stats().peak_allocated;
  for (int run = 0; run < 3; ++run) compiled->run({a, row, i});
  EXPECT_LT(allocator_stats().peak_allocated - before, a.storage()->nbytes() / 4);
}

}  // namespace
}  // namespace weft::compiler::harness
