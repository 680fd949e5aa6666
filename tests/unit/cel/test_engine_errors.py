import pytest

from cel_problems import problems
from podberth.cel.engine import CompileError, Environment, Want
from podberth.cel.engine_errors import failure


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
                " ask has(...) or compare with '', instead of comparing with null"
            ),
        ),
        (
            "gpu.count == null",
            (
                "1:11: found no matching overload for '_==_' applied to '(int, null_type)';"
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
        ("gpu.count > 0)", ("1:14: Syntax error: got ')', want an operator such as &&, or the end of the expression")),
        ("gpu.kind == 'whole", "1:13: Syntax error: the text that begins here has no closing ' on its line"),
        ("gpu.kind == 'whole''", "1:20: Syntax error: the text that begins here has no closing ' on its line"),
        ("gpu.kind in ['mig, 'whole']", "1:14: Syntax error: the text that begins here has no closing ' before whole"),
        (
            "gpu.kind == 'mig && gpu.model == 'a'",
            "1:13: Syntax error: the text that begins here has no closing ' before a",
        ),
        (
            "topology.kubernetes.io/zone",
            (
                "1:1: topology.kubernetes.io/zone is no expression; if it is a text, quote it: "
                "\"'topology.kubernetes.io/zone'\""
            ),
        ),
        ("gpu.cuont/2", "1:5: undefined field 'cuont' in Gpu; did you mean count?"),
        (
            "gpu.kind == 'a'b",
            "1:16: Syntax error: got 'b', want an operator such as &&, or the end of the expression",
        ),
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


def test_half_a_surrogate_pair_is_no_text(environment: Environment) -> None:
    assert problems(environment, "'\ud800'") == ["1:1: got half a surrogate pair, want Unicode text"]


@pytest.mark.parametrize(
    ("source", "want", "expected"),
    [
        ("gpu.count", Want.BOOL, "1:1: got int, want bool; write a comparison, as in a > 0"),
        ("dyn(true)", Want.BOOL, "1:1: got dyn, want bool"),
        ("gpu.count", Want.STRING, "1:1: got int, want string; write string(...)"),
        ("gpu", Want.STRING, "1:1: got podberth.Gpu, want string; if it is a text, quote it: \"'gpu'\""),
        ("true", Want.STRING, "1:1: got bool, want string; if it is a text, quote it: \"'true'\""),
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
