"""The columns that are read from each joined table, and what they may hold."""

from workflow_src.common.case import CASE_COLUMNS, COUNTS, PRECISIONS

COLUMNS = {
    "timings": "phase status reason samples mean_ms median_ms std_ms p20_ms p80_ms cv",
    "ranges": "phase path step instances host_ms busy_ms span_ms",
    "kernels": "phase path name short_name kind family precision_ran calls steps busy_ns",
    "captures": "profiler total_ns attributed_ns outside_ns outside_share stats_total_ns "
    "family_coverage",
    "work": "component flops bytes",
    "environments": "",
    "ledger": "phase step wall_ns device_active_ns idle_ns",
    "products": "phase product direction m n k matrices short_name kernels_per_step "
    "busy_ms_per_step flops_per_step",
    "operators": "phase path family operator shapes dtypes short_name calls_per_step "
    "busy_ms_per_step bytes_per_step",
    "alignment": "phase status reason aligned_share gemm_share_with_shape flops flops_expected "
    "family_disagreement_share family_disagreement",
    "remedies": "phase remedies status reason plain_ms predicted_ms low_ms high_ms",
    "ceilings": "kind name best_gb_per_s best_giga_exp_per_s",
    "plan": "warmup_steps steps capture_steps",
}
"""The required columns of each table, and of the plan, besides those of the case."""

OF_THE_MACHINE = frozenset({"ceilings"})
"""The tables whose rows belong to no case."""

SPARSE = frozenset({"alignment"})
"""The tables with rows that say why they hold no numbers."""

OPTIONAL_COLUMNS = {
    "timings": "replay_samples replayed_median_ms replayed_p20_ms replayed_p80_ms "
    "least_launch_bound_share most_launch_bound_share processes within_cv fastest_ms slowest_ms "
    "peak_memory_mib sm_clock_mhz sm_clock_least_mhz sm_clock_most_mhz power_w "
    "parameters tokens_per_step samples_per_step counted_flops_per_step "
    "first_call_ms compile_ms graphs graph_breaks",
    "ledger": "busy_ns idle_launch_ns idle_synchronization_ns idle_queued_ns idle_tail_ns "
    "idle_profiler_ns idle_unexplained_ns",
}
"""Columns of numbers that are checked where a table has them; tables of older runs don't."""

_FILLED = """instances host_ms busy_ms span_ms calls steps warmup_steps capture_steps busy_ns
total_ns attributed_ns outside_ns outside_share flops bytes wall_ns device_active_ns idle_ns
m n k matrices calls_per_step kernels_per_step busy_ms_per_step flops_per_step"""
FILLED = frozenset(_FILLED.split())
"""The columns with a number in every row; those of timings are empty if a phase didn't run."""

_TEXTS = """phase status reason path name short_name kind family precision_ran profiler component
replay_status replay_reason product direction operator forward_operator shapes dtypes layout dtype
family_disagreement process_means_ms process_stds_ms remedies graph_break_reasons"""
TEXT_COLUMNS = (frozenset(CASE_COLUMNS) - frozenset(COUNTS)) | frozenset(_TEXTS.split())

STATUSES = ("ok", "oom", "skipped", "not_measured", "missing", "failed", "not_known")
"""What the column status may say."""

REPLAY_STATUSES = ("ok", "oom", "skipped", "not_capturable", "failed")
"""What the column replay_status may say; it is empty where nothing was replayed."""

ALLOWED = {
    "status": STATUSES,
    "precision": PRECISIONS,
    "replay_status": (*REPLAY_STATUSES, ""),
}
"""The columns that may hold only certain texts."""
