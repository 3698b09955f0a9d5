// Both forms of attention with decomposed relative positions, and what is none.
#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace weft::passes {
namespace {

constexpr const char* kInputs =
    "%q: f32[2, 12, 8], %k: f32[2, 12, 8], %rel_h: f32[2, 3, 4, 3], %rel_w: f32[2, 3, 4, 4], %v: f32[2, 12, "
    "5]";
constexpr const char* kSoftmax =
    "  %m: f32[2, 12, 1] = amax(%s) {dim=[2], keepdim=true}\n"
    "  %d: f32[2, 12, 12] = sub(%s, %m)\n"
    "  %e: f32[2, 12, 12] = exp(%d)\n"
    "  %t: f32[2, 12, 1] = sum(%e) {dim=[2], keepdim=true}\n"
    "  %w: f32[2, 12, 12] = true_divide(%e, %t)\n"
    "  %o: f32[2, 12, 5] = matmul(%w, %v)\n"
    "  return %o\n";
constexpr const char* kProduct =
    "  %c: f32[] = constant {0.25}\n"
    "  %x: f32[2, 12, 8] = mul(%q, %c)\n"
    "  %kt: f32[2, 8, 12] = permute(%k) {dims=[0, 2, 1]}\n"
    "  %p: f32[2, 12, 12] = matmul(%x, %kt)\n";
constexpr const char* kSums =
    "  %g: f32[2, 3, 4, 3, 4] = reshape(%p) {shape=[2, 3, 4, 3, 4]}\n"
    "  %h: f32[2, 3, 4, 3, 1] = reshape(%rel_h) {shape=[2, 3, 4, 3, 1]}\n"
    "  %a: f32[2, 3, 4, 3, 4] = add(%g, %h)\n"
    "  %r: f32[2, 3, 4, 1, 4] = reshape(%rel_w) {shape=[2, 3, 4, 1, 4]}\n"
    "  %b: f32[2, 3, 4, 3, 4] = add(%a, %r)\n"
    "  %s: f32[2, 12, 12] = reshape(%b) {shape=[2, 12, 12]}\n";

std::string after(const std::string& body, const std::string& inputs = kInputs) {
  const auto graph = ir::parse_graph("graph f(" + inputs + ") {\n" + body + "}\n");
  ir::verify(*graph);
  compiler::run_graph_stage("relative_attention", *graph);
  ir::verify(*graph);
  compiler::run_graph_stage("canonicalize", *graph);
  compiler::run_graph_stage("dead_code", *graph);
  return graph->str();
}
bool is_fused(const std::string& text) {
  const bool fused = text.find("relative_position_attention") != std::string::npos;
  EXPECT_NE(fused, text.find("scaled_dot_product_attention") != std::string::npos ||
                       text.find("exp(") != std::string::npos)
      << text;
  return fused;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RelativeAttention, OfTheFormula) {
  EXPECT_EQ(after(std::string(kProduct) + kSums + kSoftmax),
            "graph f(%q: f32[2, 12, 8], %k: f32[2, 12, 8], %rel_h: f32[2, 3, 4, 3], %rel_w: f32[2, 3, 4, 4], "
            "%v: f32[2, 12, 5]) {\n"
            "  %c: f32[] = constant {0.25}\n"
            "  %x: f32[2, 12, 8] = mul(%q, %c)\n"
            "  %26: f32[2, 12, 3] = reshape(%rel_h) {shape=[2, 12, 3]}\n"
            "  %27: f32[2, 12, 4] = reshape(%rel_w) {shape=[2, 12, 4]}\n"
            "  %24: f32[2, 12, 5] = relative_position_attention(%x, %k, %v, %26, %27) {scale=1.0}\n"
            "  return %24\n}\n");
}

TEST(RelativeAttention, OfTheFormulaInOtherOrders) {
  // down + across first; the scale on the product; summands turned round.
  const std::string product =
      "  %c: f32[] = constant {0.25}\n"
      "  %kt: f32[2, 8, 12] = permute(%k) {dims=[0, 2, 1]}\n"
      "  %x: f32[2, 12, 12] = matmul(%q, %kt)\n"
      "  %p: f32[2, 12, 12] = mul(%x, %c)\n";
  const std::string scaled = after(product + kSums + kSoftmax);
  EXPECT_NE(scaled.find("{scale=0.25}"), std::string::npos) << scaled;
  std::string sums = kSums;
  sums = replaced(sums, "add(%g, %h)", "add(%h, %g)");
  sums = replaced(sums, "add(%a, %r)", "add(%r, %a)");
  EXPECT_TRUE(is_fused(after(product + sums + kSoftmax)));
  sums = replaced(kSums, "  %a: f32[2, 3, 4, 3, 4] = add(%g, %h)\n", "");
  sums = replaced(sums, "  %b: f32[2, 3, 4, 3, 4] = add(%a, %r)\n",
                  "  %a: f32[2, 3, 4, 3, 4] = add(%h, %r)\n  %b: f32[2, 3, 4, 3, 4] = add(%g, %a)\n");
  EXPECT_TRUE(is_fused(after(product + sums + kSoftmax)));
}

std::string in_bfloat16(std::string text) {
  for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "bf16");
  return text;
}

