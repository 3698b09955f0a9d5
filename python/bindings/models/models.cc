// The extension module weft._models: language models. weft/models/__init__.py is what users see.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "errors.h"
#include "interpreter_lock.h"
#include "models/masks.h"
#include "weft/models/causal_model.h"
#include "weft/models/chat.h"
#include "weft/models/generation.h"
#include "weft/models/safetensors.h"
#include "weft/models/tokenizer.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace weft;
using namespace weft::models;

namespace {

using ModelPtr = std::shared_ptr<CausalModel>;
ModelPtr unconst(std::shared_ptr<const CausalModel> model) {
  return std::const_pointer_cast<CausalModel>(std::move(model));
}

ModelOptions make_options(const std::string& dtype, const std::string& quantize,
                          const std::string& activations, const std::string& cache_dtype,
                          int64_t max_positions, const std::string& execution, const nb::object& progress,
                          bool tensor_parallel, const std::string& device) {
  ModelOptions options{.dtype = dtype,
                       .quantize = quantize,
                       .activations = activations,
                       .cache_dtype = cache_dtype,
                       .max_positions = max_positions,
                       .tensor_parallel = tensor_parallel,
                       .device = Device::parse(device)};
  options.execution = execution == "eager"    ? Execution::Eager
                      : execution == "static" ? Execution::Static
                                              : Execution::Compiled;
  if (!progress.is_none()) {
    // Options are copied and destroyed where Python's lock is not held.
    const std::shared_ptr<nb::object> held(new nb::object(progress), [](nb::object* object) {
      const python::GilAcquire gil;
      delete object;
    });
    options.progress = [held](int64_t done, int64_t total) {
      const python::GilAcquire gil;
      (*held)(done, total);
    };
  }
  return options;
}

nb::dict config_dict(const DecoderConfig& config) {
  nb::dict result;
  result["model_type"] = config.model_type;
  result["vocab_size"] = config.vocab_size;
  result["hidden_size"] = config.hidden_size;
  result["intermediate_size"] = config.intermediate_size;
  result["num_hidden_layers"] = config.num_layers;
  result["num_attention_heads"] = config.num_heads;
  result["num_key_value_heads"] = config.num_kv_heads;
  result["head_dim"] = config.head_dim;
  result["max_position_embeddings"] = config.max_position_embeddings;
  result["rms_norm_eps"] = config.norm_eps;
  result["rope_theta"] = config.ropes[0].theta;
  result["rope_interleaved"] = config.ropes[0].interleaved;
  result["tie_word_embeddings"] = config.tie_word_embeddings;
  result["sliding_window"] = nb::none();
  for (int64_t i = config.num_layers - 1; i >= 0; --i)
    if (const auto window = config.window_of(i)) result["sliding_window"] = *window;
  result["bos_token_id"] = config.bos_token_id ? nb::cast(*config.bos_token_id) : nb::none();
  result["eos_token_id"] = config.eos_token_ids;
  return result;
}

nb::dict stats_dict(const GenerationStats& stats) {
  nb::dict result;
  result["prompt_tokens"] = stats.prompt_tokens;
  result["generated_tokens"] = stats.generated_tokens;
  result["prefill_seconds"] = stats.prefill_seconds;
  result["decode_seconds"] = stats.decode_seconds;
  result["decode_tokens"] = stats.decode_tokens;
  result["proposed"] = stats.proposed;
  result["accepted"] = stats.accepted;
  result["speculation_stopped"] = stats.speculation_stopped;
  result["kept_tokens"] = stats.kept_tokens;
  return result;
}

// Several threads may take pieces of one text.
class Stream {
 public:
  Stream(const ModelPtr& model, const std::shared_ptr<Tokenizer>& tokenizer, std::vector<int64_t> prompt,
         GenerationOptions options, std::vector<std::string> stop)
      : text_(model, tokenizer, std::move(prompt), std::move(options), std::move(stop)) {}

