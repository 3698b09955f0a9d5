// From syntax trees to graphs: the type checker of TorchScript.
#pragma once

#include <memory>
#include <string>

#include "script/emit/sugared.h"
#include "script/program/compilation_unit.h"
#include "script/syntax/tree.h"

namespace weft::jit {

// Adds a function to `unit`, or to the class `self` as a method. The body is compiled when the function is
// first used; at once if its return type has to be inferred.
std::shared_ptr<Function> define_function(CompilationUnit& unit, const std::string& qualified_name,
                                          std::shared_ptr<const FunctionDef> definition,
                                          std::shared_ptr<Resolver> resolver, ClassTypePtr self = nullptr);
// The same without adding it anywhere.
std::shared_ptr<Function> make_function(CompilationUnit& unit, const std::string& qualified_name,
                                        std::shared_ptr<const FunctionDef> definition,
                                        std::shared_ptr<Resolver> resolver, const ClassTypePtr& self);
// Adds a user's class to `unit`: attributes from __init__, methods, properties, static methods; or a
// NamedTuple, an enumeration or an interface, by its bases.
TypePtr define_class(CompilationUnit& unit, const std::string& qualified_name,
                     std::shared_ptr<const ClassDef> definition, std::shared_ptr<Resolver> resolver);
// "torch.nn.Module" of nested attributes; "" for anything else.
std::string dotted_name(const Expr& expr);
// The type that an annotation names; null means Tensor. TypeError for what is no type.
TypePtr parse_type(const Expr& annotation, Resolver& resolver);
TypePtr parse_type(const std::string& annotation, Resolver& resolver);
// The signature that a definition's annotations give; a missing return type leaves `returns` empty.
Schema schema_of(const FunctionDef& definition, Resolver& resolver, const ClassTypePtr& self = nullptr);
// The value of a default or a constant: a literal, or a tuple, list or sum of literals.
IValue evaluate_constant(const Expr& expr, const TypePtr& type, Resolver& resolver);
// Compiles what is still to be compiled to know the function's return type.
void infer_return_type(Function& function);

}  // namespace weft::jit
