// Pytrees: from nested values to leaves in order and back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/exported.h"

namespace weft::exported {

// The fields of named tuples, by the names that their classes are registered by.
using NamedTuples = std::map<std::string, std::vector<std::string>>;

// Of the text that torch.utils._pytree.treespec_dumps gives.
Tree parse_tree(const std::string& text, const NamedTuples& named_tuples, const std::string& where);
// Appends the value's leaves; TypeError where it nests otherwise. `place`: of the value, for messages.
void flatten(const Tree& tree, const IValue& value, const std::string& place, std::vector<IValue>& leaves);
// Takes leaves from `next` on.
IValue unflatten(const Tree& tree, const std::vector<IValue>& leaves, size_t& next);
// The places of the leaves below `place`: "*args[0]['mask']".
void add_places(const Tree& tree, const std::string& place, std::vector<std::string>& places);

}  // namespace weft::exported