  std::optional<std::string> next() {
    const std::scoped_lock lock(mutex_);
    return text_.next();
  }
  std::vector<int64_t> tokens() const {
    const std::scoped_lock lock(mutex_);
    return text_.generation().tokens();
  }
  const char* finish_reason() const {
    const std::scoped_lock lock(mutex_);
    return name(text_.finish_reason());
  }
  GenerationStats stats() const {
    const std::scoped_lock lock(mutex_);
    return text_.generation().stats();
  }

 private:
  mutable std::mutex mutex_;
  TextGeneration text_;
};

GenerationOptions generation_options(int64_t max_new_tokens, double temperature, int64_t top_k, double top_p,
                                     double min_p, double repetition_penalty, uint64_t seed, bool ignore_eos,
                                     const ModelPtr& draft, bool prompt_lookup, int64_t speculate_k,
                                     const std::shared_ptr<Context>& context) {
  GenerationOptions options;
  options.context = context;
  options.max_new_tokens = max_new_tokens;
  options.sampling = {temperature, top_k, top_p, min_p, repetition_penalty, seed};
  options.ignore_eos = ignore_eos;
  options.draft = draft;
  options.prompt_lookup = prompt_lookup;
  options.speculate_k = speculate_k;
  options.is_cancelled = [] {
    const python::GilAcquire gil;
    return PyErr_CheckSignals() != 0;
  };
  return options;
}

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer", "Text to token ids and back.")
      .def_static("open", &Tokenizer::open, "folder_or_file"_a,
                  "tokenizer.json or tokenizer.model of a folder, or one such file. RuntimeError where there "
                  "is none; ValueError for parts weft does not know.")
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size)
      .def(
          "encode",
          [](const Tokenizer& t, const std::string& text, bool add_bos, bool special) {
            return t.encode(text, add_bos, special);
          },
          "text"_a, "add_bos"_a = true, "special"_a = false,
          "Token ids; `special`: special tokens written in the text become their ids.")
      .def("decode", &Tokenizer::decode, "ids"_a, "Text; special tokens are left out.")
      .def(
          "token_id", [](const Tokenizer& t, const std::string& token) { return t.token_id(token); },
          "token"_a, "The id of a token, or None.")
      .def(
          "token_bytes",
          [](const Tokenizer& t, int64_t id) {
            const std::string bytes = t.token_bytes(id);
            return nb::bytes(bytes.data(), bytes.size());
          },
          "id"_a)
      .def("is_special", &Tokenizer::is_special, "id"_a)
      .def_prop_ro("bos_id", &Tokenizer::bos_id)
      .def_prop_ro("eos_ids", &Tokenizer::eos_ids);
}

void bind_chat(nb::module_& m) {
  using Template = std::shared_ptr<ChatTemplate>;
  const auto unconst_template = [](std::shared_ptr<const ChatTemplate> made) {
    return std::const_pointer_cast<ChatTemplate>(std::move(made));
  };
  nb::class_<ChatTemplate>(m, "ChatTemplate", "weft.models.ChatTemplate, whose variables are JSON.")
      .def_static(
          "open",
          [=](const std::string& folder, const std::shared_ptr<Tokenizer>& tokenizer,
              const std::string& model_type) -> Template {
            return unconst_template(ChatTemplate::open(folder, tokenizer, model_type));
          },
          "folder"_a, "tokenizer"_a, "model_type"_a)
      .def_static(
          "built_in",
          [=](const std::shared_ptr<Tokenizer>& tokenizer, const std::string& model_type) -> Template {
            return unconst_template(ChatTemplate::built_in(tokenizer, model_type));
          },
          "tokenizer"_a, "model_type"_a)
      .def_static(
          "named",
          [=](const std::string& name, const std::shared_ptr<Tokenizer>& tokenizer) -> Template {
            return unconst_template(ChatTemplate::named(name, tokenizer));
          },
          "name"_a, "tokenizer"_a)
      .def_static(
          "parse",
          [=](const std::string& source, const std::shared_ptr<Tokenizer>& tokenizer) -> Template {
            return unconst_template(ChatTemplate::parse(source, "", tokenizer));
          },
          "source"_a, "tokenizer"_a.none())
      .def_prop_ro("name", &ChatTemplate::name)
      .def_prop_ro("names", &ChatTemplate::names)
      .def("render",
           [](const ChatTemplate& chat, const std::string& variables) {
             const python::GilRelease no_gil;
             return chat.render(variables);
           })
      .def("encode", [](const ChatTemplate& chat, const std::string& variables) {
        const python::GilRelease no_gil;
        return chat.encode(variables);
      });
}

