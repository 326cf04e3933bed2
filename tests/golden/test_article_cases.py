"""Cases that may not be part of the project: the articles' own examples, in a folder that `JIYI_CASES` names."""

from tests.conftest import outside

from jiyi.evaluation.harness import Outcome, run_folder

# What this version promises of them. The others are told in the report; whoever builds a row adds its cases here.
PROMISED = frozenset({"a1-nginx", "a2-api-memories", "a2-mixed-language", "a3-mysql-postgres", "a4-concern-shifts"})


def test_article_cases(capsys):
    folder = outside("JIYI_CASES", "cases")
    report = run_folder(folder)
    with capsys.disabled():
        print(f"\n{report.text()}")
    outcomes = {result.case.id: result.outcome for result in report.results}
    missing = PROMISED - outcomes.keys()
    assert not missing, f"{folder} lacks {', '.join(sorted(missing))}"
    assert {name: outcomes[name] for name in PROMISED} == dict.fromkeys(PROMISED, Outcome.PASSED), report.text()
