# Where does a Transformer training step's time go, on this machine, and how do you know?
# Result paths ({tag} names a run, {case} a model configuration):
#   results/{tag}/plan.csv                            every case, with `auto` resolved
#   results/{tag}/benchmark/{case}.json               raw samples of each phase, unprofiled
#   results/{tag}/capture/{case}.nsys-rep             the profiler's capture (or .kineto.json.gz)
#   results/{tag}/export/{case}/                      trace.sqlite and `nsys stats` CSVs, or trace.json.gz
#   results/{tag}/tables/{case}/{table}.csv           the tables of one case
#   results/{tag}/ceilings.json, tables/ceilings.csv the machine's ceilings: raw samples, rates
#   results/{tag}/environments/{part}.csv             what the cases, or a study, were measured on
#   results/{tag}/tables/{table}.csv                  the tables of all cases, and of remedies
#   results/{tag}/answers/{question}.md, .json        the answer to one question, and its values
#   results/{tag}/answers/opening.md, trust.md, ...   the report's chapters beside the answers
#   results/{tag}/answers/cards.md, case/{case}.md    the table of each case, that of one alone
#   results/{tag}/figures/{figure}.svg, timelines/{case}.svg
#   results/{tag}/studies/{study}/{point}.json        one measured point of a companion study
#   results/{tag}/tables/studies/{study}.csv          the study's table
#   results/{tag}/sections/{study}.md, .appendix.md   its section of the report, its long tables
#   results/{tag}/logs/{any of the above}.log
#   results/compare/{run_a}/with/{run_b}/compare.md   run_b's tables compared with run_a's
#   results/captures/{capture}/{table}.csv            the tables of a capture of others, and its summary.json
#   report.md, report.html, results/{tag}/appendix.md one run's report, long tables (summary.json: for programs)
import json
import sys

sys.path.insert(0, workflow.basedir)
from workflow_src.dag.paths import CASE_PATTERN, CHAPTER, input_folder, output_folder
from workflow_src.dag.start import make_dag, require_place

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
