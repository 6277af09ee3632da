from xml.etree import ElementTree as ET

import pytest

from metaserver.base.states import ServerState
from metaserver.web.public.server_pages import SHAPES, badge


@pytest.mark.parametrize("state", ServerState)
def test_a_badge_has_the_states_word_and_a_shape_of_its_own(state):
    drawn = ET.fromstring(badge("blue-1", state))
    assert state.value in [element.text for element in drawn.iter() if element.text]
    assert drawn.get("aria-label") == f"blue-1: {state}"
    assert len({shape for _, shape in SHAPES.values()}) == len(ServerState)


def test_a_name_made_of_markup_is_text():
    name = '"><script>alert(1)</script>'
    drawn = ET.fromstring(badge(name, ServerState.UP))
    assert drawn.get("aria-label") == f"{name}: up"
    assert not [element for element in drawn.iter() if "script" in element.tag]
