// exported::load: the entries of a .pt2 archive.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

#include "core/printable.h"
#include "exported/lower.h"
#include "exported/program.h"
#include "exported/tree.h"
#include "io/archive.h"
#include "io/pickle.h"
#include "io/unpickle_call.h"
#include "runtime/log.h"
#include "script/program/function.h"

namespace weft::exported {
namespace {

constexpr int64_t kSchemaMajor = 8;
constexpr size_t kMaxJsonBytes = size_t{256} << 20;

// Why a zip file is no exported program.
[[noreturn]] void refuse_other(const jit::ArchiveReader& archive) {
  std::string hint;
  bool has_format = false;
  for (const std::string& name : archive.entries()) {
    has_format = has_format || name.ends_with("/archive_format");
    if (name.ends_with("constants.pkl")) hint = "; it is a TorchScript archive, which weft.jit.load reads";
    if (name.find("data/aotinductor") != std::string::npos)
      hint = "; it is an AOTInductor package, whose compiled code needs PyTorch's libraries: export the model by torch.export.save";
  }
  fail(fmt::format("{}: no exported program: it has no {}{}", archive.name(), has_format ? "model" : "archive_format", hint));
}

// A .pt2 archive: one top folder, which entries' names leave out here.
class Entries {
 public:
  explicit Entries(std::shared_ptr<jit::ArchiveReader> archive) : archive_(std::move(archive)) {
    for (const std::string& name : archive_->entries()) {
      const size_t slash = name.find('/');
      if (slash != std::string::npos && name.substr(slash + 1) == "archive_format") top_ = name.substr(0, slash + 1);
    }
  }

  bool has(const std::string& entry) const { return archive_->has(top_ + entry); }
  std::string read(const std::string& entry) const {
    if (!has(entry)) fail(fmt::format("{}: there is no '{}'", archive_->name(), printable(entry)));
    return archive_->read(top_ + entry);
  }
  Json read_json(const std::string& entry) const {
    if (!has(entry)) fail(fmt::format("{}: there is no '{}'", archive_->name(), printable(entry)));
    if (archive_->size(top_ + entry) > kMaxJsonBytes)
      fail(fmt::format("{}: '{}' has more than {} MiB", archive_->name(), printable(entry), kMaxJsonBytes >> 20));
    return parse_json(read(entry), entry);
  }
  std::shared_ptr<Storage> map(const std::string& entry) const {
    if (!has(entry)) fail(fmt::format("{}: there is no '{}'", archive_->name(), printable(entry)));
    return archive_->map(top_ + entry);
  }
  bool has_format() const { return !top_.empty(); }
  // "model" of models/model.json; ValueError unless there is one model.
  std::string model() const {
    std::vector<std::string> names;
    for (const std::string& name : archive_->entries()) {
      const std::string start = top_ + "models/";
      if (name.starts_with(start) && name.ends_with(".json")) names.push_back(name.substr(start.size(), name.size() - start.size() - 5));
    }
    if (names.empty()) refuse_other(*archive_);
    if (names.size() != 1) fail(fmt::format("{}: expected one model, found {}", archive_->name(), names.size()));
    return names[0];
  }
  const jit::ArchiveReader& archive() const { return *archive_; }

 private:
  std::shared_ptr<jit::ArchiveReader> archive_;
  std::string top_;
};

int64_t constant_size(const Json& size, const std::string& where) {
  const auto [kind, value] = choice(size, where);
  if (kind != "as_int") fail(where + ": a weight's size is no number");
  return integer(value, where);
}

// Tensors that share a storage keep sharing it.
class TensorReader {
 public:
  explicit TensorReader(const Entries& entries) : entries_(entries) {}

  Tensors read(const std::string& folder, const std::string& config) {
    Tensors result;
    if (!entries_.has(folder + config)) return result;
    const Json whole = entries_.read_json(folder + config);
    const Json& table = field(whole, "config", config);
    if (!table.is_object()) fail(config + ": 'config' is no table");
    for (const auto& [name, entry] : table.items()) result[name] = tensor(folder, name, entry);
    return result;
  }

 private:
  Tensor tensor(const std::string& folder, const std::string& name, const Json& entry) {
    const std::string where = fmt::format("the tensor '{}'", printable(name));
    const std::string path = folder + text(entry, "path_name", where);
    if (path.find("custom_obj") != std::string::npos) fail(where + " is an object of a custom class, which weft does not have");
    if (truth(field(entry, "use_pickle", where), where)) return unpickled(path, where);
    const Json& meta = field(entry, "tensor_meta", where);
    const DType dtype = dtype_of(field(meta, "dtype", where), where);
    if (integer(field(meta, "layout", where), where) != 7) fail(where + ": only strided tensors can be read");
    Shape shape;
    Strides strides;
    for (const Json& size : list(meta, "sizes", where)) shape.push_back(constant_size(size, where));
    for (const Json& stride : list(meta, "strides", where)) strides.push_back(constant_size(stride, where));
    const int64_t offset = constant_size(field(meta, "storage_offset", where), where);
    if (shape.size() != strides.size() || offset < 0) fail(where + ": its sizes and strides do not fit");
    std::shared_ptr<Storage>& storage = storages_[path];
    if (!storage) {
      // A tensor without elements has no bytes, and its entry may be missing.
      const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
      storage = is_empty && !entries_.has(path) ? Tensor::empty({0}, dtype).impl()->storage : entries_.map(path);
    }
    jit::check_extent(shape, strides, offset, dtype, storage->nbytes());
    return Tensor(storage, dtype, std::move(shape), std::move(strides), offset);
  }

