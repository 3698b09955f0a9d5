"""Speculative decoding: a small model drafts tokens, and the large one verifies them."""

import torch
from common import fill, main
from llama import ModelArgs, Transformer


def model_forward(model, x, input_pos):
    return model(x, input_pos)


def probabilities(logits, temperature=1.0, top_k=None):
    logits = logits / max(temperature, 1e-5)
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        pivot = v.select(-1, -1).unsqueeze(-1)
        logits = torch.where(logits < pivot, -float("Inf"), logits)
    return torch.nn.functional.softmax(logits, dim=-1)


def decode_one_token(model, x, input_pos):
    probs = probabilities(model(x, input_pos)[0, -1], 0.8, 20)
    return torch.argmax(probs, dim=-1, keepdim=True).to(dtype=torch.int), probs


def speculative_decode(model, draft, forward, decode, cur_token, input_pos, speculate_k):
    position = torch.tensor([input_pos], dtype=torch.int64)
    token, tokens, draft_probs = cur_token.view(1), [], []
    for _ in range(speculate_k):
        token, probs = decode(draft, token.view(1, -1), position)
        tokens.append(token.clone())
        draft_probs.append(probs.clone())
        position += 1
    draft_tokens = torch.cat(tokens)
    target = forward(
        model,
        torch.cat([cur_token.view(1), draft_tokens]).view(1, -1),
        torch.arange(input_pos, input_pos + speculate_k + 1),
    )
    target_probs = probabilities(target[0], 0.8, 20)
    draft_probs = torch.stack(draft_probs)
    p = draft_probs[torch.arange(0, speculate_k), draft_tokens]
    q = target_probs[torch.arange(0, speculate_k), draft_tokens]
    accept = torch.minimum(torch.ones(()), q[:speculate_k] / p)
    rejected = (accept < 0.5).nonzero()
    if rejected.shape[0] == 0:
        last = target_probs[-1].argmax(keepdim=True).to(draft_tokens.dtype)
        forward(draft, draft_tokens[-1].view(1, -1), torch.tensor([input_pos + speculate_k]))
        return torch.cat([draft_tokens, last]), accept
    count = int(rejected[0].item())
    new = target_probs[count] - draft_probs[count]
    new = torch.where(new > 0, new, 0.0)
    new = new / new.sum()
    return torch.cat([draft_tokens[:count], new.argmax(keepdim=True).to(draft_tokens.dtype)]), accept


def build():
    """The large model's verification of four tokens."""
    model = fill(Transformer(ModelArgs()))
    model(torch.arange(8).view(1, -1), torch.arange(8))
    return lambda *args: probabilities(model_forward(model, *args)[0], 0.8, 20), (
        torch.tensor([[3, 8, 13, 18, 23]]),
        torch.arange(8, 13),
    )


def results(compiled=False):
    model = fill(Transformer(ModelArgs()))
    draft = fill(Transformer(ModelArgs(n_layers=1)))
    forward, decode = model_forward, decode_one_token
    if compiled:
        forward = torch.compile(model_forward, fullgraph=True)
        decode = torch.compile(decode_one_token, mode="reduce-overhead", fullgraph=True)
    with torch.inference_mode():
        prompt = (torch.arange(6) * 5 % 96).view(1, -1)
        positions = torch.arange(6)
        token = forward(model, prompt, positions)[0, -1].argmax().view(1).to(torch.int)
        forward(draft, prompt, positions)
        sequence, accepted, position = [token], [], 6
        while position < 30:
            new, accept = speculative_decode(model, draft, forward, decode, token, position, 4)
            sequence.append(new)
            accepted.append(accept)
            position += len(new)
            token = new[-1:]
    return {"sequence": torch.cat(sequence)[:24], "accept": torch.cat(accepted)[:16]}


if __name__ == "__main__":
    main(results)