// A scale that 16 bits do not hold multiplies between two conversions.
TEST(RelativeAttention, OfTheFormulaWithAWideScale) {
  const std::string before =
      "  %kt: bf16[2, 8, 12] = permute(%k) {dims=[0, 2, 1]}\n"
      "  %n: bf16[2, 12, 12] = matmul(%q, %kt)\n";
  const std::string scaled =
      "  %c: f32[] = constant {0.1}\n"
      "  %z: f32[2, 12, 12] = cast(%n) {dtype=f32}\n"
      "  %y: f32[2, 12, 12] = mul(%z, %c)\n"
      "  %p: bf16[2, 12, 12] = cast(%y) {dtype=bf16}\n";
  const std::string rest = in_bfloat16(std::string(kSums) + kSoftmax), inputs = in_bfloat16(kInputs);
  const std::string fused = after(before + scaled + rest, inputs);
  EXPECT_TRUE(is_fused(fused));
  EXPECT_NE(fused.find("{scale=0.1"), std::string::npos) << fused;
  // What else reads the wide product needs it.
  EXPECT_FALSE(is_fused(after(before + scaled + replaced(rest, "  return %o", "  return %o, %y"), inputs)));
}

TEST(RelativeAttention, NotOfOtherFormulas) {
  const std::string whole = std::string(kProduct) + kSums + kSoftmax;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"add(%g, %h)", "sub(%g, %h)"},
           {"add(%g, %h)", "add(%g, %h) {alpha=2}"},
           {"return %o", "return %o, %w"},  // the weights are asked for
           {"return %o", "return %o, %b"},
           {"= sum(%e)", "= sum(%d)"},
           {"matmul(%x, %kt)", "sub(%w0, %w0)"}})
    EXPECT_FALSE(is_fused(after(replaced(whole, from, to), std::string(kInputs) + ", %w0: f32[2, 12, 12]")))
        << to;
  // One summand alone, and two of one kind.
  EXPECT_FALSE(is_fused(after(replaced(whole, "add(%a, %r)", "add(%a, %a)"))));
  EXPECT_FALSE(is_fused(after(replaced(whole, "add(%a, %r)", "add(%a, %h)"))));
}

TEST(RelativeAttention, OfAMask) {
  const std::string body =
      "  %h: f32[2, 3, 4, 3, 1] = reshape(%rel_h) {shape=[2, 3, 4, 3, 1]}\n"
      "  %r: f32[2, 3, 4, 1, 4] = reshape(%rel_w) {shape=[2, 3, 4, 1, 4]}\n"
      "  %b: f32[2, 3, 4, 3, 4] = add(%h, %r)\n"
      "  %s: f32[2, 12, 12] = reshape(%b) {shape=[2, 12, 12]}\n"
      "  %o: f32[2, 12, 5] = scaled_dot_product_attention(%q, %k, %v, %s)\n"
      "  return %o\n";
  EXPECT_EQ(after(body),
            "graph f(%q: f32[2, 12, 8], %k: f32[2, 12, 8], %rel_h: f32[2, 3, 4, 3], %rel_w: f32[2, 3, 4, 4], "
            "%v: f32[2, 12, 5]) {\n"
            "  %13: f32[2, 12, 3] = reshape(%rel_h) {shape=[2, 12, 3]}\n"
            "  %14: f32[2, 12, 4] = reshape(%rel_w) {shape=[2, 12, 4]}\n"
            "  %12: f32[2, 12, 5] = relative_position_attention(%q, %k, %v, %13, %14)\n"
            "  return %12\n}\n");
  EXPECT_FALSE(is_fused(after(replaced(body, "return %o", "return %o, %s"))));
  EXPECT_FALSE(is_fused(after(replaced(body, "add(%h, %r)", "sub(%h, %r)"))));
  EXPECT_FALSE(is_fused(after(replaced(body, "add(%h, %r)", "add(%b0, %b0)"),
                              std::string(kInputs) + ", %b0: f32[2, 3, 4, 3, 4]")));
}

TEST(RelativeAttention, OfAMaskInAnotherOrder) {
  const std::string body =
      "  %h: f32[2, 3, 4, 3, 1] = reshape(%rel_h) {shape=[2, 3, 4, 3, 1]}\n"
      "  %r: f32[2, 3, 4, 1, 4] = reshape(%rel_w) {shape=[2, 3, 4, 1, 4]}\n"
      "  %x: f32[4, 2, 3, 3, 1] = permute(%h) {dims=[2, 0, 1, 3, 4]}\n"
      "  %y: f32[4, 2, 3, 1, 4] = permute(%r) {dims=[2, 0, 1, 3, 4]}\n"
      "  %c: f32[4, 2, 3, 3, 4] = add(%x, %y)\n"
      "  %b: f32[2, 3, 4, 3, 4] = permute(%c) {dims=[1, 2, 0, 3, 4]}\n"
      "  %s: f32[2, 12, 12] = reshape(%b) {shape=[2, 12, 12]}\n"
      "  %o: f32[2, 12, 5] = scaled_dot_product_attention(%q, %k, %v, %s)\n"
      "  return %o\n";
  EXPECT_TRUE(is_fused(after(body)));
  const std::string elsewhere = replaced(replaced(body, "dims=[1, 2, 0, 3, 4]", "dims=[2, 1, 0, 3, 4]"),
                                         "%b: f32[2, 3, 4, 3, 4]", "%b: f32[3, 2, 4, 3, 4]");
  EXPECT_FALSE(is_fused(after(elsewhere)));
}

TEST(RelativeAttention, NotInDoublePrecision) {
  std::string inputs = kInputs, body = std::string(kProduct) + kSums + kSoftmax;
  for (std::string* text : {&inputs, &body})
    for (size_t at; (at = text->find("f32")) != std::string::npos;) text->replace(at, 3, "f64");
  EXPECT_FALSE(is_fused(after(body, inputs)));
}

}  // namespace
}  // namespace weft::passes
