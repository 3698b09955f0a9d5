#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/llm.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/usage.h"
#include "runtime/ceilings.h"
#include "runtime/peaks.h"
#include "weft/distributed.h"
#include "weft/error.h"
#include "weft/models/generation.h"
#include "weft/models/tokenizer.h"
#include "weft/profiler.h"

namespace weft::cli {
namespace {

using namespace models;

// Ctrl-C ends the answer; a second one before that ends the program.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int signal) {
  if (interrupted) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  interrupted = 1;
}
constexpr int kInterruptedStatus = 130;  // as shells say it: 128 + SIGINT

double peak_memory_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// With several ranks, the first one's signal counts, for all at the same token.
bool is_interrupted(const CausalModel& model) {
  const bool is = model.agreed(interrupted != 0);
  if (model.num_ranks() > 1) interrupted = is;
  return is;
}

// Generated text and figures; the figures of several answers add up.
struct Session {
  std::shared_ptr<const CausalModel> model, draft;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<Context> context =
      std::make_shared<Context>();              // of a conversation: its turns are computed once
  std::chrono::steady_clock::time_point start;  // once it is loaded
  GenerationStats stats;
  double first_token_seconds = 0;  // of the last answer
  FinishReason finish_reason = FinishReason::None;
  std::vector<int64_t> token_ids;  // generated, of all answers

  void add(const GenerationStats& answer) {
    for (auto count : {&GenerationStats::prompt_tokens, &GenerationStats::kept_tokens,
                       &GenerationStats::generated_tokens, &GenerationStats::decode_tokens,
                       &GenerationStats::proposed, &GenerationStats::accepted, &GenerationStats::rounds})
      stats.*count += answer.*count;
    stats.prefill_seconds += answer.prefill_seconds;
    stats.decode_seconds += answer.decode_seconds;
    stats.speculation_stopped = answer.speculation_stopped;
  }
};

GenerationOptions generation_options(const GenerateArguments& arguments, const Session& session) {
  GenerationOptions options;
  options.max_new_tokens = arguments.max_new_tokens;
  options.sampling = {arguments.temperature,        arguments.top_k, arguments.top_p, arguments.min_p,
                      arguments.repetition_penalty, arguments.seed};
  options.ignore_eos = arguments.ignore_eos;
  options.draft = session.draft;
  options.prompt_lookup = arguments.draft == "prompt-lookup";
  options.speculate_k = arguments.speculate_k;
  options.context = session.context;
  options.is_cancelled = [model = session.model] { return is_interrupted(*model); };
  return options;
}

// `before`: what stands before the answer on the screen.
std::string write_answer(const GenerateArguments& arguments, Session& session, std::vector<int64_t> prompt,
                         const std::string& before = "") {
  const auto start = std::chrono::steady_clock::now();
  TextGeneration generation(session.model, session.tokenizer, std::move(prompt),
                            generation_options(arguments, session), arguments.stop);
  if (!arguments.json) std::fputs(before.c_str(), stdout);
  std::string answer;
  bool is_first = true;
  while (!is_interrupted(*session.model)) {
    const std::optional<std::string> piece = generation.next();
    if (is_first)
      session.first_token_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    is_first = false;
    if (!piece) break;
    answer += *piece;
    if (!arguments.json) {
      std::fputs(piece->c_str(), stdout);
      std::fflush(stdout);
    }
  }
  const GenerationStats& stats = generation.generation().stats();
  session.add(stats);
  const auto first = generation.generation().tokens().begin() + stats.prompt_tokens;
  session.token_ids.insert(session.token_ids.end(), first, first + stats.generated_tokens);
  session.finish_reason = interrupted ? FinishReason::Cancelled : generation.finish_reason();
  if (stats.speculation_stopped)
    fmt::print(stderr, "\nspeculation stopped: {:.2f} ms per token against {:.2f} ms without\n",
               stats.speculative_seconds_per_token * 1e3, stats.plain_seconds_per_token * 1e3);
  return answer;
}

struct Summary {
  double prefill_rate = 0, decode_rate = 0, read_gbs = 0, utilization = 0, peak_bytes = 0;
  distributed::Statistics collectives;
  double seconds = 0;  // since the statistics began
};

// In GB/s: what this machine was measured at once; with several ranks, what each has while all read. 0 where
// that is not known, and the user does not wait for it.
double read_bandwidth(const CausalModel& model) {
  if (model.num_ranks() > 1) return interrupted ? 0 : runtime::measure_read_bandwidth();
  const runtime::Peaks* peaks = interrupted ? runtime::known_peaks() : &runtime::measured_peaks();
  return peaks == nullptr ? 0 : peaks->bytes_per_ns;
}

Summary summarize(const Session& session) {
  const GenerationStats& stats = session.stats;
  Summary summary;
  summary.peak_bytes = peak_memory_bytes();  // before the memory that the bandwidth is measured with
  if (session.model->num_ranks() > 1) {
    summary.collectives = distributed::statistics();
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - session.start).count();
    distributed::barrier();  // the ranks measure together, as they compute
  }
  if (stats.prefill_seconds > 0)
    summary.prefill_rate =
        static_cast<double>(stats.prompt_tokens - stats.kept_tokens) / stats.prefill_seconds;
  if (stats.decode_tokens > 0)
    summary.decode_rate = static_cast<double>(stats.decode_tokens) / stats.decode_seconds;
  // Of the process's memory, which the weights of a model on a device are not in.
  if (session.model->options().device == Device()) summary.read_gbs = read_bandwidth(*session.model);
  if (summary.read_gbs > 0)
    summary.utilization = static_cast<double>(session.model->bytes_per_token()) * summary.decode_rate /
                          (summary.read_gbs * 1e9);
  return summary;
}

