"""Cases that may not be part of the project: the articles' own examples, in a folder that `JIYI_CASES` names."""

from jiyi.evaluation.harness import Outcome, run_folder
from tests.conftest import outside

# What this version promises of them. The others are told in the report; whoever builds a row adds its cases here.
PROMISED = frozenset(
    {
        "a1-nginx",
        "a1-docker-grows",
        "a1-summary-keeps-details",
        "a1-unverified-after-six-months",
        "a2-api-memories",
        "a2-two-memories-from-one-sentence",
        "a2-mixed-language",
        "a3-connection-string",
        "a3-weather",
        "a3-mysql-postgres",
        "a3-demotion",
        "a3-yesterday",
        "a4-contract",
        "a4-budget-and-feeling",
        "a4-revenue-corrected",
        "a4-bare-contradiction-held",
        "a4-hearsay",
        "a4-confidence-decay",
        "a4-synonymous-subject",
        "a4-concern-shifts",
        "a4-private-numbers",
        "a4-competitor-plan",
        "a4-devices",
        "a4-minimal",
    }
)


def test_article_cases(capsys):
    folder = outside("JIYI_CASES", "cases")
    report = run_folder(folder)
    with capsys.disabled():
        print(f"\n{report.text()}")
    outcomes = {result.case.id: result.outcome for result in report.results}
    missing = PROMISED - outcomes.keys()
    assert not missing, f"{folder} lacks {', '.join(sorted(missing))}"
    assert {name: outcomes[name] for name in PROMISED} == dict.fromkeys(PROMISED, Outcome.PASSED), report.text()
