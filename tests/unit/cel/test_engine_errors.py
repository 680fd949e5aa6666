import pytest

from podberth.cel.engine import CelType, CompileError, Environment, Expression, Want
from podberth.cel.engine_errors import Vocabulary, explain, failure
from podberth.cel.mistakes import Around


def problems(environment: Environment, source: str, want: Want = Want.ANY) -> list[str]:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    variables: dict[str, CelType | Expression] = {"nodes": nodes, "level": CelType("string")}
    with pytest.raises(CompileError) as caught:
        environment.compile(source, want=want, variables=variables)
    return [f"{each.line}:{each.column}: {each.message}" for each in caught.value.problems]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("object.metdata.name", "1:8: undefined field 'metdata' in Pod; did you mean metadata?"),
        ("object.spec.zzz", "1:13: undefined field 'zzz' in PodSpec"),
        ("object.labels.a == 'b'", "1:8: undefined field 'labels' in Pod; write metadata.labels"),
        ("has(object.spec.nodename)", "1:17: undefined field 'nodename' in PodSpec; did you mean nodeName?"),
        ("gpu.perContaner > 1", "1:5: undefined field 'perContaner' in Gpu; did you mean perContainer?"),
        ("request.uid", "1:9: undefined field 'uid' in Request"),
        ("object.metadata.  lables", "1:19: undefined field 'lables' in ObjectMeta; did you mean labels?"),
        ("'é' + object.foo", "1:14: undefined field 'foo' in Pod"),
        ("gpu.count > 1 &&\n  object.speck == null", "2:10: undefined field 'speck' in Pod; did you mean spec?"),
        (
            "NVIDIA-H100-80GB-HBM3",
            """1:1: NVIDIA-H100-80GB-HBM3 is no expression; if it is a text, quote it: "'NVIDIA-H100-80GB-HBM3'\"""",
        ),
        ("nvidia", """1:1: nvidia is no expression; if it is a text, quote it: "'nvidia'\""""),
        ("inference", """1:1: inference is no expression; if it is a text, quote it: "'inference'\""""),
        ("any", """1:1: any is no expression; if it is a text, quote it: "'any'\""""),
        ("gpuu", "1:1: undeclared reference to 'gpuu'; did you mean gpu?"),
        ("gpu.count.all(c, c.x['y']", "1:26: Syntax error: got the end, want ')'"),
        ("topolgy.known", "1:1: undeclared reference to 'topolgy'; did you mean topology?"),
        (
            "topology.node(gpu).exist",
            "1:10: undeclared reference to 'node'; did you mean nodes?",
        ),
        (
            "object.metadata.name.stratsWith('a')",
            "1:22: undeclared reference to 'stratsWith'; did you mean startsWith?",
        ),
        ("gpu-batch", "1:1: gpu-batch is a subtraction of unknown names; if it is a text, quote it: \"'gpu-batch'\""),
        (
            "gpu.vendor == my-own-vendor",
            "1:15: my-own-vendor is a subtraction of unknown names; if it is a text, quote it: 'my-own-vendor'",
        ),
        ("'x-batch' + batch", "1:13: undeclared reference to 'batch'; a text has quotes; did you mean 'batch'?"),
        ("gpu.count-batch", "1:11: undeclared reference to 'batch'"),
        ("variables.nods.exist", "1:11: undeclared reference to 'variables.nods'; did you mean nodes?"),
        ("variables.zzz", "1:11: undeclared reference to 'variables.zzz'; declared before it: level, nodes"),
        ("variables.nodes.terns", "1:17: undefined field 'terns' in Nodes; did you mean terms?"),
        ("1 +", "1:4: Syntax error: got the end, want a value"),
        ("", "1:1: Syntax error: got the end, want a value"),
        ("'a' + 1", "1:5: found no matching overload for '_+_' applied to '(string, int)'; write string(...)"),
        (
            "true ? 'a' : null",
            (
                "1:6: found no matching overload for '_?_:_' applied to '(bool, string, null_type)';"
                " write condition ? optional.of(value) : optional.none()"
            ),
        ),
        (
            "object.spec.nodeName == null",
            (
                "1:22: found no matching overload for '_==_' applied to '(string, null_type)';"
                " ask has(...) instead of comparing with null"
            ),
        ),
        ("gpu.count > 1 and gpu.known", "1:15: Syntax error: CEL has no and; write &&"),
        ("gpu.count = 1", "1:11: Syntax error: CEL has no =; write =="),
        ("object.metadata.name not in ['a']", "1:22: Syntax error: CEL has no not; write !(a)"),
        ("gpu.vendor =~ 'a'", "1:12: Syntax error: CEL has no =~; write a.matches(b)"),
        ("[{key: 'a'}]", "1:3: key is no known name; if it is the key of a map, quote it: 'key'"),
        ("{'a': 1, b : 2}", "1:10: b is no known name; if it is the key of a map, quote it: 'b'"),
        ("gpu.count > 1 ? ley : 2", "1:17: undeclared reference to 'ley'; a text has quotes; did you mean 'ley'?"),
        ("len('a')", "1:1: undeclared reference to 'len'; write size(a)"),
        (
            "object.spec.containers.name",
            "1:23: a list has no fields; write a[0].b, a.all(x, condition), or size(a) for the number of its items",
        ),
        (
            "['a'].contains('a')",
            "1:15: found no matching overload for 'contains' applied to '(list(string), string)'; write b in a",
        ),
        (
            "'a'.contains(1)",
            "1:13: found no matching overload for 'contains' applied to '(string, int)'",
        ),
        (
            "!gpu.vendor in ['a']",
            (
                "1:1: found no matching overload for '!_' applied to '(string)';"
                " write parentheses around what is negated, as in !(a in b)"
            ),
        ),
        (
            "[quantity('1')].sum()",
            (
                "1:20: found no matching overload for 'sum' applied to '(list(kubernetes.Quantity))';"
                " sum numbers, such as those of asApproximateFloat()"
            ),
        ),
        ("Object{spec: 1}", "1:1: Object{...} is not known here; write a map: {'key': value}"),
        ("k8s.Pod{}", "1:1: k8s.Pod{...} makes an object; write a map: {'key': value}"),
        ("variables.nodes.?exist", "1:16: Nodes has all its fields always; write . instead of .?"),
    ],
)
def test_a_mistake_is_named_at_its_place_with_what_was_meant(
    environment: Environment, source: str, expected: str
) -> None:
    assert problems(environment, source)[0] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "gpu.count > 0 if gpu.kind == 'whole' else false",
            ("1:15: Syntax error: CEL has no a if c else b; write gpu.kind == 'whole' ? gpu.count > 0 : false"),
        ),
        ("('a' if gpu.count > 0 else 'b') == 'a'", "1:6: Syntax error: CEL has no a if c else b; write c ? a : b"),
        ("gpu.kind in ('whole', 'mig')", "1:21: Syntax error: CEL has no tuples; write in ['whole', 'mig']"),
        ("gpu.kind in 'whole', 'mig'", "1:20: Syntax error: CEL has no tuples; write in ['whole', 'mig']"),
        ("gpu.count in (1, 2)", "1:16: Syntax error: CEL has no tuples; write in [1, 2]"),
        ("gpu.kind in (gpu.vendor, 'mig')", "1:24: Syntax error: CEL has no tuples; write a in [b, c]"),
        (
            "{{ request.object.metadata.name }} == 'x'",
            ("1:33: Syntax error: CEL has no {{ }}; write what is between the braces, with object for request.object"),
        ),
        (
            "{{ if .Values.x }}true{{ end }}",
            ("1:17: Syntax error: CEL has no {{ }}; write what is between the braces, with object for request.object"),
        ),
        ("gpu.kind === 'whole'", "1:12: Syntax error: CEL has no ===; write =="),
        ("gpu.kind !== 'whole'", "1:12: Syntax error: CEL has no !==; write !="),
        ("object.metadata?.labels == null", "1:32: Syntax error: CEL has no a?.b; write a.?b"),
        (
            "gpu.kind == `whole`",
            ("1:13: Syntax error: CEL has no `a`; write 'a', and 'a' + string(b) for a text with values"),
        ),
        (
            "gpu.kind == `${gpu.kind}`",
            ("1:13: Syntax error: CEL has no `a`; write 'a', and 'a' + string(b) for a text with values"),
        ),
        ("gpu.count > 0 OR gpu.kind == 'x'", "1:15: Syntax error: CEL has no OR; write ||"),
        ("not gpu.count > 0", "1:5: Syntax error: CEL has no not; write !(a)"),
        ("gpu.kind not in ['whole']", "1:10: Syntax error: CEL has no not; write !(a)"),
        ("object.metadata.labels is not None", "1:24: Syntax error: CEL has no is not; write !="),
        ("f'{gpu.count} GPUs' == 'x'", "1:2: Syntax error: CEL has no f'...'; write 'a' + string(b)"),
        (
            "gpu.kind[0:2] == 'wh'",
            ("1:11: Syntax error: CEL has no a[i:j]; write a.substring(i, j) for a text, a.slice(i, j) for a list"),
        ),
        (
            "[c.name for c in object.spec.containers].size() > 0",
            (
                "1:9: Syntax error: CEL has no for; write a.map(x, b), a.filter(x, c), a.all(x, condition) or "
                "a.exists(x, condition)"
            ),
        ),
        (
            "object.spec.containers.exists(lambda c: c.name == 'x')",
            "1:38: Syntax error: CEL has no lambda; write a.exists(x, condition)",
        ),
        (
            "object.spec.containers.some(c => c.name == 'x')",
            "1:31: Syntax error: CEL has no =>; write a.exists(x, condition)",
        ),
        (
            "object.spec.containers.map(c -> c.name) == []",
            "1:31: Syntax error: CEL has no ->; write a.exists(x, condition)",
        ),
        ("gpu.count > 0 # only GPUs", "1:15: Syntax error: CEL has no #; write the comment in YAML, above the field"),
        (
            "gpu.count > 0;",
            ("1:14: Syntax error: CEL has no ;; write && between conditions, and each part as one of spec.variables"),
        ),
        ("x := gpu.count; x > 0", "1:3: Syntax error: CEL has no :=; write each part as one of spec.variables"),
        ("gpu.count += 1", "1:12: Syntax error: CEL has no assignments; write each part as one of spec.variables"),
        ("gpu.kind <> 'whole'", "1:11: Syntax error: CEL has no <>; write !="),
        ("(object.metadata.labels ?? {}) == {}", "1:26: Syntax error: CEL has no ??; write a.?b.orValue(c)"),
        ("gpu.kind ?: 'x' == 'x'", "1:11: Syntax error: CEL has no ?:; write a.?b.orValue(c)"),
        ("2 ** 3 == 8", "1:4: Syntax error: CEL has no **; write a * a"),
        ("gpu.count > 0 & gpu.kind == 'whole'", "1:15: Syntax error: CEL has no &; write &&"),
        ("gpu.kind | upper", "1:10: Syntax error: CEL has no |; write ||, or a.f() to call a function"),
        (
            "object.spec.containers[].name",
            ("1:24: Syntax error: CEL has no a[*]; write a.all(x, condition) or a.exists(x, condition)"),
        ),
        (
            "some c in object.spec.containers",
            ("1:6: Syntax error: CEL has no some or every; write a.all(x, condition) or a.exists(x, condition)"),
        ),
        (
            "eq gpu.kind 'x'",
            ("1:4: Syntax error: CEL has no operators before their operands; write a == b, a != b, a > b or a < b"),
        ),
        ("gpu.count in 1..8", "1:16: Syntax error: CEL has no a..b; write a <= x && x <= b"),
        ("object.spec.containers.0.name == 'x'", "1:23: Syntax error: CEL has no a.0; write a[0]"),
        ("gpu.kind.match(/who.*/)", "1:16: Syntax error: CEL has no /; write a.matches('pattern')"),
        ("$gpu.count > 0", "1:1: Syntax error: CEL has no $; write the name alone"),
        ("“whole” == gpu.kind", "1:1: Syntax error: CEL has no typographic quotes; write 'a'"),
        ("gpu.memoryMiB > 40Gi", "1:19: Syntax error: CEL has no units; write the number alone, or quantity('40Gi')"),
        ("gpu.count > 1_000", "1:14: Syntax error: CEL has no numbers with _; write the digits alone"),
        ("gpu.count between 1 and 8", "1:11: Syntax error: CEL has no between; write b <= a && a <= c"),
        ("gpu.count instanceof int", "1:11: Syntax error: CEL has no instanceof; write type(a) == int"),
        ("gpu.kind contains 'who'", "1:10: Syntax error: CEL has no contains; write a.contains(b)"),
        ("return gpu.count > 0", "1:1: CEL has no return; write the value alone"),
        ("let x = 1; x > 0", "1:1: CEL has no let; write each part as one of spec.variables"),
        ("variables.my-var == 1", "1:14: CEL reserves the word var; take another name"),
        ("if(gpu.count > 0, true, false)", "1:1: CEL has no if; write c ? a : b"),
    ],
)
def test_syntax_of_another_language_is_named_with_the_form_of_cel(
    environment: Environment, source: str, expected: str
) -> None:
    assert "\n".join(problems(environment, source, Want.BOOL)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpu.count > 0)", ("1:14: Syntax error: got ')', want an operator such as &&, or the end of the expression")),
        ("gpu.kind == 'whole", "1:13: Syntax error: the text that begins here has no closing ' on its line"),
        ("(gpu.count > 0", "1:15: Syntax error: got the end, want ')'"),
        ("gpu.kind in ['whole', 'mig'", "1:28: Syntax error: got the end, want ']'"),
        ("gpu.count > 0 ? 'a'", "1:20: Syntax error: got the end, want ':'"),
        ("object.metadata.name.size > 3", "1:21: string has no fields; write a.f() to call a function"),
        (
            "gpu.count > 0, gpu.kind == 'whole'",
            ("1:14: Syntax error: got ',', want an operator such as &&, or the end of the expression"),
        ),
        (
            "gpu.count > 0\ngpu.kind == 'whole'",
            ("2:1: Syntax error: got 'gpu', want an operator such as &&, or the end of the expression"),
        ),
        ("2 ^ 3 == 8", "1:3: Syntax error: got '^'"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_is_wanted(environment: Environment, source: str, expected: str) -> None:
    assert "\n".join(problems(environment, source, Want.BOOL)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "object.metadata.labels.get('team', 'x') == 'x'",
            ("1:24: undeclared reference to 'get'; write object.metadata.?labels[?'team'].orValue('x')"),
        ),
        (
            "object.metadata.?labels.orValue({}).get('team') == 'x'",
            "1:37: undeclared reference to 'get'; write a[?'b'].orValue(c)",
        ),
        ("params.data.get('a', '') == ''", "1:13: undeclared reference to 'get'; write params.?data[?'a'].orValue('')"),
        ("variables.level.get('a')", "1:17: undeclared reference to 'get'; write a[?'b'].orValue(c)"),
        (
            "count(gpu.requests) > 0",
            "1:1: undeclared reference to 'count'; write size(a), or size(a.filter(x, condition))",
        ),
        (
            "'x' in object.metadata.labels.keys()",
            "1:31: undeclared reference to 'keys'; write 'b' in a, or a.exists(k, condition)",
        ),
        ("max([1, 2]) == 2", "1:1: undeclared reference to 'max'; write [a, b].max()"),
        ("startsWith(gpu.kind, 'wh')", "1:1: undeclared reference to 'startsWith'; write a.startsWith(b)"),
        ("gpu.count.string() == '1'", "1:11: undeclared reference to 'string'; write string(a)"),
        (
            "strings.HasPrefix(gpu.kind, 'wh')",
            (
                "1:1: undeclared reference to 'strings'; write a.startsWith(b), a.contains(b) or another "
                "function of a text\n1:9: undeclared reference to 'HasPrefix'; write a.startsWith(b)"
            ),
        ),
        (
            "re.match('a.*', gpu.kind)",
            (
                "1:1: undeclared reference to 're'; write a.matches(b)\n1:4: undeclared reference to 'match'; did"
                " you mean matches?"
            ),
        ),
        (
            "object.spec.containers.any(c, c.name == 'x')",
            "1:24: undeclared reference to 'any'; write a.exists(x, condition)",
        ),
        (
            "all(object.spec.containers, c, c.name == 'x')",
            "1:1: undeclared reference to 'all'; write a.all(x, condition)",
        ),
        ("object.spec.containers.all(c, name == 'x')", "1:31: undeclared reference to 'name'"),
        ("object.metadata.labels != nil", "1:27: undeclared reference to 'nil'; write null"),
        ("True", "1:1: undeclared reference to 'True'; write true"),
        (
            "object.spec.containers[_].name == 'x'",
            ("1:24: undeclared reference to '_'; write a.all(x, condition) or a.exists(x, condition)"),
        ),
        ("spec.containers.size() > 0", "1:1: undeclared reference to 'spec'; write object.spec"),
        ("input.request.object.spec.x == 1", "1:1: undeclared reference to 'input'; write object"),
        (
            "request.object.metadata.name == 'x'",
            "1:9: undefined field 'object' in Request; the pod is object, without request",
        ),
    ],
)
def test_a_name_of_another_language_is_named_with_the_one_of_cel(
    environment: Environment, source: str, expected: str
) -> None:
    assert "\n".join(problems(environment, source, Want.BOOL)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpu.kind == whole", "1:13: undeclared reference to 'whole'; a text has quotes; did you mean 'whole'?"),
        (
            "gpu.vendor in [nvidia, amd]",
            (
                "1:16: undeclared reference to 'nvidia'; a text has quotes; did you mean 'nvidia'?\n1:24: "
                "undeclared reference to 'amd'; a text has quotes; did you mean 'amd'?"
            ),
        ),
        (
            "gpu.requests[0].resource == nvidia.com/gpu",
            ("1:29: undeclared reference to 'nvidia'; a text has quotes; did you mean 'nvidia.com/gpu'?"),
        ),
        (
            "gpu.kind == mig",
            (
                "1:10: found no matching overload for '_==_' applied to '(string, podberth.Mig)'; a text has "
                "quotes: write 'mig'"
            ),
        ),
        (
            "only whole GPUs",
            ("1:1: only whole GPUs is no expression; if it is a text, quote it: \"'only whole GPUs'\""),
        ),
    ],
)
def test_a_text_without_quotes_is_quoted(environment: Environment, source: str, expected: str) -> None:
    assert "\n".join(problems(environment, source, Want.BOOL)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "has(object.metadata.labels.my-label)",
            ("1:5: CEL reads the - of my-label as an operator; write 'my-label' in object.metadata.labels"),
        ),
        (
            "object.metadata.labels.my-label == 'x'",
            (
                "1:1: CEL reads the - of my-label as an operator; write object.metadata.labels['my-label'], and "
                "ask 'my-label' in object.metadata.labels first"
            ),
        ),
        (
            "has(object.metadata.annotations.podberth.io/gang-size)",
            (
                "1:5: CEL reads the - of podberth.io/gang-size as an operator; write 'podberth.io/gang-size' in "
                "object.metadata.annotations"
            ),
        ),
        (
            "object.metadata.labels.nvidia.com/gpu == 'a'",
            (
                "1:1: CEL reads the / of nvidia.com/gpu as an operator; write "
                "object.metadata.labels['nvidia.com/gpu'], and ask 'nvidia.com/gpu' in object.metadata.labels "
                "first"
            ),
        ),
        (
            "object.metadata.labels.app.kubernetes.io/part-of == 'a'",
            (
                "1:1: CEL reads the - of app.kubernetes.io/part-of as an operator; write "
                "object.metadata.labels['app.kubernetes.io/part-of'], and ask 'app.kubernetes.io/part-of' in "
                "object.metadata.labels first"
            ),
        ),
        (
            "object.metadata.?labels.?my-label.hasValue()",
            (
                "1:1: CEL reads the - of my-label as an operator; write object.metadata.labels['my-label'], and "
                "ask 'my-label' in object.metadata.labels first"
            ),
        ),
        (
            "object.spec.nodeSelector.gpu-type == 'a'",
            (
                "1:1: CEL reads the - of gpu-type as an operator; write object.spec.nodeSelector['gpu-type'], "
                "and ask 'gpu-type' in object.spec.nodeSelector first"
            ),
        ),
        (
            "has(object.metadata.labels['x'])",
            "1:27: has() argument must be a field selection; write 'x' in object.metadata.labels",
        ),
        (
            "has('x')",
            (
                "1:5: has() argument must be a field selection; write has(a.b), 'b' in a for the key of a map, "
                "or size(a) > 0 for a list"
            ),
        ),
    ],
)
def test_a_key_of_a_map_that_is_no_field_is_quoted(environment: Environment, source: str, expected: str) -> None:
    assert "\n".join(problems(environment, source, Want.BOOL)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpu.kind in ('whole')", "a list has brackets: write in ['whole']"),
        ("gpu.count <= '8'", "a number has no quotes: write 8"),
        ("'8' < gpu.count", "a number has no quotes: write 8"),
        ("gpu.kind == 1", "a text has quotes: write '1'"),
        ("gpu.kind < gpu.count", "write int(...) around the text, or string(...) around the number"),
        ("true == 'true'", "true and false have no quotes: write true"),
        ("0 < gpu.count < 8", "write a < b && b < c"),
        ("gpu.count % 2.0 == 0.0", "write int(...) around the double"),
        ("gpu.count * 1.5 > 2.0", "write double(...) around the other number"),
        ("gpu.count && true", "write a condition on both sides, as in a > 0 or a != ''"),
        ("gpu.kind || 'x' == 'x'", "write a condition on both sides, as in a != ''; a default is a.?b.orValue(c)"),
        ("gpu.count ? true : false", "write a condition before ?, as in a > 0 or a != ''"),
        ("!gpu.count", "write a == 0"),
        ("!gpu.kind", "write a == ''"),
        ("!gpu.requests", "write size(a) == 0, or !has(a.b)"),
        (
            "object.spec.containers['main'].image == 'x'",
            "the index of a list is a number; write a.filter(x, x.name == b)",
        ),
        (
            "object.spec.containers[?name=='x'] == []",
            ("the index of a list is a number; write a.filter(x, condition)"),
        ),
        ("gpu.kind[0] == 'w'", "write a.charAt(b)"),
        ("'x' in object.metadata", "write has(a.b)"),
        ("object.spec.containers == 'x'", "write a.exists(x, x == b)"),
        ("['a'] + 'b' == ['a', 'b']", "write a + [b]"),
        ("'{}'.format(gpu.count) == 'x'", "write a list, and %s or %d for its items: 'a %d'.format([b])"),
        ("','.join(['a']) == 'a'", "write b.join(a)"),
        ("'%d' % gpu.count == 'x'", "write a.format([b])"),
        ("object.metadata.?labels[?'a'] == 'x'", "the value may be absent; write a.orValue(b)"),
        ("object.spec.?hostNetwork", "write a.orValue(b)"),
    ],
)
def test_operands_of_other_types_are_named_with_what_to_write(
    environment: Environment, source: str, expected: str
) -> None:
    assert problems(environment, source, Want.BOOL)[0].partition("; ")[2] == expected


