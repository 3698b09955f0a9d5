// Jinja templates as chat templates are written: what jinja2's ImmutableSandboxedEnvironment with
// trim_blocks, lstrip_blocks and loop controls does, as transformers sets it up. In a sandbox: a template
// sees the variables that it is given and nothing else, and has limits on steps, memory and depth.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/json.h"
#include "models/jinja/value.h"

namespace weft::models::jinja {

struct Tree;

class Template {
 public:
  // ValueError for what is no template; `where` begins messages: "'chat_template.jinja'".
  Template(std::string_view source, std::string where);
  ~Template();
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;
  // ValueError with the class of Python's exception, its message and the template's line. May be called by
  // several threads at once.
  std::string render(const OrderedJson& variables, Limits limits = {}) const;

 private:
  std::string where_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace weft::models::jinja
