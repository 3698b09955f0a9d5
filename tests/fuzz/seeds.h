// Inputs to start from, made by weft's own writer.
#pragma once

#include <string>
#include <vector>

namespace weft::fuzz {

// Programs with every form of statement and expression.
std::vector<std::string> programs();
// An archive with classes of every kind, a module of them, and storages.
std::string archive_of_classes();
// An archive whose module has sub-modules, hooks, a fork and constants.
std::string archive_of_modules();
std::vector<std::string> archives();
// Archives of exported programs.
std::vector<std::string> exported_programs();
// Pickles as a target takes them: with the byte in front that tells whether classes are known.
std::vector<std::string> pickles();
// Safetensors files.
std::vector<std::string> safetensors();
std::vector<std::string> gguf_files();
// Chat templates with every construct.
std::vector<std::string> chat_templates();
// JSON Schemas and grammars in GBNF.
std::vector<std::string> grammars();
// Bodies of requests for completions.
std::vector<std::string> completions();
// Bodies of requests with arrays, or with an image and prompts: JSON, .npz, and image files.
std::vector<std::string> array_bodies();
// Tokenizers of each kind, with the byte in front that tells which: tokenizer.json, SentencePiece, tiktoken.
std::vector<std::string> tokenizers();

}  // namespace weft::fuzz
