"""The advice about what other languages have, and about operands of other types."""

import pytest

from cel_problems import problems
from podberth.cel.engine import Environment, Want
from podberth.cel.engine_errors import Vocabulary, explain
from podberth.cel.mistakes import Around


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
        ("object.metadata?.labels == null", "1:16: Syntax error: CEL has no a?.b; write .? instead of ?."),
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
            "object.spec.containers.filter(lambda c: c.name == 'x') == []",
            "1:38: Syntax error: CEL has no lambda; write a.filter(x, condition)",
        ),
        ("object.spec.containers.map((c) => c.name) == []", "1:32: Syntax error: CEL has no =>; write a.map(x, b)"),
        ("gpu.count => 8", "1:11: Syntax error: CEL has no =>; write >="),
        ("(gpu.count => 8)", "1:12: Syntax error: CEL has no =>; write >="),
        ("gpu.count =< 8", "1:11: Syntax error: CEL has no =<; write <="),
        (
            "object.spec.containers.some(c => c.name == 'x')",
            "1:31: Syntax error: CEL has no =>; write a.exists(x, condition)",
        ),
        (
            "object.spec.containers.map(c -> c.name) == []",
            "1:31: Syntax error: CEL has no ->; write a.map(x, b)",
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
    ("source", "place", "got"),
    [
        ("gpu.", "1:4", "."),
        ("variables. ", "1:10", "."),
        ("gpu. && true", "1:4", "."),
        ("has(object.metadata.)", "1:20", "."),
        ("object.spec.containers.exists(c, c.)", "1:35", "."),
        ("object.metadata.?", "1:16", ".?"),
        ("gpu.count == 1 &&\n gpu.\n && true", "2:5", "."),
    ],
)
def test_a_dot_without_a_name_is_the_problem(environment: Environment, source: str, place: str, got: str) -> None:
    message = f"{place}: Syntax error: got '{got}', want the name of a field or function behind it"
    assert problems(environment, source, Want.BOOL) == [message]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("object.metadata.?labels[?'team'].hasVal", "1:33: string has no fields; did you mean hasValue()?"),
        ("params.?data[?'a'].orVal", "1:19: string has no fields; did you mean orValue(b)?"),
        ("gpu.kind.hasVal", "1:9: string has no fields; write a.f() to call a function"),
    ],
)
def test_half_typed_function_of_an_optional_is_completed(environment: Environment, source: str, expected: str) -> None:
    assert problems(environment, source) == [expected]


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
        ("has(metadata.labels)", "1:5: undeclared reference to 'metadata'; write object.metadata"),
        ("has(labels.team)", "1:5: undeclared reference to 'labels'; write object.metadata.labels"),
        ("gpu.count > 0 && count == 8", "1:18: undeclared reference to 'count'; write gpu.count"),
        ("nodeName == ''", "1:1: undeclared reference to 'nodeName'; write object.spec.nodeName"),
        ("gpu.kind == vendor", "1:13: undeclared reference to 'vendor'; a text has quotes; did you mean 'vendor'?"),
        ("namespace == 'ml'", "1:1: CEL reserves the word 'namespace'; write request.namespace"),
        ("object.metadata.name.length > 0", "1:21: string has no fields; write size(a)"),
        ("gpu.count == 8 => has(object.spec.nodeName)", "1:16: Syntax error: CEL has no =>; write !(a) || b"),
        ("gpu.count == 8 -> has(object.spec.nodeName)", "1:17: Syntax error: CEL has no ->; write !(a) || b"),
        (
            "object.metadata.name > 8",
            (
                "1:22: found no matching overload for '_>_' applied to '(string, int)'; write int(...) around the "
                "text, or string(...) around the number"
            ),
        ),
        ("object.metadata.name", "1:1: got string, want bool; write a comparison, as in a != ''"),
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
        (
            "team in object.metadata.labels && whole == gpu.kind",
            (
                "1:1: undeclared reference to 'team'; a text has quotes; did you mean 'team'?\n1:35: "
                "undeclared reference to 'whole'; a text has quotes; did you mean 'whole'?"
            ),
        ),
        ("foo == 'a'", "1:1: undeclared reference to 'foo'"),
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
    ("source", "got"),
    [
        ("gpu", "got podberth.Gpu, want string"),
        ("true", "got bool, want string"),
        ("5", "got int, want string"),
        ("goes to the pool", "goes to the pool is no expression"),
        ("for two: a, b", "for two: a, b is no expression"),
        ("10.0.0.1", "10.0.0.1 is no expression"),
        ("/opt/a", "/opt/a is no expression"),
        ("40Gi", "40Gi is no expression"),
        ("opt/a", "opt/a is no expression"),
        ("ml/train-x", "ml/train-x is no expression"),
        ("up to 50%", "up to 50% is no expression"),
        ("needs gpu.count > 1!", "needs gpu.count > 1! is no expression"),
    ],
)
def test_what_is_plainly_a_text_is_quoted_where_a_text_is_wanted(
    environment: Environment, source: str, got: str
) -> None:
    for want in (Want.STRING, Want.MESSAGE):
        [said] = problems(environment, source, want)
        assert said.startswith(f"1:1: {got}")
        _, _, advice = said.rpartition("; if it is a text, quote it: ")
        assert advice == f"\"'{source}'\""
        environment.compile(advice.strip('"'), want=want)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpu.count", "1:1: got int, want string; write string(...)"),
        ("gpu.requests", "1:1: got list(podberth.GpuRequest), want string"),
        ("gpuu.kind", "1:1: undeclared reference to 'gpuu'; did you mean gpu?"),
        ("a team's label", "1:3: Syntax error: got 'team', want an operator such as &&, or the end of the expression"),
        ("gpu.vendor is known", "1:12: Syntax error: CEL has no is; write =="),
        ("gpu.count > 1 and gpu.known", "1:15: Syntax error: CEL has no and; write &&"),
        ("", "1:1: Syntax error: got the end, want a value"),
    ],
)
def test_an_expression_is_no_text_where_a_text_is_wanted(environment: Environment, source: str, expected: str) -> None:
    assert problems(environment, source, Want.STRING) == [expected]


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
