// A prompt at once, where many rows are multiplied in another way than few: the texts that follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/support.h"
#include "weft/models/generation.h"
#include "weft/models/causal_model.h"

namespace weft::models {
namespace {

using Ids = std::vector<int64_t>;

Ids recorded_ids() { return nlohmann::json::parse(read_file(stories() + "/expected.json"))["greedy_ids"]; }

// What follows the first `prompt` of the ids, until there are as many.
Ids continued(const CausalModel& model, const Ids& ids, size_t prompt, Execution execution) {
  KVCache cache = model.make_cache();
  Ids text(ids.begin(), ids.begin() + static_cast<int64_t>(prompt));
  Tensor logits = model.forward(text, cache, false, execution);
  while (true) {
    text.push_back(argmax({logits.data_as<float>(), static_cast<size_t>(logits.numel())}));
    if (text.size() == ids.size()) return text;
    logits = model.forward(std::span(text).last(1), cache, false, execution);
  }
}

// The same texts, whether a prompt's inputs are float32 or in the parts that the machine multiplies fastest. Not of bfloat16
// weights, which round them.
TEST(Prefill, TextsAreThoseOfFloat32Inputs) {
  WEFT_NEEDS_STORIES();
  const Ids ids = recorded_ids();
  for (const char* scheme : {"float32", "int8", "int4-g32"}) {
    const bool quantized = std::string(scheme).starts_with("int");
    const auto model = [&](const char* activations) {
      ModelOptions options{.activations = activations};
      (quantized ? options.quantize : options.dtype) = scheme;
      return CausalModel::from_pretrained(stories(), options);
    };
    const auto plain = model("float32"), fast = model("auto");
    for (const size_t prompt : {16, 17, 40}) {
      const Ids wanted = continued(*plain, ids, prompt, Execution::Compiled);
      if (std::string(scheme) == "float32") {
        EXPECT_EQ(wanted, ids) << prompt;
      }
      for (const Execution execution : {Execution::Static, Execution::Compiled})
        EXPECT_EQ(continued(*fast, ids, prompt, execution), wanted) << scheme << ", prompt of " << prompt;
    }
  }
}

// bfloat16 weights have inputs of bfloat16, as they have in PyTorch: by default what is asked for by name.
TEST(Prefill, BFloat16WeightsRoundTheirInputs) {
  const auto logits = [](const char* activations, int64_t tokens, Execution execution) {
    const auto model = CausalModel::random(small_config("llama"),
                                           {.dtype = "bfloat16", .activations = activations});
    Ids prompt(static_cast<size_t>(tokens));
    for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int64_t>(i * 37 % 96);
    KVCache cache = model->make_cache();
    const Tensor found = model->forward(prompt, cache, true, execution);
    return std::vector<float>(found.data_as<float>(), found.data_as<float>() + found.numel());
  };
  for (const int64_t tokens : {1, 16, 17, 40})
    for (const Execution execution : {Execution::Eager, Execution::Static, Execution::Compiled}) {
      const std::vector<float> found = logits("", tokens, execution);
      EXPECT_EQ(found, logits("bfloat16", tokens, execution)) << tokens;
      if (tokens <= 16) {
        EXPECT_EQ(found, logits("float32", tokens, execution)) << tokens;
      }
    }
}

// With activations of bfloat16, attention rounds what a float32 cache holds, too: in both executions alike.
TEST(Prefill, BFloat16ActivationsOverAnyCache) {
  for (const char* type : {"llama", "mistral", "qwen2"})
    for (const char* cache_dtype : {"float32", "float16", "bfloat16", "int8"}) {
      const auto model = [&](const char* activations) {
        return CausalModel::random(small_config(type),
                             {.dtype = "bfloat16", .activations = activations, .cache_dtype = cache_dtype});
      };
      const auto plain = model("float32"), rounding = model("bfloat16");
      for (const int64_t tokens : {16, 17, 40}) {
        Ids prompt(static_cast<size_t>(tokens));
        for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int64_t>(i * 37 % 96);
        const auto run = [&](const CausalModel& llama, Execution execution) {
          KVCache cache = llama.make_cache();
          llama.forward(prompt, cache, false, execution);  // and once more, after what the cache holds
          const Tensor logits = llama.forward(prompt, cache, true, execution);
          return std::vector<float>(logits.data_as<float>(), logits.data_as<float>() + logits.numel());
        };
        const std::vector<float> wanted = run(*plain, Execution::Compiled),
                                 found = run(*rounding, Execution::Compiled);
        EXPECT_EQ(run(*rounding, Execution::Static), found) << type << ' ' << cache_dtype << ' ' << tokens;
        float most = 0;
        for (const float value : wanted) most = std::max(most, std::abs(value));
        for (size_t i = 0; i < wanted.size(); ++i)
          ASSERT_NEAR(found[i], wanted[i], 0.05f * most) << type << ' ' << cache_dtype << ' ' << tokens;
      }
    }
}

}  // namespace
}  // namespace weft::models
