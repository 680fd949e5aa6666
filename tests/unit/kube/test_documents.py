import subprocess
import sys
from typing import Any

import pytest

from calls import calls_of
from podberth.kube.documents import MOST_DOCUMENTS, MOST_PROBLEMS, load_documents
from podberth.kube.json_text import MAX_DEPTH
from podberth.kube.yaml_parser import MAX_ALIASED_NODES


def loaded(text: str) -> list[dict[str, Any]]:
    documents, problems = load_documents(text, "f.yaml")
    assert problems == []
    return [each.document for each in documents]


def refused(text: str) -> list[str]:
    return [str(problem) for problem in load_documents(text, "f.yaml")[1]]


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("", []),
        ("# nothing\n", []),
        ("---\n---\n# nothing\n---\nnull\n...\n", []),
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("--- {a: 1}\n--- # two\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("%YAML 1.2\n---\na: 1\n", [{"a": 1}]),
        ("\ufeffa: 1\n", [{"a": 1}]),
        ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", [{"a": 1, "b": "x\ny\n"}]),
        ("a: |\n  ---\n  x\n", [{"a": "---\nx\n"}]),
        ('{"a": [1, {"b": null}]}', [{"a": [1, {"b": None}]}]),
        ("{a: 1, b: [x, z,], }", [{"a": 1, "b": ["x", "z"]}]),
        ("a: \"yes\"\nb: '1'\nc: ! 1\nd: !!str 1\ne: yes\n", [{"a": "yes", "b": "1", "c": "1", "d": "1", "e": True}]),
        ("1: a\n-2: b\ny: c\n'n': d\nOff: e\n", [{"1": "a", "-2": "b", "true": "c", "n": "d", "false": "e"}]),
        ("a: !Ref 12\nb: !Sub {c: 1}\nd: !!map [1]\n", [{"a": "12", "b": {"c": 1}, "d": [1]}]),
        ("a: !!binary aGk=\nb: !!binary /w==\n", [{"a": "hi", "b": "\ufffd"}]),
        (
            "a: !!int '12'\nb: !!float 12\nc: !!bool 'yes'\nd: !!null ''\ne: !!timestamp 2001-01-01\n",
            [{"a": 12, "b": 12, "c": True, "d": None, "e": "2001-01-01"}],
        ),
        ("a:\tb\t# c\nd: [\te ]\n", [{"a": "b", "d": ["e"]}]),
        ("a: [-, b:c, --d]\n", [{"a": ["-", "b:c", "--d"]}]),
        ("a:\n- b\n-\n- - c\nd:\n", [{"a": ["b", None, ["c"]], "d": None}]),
        ("a: 1\n\ufeffb: 2\n", [{"a": 1, "\ufeffb": 2}]),
        ("a: &x {b: [1]}\nc: *x\n", [{"a": {"b": [1]}, "c": {"b": [1]}}]),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 7}\n", [{"a": {"b": 1, "c": 2}, "d": {"b": 7, "c": 2}}]),
        ('a: &x {b: 1}\nd: {!!merge <<: *x}\ne: {!!merge "<<": *x}\n', [{"a": {"b": 1}, "d": {"b": 1}, "e": {"b": 1}}]),
        (
            "x: [&a {b: 1}, &c {b: 2, d: 3}]\nz: {<<: [*a, *c]}\n",
            [{"x": [{"b": 1}, {"b": 2, "d": 3}], "z": {"b": 1, "d": 3}}],
        ),
        ('"<<": {a: 1}\n', [{"<<": {"a": 1}}]),
    ],
)
def test_documents_are_read_as_kubectl_reads_them(text: str, documents: list[dict[str, Any]]) -> None:
    assert loaded(text) == documents


