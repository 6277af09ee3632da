"""Discovery of installed tasks."""

from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.tasks.ner import NER
from metaserver.tasks.plugin import answered_tasks


def test_the_tasks_are_installed_by_name() -> None:
    assert answered_tasks() == {"ACT": ACT, "INT": INT, "IPT": IPT, "NER": NER}
    assert list(answered_tasks()) == ["ACT", "INT", "IPT", "NER"]
