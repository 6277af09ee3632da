"""Which article is next."""

from metaserver.lanes.queue import ArticleQueue, Later


def test_a_queue_begins_behind_what_is_finished_already() -> None:
    queue = ArticleQueue(4, cursor=0, finished=[0, 1, 3])
    assert queue.cursor == 2
    taken = queue.take(now=0.0)
    assert taken.position == 2
    assert queue.take(now=0.0) == Later(float("inf"))  # it is in flight
    queue.finish(2)
    assert queue.finished
    assert queue.take(now=0.0) is None
