// What a program lets go of when it goes.
#include "script/program/compilation_unit.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weft::jit {
namespace {

TEST(CompilationUnit, FreesClassesThatHaveThemselvesAsAttributes) {
  std::vector<std::weak_ptr<ClassType>> classes;
  {
    const auto unit = CompilationUnit::create();
    const auto make = [&](const char* name) {
      const ClassTypePtr type = ClassType::create(name, false);
      unit->add_type(type);
      classes.push_back(type);
      return type;
    };
    const ClassTypePtr node = make("__torch__.Node"), owner = make("__torch__.Owner"),
                       owned = make("__torch__.Owned");
    node->add_attribute({"next", Type::optional(node)});
    node->add_attribute({"children", Type::dict(Type::string(), Type::list(node))});
    owner->add_attribute({"nodes", Type::tuple({node, Type::integer()})});
    owner->add_attribute({"owned", owned});
    owned->add_attribute({"owner", owner});
  }
  for (const auto& type : classes) EXPECT_TRUE(type.expired());
}

TEST(CompilationUnit, LongChainsOfClassesGo) {
  std::weak_ptr<ClassType> last;
  {
    const auto unit = CompilationUnit::create();
    ClassTypePtr next;
    for (int i = 0; i < 100'000; ++i) {
      const ClassTypePtr type = ClassType::create("__torch__.C" + std::to_string(i), false);
      unit->add_type(type);
      if (next) type->add_attribute({"next", Type::optional(next)});
      next = type;
    }
    last = next;
  }
  EXPECT_TRUE(last.expired());
}

TEST(CompilationUnit, ObjectsThatOutliveItKeepTheirValues) {
  auto unit = CompilationUnit::create();
  const ClassTypePtr type = ClassType::create("__torch__.Node", false);
  unit->add_type(type);
  type->add_attribute({"value", Type::integer()});
  type->add_attribute({"next", Type::optional(type)});
  const Object object{type, {IValue(3), IValue()}};
  unit.reset();
  EXPECT_EQ(object.attribute("value").to_int(), 3);
  EXPECT_TRUE(object.attribute("next").is_none());
  EXPECT_EQ(type->attributes()[0].type->str(), "int");
}

}  // namespace
}  // namespace weft::jit
