"""The public part of a phase's gold: secret, of a given size, and stable."""

from pathlib import Path

from metaserver.base.plans import PhasePlan
from metaserver.base.records import ArticleId, TaskName
from metaserver.boards.gold import PublicPart, read_gold, scored_tasks
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import ReleaseVocabulary
from tests.unit.metaserver.uniprot.samples import SOURCES, build

ARTICLES = [ArticleId(f"a{number}") for number in range(200)]
KEY = bytes(range(32))


def part(key: bytes = KEY, phase: int = 1, share: float = 0.5) -> PublicPart:
    return PublicPart(key=key, phase=phase, share=share)


def test_a_draw_is_of_the_share_and_the_same_again() -> None:
    drawn = part().draw(ARTICLES)
    assert len(drawn) == 100
    assert drawn == part().draw(reversed(ARTICLES))
    assert part(share=0.25).draw(ARTICLES) < drawn


def test_a_draw_depends_on_the_hub_and_the_phase() -> None:
    drawn = part().draw(ARTICLES)
    for other in (part(key=KEY[::-1]), part(phase=2)):
        assert 25 < len(drawn & other.draw(ARTICLES)) < 75
    assert KEY.hex() not in repr(part())
    assert repr(KEY) not in repr(part())


def test_another_version_of_the_gold_changes_few_draws() -> None:
    drawn, without = part().draw(ARTICLES), part().draw(ARTICLES[10:])
    assert len((drawn & set(ARTICLES[10:])) ^ without) <= 10


def test_a_small_gold_has_at_least_one_article_in_it() -> None:
    assert len(part(share=0.01).draw(ARTICLES[:3])) == 1
    assert PublicPart.of(KEY, 1, PhasePlan()) is None
    assert PublicPart.of(KEY, 1, PhasePlan(public_share=0.3)) == part(share=0.3)


def test_a_task_is_scored_on_all_its_gold_and_on_the_part(tmp_path: Path) -> None:
    name, vocabulary = TaskName("ACT"), ReleaseVocabulary(release=build(tmp_path, SOURCES))
    lines = "".join(f"{article}\t{place % 2}\n" for place, article in enumerate(ARTICLES))
    gold = {name: read_gold(name, lines.encode(), "gold.tsv")}
    [scored] = scored_tasks(gold, vocabulary, part=part())
    articles = installed_tasks()[name].labels
    assert articles(scored.public).keys() == part().draw(ARTICLES)
    assert (len(articles(scored.gold)), scored.public_share) == (len(ARTICLES), 0.5)
    [whole] = scored_tasks(gold, vocabulary)
    assert (whole.public, whole.public_share) == (None, 1)
