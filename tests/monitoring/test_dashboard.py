"""The dashboard is one that any Grafana can import: its data source, variables, panels and columns.

What its expressions find is in test_scraped.py.
"""

import re
from collections.abc import Iterator
from typing import Any

from .manifests import DASHBOARD, PANELS, TARGETS, VARIABLES


def datasources(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        yield from [part["datasource"]] if "datasource" in part else []
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from datasources(each)


def test_the_dashboard_works_with_any_data_source() -> None:
    [variable] = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource"]
    assert (variable["name"], variable["query"]) == ("datasource", "prometheus")
    assert list(datasources(DASHBOARD)) != []
    assert all(each == {"type": "prometheus", "uid": "${datasource}"} for each in datasources(DASHBOARD))
    assert not {"id", "uid", "__inputs"} & DASHBOARD.keys()


def test_every_variable_that_is_asked_for_is_there() -> None:
    asked = {name for _, _, target in TARGETS for name in re.findall(r"\$\w+", target["expr"])}
    assert asked == VARIABLES.keys() - {"$datasource"}


def test_panels_have_an_id_a_title_and_a_place_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] for panel in panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_column_of_a_table_has_a_name() -> None:
    for panel in PANELS:
        if panel["type"] == "table":
            [organised] = [each["options"] for each in panel["transformations"] if each["id"] == "organize"]
            several = len(panel["targets"]) > 1
            columns = {f"Value #{each['refId']}" if several else "Value" for each in panel["targets"]}
            assert organised["renameByName"].keys() == columns, panel["title"]
            assert all(each["format"] == "table" and each["instant"] for each in panel["targets"]), panel["title"]
