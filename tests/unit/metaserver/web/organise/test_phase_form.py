"""The form of a phase: it asks what its family of tasks needs, and its page what is missing."""

from metaserver.base.plans import AnswerRules
from metaserver.operations.phases import GoldOutside, PhasePlanDetail
from metaserver.tasks.plugin import answered_tasks, offline_tasks
from metaserver.web.organise.new_phase import NAMES
from metaserver.web.organise.phase_form import OF_SERVERS, Family
from metaserver.web.organise.phases import launch_check
from tests.unit.metaserver.web.details import phase


def test_a_phase_of_uploads_is_not_asked_about_servers() -> None:
    served, uploaded = Family.SERVERS.names(NAMES), Family.UPLOADS.names(NAMES)
    assert (list(served), set(served) - set(uploaded)) == (list(NAMES), OF_SERVERS)
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
