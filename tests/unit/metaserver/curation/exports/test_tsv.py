"""BioCreative II.5 files of a curation: read again as gold and as a run."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from metaserver.base.errors import RefusedError
from metaserver.curation.exports.finished import CuratedArticle
from metaserver.curation.exports.tsv import gold_of, gold_tsv, run_tsv
from scoring import Classification, Hit, Task, read_gold, read_run
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SAMPLE, curations


def written(folder: Path, text: str) -> Path:
    path = folder / "file.tsv"
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.mark.parametrize("task", Task)
def test_gold_is_read_again(tmp_path: Path, task: Task) -> None:
    found = read_gold(task, written(tmp_path, gold_tsv([SAMPLE], task)))
    assert found == gold_of([SAMPLE], task)
    assert found.digest == gold_of([SAMPLE], task).digest


def test_a_run_has_ranks_and_probabilities(tmp_path: Path) -> None:
    found = read_run("INT", written(tmp_path, run_tsv([SAMPLE], "INT")))
    assert found.answers == {"10068444": [Hit(EGFR, 1, 0.97), Hit(GRB2, 2, 0.91)]}
    found = read_run("IPT", written(tmp_path, run_tsv([SAMPLE], "IPT")))
    assert [hit.item for hit in found.answers["10068444"]] == [(EGFR, GRB2), (EGFR, EGFR)]
    found = read_run("ACT", written(tmp_path, run_tsv([SAMPLE], "ACT")))
    assert found.answers == {"10068444": Classification(True, 1.0, 1)}


def test_two_curations_of_an_article_are_united_as_gold_and_refused_as_a_run() -> None:
    less = msgspec.structs.replace(SAMPLE, items=SAMPLE.items[:1])
    assert gold_of([less, SAMPLE], "INT") == gold_of([SAMPLE], "INT")
    with pytest.raises(RefusedError, match="twice"):
        run_tsv([SAMPLE, less], "INT")
    other = msgspec.structs.replace(SAMPLE, relevant=False)
    with pytest.raises(RefusedError, match="two classes"):
        gold_tsv([SAMPLE, other], "ACT")


def test_what_was_not_decided_has_no_line() -> None:
    none = msgspec.structs.replace(SAMPLE, relevant=None, items=())
    assert [gold_tsv([none], task) for task in Task] == [""] * 3
    assert [run_tsv([none], task) for task in Task] == [""] * 3


@pytest.mark.parametrize("article", ["", "a\tb", "a\nb", " a", "#a", "\x00", "\ud800"])
def test_an_id_that_is_no_column_is_refused(article: str) -> None:
    one = msgspec.structs.replace(SAMPLE, article=CuratedArticle(id=article))
    with pytest.raises(RefusedError, match="cannot be a column"):
        gold_tsv([one], "INT")


@settings(max_examples=50)
@given(curations())
@pytest.mark.parametrize("task", ["INT", "IPT"])
def test_any_curation_is_read_again_or_refused(tmp_path_factory, task, curation) -> None:
    folder = tmp_path_factory.getbasetemp()
    try:
        gold, run = gold_tsv([curation], task), run_tsv([curation], task)
    except RefusedError:
        return
    if gold:
        assert read_gold(task, written(folder, gold)) == gold_of([curation], task)
        assert len(read_run(task, written(folder, run)).answers) == 1
