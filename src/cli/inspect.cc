// `weft inspect`: what an archive holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "io/archive.h"
#include "io/arguments.h"
#include "io/pickle.h"
#include "models/checkpoint.h"
#include "models/gguf.h"
#include "weft/error.h"
#include "weft/exported.h"
#include "weft/jit.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string size_text(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) bytes /= 1e3, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 99.95 ? 0 : 1, units[unit]);
}

Json tensors_json(const std::vector<jit::NamedTensor>& tensors) {
  Json list = Json::array();
  for (const auto& [tensor_name, tensor] : tensors) {
    list.push_back({{"name", tensor_name},
                    {"dtype", name(tensor.dtype())},
                    {"shape", tensor.shape()},
                    {"bytes", tensor.numel() * itemsize(tensor.dtype())}});
  }
  return list;
}

Json total_json(const Json& tensors) {
  int64_t elements = 0, bytes = 0;
  for (const Json& tensor : tensors) {
    elements += numel(tensor["shape"].get<Shape>());
    bytes += tensor["bytes"].get<int64_t>();
  }
  return {{"tensors", tensors.size()}, {"elements", elements}, {"bytes", bytes}};
}

// Tensors that the code holds: those of frozen modules.
Json constants_json(const jit::ArchiveReader& archive) {
  int64_t count = 0, bytes = 0;
  for (const std::string& entry : archive.entries()) {
    if (!entry.starts_with("constants/")) continue;
    ++count;
    bytes += static_cast<int64_t>(archive.size(entry));
  }
  return {{"tensors", count}, {"bytes", bytes}};
}

Json ranges_json(const exported::Program& program) {
  Json ranges = Json::object();
  for (const exported::SizeRange& range : program.ranges())
    ranges[range.symbol] = {{"min", range.min}, {"max", range.max ? Json(*range.max) : Json()}};
  return ranges;
}

Json describe_module(const jit::ArchiveReader& archive, bool is_program, const InspectOptions& options) {
  const auto program = is_program ? std::optional(exported::load(options.model)) : std::nullopt;
  const jit::Module module = program ? program->module() : jit::load(options.model);
  Json all = {{"model", options.model},
              {"kind", is_program ? "exported program" : "TorchScript module"},
              {"version", archive.version()},
              {"class", module.type_name()},
              {"training", module.has_attribute("training") && module.is_training()},
              {"methods", Json::array()}};
  for (const std::string& method_name : module.method_names()) {
    const jit::Schema& schema = module.method(method_name)->schema();
    Json arguments = Json::array();
    for (size_t i = 1; i < schema.arguments.size(); ++i) {
      const jit::SchemaArgument& argument = schema.arguments[i];
      arguments.push_back({{"name", argument.name}, {"type", argument.type->str()}});
      if (argument.default_value) arguments.back()["default"] = argument.default_value->repr();
    }
    all["methods"].push_back(
        {{"name", method_name}, {"arguments", arguments}, {"returns", schema.return_type()->str()}});
  }
  all["parameters"] = tensors_json(module.named_parameters());
  all["buffers"] = tensors_json(module.named_buffers());
  all["totals"] = {{"parameters", total_json(all["parameters"])},
                   {"buffers", total_json(all["buffers"])},
                   {"constants", constants_json(archive)}};
  if (program) all["ranges"] = ranges_json(*program);
  if (options.code) all["code"] = module.code();
  return all;
}

// What torch.save wrote: a state dictionary, say.
Json describe_values(const jit::ArchiveReader& archive, const InspectOptions& options) {
  std::vector<jit::NamedTensor> tensors;
  Json others = Json::array();
  for (const auto& [item_name, value] : io::arrays_of_value("", jit::load_value(options.model))) {
    if (value.is_tensor()) {
      tensors.push_back({item_name, value.to_tensor()});
    } else {
      others.push_back({{"name", item_name}, {"value", value.repr()}});
    }
  }
  Json all = {{"model", options.model}, {"kind", "values"}, {"version", archive.version()}};
  all["tensors"] = tensors_json(tensors);
  all["others"] = others;
  all["totals"] = {{"tensors", total_json(all["tensors"])}};
  return all;
}

void print_tensors(const char* title, const Json& tensors, const Json& total) {
  if (tensors.empty()) return;
  std::printf("\n%s: %lld, of %lld elements, %s\n", title, static_cast<long long>(tensors.size()),
              static_cast<long long>(total["elements"].get<int64_t>()),
              size_text(total["bytes"].get<double>()).c_str());
  size_t widest = 0;
  for (const Json& tensor : tensors)
    widest = std::max(widest, tensor["name"].get_ref<const std::string&>().size());
  for (const Json& tensor : tensors) {
    std::printf("%s\n",
                fmt::format("  {:<{}}  {:<10} {:>9}  {}", tensor["name"].get<std::string>(), widest,
                            tensor["dtype"].get<std::string>(), size_text(tensor["bytes"].get<double>()),
                            str(tensor["shape"].get<Shape>()))
                    .c_str());
  }
}

std::string signature(const Json& method) {
  std::string arguments;
  for (const Json& argument : method["arguments"]) {
    arguments +=
        fmt::format("{}{}: {}{}", arguments.empty() ? "" : ", ", argument["name"].get<std::string>(),
                    argument["type"].get<std::string>(),
                    argument.contains("default") ? " = " + argument["default"].get<std::string>() : "");
  }
  return fmt::format("{}({}) -> {}", method["name"].get<std::string>(), arguments,
                     method["returns"].get<std::string>());
}