def test_for_a_reader_that_wants_it_the_last_of_a_duplicate_key_counts() -> None:
    [first, second], problems = load_documents("a: 1\na: 2\na: {b: 3}\n---\nc: 1\n", "f.yaml", last_wins=True)
    assert (first.document, second.document, problems) == ({"a": {"b": 3}}, {"c": 1}, [])
    assert [str(each) for each in first.repeated] == [
        "f.yaml:2:1: duplicate key 'a': kubectl takes this one and not that of line 1; remove one",
        "f.yaml:3:1: duplicate key 'a': kubectl takes this one and not that of line 2; remove one",
    ]
    assert (first.positions.at(("a", "b")).line, second.repeated) == (3, ())


def test_an_alias_of_a_string_is_a_key() -> None:
    [found], problems = load_documents("a: &name app\nb:\n  *name : 1\n", "f.yaml")
    assert (found.document, problems) == ({"a": "app", "b": {"app": 1}}, [])


def test_a_duplicate_key_whose_first_value_is_null_loses_nothing() -> None:
    [found], _ = load_documents("a:\na: 1\n", "f.yaml", last_wins=True)
    assert (found.document, found.repeated) == ({"a": 1}, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: 1\nb:\n  c: 1\n  c: 2\n",
            "f.yaml:4:3: duplicate key 'c': kubectl takes this one and not that of line 3; remove one",
        ),
        (
            '{"a": 1,\n "a": 2}',
            "f.yaml:2:2: duplicate key 'a': kubectl takes this one and not that of line 1; remove one",
        ),
        ("a: {", "f.yaml:1:5: this is no YAML: did not find expected node content; got the end"),
        ("a: @x # y\n", "f.yaml:1:4: this is no YAML: found character that cannot start any token; got @x # y"),
        ("a: 'x\nb: c\n", "f.yaml:1:4: this is no YAML: the text that begins here has no closing '"),
        ('a: "b\nc: ["d"]\n', 'f.yaml:1:4: this is no YAML: the text that begins here has no closing " before line 2'),
        ("a: 'b' c\n", "f.yaml:1:8: this is no YAML: did not find expected key; got c; put the whole text into quotes"),
        (
            "a:\n  b: 1\n c:\n",
            "f.yaml:3:2: this is no YAML: did not find expected key while parsing a block mapping from line 1; got c:",
        ),
        (
            "a: 'é😀'\nb: \"\u2028\"\n\nc: d: e\n",
            (
                "f.yaml:4:5: this is no YAML: mapping values are not allowed in this context; got : e; "
                "a field goes into a line of its own, and a text with ': ' in it into quotes"
            ),
        ),
        (
            "requests: nvidia.com/gpu: 1\n",
            (
                "f.yaml:1:25: this is no YAML: mapping values are not allowed in this context; got : 1; "
                "a field goes into a line of its own, and a text with ': ' in it into quotes"
            ),
        ),
        (
            "message: no GPU: wait\n",
            (
                "f.yaml:1:16: this is no YAML: mapping values are not allowed in this context; got : wait; "
                "a text with ': ' in it needs quotes"
            ),
        ),
        (
            "a: {b: x ? y : z}\n",
            (
                "f.yaml:1:14: this is no YAML: did not find expected ',' or '}'; got : z}; "
                "a text with ': ' in it needs quotes"
            ),
        ),
        (
            "a: 'b' + c\n",
            "f.yaml:1:8: this is no YAML: did not find expected key; got + c; put the whole text into quotes",
        ),
        (
            "a: !has(x) || y\n",
            (
                "f.yaml:1:13: this is no YAML: did not find expected comment or line break; got | y; "
                "YAML reads !has(x) as a tag, put the whole text into quotes"
            ),
        ),
        ("a:\n\tb: 1\n", "f.yaml:2:1: got a tab where YAML wants spaces; indent with spaces"),
        ("a: b\n  c: |\n\td\n", "f.yaml:2:4: this is no YAML: mapping values are not allowed in this context; got : |"),
        ("a: \x01b\n", "f.yaml:1:4: got '\\x01', which is no character of YAML; remove it"),
        ("a: b\nc: \ud800\n", "f.yaml:2:4: got '\\ud800', which is no character of YAML; remove it"),
        (
            'a: "\\ud83d\\ude00"\nb: "\\U00110000"\n',
            "f.yaml:2:5: got '\\\\U00110000', which is no character of YAML; remove it",
        ),
        ("a: *b\n", "f.yaml:1:4: the alias *b names no anchor above it"),
        ("a: &a [*a]\n", "f.yaml:1:8: the alias *a holds itself"),
        ("a: !!binary '%'\n", "f.yaml:1:4: got '%', which the tag tag:yaml.org,2002:binary does not allow"),
        ("a: !!int x\n", "f.yaml:1:4: got 'x', which the tag tag:yaml.org,2002:int does not allow"),
        ("a: !!int yes\n", "f.yaml:1:4: got 'yes', which the tag tag:yaml.org,2002:int does not allow"),
        ("a: .nan\n", "f.yaml:1:4: got .nan, want a number that JSON has"),
        (
            "1.5: 1\n",
            "f.yaml:1:1: got 1.5, which kubectl reads as a number, want a string as the key; put it in quotes",
        ),
        ("? [a]\n: 1\n", "f.yaml:1:3: got a list, want a string as the key; put it in quotes"),
        ("- a\n", "f.yaml:1:1: got a list, want an object with apiVersion and kind"),
        ("text\n", "f.yaml:1:1: got a string, want an object with apiVersion and kind"),
        ('a: "\\ud83d"\n', "f.yaml:1:4: got half a surrogate pair, which is no character"),
        ('a: "\\ud83d\\U0000d83d"\n', "f.yaml:1:4: got half a surrogate pair, which is no character"),
        (
            'a: "\\U0000d83d"\n',
            'f.yaml:1:7: this is no YAML: found invalid Unicode character escape code; got 0000d83d"',
        ),
        ("a: 1\n<<: {a: 2}\n", "f.yaml:2:1: the merge key brings 'a' again; put << before 'a'"),
        ("<<: 1\n", "f.yaml:1:1: got a number to merge, want a mapping or a list of mappings"),
        ("a: " + "[" * 200 + "]" * 200, f"f.yaml:1:103: nested more than {MAX_DEPTH} deep"),
    ],
)
def test_what_readers_disagree_about_is_refused_at_its_place(text: str, problem: str) -> None:
    assert refused(text) == [problem]


