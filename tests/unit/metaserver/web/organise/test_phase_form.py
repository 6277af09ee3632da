"""The form of a phase: it asks what its family of tasks needs, and its page what is missing."""

from datetime import UTC, datetime

from metaserver.base.plans import AnswerRules, PhasePlan
from metaserver.base.states import Visibility
from metaserver.operations.phases import GoldOutside, PhasePlanDetail
from metaserver.tasks.plugin import answered_tasks, offline_tasks
from metaserver.web.organise.launch import launch_check, plan_check
from metaserver.web.organise.phase_form import FIELDS, OF_SERVERS, Family
from tests.unit.metaserver.web.details import phase


def test_a_phase_of_uploads_is_not_asked_about_servers() -> None:
    served, uploaded = Family.SERVERS.names(FIELDS), Family.UPLOADS.names(FIELDS)
    assert (list(served), set(served) - set(uploaded)) == (list(FIELDS), OF_SERVERS)
    assert {name for name, _ in Family.SERVERS.tasks().choices} == set(answered_tasks())
    assert {name for name, _ in Family.UPLOADS.tasks().choices} == set(offline_tasks())


def test_the_launch_check_names_what_is_missing() -> None:
    outside = {"INT": GoldOutside(count=125, articles=("a",))}
    plan = PhasePlanDetail(
        phase="test", corpus="", tasks=(), answers=AnswerRules(), fixed=False, warnings=(),
        outside=outside,
    )  # fmt: skip
    missing = launch_check(phase(gold={}), plan, 0, 0)
    for text in ("No task has gold", "125 gold articles of INT", "no team", "No baseline"):
        assert any(text in one for one in missing), text
    whole = phase(opens=1.0, freezes=2.0)
    assert launch_check(whole, PhasePlanDetail(
        phase="test", corpus="", tasks=(), answers=AnswerRules(), fixed=False, warnings=()
    ), 3, 1) == []  # fmt: skip


def test_a_plan_is_checked_before_there_is_a_phase() -> None:
    at = [datetime(2027, month, 1, tzinfo=UTC) for month in (1, 2)]
    dated = PhasePlan(opens=at[0], freezes=at[1], visibility=Visibility.OWN)
    now = at[0].timestamp()
    assert plan_check(PhasePlan(opens=at[0], freezes=at[1]), now - 1, 3, 1) == []
    found = plan_check(dated, now, 0, 0)
    for text in ("no team", "No baseline", "at once in the state test", "With visibility own"):
        assert any(text in one for one in found), text
    assert not any("baseline" in one for one in plan_check(PhasePlan(tasks=("BB-cat",)), now, 0, 0))
