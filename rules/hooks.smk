import subprocess

from workflow_src.plan.unfinished import keep_unfinished


# Before the first job, when nothing has been removed.
onstart:
    dag.refuse_drift(
        f for job in workflow.persistence.dag.needrun_jobs() for f in job.output
    )
    follow(logger, workflow.persistence.dag)


onerror:
    keep_unfinished(workflow.persistence)
    print(GO_ON, file=sys.stderr)
    # Interrupted while it asks for its jobs' states, Snakemake forgets to cancel them.
    subprocess.run([f"{workflow.basedir}/tools/cancel_slurm_jobs"], check=False)
