"""Chat templates: jinja2's answers for every construct, the recorded conversations, checkpoints' files."""

import json
import os
import pathlib

import jinja_cases
import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
ChatTemplate = weft.models.ChatTemplate
# What weft refuses where jinja2 does not, or the other way round, and messages that name what only Python has.
DIFFERENT_MESSAGES = {
    "TemplateSyntaxError",  # the place is the same, the words are not always
    "TypeError",  # of wrong arguments: named by jinja2's Python functions
}


def rendered(source):
    variables = dict(jinja_cases.VARIABLES)
    return ChatTemplate(source).render(variables.pop("messages"), **variables)


def answers():
    return json.loads(jinja_cases.ANSWERS.read_text())


def test_answers_are_those_of_the_cases():
    assert [answer["template"] for answer in answers()] == jinja_cases.templates()


@pytest.mark.parametrize("answer", answers(), ids=lambda answer: answer["template"][:60])
def test_as_jinja2(answer):
    if "text" in answer:
        assert rendered(answer["template"]) == answer["text"]
        return
    with pytest.raises(ValueError) as raised:
        rendered(answer["template"])
    assert f": {answer['error']}: " in str(raised.value)
    if answer["error"] not in DIFFERENT_MESSAGES:
        assert answer["message"] in str(raised.value)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
def test_recorded_conversations():
    data = json.loads((SHARED / "chat_templates.json").read_text())
    templates = {name: ChatTemplate(source) for name, source in data["templates"].items()}
    assert len(data["cases"]) == 196
    for case in data["cases"]:
        variables = {"enable_thinking": case["enable_thinking"]} if "enable_thinking" in case else {}

        def render(case=case, variables=variables):
            return templates[case["template"]].render(
                data["conversations"][case["conversation"]],
                tools=data["tools"] if case.get("tools") else None,
                add_generation_prompt=case["add_generation_prompt"],
                bos_token="<s>",
                eos_token="</s>",
                **variables,
            )

        if "text" in case:
            assert render() == case["text"], case
        else:
            with pytest.raises(ValueError) as raised:
                render()
            assert case["error"] in str(raised.value)


@pytest.fixture
def folder(tmp_path):
    if not (SHARED / "stories260k").is_dir():
        pytest.skip("no shared data (WEFT_SHARED_DATA)")
    for file in (SHARED / "stories260k").iterdir():
        (tmp_path / file.name).symlink_to(file)
    return tmp_path


QUESTION = [{"role": "user", "content": "Hi"}]


def test_files_of_a_checkpoint(folder):
    assert ChatTemplate.open(folder).name == "llama2"  # no template: the family's
    config = folder / "tokenizer_config.json"
    config.write_text(
        json.dumps(
            {"chat_template": "A{{ bos_token }}{{ messages[0].content }}", "bos_token": {"content": "<s>"}}
        )
    )
    template = ChatTemplate.open(folder)
    assert template.render(QUESTION) == "A<s>Hi" and template.names == ["default"]
    assert template.encode(QUESTION)[1:2] != [1] and 1 in template.encode(QUESTION)
    named = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "{{ tools | length }} tools"},
    ]
    config.write_text(json.dumps({"chat_template": named}))
    template = ChatTemplate.open(folder)
    assert template.names == ["default", "tool_use"]
    assert template.render(QUESTION) == "plain"
    assert template.render(QUESTION, tools=[{"type": "function"}]) == "1 tools"
    (folder / "chat_template.jinja").write_text("file {{ documents }} {{ enable_thinking }}\n")
    template = ChatTemplate.open(folder)
    assert template.render(QUESTION, documents=["d"], enable_thinking=False) == "file ['d'] False"
    model = weft.models.CausalModel.from_pretrained(folder)
    assert model.chat_template.name == "'chat_template.jinja'"
    assert model.generate(QUESTION, max_new_tokens=4, chat_variables={"enable_thinking": True})


def test_special_tokens_of_messages_are_text(folder):
    (folder / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}")
    template = ChatTemplate.open(folder)
    tokenizer = weft.models.Tokenizer.open(str(folder))
    said = "a</s>b<s>"
    ids = template.encode([{"role": "user", "content": said}])
    assert ids.count(1) == 1 and ids.count(2) == 1 and ids[0] == 1 and ids[-1] == 2
    assert tokenizer.decode(ids).replace(" ", "") == said
    assert template.render([{"role": "user", "content": said}]) == f"<s>{said}</s>"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[]", "not a JSON object"),
        ('{"chat_template": 5}', "must be a text or a list"),
        ('{"chat_template": [{"name": "a"}]}', "without a name or a template"),
        ('{"chat_template": "{% if %}"}', "chat template of 'tokenizer_config.json': TemplateSyntaxError"),
        (
            '{"chat_template": [{"name": "other", "template": "x"}]}',
            "there is none named 'default'; there are other",
        ),
    ],
)
def test_damaged_files(folder, config, message):
    (folder / "tokenizer_config.json").write_text(config)
    with pytest.raises(ValueError) as raised:
        ChatTemplate.open(folder).render(QUESTION)
    assert message in str(raised.value)


def test_wrong_arguments():
    template = ChatTemplate("{{ messages | length }}")
    assert template.render([]) == "0"
    with pytest.raises(TypeError, match="a message is"):
        template.render(["text"])
    with pytest.raises(TypeError, match="what JSON has, not object"):
        template.render([], thing=object())
    with pytest.raises(ValueError, match="without a tokenizer"):
        template.encode([])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "takes more than"),
        (
            "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
            "MiB",
        ),
        ("{{ 'a' * 999999999999 }}", "MiB"),
        ("{{ 'abc'.ljust(9999999999) }}", "MiB"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
            "nested",
        ),
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
            "",
        ),
        ("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "nested"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deep"),
        ("{{ " + "-" * 5000 + "1 }}", "nested too deep"),
        ("{{ x" + ".a" * 5000 + " }}", "nested too deep"),
        ("{{ 1" + " + 1" * 5000 + " }}", "nested too deep"),
        ("{% if a %}" * 5000, "nested too deep"),
        ("{{ 99999999999999999999 }}", "64 bits"),
        ("{{ 9223372036854775807 + 1 }}", "64 bits"),
        ("{% include 'x' %}", "the tag 'include' is not supported"),
        ("{{ 'x' | wordwrap }}", "'wordwrap' is not supported"),
    ],
)
def test_limits(source, message):
    with pytest.raises(ValueError) as raised:
        ChatTemplate(source).render([])
    assert message in str(raised.value)
