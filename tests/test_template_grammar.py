"""Templates hold fixed prose around cells: whole blocks and loops, no parts of sentences."""

from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

ROOT = Path(__file__).parent.parent
TEMPLATES = sorted((ROOT / "report_templates").rglob("*.j2"))

FORBIDDEN = (
    *(nodes.Assign, nodes.AssignBlock, nodes.NSRef, nodes.Macro, nodes.CallBlock, nodes.ExprStmt),
    *(nodes.CondExpr, nodes.Slice, nodes.Concat, nodes.BinExpr, nodes.FilterBlock),
)
LOGIC = (nodes.And, nodes.Or)
"""Binary expressions that only choose a block."""


def parsed(path: Path) -> nodes.Template:
    return jinja2.Environment(extensions=["jinja2.ext.do"]).parse(path.read_text(encoding="utf-8"))


def forbidden(path: Path) -> list[str]:
    """What in a template builds sentences, with its line."""
    tree = parsed(path)
    found = [each for each in tree.find_all(FORBIDDEN) if not isinstance(each, LOGIC)]
    found += [call for call in tree.find_all(nodes.Call) if call.args or call.kwargs]
    return [f"line {each.lineno}: {type(each).__name__}" for each in found]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_builds_a_sentence(path):
    assert forbidden(path) == []


def test_a_template_that_does_would_be_found(tmp_path):
    for text in (
        "{% set a = 1 %}",
        "{{ 'a' if b else 'c' }}",
        "{{ a[1:] }}",
        "{{ a.get('b') }}",
        "{{ a ~ b }}",
        "{{ a + b }}",
        "{% do a.append(b) %}",
        "{% macro a() %}{% endmacro %}",
    ):
        (tmp_path / "bad.j2").write_text(text)
        assert forbidden(tmp_path / "bad.j2"), text
