import subprocess
import sys

from workflow_src.dag.start import keep_unfinished, refuse_login_node
from workflow_src.plan.progress import follow, is_brief


# Before the first job, when nothing has been removed.
onstart:
    refuse_login_node(workflow, config, dag.plan.device)
    dag.measured.refuse_drift(
        f for job in workflow.persistence.dag.needrun_jobs() for f in job.output
    )
    follow(logger, workflow.persistence.dag, briefly=is_brief(workflow))


onsuccess:
    for problem in dag.captures.problems():
        print(problem, file=sys.stderr)
    if is_brief(workflow):
        print(dag.report.ending(), file=sys.stderr)


onerror:
    keep_unfinished(workflow.persistence)
    print(
        "Finished files are kept; run the same command again to go on.",
        file=sys.stderr,
    )
    # Interrupted while it asks for its jobs' states, Snakemake forgets to cancel them.
    subprocess.run([f"{workflow.basedir}/tools/cancel_slurm_jobs"], check=False)