def test_an_escaped_pair_of_surrogates_is_read_as_in_json() -> None:
    assert loaded('a: "\\ud83d\\ude00"\n') == loaded('{"a": "\\ud83d\\ude00"}') == [{"a": "😀"}]


def test_what_is_no_yaml_costs_one_document() -> None:
    documents, problems = load_documents("a: 1\n...\n# two\nb: 2\n---\nc: 3\n---\nd: 4\n... # three\n", "f.yaml")
    assert [each.document for each in documents] == [{"a": 1}, {"c": 3}, {"d": 4}]
    assert [str(each) for each in problems] == [
        "f.yaml:4:1: this is no YAML: did not find expected <document start>; got b: 2"
    ]


def test_what_has_not_ended_is_no_document_of_its_own() -> None:
    assert refused('{"a": 1} b\n') == ["f.yaml:1:10: this is no YAML: did not find expected <document start>; got b"]


def test_json_with_tabs_has_places() -> None:
    (document,), problems = load_documents('{\n\t"a": {\n\t\t"b": [1, 2]\n\t}\n}\n', "f.yaml")
    assert (document.document, problems) == ({"a": {"b": [1, 2]}}, [])
    assert document.positions.at(("a", "b", 1)) == (3, 12)


def test_lines_are_those_of_line_feeds() -> None:
    (document,), _ = load_documents('a: "\u2028\x85"\nb: 😀 # c\nd: e\n', "f.yaml")
    assert document.positions.at(("d",)) == (3, 4)


