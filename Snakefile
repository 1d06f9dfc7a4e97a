# Where does a Transformer training step's time go, on this machine, and how do you know?
# docs/running.md has the tree of results; {tag} names a run, {case} a model configuration.
import sys

sys.path.insert(0, workflow.basedir)
from workflow_src.dag.paths import CHAPTER, input_folder, output_folder
from workflow_src.dag.start import make_dag, require_place
from workflow_src.plan.case_ids import CASE_PATTERN

require_place(workflow)


configfile: "config.yaml"


dag = make_dag(config, workflow.configfiles)


wildcard_constraints:
    tag="[A-Za-z0-9][A-Za-z0-9._-]*",
    case=CASE_PATTERN,
    table="[a-z_]+",
    question="(?!cards|cases|opening|ran|trust)[a-z]+",
    front="cards|cases|ran|trust",
    study="[a-z_]+",
    part="[a-z_]+",
    point="[A-Za-z0-9._-]+",
    capture="[A-Za-z0-9_][A-Za-z0-9._-]*",


rule all:
    default_target: True
    input:
        dag.everything(),
    message:
        "The report is report.md, and report.html for a browser."


for part in dag.rules:

    include: f"rules/{part}.smk"