// All ranks', on all ranks; none without tensor parallelism.
std::vector<RankFigures> figures_of_ranks(const Session& session, const Summary& summary) {
  if (session.model->num_ranks() == 1) return {};
  return gather_figures({.weight_bytes = static_cast<double>(session.model->bytes_per_token()),
                         .read_gbs = summary.read_gbs,
                         .collective_seconds = summary.collectives.seconds,
                         .collective_calls = static_cast<double>(summary.collectives.calls),
                         .seconds = summary.seconds,
                         .peak_bytes = summary.peak_bytes});
}

void print_summary(const Session& session, double load_seconds) {
  const GenerationStats& stats = session.stats;
  const Summary summary = summarize(session);
  const std::vector<RankFigures> ranks = figures_of_ranks(session, summary);
  if (!is_first_rank()) return;
  std::string text = fmt::format("\nload     {:.2f} s\n", load_seconds);
  text += fmt::format("prefill  {} tokens{}, {:.1f} tokens/s; first token after {:.3f} s\n",
                      stats.prompt_tokens - stats.kept_tokens,
                      stats.kept_tokens > 0 ? fmt::format(" ({} more were kept)", stats.kept_tokens) : "",
                      summary.prefill_rate, session.first_token_seconds);
  text += fmt::format("decode   {} tokens, {:.2f} tokens/s\n", stats.decode_tokens, summary.decode_rate);
  const std::string weights = bytes_text(static_cast<double>(session.model->bytes_per_token()));
  if (session.model->options().device != Device())
    text += fmt::format("weights  {} per token, on {}: {:.1f} GB/s\n", weights,
                        session.model->options().device.str(),
                        static_cast<double>(session.model->bytes_per_token()) * summary.decode_rate * 1e-9);
  else if (summary.read_gbs > 0)
    text += fmt::format("weights  {} per token: {:.1f}% of the {:.1f} GB/s measured here\n", weights,
                        100 * summary.utilization, summary.read_gbs);
  else
    text += fmt::format("weights  {} per token\n", weights);
  if (stats.rounds > 0)
    text += fmt::format("drafts   {} of {} proposed tokens kept ({:.0f}%), {:.2f} tokens per pass\n",
                        stats.accepted, stats.proposed,
                        100.0 * static_cast<double>(stats.accepted) / static_cast<double>(stats.proposed),
                        1.0 + static_cast<double>(stats.accepted) / static_cast<double>(stats.rounds));
  text += fmt::format("memory   {} at most\n", bytes_text(summary.peak_bytes));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankFigures& figures = ranks[rank];
    text += fmt::format(
        "rank {:<3} {} per token: {:.1f}% of {:.1f} GB/s; in collectives {:.3f} s, {:.1f}% of the time; "
        "memory {}\n",
        rank, bytes_text(figures.weight_bytes), 100 * figures.utilization(summary.decode_rate),
        figures.read_gbs, figures.collective_seconds, 100 * figures.collective_share(),
        bytes_text(figures.peak_bytes));
  }
  std::fputs(text.c_str(), stderr);
}

