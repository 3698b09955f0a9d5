#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/commands.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/quantized_kernels.h"
#include "runtime/host.h"
#include "runtime/matrix_engines.h"
#include "runtime/toolchain.h"
#include "weft/device.h"
#include "weft/env.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

// Variables and folders may hold bytes that are no text.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* kind_name(env::Kind kind) {
  switch (kind) {
    case env::Kind::Flag: return "flag";
    case env::Kind::Number: return "number";
    case env::Kind::Choice: return "choice";
    case env::Kind::Channels: return "channels";
    case env::Kind::Program: return "program";
    case env::Kind::File: return "file";
    case env::Kind::Folder: return "folder";
    case env::Kind::Text: return "text";
  }
  return "";
}

Json cache_json() {
  const runtime::CacheStats stats = runtime::cache_stats();
  return {{"folder", runtime::cache_directory()},
          {"enabled", !env::flag("WEFT_DISABLE_CACHE")},
          {"entries", stats.entries},
          {"bytes", stats.bytes},
          {"limit_mb", env::number("WEFT_CACHE_LIMIT_MB").value_or(0)}};
}

Json toolchains_json() {
  Json list = Json::array();
  for (const runtime::Toolchain* toolchain : runtime::toolchains()) {
    std::string why_not;
    const bool available = toolchain->available(&why_not);
    list.push_back({{"name", toolchain->name()}, {"available", available}});
    if (available) list.back()["id"] = toolchain->id();
    if (!available) list.back()["why_not"] = why_not;
  }
  return list;
}

std::string chosen_toolchain() {
  try {
    return std::string(runtime::toolchain().name());
  } catch (const Error&) {
    return "";
  }
}

Json devices_json() {
  Json list = Json::array();
  for (const std::string& name : device_names()) {
    if (name == "meta") continue;  // no device of the machine
    list.push_back({{"name", name}, {"available", true}});
    try {
      require_available(Device::parse(name));
    } catch (const Error& error) {
      list.back()["available"] = false;
      list.back()["why_not"] = error.what();
    }
  }
  return list;
}

// Instructions for matrix products of narrow numbers: whether they are usable, and which the products use.
Json engines_json() {
  const kernels::BFloat16Kernels* const chosen = kernels::bfloat16_kernels();
  const std::set<std::string> int8{kernels::int8_kernels().name, kernels::quantized_kernels().name};
  Json list = Json::array();
  for (const runtime::MatrixEngine& engine : runtime::matrix_engines()) {
    std::string plain = engine.name;
    std::erase(plain, '-');
    const bool available = engine.why_not.empty(), is_bfloat16 = engine.numbers == "bfloat16";
    list.push_back({{"name", engine.name},
                    {"numbers", engine.numbers},
                    {"available", available},
                    {"used", available && (is_bfloat16 ? chosen && engine.name == chosen->name
                                                       : int8.contains(plain))}});
    if (!available) list.back()["why_not"] = engine.why_not;
    if (const double speedup = runtime::matrix_engine_speedup(engine.name); speedup > 0)
      list.back()["speedup"] = speedup;
  }
  return list;
}

std::string engine_text(const Json& engine) {
  const std::string name = engine["name"].get<std::string>();
  if (!engine["available"].get<bool>())
    return fmt::format("{}: no: {}", name, engine["why_not"].get<std::string>());
  std::string text = fmt::format("{}: {}", name, engine["numbers"].get<std::string>());
  if (engine.contains("speedup"))
    text += fmt::format(", {:.1f} times the rate of float32", engine["speedup"].get<double>());
  return text + (engine["used"].get<bool>() ? ", used" : ", not used");
}

Json set_variables() {
  Json values = Json::object();
  for (const env::Variable& variable : env::kVariables) {
    if (const char* value = std::getenv(variable.name)) values[variable.name] = value;
  }
  for (const std::string& name : env::unknown()) values[name] = std::getenv(name.c_str());
  return values;
}

Json everything() {
  return {{"version", WEFT_VERSION_STRING},
          {"cpu",
           {{"name", runtime::host_cpu_brand()},
            {"march", runtime::host_cpu_name()},
            {"features", runtime::host_cpu_features()},
            {"vector_bytes", runtime::host_vector_bytes()}}},
          {"engines", engines_json()},
          {"threads",
           {{"count", get_num_threads()},
            {"source", num_threads_source()},
            {"usable_cores", num_usable_cores()},
            {"backend", threading_backend()}}},
          {"toolchains", toolchains_json()},
          {"toolchain", chosen_toolchain()},
          {"kernel_flags", runtime::kernel_flags()},
          {"devices", devices_json()},
          {"cache", cache_json()},
          {"environment", set_variables()}};
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// "  name        value", a long value continued below itself.
void print_row(std::string_view name, std::string_view value) {
  constexpr size_t kWidth = 94;
  std::string label(name);
  while (true) {
    size_t cut = value.size();
    if (cut > kWidth) {
      const size_t space = value.rfind(' ', kWidth);
      cut = space == std::string_view::npos || space == 0 ? kWidth : space;
    }
    print(fmt::format("  {:<12} {}\n", label, value.substr(0, cut)));
    value.remove_prefix(cut);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (value.empty()) return;
    label.clear();
  }
}

// A toolchain's identity begins with its file.
std::string file_of(const Json& toolchain) {
  const std::string id = toolchain["id"].get<std::string>();
  return id.substr(0, id.find(' '));
}

std::string cache_text(const Json& cache) {
  return fmt::format("{} kernels, {:.1f} MB{}", cache["entries"].get<int64_t>(),
                     cache["bytes"].get<double>() * 1e-6,
                     cache["enabled"].get<bool>() ? "" : "; switched off by WEFT_DISABLE_CACHE");
}

}  // namespace

