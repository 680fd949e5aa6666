"""docs/labels.md has, for each of podberth's own keys, the object that has it and who writes it."""

from pages import page, rows
from podberth import wellknown

KINDS = {"_LABEL": "label of a ", "_ANNOTATION": "annotation of a "}


def test_each_key_is_a_label_or_an_annotation_of_something_that_somebody_writes() -> None:
    table = rows(page("docs/labels.md").partition("<!-- begin own")[2].partition("<!-- end own -->")[0])
    for name, value in vars(wellknown).items():
        kind = next((kind for suffix, kind in KINDS.items() if name.endswith(suffix)), None)
        if kind and str(value).startswith("podberth.io/"):
            _, place, writer, _ = table[value]
            assert place.startswith(kind), name
            assert set(writer.split(", ")) <= {"user", "user with the verb `exempt`", "podberth", "controller", "agent"}
