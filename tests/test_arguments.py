"""What a command says of an argument that it can't use."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_src.common import arguments


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (arguments.existing_file, "missing", "there is no file 'missing'"),
        (arguments.new_file, ".", "'.' is a folder; give a file to write"),
        (arguments.pattern, "(", "'(' is no regular expression: missing )"),
        (arguments.positive, "nan", "must be a finite number above 0, not 'nan'"),
        (arguments.share, "1.5", "must be above 0 and at most 1, not '1.5'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named_with_what_is_allowed(
    kind: Callable[[str], object],
    text: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        kind(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)