// Another thread may hold the stream's lock and wait for Python's.
template <class Result>
Result without_gil(const Stream& stream, Result (Stream::*method)() const) {
  const python::GilRelease no_gil;
  return (stream.*method)();
}

void bind_generation(nb::module_& m) {
  nb::class_<Context>(m, "Context",
                      "What a model has computed of a conversation, for `Llama.stream(…, context=…)`: of a "
                      "prompt that begins as the last text did, only "
                      "the rest is computed. Grows as needed; another model begins anew.")
      .def("__init__", [](Context* self) { new (self) Context; })
      .def_prop_ro(
          "tokens",
          [](Context& context) {
            const python::GilRelease no_gil;
            const std::scoped_lock lock(context.mutex);
            return context.tokens;
          },
          "The token ids whose keys and values it holds.");
  nb::class_<Stream>(m, "TextGeneration", "Pieces of text, one after the other.")
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__",
           [](Stream& stream) {
             std::optional<std::string> piece;
             {
               const python::GilRelease no_gil;
               piece = stream.next();
             }
             if (PyErr_Occurred() != nullptr) throw nb::python_error();  // Ctrl-C within a long prompt
             if (!piece) throw nb::stop_iteration();
             return *piece;
           })
      .def_prop_ro(
          "tokens", [](const Stream& s) { return without_gil(s, &Stream::tokens); },
          "The prompt and what was generated.")
      .def_prop_ro(
          "finish_reason", [](const Stream& s) { return without_gil(s, &Stream::finish_reason); },
          "Why it ended: 'end_token', 'stop_text', 'length', 'context_full'; '' before.")
      .def_prop_ro("stats", [](const Stream& s) { return stats_dict(without_gil(s, &Stream::stats)); });
}

