"""The fake of `metaserver.exchange.wire.validation.Vocabulary`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from metaserver.uniprot.verdicts import Ruling


class FakeVocabulary:
    """A vocabulary that rules by a function of one accession; None accepts it as it is."""

    def __init__(self, rule: Callable[[str], Ruling | None]) -> None:
        self._rule = rule

    @classmethod
    def of_everything(cls) -> Self:
        """Return one that accepts every accession."""
        return cls(lambda accession: None)

    @classmethod
    def of(cls, *accepted: str) -> Self:
        """Return one that accepts these accessions."""
        return cls(
            lambda accession: (
                None
                if accession in accepted
                else Ruling(None, f"{accession} is not in the release")
            )
        )

    @classmethod
    def ruling(cls, known: Mapping[str, Ruling]) -> Self:
        """Return one with these rulings, that accepts all others."""
        return cls(known.get)

    @classmethod
    def prefixed(cls, mended: Mapping[str, Ruling]) -> Self:
        """Return one that accepts accessions that begin with P and mends these."""
        return cls(
            lambda accession: (
                None
                if accession.startswith("P")
                else mended.get(accession, Ruling(None, f"{accession} is unknown"))
            )
        )

    @classmethod
    def unasked(cls) -> Self:
        """Return one that nothing may ask."""

        def refuse(accession: str) -> Ruling | None:
            raise AssertionError(f"asked for {accession}")

        return cls(refuse)

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        ruled = ((place, self._rule(accession)) for place, accession in enumerate(accessions))
        return {place: ruling for place, ruling in ruled if ruling is not None}