// What was read, and the entries whose checksums are wrong.
Json verified_json(const jit::ArchiveReader& archive, const std::vector<std::string>& damaged) {
  size_t bytes = 0;
  const std::vector<std::string> entries = archive.entries();
  for (const std::string& entry : entries) bytes += archive.size(entry);
  return {{"entries", entries.size()}, {"bytes", bytes}, {"damaged", damaged}};
}

void print_verified(const Json& verified) {
  std::printf("\nverified: the checksums (CRC-32) of all %lld entries, %s\n",
              static_cast<long long>(verified["entries"].get<int64_t>()),
              size_text(verified["bytes"].get<double>()).c_str());
}

void print_json(const Json& all) {
  std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void print_module(const Json& all) {
  std::printf("%s of class %s, %s mode, archive version %lld\n\nmethods\n",
              all["kind"].get<std::string>().c_str(), all["class"].get<std::string>().c_str(),
              all["training"].get<bool>() ? "training" : "eval",
              static_cast<long long>(all["version"].get<int64_t>()));
  for (const Json& method : all["methods"]) std::printf("  %s\n", signature(method).c_str());
  print_tensors("parameters", all["parameters"], all["totals"]["parameters"]);
  print_tensors("buffers", all["buffers"], all["totals"]["buffers"]);
  const Json& constants = all["totals"]["constants"];
  if (constants["tensors"].get<int64_t>() > 0)
    std::printf("\nconstants of the code: %lld tensors, %s\n",
                static_cast<long long>(constants["tensors"].get<int64_t>()),
                size_text(constants["bytes"].get<double>()).c_str());
  if (all.contains("code")) std::printf("\n%s", all["code"].get<std::string>().c_str());
}

void print_values(const Json& all) {
  std::printf("values saved by torch.save or weft.save, archive version %lld\n",
              static_cast<long long>(all["version"].get<int64_t>()));
  print_tensors("tensors", all["tensors"], all["totals"]["tensors"]);
  if (!all["others"].empty()) std::printf("\nothers\n");
  for (const Json& other : all["others"])
    std::printf("  %s = %s\n", other["name"].get<std::string>().c_str(),
                other["value"].get<std::string>().c_str());
}

// "439 tensors of multi_modal_projector, vision_tower"
std::string parts_text(const std::vector<std::string>& tensors) {
  std::set<std::string> parts;
  for (const std::string& tensor : tensors) {
    const std::string inside = tensor.starts_with("model.") ? tensor.substr(6) : tensor;
    parts.insert(inside.substr(0, inside.find('.')));
  }
  return fmt::format("{} tensors of {}", tensors.size(), fmt::join(parts, ", "));
}

// A folder or a GGUF file with a language model: its description.
int inspect_language_model(const InspectOptions& options) {
  WEFT_CHECK(!options.verify && !options.code,
             fmt::format("inspect: '{}' is a language model: it has no code, and its checksums are "
                         "compared when it is loaded (weft generate --verify)",
                         options.model));
  const auto checkpoint = models::Checkpoint::open(options.model);
  Json description = Json::array();
  std::string text;
  for (const auto& [what, value] : models::describe(checkpoint->config())) {
    description.push_back({{"name", what}, {"value", value}});
    text += fmt::format("  {:<20} {}\n", what, value);
  }
  const std::vector<std::string>& others = checkpoint->passed_over();
  if (!others.empty()) text += fmt::format("  {:<20} {}\n", "not read", parts_text(others));
  if (options.json)
    print_json({{"model", options.model},
                {"kind", "language model"},
                {"quantization", checkpoint->stored_as()},
                {"description", description},
                {"not_read", others}});
  else
    std::printf("language model, quantization %s\n\n%s", checkpoint->stored_as().c_str(), text.c_str());
  return 0;
}

}  // namespace

int inspect(const InspectOptions& options) {
  std::error_code error;
  if (std::filesystem::is_directory(options.model, error) || models::is_gguf(options.model))
    return inspect_language_model(options);
  if (options.model.ends_with(".safetensors"))
    throw_error(ErrorKind::Value,
                fmt::format("inspect: '{}' is no archive: inspect reads .pt and .pth files{}", options.model,
                            options.verify ? "; safetensors files hold no checksums to verify" : ""));
  const bool is_program = exported::is_program(options.model);
  const auto archive =
      jit::ArchiveReader::open(options.model, is_program ? jit::ArchiveLayout::Flat : jit::ArchiveLayout::Pt);
  const std::vector<std::string> damaged = options.verify ? archive->damaged() : std::vector<std::string>();
  if (!damaged.empty()) {
    if (options.json) print_json({{"model", options.model}, {"verified", verified_json(*archive, damaged)}});
    archive->fail_damaged(damaged);
  }
  const bool is_module = is_program || archive->has("constants.pkl");
  Json all = is_module ? describe_module(*archive, is_program, options) : describe_values(*archive, options);
  if (options.verify) all["verified"] = verified_json(*archive, damaged);
  if (options.json) {
    print_json(all);
    return 0;
  }
  is_module ? print_module(all) : print_values(all);
  if (options.verify) print_verified(all["verified"]);
  return 0;
}

}  // namespace weft::cli
