#include "serve/module_service.h"

#include <fmt/format.h>

#include "io/arguments.h"
#include "io/npy.h"
#include "serve/array_body.h"

namespace weft::serve {
namespace {

constexpr const char *kRun = "/v1/run", *kJson = "application/json", *kNpz = "application/x-npz";

// float32 for numbers with a fraction that became tensors, as torch.tensor has them.
void narrow(IValue& value, const std::set<const TensorImpl*>& any_float) {
  if (value.is_tensor()) {
    if (any_float.contains(value.to_tensor().impl().get())) value = value.to_tensor().to(DType::F32);
  } else if (value.is_list()) {
    for (IValue& element : value.to_list()->values) narrow(element, any_float);
  } else if (value.is(IValue::Tag::Tuple)) {
    for (IValue& element : value.to_tuple()->values) narrow(element, any_float);
  } else if (value.is(IValue::Tag::Dict)) {
    for (const auto& [key, element] : value.to_dict()->items()) {
      IValue narrowed = element;
      narrow(narrowed, any_float);
      value.to_dict()->set(key, std::move(narrowed));
    }
  }
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value:
    case ErrorKind::Type:
    case ErrorKind::Index: return 400;
    default: return 500;
  }
}

// NumPy has no bfloat16: float32 holds it exactly.
NamedValues widened(NamedValues arrays) {
  for (auto& [name, value] : arrays)
    if (value.is_tensor() && value.to_tensor().defined() && value.to_tensor().dtype() == DType::BF16)
      value = value.to_tensor().to(DType::F32);
  return arrays;
}

HttpResponse response_of(ModuleAnswer found, const std::string& model, bool as_npz) {
  if (!found.error.empty()) return answer(ApiError(status_of(found.kind), found.error));
  try {
    if (!as_npz) return {.body = arrays_json(model, found.arrays)};
    return {.body = io::npz_bytes(widened(std::move(found.arrays)), "answer"), .content_type = kNpz};
  } catch (const ApiError& error) {
    return answer(error);
  } catch (const Error& error) {
    return answer(ApiError(error.kind() == ErrorKind::Type ? 406 : 500, error.what()));
  } catch (const std::exception& error) {
    return answer(ApiError(500, error.what()));
  }
}

class ModuleService : public ApiService {
 public:
  ModuleService(std::shared_ptr<ModuleQueue> queue, ApiServiceOptions options)
      : ApiService(std::move(options), {kRun}), queue_(std::move(queue)) {}

 private:
  void act(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override {
    const bool has_npz = has_npz_body(request);
    const std::string accepted = media_type(request.accept.substr(0, request.accept.find(',')));
    ArrayRequest asked;
    if (!has_npz)
      asked = parse_arrays(request.body, queue_->options().max_bytes);
    else
      asked.arrays = io::parse_npz(request.body, "the request's body", queue_->options().max_bytes);
    check_model(asked.model);
    jit::Keywords arguments = io::arguments_of_arrays(queue_->schema(), asked.arrays);
    for (auto& item : arguments) narrow(item.second, asked.any_float);

    const bool as_npz = is_npz(accepted) || (accepted != kJson && has_npz);
    const auto number =
        queue_->submit(std::move(arguments), [exchange, as_npz, model = model_name()](ModuleAnswer found) {
          exchange->respond(response_of(std::move(found), model, as_npz));
        });
    end_queued(exchange, number, [queue = queue_](uint64_t waiting) { queue->cancel(waiting); });
  }

  Json model_fields() const override {
    Json arguments = Json::array();
    for (const jit::SchemaArgument& argument : queue_->schema().arguments)
      if (!argument.type->is(jit::TypeKind::Class))
        arguments.push_back(
            {{"name", argument.name},
             {"type", argument.type->str()},
             {"optional", argument.default_value.has_value() || argument.type->is(jit::TypeKind::Optional)}});
    return {{"arguments", arguments}};
  }
  std::string metrics() const override { return queue_->metrics(); }

  std::shared_ptr<ModuleQueue> queue_;
};

}  // namespace

std::shared_ptr<Service> make_module_service(std::shared_ptr<ModuleQueue> queue, ApiServiceOptions options) {
  return std::make_shared<ModuleService>(std::move(queue), std::move(options));
}

}  // namespace weft::serve