void print_json(const Session& session, const std::string& answer, double load_seconds) {
  const GenerationStats& stats = session.stats;
  const Summary summary = summarize(session);
  nlohmann::ordered_json result = {{"text", answer},
                                   {"token_ids", session.token_ids},
                                   {"prompt_tokens", stats.prompt_tokens},
                                   {"kept_tokens", stats.kept_tokens},
                                   {"generated_tokens", stats.generated_tokens},
                                   {"device", session.model->options().device.str()},
                                   {"finish_reason", name(session.finish_reason)},
                                   {"load_seconds", load_seconds},
                                   {"first_token_seconds", session.first_token_seconds},
                                   {"prefill_tokens_per_second", summary.prefill_rate},
                                   {"decode_tokens_per_second", summary.decode_rate},
                                   {"weight_bytes_per_token", session.model->bytes_per_token()},
                                   {"read_gb_per_second", summary.read_gbs},
                                   {"model_bandwidth_utilization", summary.utilization},
                                   {"proposed", stats.proposed},
                                   {"accepted", stats.accepted},
                                   {"speculation_stopped", stats.speculation_stopped},
                                   {"peak_memory_bytes", static_cast<int64_t>(summary.peak_bytes)}};
  for (const RankFigures& figures : figures_of_ranks(session, summary))
    result["ranks"].push_back({{"weight_bytes_per_token", static_cast<int64_t>(figures.weight_bytes)},
                               {"read_gb_per_second", figures.read_gbs},
                               {"model_bandwidth_utilization", figures.utilization(summary.decode_rate)},
                               {"collective_seconds", figures.collective_seconds},
                               {"share_in_collectives", figures.collective_share()},
                               {"collective_calls", static_cast<int64_t>(figures.collective_calls)},
                               {"peak_memory_bytes", static_cast<int64_t>(figures.peak_bytes)}});
  std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// True where the conversation can go on with `ids`.
bool has_room(const Session& session, const std::vector<int64_t>& ids, bool is_terminal) {
  if (static_cast<int64_t>(ids.size()) < session.model->max_positions()) return true;
  const std::string why = fmt::format(
      "the conversation has {} tokens, and the context of {} has no room for an answer; /new begins another "
      "one",
      ids.size(), session.model->max_positions());
  if (!is_terminal) throw_error(ErrorKind::Value, "generate: " + why);
  fmt::print(stderr, "{}\n", why);
  return false;
}

// Messages line by line, `first` before them. Ctrl-C ends an answer, Ctrl-D the conversation; "/new" begins
// another one.
std::string converse(const GenerateArguments& arguments, Session& session, const ChatTemplate& chat,
                     const std::string& first) {
  std::vector<ChatMessage> opening;
  if (!arguments.system.empty()) opening.push_back({"system", arguments.system});
  std::vector<ChatMessage> messages = opening;
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  std::string line = first, answers;
  // A line behind a mark, or nothing at the end.
  const auto read_line = [&]() -> std::string {
    if (is_terminal) std::fputs("\n> ", stderr);
    return std::getline(std::cin, line) ? "." + line : "";
  };
  for (bool is_given = !first.empty(); !is_interrupted(*session.model); is_given = false) {
    if (!is_given) {
      const std::string read = text_of_first_rank(read_line);
      if (read.empty()) break;
      line = read.substr(1);
    }
    if (line.empty()) continue;
    if (line == "/new") {
      messages = opening;
      continue;
    }
    messages.push_back({"user", line});
    std::vector<int64_t> ids = chat.encode(messages);
    if (!has_room(session, ids, is_terminal)) {
      messages.pop_back();
      continue;
    }
    const std::string answer = write_answer(arguments, session, std::move(ids));
    if (!arguments.json) std::fputs("\n", stdout);
    if (session.finish_reason == FinishReason::ContextFull && is_first_rank())
      fmt::print(stderr, "the context of {} tokens is full; /new begins another conversation\n",
                 session.model->max_positions());
    messages.push_back({"assistant", answer});
    answers += answer + "\n";
    interrupted = 0;
  }
  return answers;
}

// Options that belong together, and those that do not.
void check_usage(const GenerateArguments& arguments) {
  const auto check = [](bool condition, const std::string& message) {
    if (!condition) throw UsageError("generate: " + message + " (weft generate --help)");
  };
  check(!arguments.prompt || arguments.prompt_file.empty(), "give --prompt or --prompt-file, not both");
  check(arguments.draft.empty() || arguments.draft_model.empty(), "give --draft or --draft-model, not both");
  const bool is_chat = arguments.chat || arguments.interactive;
  check(!arguments.special || !is_chat, "--special is for prompts without --chat and --interactive");
  check(arguments.system.empty() || is_chat, "--system needs --chat or --interactive");
  check(arguments.chat_template.empty() || is_chat, "--chat-template needs --chat or --interactive");
  struct stat input {};
  const bool has_input = ::fstat(STDIN_FILENO, &input) == 0 &&
                         (S_ISFIFO(input.st_mode) || S_ISREG(input.st_mode) || S_ISSOCK(input.st_mode));
  check(arguments.prompt || !arguments.prompt_file.empty() || arguments.interactive || has_input ||
            !is_first_rank(),
        "give --prompt TEXT, --prompt-file FILE, text on standard input, or --interactive");
}

// What standard input holds, without the line's end that programs put behind their output.
std::string piped_prompt() {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (text.ends_with('\n')) text.pop_back();
  if (text.empty())
    throw UsageError("generate: the prompt on standard input is empty; --prompt '' begins with nothing");
  WEFT_CHECK(is_utf8(text), "generate: the prompt on standard input is not valid UTF-8");
  return text;
}

std::string prompt_of(const GenerateArguments& arguments) {
  if (arguments.prompt) return *arguments.prompt;
  if (!arguments.prompt_file.empty()) return read_text(arguments.prompt_file);
  return arguments.interactive ? "" : piped_prompt();
}

}  // namespace

