// `weft run`: one method of an archive on arrays from files.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "io/arguments.h"
#include "weft/error.h"
#include "weft/exported.h"
#include "weft/jit.h"
#include "weft/npz.h"
#include "weft/parallel.h"
#include "weft/profiler.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

NamedValues read_inputs(const std::vector<std::string>& files) {
  const auto is_archive = [](const std::string& file) { return file.ends_with(".npz"); };
  if (files.size() == 1 && is_archive(files[0])) return load_npz(files[0]);
  NamedValues values;
  for (const std::string& file : files) {
    WEFT_CHECK(!is_archive(file),
               fmt::format("--input {}: expected one .npz, or one .npy for each argument, got {} files", file,
                           files.size()));
    values.emplace_back(std::to_string(values.size()), load_npy(file));
  }
  return values;
}

// NumPy has no bfloat16: such results are written as float32, which holds them exactly.
NamedValues output_arrays(const IValue& result) {
  NamedValues arrays = io::arrays_of_value("out", result);
  for (auto& [name, value] : arrays)
    if (value.is_tensor() && value.to_tensor().dtype() == DType::BF16)
      value = value.to_tensor().to(DType::F32);
  return arrays;
}

void write_outputs(const std::string& file, const NamedValues& arrays) {
  if (!file.ends_with(".npy")) return save_npz(file, arrays);
  WEFT_CHECK(
      arrays.size() == 1,
      fmt::format("--output {}: the method returned {} arrays, write them to a .npz", file, arrays.size()));
  save_npy(file, arrays.front().second);
}

// A line each; with the tensors' values, where the user wants them.
void print_values(const NamedValues& values, bool tensors) {
  for (const auto& [name, value] : values) {
    const std::string text =
        value.is_tensor() ? describe(value.to_tensor()) : value.type()->str() + " " + value.repr();
    std::printf("%s: %s\n", name.c_str(), text.c_str());
    if (tensors && value.is_tensor()) std::printf("%s\n", value.to_tensor().str().c_str());
  }
}

struct Timing {
  double load = 0, optimize = 0, first_call = 0;  // milliseconds
  std::vector<double> calls;                      // sorted
  double percentile(double fraction) const {
    const double position = fraction * static_cast<double>(calls.size() - 1);
    const auto below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, calls.size() - 1);
    return calls[below] + (calls[above] - calls[below]) * (position - static_cast<double>(below));
  }
  double mean() const {
    return std::accumulate(calls.begin(), calls.end(), 0.0) / static_cast<double>(calls.size());
  }
};

Json timing_json(const Timing& timing) {
  Json result = {{"load_ms", timing.load}};
  if (timing.optimize > 0) result["optimize_ms"] = timing.optimize;
  result["first_call_ms"] = timing.first_call;
  if (timing.calls.empty()) return result;
  result["calls"] = timing.calls.size();
  result["latency_ms"] = {{"mean", timing.mean()},          {"median", timing.percentile(0.5)},
                          {"min", timing.calls.front()},    {"p90", timing.percentile(0.9)},
                          {"p99", timing.percentile(0.99)}, {"max", timing.calls.back()}};
  result["calls_per_second"] = 1e3 / timing.mean();
  return result;
}

void print_timing(const Timing& timing) {
  std::printf("load %.1f ms, ", timing.load);
  if (timing.optimize > 0) std::printf("optimize %.1f ms, ", timing.optimize);
  std::printf("first call %.1f ms\n", timing.first_call);
  if (timing.calls.empty()) return;
  std::printf(
      "%zu calls: mean %.3f ms, median %.3f, min %.3f, p90 %.3f, p99 %.3f, max %.3f; %.1f calls per second\n",
      timing.calls.size(), timing.mean(), timing.percentile(0.5), timing.calls.front(),
      timing.percentile(0.9), timing.percentile(0.99), timing.calls.back(), 1e3 / timing.mean());
}

Json arrays_json(const NamedValues& arrays) {
  Json list = Json::array();
  for (const auto& [name, value] : arrays) {
    list.push_back({{"name", name}});
    if (value.is_tensor()) {
      list.back()["dtype"] = weft::name(value.to_tensor().dtype());
      list.back()["shape"] = value.to_tensor().shape();
    } else {
      list.back()["value"] = value.repr();
    }
  }
  return list;
}

// The calls that the user asked for; the result of the first.
IValue call(const jit::Module& module, const RunOptions& options, const jit::Keywords& arguments,
            Timing& timing) {
  const auto once = [&] {
    return options.method == "forward" ? module.forward({}, arguments)
                                       : module.run_method(options.method, {}, arguments);
  };
  const Clock::time_point start = Clock::now();
  IValue result = once();
  timing.first_call = milliseconds_since(start);
  if (options.repeat == 1) return result;
  const int warmup = options.warmup >= 0 ? options.warmup : 3;
  for (int i = 0; i < warmup; ++i) once();
  for (int i = 0; i < options.repeat; ++i) {
    const Clock::time_point begin = Clock::now();
    once();
    timing.calls.push_back(milliseconds_since(begin));
  }
  std::sort(timing.calls.begin(), timing.calls.end());
  return result;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  if (options.interop_threads > 0) set_num_interop_threads(options.interop_threads);
  Timing timing;
  const Clock::time_point start = Clock::now();
  jit::Module module = exported::load_module(options.model);
  timing.load = milliseconds_since(start);
  const jit::Keywords arguments =
      io::arguments_of_arrays(module.method(options.method)->schema(), read_inputs(options.inputs));
  if (options.optimize) {
    const Clock::time_point begin = Clock::now();
    const std::vector<std::string> preserved =
        options.method == "forward" ? std::vector<std::string>() : std::vector{options.method};
    module = jit::optimize_for_inference(module, preserved);
    timing.optimize = milliseconds_since(begin);
  }
  if (!options.profile.empty()) profiler::start(options.profile);
  const IValue result = call(module, options, arguments, timing);
  if (!options.profile.empty()) profiler::stop();
  const NamedValues outputs = output_arrays(result);
  if (!options.output.empty()) write_outputs(options.output, outputs);

  if (options.json) {
    Json all = {{"model", options.model},
                {"method", options.method},
                {"optimized", options.optimize},
                {"threads", get_num_threads()},
                {"interop_threads", get_num_interop_threads()},
                {"inputs", arrays_json(arguments)},
                {"outputs", arrays_json(outputs)}};
    all.update(timing_json(timing));
    std::printf("%s\n", all.dump(2).c_str());
    return 0;
  }
  print_values(arguments, false);
  print_values(outputs, options.output.empty());
  print_timing(timing);
  return 0;
}

}  // namespace weft::cli
