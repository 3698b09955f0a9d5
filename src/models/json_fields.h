// Fields of a JSON object of a model's folder, each checked, and none left out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/json.h"

namespace weft::models {

// A key that changes nothing about what weft computes.
struct IrrelevantKey {
  const char* name;
  const char* why;
  // Only with one of these values, as JSON ("false 0 []"); "": with any. `null` says nothing in any case.
  const char* values = "";
};

class JsonFields {
 public:
  // ValueError where it is no object. `where` begins messages: "'config.json'".
  JsonFields(const Json& object, std::string where);
  bool has(const char* key) const;
  bool is_absent(const char* key) const { return !object_.contains(key); }  // not even null
  // ValueError for other types, and without a fallback where there is none.
  int64_t integer(const char* key, std::optional<int64_t> fallback = std::nullopt) const;
  double real(const char* key, std::optional<double> fallback = std::nullopt) const;
  bool boolean(const char* key, bool fallback) const;
  std::string text(const char* key, const std::string& fallback) const;
  std::vector<std::string> texts(const char* key) const;
  std::vector<int64_t> integers(const char* key) const;
  std::vector<double> reals(const char* key) const;
  std::vector<int64_t> token_ids(const char* key) const;  // one, or a list
  const Json& get(const char* key) const;
  const std::string& where() const { return where_; }

  // What was read is understood. ValueError naming the first key that is not, and is not irrelevant either.
  void check_all_understood(std::span<const IrrelevantKey> irrelevant) const;
  // ValueError where the key's value is none of the irrelevant one's values; understood otherwise.
  void check_value(const IrrelevantKey& key) const;
  // Understood without being read: what another key has switched off.
  void pass_over(const char* key) const { understood_.insert(key); }

 private:
  std::string wrong(const char* key, const char* expected, const Json& value) const;
  const Json& object_;
  std::string where_;
  mutable std::set<std::string> asked_for_, understood_;
};

}  // namespace weft::models
