"""Files that come through a pipe, such as `<(zcat run.gz)`, which can be read only once."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from scoring.cli import main

MENTIONS = "a\t0-3\tMDM2\tprotein\na\t11-13\tp53\tprotein\n"
XML = (
    '<document id="D"><sentence id="D.s0" text="MDM2 and p53">'
    '<entity charOffset="0-3" type="drug" text="MDM2"/></sentence></document>'
)
ENTITY = "T1\tHabitat 0 4\tsoil\nN1\tOntoBiotope Annotation:T1 Referent:O:2\n"
FILES = {
    "mentions.tsv": MENTIONS,
    "corpus.xml": XML,
    "gold.tsv": "a\tP1\n",
    "run.tsv": "a\tQ1\t1\t0.9\n",
    "ipt_gold.tsv": "a\tP1\tP1\n",
    "ipt_run.tsv": "a\tP1\tQ1\t1\t0.9\n",
    "map.tsv": "P1\tQ1\n",
    "taxa.tsv": "P1\t9606\nQ1\t9606\n",
    "labels.tsv": "x\t1\ny\t0\n",
    "one.tsv": "x\t0.9\ny\t0.1\n",
    "two.tsv": "x\t0.3\ny\t0.7\n",
    "parents.tsv": "O:2\tO:1\n",
    **{f"bb/doc.{suffix}": text for suffix, text in (("txt", "soil"), ("a1", ""), ("a2", ENTITY))},
    "run1/doc.a2": ENTITY,
    "run2/doc.a2": "",
}
INT = "--task INT --gold gold.tsv run.tsv --views both"
BOTH = "report --int gold.tsv run.tsv --ipt ipt_gold.tsv ipt_run.tsv"


@contextmanager
def piped(path: Path) -> Iterator[str]:
    """Yield a name under which a file's content can be read once."""
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())
    os.close(writing)
    yield f"/dev/fd/{reading}"
    os.close(reading)


def rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the words of each line that was printed, but for a run's name alone."""
    output = capsys.readouterr()
    assert output.err == ""
    return [words for line in output.out.splitlines() if len(words := line.split()) > 1]


@pytest.mark.parametrize(
    "command",
    [
        "ner --gold mentions.tsv --run <mentions.tsv --pairs --resamples 0",
        "ner --gold <mentions.tsv --run mentions.tsv --resamples 0",
        "ner --gold <corpus.xml --run <corpus.xml --resamples 0",
        "ner --gold corpus.xml --run <corpus.xml --resamples 0 --compat semeval2013",
        f"evaluate {INT} --map <map.tsv --taxa <taxa.tsv",
        f"{BOTH} --map <map.tsv --taxa <taxa.tsv",
        "ppi3d --gold <labels.tsv --scores one.tsv two.tsv --resamples 20",
        "bb --task cat+ner --gold bb --run run1 run2 --ontology <parents.tsv --resamples 0",
    ],
)
def test_a_pipe_gives_what_its_file_gives(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    assert main([word.removeprefix("<") for word in command.split()]) == 0
    expected = rows(capsys)
    with ExitStack() as pipes:
        words = [
            pipes.enter_context(piped(Path(word[1:]))) if word.startswith("<") else word
            for word in command.split()
        ]
        assert main(words) == 0
    assert rows(capsys) == expected