def test_a_line_has_one_problem_of_syntax(environment: Environment) -> None:
    assert problems(environment, "gpu.count = 1 &&\n  gpu.count = 2") == [
        "1:11: Syntax error: CEL has no =; write ==",
        "2:13: Syntax error: CEL has no =; write ==",
    ]


def test_all_problems_are_reported_sorted(environment: Environment) -> None:
    found = problems(environment, "gpu.cont > 1 && gang.nam == '' && object.spec.x")
    assert [each.split(" in ")[0] for each in found] == [
        "1:5: undefined field 'cont'",
        "1:22: undefined field 'nam'",
        "1:47: undefined field 'x'",
    ]


def test_a_mistake_is_reported_once(environment: Environment) -> None:
    assert len(problems(environment, "object.metdata.labels.team.startsWith('a')")) == 1


def test_source_that_looks_like_the_engines_own_words_is_not_read(environment: Environment) -> None:
    assert problems(environment, "'\\\nERROR: <input>:7:7: undefined field'") != []
    assert problems(environment, "gpu.x == 'ERROR: <input>:7:7: y'") == ["1:5: undefined field 'x' in Gpu"]


@pytest.mark.parametrize(
    "source", ["+".join(["1"] * 40), "[1].map(a, " * 20 + "1" + ")" * 20, "(" * 40 + "1" + ")" * 40]
)
def test_what_is_nested_too_deeply_says_so(environment: Environment, source: str) -> None:
    assert "nested too deeply" in problems(environment, source)[0]


