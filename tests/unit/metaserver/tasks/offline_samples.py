"""Small golds and runs of the offline tasks, as the bytes of files."""

from collections.abc import Mapping

from metaserver.base.zips import zip_of

TEXT = "Vibrio lives in sea water and soil."
ENTITIES = "T1\tBacteria 0 6\tVibrio\nT2\tHabitat 16 25\tsea water\nT3\tHabitat 30 34\tsoil\n"
EVENTS = "R1\tLives_In Bacteria:T1 Location:T2\nR2\tLives_In Bacteria:T1 Location:T3\n"
CATEGORIES = (
    "N1\tNCBI_Taxonomy Annotation:T1 Referent:660\n"
    "N2\tOntoBiotope Annotation:T2 Referent:O:2\n"
    "N3\tOntoBiotope Annotation:T3 Referent:O:3\n"
)
ONTOLOGY = "O:2\tO:1\nO:3\tO:1\nO:1\tO:0\n"

BB_GOLD = {
    "doc1.txt": TEXT, "doc1.a1": ENTITIES, "doc1.a2": EVENTS + CATEGORIES, "doc2.txt": TEXT,
    "doc2.a1": ENTITIES, "doc2.a2": EVENTS.splitlines()[0] + "\n" + CATEGORIES,
    "ontology.tsv": ONTOLOGY,
}  # fmt: skip
BB_NER_GOLD = BB_GOLD | {
    "doc1.a1": "", "doc1.a2": ENTITIES + EVENTS + CATEGORIES, "doc2.a1": "",
    "doc2.a2": ENTITIES + EVENTS + CATEGORIES,
}  # fmt: skip

SENTENCES = """<?xml version="1.0"?>
<document id="d1">
<sentence id="d1.s0" text="Aspirin interacts with warfarin.">
<entity id="e0" charOffset="0-6" type="drug" text="Aspirin"/>
<entity id="e1" charOffset="23-30" type="drug" text="warfarin"/>
</sentence>
<sentence id="d1.s1" text="No drug is here."></sentence>
</document>
"""
OTHER_SENTENCES = """<?xml version="1.0"?>
<document id="d2">
<sentence id="d2.s0" text="Tylenol and opioids.">
<entity id="e0" charOffset="0-6" type="brand" text="Tylenol"/>
<entity id="e1" charOffset="12-18" type="group" text="opioids"/>
</sentence>
</document>
"""
NAMES = "d1.s0\t0-6\tAspirin\tdrug\nd1.s1\t3-6\tdrug\tgroup\nd2.s0\t0-6\tTylenol\tdrug\n"

LABELS = "a-b\t1\na-c\t0\nb-c\t1\nb-d\t0\nc-d\t0\n"
CONFIDENCES = "a-b\t0.9\na-c\t0.8\nb-c\t0.7\nb-d\t1e-3\nc-d\t0.2\n"


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip with these files."""
    return zip_of(
        (name, content.encode() if isinstance(content, str) else content)
        for name, content in files.items()
    )
