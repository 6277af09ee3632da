"""Roles of callers: sets of capabilities, no order."""

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.caller import Caller

INCLUDED = {
    Role.READER: {Role.READER},
    Role.CURATOR: {Role.READER, Role.CURATOR},
    Role.TEAM: {Role.READER, Role.TEAM},
    Role.ORGANISER: {Role.READER, Role.CURATOR, Role.TEAM, Role.ORGANISER},
}


@pytest.mark.parametrize("role", Role)
def test_a_role_opens_what_it_includes_and_nothing_else(role: Role) -> None:
    caller = Caller(role=role)
    caller.require_role(None)
    for needed in Role:
        assert caller.may_act_as(needed) == (needed in INCLUDED[role])
        if needed in INCLUDED[role]:
            caller.require_role(needed)
        else:
            with pytest.raises(RefusedError) as refused:
                caller.require_role(needed)
            assert refused.value.refusal is Refusal.NOT_YOURS
            assert refused.value.message.endswith(
                f"role {needed} may do this; you are signed in as {role}"
            )


def test_without_a_token_only_what_needs_none_is_open() -> None:
    Caller().require_role(None)
    assert not Caller().may_act_as(Role.READER)
    with pytest.raises(RefusedError) as refused:
        Caller().require_role(Role.READER)
    assert refused.value.refusal is Refusal.TOKEN