  Tensor unpickled(const std::string& path, const std::string& where) {
    const IValue value = jit::load_value_bytes(entries_.read(path));
    if (!value.is_tensor()) fail(where + ": its file holds no tensor");
    return value.to_tensor();
  }

  const Entries& entries_;
  std::map<std::string, std::shared_ptr<Storage>> storages_;
};

void check_version(const Json& program) {
  const Json& version = field(program, "schema_version", "the program");
  const int64_t major = integer(field(version, "major", "schema_version"), "schema_version");
  if (major != kSchemaMajor)
    fail(fmt::format("its schema has the major version {}, and weft reads version {}", major, kSchemaMajor));
}

std::vector<SizeRange> ranges_of(const Json& program) {
  std::vector<SizeRange> ranges;
  const Json& table = field(program, "range_constraints", "the program");
  if (!table.is_object()) fail("range_constraints is no table");
  for (const auto& [symbol, entry] : table.items()) {
    SizeRange range{.symbol = symbol, .min = 0, .max = std::nullopt};
    if (const Json& least = field(entry, "min_val", symbol); !least.is_null()) range.min = integer(least, symbol);
    if (const Json& most = field(entry, "max_val", symbol); !most.is_null()) range.max = integer(most, symbol);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

SizeExpr size_of(const std::string& text) {
  const bool is_number = text.find_first_not_of("-0123456789") == std::string::npos;
  return SizeExpr::parse(is_number ? fmt::format("Integer({})", text) : text);
}

void read_trees(const Json& graph_module, Program::Impl& program) {
  const std::string where = "module_call_graph";
  NamedTuples named_tuples;
  const auto fields = graph_module.find("treespec_namedtuple_fields");
  if (fields != graph_module.end() && fields->is_object())
    for (const auto& [name, entry] : fields->items())
      for (const Json& key : list(entry, "field_names", name)) named_tuples[name].push_back(text(key, name));
  for (const Json& call : list(graph_module, "module_call_graph", where)) {
    if (text(call, "fqn", where) != "") continue;
    const Json& signature = field(call, "signature", where);
    program.arguments = parse_tree(text(signature, "in_spec", where), named_tuples, where + ": in_spec");
    program.results = parse_tree(text(signature, "out_spec", where), named_tuples, where + ": out_spec");
    const bool is_call = program.arguments.kind == Tree::Kind::Tuple && program.arguments.children.size() == 2 &&
                         program.arguments.children[0].kind == Tree::Kind::Tuple &&
                         program.arguments.children[1].kind == Tree::Kind::Dict;
    if (!is_call) fail(where + ": in_spec is no tuple of positional arguments and keywords");
    return;
  }
  fail(where + " does not say how arguments nest");
}

// A program of its JSON and its tensors. `text`: gives the JSON again.
Program assemble(const Json& program, Tensors weights, Tensors constants, std::function<std::string()> text) {
  const Json& graph_module = field(program, "graph_module", "the program");
  Lowered lowered = lower(graph_module, weights, constants);
  auto impl = std::make_shared<Program::Impl>();
  impl->text = std::move(text);
  impl->weights = std::move(weights);
  impl->constants = std::move(constants);
  impl->module = std::move(lowered.module);
  impl->inputs = std::move(lowered.inputs);
  impl->ranges = ranges_of(program);
  read_trees(graph_module, *impl);
  std::vector<std::string> places;
  for (size_t i = 0; i < impl->arguments.children[0].children.size(); ++i)
    add_places(impl->arguments.children[0].children[i], fmt::format("*args[{}]", i), places);
  for (size_t i = 0; i < impl->arguments.children[1].children.size(); ++i)
    add_places(impl->arguments.children[1].children[i], fmt::format("**kwargs['{}']", impl->arguments.children[1].keys[i]), places);
  if (places.size() != impl->inputs.size())
    fail(fmt::format("its arguments have {} leaves, and its graph {} inputs", places.size(), impl->inputs.size()));
  Sizes sizes;
  sizes.ranges = impl->ranges;
  for (size_t i = 0; i < places.size(); ++i) {
    Input& input = impl->inputs[i];
    input.place = places[i];
    std::vector<SizeExpr> own;
    for (const std::string& text : lowered.size_texts[i]) own.push_back(size_of(text));
    for (const SizeExpr& size : own) input.sizes.push_back(size.str());
    if (input.is_constant) continue;
    sizes.inputs.push_back(input);
    sizes.sizes.push_back(std::move(own));
  }
  if (const auto guards = program.find("guards_code"); guards != program.end() && guards->is_array()) {
    const bool has_constants = sizes.inputs.size() != impl->inputs.size();
    for (const Json& guard : *guards) {
      const std::string& asked = exported::text(guard, "guards_code");
      const bool counts_constants = has_constants && asked.find("flat_args") != std::string::npos;
      auto parsed = counts_constants ? std::nullopt : Guard::parse(asked, sizes.inputs);
      if (parsed)
        sizes.guards.push_back(std::move(*parsed));
      else if (log::enabled(log::Channel::Guards))
        log::write(log::Channel::Guards, "exported program: not held: " + printable(asked));
    }
  }
  // Behind the module itself.
  impl->module.method("forward")->impl().precondition =
      [sizes = std::make_shared<const Sizes>(std::move(sizes))](std::span<const IValue> arguments) {
        sizes->check(arguments.subspan(1));
      };
  return Program(std::move(impl));
}

Program load_entries(const Entries& entries) {
  const std::string name = entries.model(), entry = fmt::format("models/{}.json", name);
  const Json program = entries.read_json(entry);
  check_version(program);
  TensorReader reader(entries);
  Tensors weights = reader.read("data/weights/", name + "_weights_config.json");
  Tensors constants = reader.read("data/constants/", name + "_constants_config.json");
  return assemble(program, std::move(weights), std::move(constants), [entries, entry] { return entries.read(entry); });
}

// ---- files of PyTorch before 2.8: the same JSON, tensors as torch.save writes them --------------------------
constexpr const char* kOldProgram = "serialized_exported_program.json";

Tensors saved_tensors(const jit::ArchiveReader& archive, const std::string& entry) {
  Tensors result;
  if (!archive.has(entry)) fail(fmt::format("{}: there is no '{}'", archive.name(), entry));
  const std::string bytes = archive.read(entry);
  if (bytes.empty()) return result;
  const IValue value = jit::load_value_bytes(bytes);
  if (!value.is(IValue::Tag::Dict)) fail(entry + " holds no dictionary");
  for (const auto& [key, item] : value.to_dict()->items()) {
    if (!key.is_string() || !item.is_tensor())
      fail(fmt::format("{}: '{}' is {}, which is no tensor", entry, printable(key.repr()), item.type()->str()));
    result.emplace(key.to_string(), item.to_tensor());
  }
  return result;
}

Program load_old(const std::shared_ptr<jit::ArchiveReader>& archive) {
  if (archive->size(kOldProgram) > kMaxJsonBytes)
    fail(fmt::format("{}: '{}' has more than {} MiB", archive->name(), kOldProgram, kMaxJsonBytes >> 20));
  const Json program = parse_json(archive->read(kOldProgram), kOldProgram);
  check_version(program);
  return assemble(program, saved_tensors(*archive, "serialized_state_dict.pt"),
                  saved_tensors(*archive, "serialized_constants.pt"), [archive] { return archive->read(kOldProgram); });
}

Program load_archive(std::shared_ptr<jit::ArchiveReader> archive, bool verify) {
  if (verify) archive->verify();
  if (archive->has(kOldProgram)) return load_old(archive);
  const Entries entries(archive);
  if (!entries.has_format()) refuse_other(*archive);
  for (const auto& [entry, expected] : {std::pair("archive_format", "pt2"), std::pair("archive_version", "0")})
    if (const std::string found = entries.read(entry); found != expected)
      fail(fmt::format("{}: its {} is '{}', and weft reads '{}'", archive->name(), entry, printable(found), expected));
  return load_entries(entries);
}

// ExecuTorch's files are flatbuffers, which say what they are behind their first offset.
void refuse_executorch(std::string_view start, const std::string& name) {
  if (start.size() >= 8 && start.substr(4, 2) == "ET" && std::isdigit(static_cast<unsigned char>(start[6])))
    fail(name + ": no exported program: it is an ExecuTorch program, made for one device: export the model by torch.export.save");
}

}  // namespace

Program load(const std::string& path, bool verify) {
  std::ifstream file(path, std::ios::binary);
  std::string start(8, '\0');
  file.read(start.data(), 8);
  refuse_executorch(start, path);
  return load_archive(jit::ArchiveReader::open(path, jit::ArchiveLayout::Flat), verify);
}
Program load_bytes(std::string bytes, bool verify) {
  refuse_executorch(bytes, "<bytes>");
  return load_archive(jit::ArchiveReader::from_bytes(std::move(bytes), "<bytes>", jit::ArchiveLayout::Flat), verify);
}

Program make_program(std::string json, Tensors weights, Tensors constants) {
  const Json program = parse_json(json, "the program");
  check_version(program);
  return assemble(program, std::move(weights), std::move(constants), [json = std::move(json)] { return json; });
}

jit::Module load_module(const std::string& path, Device device) {
  if (!is_program(path)) return jit::load(path, nullptr, false, device);
  const jit::Module module = load(path).module();
  if (device != Device()) module.to(device);
  return module;
}

bool is_program(const std::string& path) {
  try {
    const auto archive = jit::ArchiveReader::open(path, jit::ArchiveLayout::Flat);
    return Entries(archive).has_format() || archive->has(kOldProgram);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace weft::exported
