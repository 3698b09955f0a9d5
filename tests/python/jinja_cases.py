"""Templates of every construct, with jinja2's answers in jinja_answers.json.

`python jinja_cases.py` under a Python that has jinja2 3.1 records them, in the environment that transformers makes.
"""

import json
import pathlib

ANSWERS = pathlib.Path(__file__).with_name("jinja_answers.json")

VARIABLES = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi\nthere  "},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1, "a": [True, None, 2.5]}}}],
        },
        {"role": "tool", "content": "naïve 漢字 🙂 \"q\" <t> & 'x'"},
    ],
    "n": 7,
    "x": 2.5,
    "s": "Hello World",
    "empty": "",
    "words": ["b", "A", "c", "a"],
    "numbers": [3, 1, 2, 10],
    "people": [
        {"name": "Ann", "age": 31, "home": {"city": "Oslo"}},
        {"name": "bob", "age": 25, "home": {"city": "rome"}},
        {"name": "Cid", "age": 31, "home": {"city": "Oslo"}},
    ],
    "d": {"z": 1, "a": {"k": "v", "items": 5}, "list": [1, 2], "items": "shadow"},
    "tree": [
        {"n": "1", "c": [{"n": "1.1", "c": []}, {"n": "1.2", "c": [{"n": "1.2.1", "c": []}]}]},
        {"n": "2", "c": []},
    ],
    "nothing": None,
    "yes": True,
}

