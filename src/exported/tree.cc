#include "exported/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "exported/json_access.h"
#include "weft/jit/type.h"

namespace weft::exported {
namespace {

std::string key_text(const Json& key, const std::string& where) {
  if (key.is_string()) return key.get<std::string>();
  if (key.is_number_integer()) return std::to_string(integer(key, where));
  fail(where + ": a dictionary's key is neither text nor a number");
}

// Contexts are JSON in JSON: the keys of a dictionary, the fields of a class.
Json context_of(const Json& node, const std::string& where) {
  const Json& context = field(node, "context", where);
  return context.is_string() ? parse_json(context.get_ref<const std::string&>(), where) : context;
}
// What stands for the fields of a class whose context is text that is no JSON.
Json fields_of(const Json& node, const std::string& where) {
  const Json& context = field(node, "context", where);
  if (!context.is_string()) return context;
  try {
    return parse_json(context.get_ref<const std::string&>(), where);
  } catch (const Error&) {
    return nullptr;
  }
}

Tree tree_of(const Json& node, const NamedTuples& named_tuples, const std::string& where) {
  Tree tree;
  const Json& type = field(node, "type", where);
  if (type.is_null()) return tree;
  for (const Json& child : list(node, "children_spec", where)) tree.children.push_back(tree_of(child, named_tuples, where));
  const std::string& name = text(type, where + ": 'type'");
  if (name.starts_with("collections.")) {
    tree.type = name;
    tree.context = field(node, "context", where).dump();
  }
  if (name == "builtins.tuple") {
    tree.kind = Tree::Kind::Tuple;
  } else if (name == "builtins.list" || name == "collections.deque" ||
             name == "torch.fx.immutable_collections.immutable_list") {
    tree.kind = Tree::Kind::List;
  } else if (name == "builtins.dict" || name == "collections.OrderedDict" || name == "collections.defaultdict" ||
             name == "torch.fx.immutable_collections.immutable_dict") {
    tree.kind = Tree::Kind::Dict;
    const Json context = context_of(node, where);
    const Json& keys = name == "collections.defaultdict" ? field(context, "dict_context", where) : context;
    for (const Json& key : items(keys, where + ": a dictionary's keys")) {
      tree.keys.push_back(key_text(key, where));
      tree.is_number.push_back(!key.is_string());
    }
  } else if (name == "collections.namedtuple") {
    // Its context is the name that the class is registered by.
    tree.kind = Tree::Kind::Named;
    tree.type = text(node, "context", where);
    tree.context.clear();
    const auto found = named_tuples.find(tree.type);
    if (found != named_tuples.end()) tree.keys = found->second;
    for (size_t i = tree.keys.size(); i < tree.children.size(); ++i) tree.keys.push_back(fmt::format("field_{}", i));
  } else {
    tree.kind = Tree::Kind::Named;
    tree.type = name;
    tree.context = field(node, "context", where).dump();
    const Json context = fields_of(node, where);
    // The context is the fields, or [fields, those that are None].
    const Json* fields = &context;
    if (context.is_array() && !context.empty() && context[0].is_array()) fields = &context[0];
    if (fields->is_array() && fields->size() == tree.children.size()) {
      for (const Json& key : *fields) tree.keys.push_back(key_text(key, where));
    } else {
      for (size_t i = 0; i < tree.children.size(); ++i) tree.keys.push_back(fmt::format("field_{}", i));
    }
  }
  const bool has_keys = tree.kind == Tree::Kind::Dict || tree.kind == Tree::Kind::Named;
  if (has_keys && tree.keys.size() != tree.children.size())
    fail(fmt::format("{}: {} keys for {} values", where, tree.keys.size(), tree.children.size()));
  return tree;
}

[[noreturn]] void mismatch(const std::string& place, const std::string& expected, const IValue& value) {
  throw_error(ErrorKind::Type, fmt::format("{}: the program takes {}, got {}", place, expected, value.type()->str()));
}

std::string place_of(const Tree& tree, size_t child, const std::string& place) {
  if (tree.kind == Tree::Kind::Named) return fmt::format("{}.{}", place, tree.keys[child]);
  if (tree.kind != Tree::Kind::Dict) return fmt::format("{}[{}]", place, child);
  if (tree.is_number[child]) return fmt::format("{}[{}]", place, tree.keys[child]);
  return fmt::format("{}['{}']", place, tree.keys[child]);
}

IValue key_of(const Tree& tree, size_t child) {
  return tree.kind == Tree::Kind::Dict && tree.is_number[child] ? IValue(int64_t{std::stoll(tree.keys[child])}) : IValue(tree.keys[child]);
}

}  // namespace

size_t Tree::num_leaves() const {
  if (kind == Kind::Leaf) return 1;
  size_t count = 0;
  for (const Tree& child : children) count += child.num_leaves();
  return count;
}

Tree parse_tree(const std::string& text, const NamedTuples& named_tuples, const std::string& where) {
  const Json whole = parse_json(text, where);
  // [protocol, tree]: protocol 1 is PyTorch's only one.
  if (!whole.is_array() || whole.size() != 2 || whole[0] != 1)
    fail(where + ": expected a tree of protocol 1");
  return tree_of(whole[1], named_tuples, where);
}

void flatten(const Tree& tree, const IValue& value, const std::string& place, std::vector<IValue>& leaves) {
  const auto count = tree.children.size();
  if (tree.kind == Tree::Kind::Leaf) {
    leaves.push_back(value);
    return;
  }
  if (tree.kind == Tree::Kind::Dict || (tree.kind == Tree::Kind::Named && value.is(IValue::Tag::Dict))) {
    if (!value.is(IValue::Tag::Dict)) mismatch(place, "a dictionary", value);
    const auto& dict = value.to_dict();
    if (dict->size() != count)
      mismatch(place, fmt::format("a dictionary with the keys {}", fmt::join(tree.keys, ", ")), value);
    for (size_t i = 0; i < count; ++i) {
      const IValue* found = dict->find(key_of(tree, i));
      if (!found) throw_error(ErrorKind::Type, fmt::format("{}: the key '{}' is missing", place, tree.keys[i]));
      flatten(tree.children[i], *found, place_of(tree, i, place), leaves);
    }
    return;
  }
  const bool is_sequence = value.is_list() || value.is(IValue::Tag::Tuple);
  const bool fits = tree.kind == Tree::Kind::List ? value.is_list() : value.is(IValue::Tag::Tuple);
  const char* expected = tree.kind == Tree::Kind::List ? "list" : "tuple";
  if (!is_sequence || !fits || value.elements().size() != count)
    mismatch(place, fmt::format("a {} of {}", expected, count), value);
  for (size_t i = 0; i < count; ++i)
    flatten(tree.children[i], value.elements()[i], place_of(tree, i, place), leaves);
}

IValue unflatten(const Tree& tree, const std::vector<IValue>& leaves, size_t& next) {
  if (tree.kind == Tree::Kind::Leaf) return leaves.at(next++);
  std::vector<IValue> children;
  for (const Tree& child : tree.children) children.push_back(unflatten(child, leaves, next));
  const auto common = [&] {
    jit::TypePtr type = children.empty() ? jit::Type::tensor() : children[0].type();
    const auto is_same = [&](const IValue& child) { return child.type()->equals(*type); };
    return std::all_of(children.begin(), children.end(), is_same) ? type : jit::Type::any();
  };
  switch (tree.kind) {
    case Tree::Kind::List: return IValue::list(common(), std::move(children));
    case Tree::Kind::Tuple: return IValue::tuple(std::move(children));
    case Tree::Kind::Named: {
      std::vector<jit::TypePtr> types;
      for (const IValue& child : children) types.push_back(child.type());
      return IValue::named_tuple(jit::Type::named_tuple(tree.type, tree.keys, std::move(types)), std::move(children));
    }
    default: break;
  }
  const auto count = static_cast<size_t>(std::count(tree.is_number.begin(), tree.is_number.end(), true));
  const jit::TypePtr key = count == 0 ? jit::Type::string() : count == children.size() ? jit::Type::integer() : jit::Type::any();
  IValue dict = IValue::dict(key, common());
  for (size_t i = 0; i < children.size(); ++i) dict.to_dict()->set(key_of(tree, i), std::move(children[i]));
  return dict;
}

void add_places(const Tree& tree, const std::string& place, std::vector<std::string>& places) {
  if (tree.kind == Tree::Kind::Leaf) return places.push_back(place);
  for (size_t i = 0; i < tree.children.size(); ++i)
    add_places(tree.children[i], place_of(tree, i, place), places);
}

}  // namespace weft::exported
