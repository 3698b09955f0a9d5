#include "serve/segment_service.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "serve/image_file.h"
#include "serve/metrics.h"
#include "serve/metrics_text.h"
#include "serve/segment_request.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr const char* kSegment = "/v1/segment";
using Clock = std::chrono::steady_clock;

std::string key_of(const SegmentRequest& request) {
  if (!request.pixels.defined()) return request.image;
  const size_t size = static_cast<size_t>(request.pixels.numel());
  return str(request.pixels.shape()) + std::string(request.pixels.data_as<char>(), size);
}

}  // namespace

struct SegmentService::Work {
  struct Job {
    uint64_t number;
    SegmentRequest request;
    std::shared_ptr<Exchange> exchange;
    uint64_t bytes;
    Clock::time_point arrived;
  };
  struct Kept {
    std::string key;  // the image itself: nobody is given another's masks
    models::SamImage image;
  };

  std::shared_ptr<const models::Sam> sam;
  SegmentServiceOptions options;
  std::list<Kept> kept = {};  // of the thread that computes; the last used in front

  mutable std::mutex mutex = {};
  std::condition_variable changed = {};
  std::deque<Job> waiting = {};
  uint64_t waiting_bytes = 0, next_number = 1;
  bool is_stopping = false;
  int64_t finished = 0, cancelled = 0, failed = 0, refused = 0, encoded = 0, reused = 0, prompts = 0;
  Histogram request_seconds{{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}};
  std::thread thread = {};

  std::optional<uint64_t> submit(SegmentRequest request, const std::shared_ptr<Exchange>& exchange) {
    uint64_t bytes = request.image.size();
    if (request.pixels.defined()) bytes += static_cast<uint64_t>(request.pixels.numel());
    const std::scoped_lock lock(mutex);
    if (static_cast<int64_t>(waiting.size()) >= options.max_queue ||
        waiting_bytes + bytes > options.max_bytes) {
      ++refused;
      return std::nullopt;
    }
    waiting_bytes += bytes;
    waiting.push_back({next_number, std::move(request), exchange, bytes, Clock::now()});
    changed.notify_one();
    return next_number++;
  }
  void cancel(uint64_t number) {
    const std::scoped_lock lock(mutex);
    for (auto at = waiting.begin(); at != waiting.end(); ++at) {
      if (at->number != number) continue;
      ++cancelled;
      waiting_bytes -= at->bytes;
      waiting.erase(at);
      return;
    }
  }
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return is_stopping || !waiting.empty(); });
      if (is_stopping) return;
      Job job = std::move(waiting.front());
      waiting.pop_front();
      waiting_bytes -= job.bytes;
      lock.unlock();
      HttpResponse response = answer_of(job.request);
      const bool is_right = response.status == 200;
      lock.lock();
      ++(is_right ? finished : failed);
      request_seconds.add(seconds_since(job.arrived));
      lock.unlock();
      job.exchange->respond(std::move(response));
      lock.lock();
    }
  }
  HttpResponse answer_of(const SegmentRequest& request) {
    try {
      return {.body = masks_of(request)};
    } catch (const ApiError& error) {
      return answer(error);
    } catch (const Error& error) {
      return answer(ApiError(error.kind() == ErrorKind::Value ? 400 : 500, error.what()));
    } catch (const std::exception& error) {
      return answer(ApiError(500, error.what()));
    }
  }
  const models::SamImage& image_of(const SegmentRequest& request) {
    std::string key = key_of(request);
    for (auto at = kept.begin(); at != kept.end(); ++at)
      if (at->key == key) {
        kept.splice(kept.begin(), kept, at);
        const std::scoped_lock lock(mutex);
        ++reused;
        return kept.front().image;
      }
    const Tensor pixels = request.pixels.defined() ? request.pixels : read_image(request.image);
    kept.push_front({std::move(key), sam->set_image(pixels)});
    while (static_cast<int64_t>(kept.size()) > options.kept_images) kept.pop_back();
    const std::scoped_lock lock(mutex);
    ++encoded;
    return kept.front().image;
  }
  std::string masks_of(const SegmentRequest& request) {
    const models::SamImage& image = image_of(request);
    std::string results;
    for (const models::SamPrompt& prompt : request.prompts) {
      // One point may mean a part or the whole: the best of three masks, as `weft segment` chooses.
      const bool is_ambiguous = request.multimask || (prompt.points.size() == 1 && !prompt.box);
      if (!results.empty()) results += ',';
      results += masks_json(sam->predict(image, prompt, is_ambiguous), request);
      const std::scoped_lock lock(mutex);
      ++prompts;
    }
    return fmt::format(R"({{"model":{},"height":{},"width":{},"results":[{}]}})",
                       Json(options.api.model_name).dump(), image.original.height, image.original.width,
                       results);
  }
};

SegmentService::SegmentService(std::shared_ptr<const models::Sam> sam, SegmentServiceOptions options)
    : ApiService(options.api, {kSegment}),
      work_(new Work{.sam = std::move(sam), .options = std::move(options)}) {}

SegmentService::~SegmentService() { stop(); }

void SegmentService::start() {
  work_->thread = std::thread([this] { work_->run(); });
}

void SegmentService::stop() {
  {
    const std::scoped_lock lock(work_->mutex);
    work_->is_stopping = true;
    work_->cancelled += static_cast<int64_t>(work_->waiting.size());
    work_->waiting.clear();
    work_->waiting_bytes = 0;
  }
  work_->changed.notify_all();
  if (work_->thread.joinable()) work_->thread.join();
}

void SegmentService::act(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  SegmentRequest asked = has_npz_body(request) ? parse_segment_npz(request.body, work_->options.max_bytes)
                                               : parse_segment(request.body);
  check_model(asked.model);
  const auto number = work_->submit(std::move(asked), exchange);
  end_queued(exchange, number, [work = work_.get()](uint64_t waiting) { work->cancel(waiting); });
}

SegmentService::Json SegmentService::model_fields() const {
  return {{"image_size", work_->sam->config().image_size}};
}

std::string SegmentService::metrics() const {
  const std::scoped_lock lock(work_->mutex);
  std::string text = metric_header("weft_requests_total", "counter",
                                   "Requests that ended, by how; those refused found the queue full.");
  for (const auto& [outcome, count] : {std::pair{"finished", work_->finished},
                                       {"cancelled", work_->cancelled},
                                       {"failed", work_->failed},
                                       {"refused", work_->refused}})
    text += fmt::format("weft_requests_total{{outcome=\"{}\"}} {}\n", outcome, count);
  text += gauge("weft_requests_waiting", "Requests in the queue.", work_->waiting.size());
  text += counter("weft_images_total", "Images that were encoded.", work_->encoded);
  text += counter("weft_reused_images_total", "Images whose embedding was there.", work_->reused);
  text += counter("weft_prompts_total", "Prompts.", work_->prompts);
  return text + work_->request_seconds.text("weft_request_seconds", "From a request's arrival to its end.");
}

}  // namespace weft::serve
