// Parts of class definitions that archives and users' classes share.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "script/emit/sugared.h"
#include "script/syntax/tree.h"

namespace weft::jit {

// "Module" of torch.nn.Module; the function's of a call.
std::string last_name(const Expr& expr);
bool has_base(const ClassDef& definition, std::string_view name);
TypePtr make_named_tuple(const std::string& qualified_name, const ClassDef& definition, Resolver& resolver);
TypePtr make_enum(const std::string& qualified_name, const ClassDef& definition, Resolver& resolver);
void add_interface_methods(const std::shared_ptr<InterfaceType>& interface, const ClassDef& definition,
                           Resolver& resolver);

}  // namespace weft::jit
