"""A page of chapters: short keys for its numbers, and their evidence packed into it."""

import base64
import gzip
import json
import re
from pathlib import Path

from workflow_src.paper.page import page

TEMPLATES = Path(__file__).parents[2] / "report_templates"


def test_numbers_of_equal_evidence_share_a_key_and_none_without_it_asks():
    why = {"value": 2.5, "unit": "ms", "formula": "a / b", "rows": {"timings": "2-4"}}
    buttons = [f'<button class="n" value="{key}">2.5</button>' for key in ("n1", "n2", "n1", "n3")]
    made = page(
        "A run", buttons, {"n1": why, "n2": why | {"ends": [1, 3]}}, {"a": "(a)"}, TEMPLATES
    )
    assert re.findall(r"<data value=(\w+)>2.5", made) == ["0", "1", "0"]
    packed = re.search(r'id="numbers">([^<]+)<', made)
    told = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    rows = {"timings": "2-4"}
    ends = [None, ["1", "3"]]
    assert told == [["2.5"] * 2, ["ms"] * 2, ["a / b"] * 2, ends, [rows] * 2]
    assert "<title>A run</title>" in made and '<a href="#a">(a)</a>' in made
