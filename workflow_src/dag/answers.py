"""The answers and the case cards: which module writes each, and from which tables and templates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from workflow_src.answers.questions import CARDS, QUESTIONS, Question
from workflow_src.dag.ceilings import Ceilings, made
from workflow_src.dag.paths import TEMPLATES
from workflow_src.dag.studies import Studies
from workflow_src.dag.wildcards import Wildcards, known

CARD = f"{TEMPLATES}/case_card.j2"
"""The template of a case's card."""


OF_ONE = (*CARDS.tables, "ledger", "products", "operators", "environments", "findings")
"""The tables that the card of one case alone is made from."""


@dataclass(frozen=True)
class Answers:
    """The answers to the questions; some also take the table of a study or of the ceilings."""

    studies: Studies
    ceilings: Ceilings

    def module(self, wildcards: Wildcards) -> str:
        """The module that answers a question, as a param."""
        room = QUESTIONS[known("question", wildcards.question, QUESTIONS)].room
        return f"workflow_src.answers.{room}.chapter"

    def inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of a question's answer. Raises ConfigError for an unknown question."""
        asked = QUESTIONS[known("question", wildcards.question, QUESTIONS)]
        return self._inputs(asked, answer_templates(asked))

    def cards_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of the cards of all cases."""
        return self._inputs(CARDS, [CARD, *map(str, sorted(TEMPLATES.glob("chapter.*")))])

    def _inputs(self, asked: Question, templates: list[str]) -> dict[str, list[str]]:
        chosen = self.studies.chosen
        names = [*asked.tables, *(f"studies/{name}" for name in asked.studies if name in chosen)]
        tables = [f"results/{{tag}}/tables/{name}.csv" for name in names]
        found = {"tables": tables, "templates": templates}
        optional: dict[str, Callable[[], list[str]]] = {
            "ceilings": self.ceilings.table,
            "remedies": self.ceilings.remedies,
            "findings": partial(made, self.ceilings.plan, "findings", "findings"),
        }
        return found | {name: made() for name, made in optional.items() if name in asked.optional}

    def case_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The inputs of the card of one case: that case's own tables."""
        folder = "results/{tag}/tables/{case}"
        return {
            "tables": [f"{folder}/{name}.csv" for name in OF_ONE],
            "templates": [CARD],
        }


def answer_templates(asked: Question) -> list[str]:
    """The templates of a question's chapter: its own, and what stands around each."""
    return [f"{TEMPLATES}/answers/{asked.room}.j2", *map(str, sorted(TEMPLATES.glob("chapter.*")))]
