"""The answers: which module answers a question, and from which tables and templates."""

from dataclasses import dataclass

from workflow_src.answers.questions import QUESTIONS
from workflow_src.dag.ceilings import Ceilings
from workflow_src.dag.paths import TEMPLATES
from workflow_src.dag.studies import Studies
from workflow_src.dag.wildcards import Wildcards, known
from workflow_src.plan.kept import kept_fingerprint


@dataclass(frozen=True)
class Answers:
    """The answers to the questions; some also take the table of a study or of the ceilings."""

    studies: Studies
    ceilings: Ceilings

    def module(self, wildcards: Wildcards) -> str:
        """The module that answers a question, as a param."""
        question = known("question", wildcards.question, QUESTIONS)
        return f"workflow_src.answers.{QUESTIONS[question].module}"

    def inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of a question's answer. Raises ConfigError for an unknown question."""
        question = known("question", wildcards.question, QUESTIONS)
        asked, chosen = QUESTIONS[question], self.studies.chosen
        names = [*asked.tables, *(f"studies/{name}" for name in asked.studies if name in chosen)]
        tables = [f"results/{wildcards.tag}/tables/{name}.csv" for name in names]
        found = {"tables": tables, "templates": answer_templates(question)}
        return found | ({"ceilings": self.ceilings.table()} if "ceilings" in asked.optional else {})

    def case_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of the answers for one case: that case's own tables."""
        names = dict.fromkeys(name for asked in QUESTIONS.values() for name in asked.tables)
        folder = f"results/{wildcards.tag}/tables/{wildcards.case}"
        templates = [f"{TEMPLATES}/case.md.j2", *answer_templates(*QUESTIONS)]
        return {"tables": [f"{folder}/{name}.csv" for name in names], "templates": templates}

    @property
    def every_code(self) -> list[str]:
        """The fingerprints of the modules that answer all questions."""
        modules = (asked.module for asked in QUESTIONS.values())
        return [kept_fingerprint(f"workflow_src.answers.{module}") for module in modules]


def answer_templates(*questions: str) -> list[str]:
    """The templates of some questions, with those that all questions share.

    A question without long tables has no template for the appendix.
    """
    shared = sorted(str(path) for path in TEMPLATES.glob("_*.md.j2"))
    answers = [f"{TEMPLATES}/answer_{question}.md.j2" for question in questions]
    appendices = [TEMPLATES / f"appendix_{question}.md.j2" for question in questions]
    return [*shared, *answers, *(str(path) for path in appendices if path.exists())]
