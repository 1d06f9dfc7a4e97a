# Where does a Transformer training step's time go, on this machine, and how do you know?
#
# The grammar of the results paths ({tag} names a run, {case} a configuration):
#
#   results/{tag}/plan.csv                            every case, `auto` resolved
#   results/{tag}/benchmark/{case}.json               raw samples of each phase, unprofiled
#   results/{tag}/capture/{case}.nsys-rep             the profiler's capture (or .kineto.json.gz)
#   results/{tag}/export/{case}/                      trace.sqlite and the `nsys stats` CSVs
#   results/{tag}/tables/{case}/{table}.csv           the tables of one case
#   results/{tag}/tables/{table}.csv                  the tables of all cases
#   results/{tag}/answers/{question}.json, .md        facts and text of one question
#   results/{tag}/figures/{figure}.svg
#   results/{tag}/studies/{study}/{point}.json        a companion study: one measured point
#   results/{tag}/tables/studies/{study}.csv          its table
#   results/{tag}/sections/{study}.md                 its section of the report
#   results/{tag}/logs/{any of these}.log
#   report.md, report.html                            the whole, at the root
import sys

sys.path.insert(0, workflow.basedir)
from workflow_src.common.case import TABLES
from workflow_src.dag import make_dag
from workflow_src.plan.suites import CASE_PATTERN


configfile: "config.yaml"


dag = make_dag(config)


wildcard_constraints:
    tag="[A-Za-z0-9][A-Za-z0-9._-]*",
    case=CASE_PATTERN,
    table="[a-z_]+",
    question="[a-z]+",
    figure="(?!study_)[a-z_]+",
    study="[a-z_]+",
    point="[A-Za-z0-9._-]+",


rule all:
    default_target: True
    input:
        "report.md",
    message:
        "The report is report.md, and report.html for a browser."


include: "rules/plan.smk"
include: "rules/measure.smk"
include: "rules/tables.smk"
include: "rules/answers.smk"
include: "rules/studies.smk"
include: "rules/report.smk"
