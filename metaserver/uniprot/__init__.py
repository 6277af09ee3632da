"""The UniProt release index: accessions judged, and what the organiser needs around it."""

from metaserver.uniprot.build import build_release
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import AccessionVerdict, Ruling, SecondaryPolicy, Status
from metaserver.uniprot.vocabulary import FormatVocabulary, ReleaseVocabulary

__all__ = [
    "AccessionVerdict",
    "FormatVocabulary",
    "Release",
    "ReleaseVocabulary",
    "Ruling",
    "SecondaryPolicy",
    "Status",
    "build_release",
]
