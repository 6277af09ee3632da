"""The schemas in docs are those that the code reads, and hold for the bundles that ship."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from metaserver.operations.bundle_files import PLAN, BundleHead
from metaserver.operations.bundles import SAMPLES
from tests.docs.schemas import DOCS, KINDS, schema


@pytest.mark.parametrize("name", KINDS)
def test_a_schema_is_the_documented_one(name: str) -> None:
    """If it fails, run `python -m tests.docs.schemas`."""
    assert json.loads((DOCS / name).read_text("utf-8")) == schema(KINDS[name])


def test_the_schema_of_bundles_holds_for_those_that_ship_and_for_the_example() -> None:
    validator = Draft202012Validator(schema(BundleHead))
    _, _, rest = (DOCS / "bundles.md").read_text("utf-8").partition("```yaml\nbundle: 1")
    texts = ["bundle: 1" + rest.partition("```")[0]]
    texts += [path.read_text("utf-8") for path in sorted(SAMPLES.glob(f"*/{PLAN}"))]
    assert len(texts) == 4
    for text in texts:
        plan = yaml.safe_load(text)
        validator.validate(plan)
        assert not validator.is_valid({**plan, "titel": "x"})
        assert not validator.is_valid({**plan, "bundle": 2})
        plan["phases"][0]["tasks"] = "INT"
        assert not validator.is_valid(plan)
