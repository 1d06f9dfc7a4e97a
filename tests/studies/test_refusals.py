import pytest

from workflow_src.common.errors import UnavailableError
from workflow_src.studies import refusals


def test_a_missing_compiler_is_a_refusal():
    class InvalidCxxCompiler(RuntimeError):
        pass

    def fail() -> None:
        error = RuntimeError("backend failed")
        error.inner_exception = InvalidCxxCompiler("No working C++ compiler found in x. More")
        raise error

    said = r"^No working C\+\+ compiler found in x$"
    with pytest.raises(UnavailableError, match=said), refusals.refusing():
        fail()


def test_the_reason_is_what_torch_warned_of():
    said = [
        "Flash attention kernel not used because: (Triggered internally at a.cpp:1.)",
        "Expected query to be half (Triggered internally\n at b.cpp:2.)",
        "Memory Efficient attention has been runtime disabled. (Triggered internally)",
    ]
    found = refusals.reason_of("No available kernel. Aborting execution.", said)
    assert found == "Expected query to be half"
    assert refusals.reason_of("No available kernel. Aborting.", []) == "No available kernel"