def test_a_number_beyond_float64_is_text_to_kubectl() -> None:
    assert loaded('{"a": 1e999}') == [{"a": "1e999"}]


def test_all_problems_of_all_documents_are_reported_and_the_others_are_returned() -> None:
    documents, problems = load_documents("a: [\n---\nb: 1\n---\nc: 1\nc: 2\nd: !!int x\n", "f.yaml")
    assert [each.document for each in documents] == [{"b": 1}]
    assert [(problem.line, problem.column) for problem in problems] == [(2, 1), (6, 1), (7, 4)]


def test_the_first_of_many_problems_are_reported_and_the_others_counted() -> None:
    documents, problems = load_documents("--- 1\n" * (MOST_PROBLEMS + 5), "f.yaml")
    assert documents == []
    assert len(problems) == MOST_PROBLEMS + 1
    assert str(problems[-1]) == "f.yaml:1001:5: got 1,005 problems, of which 1,000 are shown; fix these first"


def test_a_file_of_too_many_documents_is_refused_before_the_first_is_read() -> None:
    documents, problems = load_documents("---\na: 1\n" * (MOST_DOCUMENTS + 1), "f.yaml")
    assert documents == []
    said = "got more than 100,000 documents, want that at most; split the file, or write a List"
    assert list(map(str, problems)) == [f"f.yaml:200001:1: {said}"]


def test_the_first_of_many_keys_that_are_repeated_are_reported_and_the_others_counted() -> None:
    text = "".join(f"a: {at}\n" for at in range(100))
    [one], _ = load_documents(text, "f.yaml", last_wins=True)
    assert len(one.repeated) == 41
    assert str(one.repeated[-1]) == "f.yaml:42:1: got 99 problems, of which 40 are shown; fix these first"


@pytest.mark.parametrize(
    "text",
    [
        "? KEY\n: 1\n? KEY\n: 2\n",
        "a: *KEY\n",
        "a: &a {KEY1: 1}\nKEY1: 2\n<<: *a\n",
        "a: !KEY x\n- b\n",
        "? 1.5KEY\n: 1\n",
    ],
)
def test_a_long_key_is_cut_in_a_message(text: str) -> None:
    """A message of a megabyte helps nobody, and a file may have a thousand."""
    _, problems = load_documents(text.replace("KEY", "1" * 350), "f.yaml")
    assert problems
    assert all(len(each.message) < 900 for each in problems)


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (problem,) = refused("\n".join(levels) + "\n")
    assert f"the aliases repeat more than {MAX_ALIASED_NODES} values" in problem


def test_each_small_document_costs_the_same() -> None:
    one = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - {name: c, image: x}\n"

    def calls(documents: int) -> int:
        return calls_of(lambda: loaded("---\n".join([one] * documents)))

    assert len(loaded("---\n".join([one] * 1000))) == 1000
    assert calls(1000) < 12 * calls(100)


def test_json_is_read_without_a_parser_of_yaml() -> None:
    program = (
        "import sys; from podberth.kube.documents import load_documents; load_documents('{\"a\": 1}', 'f'); "
        "print('yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_key_that_is_repeated_with_its_value_loses_nothing() -> None:
    [document], problems = load_documents("a: {b: 1, c: 2, b: 1}\n", "f.yaml", last_wins=True)
    assert (document.document, document.repeated, problems) == ({"a": {"b": 1, "c": 2}}, (), [])


def test_nothing_is_lost_where_the_last_list_holds_the_first() -> None:
    documents, problems = load_documents("a: [1]\na: [2, 1]\n", "f.yaml", last_wins=True)
    assert (documents[0].document, documents[0].repeated, problems) == ({"a": [2, 1]}, (), [])
    [document] = load_documents("a: [1, 3]\na: [2, 1]\n", "f.yaml", last_wins=True)[0]
    assert len(document.repeated) == 1