EXPRESSIONS = """
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3, 7 / 2, 2 ** 10, 2 ** -1, 2 ** 3 ** 2
-7 // 2.0, 7.5 % 2, -7.5 % 2, 1e3 // 7
-n, +n, --n, -x | abs, -n | abs
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0 == true, 'a' < 'b', [1, 2] < [1, 3], (1,) <= (1, 0)
1 in [1, 2], 3 not in [1, 2], 'el' in s, 'z' in d, 'q' not in d, 2 in (1, 2), 2 in range(3)
not yes, not empty, not nothing and yes, yes or missing, nothing or 'x', empty and 'y'
n if yes else x, n if empty, (n if nothing) is undefined, 1 if nothing else 2 if nothing else 3
'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ missing
[1, 'two', 3.0, none, true, [], {}, (), (1,), (1, 2)]
{'a': 1, 'b': [1, {'c': none}], 3: 'x', 2.5: 'y', true: 'z'}
1.0, 0.1, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 1.5e300, 3.14159, 100.0, 1e22, 0.30000000000000004, -0.0
1_000, 0x1F, 0o17, 0b101, 1_0.5, 1e3, 1E-2
'it\\'s', "say \\"hi\\"", 'tab\\tnew', 'back\\\\slash', '\\x41\\u00e9\\101', 'a' 'b' "c"
['it\\'s', "say \\"hi\\"", 'both \\' and "', 'tab\\tnew\\n', 'é', '\\x00\\x7f', '\\u200b', '🙂']
s[0], s[-1], s[1:4], s[:-1], s[::-1], s[::2], s[10:2:-3], s[100:], s[-3:], 'naïve 漢字'[4:7]
numbers[0], numbers[-1], numbers[1:], numbers[::-1], numbers[:2], numbers[5:], numbers[-100:2], (1, 2, 3)[1:]
range(10)[2:8:2] | list, range(5)[-1], range(10, 0, -3) | list, range(3)
d.z, d['z'], d.a.k, d['a']['k'], d.list[1], d.get('z'), d.get('q'), d.get('q', 'dflt'), d['items']
d.a['items'], d.a.items() | list, d.keys() | list, d.values() | list | length, d.items() | map('first') | list
messages[0].role, messages[0]['content'], messages[-1].role, messages[1:][0].content
missing, missing is defined, missing is undefined, d.q is defined, d.q.r is defined
missing.attr
missing + 1
missing()
d.q.r
d.nope()
n.foo, n.foo is defined, s.foo is defined, none.x is defined
messages[9] is defined, messages[9].role
s.upper(), s.lower(), s.title(), s.swapcase(), s.capitalize(), 'hELLO'.capitalize(), 'élan vital'.upper(), 'ß'.upper()
' a b '.strip(), ' a b '.lstrip() ~ '|', ' a b '.rstrip() ~ '|', 'xxaxx'.strip('x'), 'abcba'.lstrip('ab'), '\\n\\ta\\u3000'.strip()
'a,b,,c'.split(','), 'a b  c'.split(), 'a b c d'.split(' ', 1), 'a b c d'.rsplit(' ', 1), ' a  b '.split(none, 1), ''.split(), ''.split(','), ' a b  '.rsplit(none, 1)
'a\\nb\\r\\nc\\n'.splitlines(), 'a\\nb'.splitlines(true), 'a\\u2028b'.splitlines()
s.startswith('Hell'), s.startswith(('x', 'H')), s.endswith('ld'), s.endswith('x'), s.startswith('lo', 3)
s.find('o'), s.rfind('o'), s.find('zz'), s.index('W'), 'naïve x'.find('x'), s.count('l'), s.count('')
s.index('zz')
s.replace('l', 'L'), s.replace('l', 'L', 1), 'abc'.replace('', '-'), 'aaa'.replace('aa', 'b')
'-'.join(['a', 'b']), ''.join(words), ', '.join(d)
'-'.join([1])
'5'.zfill(3), '-5'.zfill(4), 'ab'.center(6, '*'), 'ab'.center(5) ~ '|', 'abc'.center(6, '*'), 'ab'.ljust(4) ~ '|', 'ab'.rjust(4)
'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x'), 'prefix_x'.removeprefix('prefix_'), 'x.py'.removesuffix('.py')
'abc'.isalpha(), 'ab1'.isalnum(), '12'.isdigit(), '1.2'.isdigit(), ' '.isspace(), ''.isspace(), 'Ab'.isupper(), 'AB'.isupper(), 'ab'.islower(), 'Ab Cd'.istitle(), '²'.isdigit(), '²'.isdecimal()
'{} {}'.format(1, 'a'), '{1} {0}'.format(1, 2), '{a} {b!r}'.format(a=1, b='x'), '{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c'), '{:.2f} {:05d} {:+d} {:,} {:x} {:%}'.format(3.14159, 42, 7, 1234567, 255, 0.5), '{{}}'.format()
'{0[k]} {0.k}'.format(d.a)
'%s and %d and %.2f and %r and %5s|%-5s|%05d and %x and %%' % ('a', 3, 2.5, 'q', 'r', 'l', 42, 255)
'%s' % 'one', '%(a)s-%(b)d' % {'a': 1, 'b': 2}, '%c' % 'x', '%e' % 1234.5, '%g' % 0.0001, '%s' % [1, 2]
'%d' % 'x'
'%s %s' % 'one'
'%s' % ('a', 'b')
words.index('A'), words.count('a'), words.copy() | length, (1, 2, 1).count(1)
words.append('x')
d.update({'q': 1})
d.pop('z')
s.__class__
s.__class__.__mro__
s | attr('__class__')
d | attr('z') is defined, d | attr('keys') is defined
words | sort, words | sort(reverse=true), words | sort(case_sensitive=true), numbers | sort
people | sort(attribute='name') | map(attribute='name') | join(','), people | sort(attribute='age,name') | map(attribute='name') | list
people | map(attribute='home.city') | unique | list, people | map(attribute='q', default='-') | list, people | map('length') | list
people | selectattr('age', 'equalto', 31) | map(attribute='name') | list, people | rejectattr('age', 'gt', 30) | map(attribute='name') | list
people | selectattr('name') | list | length, people | selectattr('q') | list, people | selectattr('q', 'undefined') | list | length
numbers | select('odd') | list, numbers | reject('even') | list, [0, 1, '', 'a', none] | select | list, [0, 1] | reject | list
numbers | select('gt', 2) | list, words | select('in', ['a', 'b']) | list, numbers | select('divisibleby', 2) | list
words | map('upper') | join('-'), ['a ', ' b'] | map('trim') | list, [1.5, 2.5] | map('int') | list, ['x'] | map('replace', 'x', 'y') | list
numbers | min, numbers | max, numbers | sum, words | min, people | max(attribute='age'), [] | min, people | sum(attribute='age'), [[1], [2]] | sum(start=[])
words | first, words | last, [] | first, [] | last, s | first, s | last
words | length, d | length, s | length, '漢字' | length, missing | length, words | count
n | length
none | length
words | join, words | join(', '), people | join(', ', attribute='name'), [1, none, true] | join('|'), 'abc' | join('.')
words | reverse | list, s | reverse, d | list, s | list, (1, 2) | list, range(3) | list
d | dictsort, {'b': 1, 'A': 2} | dictsort, {'b': 1, 'A': 2} | dictsort(true), {'b': 1, 'a': 2} | dictsort(false, 'value'), {'b': 1, 'a': 2} | dictsort(reverse=true)
d | items | list, missing | items | list
n | items | list
people | groupby('age') | list | length, (people | groupby('home.city') | first).grouper, (people | groupby('age'))[1].list | length
numbers | batch(3) | list, numbers | batch(3, 0) | list, numbers | slice(3) | list, range(7) | slice(3, 'x') | list
missing | default('d'), nothing | default('d'), nothing | default('d', true), empty | d('e', true), missing | default
x | round, 2.5 | round, 3.5 | round, 2.675 | round(2), 42.55 | round(1, 'floor'), 42.51 | round(1, 'ceil'), 7 | round, 1234.5 | round(-2), 2.567 | round(precision=1)
'12' | int, 'x' | int, 'x' | int(5), '3.7' | int, 3.7 | int, '0x1f' | int(base=16), '1_000' | int, ' 4 ' | int, true | int, none | int, [] | int(-1), '-5' | int
'2.5' | float, 'x' | float, 'x' | float(1.5), 3 | float, none | float, '1e3' | float, 'inf' | float
x | string, n | string ~ '!', none | string, true | string, missing | string
s | upper, s | lower, 'hello world' | title, 'hello-big (world)' | title, 'HELLO' | capitalize, 42 | upper, none | lower
'  a ' | trim ~ '|', 'xxaxx' | trim('x'), 5 | trim
s | replace('l', 'L'), s | replace('l', 'L', 2), 123 | replace(2, 'x')
'a\\nb\\n\\nc' | indent, 'a\\nb' | indent(2, true), 'a\\n\\nb' | indent(blank=true), 'a\\nb' | indent('> '), 'a\\nb' | indent(width=2, first=true)
'foo bar baz qux' | truncate(9), 'foo bar baz qux' | truncate(9, true), 'foo bar baz qux' | truncate(11), 'foo bar baz qux' | truncate(11, false, '...', 0), 'x' | truncate
'a b  c' | wordcount, 'ab' | center(6) ~ '|', 'a/b c&é' | urlencode, {'a b': 1, 'c': 'd&'} | urlencode
1000 | filesizeformat, 1 | filesizeformat, 1500000 | filesizeformat, 1024 | filesizeformat(true), '5' | filesizeformat
'%s-%s' | format('a', 1), '%(k)s' | format(k='v')
'<a & "b">' | e, '<b>' | escape ~ '<c>', ('<b>' | e) + '<c>', '<b>' | safe, ('<b>' | safe) + '<c>', '<b>' | forceescape, '<b>' | e | e, ['<b>' | safe]
{'class': 'a', 'id': none, 'x': '<'} | xmlattr
d | tojson, messages | tojson, [1.0, 1e20, 2.5e-7, true, none, 'é\\n\\t"\\\\/'] | tojson, (1, 2) | tojson
d | tojson(indent=2), [] | tojson(indent=2), {} | tojson(indent=4), [[], {}, [1]] | tojson(indent=1)
d | tojson(sort_keys=true), 'é🙂' | tojson(ensure_ascii=true), d | tojson(separators=(',', ':')), {1: 2, none: 3, true: 4, 2.5: 5} | tojson
messages[2].tool_calls[0].function.arguments | tojson(ensure_ascii=false), '<&>\\'' | tojson, '\\x07\\x7f' | tojson
missing | tojson
d.keys() | tojson
3 is odd, 4 is even, 9 is divisibleby 3, 9 is divisibleby(2), n is number, s is string, d is mapping, words is sequence, words is iterable, n is iterable
none is none, yes is true, yes is boolean, nothing is none, n is integer, x is float, x is integer, true is integer, true is number, d is sequence, s is sequence, d.items() is sequence
'abc' is lower, 'ABC' is upper, 1 is sameas 1, none is sameas none, s is callable, range is callable, 1 is in [1], 'a' is in 'abc', n is eq 7, n is ne 7, n is lt 8, n is ge(7), 5 is not none
'upper' is filter, 'nope' is filter, 'odd' is test, 'nope' is test, ('<' | e) is escaped, '<' is escaped
dict(a=1, b=2), dict([('a', 1)]), dict({'x': 1}, y=2), dict()
range(3) | list, range(1, 4) | list, range(0, 10, 3) | list
range(1000000)
range(1, 2, 0)
namespace(a=1).a, namespace({'a': 1}, b=2).b, namespace().q is defined, namespace(a=1)
'x' * 3, 3 * 'ab', [0] * 3, (1, 2) * 2, [1] + [2], (1,) + (2,), 'a' + 'b', -1 * 'x'
'a' + 1
1 + 'a'
[1] + (1,)
none + 1
'a' - 'b'
'a' * 'b'
1 / 0
1 // 0
1 % 0
1.5 / 0
1 < 'a'
none < 1
[1] < 1
'a' in 5
1 in 'a'
{[1]: 2}
[1, 2][1.5] is defined, [1, 2]['0'] is defined, d[[1]] is defined, (1, 2)[true]
n[0] is defined, n[1:2]
nothing[1:2]
numbers[::0]
numbers['a':]
s(1)
s.split(1)
s.replace('a')
s | replace('a')
numbers | join(', ', bad=1)
raise_exception('my message')
raise_exception(42)
true, True, false, False, none, None
(1, 2), (1,), (), 1, 2
[1, 2, ], {'a': 1, }, (1, 2, )
n is not defined, not n is defined, n is defined and x is defined
'a' 'b' | upper, -2 ** 2, (-2) ** 2, -x | round, not 1 == 2, 2 in [1] or 3 in [3]
words | map('upper') | select('ne', 'A') | sort | join(',') | replace('B', 'X')
d.a.k | upper ~ '!' ~ (1 + 1), (d.a.k ~ '!') | upper
loop is defined, caller is defined, varargs is defined
"a" if "x" in words else "b" if "A" in words else "c"
lambda, None is none
[messages[0].content, messages | length, messages | map(attribute='role') | list]
messages | map(attribute='role') | unique | sort | join('+'), messages | selectattr('role', 'in', ['user', 'tool']) | list | length
x.is_integer(), 2.0.is_integer()
cycler('a', 'b').next(), cycler('a', 'b').current, joiner('-')()
"%s" % missing ~ "|", missing ~ "x", [missing], {'a': missing}, missing == missing, missing == 1, missing in [missing]
yes + 1, yes * 3, true + true, sum is defined, [true, false] | sum
1 | nofilter if false else 2
1 if false else 2 | nofilter
""".strip().split("\n")  # fmt: skip

