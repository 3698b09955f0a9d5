#include "cli/llama_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/printable.h"
#include "io/json.h"
#include "runtime/process.h"
#include "weft/error.h"

namespace weft::cli {
namespace {

void require(bool condition, const std::string& what) {
  if (!condition) throw_error(ErrorKind::Runtime, what);
}

std::string llama_bench_in(const std::string& directory) {
  std::vector<std::string> places;
  for (const char* folder : {"", "/bin", "/build/bin"}) {
    places.push_back(directory + folder + "/llama-bench");
    if (const std::string found = runtime::find_program(places.back()); !found.empty()) return found;
  }
  throw_error(ErrorKind::Value, fmt::format("--llama-cpp: no program {}", fmt::join(places, ", ")));
}

std::string field_text(const Json& row, const char* key) {
  const Json value = row.value(key, Json());
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

LlamaBenchFigure figure_of(const Json& row, const std::string& program) {
  const auto number = [&](const char* key) {
    const Json value = row.is_object() ? row.value(key, Json()) : Json();
    require(value.is_number(), fmt::format("'{}' prints no number '{}'", program, key));
    return value.get<double>();
  };
  const auto prompt = static_cast<int64_t>(number("n_prompt")), made = static_cast<int64_t>(number("n_gen"));
  // Only the one has this key.
  const char* const name = row.contains("mla_attn") ? "ik_llama.cpp" : "llama.cpp";
  return {.program = printable(fmt::format("{} {} ({})", name, field_text(row, "build_number"),
                                           field_text(row, "build_commit"))),
          .test = made == 0 ? fmt::format("pp{}", prompt) : fmt::format("tg{}", made),
          .mean = number("avg_ts"),
          .deviation = number("stddev_ts")};
}

}  // namespace

std::vector<LlamaBenchFigure> run_llama_bench(const std::string& directory, const LlamaBenchTests& tests) {
  const std::string program = llama_bench_in(directory);
  const auto list = [](const std::vector<int64_t>& sizes) {
    return sizes.empty() ? std::string("0") : fmt::format("{}", fmt::join(sizes, ","));
  };
  std::vector<std::string> command = {program,
                                      "-m",
                                      tests.model,
                                      "-p",
                                      list(tests.prompts),
                                      "-n",
                                      list(tests.generated),
                                      "-r",
                                      std::to_string(tests.repetitions),
                                      "-t",
                                      std::to_string(tests.threads),
                                      "-ngl",
                                      "0",
                                      "-o",
                                      "json"};
  if (tests.depth > 0) command.insert(command.end(), {"-d", std::to_string(tests.depth)});
  const runtime::ProcessResult result = runtime::run_process(command, runtime::Errors::Shown);
  require(result.started, fmt::format("'{}' does not start: {}", program, result.output));
  require(result.status == 0, fmt::format("'{}' ended with status {}", program, result.status));
  const Json rows = parse_json(result.output, fmt::format("what '{}' prints", program));
  require(rows.is_array(), fmt::format("'{}' prints no list of tests", program));
  std::vector<LlamaBenchFigure> figures;
  for (const Json& row : rows) figures.push_back(figure_of(row, program));
  return figures;
}

}  // namespace weft::cli
