// Models by the names that they have on Hugging Face's hub, in the cache that its programs keep on this
// machine.
#pragma once

#include <string>

namespace weft::models {

// Where hub models are kept: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
// XDG_CACHE_HOME/huggingface/hub, or
// ~/.cache/huggingface/hub, the first that is set. source: huggingface_hub, constants.py.
std::string hub_cache_folder();

// A folder or file is itself. "owner/name", "name", with @revision where it is not main, and with /file.gguf
// where the model has several: the folder or GGUF file in the cache. RuntimeError that says where it was
// looked for.
std::string model_path(const std::string& folder_or_name);

}  // namespace weft::models