int generate(const GenerateArguments& arguments) {
  check_usage(arguments);
  start_ranks(arguments.model.tensor_parallel);
  const std::string prompt = text_of_first_rank([&] { return prompt_of(arguments); });
  const auto start = std::chrono::steady_clock::now();
  Session session;
  session.model = arguments.model.load();
  session.tokenizer = Tokenizer::open(arguments.model.folder);
  check_tokenizer(*session.model, *session.tokenizer, arguments.model.folder);
  if (!arguments.draft_model.empty()) {
    ModelArguments draft = arguments.model;
    draft.folder = arguments.draft_model;
    session.draft = draft.load();
  }
  const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool is_chat = arguments.chat || arguments.interactive;
  const auto chat = is_chat ? chat_template_of(arguments.model.folder, arguments.chat_template,
                                               *session.model, session.tokenizer)
                            : nullptr;
  if (session.model->num_ranks() > 1) distributed::reset_statistics();
  session.start = std::chrono::steady_clock::now();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  // Each rank has a timeline of its own.
  if (!arguments.profile.empty())
    profiler::start(session.model->num_ranks() > 1
                        ? fmt::format("{}.rank{}", arguments.profile, distributed::get_rank())
                        : arguments.profile);
  std::string answer;
  if (arguments.interactive) {
    answer = converse(arguments, session, *chat, prompt);
  } else {
    std::vector<int64_t> ids;
    if (arguments.chat) {
      std::vector<ChatMessage> messages;
      if (!arguments.system.empty()) messages.push_back({"system", arguments.system});
      messages.push_back({"user", prompt});
      ids = chat->encode(messages);
    } else {
      ids = session.tokenizer->encode(prompt, true, arguments.special);
    }
    answer = write_answer(arguments, session, std::move(ids), arguments.chat ? "" : prompt);
    if (!arguments.json) std::fputs("\n", stdout);
  }
  if (!arguments.profile.empty()) profiler::stop();
  if (arguments.json)
    print_json(session, answer, load_seconds);
  else
    print_summary(session, load_seconds);
  return interrupted && !arguments.interactive ? kInterruptedStatus : 0;
}

}  // namespace weft::cli
