"""The name at a place of an expression, the value before its dot, and the macros around it."""

import pytest

from podberth.lsp.answers.expression import Loop, Mention, mention_at


def mention(marked: str) -> Mention:
    before, _, after = marked.partition("^")
    return mention_at(before + after, len(before))


@pytest.mark.parametrize(
    ("marked", "receiver", "name"),
    [
        ("gpu.^", "gpu", ""),
        ("gpu.co^unt > 1", "gpu", "count"),
        ("1 + gpu.count^", "gpu", "count"),
        ("^gpu.count", "", "gpu"),
        ("a && ^", "", ""),
        ("object.spec.?nodeSelector.^", "object.spec.?nodeSelector", ""),
        ("topology.nodes(gpu).withLinkDomain(2).te^rms", "topology.nodes(gpu).withLinkDomain(2)", "terms"),
        ("x in [1, 2].^", "[1, 2]", ""),
        ("'a,b'.split(',').^", "'a,b'.split(',')", ""),
        ("(a + b).^", "(a + b)", ""),
        ("a ? b : c[0].d['e'].^", "c[0].d['e']", ""),
        ("{'a': 1}.^", "{'a': 1}", ""),
        ("size(a).^", "size(a)", ""),
        (").^", "", ""),
        (".^", "", ""),
        ("'a' + b.^c + '", "b", "c"),
    ],
)
def test_the_receiver_of_a_name(marked: str, receiver: str, name: str) -> None:
    found = mention(marked)
    assert (found.receiver, found.name, found.in_text) == (receiver, name, False)


@pytest.mark.parametrize(
    ("marked", "loops"),
    [
        ("a.all(x, x.^", [Loop("a", "all", ("x",))]),
        ("a.all(k, v, v.^", [Loop("a", "all", ("k", "v"))]),
        ("a.map(x, y, ^", [Loop("a", "map", ("x",))]),
        ("a.b.exists(x, x.c.filter(y, y.^", [Loop("a.b", "exists", ("x",)), Loop("x.c", "filter", ("y",))]),
        ("a.all(x, true) && b.^", []),
        ("a.startsWith(x, ^", []),
        ("a.?b.optMap(x, x.^", [Loop("a.?b", "optMap", ("x",))]),
        ("a.all(^", []),
    ],
)
def test_the_macros_around_a_place(marked: str, loops: list[Loop]) -> None:
    assert list(mention(marked).loops) == loops


@pytest.mark.parametrize(
    ("marked", "receiver", "text"),
    [("params.data['mo^de']", "params.data", "mo"), ('a.?b[?"^', "a.?b", ""), ("a == 'x^'", "", "x")],
)
def test_a_text_literal(marked: str, receiver: str, text: str) -> None:
    found = mention(marked)
    assert (found.in_text, found.receiver, found.text) == (True, receiver, text)


def test_a_call_is_known_by_its_parenthesis() -> None:
    assert mention("topology.no^des(gpu)").is_called
    assert not mention("topology.no^des").is_called