int info(bool as_json) {
  const Json all = everything();
  if (as_json) {
    print(text_of(all));
    return 0;
  }
  print(fmt::format("weft {}\n\n", WEFT_VERSION_STRING));
  const Json& cpu = all["cpu"];
  print_row("CPU", cpu["name"].get<std::string>());
  print_row("", fmt::format("{}, {}-byte vectors", cpu["march"].get<std::string>(),
                            cpu["vector_bytes"].get<int>()));
  print_row("features", fmt::format("{}", fmt::join(cpu["features"].get<std::vector<std::string>>(), " ")));
  for (const Json& engine : all["engines"])
    print_row(&engine == &all["engines"].front() ? "engines" : "", engine_text(engine));
  const Json& threads = all["threads"];
  print_row("threads", fmt::format("{} ({}), {} usable cores, {}", threads["count"].get<int>(),
                                   threads["source"].get<std::string>(), threads["usable_cores"].get<int>(),
                                   threads["backend"].get<std::string>()));
  const std::string chosen = all["toolchain"].get<std::string>();
  for (const Json& toolchain : all["toolchains"]) {
    const std::string name = toolchain["name"].get<std::string>();
    const bool available = toolchain["available"].get<bool>();
    print_row(
        &toolchain == &all["toolchains"].front() ? "toolchains" : "",
        available
            ? fmt::format("{}: available{} ({})", name, name == chosen ? ", chosen" : "", file_of(toolchain))
            : fmt::format("{}: not available: {}", name, toolchain["why_not"].get<std::string>()));
  }
  if (chosen.empty())
    print_row("", "no toolchain can compile kernels: functions run operator by operator, which is slower");
  for (const Json& device : all["devices"]) {
    const std::string name = device["name"].get<std::string>();
    print_row(&device == &all["devices"].front() ? "devices" : "",
              device["available"].get<bool>()
                  ? name
                  : fmt::format("{}: no: {}", name, device["why_not"].get<std::string>()));
  }
  print_row("cache", all["cache"]["folder"].get<std::string>());
  print_row("", cache_text(all["cache"]));
  for (const auto& [name, value] : all["environment"].items()) {
    print_row(name == all["environment"].begin().key() ? "environment" : "",
              fmt::format("{}={}", name, env::shown(value.get<std::string>())));
  }
  return 0;
}

int environment(bool as_json) {
  Json list = Json::array();
  for (const env::Variable& variable : env::kVariables) {
    const char* value = std::getenv(variable.name);
    list.push_back({{"name", variable.name},
                    {"kind", kind_name(variable.kind)},
                    {"default", variable.default_value},
                    {"value", value != nullptr ? Json(value) : Json(nullptr)},
                    {"doc", variable.doc}});
  }
  if (as_json) {
    print(text_of(list));
    return 0;
  }
  for (const Json& variable : list) {
    const std::string fallback = variable["default"].get<std::string>();
    print(fmt::format("{}{}{}\n    {}\n", variable["name"].get<std::string>(),
                      fallback.empty() ? "" : " (default " + fallback + ")",
                      variable["value"].is_null()
                          ? ""
                          : " = " + env::shown(variable["value"].get<std::string>()) + "  <- set",
                      variable["doc"].get<std::string>()));
  }
  print("Threads also follow MKL_NUM_THREADS, then OMP_NUM_THREADS.\n");
  return 0;
}

int cache_info(bool as_json) {
  const Json cache = cache_json();
  if (as_json) {
    print(text_of(cache));
    return 0;
  }
  print_row("folder", cache["folder"].get<std::string>());
  print_row("kernels", cache_text(cache));
  const int64_t limit = cache["limit_mb"].get<int64_t>();
  print_row("limit", limit == 0 ? "none" : fmt::format("{} MiB, then the least recently used go", limit));
  return 0;
}

int cache_clear() {
  const runtime::CacheStats before = runtime::cache_stats();
  runtime::clear_disk_cache();
  const int64_t left = runtime::cache_stats().entries;
  print(fmt::format("removed {} kernels from {}\n", before.entries - left, runtime::cache_directory()));
  if (left > 0) print(fmt::format("{} could not be removed\n", left));
  return left > 0 ? 1 : 0;
}

}  // namespace weft::cli