@pytest.mark.parametrize("said", ["has() argument must be a field selection", "undeclared reference to 'b'"])
def test_a_problem_of_a_long_line_is_explained_from_what_is_near(said: str) -> None:
    far = "x" * 100_000
    line = f"{far} has(labels.a-b) {far}"
    assert Around.place(line, 100_015) == Around(line[99_815:100_015], line[100_015:100_215])
    words = Vocabulary(frozenset(), frozenset(), frozenset(), {})
    near = explain(f"ERROR: <input>:1:{300 + 17}: {said}", f"{far[:300]} has(labels.a-b) {far[:300]}", words)
    every = "\n".join(f"ERROR: <input>:{number}:100017: {said}" for number in range(1, 101))
    found = explain(every, "\n".join([line] * 100), words)
    assert {each.message for each in found} == {near[0].message}
    assert len(found) == 100


def test_half_a_surrogate_pair_is_no_text(environment: Environment) -> None:
    assert problems(environment, "'\ud800'") == ["1:1: got half a surrogate pair, want Unicode text"]


@pytest.mark.parametrize(
    ("source", "want", "expected"),
    [
        ("gpu.count", Want.BOOL, "1:1: got int, want bool"),
        ("dyn(true)", Want.BOOL, "1:1: got dyn, want bool"),
        ("gpu.count", Want.STRING, "1:1: got int, want string; write string(...)"),
        ("variables.nodes", Want.LIST_OF_MAPS, "1:1: got podberth.Nodes, want list of maps; take its .terms"),
        ("['a']", Want.LIST_OF_MAPS, "1:1: got list(string), want list of maps"),
    ],
)
def test_a_type_that_is_of_no_use_is_refused(environment: Environment, source: str, want: Want, expected: str) -> None:
    assert problems(environment, source, want) == [expected]


