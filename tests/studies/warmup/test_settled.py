from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_src.studies.warmup.chapter import SETTLED_WITHIN, settled_after, settled_median


@settings(deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40))
def test_after_settling_all_steps_lie_near_and_the_step_before_does_not(steps):
    after, settled = settled_after(steps), settled_median(steps)
    far = [abs(step - settled) > SETTLED_WITHIN * settled for step in steps]
    if after is None:
        assert far[-1]
    else:
        assert not any(far[after:])
        assert after == 0 or far[after - 1]