void bind_llama(nb::module_& m) {
  nb::class_<KVCache>(m, "KVCache", "Keys and values of the tokens so far.")
      .def_rw("length", &KVCache::length)
      .def_ro("capacity", &KVCache::capacity);
  nb::class_<CausalModel>(m, "CausalModel", "A decoder-only language model.")
      .def_static(
          "from_pretrained",
          [](const std::string& folder, const std::string& dtype, const std::string& quantize,
             const std::string& activations, const std::string& cache_dtype, int64_t max_positions,
             const std::string& execution, const nb::object& progress, bool verify, bool tensor_parallel,
             const std::string& device) {
            ModelOptions options = make_options(dtype, quantize, activations, cache_dtype, max_positions,
                                                execution, progress, tensor_parallel, device);
            options.verify = verify;
            const python::GilRelease no_gil;
            return unconst(CausalModel::from_pretrained(folder, options));
          },
          "folder"_a, "dtype"_a, "quantize"_a, "activations"_a, "cache_dtype"_a, "max_positions"_a,
          "execution"_a, "progress"_a.none(), "verify"_a, "tensor_parallel"_a, "device"_a = "cpu")
      .def_static(
          "random",
          [](const std::string& shape, const std::string& dtype, const std::string& quantize,
             const std::string& activations, int64_t max_positions, int64_t num_layers, uint64_t seed,
             bool tensor_parallel, const std::string& device) {
            const ModelOptions options = make_options(dtype, quantize, activations, "", max_positions,
                                                      "compiled", nb::none(), tensor_parallel, device);
            DecoderConfig config = named_config(shape);
            WEFT_CHECK(num_layers >= 0 && num_layers <= 1000,
                       fmt::format("random: num_layers must be between 0 (the shape's) and 1000, got {}",
                                   num_layers));
            if (num_layers > 0) config.set_num_layers(num_layers);
            const python::GilRelease no_gil;
            return unconst(CausalModel::random(config, options, seed));
          },
          "shape"_a, "dtype"_a, "quantize"_a, "activations"_a, "max_positions"_a, "num_layers"_a, "seed"_a,
          "tensor_parallel"_a, "device"_a = "cpu")
      .def_prop_ro("config", [](const CausalModel& model) { return config_dict(model.config()); })
      .def_prop_ro("max_positions", &CausalModel::max_positions)
      .def_prop_ro("bytes_per_token", &CausalModel::bytes_per_token)
      .def_prop_ro("num_ranks", &CausalModel::num_ranks)
      .def("make_cache", &CausalModel::make_cache, "capacity"_a = 0)
      .def("check_tokenizer", &check_tokenizer, "tokenizer"_a, "folder"_a,
           "ValueError where the tokenizer's vocabulary is not the model's.")
      .def(
          "forward",
          [](const CausalModel& model, const std::vector<int64_t>& tokens, KVCache& cache, bool all_logits) {
            Tensor logits;
            {
              const python::GilRelease no_gil;
              logits = model.forward(tokens, cache, all_logits).clone();
            }
            return logits;
          },
          "tokens"_a, "cache"_a, "all_logits"_a = false)
      .def(
          "stream",
          [](const ModelPtr& model, const std::shared_ptr<Tokenizer>& tokenizer, std::vector<int64_t> prompt,
             int64_t max_new_tokens, double temperature, int64_t top_k, double top_p, double min_p,
             double repetition_penalty, uint64_t seed, std::vector<std::string> stop, bool ignore_eos,
             const ModelPtr& draft, bool prompt_lookup, int64_t speculate_k,
             const std::shared_ptr<Context>& context) {
            const python::GilRelease no_gil;  // the context may be in use
            return new Stream(
                model, tokenizer, std::move(prompt),
                generation_options(max_new_tokens, temperature, top_k, top_p, min_p, repetition_penalty, seed,
                                   ignore_eos, draft, prompt_lookup, speculate_k, context),
                std::move(stop));
          },
          nb::rv_policy::take_ownership, "tokenizer"_a, "prompt"_a, "max_new_tokens"_a, "temperature"_a,
          "top_k"_a, "top_p"_a, "min_p"_a, "repetition_penalty"_a, "seed"_a, "stop"_a, "ignore_eos"_a,
          "draft"_a.none(), "prompt_lookup"_a, "speculate_k"_a, "context"_a.none());
}

}  // namespace

NB_MODULE(_models, m) {
  nb::module_::import_("weft._C");  // Tensor, and how errors become Python's
  nb::set_leak_warnings(false);
  bind_tokenizer(m);
  bind_chat(m);
  bind_generation(m);
  bind_llama(m);
  python::bind_masks(m);
  m.def(
      "load_safetensors",
      [](const std::string& path) {
        const SafetensorsFile file(path);
        nb::dict result;
        for (const std::string& name : file.names()) result[name.c_str()] = nb::cast(file.tensor(name));
        return result;
      },
      "path"_a,
      "{name: Tensor} of a safetensors file, memory-mapped. RuntimeError, ValueError naming file and "
      "tensor.");
  m.def("save_safetensors", &save_safetensors, "path"_a, "tensors"_a,
        "metadata"_a = std::map<std::string, std::string>{},
        "Writes {name: Tensor}. RuntimeError where the file cannot be written.");
  python::explain_arguments(m);
}
