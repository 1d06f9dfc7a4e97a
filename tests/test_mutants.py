"""Mutants are those that are meant, each in one line, and tests that import a module try it."""

from pathlib import Path

import pytest

from benchmarks import mutants


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("return a < b", ["return a <= b", "return a >= b"]),
        ("return a == 2", ["return a != 2", "return a == 3"]),
        ("return a not in b", ["return a in b"]),
        ("return not a or b", ["return not a and b", "return a or b"]),
        ("return x.at[~(a) & b]", ["return x.at[~(a) | b]", "return x.at[a & b]"]),
        ("return a - b ** -c", ["return a + b ** -c", "return a - b * -c"]),
        ("return f(a, 'é', c=True)", ["return f('é', a, c=True)", "return f(a, 'é', c=False)"]),
        ("a = b", ["pass"]),
        ("f(a)", ["pass"]),
        ("a: list[0]", []),
        ("return f'{a + 1}'", []),
    ],
)
def test_a_line_has_these_mutants(
    line: str, after: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.py").write_text(f'def f(a: int = b) -> "x < y":\n    """1 < 2"""\n    {line}\n')
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    found = mutants.mutants_of(tmp_path / "m.py")
    assert {(file, number, was) for file, number, was, _ in found} <= {("m.py", 3, f"    {line}")}
    assert sorted(new.strip() for *_, new in found) == sorted(after)


def test_a_seed_draws_the_same_mutants_of_the_rooms_asked_for() -> None:
    rooms = ["plan", "common"]
    first, again, other = (mutants.drawn(seed, 20, rooms) for seed in (1, 1, 2))
    assert first.equals(again) and not first.equals(other)
    assert len(first) == 20 and set(first["file"].str.split("/").str[1]) == set(rooms)


def test_tests_are_those_that_import_a_module_or_what_imports_it() -> None:
    near = mutants.tests_of("workflow_src/common/table_schema.py", 1)
    assert "tests/test_table_schema.py" in near and "tests/test_adamw.py" not in near
    assert set(near) < set(mutants.tests_of("workflow_src/common/table_schema.py", 2))
