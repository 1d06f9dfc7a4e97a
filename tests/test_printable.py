"""Names from elsewhere reach terminals and pages without what these obey instead of showing it."""

from pathlib import Path

import pytest

from workflow_src.captures.reading import read
from workflow_src.common.errors import ConfigError, TraceError, one_sentence
from workflow_src.common.printable import printable

RED, TURNED = "\x1b[31mred", "a\u202eb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (RED, "␛[31mred"),
        (TURNED, "a<U+202E>b"),
        ("a\u061c\u200fb", "a<U+061C><U+200F>b"),
        ("a\nb\x7f\x85", "a␊b␡<U+0085>"),
        ("\ud800", "\\ud800"),
        (b"\xff", "\\xff"),
        ("é日本\N{NO-BREAK SPACE}", "é日本\N{NO-BREAK SPACE}"),
    ],
)
def test_a_text_is_shown_on_one_line_and_turns_nothing(text: object, shown: str) -> None:
    assert printable(text) == shown
    shown.encode()


def test_an_error_has_a_line_for_each_thing_and_no_control_characters(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended, one_sentence(RED):
        raise TraceError(f"{RED}\n{TURNED}")
    assert str(ended.value) == "␛[31mred: ␛[31mred\na<U+202E>b"
    with pytest.raises(TraceError, match=r"␛\[31mred\.json: there is no such file"):
        read(tmp_path / f"{RED}.json")
    assert str(ConfigError(f"tag: {RED}")) == "tag: ␛[31mred"
