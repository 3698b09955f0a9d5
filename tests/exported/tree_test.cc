// How arguments and results nest.
#include "exported/tree.h"

#include <gmock/gmock.h>

#include "weft/error.h"

namespace weft::exported {
namespace {

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string node(const std::string& type, const std::string& context, const std::vector<std::string>& children) {
  std::string inside;
  for (const std::string& child : children) inside += (inside.empty() ? "" : ", ") + child;
  return R"({"type": ")" + type + R"(", "context": ")" + context + R"(", "children_spec": [)" + inside + "]}";
}
Tree tree(const std::string& root, const NamedTuples& named = {}) { return parse_tree("[1, " + root + "]", named, "here"); }

TEST(ExportedTree, EveryKind) {
  const Tree parsed = tree(node("builtins.tuple", "null",
                                {kLeaf, node("builtins.list", "null", {kLeaf, kLeaf}),
                                 node("builtins.dict", R"([\"a\", 3])", {kLeaf, kLeaf}),
                                 node("collections.namedtuple", "m.Pair", {kLeaf, kLeaf}),
                                 node("m.Data", R"([[\"f\", \"g\"], []])", {kLeaf, kLeaf}),
                                 node("torch.return_types.max", "null", {kLeaf, kLeaf})}),
                           {{"m.Pair", {"first", "second"}}});
  EXPECT_EQ(parsed.kind, Tree::Kind::Tuple);
  EXPECT_EQ(parsed.num_leaves(), 11u);
  EXPECT_EQ(parsed.children[1].kind, Tree::Kind::List);
  EXPECT_EQ(parsed.children[2].keys, (std::vector<std::string>{"a", "3"}));
  EXPECT_EQ(parsed.children[3].type, "m.Pair");
  EXPECT_EQ(parsed.children[3].keys, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(parsed.children[4].keys, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(parsed.children[5].keys, (std::vector<std::string>{"field_0", "field_1"}));
  EXPECT_EQ(tree(node("collections.namedtuple", "m.Other", {kLeaf})).children.size(), 1u);
}

TEST(ExportedTree, ThereAndBack) {
  const Tree parsed = tree(node("builtins.dict", R"([\"b\", \"a\"])", {kLeaf, node("builtins.list", "null", {kLeaf, kLeaf})}));
  IValue value = IValue::dict(jit::Type::string(), jit::Type::any());
  value.to_dict()->set(IValue("a"), IValue::list(jit::Type::integer(), {IValue(1), IValue(2)}));
  value.to_dict()->set(IValue("b"), IValue(3));
  std::vector<IValue> leaves;
  flatten(parsed, value, "x", leaves);
  ASSERT_EQ(leaves.size(), 3u);
  EXPECT_EQ(leaves[0].to_int(), 3);
  size_t next = 0;
  EXPECT_EQ(unflatten(parsed, leaves, next).to_dict()->find(IValue("a"))->elements().size(), 2u);
  EXPECT_EQ(next, 3u);
  std::vector<std::string> places;
  add_places(parsed, "x", places);
  EXPECT_EQ(places, (std::vector<std::string>{"x['b']", "x['a'][0]", "x['a'][1]"}));
}

TEST(ExportedTree, OtherContainers) {
  const Tree ordered = tree(node("collections.OrderedDict", R"([\"a\"])", {kLeaf}));
  EXPECT_EQ(ordered.kind, Tree::Kind::Dict);
  EXPECT_EQ(ordered.type, "collections.OrderedDict");
  const Tree deque = tree(node("collections.deque", "4", {kLeaf, kLeaf}));
  EXPECT_EQ(deque.kind, Tree::Kind::List);
  EXPECT_EQ(deque.context, "\"4\"");
  const Tree made = tree(R"({"type": "collections.defaultdict", "context": {"default_factory_module": "builtins",
      "default_factory_name": "list", "dict_context": ["p", 3]}, "children_spec": [)" + kLeaf + ", " + kLeaf + "]}");
  EXPECT_EQ(made.keys, (std::vector<std::string>{"p", "3"}));
  EXPECT_EQ(made.is_number, (std::vector<bool>{false, true}));
  // A class's own context need be no JSON.
  EXPECT_EQ(tree(node("m.Ring", "turn 3", {kLeaf})).keys, (std::vector<std::string>{"field_0"}));
}

TEST(ExportedTree, KeysThatAreNumbers) {
  const Tree parsed = tree(node("builtins.dict", "[7, 3]", {kLeaf, kLeaf}));
  IValue value = IValue::dict(jit::Type::integer(), jit::Type::integer());
  value.to_dict()->set(IValue(3), IValue(30));
  value.to_dict()->set(IValue(7), IValue(70));
  std::vector<IValue> leaves;
  flatten(parsed, value, "x", leaves);
  EXPECT_EQ(leaves.at(0).to_int(), 70);
  size_t next = 0;
  EXPECT_EQ(unflatten(parsed, leaves, next).to_dict()->find(IValue(3))->to_int(), 30);
  std::vector<std::string> places;
  add_places(parsed, "x", places);
  EXPECT_EQ(places, (std::vector<std::string>{"x[7]", "x[3]"}));
  IValue text = IValue::dict(jit::Type::string(), jit::Type::integer());
  for (const char* const key : {"3", "7"}) text.to_dict()->set(IValue(key), IValue(1));
  EXPECT_THROW(flatten(parsed, text, "x", leaves), Error);
  EXPECT_THROW(tree(node("builtins.dict", "[18446744073709551615]", {kLeaf})), Error);
}

TEST(ExportedTree, OtherValues) {
  const Tree parsed = tree(node("builtins.tuple", "null", {kLeaf, kLeaf}));
  std::vector<IValue> leaves;
  for (const IValue& value : {IValue(1), IValue::tuple({IValue(1)}), IValue::list(jit::Type::integer(), {IValue(1), IValue(2)})})
    EXPECT_THROW(flatten(parsed, value, "x", leaves), Error);
}

TEST(ExportedTree, Refuses) {
  std::string deep = kLeaf;
  for (int i = 0; i < 40; ++i) deep = node("builtins.tuple", "null", {deep});
  for (const std::string& root :
       {std::string("1"), std::string("{}"), node("builtins.dict", "[]", {kLeaf}), node("builtins.dict", "{", {kLeaf}), deep,
        std::string(R"({"type": 3, "context": null, "children_spec": []})"),
        std::string(R"({"type": "builtins.tuple", "context": null, "children_spec": 1})")})
    EXPECT_THROW(tree(root), Error) << root;
  EXPECT_THROW(parse_tree("[2, " + kLeaf + "]", {}, "here"), Error);
  EXPECT_THROW(parse_tree("", {}, "here"), Error);
}

}  // namespace
}  // namespace weft::exported
