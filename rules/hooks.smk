import os
import subprocess


# Before the first job, when nothing has been removed.
onstart:
    dag.refuse_drift(
        f for job in workflow.persistence.dag.needrun_jobs() for f in job.output
    )
    follow(logger, workflow.persistence.dag)


onerror:
    # What was to be made and wasn't stays to be made. Snakemake takes an output that a failed or
    # interrupted job lost for one that nothing needs, if what was made from it before is there.
    for job in workflow.persistence.dag.needrun_jobs():
        if any(os.path.exists(file) for file in job.output):
            workflow.persistence.started(job)
    print(GO_ON, file=sys.stderr)
    # Interrupted while it asks for its jobs' states, Snakemake forgets to cancel them.
    subprocess.run([f"{workflow.basedir}/tools/cancel_slurm_jobs"], check=False)