def test_a_condition_on_the_namespace_is_led_to_the_selector(environment: Environment) -> None:
    with pytest.raises(CompileError, match=r"gpu, object; matchConstraints.namespaceSelector matches"):
        environment.compile("namespaceObject.metadata.name == 'a'", want=Want.BOOL, names=frozenset({"object", "gpu"}))


def test_a_name_that_is_not_there_in_this_place_is_said_to_be_so(environment: Environment) -> None:
    names = frozenset({"object", "gpu"})
    for source in (
        "gpu.count > 0 && namespaceObject.metadata.name == 'a'",
        "variables.x",
        "has(namespaceObject.metadata)",
    ):
        with pytest.raises(CompileError, match=r"is not available here; available are gpu, object"):
            environment.compile(source, want=Want.BOOL, names=names)


@pytest.mark.parametrize(
    ("engine", "ours"),
    [
        ('NOT_FOUND: Key not found in map : "nodeName"', "no such key: nodeName"),
        ("NOT_FOUND: Key not found in map : 1", "no such key: 1"),
        ("UNKNOWN: Index error: index=5 size=2", "index out of bounds: 5, size 2"),
        ("INVALID_ARGUMENT: divide by zero", "division by zero"),
        ("OUT_OF_RANGE: integer overflow", "integer overflow"),
        ("UNKNOWN: No matching overloads found : _>_(string, int64)", "no such overload: _>_(string, int)"),
        ("INTERNAL: Iteration budget exceeded [INTERNAL]", "out of budget: more than 10,000 iterations"),
        ('UNKNOWN: No value with name "variables.x" found in Activation', "no such attribute: variables.x"),
        ("something new", "something new"),
    ],
)
def test_a_failure_is_put_in_upstreams_words(engine: str, ours: str) -> None:
    assert failure(engine) == ours