TEMPLATES = [
    "",
    "plain\n",
    "two\n\n",
    "a\r\nb\rc\n",
    "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in [1, 1, 2, 2, 3] %}{{ loop.changed(x) }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}{% for x in [1] %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in numbers if x > 2 %}{{ loop.index }}/{{ loop.length }}={{ x }} {% else %}no{% endfor %}",
    "{% for x in numbers if x > 20 %}{{ x }}{% else %}no{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a, b in [(1,)] %}{{ a }}{% endfor %}",
    "{% for a, b in [1] %}{{ a }}{% endfor %}",
    "{% for c in 'añb' %}[{{ c }}]{% endfor %}{% for k in d %}{{ k }} {% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "{% for x in missing %}{{ x }}{% else %}nothing{% endfor %}",
    "{% for x in range(6) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for a in [1, 2] %}{% for b in [1, 2, 3] %}{% if b == 2 %}{% break %}{% endif %}{{ a }}{{ b }}{{ loop.index }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% set x = 0 %}{% for i in range(3) %}{{ x }}{% set x = x + 1 %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(x=0, seen=[]) %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% set ns.seen = ns.seen + [i] %}{% endfor %}{{ ns.x }}{{ ns.seen }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (p, q) = [3, 4] %}{{ p + q }}",
    "{% set d.z = 1 %}",
    "{% set undefined_ns.x = 1 %}",
    "{% set t %}block {{ n }}{% endset %}[{{ t }}]{% set u | upper | replace('A', 'b') %}abc{% endset %}{{ u }}",
    "{% if n > 10 %}a{% elif n > 5 %}b{% elif x %}c{% else %}d{% endif %}{% if nothing %}{% else %}e{% endif %}",
    "{% if n == 7 %}{% set inner = 'visible' %}{% endif %}{{ inner }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set a = 5 %}{{ a }}{% endwith %}{{ a is defined }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 5) }} {{ m(1, c=9) }} {{ m(b=1, a=2) }} {{ m() }}",
    "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
    "{% macro outer() %}<{{ caller() }}>{% endmacro %}{% call outer() %}in {{ n }}{% endcall %}",
    "{% macro each(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, i=0) each(['a', 'b']) %}{{ i }}:{{ v }};{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro a() %}{{ g }}{% endmacro %}{% set g = 'late' %}{{ a() }}{% set g = 'later' %}{{ a() }}",
    "{% macro a() %}{% set leak = 1 %}{% endmacro %}{{ a() }}{{ leak is defined }}",
    "{% for i in [1, 2] %}{% macro q() %}{{ i }}{% endmacro %}{{ q() }}{% endfor %}",
    "{% for item in tree recursive %}{{ item.n }}({{ loop.depth }}{{ loop.index }}){% if item.c %}[{{ loop(item.c) }}]{% endif %};{% endfor %}",
    "{% for item in tree %}{{ loop(item.c) }}{% endfor %}",
    "{% filter upper %}shout {{ n }}{% endfilter %}{% filter replace('a', 'b') | upper %}banana{% endfilter %}",
    "{% raw %}{{ raw }} {% if %}{# c #}{% endraw %}|{%- raw -%}  x  {%- endraw -%}  y",
    "a {# comment #} b {#- strip -#} c\n{# own line #}\nd",
    "{# multi\nline #}\nx",
    "  {% if yes %}\n    text\n  {% endif %}\nend",
    "a\n  {%- if yes %} b {% endif -%}  \n c",
    "a  {%+ if yes %} b{% endif +%}\nc",
    "  {%+ if yes %}x{% endif %}",
    "{{ 1 }}\n{{ 2 }}\n\n{{- 3 -}}\n 4",
    "  {{ 1 }}  \n  {{- 2 }}",
    "{% set a = 1 %}\n{% set b = 2 -%}\n\n x",
    "{% for x in [1, 2] %}\n{{ x }}\n{% endfor %}\n",
    "{% for x in [1, 2] -%}\n  {{ x }}\n{%- endfor %}\n",
    "<ul>\n    {% for x in [1] %}\n    <li>{{ x }}</li>\n    {% endfor %}\n</ul>",
    "\t {% if yes %}\n\ta\n\t{% endif %}",
    "x {% if yes %}\n y{% endif %}",
    "{{ '}}' }}{{ '%}' }}{{ {'a': {'b': 1}}['a']['b'] }}{{ {'a': {'b': 1}}}}",
    "{{ messages[0]['content'] }}{% generation %}G{{ n }}{% set inside = 1 %}{% endgeneration %}{{ inside is defined }}",
    "{% block title %}B{{ n }}{% endblock %}",
    "{% print n %}",
    "{%- for m in messages -%}\n{%- if m.role == 'user' -%}\n[U] {{ m.content | trim }}\n{%- elif m.tool_calls -%}\n{%- for t in m.tool_calls -%}{{ t.function.name }}({{ t.function.arguments | tojson }}){%- endfor -%}\n{%- else -%}\n({{ m.role }})\n{%- endif -%}\n{%- endfor -%}",
    "{% set loop_messages = messages[1:] if messages[0].role == 'system' else messages %}{{ loop_messages | length }}",
    "{% set ns = namespace(found=false) %}{% for m in messages[::-1] %}{% if m.role == 'user' and not ns.found %}{% set ns.found = true %}{{ messages | length - loop.index }}{% endif %}{% endfor %}",
    "{{ n }}{% set n = 8 %}{{ n }}",
    "{% set x = [] %}{% for i in range(2) %}{% set x = x + [i] %}{% endfor %}{{ x }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}",
    "{% set j = joiner() %}{{ j() }}x{{ j() }}y{{ j() }}",
    "{% set m = numbers | map('string') %}{{ m | join(',') }}|{{ m | join(',') }}",
    "{{ numbers | map('string') | length }}",
    "{% set g = words | unique %}{{ g is iterable }}{{ g | list }}{{ g | list }}",
    "{% for g in people | groupby('age') %}{{ g.grouper }}:{{ g.list | map(attribute='name') | join('+') }} {% endfor %}{% for k, v in people | groupby('age') %}{{ k }}{{ v | length }}{% endfor %}",
    "{% set f = 'upper' %}{{ ['a'] | map(f) | list }}",
    "{{ dict(people[0], age=5)['age'] }}{{ dict(**people[0])['name'] }}{{ '{}{}'.format(*[1, 2]) }}",
    "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}",
    "{% if yes %}{{ nope }}{{ nope2.x if false }}{% endif %}",
    "{% set s2 = s.split(' ') %}{{ s2[0] }}{{ s2 | last }}{% for w in s2 %}{{ w | first }}{% endfor %}",
    "{% if messages[2].content is none %}none{% endif %}{% if messages[2].content is string %}string{% endif %}{{ messages[2].content or 'empty' }}",
    "{{ messages[2].content + 'x' }}",
    "{{ raise_exception('Conversation roles must alternate') }}",
    "{% for a in [1,2,3] %}{% for b in [1,2] if b != a %}{{ a }}{{ b }}{% if not loop.last %},{% endif %}{% endfor %};{% endfor %}",
    "{% set x %}{% for i in range(3) %}{{ i }}{% endfor %}{% endset %}{{ x | length }}{{ x is string }}",
    "{{ strftime_now('%%') }}{{ strftime_now('%Y') | length }}",
    # What is no template.
    "{% if %}", "{% if x %}", "{% endif %}", "{{ }}", "{{ x", "{% for x in %}{% endfor %}", "{% for in x %}{% endfor %}",
    "{{ 1 + }}", "{{ (1 }}", "{{ 1) }}", "{{ [1 }}", "{{ x.1a }}", "{% foo %}", "{% set %}", "{% set 1 = 2 %}", "{% set x %}",
    "{{ x | }}", "{{ x | nofilter }}", "{{ x is notest }}", "{{ x is }}", "{# never ends", "{% raw %} never ends", "{{ 'open }}",
    "{{ x ! y }}", "{{ f(a=1, 2) }}", "{% macro %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% for x in y %}{% endif %}",
    "{{ a b }}", "{% if x %}{% else %}{% else %}{% endif %}", "{% set none = 1 %}", "{{ x is defined is defined }}", "{% break", "{% do x %}",
    "{% call 1 %}{% endcall %}", "{% set true = 1 %}", "{{ {1} }}", "{{ $ }}",
]  # fmt: skip


def templates():
    return ["{{ [" + e + "] }}" if ", " in e else "{{ " + e + " }}" for e in EXPRESSIONS] + TEMPLATES


def record():
    import datetime

    import jinja2
    import jinja2.ext
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda format: datetime.datetime.now().strftime(format)
    answers = []
    for source in templates():
        try:
            answer = {"text": environment.from_string(source).render(**json.loads(json.dumps(VARIABLES)))}
        except Exception as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        answers.append({"template": source, **answer})
    ANSWERS.write_text(json.dumps(answers, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    record()
